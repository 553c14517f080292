"""Where the shipped inputs lie, from a clone or from an installed wheel."""

from pathlib import Path

from voiceprivacy.errors import VoicePrivacyError

PACKAGE = Path(__file__).resolve().parent


def shipped(folder: str, name: str = "") -> Path:
    """Return the path of a shipped file or folder; `folder` is config, data or notebooks.

    Raises
    ------
    VoicePrivacyError
        If there is no such file.

    Examples
    --------
    >>> shipped("data").is_dir()
    True
    """
    # A wheel carries the folders inside the package; a clone has them at its top level.
    for root in (PACKAGE, PACKAGE.parents[1]):
        path = root / folder / name
        if path.exists():
            return path
    raise VoicePrivacyError(
        f"{folder}/{name} is not shipped with this installation of voiceprivacy ({PACKAGE}); "
        "reinstall the package, or work in a clone of the repository."
    )
