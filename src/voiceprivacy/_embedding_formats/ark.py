"""Kaldi archives of vectors: ``.ark`` holds them, ``.scp`` says where in which archive each is.

One record is the id, a blank, and the vector: in binary ``\\0B``, ``FV `` (float32) or ``DV ``
(float64), ``\\4``, the length as little-endian int32, the numbers; in text ``[ 0.5 -1 ]`` and the
end of the line (Kaldi, "Kaldi I/O from a command-line perspective" and kaldi-vector.cc). Matrices
of one row (``FM ``, ``DM ``) are taken too.

Differs from Kaldi in what an scp may name: commands are never run, and the id of a line must be the
one that stands before the vector, because a wrong offset may hit another utterance's vector.
"""

import math
import os
import re
import struct
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from voiceprivacy._embedding_formats.speaker_tables import (
    joined,
    refuse_blanks,
    refuse_shared_folder,
)
from voiceprivacy._embedding_formats.vectors import DAMAGED, Arrays, stacked
from voiceprivacy._spk2utt import spk2utt_text
from voiceprivacy._wav_scp import read_table
from voiceprivacy.errors import VoicePrivacyError
from voiceprivacy.files import written_whole

BINARY = b"\0B"
SIZE = struct.Struct("<bi")  # every integer is preceded by its own size in bytes, 4
KINDS = {b"FV ": (1, "<f4"), b"DV ": (1, "<f8"), b"FM ": (2, "<f4"), b"DM ": (2, "<f8")}
PLACE = re.compile(r"(?P<file>.+?)(?::(?P<start>\d+))?")


def read_ark(path: Path, table: Path | None) -> Arrays:
    """Read one archive, or those of a folder, and the speakers from their table."""
    files = sorted(path.glob("*.ark")) if path.is_dir() else [path]
    if len({re.sub(r"\d+", "", file.name) for file in files}) > 1:
        names = ", ".join(file.name for file in files)
        raise VoicePrivacyError(
            f"holds the archives {names}; several are read as one if only numbers tell them apart "
            "(xvector.1.ark, xvector.2.ark). Name the file itself."
        )
    records = [record for file in files for record in _records(file)]
    ids = [name for name, _ in records]
    folder = path if path.is_dir() else path.parent
    return joined(folder, ids, stacked(ids, [vector for _, vector in records]), table)


def read_scp(path: Path, table: Path | None) -> Arrays:
    """Read the vectors that an scp names, and the speakers from their table."""
    archives: dict[str, bytes] = {}
    folder, vectors = path.parent, {}
    for name, row in read_table(path).items():
        try:
            vectors[name] = _named(name, row.value, folder, archives)
        except VoicePrivacyError as error:
            raise VoicePrivacyError(f"line {row.line}, {name!r}: {error}") from error
    ids = list(vectors)
    return joined(folder, ids, stacked(ids, list(vectors.values())), table)


def _named(name: str, place: str, folder: Path, archives: dict[str, bytes]) -> np.ndarray:
    """The vector that an entry of an scp names; archives are read once."""
    if place.startswith("|") or place.endswith("|"):
        raise VoicePrivacyError(f"is a command, which is never run ({place}).")
    parts = PLACE.fullmatch(place)
    if not parts or place.endswith("]"):
        raise VoicePrivacyError(f"names {place!r}; expected ARCHIVE:BYTE.")
    file, start = parts["file"], int(parts["start"] or 0)
    if file not in archives:
        archives[file] = _archive(Path(file), folder).read_bytes()
    if start and not archives[file].endswith(f"{name} ".encode(), 0, start):
        raise VoicePrivacyError(
            f"{file} has no record of this id before byte {start}; the scp belongs to another "
            "version of the archive. Read the archive itself."
        )
    return _vector(archives[file], start)[0]


def _archive(file: Path, folder: Path) -> Path:
    """Where an archive lies: as Kaldi wrote it, seen from its working directory, or by its scp."""
    for place in (file, folder / file.name):
        if os.path.isfile(place):  # a name may be too long for any file
            return place
    raise VoicePrivacyError(f"no such archive: {file}, nor {folder / file.name}.")


