"""Words and where they lie: what a recogniser finds in one utterance, and a corpus's words."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pandas as pd

from voiceprivacy.errors import VoicePrivacyError, listed

COLUMNS = ["utterance", "word", "start", "end"]
REPAIR_COLUMNS = ["utterance", "word", "repair", "detail"]
NO_WORDS_COLUMNS = ["utterance", "reason", "detail"]


class Found(NamedTuple):
    """A word as a recogniser reports it, possible or not.

    Times are seconds from the beginning of the utterance; NaN stands for a word without a time.
    `probability` is the recogniser's own for the word, `no_speech` that nobody spoke there; None
    where it has none.
    """

    word: str
    start: float
    end: float
    probability: float | None = None
    no_speech: float | None = None


def report(rows: Iterable[tuple], columns: list[str]) -> pd.DataFrame:
    """A table of text, one row an entry."""
    return pd.DataFrame(list(rows), columns=columns, dtype=str)


def word_table(rows: Iterable[tuple[str, str, int, int]]) -> pd.DataFrame:
    """A table of words: utterance, word, and start and end in samples."""
    table = pd.DataFrame(list(rows), columns=COLUMNS)
    return table.astype({"utterance": str, "word": str, "start": np.int64, "end": np.int64})


@dataclass(frozen=True, eq=False)
class Segmentation:
    """The words of utterances.

    Parameters
    ----------
    name
        Who found them.
    table
        One row a word: ``utterance``, ``word`` (empty if unknown), ``start`` and ``end`` in
        samples at 16 kHz, 0 <= start < end <= length of the utterance. The rows of an utterance
        are in order of time and do not overlap.
    repairs
        One row a repair: ``utterance``, ``word``, ``repair`` (one of a few words, to count by;
        see `voiceprivacy.segmentation.repaired`) and ``detail``.
    no_words
        Utterances without any word: ``utterance``, ``reason`` (one of a few words) and ``detail``.

    Raises
    ------
    VoicePrivacyError
        If spans are impossible, or an utterance both has words and has none.

    Examples
    --------
    >>> words = Segmentation("me", word_table([("u1", "go", 0, 800), ("u1", "on", 800, 1600)]))
    >>> words.spans("u1").tolist(), words.words("u1")
    ([[0, 800], [800, 1600]], ['go', 'on'])
    """

    name: str
    table: pd.DataFrame
    repairs: pd.DataFrame = field(default_factory=lambda: report([], REPAIR_COLUMNS))
    no_words: pd.DataFrame = field(default_factory=lambda: report([], NO_WORDS_COLUMNS))
    _rows: dict[str, np.ndarray] = field(init=False, repr=False)
    _spans: np.ndarray = field(init=False, repr=False)

    def __post_init__(self):
        table = self.table[COLUMNS].reset_index(drop=True)
        rows = {str(u): r for u, r in table.groupby("utterance", sort=False).indices.items()}
        _check(self.name, table, rows)
        both = [u for u in self.no_words["utterance"] if u in rows]
        if both:
            raise VoicePrivacyError(
                f"words of {self.name}: utterances {listed(both)} are listed without words, "
                "but have some."
            )
        none = np.empty(0, np.intp)
        object.__setattr__(self, "table", table)
        object.__setattr__(self, "_spans", table[["start", "end"]].to_numpy())
        object.__setattr__(self, "_rows", rows | dict.fromkeys(self.no_words["utterance"], none))

    @property
    def utterances(self) -> list[str]:
        """All utterances, with words or without."""
        return list(self._rows)

    def spans(self, utterance: str) -> np.ndarray:
        """Return an utterance's words as (words, 2): start and end in samples, int64."""
        return self._spans[self._of(utterance)]

    def words(self, utterance: str) -> list[str]:
        """Return an utterance's words as text."""
        return self.table["word"].iloc[self._of(utterance)].tolist()

    def counts(self) -> pd.Series:
        """Count the repairs, by kind."""
        return self.repairs["repair"].value_counts()

    def select(self, utterances: Iterable[str]) -> "Segmentation":
        """Return the words, repairs and reasons of some utterances.

        Raises
        ------
        VoicePrivacyError
            If an utterance is not known.
        """
        wanted = {utterance for utterance in utterances if self._of(utterance) is not None}
        tables = (self.table, self.repairs, self.no_words)
        return Segmentation(self.name, *(t[t["utterance"].isin(wanted)] for t in tables))

    def scaled(self, factors: Mapping[str, float], lengths: Mapping[str, int]) -> "Segmentation":
        """Return the same words in audio whose time has been stretched.

        Parameters
        ----------
        factors
            New duration over old one, an utterance; above 0.
        lengths
            Samples of the new audio, an utterance. Words are cut there; a word that starts
            later is left out and counted as ``outside``.

        Examples
        --------
        >>> words = Segmentation("me", word_table([("u1", "go", 100, 800)]))
        >>> words.scaled({"u1": 1.5}, {"u1": 1100}).spans("u1").tolist()
        [[150, 1100]]
        """
        kept, repairs, without = [], [], []
        for utterance, rows in self._rows.items():
            factor, length = self._stretch(utterance, factors, lengths)
            spans = np.rint(self.spans(utterance) * factor).astype(np.int64)
            spans[:, 1] = np.minimum(np.maximum(spans[:, 1], spans[:, 0] + 1), length)
            inside = 0
            for word, (start, end) in zip(self.words(utterance), spans, strict=True):
                if start < end:
                    kept.append((utterance, word, start, end))
                    inside += 1
                else:
                    detail = f"starts at sample {start} of {length}"
                    repairs.append((utterance, word, "outside", detail))
            if len(rows) and not inside:
                without.append((utterance, "nothing left", f"{len(rows)} words after the end"))
        return Segmentation(
            self.name,
            word_table(kept),
            pd.concat([self.repairs, report(repairs, REPAIR_COLUMNS)], ignore_index=True),
            pd.concat([self.no_words, report(without, NO_WORDS_COLUMNS)], ignore_index=True),
        )

    def _of(self, utterance: str) -> np.ndarray:
        if utterance not in self._rows:
            raise VoicePrivacyError(
                f"words of {self.name} know no utterance {utterance!r}; they have "
                f"{len(self._rows)}, such as {listed(self._rows, 2)}."
            )
        return self._rows[utterance]

    def _stretch(self, utterance: str, factors: Mapping, lengths: Mapping) -> tuple[float, int]:
        if utterance not in factors or utterance not in lengths:
            raise VoicePrivacyError(
                f"utterance {utterance!r} has no time factor or no length; expected both for "
                "every utterance."
            )
        factor = float(factors[utterance])
        if not 0 < factor < np.inf:
            raise VoicePrivacyError(
                f"utterance {utterance!r} has time factor {factor}; expected new duration over "
                "old one, above 0."
            )
        return factor, int(lengths[utterance])


def _check(name: str, table: pd.DataFrame, rows: Mapping[str, np.ndarray]) -> None:
    """Refuse spans that are empty, overlap, or are not in order of time."""
    for column in ("start", "end"):
        if table[column].dtype != np.int64:
            raise VoicePrivacyError(
                f"words of {name}: {column} is {table[column].dtype}; expected samples, int64."
            )
    starts, ends = table["start"].to_numpy(), table["end"].to_numpy()
    good = (starts >= 0) & (ends > starts)
    for inside in rows.values():
        good[inside[1:]] &= starts[inside[1:]] >= ends[inside[:-1]]
    if not good.all():
        bad = table[~good]
        raise VoicePrivacyError(
            f"words of {name}: {len(bad)} spans are impossible, such as "
            f"{listed(bad.itertuples(index=False, name=None), 2)}; expected 0 <= start < end, in "
            "order of time and not overlapping. voiceprivacy.segmentation.repaired mends them."
        )
