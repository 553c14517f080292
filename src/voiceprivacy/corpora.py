"""Corpora of speech: one table of utterances, one audio reader, and a report of what was left out.

Audio always comes out as float32, one channel (the mean of all channels), 16,000 samples a second
(resampled with soxr's high quality), whatever the file holds. Nothing disappears silently: a file
that cannot be used stands in `Corpus.skipped` with the reason, and one that is used with a doubt
stands in `Corpus.notes`.
"""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from tqdm import tqdm

from voiceprivacy._audio import RATE, header_faults, read_audio
from voiceprivacy._commands import Command
from voiceprivacy.errors import VoicePrivacyError, listed

SILENCE = 5e-4
READ = (".wav", ".flac", ".ogg", ".mp3")
NOT_READ = (".aac", ".aif", ".aiff", ".amr", ".m4a", ".mp4", ".opus", ".sph", ".webm", ".wma")
LIBRISPEECH_NAME = re.compile(r"\d+-\d+-\d{4}")
LOW_RATE = "low rate"
COLUMNS = ["utterance", "speaker", "path", "start", "end"]
REPORT_COLUMNS = ["utterance", "path", "reason", "detail"]


def _report(rows: Iterable[tuple[str, Path, str, str]] = ()) -> pd.DataFrame:
    return pd.DataFrame(list(rows), columns=REPORT_COLUMNS, dtype=str)


class Utterance(NamedTuple):
    """A row of `Corpus.table`, with all that another process needs to hear it."""

    utterance: str
    speaker: str
    path: str
    start: float
    end: float
    command: Command | None = None

    def samples(self) -> np.ndarray:
        """Return the samples, see `Corpus.audio`."""
        sound = None if self.command is None else self.command.sound()
        return read_audio(self.path, self.start, self.end, sound=sound)


@dataclass(frozen=True, eq=False)
class Corpus:
    """Utterances of known speakers, and how to hear them.

    Parameters
    ----------
    name
        What figures call this corpus.
    table
        One row an utterance: ``utterance`` (id, unique), ``speaker``, ``path`` of the audio file,
        and ``start`` and ``end`` in seconds inside that file (NaN: the whole file).
    skipped
        What was left out: ``utterance``, ``path``, ``reason`` (one of a few words, to count by)
        and ``detail``.
    notes
        What was kept with a doubt, same columns.
    commands
        Programs that may be called for sound, by the text that stands for them in ``path``; only
        `voiceprivacy.kaldi.read_kaldi` gives any, when asked to. No other ``path`` is ever run.
    """

    name: str
    table: pd.DataFrame
    skipped: pd.DataFrame = field(default_factory=_report)
    notes: pd.DataFrame = field(default_factory=_report)
    commands: Mapping[str, Command] = field(default_factory=dict)

    def __post_init__(self):
        twice = self.table["utterance"][self.table["utterance"].duplicated()]
        if len(twice):
            raise VoicePrivacyError(
                f"{self.name}: {len(twice)} utterance ids stand for two recordings: "
                f"{listed(twice)}; rename one of each."
            )
        object.__setattr__(self, "table", self.table.reset_index(drop=True))

    def __len__(self) -> int:
        return len(self.table)

    def audio(self, row: int) -> np.ndarray:
        """Return one utterance's samples, float32, mono, 16 kHz.

        Raises
        ------
        VoicePrivacyError
            If the file cannot be decoded or holds no samples or values that are no numbers.
        """
        return self.select([row]).utterances()[0].samples()

    def utterances(self) -> list[Utterance]:
        """Return all rows, each to be heard by itself."""
        rows = self.table[COLUMNS].itertuples(index=False, name=None)
        return [Utterance(*row, self.commands.get(row[2])) for row in rows]

    def select(self, rows: np.ndarray) -> "Corpus":
        """Return the utterances that a boolean mask or an array of row numbers picks."""
        rows = np.asarray(rows)
        return replace(self, table=self.table.iloc[rows if rows.size else rows.astype(int)])

    def left_out(self) -> pd.Series:
        """Count what was skipped, by reason."""
        return self.skipped["reason"].value_counts()


