"""Kaldi's text tables, and the forms in which ``wav.scp`` names a sound file.

Nothing in a table is run unasked. The one command that data of the VoicePrivacy Challenges hold,
``flac -c -d -s FILE |``, only decodes a file, so the file is read in its place, always.
"""

import os
import re
import shlex
from pathlib import Path
from typing import NamedTuple

from voiceprivacy._commands import Command, parsed
from voiceprivacy._progress import slow_bar
from voiceprivacy._spk2utt import utf8_lines
from voiceprivacy.corpora import READ
from voiceprivacy.errors import VoicePrivacyError, listed

FLAC_OPTIONS = re.compile(r"-[cdsf]+|--(decode|stdout|silent|force|totally-silent)")
ARCHIVE = re.compile(r"\.ark:\d+(\[.*\])?$")


class Row(NamedTuple):
    """One line of a table: the rest of the line after its key, and its number."""

    value: str
    line: int


class Sound(NamedTuple):
    """Where a recording lies or what to call for it, or why it cannot be had."""

    path: Path
    fault: str = ""
    command: Command | None = None

    @property
    def place(self) -> str:
        """What stands for it in a corpus: the file, or the command as one would type it."""
        return f"{shlex.join(self.command.words)} |" if self.command else str(self.path)


def read_table(path: Path) -> dict[str, Row]:
    """Return the lines of a table by their first word, which must not repeat."""
    if not path.is_file():
        raise VoicePrivacyError(f"{path} is missing.")
    table: dict[str, Row] = {}
    twice = []
    for number, line in enumerate(slow_bar(utf8_lines(path), unit="line", desc=path.name), 1):
        if not line.strip():
            continue
        key, *rest = line.strip().split(maxsplit=1)
        if key in table:
            twice.append(f"{key} in lines {table[key].line} and {number}")
        else:
            table[key] = Row("".join(rest), number)
    if twice:
        raise VoicePrivacyError(f"{path}: {len(twice)} ids occur twice: {listed(twice)}.")
    return table


def read_utt2spk(path: Path) -> dict[str, str]:
    """Return the speaker of every utterance, in the order of the file."""
    table = read_table(path)
    wrong = [f"{u} (line {row.line})" for u, row in table.items() if len(row.value.split()) != 1]
    if wrong:
        raise VoicePrivacyError(
            f"{path}: {len(wrong)} lines are no utterance and speaker: {listed(wrong)}."
        )
    return {utterance: row.value for utterance, row in table.items()}


def read_wav_scp(path: Path, base: Path, run: bool = False) -> dict[str, Sound]:
    """Return where each recording lies; relative paths start at `base`.

    With `run`, commands are taken for sounds too; they are called when they are listened to.
    """
    sounds = {}
    for recording, (value, line) in read_table(path).items():
        sound = _sound(value, base, run)
        if sound.fault:
            sound = sound._replace(fault=f"{path.name}, line {line}: {sound.fault}")
        sounds[recording] = sound
    return sounds


def sounds_below(folder: Path) -> dict[str, Sound]:
    """Return the sound files below a folder by their names without suffix."""
    files = sorted(f for f in folder.rglob("*") if f.suffix.lower() in READ)
    sounds = {file.stem: Sound(file) for file in files}
    if len(sounds) < len(files):
        raise VoicePrivacyError(
            f"{folder}: {len(files)} sound files have {len(sounds)} names; without a wav.scp, "
            "names must tell utterances apart."
        )
    return sounds


def faults(sounds: dict[str, Sound]) -> dict[str, str]:
    """Return what is wrong with recordings: their form in the table, or that they are absent."""
    # One listing a folder: asking the disk for each of 100,000 files takes many times longer.
    names: dict[str, set[str]] = {}
    found = {}
    for recording, sound in sounds.items():
        if sound.fault:
            found[recording] = sound.fault
        if sound.fault or sound.command:
            continue
        folder, name = os.path.split(sound.path)
        if folder not in names:
            place = folder or os.curdir
            names[folder] = set(os.listdir(place)) if os.path.isdir(place) else set()
        if name not in names[folder]:
            found[recording] = f"no such file: {sound.path}"
    return found


def _sound(value: str, base: Path, run: bool) -> Sound:
    """What an entry of wav.scp stands for, or what is wrong with it."""
    if not value:
        return Sound(base, "names no file")
    if ARCHIVE.search(value):
        return Sound(base, f"is an archive ({value}); expected a sound file")
    if not value.endswith("|"):
        return Sound(base / value)
    if file := _decoded(value[:-1]):
        return Sound(base / file)
    if not run:
        return Sound(
            base,
            f"is a command, which is never run unasked ({value}); write its output to a sound "
            'file, or, if you trust it, read_kaldi(..., commands="run")',
        )
    command, fault = parsed(value[:-1].strip(), base)
    return Sound(base, fault, command)


def _decoded(command: str) -> str:
    """The file that a command only decodes; empty for every other command."""
    try:
        program, *words = shlex.split(command)
    except ValueError:
        return ""
    files = [word for word in words if not FLAC_OPTIONS.fullmatch(word)]
    return files[0] if program == "flac" and len(files) == 1 and len(words) > 1 else ""
