"""Words and their times: one interface, whoever finds them.

`segment` runs a `Recogniser` over a corpus. Whisper and PocketSphinx are built in; a table of word
times of the SegReConcat authors' form is read by `read_timestamps`, and `true_words` knows where
the words of synthetic speech are. Whatever is reported becomes possible spans by the rules of
`repaired`, and every repair is counted.
"""

import hashlib
import os
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
import pandas as pd

from voiceprivacy._mapping import mapped
from voiceprivacy._pocketsphinx import PocketSphinxRecogniser
from voiceprivacy._repairs import MINIMUM, RULES, repaired
from voiceprivacy._timestamps import read_timestamps, write_timestamps
from voiceprivacy._whisper import WhisperRecogniser
from voiceprivacy._words import (
    NO_WORDS_COLUMNS,
    REPAIR_COLUMNS,
    Found,
    Segmentation,
    report,
    word_table,
)
from voiceprivacy.corpora import SILENCE, Corpus, Utterance
from voiceprivacy.errors import VoicePrivacyError, listed
from voiceprivacy.parts import Arrays, Parts

__all__ = [
    "MINIMUM",
    "RULES",
    "Found",
    "PocketSphinxRecogniser",
    "Recogniser",
    "Segmentation",
    "WhisperRecogniser",
    "read_timestamps",
    "repaired",
    "segment",
    "true_words",
    "write_timestamps",
]


@runtime_checkable
class Recogniser(Protocol):
    """What finds words in speech."""

    name: str
    """Model, version and all settings that change results; finished work is kept under it."""

    def find(self, samples: np.ndarray, utterance: str) -> Iterable[Found]:
        """Find the words of one utterance, float32 mono 16 kHz, in the order spoken.

        The result depends on nothing but the samples, and the utterance's id if the recogniser
        knows what was said in it.
        """


def segment(
    corpus: Corpus,
    recogniser: Recogniser,
    *,
    store: str | os.PathLike | None = None,
    workers: int = 1,
    progress: bool = False,
) -> Segmentation:
    """Find the words of every utterance of a corpus.

    Parameters
    ----------
    corpus
        Where to look.
    recogniser
        Who looks.
    store
        A folder for what has been found, made if missing. A run that was interrupted, or a
        corpus that has grown, continues from it. An utterance is heard again when its samples,
        its id or the recogniser's name change.
    workers
        Threads that ask at once, for a recogniser that bears it (faster-whisper does); with
        another backend of joblib its own, see `voiceprivacy._mapping`.
    progress
        Show a bar on stderr.

    Returns
    -------
    Segmentation
        Words after repair. An utterance without any stands in ``no_words``, with the reason:
        ``unreadable``; ``silent`` (mean amplitude below 0.0005; nobody is asked); ``failed``
        (the recogniser raised an error); ``nothing found``; or ``nothing left`` after repair.

    Raises
    ------
    VoicePrivacyError
        If the recogniser failed on every utterance that it was asked about.
    """
    do = partial(_heard, _parts(store, recogniser), recogniser)
    heard = mapped(do, corpus.utterances(), workers=workers, progress=progress)
    words, repairs, without = [], [], []
    for utterance, outcome in zip(corpus.table["utterance"], heard, strict=True):
        if isinstance(outcome, Unheard):
            without.append((utterance, *outcome))
            continue
        spans, texts, mended = repaired(outcome.found, outcome.n_samples)
        words += [(utterance, text, *span) for text, span in zip(texts, spans, strict=True)]
        repairs += [(utterance, *repair) for repair in mended]
        if not len(spans):
            reason = "nothing left" if outcome.found else "nothing found"
            without.append((utterance, reason, f"{len(outcome.found)} words found"))
    asked = sum(isinstance(outcome, Heard) or outcome.reason == "failed" for outcome in heard)
    _refuse_failure(recogniser, asked, without)
    return Segmentation(
        recogniser.name,
        word_table(words),
        report(repairs, REPAIR_COLUMNS),
        report(without, NO_WORDS_COLUMNS),
    )


def true_words(folder: str | os.PathLike) -> Segmentation:
    """Return the true words of a corpus of synthetic speech.

    Parameters
    ----------
    folder
        What `voiceprivacy.synthetic.speak` has written; ``words.csv`` is read.

    Raises
    ------
    VoicePrivacyError
        If there is no such file, or it is damaged.
    """
    path = Path(folder, "words.csv")
    expected = ["utterance", "word", "start_sample", "end_sample"]
    if not path.is_file():
        raise VoicePrivacyError(
            f"{path}: no such file; true words are known only of a folder that "
            "voiceprivacy.synthetic.speak has written."
        )
    table = pd.read_csv(path, dtype={"utterance": str, "word": str}, keep_default_na=False)
    if list(table.columns) != expected:
        raise VoicePrivacyError(
            f"{path} has columns {listed(table.columns)}; expected {listed(expected)}."
        )
    return Segmentation("true words", word_table(table.itertuples(index=False, name=None)))


def _parts(store: str | os.PathLike | None, recogniser: Recogniser) -> Parts:
    """What is kept of one recogniser's work."""
    digest = hashlib.sha256(recogniser.name.encode()).hexdigest()[:16]
    folder = None if store is None else Path(store, digest)
    return Parts(folder, {"recogniser": recogniser.name}, [])


class Heard(NamedTuple):
    """What a recogniser found in an utterance of so many samples."""

    found: list[Found]
    n_samples: int


class Unheard(NamedTuple):
    """Why nothing was looked for, or could be."""

    reason: str
    detail: str


def _heard(parts: Parts, recogniser: Recogniser, said: Utterance) -> Heard | Unheard:
    """Ask about one utterance."""
    try:
        samples = said.samples()
    except VoicePrivacyError as error:
        return Unheard("unreadable", str(error))
    amplitude = np.abs(samples).mean()
    if amplitude < SILENCE:
        return Unheard("silent", f"{amplitude:.1e} mean amplitude")
    try:
        return Heard(_found(parts, recogniser, samples, said.utterance), len(samples))
    except Exception as error:  # whatever a recogniser raises, it concerns one utterance
        return Unheard("failed", f"{type(error).__name__}: {error}")


def _found(
    parts: Parts, recogniser: Recogniser, samples: np.ndarray, utterance: str
) -> list[Found]:
    """What the recogniser reports, now or when it was asked before."""
    known = utterance.encode() + np.ascontiguousarray(samples).tobytes()
    kept = parts.get(
        hashlib.sha256(known).hexdigest()[:32],
        lambda: _arrays(list(recogniser.find(samples, utterance) or ())),
    )
    numbers = [[None if np.isnan(x) else x for x in row] for row in kept["numbers"][:, 2:].tolist()]
    times = kept["numbers"][:, :2].tolist()
    return [
        Found(word, *time, *rest)
        for word, time, rest in zip(kept["words"].tolist(), times, numbers, strict=True)
    ]


def _arrays(found: list[Found]) -> Arrays:
    """Words as arrays: NaN for what a recogniser does not tell."""
    numbers = [[np.nan if x is None else float(x) for x in word[1:]] for word in found]
    return {
        "words": np.array([word.word for word in found], dtype=np.str_),
        "numbers": np.array(numbers, dtype=float).reshape(-1, 4),
    }


def _refuse_failure(recogniser: Recogniser, asked: int, without: list[tuple]) -> None:
    """Raise when a recogniser failed on all that it was asked about."""
    failures = [detail for _, reason, detail in without if reason == "failed"]
    if asked and len(failures) == asked:
        raise VoicePrivacyError(
            f"{recogniser.name} failed on all {asked} utterances, first with: {failures[0]}"
        )
