"""Cosine scores whose last bit does not depend on threads or on how the work was divided."""

from concurrent.futures import ThreadPoolExecutor
from math import ceil

import numba
import numpy as np
from threadpoolctl import threadpool_limits

# A matrix product's last bits depend on its shape and on how a library divides it among threads,
# and a score in the last bit can decide an isolation. Products of one fixed shape, one thread
# each, give the same bits for any number of threads and any batch of whole row tiles.
ROW_TILE = 48
COLUMN_TILE = 4096


def cosine_scores(probes: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """Return the cosine of every probe with every vector.

    Parameters
    ----------
    probes
        Unit vectors, float32, shape (T, d).
    vectors
        Unit vectors, float32, shape (C, d).

    Returns
    -------
    numpy.ndarray
        Shape (T, C), float32.

    Notes
    -----
    Bits are the same on one machine; another processor's kernels may round differently.

    Examples
    --------
    >>> cosine_scores(np.eye(2, dtype="f4"), np.array([[0.6, 0.8]], "f4")).tolist()
    [[0.6000000238418579], [0.800000011920929]]
    """
    rows = _padded(probes, ROW_TILE)
    scores = np.empty((len(rows), ceil(len(vectors) / COLUMN_TILE) * COLUMN_TILE), np.float32)

    def fill(column: int) -> None:
        tile = _padded(vectors[column : column + COLUMN_TILE], COLUMN_TILE).T
        for row in range(0, len(rows), ROW_TILE):
            out = scores[row : row + ROW_TILE, column : column + COLUMN_TILE]
            np.matmul(rows[row : row + ROW_TILE], tile, out=out)

    columns = range(0, len(vectors), COLUMN_TILE)
    with (
        threadpool_limits(1, user_api="blas"),
        ThreadPoolExecutor(numba.get_num_threads()) as workers,
    ):
        list(workers.map(fill, columns))
    return scores[: len(probes), : len(vectors)]


def _padded(matrix: np.ndarray, multiple: int) -> np.ndarray:
    """Append rows of zeros up to a multiple."""
    missing = -len(matrix) % multiple
    if not missing:
        return matrix
    return np.concatenate([matrix, np.zeros((missing, matrix.shape[1]), matrix.dtype)])
