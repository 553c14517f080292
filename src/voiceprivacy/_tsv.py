"""Tab-separated tables whose cells are taken as they stand: a quote is a letter like any other.

A table is read line by line and not by a CSV parser, because parsers pair quotes over several
lines, take a lone carriage return for the end of a row, and fill rows that are too short.
"""

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import BinaryIO

import pandas as pd

from voiceprivacy._progress import slow_bar
from voiceprivacy.errors import VoicePrivacyError, listed

# Rows held as Python's own strings at a time; those before lie packed in a table.
CHUNK = 100_000


def read_tsv(path: Path, columns: Sequence[str]) -> pd.DataFrame:
    """Return some columns, found by name, as text, and the ``line`` of every row (from 2).

    A byte-order mark and Windows' line ends are tolerated. Every line after the heading is a row.

    Raises
    ------
    VoicePrivacyError
        If the file or a column is missing, a column's name repeats, a line is not UTF-8, or rows
        have more or fewer cells than the heading, told with their lines.
    """
    if not path.is_file():
        raise VoicePrivacyError(f"{path}: no such table.")
    with path.open("rb") as file:
        heading = _cells(file.readline().removeprefix(b"\xef\xbb\xbf"), path, 1)
        places = _places(heading, columns, path)
        rows = _rows(file, len(heading), places, path)
        parts = [_table([], columns)]
        with slow_bar(total=path.stat().st_size, unit="B", desc=path.name) as bar:
            while chunk := list(islice(rows, CHUNK)):
                parts.append(_table(chunk, columns))
                bar.update(file.tell() - bar.n)
    return pd.concat(parts, ignore_index=True)


def _rows(file: BinaryIO, width: int, places: list[int], path: Path) -> Iterator[tuple]:
    """The wanted cells of every line and its number; rows of another width raise at the end."""
    wrong = []
    for line, raw in enumerate(file, 2):
        cells = _cells(raw, path, line)
        if len(cells) == width:
            yield *[cells[place] for place in places], line
        else:
            wrong.append(f"line {line}: {len(cells)}")
    if wrong:
        raise VoicePrivacyError(
            f"{path}: {len(wrong)} rows have more or fewer cells than the heading's {width} "
            f"({listed(wrong)}). Expected one row a line and a tab between cells; fetch or unpack "
            "the file anew."
        )


def _cells(raw: bytes, path: Path, line: int) -> list[str]:
    try:
        return raw.removesuffix(b"\n").removesuffix(b"\r").decode().split("\t")
    except UnicodeDecodeError as error:
        raise VoicePrivacyError(
            f"{path}, line {line} is not UTF-8 text ({error}); save it as UTF-8."
        ) from None


def _places(heading: list[str], columns: Sequence[str], path: Path) -> list[int]:
    """Where each wanted column stands."""
    absent = [name for name in columns if name not in heading]
    twice = [name for name in columns if heading.count(name) > 1]
    if absent or twice:
        fault = f"no column {listed(absent)}" if absent else f"several columns {listed(twice)}"
        raise VoicePrivacyError(f"{path} has {fault}; its heading is {listed(heading, 20)}.")
    return [heading.index(name) for name in columns]


def _table(rows: list[tuple], columns: Sequence[str]) -> pd.DataFrame:
    *texts, lines = zip(*rows, strict=True) if rows else [()] * (len(columns) + 1)
    table = {name: pd.Series(cells, dtype=str) for name, cells in zip(columns, texts, strict=True)}
    return pd.DataFrame(table | {"line": pd.Series(lines, dtype="int64")})
