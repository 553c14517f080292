"""Kaldi data directories, as the VoicePrivacy Challenges use them: read, checked, written.

A directory holds text tables, one line an id: ``wav.scp`` (sound files), ``utt2spk`` (or
``spk2utt``), and, where there are any, ``segments`` (pieces of recordings), ``text``,
``spk2gender`` (f or m), ``utt2dur`` and ``trials`` (enrolled speaker, utterance, target or
nontarget).
"""

import os
from collections.abc import Container
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd

from voiceprivacy import _wav_scp
from voiceprivacy._kaldi_writing import write_kaldi
from voiceprivacy._spk2utt import read_spk2utt, utf8_lines
from voiceprivacy._wav_scp import Row, Sound, read_table
from voiceprivacy.corpora import COLUMNS, REPORT_COLUMNS, Corpus, read_folder
from voiceprivacy.errors import VoicePrivacyError, listed

__all__ = ["genders", "is_kaldi", "read_kaldi", "read_trials", "transcripts", "write_kaldi"]

GENDERS = {"f": "female", "m": "male", "female": "female", "male": "male"}
LABELS = ("target", "nontarget")


def is_kaldi(folder: Path) -> bool:
    """Return whether a folder is a Kaldi directory, rather than one of sound files."""
    return any(_has(folder, table) for table in ("wav.scp", "utt2spk", "spk2utt"))


def read_speech(folder: Path, missing: str = "error") -> Corpus:
    """Read a Kaldi directory, or a folder of sound files."""
    return read_kaldi(folder, missing=missing) if is_kaldi(folder) else read_folder(folder)


