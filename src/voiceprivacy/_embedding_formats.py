"""How embeddings lie in HDF5, npz and parquet files: each format reads and writes three arrays.

Readers return ``utterances, speakers, matrix`` as found; `voiceprivacy.embeddings.Embeddings`
checks them.
"""

import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple
from zipfile import BadZipFile, is_zipfile

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from voiceprivacy._spk2utt import read_spk2utt, spk2utt_text
from voiceprivacy.errors import VoicePrivacyError, listed
from voiceprivacy.files import written_whole

Arrays = tuple[np.ndarray, np.ndarray, np.ndarray]
KEYS = ("utterances", "speakers", "matrix")
COLUMNS = ("utterance", "speaker", "embedding")
DAMAGED = "cannot be read, it seems cut or damaged ({}); write or copy it again."


class Format(NamedTuple):
    """A reader and a writer of one kind of file."""

    read: Callable[[Path], Arrays]
    write: Callable[[Path, np.ndarray, np.ndarray, np.ndarray], None]


# -- SIDEKIT-style HDF5 ------------------------------------------------------------------------


def read_hdf5(path: Path) -> Arrays:
    """Read one dataset per utterance, and the speakers from ``spk2utt``."""
    speaker_of = read_spk2utt(path.parent / "spk2utt")
    try:
        with h5py.File(path, "r") as file:
            vectors = dict(_datasets(file.id))
    except VoicePrivacyError:
        raise
    except (OSError, RuntimeError, KeyError, ValueError, TypeError) as error:
        raise VoicePrivacyError(DAMAGED.format(error)) from error
    return _matched(vectors, speaker_of)


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
    _check_hdf5_ids(utterances, speakers)
    others = sorted(
        p.name for s in HDF5 for p in path.parent.glob(f"[!.]*{s}") if p.name != path.name
    )
    if others:
        raise VoicePrivacyError(
            f"the folder already holds {listed(others)}, and one folder has one spk2utt; "
            "write every HDF5 file into a folder of its own."
        )
    with written_whole(path.parent / "spk2utt") as names, written_whole(path) as temporary:
        names.write_text(spk2utt_text(utterances, speakers), encoding="utf-8")
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


def _check_hdf5_ids(utterances: np.ndarray, speakers: np.ndarray) -> None:
    """Refuse ids that would come back changed."""
    blank = [i for i in (*utterances.tolist(), *speakers.tolist()) if i.split() != [i]]
    if blank:
        raise VoicePrivacyError(
            f"ids with blanks cannot stand in spk2utt: {listed(blank)}; write .npz or .parquet."
        )
    path_like = [u for u in utterances.tolist() if "/" in u or u == "."]
    lost = [u for u in path_like if not set(u.split("/")).isdisjoint({"", "."})]
    if lost:
        raise VoicePrivacyError(
            f"HDF5 would change these ids, which it takes for paths: {listed(lost)}; "
            "write .npz or .parquet."
        )


# -- one vector an utterance, from HDF5 or npz -------------------------------------------------


def _matched(vectors: dict[str, np.ndarray], speaker_of: dict[str, str]) -> Arrays:
    """Join vectors and speakers, which must name the same utterances."""
    ids = list(speaker_of)
    faults = [
        f"{len(lost)} utterances {what} ({listed(lost)})"
        for lost, what in [
            ([u for u in ids if u not in vectors], "of spk2utt have no vector"),
            ([u for u in vectors if u not in speaker_of], "with a vector are not in spk2utt"),
        ]
        if lost
    ]
    if faults:
        raise VoicePrivacyError(
            f"vectors and spk2utt do not belong together: {' and '.join(faults)}; "
            "write both from one list of utterances."
        )
    speakers = np.array(list(speaker_of.values()), dtype=str)
    return np.array(ids, dtype=str), speakers, _stacked(ids, [vectors[u] for u in ids])


def _stacked(ids: list[str], vectors: list[np.ndarray]) -> np.ndarray:
    """Stack vectors of shape (d,) or (1, d) into a matrix (n, d)."""
    odd = [f"{u} {v.shape}" for u, v in zip(ids, vectors, strict=True) if not _is_vector(v)]
    if odd:
        raise VoicePrivacyError(
            f"{len(odd)} utterances have no single vector, shape (d,) or (1, d): {listed(odd)}."
        )
    _one_dimension(ids, [v.size for v in vectors])
    return np.concatenate([v.reshape(1, -1) for v in vectors]) if vectors else np.empty((0, 1))


def _is_vector(values: np.ndarray) -> bool:
    return values.ndim in (1, 2) and values.size > 0 and values.size == values.shape[-1]


