"""Downloads that go on where they were broken off, and end only in the file that was meant.

Tried against a badly behaved server on one machine; no server of the internet was reached when
this was written.
"""

import os
import re
import urllib.error
from http.client import HTTPResponse
from pathlib import Path

from tqdm import tqdm

from voiceprivacy._disk import require_space
from voiceprivacy._http import PassingFault, faults_that_pass, is_http, opened, retried
from voiceprivacy._part import BLOCK, Part, Tally
from voiceprivacy.errors import VoicePrivacyError

_RANGE = re.compile(r"bytes (\d+)-\d+/(\d+|\*)")
_WEB_PAGE = re.compile(rb"\s*<(!doctype html|html)", re.IGNORECASE)
_DIGITS = {"md5": 32, "sha256": 64}


def download(
    url: str,
    path: str | os.PathLike,
    *,
    md5: str | None = None,
    sha256: str | None = None,
    size: int | None = None,
    attempts: int = 5,
    wait: float = 2.0,
    timeout: float = 60.0,
    progress: bool = False,
) -> Path:
    """Download a file, or the rest of it, and move it to `path` when it is right.

    What has come lies in ``<path>.part`` and stays there when the download is interrupted; the
    next call asks for the rest only. ``<path>.part.json`` says which version of the file it is
    (ETag, Last-Modified, length). If the server has another version by then, or sends no
    parts of files, it starts anew with a warning.

    Parameters
    ----------
    url
        Address, http or https; redirects to anything else are refused.
    path
        Where the file goes; missing folders are made.
    md5, sha256
        Hexadecimal checksums of the whole file, each checked if given.
    size
        Its length in bytes, checked if given.
    attempts
        How often in a row the server may fail without a further byte having come.
    wait
        Seconds before the second attempt; doubled before each further one, to five minutes.
    timeout
        Seconds without a byte that count as a fault.
    progress
        Show a bar on stderr.

    Returns
    -------
    pathlib.Path
        `path`. A file that is there is checked and not downloaded again.

    Raises
    ------
    VoicePrivacyError
        If the file or its server is not found, the server fails to the end, the disk is too
        small, a file at `path` is another one, or what came has a wrong checksum (it is
        deleted, because going on could not mend it).

    Notes
    -----
    Without `size` and checksums the server's Content-Length is all that there is to check, and a
    server that announces less than the file has goes unnoticed; one that announces nothing is
    refused. Two downloads of one `path` at a time are not kept apart.

    RFC 9110, sections 13.1.5 (If-Range) and 14 (Range).

    Examples
    --------
    >>> import tempfile
    >>> there = Path(tempfile.mkdtemp()) / "note.txt"
    >>> _ = there.write_text("whole")
    >>> download("https://example.org/note.txt", there, size=5).name
    'note.txt'
    """
    if not is_http(url):
        raise VoicePrivacyError(
            f"{url!r} is no address to download from: expected http://... or https://..."
        )
    path, sums = Path(path), _checksums(md5=md5, sha256=sha256)
    with tqdm(total=size, unit="B", unit_scale=True, desc=path.name, disable=not progress) as bar:
        tally = Tally(sums, bar)
        if path.exists():
            _refuse_another(path, tally, size)
        else:
            part = Part(path, tally)
            _complete(url, part, size, attempts, wait, timeout)
            _delete_wrong(url, part, size)
            part.finish(path)
    return path


def _checksums(**given: str | None) -> dict[str, str]:
    sums = {name: text.lower() for name, text in given.items() if text}
    for name, text in sums.items():
        if not re.fullmatch(f"[0-9a-f]{{{_DIGITS[name]}}}", text):
            raise VoicePrivacyError(
                f"{text!r} is no {name.upper()}: expected {_DIGITS[name]} hexadecimal digits."
            )
    return sums


def _refuse_another(path: Path, tally: Tally, size: int | None) -> None:
    """Refuse a file that is there and is not the one that is wanted."""
    if tally.sums or size is not None:
        tally.read(path)
    if fault := tally.fault(size):
        raise VoicePrivacyError(
            f"{path} is there already, but {fault}. Delete it or move it away, and run the same "
            "command again."
        )


