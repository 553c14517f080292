"""Kaldi data directories, as the VoicePrivacy Challenges use them: read, checked, written.

A directory holds text tables, one line an id: ``wav.scp`` (sound files), ``utt2spk`` (or
``spk2utt``), and, where there are any, ``segments`` (pieces of recordings), ``text``,
``spk2gender`` (f or m), ``utt2dur`` and ``trials`` (enrolled speaker, utterance, target or
nontarget).
"""

import os
from collections.abc import Container, Iterable
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd

from voiceprivacy import _wav_scp
from voiceprivacy._common_voice import is_common_voice
from voiceprivacy._kaldi_trials import read_trials
from voiceprivacy._kaldi_writing import write_kaldi
from voiceprivacy._spk2utt import read_spk2utt
from voiceprivacy._wav_scp import Row, Sound, read_table
from voiceprivacy.corpora import COLUMNS, REPORT_COLUMNS, Corpus, read_folder
from voiceprivacy.errors import VoicePrivacyError, listed

__all__ = ["genders", "is_kaldi", "read_kaldi", "read_trials", "transcripts", "write_kaldi"]

GENDERS = {"f": "female", "m": "male", "female": "female", "male": "male"}


def is_kaldi(folder: Path) -> bool:
    """Return whether a folder is a Kaldi directory, rather than one of sound files."""
    return any(_has(folder, table) for table in ("wav.scp", "utt2spk", "spk2utt"))


def read_speech(folder: Path, missing: str = "error") -> Corpus:
    """Read a Kaldi directory, a release of Common Voice, or a folder of sound files.

    Raises
    ------
    VoicePrivacyError
        If the reader does, or if the folder holds several corpora: the folders of Kaldi
        directories and of languages are no speakers.
    """
    if is_kaldi(folder):
        return read_kaldi(folder, missing=missing)
    if is_common_voice(folder):
        from voiceprivacy.common_voice import read_common_voice

        return read_common_voice(folder)
    inner = [place.name for place in sorted(folder.glob("*")) if is_kaldi(place)]
    if inner:
        raise VoicePrivacyError(f"{folder} holds Kaldi directories ({listed(inner)}); name one.")
    return read_folder(folder)


