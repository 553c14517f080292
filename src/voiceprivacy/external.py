"""Anonymizers outside of Python: a program that turns one sound file into another."""

import shlex
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from voiceprivacy._anonymizer import BaseAnonymizer
from voiceprivacy._audio import RATE, audio_packages, read_audio
from voiceprivacy._commands import output_of
from voiceprivacy.errors import VoicePrivacyError

PLACES = ("{input}", "{output}")


@dataclass(frozen=True)
class CommandAnonymizer(BaseAnonymizer):
    """An anonymizer that is called once for every utterance.

    Parameters
    ----------
    command
        The program and its arguments, with ``{input}`` and ``{output}`` for the paths of two wav
        files (16 kHz, mono), such as ``"sox {input} {output} pitch 300"``. ``{speaker}`` and
        ``{utterance}`` stand for ids. No shell reads it: neither pipes nor ``$NAMES`` work.
    timeout
        Seconds after which a call is given up.

    Raises
    ------
    VoicePrivacyError
        If a path is missing in the command, or there is no such program.

    Examples
    --------
    >>> copy = CommandAnonymizer("cp {input} {output}")
    >>> copy.name, copy(np.full(8000, 0.5, np.float32)).shape
    ('cp', (8000,))
    """

    command: str
    timeout: float = 600.0
    seed: int = 0

    def __post_init__(self):
        missing = [place for place in PLACES if place not in self.command]
        if missing:
            raise VoicePrivacyError(
                f"the command {self.command!r} has no {' and no '.join(missing)}; give both, as in "
                "'sox {input} {output} pitch 300'."
            )
        if shutil.which(self._words[0]) is None:
            raise VoicePrivacyError(
                f"there is no program {self._words[0]!r}; install it, or give its whole path."
            )

    @property
    def name(self) -> str:
        return Path(self._words[0]).name

    @property
    def _words(self) -> list[str]:
        return shlex.split(self.command)

    def anonymize(self, samples, *, speaker="", utterance=""):
        soundfile, _ = audio_packages()
        with tempfile.TemporaryDirectory() as folder:
            paths = {name: str(Path(folder, f"{name}.wav")) for name in ("input", "output")}
            soundfile.write(paths["input"], samples, RATE, subtype="FLOAT")
            known = paths | {"speaker": speaker, "utterance": utterance}
            output_of([filled(word, known) for word in self._words], self.timeout)
            if not Path(paths["output"]).is_file():
                raise VoicePrivacyError(f"{self.name} ended well but wrote no {{output}}.")
            return read_audio(paths["output"], np.nan, np.nan)


def filled(word: str, known: dict[str, str]) -> str:
    """A word of the command with paths and ids put in; other braces stay as they are."""
    for name, value in known.items():
        word = word.replace(f"{{{name}}}", value)
    return word
