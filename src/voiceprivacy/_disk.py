"""Room on the disk, asked for before what needs it."""

import shutil
from pathlib import Path

from voiceprivacy.errors import VoicePrivacyError


def require_space(folder: Path, needed: int, what: object) -> None:
    """Refuse to begin what the disk has no room for.

    Parameters
    ----------
    folder
        A folder on that disk, which exists.
    needed
        Bytes.
    what
        What they are for, for the message.

    Examples
    --------
    >>> require_space(Path("."), 1, "a byte")
    """
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise VoicePrivacyError(
            f"{what}: {in_units(needed)} are needed on the disk of {folder.resolve()}, and "
            f"{in_units(free)} are free. Make room or choose another folder."
        )


def in_units(n_bytes: int) -> str:
    """Write a number of bytes to be read.

    Examples
    --------
    >>> in_units(337_926_286), in_units(12)
    ('337.9 MB', '12 bytes')
    """
    for unit, name in ((10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if n_bytes >= unit:
            return f"{n_bytes / unit:,.1f} {name}"
    return f"{n_bytes} bytes"