def _complete(
    url: str, part: Part, size: int | None, attempts: int, wait: float, timeout: float
) -> None:
    """Take up what is there of a part, and receive the rest in as many attempts as it takes."""

    def transfer() -> None:
        _transfer(url, part, size, timeout)

    part.path.parent.mkdir(parents=True, exist_ok=True)
    try:
        part.take_up()
        retried(transfer, url, attempts, wait, position=lambda: part.length)
    except OSError as error:
        raise VoicePrivacyError(
            f"cannot write {part.path}: {error.strerror or error}. What has come is kept; "
            "make room or choose another folder, and run the same command again."
        ) from error


def _delete_wrong(url: str, part: Part, size: int | None) -> None:
    if fault := part.tally.fault(size):
        part.delete()
        raise VoicePrivacyError(
            f"{url}: {fault}. What came is deleted; run the same command again, or try another "
            "server."
        )


def _transfer(url: str, part: Part, size: int | None, timeout: float) -> None:
    """Receive the rest of a part, or all of it anew."""
    if part.length and part.length == (size or part.version.get("total")):
        return  # killed between the last byte and the check
    try:
        with opened(url, timeout, part.rest_only()) as response:
            _receive(response, part, _begin(response, part, size))
    except urllib.error.HTTPError as error:
        error.close()
        if error.code == 416:
            part.restart({}, "the server's file ends before")
            raise PassingFault("the server had not the part that was asked for") from error
        raise VoicePrivacyError(
            f"{url} was refused with {error.code} {error.reason}: the server does not give this "
            "file. Check the address, or try another server."
        ) from error


def _begin(response: HTTPResponse, part: Part, size: int | None) -> int | None:
    """Make the part fit the answer to come; return the file's length if it is known."""
    start, total = _announced(response)
    if None not in (total, size) and total != size:
        raise PassingFault(f"the server has {total:,} bytes where {size:,} were expected")
    headers = response.headers
    version = {
        "etag": headers["ETag"],
        "last_modified": headers["Last-Modified"],
        "total": total,
    }
    same = part.is_of(version)
    if response.status != 206:
        _refuse_no_file(response, part)
        why = "the server sends the whole file" if same else "the file changed on the server"
        part.restart(version, why)
    elif not (same and start == part.length):
        part.restart({}, "the server sent a part that does not fit")
        raise PassingFault("the server sent a part that does not fit what had come")
    total = total or size
    _refuse_no_end(response, part, total)
    part.tally.bar.total = total
    require_space(part.path.parent, (total or 0) - part.length, response.url)
    return total


def _announced(response: HTTPResponse) -> tuple[int, int | None]:
    """Return where an answer begins in the file, and the file's length if it is told."""
    if response.status != 206:
        return 0, response.length
    found = _RANGE.fullmatch(response.headers["Content-Range"] or "")
    if not found:
        return -1, None
    return int(found[1]), int(found[2]) if found[2] != "*" else None


def _refuse_no_file(response: HTTPResponse, part: Part) -> None:
    """Refuse nothing, and web pages, which portals and busy servers send with status 200."""
    with faults_that_pass():
        beginning = response.peek(64)
    if not beginning:
        raise PassingFault("the answer is empty")
    if _WEB_PAGE.match(beginning) and ".htm" not in part.path.name:
        raise PassingFault("the answer is a web page, not the file")


def _refuse_no_end(response: HTTPResponse, part: Part, total: int | None) -> None:
    if total is None and not (part.tally.sums or response.chunked):
        raise VoicePrivacyError(
            f"{response.url}: the server does not say how long the file is, so a cut could not be "
            "told; name its size or a checksum."
        )


def _receive(response: HTTPResponse, part: Part, total: int | None) -> None:
    with part.path.open("ab") as file:
        while total is None or part.length < total:
            with faults_that_pass():
                # read1 gives what has come before a stall.
                block = response.read1(BLOCK if total is None else min(BLOCK, total - part.length))
            if not block:
                break
            file.write(block)
            part.tally.count(block)
    if total is not None and part.length < total:
        raise PassingFault(f"only {part.length:,} of {total:,} bytes came")