def read_kaldi(
    folder: str | os.PathLike,
    base: str | os.PathLike | None = None,
    *,
    name: str = "",
    like: str | os.PathLike | None = None,
    missing: str = "error",
    commands: str = "refuse",
) -> Corpus:
    """Read a Kaldi data directory.

    Parameters
    ----------
    folder
        The directory. Without a ``wav.scp``, or when no file that it names exists, the sound files
        below ``wav/`` are taken, named by their utterances.
    base
        Where relative paths of ``wav.scp`` start; by default the working directory, as in Kaldi.
    name
        What figures call the corpus; by default the directory's name.
    like
        The directory that this one was made from: its ``utt2spk``, ``spk2utt`` and ``text`` stand
        in for those that `folder` lacks, as anonymized data of the VoicePrivacy Challenges may.
    missing
        ``"error"`` refuses a directory whose tables name different utterances or whose sound
        cannot be had; ``"drop"`` keeps the utterances that all tables have, and reports the others
        in `Corpus.skipped`.
    commands
        ``"refuse"``, or ``"run"`` for tables that you trust: entries such as ``sox FILE -t wav -
        |`` are then called whenever an utterance is listened to, in `base`, without a shell, for
        at most 60 s, and what they write is decoded in memory. In `Corpus.table` the command
        stands in ``path``; what looks for files there, such as `write_kaldi`, refuses it.

    Returns
    -------
    Corpus
        Utterances sorted by id.

    Raises
    ------
    VoicePrivacyError
        If a table is missing, damaged or has an id twice, or, with ``missing="error"``, if tables
        do not belong together or entries of ``wav.scp`` are archives, files that do not exist,
        commands (other than ``flac -c -d -s FILE |``, which is decoded without being run) or,
        with ``commands="run"``, commands that need a shell or a program that is not here.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise VoicePrivacyError(f"{folder}: no such folder of Kaldi data.")
    if missing not in ("error", "drop"):
        raise VoicePrivacyError(f"missing={missing!r}; expected 'error' or 'drop'.")
    if commands not in ("refuse", "run"):
        raise VoicePrivacyError(f"commands={commands!r}; expected 'refuse' or 'run'.")
    places = [folder] if like is None else [folder, Path(like)]
    speakers = _speakers(places)
    base = Path.cwd() if base is None else Path(base)
    sounds, lost, notes = recordings(folder, base, commands == "run")
    pieces = _pieces(folder, sounds)
    tables = {"utt2spk": speakers, "segments" if _has(folder, "segments") else "wav.scp": pieces}
    if text := _first(places, "text"):
        tables["text"] = read_table(text)
    faults = _unheard(pieces, sounds, lost) | _differences(tables)
    if faults and missing == "error":
        raise VoicePrivacyError(_told(folder, tables, faults))
    rows = [
        (utterance, speakers[utterance], sounds[recording].place, start, end)
        for utterance, (recording, start, end) in sorted(pieces.items())
        if utterance not in faults
    ]
    if not rows:
        raise VoicePrivacyError(_told(folder, tables, faults) + " Nothing is left to read.")
    skipped = [(u, str(folder), *faults[u]) for u in sorted(faults)]
    return Corpus(
        name or folder.resolve().name,
        pd.DataFrame(rows, columns=COLUMNS),
        pd.DataFrame(skipped, columns=REPORT_COLUMNS, dtype=str),
        pd.DataFrame(notes, columns=REPORT_COLUMNS, dtype=str),
        {sound.place: sound.command for sound in sounds.values() if sound.command},
    )


def genders(folder: str | os.PathLike) -> pd.Series:
    """Return the gender of every speaker of a Kaldi directory, empty where it is not told.

    Speakers are those of ``utt2spk``, else of ``spk2utt``, else of ``spk2gender`` itself.

    Raises
    ------
    VoicePrivacyError
        If ``spk2gender`` holds anything but f, m, female or male.
    """
    folder = Path(folder)
    told = read_table(folder / "spk2gender") if _has(folder, "spk2gender") else {}
    listed_in = any(_has(folder, table) for table in ("utt2spk", "spk2utt"))
    speakers = sorted(set(_speakers([folder]).values()) if listed_in else told)
    wrong = [f"{s} {row.value} (line {row.line})" for s, row in told.items() if not _gender(row)]
    if wrong:
        raise VoicePrivacyError(
            f"{folder / 'spk2gender'}: {len(wrong)} lines with another gender than f or m: "
            f"{listed(wrong)}; leave out the line of a speaker whose gender is unknown."
        )
    found = [_gender(told[speaker]) if speaker in told else "" for speaker in speakers]
    return pd.Series(found, index=pd.Index(speakers, name="speaker"), name="gender", dtype=str)


def transcripts(folder: str | os.PathLike) -> dict[str, str]:
    """Return what is said in every utterance of a Kaldi directory, from ``text``."""
    return {u: row.value for u, row in read_table(Path(folder) / "text").items()}


def _has(folder: Path, table: str) -> bool:
    return (folder / table).is_file()


def _gender(row: Row) -> str:
    return GENDERS.get(row.value.lower(), "")


def _first(places: Iterable[Path], table: str) -> Path | None:
    """The table in the first directory that has it."""
    return next((place / table for place in places if _has(place, table)), None)


def _speakers(places: list[Path]) -> dict[str, str]:
    """The speaker of every utterance; spk2utt is only read where there is no utt2spk."""
    path = _first(places, "utt2spk")
    if path is None:
        other = _first(places, "spk2utt")
        if other is None:
            where = " and ".join(map(str, places))
            raise VoicePrivacyError(f"{where} holds neither utt2spk nor spk2utt.")
        return read_spk2utt(other)
    return _wav_scp.read_utt2spk(path)


def recordings(
    folder: Path, base: Path, run: bool = False
) -> tuple[dict[str, Sound], dict[str, str], list[tuple]]:
    """Return where recordings lie, why some cannot be had, and a note if wav.scp errs."""
    scp = folder / "wav.scp"
    sounds = _wav_scp.read_wav_scp(scp, base, run) if scp.is_file() else {}
    lost = _wav_scp.faults(sounds)
    if len(lost) < len(sounds) or not (folder / "wav").is_dir():
        if not sounds:
            raise VoicePrivacyError(f"{folder} holds neither a wav.scp nor sound below wav/.")
        return sounds, lost, []
    notes = [("", str(scp), "wav.scp replaced", "none of its files exists; took those of wav/")]
    return _wav_scp.sounds_below(folder / "wav"), {}, notes if sounds else []


def _pieces(folder: Path, sounds: dict[str, Sound]) -> dict[str, tuple[str, float, float]]:
    """The recording of every utterance, and the piece of it in seconds."""
    if not _has(folder, "segments"):
        return {recording: (recording, np.nan, np.nan) for recording in sounds}
    pieces, wrong = {}, []
    for utterance, row in read_table(folder / "segments").items():
        try:
            recording, start, end = row.value.split()
            pieces[utterance] = (recording, float(start), float(end))
            fits = 0 <= pieces[utterance][1] < pieces[utterance][2]
        except ValueError:
            fits = False
        wrong += [] if fits else [f"line {row.line}: {utterance} {row.value}"]
    if wrong:
        raise VoicePrivacyError(
            f"{folder / 'segments'}: {len(wrong)} lines are no utterance, recording, start and "
            f"later end in seconds: {listed(wrong)}."
        )
    return pieces


def _differences(tables: dict[str, Container[str]]) -> dict[str, tuple[str, str]]:
    """Utterances that some tables have and others lack."""
    everybody = set().union(*tables.values())
    lacks = {
        u: [table for table, ids in tables.items() if u not in ids]
        for u in everybody.difference(everybody.intersection(*tables.values()))
    }
    return {u: ("not in all tables", f"not in {', '.join(names)}") for u, names in lacks.items()}


def _unheard(
    pieces: dict[str, tuple[str, float, float]], sounds: dict[str, Sound], lost: dict[str, str]
) -> dict[str, tuple[str, str]]:
    """Utterances whose sound cannot be had."""
    absent = {u: r for u, (r, _, _) in pieces.items() if r not in sounds}
    return {u: ("no recording", f"segments: {r} is not in wav.scp") for u, r in absent.items()} | {
        u: ("no sound", lost[r]) for u, (r, _, _) in pieces.items() if r in lost
    }


def _told(
    folder: Path, tables: dict[str, Container[str]], faults: dict[str, tuple[str, str]]
) -> str:
    """All that is wrong with a directory, one sentence a pair of tables or kind of fault."""
    sentences = []
    for one, other in combinations(tables, 2):
        only = [sorted(set(tables[a]) - set(tables[b])) for a, b in ((one, other), (other, one))]
        if any(only):
            sentences.append(
                f"{one} and {other} name different utterances: "
                + ", ".join(
                    f"{len(ids)} only in {table} ({listed(ids)})"
                    for table, ids in zip((one, other), only, strict=True)
                    if ids
                )
            )
    for kind in ("no recording", "no sound"):
        told = [
            f"{u}: {detail}" for u, (reason, detail) in sorted(faults.items()) if reason == kind
        ]
        if told:
            sentences.append(f"{len(told)} utterances have {kind} ({listed(told)})")
    return (
        f"{folder}: {'; '.join(sentences)}. Mend the tables (relative paths start where the "
        "command is called), or leave out what is not whole (missing: drop)."
    )
