"""Files written whole: a reader never sees half of one, and an interrupted run loses none."""

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from voiceprivacy.errors import VoicePrivacyError

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


@contextmanager
def written_whole(path: str | os.PathLike) -> Iterator[Path]:
    """Yield a temporary path beside `path`; rename it to `path` if the block succeeds.

    Missing parent folders are made. If the block raises, `path` keeps its former content
    and the temporary file is removed.

    Examples
    --------
    >>> import tempfile
    >>> target = Path(tempfile.mkdtemp()) / "deep" / "note.txt"
    >>> with written_whole(target) as temporary:
    ...     _ = temporary.write_text("whole")
    >>> target.read_text()
    'whole'
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = None
    try:
        temporary = _new_beside(path)
        yield temporary
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(path)
    except OSError as error:
        if _is_ours(error, path):
            error.filename = str(path)
        raise
    except RuntimeError:
        # Libraries that write sound and weights say no more than that when the disk is full.
        _refuse_full(temporary, path)
        raise
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


def _new_beside(path: Path) -> Path:
    """An empty file with a name of its own."""
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=path.suffix, dir=path.parent)
    os.close(handle)
    return Path(name)


def _is_ours(error: OSError, path: Path) -> bool:
    """Whether it is about the temporary file, or names none as that of a full disk does."""
    if error.filename is None:
        return error.errno in FULL
    return Path(os.fsdecode(error.filename)).name.startswith(f".{path.name}.")


def _refuse_full(temporary: Path, path: Path) -> None:
    """Raise the system's own error if the file cannot grow."""
    try:
        with open(temporary, "ab") as file:
            file.write(bytes(1 << 16))
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error


def refuse_to_overwrite(path: str | os.PathLike, overwrite: bool) -> None:
    """Raise if `path` is there already and may not be replaced."""
    if Path(path).exists() and not overwrite:
        raise VoicePrivacyError(
            f"{path} exists and is kept; choose another name, or ask to overwrite it."
        )


def refuse_unwritable(path: str | os.PathLike) -> None:
    """Raise now, before long work, the `OSError` of a file that cannot be made at `path`.

    Missing parent folders are made.
    """
    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    tempfile.TemporaryFile(dir=path.parent).close()


def _umask() -> int:
    """The process's file mode mask, which `mkstemp` ignores."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
