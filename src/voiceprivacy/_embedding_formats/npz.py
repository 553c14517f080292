"""npz: three arrays, or one array an utterance with the speakers in a table beside the file."""

from pathlib import Path
from zipfile import is_zipfile

import numpy as np

from voiceprivacy._embedding_formats.speaker_tables import TABLES, joined
from voiceprivacy._embedding_formats.vectors import DAMAGED, NUMPY_ERRORS, OBJECTS, Arrays, stacked
from voiceprivacy.errors import VoicePrivacyError, listed
from voiceprivacy.files import written_whole

KEYS = ("utterances", "speakers", "matrix")


def read_npz(path: Path, table: Path | None) -> Arrays:
    """Read three arrays, or one array an utterance and the speakers from their table."""
    if not is_zipfile(path):
        raise VoicePrivacyError(DAMAGED.format("not a zip archive"))
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {key: file[key] for key in file.files}
    except NUMPY_ERRORS as error:
        if "Object arrays" in str(error):
            raise VoicePrivacyError(OBJECTS) from error
        raise VoicePrivacyError(DAMAGED.format(error)) from error
    if arrays.keys() >= set(KEYS):
        return tuple(arrays[key] for key in KEYS)
    if not (table or any((path.parent / name).is_file() for name in TABLES)):
        raise VoicePrivacyError(
            f"holds the arrays {listed(arrays)}; expected {listed(KEYS)}, "
            "or one array an utterance and a spk2utt beside the file."
        )
    ids = list(arrays)
    return joined(path.parent, ids, stacked(ids, list(arrays.values())), table)


def write_npz(path: Path, utterances: np.ndarray, speakers: np.ndarray, matrix: np.ndarray) -> None:
    """Write the three arrays, uncompressed."""
    with written_whole(path) as temporary, temporary.open("wb") as file:
        np.savez(file, utterances=utterances, speakers=speakers, matrix=matrix)