def read_kaldi(
    folder: str | os.PathLike,
    base: str | os.PathLike | None = None,
    *,
    name: str = "",
    missing: str = "error",
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
    missing
        ``"error"`` refuses a directory whose tables name different utterances or whose sound
        cannot be had; ``"drop"`` keeps the utterances that all tables have, and reports the others
        in `Corpus.skipped`.

    Returns
    -------
    Corpus
        Utterances sorted by id.

    Raises
    ------
    VoicePrivacyError
        If a table is missing, damaged or has an id twice, or, with ``missing="error"``, if tables
        do not belong together or entries of ``wav.scp`` are commands (other than ``flac -c -d -s
        FILE |``, which is decoded without being run), archives, or files that do not exist.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise VoicePrivacyError(f"{folder}: no such folder of Kaldi data.")
    if missing not in ("error", "drop"):
        raise VoicePrivacyError(f"missing={missing!r}; expected 'error' or 'drop'.")
    speakers = _speakers(folder)
    sounds, notes = _sounds(folder, Path.cwd() if base is None else Path(base))
    pieces = _pieces(folder, sounds)
    tables = {"utt2spk": speakers, "segments" if _has(folder, "segments") else "wav.scp": pieces}
    if _has(folder, "text"):
        tables["text"] = read_table(folder / "text")
    faults = _unheard(pieces, sounds) | _differences(tables)
    if faults and missing == "error":
        raise VoicePrivacyError(_told(folder, tables, faults))
    rows = [
        (utterance, speakers[utterance], str(sounds[recording].path), start, end)
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
    speakers = sorted(set(_speakers(folder).values()) if listed_in else told)
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


def read_trials(path: str | os.PathLike) -> pd.DataFrame:
    """Read a Kaldi list of trials.

    Parameters
    ----------
    path
        A text file, one trial a line: enrolled speaker, trial utterance, ``target`` or
        ``nontarget``.

    Returns
    -------
    pandas.DataFrame
        ``speaker``, ``utterance``, ``target`` (bool) and ``line``, in the file's order.

    Raises
    ------
    VoicePrivacyError
        If lines have another form or occur twice, told with their numbers. (The VoicePrivacy
        Challenge's own scoring takes any other label than ``target`` for a nontarget.)
    """
    path = Path(path)
    if not path.is_file():
        raise VoicePrivacyError(f"{path}: no such list of trials.")
    rows, faults, seen = [], {}, set()
    for number, line in enumerate(utf8_lines(path), 1):
        words = line.split()
        fault = _trial_fault(words, seen)
        if fault:
            faults.setdefault(fault, []).append(f"line {number}: {line.strip()}")
        elif words:
            seen.add(tuple(words[:2]))
            rows.append((words[0], words[1], words[2] == "target", number))
    if faults:
        told = "; ".join(
            f"{len(lines)} {fault} ({listed(lines)})" for fault, lines in faults.items()
        )
        raise VoicePrivacyError(
            f"{path}: {told}. Expected: enrolled speaker, utterance, target or nontarget."
        )
    if not rows:
        raise VoicePrivacyError(f"{path} lists no trial.")
    return pd.DataFrame(rows, columns=["speaker", "utterance", "target", "line"])


def _has(folder: Path, table: str) -> bool:
    return (folder / table).is_file()


def _gender(row: Row) -> str:
    return GENDERS.get(row.value.lower(), "")


def _speakers(folder: Path) -> dict[str, str]:
    """The speaker of every utterance; spk2utt is only read where there is no utt2spk."""
    if not _has(folder, "utt2spk"):
        if not _has(folder, "spk2utt"):
            raise VoicePrivacyError(f"{folder} holds neither utt2spk nor spk2utt.")
        return read_spk2utt(folder / "spk2utt")
    table = read_table(folder / "utt2spk")
    wrong = [f"{u} (line {row.line})" for u, row in table.items() if len(row.value.split()) != 1]
    if wrong:
        raise VoicePrivacyError(
            f"{folder / 'utt2spk'}: {len(wrong)} lines are no utterance and speaker: "
            f"{listed(wrong)}."
        )
    return {utterance: row.value for utterance, row in table.items()}


def _sounds(folder: Path, base: Path) -> tuple[dict[str, Sound], list[tuple]]:
    """Where recordings lie, and a note if it is not where wav.scp says."""
    scp = folder / "wav.scp"
    sounds = _wav_scp.read_wav_scp(scp, base) if scp.is_file() else {}
    if len(_wav_scp.faults(sounds)) < len(sounds) or not (folder / "wav").is_dir():
        if not sounds:
            raise VoicePrivacyError(f"{folder} holds neither a wav.scp nor sound below wav/.")
        return sounds, []
    notes = [("", str(scp), "wav.scp replaced", "none of its files exists; took those of wav/")]
    return _wav_scp.sounds_below(folder / "wav"), notes if sounds else []


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
    lacks = {u: [table for table, ids in tables.items() if u not in ids] for u in everybody}
    return {
        u: ("not in all tables", f"not in {', '.join(tables)}")
        for u, tables in lacks.items()
        if tables
    }


def _unheard(
    pieces: dict[str, tuple[str, float, float]], sounds: dict[str, Sound]
) -> dict[str, tuple[str, str]]:
    """Utterances whose sound cannot be had."""
    faults = _wav_scp.faults(sounds)
    absent = {u: r for u, (r, _, _) in pieces.items() if r not in sounds}
    return {u: ("no recording", f"segments: {r} is not in wav.scp") for u, r in absent.items()} | {
        u: ("no sound", faults[r]) for u, (r, _, _) in pieces.items() if r in faults
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


def _trial_fault(words: list[str], seen: set[tuple[str, ...]]) -> str:
    """What is wrong with one line of a trial list; empty for a good one and for a blank line."""
    if not words:
        return ""
    if len(words) != 3:
        return "lines without three words"
    if words[0] in ("0", "1", "target", "nontarget") and words[2] not in LABELS:
        return "lines with the label first (VoxCeleb's order)"
    if words[2] not in LABELS:
        return "lines with another label"
    return "trials listed before" if tuple(words[:2]) in seen else ""