def read_folder(path: str | os.PathLike) -> Corpus:
    """Read a folder of speech, one folder a speaker or LibriSpeech file names.

    Parameters
    ----------
    path
        Either ``speaker/utterance.wav`` (deeper folders belong to the first one), or, when most
        files are so named, ``<reader>-<chapter>-<utterance>.flac`` anywhere below, as LibriSpeech
        has them; then the reader is the speaker. Files may be wav, flac, ogg or mp3; hidden files
        are ignored.

    Returns
    -------
    Corpus
        Utterances sorted by id. An id is the file's name without suffix; if any name repeats,
        all ids are paths below `path` without suffix, such as ``speaker/utterance``.

    Raises
    ------
    VoicePrivacyError
        If there is no such folder, no readable speech in it, or speakers cannot be told.
    """
    root = Path(path)
    if not root.is_dir():
        raise VoicePrivacyError(f"{root}: no such folder of speech.")
    files = sorted(_files_below(root))
    sound = [f for f in files if f.suffix.lower() in READ]
    skipped = [
        (f.stem, f, "format", f"{f.suffix} is not read; convert it to flac or wav")
        for f in files
        if f.suffix.lower() in NOT_READ
    ]
    named = [f for f in sound if LIBRISPEECH_NAME.fullmatch(f.stem)]
    by_name = 2 * len(named) > len(sound)
    names_differ = len({f.stem for f in sound}) == len(sound)
    rows, notes = [], []
    for file in sound:
        below = file.relative_to(root)
        utterance = file.stem if names_differ else below.with_suffix("").as_posix()
        speaker = _speaker(below, by_name)
        fault, note = header_faults(file)
        if not speaker:
            skipped.append((utterance, file, "no speaker", "neither name nor folder tells one"))
        elif fault:
            skipped.append((utterance, file, "unreadable", fault))
        else:
            rows.append((utterance, speaker, str(file), np.nan, np.nan))
            notes += [(utterance, file, LOW_RATE, note)] * bool(note)
    _refuse_empty(root, rows, skipped)
    table = pd.DataFrame(rows, columns=COLUMNS).sort_values("utterance", kind="stable")
    return Corpus(root.resolve().name, table, _report(skipped), _report(notes))


def cut(
    corpus: Corpus, seconds: float = 2.0, minimum: float | None = None, *, progress=False
) -> Corpus:
    """Cut every utterance into consecutive pieces that do not overlap.

    Parameters
    ----------
    corpus
        What to cut; every file is decoded once.
    seconds
        Length of a piece.
    minimum
        Shortest last piece that is kept; by default only full pieces are.
    progress
        Show a bar on stderr.

    Returns
    -------
    Corpus
        Pieces ``<utterance>_000``, ``_001``, … of the same speakers. `Corpus.skipped` gains the
        unreadable files, the silent pieces (mean amplitude below 0.0005, where the VoicePrivacy
        Challenge 2024 drops training chunks too) and the rests that are too short.
    """
    if not seconds > 0 or (minimum is not None and not 0 < minimum <= seconds):
        raise VoicePrivacyError(
            f"cannot cut into pieces of {seconds} s, at least {minimum} s; "
            "expected 0 < minimum <= seconds."
        )

    def pieces(n_samples: int) -> Iterator[tuple[str, float, float]]:
        duration = n_samples / RATE
        for k in range(max(1, int(np.ceil(duration / seconds)))):
            yield f"_{k:03d}", k * seconds, min((k + 1) * seconds, duration)

    return _sifted(corpus, pieces, seconds if minimum is None else minimum, progress)


