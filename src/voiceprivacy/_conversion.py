"""From one corpus to another: each utterance changed and written once, resumed when stopped.

Files are ``<speaker>/<utterance>.flac`` (16 kHz, mono, 16 bits), the same for any number of
workers and any order of the corpus.
"""

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

import numpy as np
import pandas as pd

from voiceprivacy._audio import RATE, audio_packages
from voiceprivacy.corpora import COLUMNS, REPORT_COLUMNS, Corpus, Utterance
from voiceprivacy.errors import VoicePrivacyError, listed
from voiceprivacy.files import written_whole

MANIFEST = "manifest.json"
UTTERANCES = "utterances.csv"


@dataclass(frozen=True)
class Job:
    """An utterance, and the file that it goes to."""

    said: Utterance
    path: Path

    @property
    def utterance(self) -> str:
        """Its id."""
        return self.said.utterance

    @property
    def speaker(self) -> str:
        """Who speaks."""
        return self.said.speaker

    @property
    def source(self) -> Path:
        """The file that holds the sound."""
        return Path(self.said.path)

    @property
    def is_done(self) -> bool:
        """Whether the file was written after its source."""
        return self.path.exists() and self.path.stat().st_mtime >= self.source.stat().st_mtime


@dataclass(frozen=True)
class Outcome:
    """What became of an utterance: its length and the file's comment; or why there is no file."""

    n_samples: int = 0
    comment: str = ""
    reason: str = ""
    detail: str = ""


def jobs(corpus: Corpus, out: Path) -> list[Job]:
    """One job an utterance.

    Raises
    ------
    VoicePrivacyError
        If the folder holds what is to be read, or two utterances would become one file.
    """
    todo = [Job(u, out / _place(u.utterance, u.speaker)) for u in corpus.utterances()]
    inside = [job.source for job in todo if job.source.resolve().is_relative_to(out.resolve())]
    if inside:
        raise VoicePrivacyError(
            f"{out} holds audio that is to be read ({inside[0]}); name another folder, outside "
            "the corpus."
        )
    places = pd.Series([str(job.path) for job in todo])
    if places.duplicated().any():
        raise VoicePrivacyError(
            f"two utterances would be written to {listed(places[places.duplicated()])}; "
            "rename one of each."
        )
    return todo


def refuse_inside(out: Path, speech: Path) -> None:
    """Refuse a folder in the one that is read."""
    if out.resolve().is_relative_to(speech.resolve()):
        raise VoicePrivacyError(
            f"OUT ({out}) lies in IN ({speech}), and would be read as speech of IN the next time; "
            "name a folder outside."
        )


def claim(out: Path, settings: Mapping[str, object]) -> None:
    """Note in the folder what is made there, or check that it is the same as noted.

    Raises
    ------
    VoicePrivacyError
        If the folder holds anything else.
    """
    path = out / MANIFEST
    if path.is_file():
        _refuse_other(path, json.loads(json.dumps(settings)))
    elif out.exists() and any(out.iterdir()):
        raise VoicePrivacyError(f"{out} holds other files; name a new folder.")
    else:
        with written_whole(path) as temporary:
            text = json.dumps(settings, indent=2, sort_keys=True)
            temporary.write_text(text + "\n", encoding="utf-8")


def write(path: Path, samples: np.ndarray, comment: str) -> Outcome:
    """Write an utterance whole, with a comment inside the file."""
    soundfile, _ = audio_packages()
    with (
        written_whole(path) as temporary,
        soundfile.SoundFile(temporary, "w", RATE, channels=1, subtype="PCM_16") as file,
    ):
        file.comment = comment
        file.write(samples)
    return Outcome(len(samples), comment)


def found(path: Path) -> Outcome:
    """Return what was written before.

    Raises
    ------
    VoicePrivacyError
        If the file is damaged.
    """
    soundfile, _ = audio_packages()
    try:
        with soundfile.SoundFile(path) as file:
            return Outcome(file.frames, file.comment)
    except (OSError, RuntimeError) as error:
        raise VoicePrivacyError(
            f"{path} cannot be read ({error}); remove it, and it is made again."
        ) from error


def result(
    corpus: Corpus,
    todo: list[Job],
    outcomes: list[Outcome],
    notes_of: Callable[[Outcome], Mapping[str, str]],
    nothing: str,
) -> Corpus:
    """Return the corpus of what was written, with a report of the rest.

    Parameters
    ----------
    notes_of
        What to mind about an utterance that was written: each note with its detail.
    nothing
        What to say if no utterance was.
    """
    rows, skipped, notes = [], [], []
    for job, outcome in zip(todo, outcomes, strict=True):
        if outcome.reason:
            skipped.append((job.utterance, job.source, outcome.reason, outcome.detail))
            continue
        rows.append((job.utterance, job.speaker, str(job.path), np.nan, np.nan))
        notes += [(job.utterance, job.source, *note) for note in notes_of(outcome).items()]
    if not rows:
        details = [outcome.detail for outcome in outcomes]
        raise VoicePrivacyError(f"{corpus.name}: {nothing}: {listed(details, 3)}.")
    return replace(
        corpus,
        table=pd.DataFrame(rows, columns=COLUMNS),
        skipped=_longer(corpus.skipped, skipped),
        notes=_longer(corpus.notes, notes),
    )


def write_table(path: Path, rows: list[tuple], columns: list[str]) -> None:
    """Write the table of what lies in the folder, by id."""
    table = pd.DataFrame(rows, columns=columns).sort_values("utterance")
    with written_whole(path) as temporary:
        table.to_csv(temporary, index=False, lineterminator="\n")


def _longer(report: pd.DataFrame, rows: list[tuple[str, object, str, str]]) -> pd.DataFrame:
    """A corpus's report with more rows."""
    more = pd.DataFrame(rows, columns=REPORT_COLUMNS, dtype=str)
    return pd.concat([report, more], ignore_index=True)


def _place(utterance: str, speaker: str) -> PurePosixPath:
    """Where an utterance lies below the folder; ids may be paths that begin with the speaker."""
    below = PurePosixPath(utterance)
    if below.parts[0] != speaker:
        below = speaker / below
    if below.is_absolute() or ".." in below.parts or os.sep in speaker:
        raise VoicePrivacyError(
            f"utterance {utterance!r} of speaker {speaker!r} makes no file name; rename it."
        )
    return below.parent / f"{below.name}.flac"


def _refuse_other(path: Path, wanted: Mapping[str, object]) -> None:
    try:
        before = json.loads(path.read_text(encoding="utf-8"))
        differing = sorted(key for key in wanted if before.get(key) != wanted[key])
    except (ValueError, AttributeError):
        raise VoicePrivacyError(f"{path} is damaged; remove its folder to start again.") from None
    if differing:
        raise VoicePrivacyError(
            f"{path.parent} holds the output of another run (different: {', '.join(differing)}); "
            "name another folder, or remove this one."
        )
