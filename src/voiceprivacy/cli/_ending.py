"""How a command ends that cannot go on: one message, one status, a traceback only if asked for."""

import errno
import traceback
from typing import NoReturn

import click

from voiceprivacy.errors import VoicePrivacyError

USER, FAULT, INTERRUPTED = 2, 1, 130

ADVICE = {
    errno.ENOSPC: "free some space or write elsewhere, and run the same command again",
    errno.EDQUOT: "free some space or write elsewhere, and run the same command again",
    errno.EFBIG: "files here may not grow so large; write elsewhere",
    errno.EACCES: "name a path that you may read or write",
    errno.EPERM: "name a path that you may read or write",
    errno.EROFS: "nothing can be written there; name another folder",
    errno.ENOENT: "check the path",
    errno.ENOTDIR: "a part of the path is a file where a folder is needed",
    errno.EEXIST: "a file is there where a folder is needed",
    errno.EISDIR: "a folder is there where a file is needed",
    errno.ENAMETOOLONG: "use a shorter name",
}


def end(error: Exception, debug: bool) -> NoReturn:
    """Say what went wrong and leave the command, with the traceback if `debug`.

    The status is 2 for what the user can mend (input, options, files, memory) and 1 for a fault
    of this program. An earlier result is whole whichever it is: files are renamed into place.
    """
    if debug:
        traceback.print_exception(error)
    if isinstance(error, click.ClickException):
        raise error
    message, status = _told(error)
    click.echo(f"Error: {message}", err=True)
    raise click.exceptions.Exit(status)


def interrupted() -> NoReturn:
    """Say that what was finished is kept, and leave with the status of an interrupt."""
    click.echo("Interrupted. What was finished is kept; run the same command again.", err=True)
    raise click.exceptions.Exit(INTERRUPTED)


def _told(error: Exception) -> tuple[str, int]:
    """The message of an error and the status that goes with it."""
    match error:
        case VoicePrivacyError():
            return str(error), USER
        case OSError():
            return _of_files(error), USER
        case MemoryError():
            told = f" ({error})" if str(error) else ""
            return f"not enough memory{told}; ask for less at once, or use a larger machine", USER
    words = " ".join(str(error).split()) or "no more is known"
    return (
        f"unexpected {type(error).__name__}: {words}. This is a fault of voiceprivacy, not of your "
        "input; voiceprivacy --debug COMMAND shows where it is, for a report",
        FAULT,
    )


def _of_files(error: OSError) -> str:
    """What the system refused, of which file, and what to do."""
    what = error.strerror or " ".join(str(error).split()) or type(error).__name__
    where = f": {error.filename}" if error.filename else ""
    advice = f"; {ADVICE[error.errno]}" if error.errno in ADVICE else ""
    return f"{what}{where}{advice}"