def checked(
    corpus: Corpus, minimum: float = 0.5, *, silence: float = SILENCE, progress: bool = False
) -> Corpus:
    """Leave out utterances that are unreadable, silent or too short; note those below 16 kHz.

    Parameters
    ----------
    minimum
        Shortest utterance that is kept, in seconds.
    silence
        Mean amplitude below which it is silent.
    """

    def whole(n_samples: int) -> Iterator[tuple[str, float, float]]:
        yield "", 0.0, n_samples / RATE

    return _sifted(corpus, whole, minimum, progress, silence)


def _sifted(
    corpus: Corpus,
    pieces: Callable[[int], Iterable[tuple[str, float, float]]],
    minimum: float,
    progress: bool,
    silence: float = SILENCE,
) -> Corpus:
    """Keep the usable pieces of every utterance and report the others."""
    kept, skipped, notes = [], [], []
    noted = set(corpus.notes["utterance"][corpus.notes["reason"] == LOW_RATE])
    for utterance in tqdm(corpus.utterances(), disable=not progress):
        try:
            samples = utterance.samples()
        except VoicePrivacyError as error:
            skipped.append((utterance.utterance, utterance.path, "unreadable", str(error)))
            continue
        _, note = header_faults(utterance.path)
        if note and utterance.utterance not in noted:
            notes.append((utterance.utterance, utterance.path, LOW_RATE, note))
        offset = 0.0 if np.isnan(utterance.start) else utterance.start
        for suffix, start, end in pieces(len(samples)):
            piece = samples[round(start * RATE) : round(end * RATE)]
            name = utterance.utterance + suffix
            fault = _fault(piece, minimum, silence)
            if fault:
                skipped.append((name, utterance.path, *fault))
            else:
                kept.append((name, utterance.speaker, utterance.path, offset + start, offset + end))
    left_out = pd.concat([corpus.skipped, _report(skipped)], ignore_index=True)
    _refuse_empty(corpus.name, kept, left_out.itertuples(index=False))
    notes = pd.concat([corpus.notes, _report(notes)], ignore_index=True)
    table = pd.DataFrame(kept, columns=COLUMNS)
    return replace(corpus, table=table, skipped=left_out, notes=notes)


def _fault(samples: np.ndarray, minimum: float, silence: float) -> tuple[str, str] | None:
    """Why a piece cannot be used: reason and detail."""
    # Half a sample of tolerance: a duration is a rounded number of samples.
    if len(samples) < minimum * RATE - 0.5:
        return "too short", f"{len(samples) / RATE:.3f} s, expected at least {minimum:g} s"
    amplitude = float(np.abs(samples).mean())
    if amplitude < silence:
        return "silent", f"mean amplitude {amplitude:.1e}, expected at least {silence:g}"
    return None


def _speaker(below: Path, by_name: bool) -> str:
    """Who speaks in a file, by its LibriSpeech name or its first folder; empty if unknown."""
    if by_name:
        return below.stem.split("-")[0] if LIBRISPEECH_NAME.fullmatch(below.stem) else ""
    return below.parts[0] if len(below.parts) > 1 else ""


def _files_below(root: Path) -> Iterator[Path]:
    """All visible files, through linked folders too, but never around in a circle."""
    for folder, inner, names in os.walk(root, followlinks=True):
        place = Path(folder).resolve()
        inner[:] = [
            name
            for name in inner
            if not name.startswith(".") and not place.is_relative_to(Path(folder, name).resolve())
        ]
        yield from (Path(folder, name) for name in names if not name.startswith("."))


def _refuse_empty(where: object, rows: list, skipped: Iterable[tuple]) -> None:
    """Raise when nothing usable is left, saying what became of the files."""
    if rows:
        return
    reasons = [f"{path}: {reason} ({detail})" for _, path, reason, detail in skipped]
    left_out = f" Left out: {listed(reasons, 3)}." if reasons else ""
    raise VoicePrivacyError(
        f"{where}: no usable speech; expected speaker/utterance{{{','.join(READ)}}} or files named "
        f"<reader>-<chapter>-<utterance>.flac.{left_out}"
    )
