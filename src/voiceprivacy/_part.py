"""What has come of a file that is downloaded: its bytes, their sums, and whose they are."""

import hashlib
import json
import warnings
from collections.abc import Mapping
from pathlib import Path

from tqdm import tqdm

from voiceprivacy._disk import in_units
from voiceprivacy.files import written_whole

BLOCK = 1 << 18


def part_of(path: Path) -> Path:
    """Return where the unfinished download of `path` lies."""
    return path.with_name(path.name + ".part")


class Tally:
    """Length and checksums of bytes, which a bar shows as they are counted.

    Examples
    --------
    >>> tally = Tally({"md5": "900150983cd24fb0d6963f7d28e17f72"}, tqdm(disable=True))
    >>> tally.count(b"abc")
    >>> tally.fault(3), tally.fault(4)
    ('', 'it has 3 bytes where 4 were expected')
    """

    def __init__(self, sums: Mapping[str, str], bar: tqdm) -> None:
        self.sums, self.bar = sums, bar
        self.begin()

    def begin(self) -> None:
        self.length = 0
        self.digests = {name: hashlib.new(name, usedforsecurity=False) for name in self.sums}
        self.bar.reset()

    def count(self, block: bytes) -> None:
        self.length += len(block)
        self.bar.update(len(block))
        for digest in self.digests.values():
            digest.update(block)

    def read(self, path: Path) -> None:
        with path.open("rb") as file:
            while block := file.read(BLOCK):
                self.count(block)

    def fault(self, size: int | None) -> str:
        """Say what is not as it should be; empty if nothing."""
        if size is not None and self.length != size:
            return f"it has {self.length:,} bytes where {size:,} were expected"
        for name, expected in self.sums.items():
            if (found := self.digests[name].hexdigest()) != expected:
                return f"its {name.upper()} is {found} where {expected} was expected"
        return ""


class Part:
    """The file ``<path>.part``, and beside it, in ``<path>.part.json``, the server's version.

    A version is what the server says of a file: ``etag``, ``last_modified`` and ``total``, its
    length. Each may be missing.
    """

    def __init__(self, path: Path, tally: Tally) -> None:
        self.path, self.tally = part_of(path), tally
        self._version_path = self.path.with_name(self.path.name + ".json")
        self.version: dict = {}

    @property
    def length(self) -> int:
        return self.tally.length

    def take_up(self) -> None:
        """Count what an earlier run left."""
        if self.path.exists():
            self.version = _read_version(self._version_path)
            self.tally.read(self.path)

    def restart(self, version: dict, why: str) -> None:
        """Begin an empty part of another version."""
        if self.length:
            lost = f"the {in_units(self.length)} that came before are lost"
            warnings.warn(f"{self.path}: {why}, so it starts anew; {lost}.", stacklevel=2)
        self.delete()
        with written_whole(self._version_path) as temporary:
            temporary.write_text(json.dumps(version))
        self.version = version

    def delete(self) -> None:
        self.path.unlink(missing_ok=True)
        self._version_path.unlink(missing_ok=True)
        self.version = {}
        self.tally.begin()

    def finish(self, path: Path) -> None:
        """Move the whole file into place."""
        # In this order: a part without its version would have to start anew.
        self.path.replace(path)
        self._version_path.unlink(missing_ok=True)

    def rest_only(self) -> dict[str, str]:
        """Return the headers that ask for the rest; none if the rest might be another file's."""
        etag = self.version.get("etag") or ""
        # RFC 9110, 13.1.5: a weak ETag is no proof that bytes are equal.
        proof = self.version.get("last_modified") if etag[:2] in ("", "W/") else etag
        if not self.length or not (proof or self.tally.sums):
            return {}
        return {"Range": f"bytes={self.length}-"} | ({"If-Range": proof} if proof else {})

    def is_of(self, version: Mapping) -> bool:
        """Tell whether a version differs in nothing that it and the part's both have."""
        return all(
            version.get(key) in (None, value) for key, value in self.version.items() if value
        )


def _read_version(path: Path) -> dict:
    try:
        version = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return version if isinstance(version, dict) else {}
