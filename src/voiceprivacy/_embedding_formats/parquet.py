"""Parquet: two text columns and one of lists."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from voiceprivacy._embedding_formats.vectors import DAMAGED, Arrays, one_dimension
from voiceprivacy.errors import VoicePrivacyError, listed
from voiceprivacy.files import written_whole

COLUMNS = ("utterance", "speaker", "embedding")


def read_parquet(path: Path, table: Path | None) -> Arrays:
    """Read two text columns and one of lists."""
    try:
        content = pq.ParquetFile(path).read()
    except (OSError, pa.ArrowException) as error:
        raise VoicePrivacyError(DAMAGED.format(error)) from error
    absent = [name for name in COLUMNS if name not in content.column_names]
    if absent:
        raise VoicePrivacyError(
            f"has no column {listed(absent)}; it has {listed(content.column_names)}."
        )
    utterances, speakers = (_text_column(content[name], name) for name in COLUMNS[:2])
    return utterances, speakers, _list_column(content[COLUMNS[2]], utterances.tolist())


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
    one_dimension(ids, lengths)
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
