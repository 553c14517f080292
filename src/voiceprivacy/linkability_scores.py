"""Linkability from a ready matrix of scores, such as one that another program wrote."""

from collections.abc import Iterable, Sequence

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

# Scores compared at a time: few enough for a processor's cache.
BLOCK = 1_000_000


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
    candidates, tested = np.asarray(candidates, str), np.asarray(tested, str)
    own = _rows_of(tested, candidates, scores.shape)
    n = len(candidates)
    sizes = checked_sizes(default_sizes(n) if sizes is None else sizes, n)
    rows = max(1, BLOCK // len(tested))
    blocks = [slice(row, row + rows) for row in range(0, n, rows)]
    right = scores[own, np.arange(len(tested))]
    better, equal = _counted((scores[block] for block in blocks), right)
    gains = gains_without(n, sizes)[better]
    losses = [summed(scores[block] > right, gains) for block in blocks]
    losses = np.concatenate(losses) / len(tested)
    warn_of_ties(np.count_nonzero(equal > 1), len(tested))
    return Linkability(tested, better[None], n, conversation_length, sizes, losses, own)


def _counted(blocks: Iterable[np.ndarray], right: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """How many candidates score higher than the right one, and how many as it does, itself too."""
    better, equal = np.zeros((2, len(right)), np.int64)
    for block in blocks:
        if not np.isfinite(block).all():
            raise VoicePrivacyError("scores hold something else than finite numbers.")
        better += np.count_nonzero(block > right, axis=0)
        equal += np.count_nonzero(block == right, axis=0)
    return better, equal


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