def _one_dimension(ids: list[str], dimensions: list[int]) -> None:
    """Refuse vectors of several dimensions, naming the ids that have each of them."""
    of_dimension: dict[int, list[str]] = {}
    for name, dimension in zip(ids, dimensions, strict=True):
        of_dimension.setdefault(dimension, []).append(name)
    if len(of_dimension) > 1:
        found = "; ".join(f"{d}: {listed(of_dimension[d], 3)}" for d in sorted(of_dimension))
        raise VoicePrivacyError(
            f"the vectors have {len(of_dimension)} dimensions ({found}); "
            "expected one, from one extractor."
        )


# -- npz ---------------------------------------------------------------------------------------


def read_npz(path: Path) -> Arrays:
    """Read three arrays, or one array an utterance with the speakers from ``spk2utt``."""
    if not is_zipfile(path):
        raise VoicePrivacyError(DAMAGED.format("not a zip archive"))
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {key: file[key] for key in file.files}
    except (OSError, ValueError, KeyError, EOFError, BadZipFile, zlib.error) as error:
        if "Object arrays" in str(error):
            raise VoicePrivacyError(
                "an array was saved as Python objects, which is not safe to load; "
                "save ids with ids.astype(str) and vectors as float32."
            ) from error
        raise VoicePrivacyError(DAMAGED.format(error)) from error
    if arrays.keys() >= set(KEYS):
        return tuple(arrays[key] for key in KEYS)
    if not (path.parent / "spk2utt").is_file():
        raise VoicePrivacyError(
            f"holds the arrays {listed(arrays)}; expected {listed(KEYS)}, "
            "or one array an utterance and a spk2utt beside the file."
        )
    return _matched(arrays, read_spk2utt(path.parent / "spk2utt"))


def write_npz(path: Path, utterances: np.ndarray, speakers: np.ndarray, matrix: np.ndarray) -> None:
    """Write the three arrays, uncompressed."""
    with written_whole(path) as temporary, temporary.open("wb") as file:
        np.savez(file, utterances=utterances, speakers=speakers, matrix=matrix)


# -- parquet -----------------------------------------------------------------------------------


def read_parquet(path: Path) -> Arrays:
    """Read two text columns and one of lists."""
    try:
        table = pq.ParquetFile(path).read()
    except (OSError, pa.ArrowException) as error:
        raise VoicePrivacyError(DAMAGED.format(error)) from error
    absent = [name for name in COLUMNS if name not in table.column_names]
    if absent:
        raise VoicePrivacyError(
            f"has no column {listed(absent)}; it has {listed(table.column_names)}."
        )
    utterances, speakers = (_text_column(table[name], name) for name in COLUMNS[:2])
    return utterances, speakers, _list_column(table[COLUMNS[2]], utterances.tolist())


def _text_column(column: pa.ChunkedArray, name: str) -> np.ndarray:
    """A column of ids."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if column.null_count or not (
        pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
    ):
        raise VoicePrivacyError(
            f"column {name!r} holds {column.type} with {column.null_count} missing values; "
            "expected text in every row (a number loses leading zeros)."
        )
    return np.array(column.to_pylist(), dtype=str)


def _list_column(column: pa.ChunkedArray, ids: list[str]) -> np.ndarray:
    """A column of vectors."""
    is_list = any(
        check(column.type)
        for check in (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
    )
    if column.null_count or not is_list or not _is_number(column.type.value_type):
        raise VoicePrivacyError(
            f"column {COLUMNS[2]!r} holds {column.type} with {column.null_count} missing values; "
            "expected a list of numbers in every row."
        )
    lengths = pc.list_value_length(column).to_pylist()
    _one_dimension(ids, lengths)
    values = column.combine_chunks().flatten().to_numpy(zero_copy_only=False)
    return values.reshape(len(ids), lengths[0] if lengths else 1)


def _is_number(kind: pa.DataType) -> bool:
    return pa.types.is_floating(kind) or pa.types.is_integer(kind)


def write_parquet(
    path: Path, utterances: np.ndarray, speakers: np.ndarray, matrix: np.ndarray
) -> None:
    """Write two text columns and one of fixed-size lists."""
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(matrix.ravel()), matrix.shape[1])
    columns = [pa.array(utterances.tolist(), pa.string()), pa.array(speakers.tolist(), pa.string())]
    with written_whole(path) as temporary:
        pq.write_table(pa.table([*columns, vectors], names=list(COLUMNS)), temporary)


HDF5 = (".h5", ".hdf5")
BY_SUFFIX = dict.fromkeys(HDF5, Format(read_hdf5, write_hdf5)) | {
    ".npz": Format(read_npz, write_npz),
    ".parquet": Format(read_parquet, write_parquet),
}
