"""SegReConcat over a corpus: FLAC files to train on, made once."""

import hashlib
import json
import os
from functools import partial
from pathlib import Path

import numpy as np

from voiceprivacy import _conversion as conversion
from voiceprivacy._audio import RATE
from voiceprivacy._conversion import UTTERANCES, Job, Outcome
from voiceprivacy._mapping import mapped
from voiceprivacy.corpora import Corpus
from voiceprivacy.errors import VoicePrivacyError, listed
from voiceprivacy.segmentation import Segmentation
from voiceprivacy.segreconcat import STRATEGIES, SegReConcat, pieces

NOTES = {
    "no words": "is its own rearrangement",
    "one word": "is its own rearrangement",
    "clipped": "goes beyond full scale, where it was cut",
}


def augment(
    corpus: Corpus,
    segmentation: Segmentation,
    method: SegReConcat,
    out: str | os.PathLike,
    *,
    workers: int = 1,
    progress: bool = False,
) -> Corpus:
    """Augment every utterance of a corpus into a folder.

    Parameters
    ----------
    corpus
        What to augment.
    segmentation
        Its words.
    method
        How; every utterance has its own random numbers.
    out
        A new or empty folder, or one in which this very run was begun: finished files are kept,
        unless their source is younger or their words have changed. It gets
        ``<speaker>/<utterance>.flac`` (16 kHz, mono, 16 bits), ``utterances.csv`` (utterance,
        speaker, number of words, their order in the rearranged half, seconds, note) and a
        manifest.
    workers
        Threads; with another backend of joblib its own, see `voiceprivacy._mapping`. Files are the
        same for any number of them and any order of the corpus.
    progress
        Show a bar on stderr.

    Returns
    -------
    Corpus
        The same ids and speakers. `Corpus.skipped` gains the files that cannot be read
        (``unreadable``) and those whose words lie outside (``words outside``), `Corpus.notes` the
        utterances with ``no words`` or ``one word`` and those that were ``clipped``.

    Raises
    ------
    VoicePrivacyError
        If `out` holds something else or any source, words of an utterance are unknown, or nothing
        can be augmented.
    """
    out = Path(out)
    todo = begun(corpus, segmentation.name, method, out)
    unknown = sorted(set(corpus.table["utterance"]) - set(segmentation.utterances))
    if unknown:
        raise VoicePrivacyError(
            f"words of {segmentation.name} say nothing about {len(unknown)} of {len(corpus)} "
            f"utterances: {listed(unknown)}; find words in this very corpus."
        )
    items = [(job, segmentation.spans(job.utterance)) for job in todo]
    outcomes = mapped(partial(_done, method), items, workers=workers, progress=progress)
    result = conversion.result(corpus, todo, outcomes, _noted, "nothing was augmented")
    _write_utterances(out / UTTERANCES, segmentation, todo, outcomes)
    return result


def begun(corpus: Corpus, words: str, method: SegReConcat, out: Path) -> list[Job]:
    """Take hold of the folder; what `augment` would refuse is refused before words are looked for.

    Parameters are those of `augment`, but for the name of the segmentation to come.
    """
    todo = conversion.jobs(corpus, out)
    conversion.claim(out, {"corpus": corpus.name, "words": words, "augmentation": method.name})
    return todo


def _done(method: SegReConcat, item: tuple[Job, np.ndarray]) -> Outcome:
    """Augment one utterance, unless it is there already."""
    job, spans = item
    words = hashlib.sha256(spans.tobytes()).hexdigest()[:16]
    try:
        if job.is_done and _told(before := conversion.found(job.path))["words"] == words:
            return before
        samples = job.said.samples()
    except (VoicePrivacyError, OSError) as error:
        return Outcome(reason="unreadable", detail=str(error))
    try:
        pieces(spans, len(samples))
    except VoicePrivacyError as error:
        return Outcome(reason="words outside", detail=str(error))
    augmented = method.augmented(samples, spans, job.utterance)
    order = method.word_order(samples, spans, job.utterance).tolist()
    told = {
        "words": words,
        "order": order if method.strategy in STRATEGIES else [],
        "notes": _notes(len(spans), augmented),
    }
    return conversion.write(job.path, augmented, json.dumps(told))


def _notes(n_words: int, samples: np.ndarray) -> list[str]:
    few = ["no words", "one word"][n_words : n_words + 1]
    return few + ["clipped"] * bool(np.abs(samples).max() > 1)


def _told(outcome: Outcome) -> dict:
    """What a file's comment says; nothing where another program wrote it."""
    try:
        return json.loads(outcome.comment) | {}
    except (ValueError, TypeError):
        return {"words": None}


def _noted(outcome: Outcome) -> dict[str, str]:
    return {note: NOTES[note] for note in _told(outcome)["notes"]}


def _write_utterances(
    path: Path, segmentation: Segmentation, todo: list[Job], outcomes: list[Outcome]
) -> None:
    """Write the table of what lies in the folder, by id."""
    rows = [
        (
            job.utterance,
            job.speaker,
            len(segmentation.spans(job.utterance)),
            " ".join(map(str, _told(outcome)["order"])),
            outcome.n_samples / RATE,
            ", ".join(_told(outcome)["notes"]),
        )
        for job, outcome in zip(todo, outcomes, strict=True)
        if not outcome.reason
    ]
    columns = ["utterance", "speaker", "words", "order", "seconds", "note"]
    conversion.write_table(path, rows, columns)
