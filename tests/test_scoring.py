"""Scores are cosines, and the same for any number of threads and any batch of row tiles."""

import numba
import numpy as np
import pytest

from voiceprivacy.scoring import COLUMN_TILE, ROW_TILE, cosine_scores


def unit(n, seed, d=64):
    vectors = np.random.default_rng(seed).normal(size=(n, d)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


@pytest.mark.parametrize(("probes", "vectors"), [(1, 1), (ROW_TILE + 1, COLUMN_TILE + 1), (48, 7)])
def test_scores_are_cosines(probes, vectors):
    a, b = unit(probes, 0), unit(vectors, 1)
    exact = a.astype(float) @ b.astype(float).T
    np.testing.assert_allclose(cosine_scores(a, b), exact, atol=1e-6)


def test_bits_do_not_depend_on_threads_or_batches():
    a, b = unit(3 * ROW_TILE, 0), unit(2 * COLUMN_TILE + 5, 1)
    whole = cosine_scores(a, b)
    before = numba.get_num_threads()
    numba.set_num_threads(1)
    np.testing.assert_array_equal(cosine_scores(a, b), whole)
    numba.set_num_threads(before)
    np.testing.assert_array_equal(cosine_scores(a[ROW_TILE:], b), whole[ROW_TILE:])
