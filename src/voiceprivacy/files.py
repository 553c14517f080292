"""Files written whole: a reader never sees half of one, and an interrupted run loses none."""

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

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
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=path.suffix, dir=path.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(path)
    except OSError as error:
        # Name the file that was asked for: a full disk names none, and the temporary file is ours.
        if error.filename == name or (error.filename is None and error.errno in FULL):
            error.filename = str(path)
        raise
    finally:
        temporary.unlink(missing_ok=True)


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
