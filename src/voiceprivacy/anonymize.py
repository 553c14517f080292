"""Run an anonymizer over a corpus: FLAC files that name their speakers, made once."""

import json
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path, PurePosixPath

import numpy as np
import pandas as pd
from tqdm import tqdm

from voiceprivacy._audio import RATE, audio_packages
from voiceprivacy.anonymizers import PEAK, BaseAnonymizer
from voiceprivacy.corpora import COLUMNS, REPORT_COLUMNS, Corpus
from voiceprivacy.errors import VoicePrivacyError, listed
from voiceprivacy.files import written_whole

MANIFEST = "manifest.json"
UTTERANCES = "utterances.csv"
NOTES = {
    "silent": "digital silence, before and after",
    "scaled": "the anonymizer's output went beyond full scale and was scaled down",
}


@dataclass(frozen=True)
class _Job:
    """An utterance to be anonymized, and where to."""

    row: int
    utterance: str
    speaker: str
    path: Path


@dataclass(frozen=True)
class _Outcome:
    """What became of an utterance: its length, and what to mind; or why it could not be read."""

    n_samples: int = 0
    note: str = ""
    fault: str = ""


def anonymized(
    corpus: Corpus,
    anonymizer: BaseAnonymizer,
    out: str | os.PathLike,
    *,
    workers: int = 1,
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
        unless the source is younger. It gets ``<speaker>/<utterance>.flac`` (16 kHz, mono,
        16 bits), ``utterances.csv`` (utterance, speaker, samples, time_factor, note) and a
        manifest.
    workers
        Threads. Files are the same for any number of them and any order of the corpus.
    progress
        Show a bar on stderr.

    Returns
    -------
    Corpus
        The same ids and speakers. `Corpus.skipped` gains the files that cannot be read,
        `Corpus.notes` the silent utterances and those that were scaled down to avoid clipping.

    Raises
    ------
    VoicePrivacyError
        If `out` holds something else or any source, nothing can be read, or the anonymizer
        returns anything but what `BaseAnonymizer` promises.
    """
    out = Path(out)
    if workers < 1:
        raise VoicePrivacyError(f"{workers} workers cannot work; expected 1 or more.")
    jobs = [
        _Job(row, utterance, speaker, out / _place(utterance, speaker))
        for row, (utterance, speaker) in enumerate(
            zip(corpus.table["utterance"], corpus.table["speaker"], strict=True)
        )
    ]
    _refuse_overlap(corpus, out, jobs)
    _claim(out, corpus, anonymizer)
    outcomes = _all_done(corpus, anonymizer, jobs, workers, progress)
    result = _result(corpus, jobs, outcomes)
    _write_utterances(out / UTTERANCES, jobs, outcomes, anonymizer)
    return result


def _place(utterance: str, speaker: str) -> PurePosixPath:
    """Where an utterance lies below the folder; ids may be paths that begin with the speaker."""
    below = PurePosixPath(utterance)
    if below.parts[0] != speaker:
        below = speaker / below
    if below.is_absolute() or ".." in below.parts:
        raise VoicePrivacyError(
            f"utterance {utterance!r} of speaker {speaker!r} makes no file name; rename it."
        )
    return below.parent / f"{below.name}.flac"


def _refuse_overlap(corpus: Corpus, out: Path, jobs: list[_Job]) -> None:
    """Refuse to write over, or among, what is read."""
    place = out.resolve()
    inside = [path for path in corpus.table["path"] if Path(path).resolve().is_relative_to(place)]
    if inside:
        raise VoicePrivacyError(
            f"{out} holds audio that is to be anonymized ({listed(inside, 1)}); "
            "name another folder, outside the corpus."
        )
    places = pd.Series([str(job.path) for job in jobs])
    if places.duplicated().any():
        raise VoicePrivacyError(
            f"two utterances would be written to {listed(places[places.duplicated()])}; "
            "rename one of each."
        )


def _claim(out: Path, corpus: Corpus, anonymizer: BaseAnonymizer) -> None:
    """Note in the folder what is made there, or check that it is the same as noted."""
    wanted = {
        "corpus": corpus.name,
        "anonymizer": anonymizer.name,
        "class": type(anonymizer).__qualname__,
        "parameters": anonymizer.parameters(),
    }
    # Through text, because what is read back are lists and not tuples, for example.
    text = json.dumps(wanted, indent=2, sort_keys=True, default=lambda x: type(x).__qualname__)
    path = out / MANIFEST
    if path.is_file():
        _refuse_other(path, json.loads(text))
    elif out.exists() and any(out.iterdir()):
        raise VoicePrivacyError(f"{out} holds other files; name a new folder.")
    else:
        with written_whole(path) as temporary:
            temporary.write_text(text + "\n", encoding="utf-8")


def _refuse_other(path: Path, wanted: dict[str, object]) -> None:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        differing = {key for key in wanted if found.get(key) != wanted[key]}
    except (ValueError, AttributeError):
        raise VoicePrivacyError(f"{path} is damaged; remove its folder to start again.") from None
    if differing:
        raise VoicePrivacyError(
            f"{path.parent} holds the output of another run (different: "
            f"{', '.join(sorted(differing))}); name another folder, or remove this one."
        )


def _all_done(
    corpus: Corpus, anonymizer: BaseAnonymizer, jobs: list[_Job], workers: int, progress: bool
) -> list[_Outcome]:
    """Do all jobs in some order; the first broken promise of the anonymizer stops everything."""
    done = partial(_done, corpus, anonymizer)
    bar = partial(tqdm, total=len(jobs), disable=not progress, unit="utterance")
    if workers == 1:
        return list(bar(map(done, jobs)))
    with ThreadPoolExecutor(workers) as pool:
        try:
            return list(bar(pool.map(done, jobs)))
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def _done(corpus: Corpus, anonymizer: BaseAnonymizer, job: _Job) -> _Outcome:
    """Anonymize one utterance, unless it is there already."""
    source = Path(corpus.table["path"].iloc[job.row])
    try:
        if job.path.exists() and job.path.stat().st_mtime >= source.stat().st_mtime:
            return _found(job.path)
        samples = corpus.audio(job.row)
    except (VoicePrivacyError, OSError) as error:
        return _Outcome(fault=str(error))
    out = anonymizer(samples, speaker=job.speaker, utterance=job.utterance)
    return _written(job.path, out)


def _written(path: Path, samples: np.ndarray) -> _Outcome:
    """Write samples, scaled down if they would clip; the file's comment says what to mind."""
    soundfile, _ = audio_packages()
    peak = float(np.abs(samples).max())
    note = "scaled" if peak > 1 else "" if peak else "silent"
    scale = PEAK / peak if peak > 1 else 1.0
    with (
        written_whole(path) as temporary,
        soundfile.SoundFile(temporary, "w", RATE, channels=1, subtype="PCM_16") as file,
    ):
        if note:
            file.comment = note
        file.write(samples * scale)
    return _Outcome(len(samples), note)


def _found(path: Path) -> _Outcome:
    """What was noted about a file that is there already."""
    soundfile, _ = audio_packages()
    try:
        with soundfile.SoundFile(path) as file:
            return _Outcome(file.frames, file.comment)
    except (OSError, RuntimeError) as error:
        raise VoicePrivacyError(
            f"{path} cannot be read ({error}); remove it, and it is made again."
        ) from error


def _result(corpus: Corpus, jobs: list[_Job], outcomes: list[_Outcome]) -> Corpus:
    """The corpus of what was written, with a report of the rest."""
    rows, skipped, notes = [], [], []
    for job, outcome in zip(jobs, outcomes, strict=True):
        source = corpus.table["path"].iloc[job.row]
        if outcome.fault:
            skipped.append((job.utterance, source, "unreadable", outcome.fault))
        else:
            rows.append((job.utterance, job.speaker, str(job.path), np.nan, np.nan))
        if outcome.note:
            notes.append((job.utterance, source, outcome.note, NOTES[outcome.note]))
    if not rows:
        faults = [outcome.fault for outcome in outcomes]
        raise VoicePrivacyError(f"{corpus.name}: nothing could be read: {listed(faults, 3)}.")
    return replace(
        corpus,
        table=pd.DataFrame(rows, columns=COLUMNS),
        skipped=_more(corpus.skipped, skipped),
        notes=_more(corpus.notes, notes),
    )


def _more(report: pd.DataFrame, rows: list[tuple]) -> pd.DataFrame:
    more = pd.DataFrame(rows, columns=REPORT_COLUMNS, dtype=str)
    return pd.concat([report, more], ignore_index=True)


def _write_utterances(
    path: Path, jobs: list[_Job], outcomes: list[_Outcome], anonymizer: BaseAnonymizer
) -> None:
    """Write the table of what lies in the folder, by id."""
    rows = [
        (
            job.utterance,
            job.speaker,
            outcome.n_samples,
            anonymizer.time_factor(job.speaker, job.utterance),
            outcome.note,
        )
        for job, outcome in zip(jobs, outcomes, strict=True)
        if not outcome.fault
    ]
    table = pd.DataFrame(rows, columns=["utterance", "speaker", "samples", "time_factor", "note"])
    with written_whole(path) as temporary:
        table.sort_values("utterance").to_csv(temporary, index=False, lineterminator="\n")
