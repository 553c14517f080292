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
        # Name the file that was asked for. A full disk names none, and the temporary file is ours.
        if error.filename in (None, name) and error.errno in (*FULL, errno.EACCES):
            error.filename = str(path)
        raise
    finally:
        temporary.unlink(missing_ok=True)


def _umask() -> int:
    """The process's file mode mask, which `mkstemp` ignores."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
