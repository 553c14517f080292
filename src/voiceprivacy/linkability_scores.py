"""Linkability from a ready matrix of scores, such as one that another program wrote."""

from collections.abc import Iterator, Sequence

import numba
import numpy as np
import pandas as pd

from voiceprivacy.errors import VoicePrivacyError, listed
from voiceprivacy.linkability import (
    Linkability,
    checked_sizes,
    default_sizes,
    gains_without,
    summed,
    warn_of_ties,
)

# Scores compared at a time.
BLOCK = 3_000_000
# Test conversations whose counts stay in a processor's nearest cache.
TESTS = 512


def linkability_of_scores(
    scores: np.ndarray,
    candidates: Sequence[str],
    tested: Sequence[str],
    sizes: Sequence[int] | None = None,
    *,
    conversation_length: int = 1,
) -> Linkability:
    """Count as `voiceprivacy.linkability.linkability` does, from a ready matrix of scores.

    Parameters
    ----------
    scores
        Higher means more alike, (n enrolled, T tested); a memory-mapped file is read by blocks.
    candidates, tested
        The speakers of rows and of columns, each once.
    sizes, conversation_length
        As in `voiceprivacy.linkability.linkability`.

    Raises
    ------
    VoicePrivacyError
        If ids do not fit the matrix, a tested speaker is not enrolled, or scores are not finite.

    Warns
    -----
    TiesWarning
        As `voiceprivacy.linkability.linkability`.
    """
    scores = np.asanyarray(scores)
    if scores.dtype not in (np.float32, np.float64) or not scores.dtype.isnative:
        raise VoicePrivacyError(
            f"scores are {scores.dtype.str}; expected float32 or float64, in native byte order: "
            "scores.astype(np.float32)."
        )
    candidates, tested = np.asarray(candidates, str), np.asarray(tested, str)
    own = _rows_of(tested, candidates, scores.shape)
    n = len(candidates)
    sizes = checked_sizes(default_sizes(n) if sizes is None else sizes, n)
    better, equal = count_better(scores, own)
    gains, right = gains_without(n, sizes)[better], _right(scores, own)
    losses = [summed(block > right, gains) for block in _blocks(scores)]
    losses = np.concatenate(losses) / len(tested)
    warn_of_ties(np.count_nonzero(equal > 1), len(tested))
    return Linkability(tested, better[None], n, conversation_length, sizes, losses, own)


def count_better(scores: np.ndarray, own: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return how many score higher than the right one, and how many as it does, itself too.

    Parameters
    ----------
    scores
        Shape (n enrolled, T tested).
    own
        The row of each tested speaker, (T,).

    Raises
    ------
    VoicePrivacyError
        If scores are not finite.

    Examples
    --------
    >>> scores = np.array([[0.9, 0.1], [0.2, 0.1], [0.9, 0.3]])
    >>> [counts.tolist() for counts in count_better(scores, np.array([0, 1]))]
    [[0, 1], [2, 2]]
    """
    right = _right(scores, own)
    better, equal, strange = np.zeros((3, len(own)), np.int32)
    for block in _blocks(scores):
        _compare(np.asarray(block), right, better, equal, strange)
    if strange.any():
        raise VoicePrivacyError(f"{strange.sum():,} scores are no finite numbers.")
    return better.astype(np.int64), equal.astype(np.int64)


def _right(scores: np.ndarray, own: np.ndarray) -> np.ndarray:
    """Scores of the right speaker, (T,)."""
    return np.asarray(scores[own, np.arange(len(own))])


def _blocks(scores: np.ndarray) -> Iterator[np.ndarray]:
    """Some candidates' scores after the other's."""
    rows = max(1, BLOCK // scores.shape[1])
    return (scores[row : row + rows] for row in range(0, len(scores), rows))


@numba.njit(cache=True)
def _compare(scores, right, better, equal, strange):
    """Add up by test: scores above the right one, equal ones, and those that are not finite."""
    for part in range((len(right) + TESTS - 1) // TESTS):
        here = slice(part * TESTS, (part + 1) * TESTS)
        own = right[here].copy()
        above, level, odd = np.zeros((3, len(own)), np.int32)
        for row in range(len(scores)):
            score = scores[row, here]
            for t in range(len(own)):
                above[t] += score[t] > own[t]
                level[t] += score[t] == own[t]
                odd[t] += score[t] - score[t] != 0
        better[here] += above
        equal[here] += level
        strange[here] += odd


def _rows_of(tested: np.ndarray, candidates: np.ndarray, shape: tuple) -> np.ndarray:
    """The row of every tested speaker among the candidates, or an error."""
    if shape != (len(candidates), len(tested)) or not len(tested) or len(candidates) < 2:
        raise VoicePrivacyError(
            f"scores of shape {shape} with {len(candidates)} enrolled and {len(tested)} tested "
            "speakers; expected (enrolled, tested), two and one at least."
        )
    index = pd.Index(candidates)
    strange = tested[index.get_indexer(tested) < 0] if index.is_unique else candidates
    if len(strange) or len(np.unique(tested)) < len(tested):
        raise VoicePrivacyError(
            f"tested speakers {listed(strange.tolist())} are not enrolled, or speakers repeat; "
            "expected each once, and all tested ones among the enrolled."
        )
    return index.get_indexer(tested)
