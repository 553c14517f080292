"""What an evaluation found: one table, by metric, with what it rests on."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import pandas as pd

from voiceprivacy.errors import VoicePrivacyError
from voiceprivacy.files import written_whole

SHOWN = {
    "attacker": "attacker", "conversation_length": "L", "n_speakers": "speakers",
    "observed": "observed", "observed_low": "low", "observed_high": "high", "chance": "chance",
}  # fmt: skip
FAILED = ["part", "utterance", "reason", "detail"]


@dataclass(frozen=True, eq=False)
class EvaluationResults(Mapping):
    """Results by metric: ``for metric, scores in results.items()``.

    Parameters
    ----------
    table
        One row a metric, attacker, conversation length and number of speakers; see
        `voiceprivacy.measures.measure`, and ``attacker``, ``system``, ``extractor``,
        ``trained_on``, ``enrolment`` and ``evidence``.
    remarks
        What was left out, in sentences.
    failed
        Utterances that could not be used: ``part``, ``utterance``, ``reason``, ``detail``.
    """

    table: pd.DataFrame
    remarks: list[str] = field(default_factory=list)
    failed: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=FAILED, dtype=str))

    def __getitem__(self, metric: str) -> pd.DataFrame:
        if metric not in self.table["metric"].to_numpy():
            raise KeyError(metric)
        own = self.table[self.table["metric"] == metric]
        return own[list(SHOWN)].rename(columns=SHOWN).reset_index(drop=True)

    def __iter__(self) -> Iterator[str]:
        return iter(self.table["metric"].unique().tolist())

    def __len__(self) -> int:
        return self.table["metric"].nunique()

    def __str__(self) -> str:
        parts = [
            f"{metric}\n{scores.round(3).to_string(index=False)}" for metric, scores in self.items()
        ]
        return "\n\n".join([*parts, *(f"Mind: {remark}" for remark in self.remarks)])

    def to_csv(self, path: str | os.PathLike) -> None:
        """Write the table whole."""
        with written_whole(path) as temporary:
            self.table.to_csv(temporary, index=False, lineterminator="\n")


def read_results(path: str | os.PathLike) -> EvaluationResults:
    """Read a table that `EvaluationResults.to_csv` has written.

    Raises
    ------
    VoicePrivacyError
        If there is no such file, or it is another table.
    """
    try:
        table = pd.read_csv(path)
    except (OSError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise VoicePrivacyError(f"{path} cannot be read as results ({reason}).") from error
    missing = [name for name in ("metric", *SHOWN) if name not in table]
    if missing:
        raise VoicePrivacyError(f"{path} holds no results: it has no column {missing[0]!r}.")
    text = table.select_dtypes(exclude="number").columns
    return EvaluationResults(table.fillna(dict.fromkeys(text, "")))
