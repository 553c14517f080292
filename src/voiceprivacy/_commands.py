"""Programs that are called without a shell, and what they answer."""

import io
import re
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from voiceprivacy.errors import VoicePrivacyError

TIMEOUT = 60.0
QUOTED = re.compile(r"""'[^']*'|"[^"$`\\]*"|\\.""")
SHELL = re.compile(r"[|&;<>()$`*?~{}\[\]#\n]")


class Command(NamedTuple):
    """A program that writes a sound file to its standard output, and where it is called."""

    words: tuple[str, ...]
    folder: str
    timeout: float = TIMEOUT

    def sound(self) -> io.BytesIO:
        """Call the program, and return what it writes.

        Raises
        ------
        VoicePrivacyError
            If it cannot be called, fails, or takes too long.
        """
        return io.BytesIO(output_of(self.words, self.timeout, self.folder))


def parsed(text: str, folder: Path) -> tuple[Command | None, str]:
    """Return the command that a text is, or why it is none that can be called without a shell."""
    try:
        words = tuple(shlex.split(text))
    except ValueError as error:
        return None, f"is no command ({text}: {error})"
    if not words:
        return None, "is an empty command"
    if special := SHELL.search(QUOTED.sub("", text)):
        return None, f"needs a shell for {special[0]!r} ({text}), and none is started"
    program = str(folder / words[0]) if "/" in words[0] else words[0]
    if shutil.which(program) is None:
        return None, f"there is no program {words[0]!r} ({text})"
    return Command(words, str(folder)), ""


def output_of(words: Sequence[str], timeout: float, folder: str | None = None) -> bytes:
    """Call a program and return its output, or say in its own words why it failed."""
    name = Path(words[0]).name
    try:
        done = subprocess.run(
            words, stdin=subprocess.DEVNULL, capture_output=True, timeout=timeout, cwd=folder
        )
    except subprocess.TimeoutExpired:
        raise VoicePrivacyError(f"{name} did not end within {timeout:g} s.") from None
    except OSError as error:
        raise VoicePrivacyError(f"{name} cannot be run: {error.strerror}.") from error
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().splitlines()[-3:]
        last = " / ".join(said) or "nothing on stderr"
        raise VoicePrivacyError(f"{name} ended with status {done.returncode}: {last}")
    return done.stdout
