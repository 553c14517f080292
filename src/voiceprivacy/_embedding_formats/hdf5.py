"""SIDEKIT-style HDF5: one dataset an utterance, the speakers in ``spk2utt`` beside the file."""

from collections.abc import Iterator
from pathlib import Path

import h5py
import numpy as np

from voiceprivacy._embedding_formats.speaker_tables import (
    joined,
    refuse_blanks,
    refuse_shared_folder,
)
from voiceprivacy._embedding_formats.vectors import DAMAGED, Arrays, stacked
from voiceprivacy._spk2utt import spk2utt_text
from voiceprivacy.errors import VoicePrivacyError, listed
from voiceprivacy.files import written_whole


def read_hdf5(path: Path, table: Path | None) -> Arrays:
    """Read one dataset per utterance, and the speakers from their table."""
    try:
        with h5py.File(path, "r") as file:
            vectors = dict(_datasets(file.id))
    except VoicePrivacyError:
        raise
    except (OSError, RuntimeError, KeyError, ValueError, TypeError) as error:
        raise VoicePrivacyError(DAMAGED.format(error)) from error
    ids = list(vectors)
    return joined(path.parent, ids, stacked(ids, list(vectors.values())), table)


def _datasets(group: h5py.h5g.GroupID, prefix: str = "") -> Iterator[tuple[str, np.ndarray]]:
    """Every dataset below a group, under its path: an id with a slash lies in a group."""
    # The low-level calls are more than twice as fast as file[name][()].
    for name in group:
        key = prefix + name.decode()
        try:
            dataset = h5py.h5d.open(group, name)
        except (KeyError, TypeError, ValueError):
            yield from _datasets(h5py.h5g.open(group, name), f"{key}/")
            continue
        yield key, _values(dataset, key)


def _values(dataset: h5py.h5d.DatasetID, key: str) -> np.ndarray:
    """A dataset's numbers as float32."""
    if dataset.dtype.kind not in "fiu":
        raise VoicePrivacyError(f"{key!r} holds {dataset.dtype}; expected numbers.")
    values = np.empty(dataset.shape, np.float32)
    if values.size:
        dataset.read(h5py.h5s.ALL, h5py.h5s.ALL, values)
    return values


def write_hdf5(
    path: Path, utterances: np.ndarray, speakers: np.ndarray, matrix: np.ndarray
) -> None:
    """Write one dataset per utterance, and ``spk2utt`` beside it."""
    refuse_blanks(utterances, speakers)
    _refuse_paths(utterances)
    spk2utt = spk2utt_text(utterances, speakers)
    refuse_shared_folder(path, spk2utt)
    with written_whole(path.parent / "spk2utt") as names, written_whole(path) as temporary:
        names.write_text(spk2utt, encoding="utf-8", newline="\n")
        with h5py.File(temporary, "w", libver=("v108", "v110")) as file:
            _create_datasets(file.id, utterances, matrix)


def _create_datasets(group: h5py.h5g.GroupID, names: np.ndarray, matrix: np.ndarray) -> None:
    """Create one dataset a row, its numbers inside its header (half the time)."""
    space = h5py.h5s.create_simple(matrix.shape[1:])
    layout = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    layout.set_layout(h5py.h5d.COMPACT if matrix[:1].nbytes < 2**15 else h5py.h5d.CONTIGUOUS)
    links = h5py.h5p.create(h5py.h5p.LINK_CREATE)
    links.set_create_intermediate_group(True)
    links.set_char_encoding(h5py.h5t.CSET_UTF8)
    for name, row in zip(names.tolist(), matrix, strict=True):
        try:
            dataset = h5py.h5d.create(
                group, name.encode(), h5py.h5t.IEEE_F32LE, space, layout, links
            )
        except (OSError, RuntimeError, ValueError) as error:
            raise VoicePrivacyError(
                f"HDF5 cannot hold {name!r} beside the other ids ({error}); write .npz or .parquet."
            ) from error
        dataset.write(h5py.h5s.ALL, h5py.h5s.ALL, row)


def _refuse_paths(utterances: np.ndarray) -> None:
    """Refuse ids that would come back changed."""
    path_like = [u for u in utterances.tolist() if "/" in u or u == "."]
    lost = [u for u in path_like if not set(u.split("/")).isdisjoint({"", "."})]
    if lost:
        raise VoicePrivacyError(
            f"HDF5 would change these ids, which it takes for paths: {listed(lost)}; "
            "write .npz or .parquet."
        )
