"""npy: one matrix with a list of ids beside it, or a folder with one vector an utterance.

Both are what scripts around WeSpeaker, Resemblyzer and the like leave. (WeSpeaker itself writes
Kaldi archives: its ``wespeaker/bin/extract.py``, and ``--task embedding_kaldi``.)
"""

from pathlib import Path

import numpy as np

from voiceprivacy._embedding_formats.speaker_tables import joined
from voiceprivacy._embedding_formats.vectors import DAMAGED, NUMPY_ERRORS, OBJECTS, Arrays, stacked
from voiceprivacy._spk2utt import utf8_lines
from voiceprivacy.errors import VoicePrivacyError, listed


def read_npy(path: Path, table: Path | None) -> Arrays:
    """Read a matrix, and from ``NAME.txt`` the id of each row, with or without its speaker."""
    matrix, names = _array(path), path.with_suffix(".txt")
    if matrix.ndim != 2:
        raise VoicePrivacyError(f"has shape {matrix.shape}; expected (utterances, dimension).")
    if not names.is_file():
        raise VoicePrivacyError(
            f"{names.name} is missing beside it; expected one line a row: the utterance's id."
        )
    rows = _names(names)
    if len(rows) != len(matrix):
        lost = "rows without ids" if len(rows) < len(matrix) else "ids without rows"
        raise VoicePrivacyError(
            f"holds {len(matrix)} rows and {names.name} {len(rows)} ids ({lost}); "
            "write both from one list of utterances."
        )
    if table is None and rows and len(rows[0]) == 2:
        ids, speakers = np.array(rows, dtype=str).T
        return ids, speakers, matrix
    return joined(path.parent, [row[0] for row in rows], matrix, table)


def read_npy_folder(folder: Path, table: Path | None) -> Arrays:
    """Read every ``UTTERANCE.npy`` of a folder, and the speakers from their table."""
    files = sorted(folder.glob("*.npy"))
    vectors = []
    for file in files:
        try:
            vectors.append(_array(file))
        except VoicePrivacyError as error:
            raise VoicePrivacyError(f"{file.name} {error}") from error
    ids = [file.stem for file in files]
    return joined(folder, ids, stacked(ids, vectors), table)


def _array(path: Path) -> np.ndarray:
    try:
        with path.open("rb") as file:
            values = np.lib.format.read_array(file, allow_pickle=False)
    except NUMPY_ERRORS as error:
        if "Object arrays" in str(error):
            raise VoicePrivacyError(OBJECTS) from error
        raise VoicePrivacyError(DAMAGED.format(error)) from error
    if values.dtype.kind not in "fiu":
        raise VoicePrivacyError(f"holds {values.dtype}; expected numbers.")
    return values


def _names(path: Path) -> list[list[str]]:
    """The words of every line: an utterance, or an utterance and its speaker."""
    text = "\n".join(utf8_lines(path)).rstrip()
    rows = [line.split() for line in text.split("\n")] if text else []
    odd = [i for i, row in enumerate(rows, 1) if len(row) not in (1, 2) or len(row) != len(rows[0])]
    if odd:
        raise VoicePrivacyError(
            f"{path.name}, lines {listed(odd)}: expected an utterance in every line, or an "
            "utterance and its speaker in every line."
        )
    return rows
