"""Text of a census file, as a heading row and data rows, whatever stands around them."""

import csv
import io
import re
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from voiceprivacy.errors import VoicePrivacyError

_BULK_MEMBER = re.compile(r"-(oa|lsoa|msoa|ltla)\.+csv$", re.IGNORECASE)


@dataclass(frozen=True)
class Sheet:
    """The rows of one CSV file.

    `lines` are the rows' numbers in the file and `about` the title lines above the heading.
    """

    name: str
    heading: list[str]
    rows: list[list[str]]
    lines: list[int]
    about: str = ""


def sheets_in(folder: Path) -> Iterator[tuple[str, Callable[[], Sheet | None]]]:
    """Yield each CSV file of a folder, and each area table inside its ZIP files, by name.

    Of a Nomis bulk ZIP only the levels that we use are read: output areas, LSOAs, MSOAs and
    districts.
    """
    for path in sorted(folder.iterdir()):
        if path.suffix.lower() == ".csv":
            yield path.name, lambda path=path: read_sheet(path.name, path.read_bytes())
        elif path.suffix.lower() == ".zip":
            yield from _zipped(path)


def _zipped(path: Path) -> Iterator[tuple[str, Callable[[], Sheet | None]]]:
    try:
        with zipfile.ZipFile(path) as archive:
            members = [name for name in archive.namelist() if _BULK_MEMBER.search(name)]
    except zipfile.BadZipFile:
        raise VoicePrivacyError(
            f"{path} is no readable ZIP file: the download was probably cut; download it again."
        ) from None
    for member in sorted(members):
        name = f"{path.name}/{member}"

        def read(member: str = member, name: str = name) -> Sheet | None:
            with zipfile.ZipFile(path) as archive:
                return read_sheet(name, archive.read(member))

        yield name, read


def read_sheet(name: str, content: bytes) -> Sheet | None:
    """Return the sheet in the bytes of a CSV file, or None if no heading row is recognised.

    The heading is the first row, or the row below a Nomis query export's title lines that has
    ``mnemonic`` or begins with a census geography. The data end before the export's notes.

    Raises
    ------
    VoicePrivacyError
        If the file is an HTML page, is empty, has a heading but no data, a row of another
        length than its heading, or data below its notes.

    Examples
    --------
    >>> read_sheet("t.csv", b"geography code,Sex: Female\\r\\nE00069547,203\\r\\n").rows
    [['E00069547', '203']]
    """
    text = _decoded(content)
    if text.lstrip().startswith("<"):
        raise VoicePrivacyError(
            f"{name} is a web page saved as CSV, probably a server's error message: "
            "delete it and download the table again."
        )
    numbered = _numbered_rows(text)
    if not numbered:
        raise VoicePrivacyError(f"{name} is empty: delete it and download the table again.")
    start = _heading_position(numbered)
    heading = [cell.strip() for cell in numbered[start][1]]
    body = _body(name, numbered[start + 1 :], exported=start > 0 or "mnemonic" in heading)
    if not body:
        raise VoicePrivacyError(
            f"{name} has a heading but no data: the server knew no such table or area. "
            "Check the area code and the table's level, then download it again."
        )
    for line, row in body:
        if len(row) != len(heading):
            raise VoicePrivacyError(
                f"{name}, line {line}: {len(row)} cells, but its heading has {len(heading)}. "
                "The download was probably cut; download the table again."
            )
    about = " ".join(" ".join(row) for _, row in numbered[:start])
    return Sheet(name, heading, [row for _, row in body], [line for line, _ in body], about)


def _decoded(content: bytes) -> str:
    # Geography files come as UTF-8 with or without a byte-order mark, older ones (with Welsh
    # names) as Windows-1252.
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("cp1252", errors="replace")


def _numbered_rows(text: str) -> list[tuple[int, list[str]]]:
    reader = csv.reader(io.StringIO(text, newline=""))
    return [(reader.line_num, row) for row in reader if any(cell.strip() for cell in row)]


def _heading_position(numbered: list[tuple[int, list[str]]]) -> int:
    for position, (_, row) in enumerate(numbered[:40]):
        areas_named = re.match(r"20\d\d (super )?output area", row[0]) and len(row) > 1
        if areas_named or "mnemonic" in row:
            return position
    return 0


def _body(
    name: str, numbered: list[tuple[int, list[str]]], *, exported: bool
) -> list[tuple[int, list[str]]]:
    """Drop the notes that a Nomis query export has below its data."""
    if not exported:
        return numbered
    is_data = [any(re.match(r"[A-Z]\d{8}\b", cell) for cell in row[:2]) for _, row in numbered]
    end = is_data.index(False) if False in is_data else len(numbered)
    if any(is_data[end:]):
        line, row = numbered[end]
        raise VoicePrivacyError(
            f"{name}, line {line}: {row[0]!r} stands between rows of areas. If two exports were "
            "pasted together, keep each in its own file; if it is an area, restore its code."
        )
    return numbered[:end]
