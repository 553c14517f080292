"""Finished parts of a long computation, kept so that an interrupted run goes on."""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import numpy as np

from voiceprivacy.errors import VoicePrivacyError
from voiceprivacy.files import written_whole

Arrays = dict[str, np.ndarray]


class Parts:
    """Named results, computed once and read back when the same run is started again.

    Parameters
    ----------
    folder
        Where parts are kept; ``None`` keeps nothing.
    settings
        Everything besides the data that the results depend on.
    data
        The arrays that the results depend on.

    Raises
    ------
    VoicePrivacyError
        If the folder holds parts of a run with other settings or data.

    Examples
    --------
    >>> parts = Parts(None, {"seed": 1}, [])
    >>> parts.get("first", lambda: {"x": np.arange(2)})["x"].tolist()
    [0, 1]
    """

    def __init__(
        self, folder: Path | None, settings: Mapping[str, object], data: Iterable[np.ndarray]
    ):
        self.folder = None if folder is None else Path(folder)
        if self.folder is not None:
            self._claim(dict(settings) | {"data": _fingerprint(data)})

    def get(self, name: str, compute: Callable[[], Arrays]) -> Arrays:
        """Return the part of this name, computing and keeping it if it is not there yet."""
        if self.folder is None:
            return compute()
        path = self.folder / f"{name}.npz"
        if path.exists():
            with np.load(path) as kept:
                return dict(kept)
        part = compute()
        with written_whole(path) as temporary, temporary.open("wb") as file:
            np.savez_compressed(file, **part)
        return part

    def _claim(self, settings: dict[str, object]) -> None:
        """Note the run's settings in the folder, or check that they are the ones noted there."""
        path = self.folder / "settings.json"
        text = json.dumps(settings, sort_keys=True, indent=1)
        if not path.exists():
            with written_whole(path) as temporary:
                temporary.write_text(text)
        elif path.read_text() != text:
            before = _settings_in(path)
            changed = sorted(k for k in settings if settings[k] != before.get(k))
            raise VoicePrivacyError(
                f"{self.folder} keeps parts of another run (different: {', '.join(changed)}); "
                "give a new folder, or delete this one to start again."
            )


def _settings_in(path: Path) -> dict[str, object]:
    try:
        return json.loads(path.read_text())
    except ValueError:
        raise VoicePrivacyError(
            f"{path} is damaged; delete its folder to start the run again."
        ) from None


def _fingerprint(data: Iterable[np.ndarray]) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for array in data:
        digest.update(f"{array.dtype}{array.shape}".encode())
        digest.update(np.ascontiguousarray(array).view(np.uint8).data)
    return digest.hexdigest()