def _records(path: Path) -> Iterator[tuple[str, np.ndarray]]:
    """Every id of an archive and its vector."""
    data, place = path.read_bytes(), 0
    while place < len(data):
        end = data.find(b" ", place)
        name = data[place : end if end >= 0 else None]
        try:
            if end < 0:
                raise VoicePrivacyError(DAMAGED.format("the last id has no vector"))
            vector, after = _vector(data, end + 1)
            yield name.decode(), vector
        except (VoicePrivacyError, UnicodeDecodeError) as error:
            told = error if isinstance(error, VoicePrivacyError) else DAMAGED.format(error)
            raise VoicePrivacyError(
                f"{path.name}, byte {place}, {name[:80].decode(errors='replace')!r}: {told}"
            ) from error
        place = after


def _vector(data: bytes, start: int) -> tuple[np.ndarray, int]:
    """The vector that begins at a byte, and the byte where the next record begins."""
    return (_binary if data.startswith(BINARY, start) else _text)(data, start)


def _binary(data: bytes, start: int) -> tuple[np.ndarray, int]:
    kind, place = data[start + 2 : start + 5], start + 5
    if kind not in KINDS and len(kind) == 3:
        raise VoicePrivacyError(
            f"the record is {kind!r}; expected a vector of floats (FV or DV), not a compressed "
            "matrix or integers."
        )
    try:
        axes, number = KINDS[kind]
        headers = [SIZE.unpack_from(data, place + axis * SIZE.size) for axis in range(axes)]
        shape = [length for _, length in headers]
        if any(size != 4 or length < 0 for size, length in headers):
            raise ValueError(f"it says that its sizes are {shape}")
        place += axes * SIZE.size
        values = np.frombuffer(data, number, math.prod(shape), place)
    except (KeyError, ValueError, struct.error) as error:
        raise VoicePrivacyError(DAMAGED.format(error)) from error
    return values.reshape(shape), place + values.nbytes


def _text(data: bytes, start: int) -> tuple[np.ndarray, int]:
    opened, closed = data.find(b"[", start), data.find(b"]", start)
    try:
        if closed < 0 or opened < 0 or data[start:opened].strip():
            raise ValueError("neither \\0B nor [ ... ] follows")
        lines = (line.split() for line in data[opened + 1 : closed].splitlines())
        values = np.array([[float(word) for word in line] for line in lines if line])
    except ValueError as error:
        raise VoicePrivacyError(DAMAGED.format(error)) from error
    end = data.find(b"\n", closed)
    return values, len(data) if end < 0 else end + 1


def write_ark(path: Path, utterances: np.ndarray, speakers: np.ndarray, matrix: np.ndarray) -> None:
    """Write an archive sorted by id, its scp, ``utt2spk`` and ``spk2utt``."""
    refuse_blanks(utterances, speakers)
    ark, *tables = ark_files(path)
    spk2utt = spk2utt_text(utterances, speakers)
    refuse_shared_folder(ark, spk2utt)
    order = np.argsort(utterances)
    names = utterances[order].tolist()
    rows = zip(names, speakers[order].tolist(), strict=True)
    texts = [_scp_text(ark, names, matrix), "".join(f"{u} {s}\n" for u, s in rows), spk2utt]
    with ExitStack() as stack:
        for table, text in zip(tables, texts, strict=True):
            temporary = stack.enter_context(written_whole(table))
            temporary.write_text(text, encoding="utf-8", newline="\n")
        file = stack.enter_context(stack.enter_context(written_whole(ark)).open("wb", 2**20))
        head = _head(matrix)
        for name, row in zip(names, matrix[order].astype("<f4", copy=False), strict=True):
            file.write(f"{name} ".encode() + head + row.tobytes())


def ark_files(path: Path) -> list[Path]:
    """What is written for an ``.ark`` or an ``.scp``."""
    ark = path if path.suffix.lower() == ".ark" else path.with_suffix(".ark")
    return [ark, ark.with_suffix(".scp"), ark.with_name("utt2spk"), ark.with_name("spk2utt")]


def _head(matrix: np.ndarray) -> bytes:
    """What stands between an id and its numbers."""
    return BINARY + b"FV " + SIZE.pack(4, matrix.shape[1])


def _scp_text(ark: Path, names: list[str], matrix: np.ndarray) -> str:
    """Where the vector of each id begins."""
    lengths = np.array([len(name.encode()) + 1 for name in names], dtype=np.int64)
    starts = np.cumsum(lengths) + np.arange(len(names)) * (len(_head(matrix)) + 4 * matrix.shape[1])
    where = ark.as_posix()
    return "".join(f"{n} {where}:{s}\n" for n, s in zip(names, starts.tolist(), strict=True))
