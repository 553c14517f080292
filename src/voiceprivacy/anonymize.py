"""Run an anonymizer over a corpus: FLAC files that name their speakers, made once."""

import os
from functools import partial
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from voiceprivacy import _conversion as conversion
from voiceprivacy._anonymizer import PEAK, BaseAnonymizer
from voiceprivacy._conversion import UTTERANCES, Job, Outcome
from voiceprivacy._mapping import mapped
from voiceprivacy.corpora import SILENCE, Corpus
from voiceprivacy.errors import VoicePrivacyError

# What the comment of a file may tell.
AS_MADE = "as made"
NOTES = {
    "silent": "no sound, before and after",
    "scaled": "the anonymizer went beyond full scale, so its output was scaled down",
}


def anonymized(
    corpus: Corpus,
    anonymizer: BaseAnonymizer,
    out: str | os.PathLike,
    *,
    workers: int = 1,
    strict: bool = True,
    progress: bool = False,
) -> Corpus:
    """Anonymize every utterance of a corpus into a folder.

    Parameters
    ----------
    corpus
        What to anonymize.
    anonymizer
        What anonymizes; its seed is the only chance there is.
    out
        A new or empty folder, or one in which this very run was begun: finished files are kept,
        unless their source is younger. It gets ``<speaker>/<utterance>.flac`` (16 kHz, mono,
        16 bits), ``utterances.csv`` (utterance, speaker, samples, time_factor, note) and a
        manifest. Output beyond full scale is scaled to a peak just below it, never clipped.
    workers
        Threads; with another backend of joblib its own, see `voiceprivacy._mapping`. Files are the
        same for any number of them and any order of the corpus.
    strict
        Whether an utterance that the anonymizer fails on, or makes silent, stops everything.
        Otherwise it is left out, and the others go on.
    progress
        Show a bar on stderr.

    Returns
    -------
    Corpus
        The same ids and speakers. `Corpus.skipped` gains the files that are ``unreadable``, if not
        strict also those that the anonymizer ``failed`` on or ``made silent``;
        `Corpus.notes` the utterances that are ``silent`` or were ``scaled``.

    Raises
    ------
    VoicePrivacyError
        If `out` holds something else or any source, nothing is left, or, if strict, the anonymizer
        returns anything but what `BaseAnonymizer` promises.
    """
    out = Path(out)
    anonymizer = anonymizer.prepared(corpus)
    todo = begun(corpus, anonymizer, out)
    work = [(anonymizer.narrowed(job.utterance), job) for job in todo]
    # Threads of the matrix products would only wait for each other on so short arrays.
    with threadpool_limits(limits=1):
        outcomes = mapped(partial(_done, strict), work, workers=workers, progress=progress)
    result = conversion.result(corpus, todo, outcomes, _notes, "nothing could be anonymized")
    _write_utterances(out / UTTERANCES, anonymizer, todo, outcomes)
    return result


def begun(corpus: Corpus, anonymizer: BaseAnonymizer, out: Path) -> list[Job]:
    """Take hold of the folder: one job an utterance, and a manifest of what is being made."""
    todo = conversion.jobs(corpus, out)
    settings = {
        "corpus": corpus.name,
        "anonymizer": anonymizer.name,
        "class": type(anonymizer).__qualname__,
        "parameters": {key: _plain(value) for key, value in anonymizer.parameters().items()},
    }
    conversion.claim(out, settings)
    return todo


def _plain(value: object) -> object:
    """A setting as JSON can hold it; of a model, for example, only the kind."""
    is_plain = isinstance(value, (str, int, float, bool, list, tuple, dict, type(None)))
    return value if is_plain else type(value).__qualname__


def _done(strict: bool, work: tuple[BaseAnonymizer, Job]) -> Outcome:
    """Anonymize one utterance, unless it is there already."""
    anonymizer, job = work
    try:
        if job.is_done:
            return conversion.found(job.path)
        samples = job.said.samples()
    except (VoicePrivacyError, OSError) as error:
        return Outcome(reason="unreadable", detail=str(error))
    try:
        out = anonymizer(samples, speaker=job.speaker, utterance=job.utterance)
    except Exception as error:  # whatever an anonymizer raises, it concerns one utterance
        if strict:
            raise
        return Outcome(reason="failed", detail=f"{type(error).__name__}: {error}")
    peak = float(np.abs(out).max())
    if not peak and not strict and np.abs(samples).mean() >= SILENCE:
        return Outcome(reason="made silent", detail="the anonymizer returned no sound")
    if peak > 1:
        return conversion.write(job.path, out * (PEAK / peak), "scaled")
    return conversion.write(job.path, out, AS_MADE if peak else "silent")


def _note(outcome: Outcome) -> str:
    return outcome.comment if outcome.comment in NOTES else ""


def _notes(outcome: Outcome) -> dict[str, str]:
    note = _note(outcome)
    return {note: NOTES[note]} if note else {}


def _write_utterances(
    path: Path, anonymizer: BaseAnonymizer, todo: list[Job], outcomes: list[Outcome]
) -> None:
    """Write the table of what lies in the folder, by id."""
    rows = [
        (
            job.utterance,
            job.speaker,
            outcome.n_samples,
            anonymizer.time_factor(speaker=job.speaker, utterance=job.utterance),
            _note(outcome),
        )
        for job, outcome in zip(todo, outcomes, strict=True)
        if not outcome.reason
    ]
    columns = ["utterance", "speaker", "samples", "time_factor", "note"]
    conversion.write_table(path, rows, columns)
