"""The compiled heart of singling out: every N and every nested level in one pass.

Candidates of a target are visited in a random order, the target first, so that the first N of
them are the evaluation set S_N for every N at once. Per level the pass keeps the M + 1 highest
calibration scores (their last two hold the threshold) and the two highest test scores (isolation
means that the first is above the threshold and the second is not). Both only rise as N grows.
"""

import numba
import numpy as np


@numba.njit(parallel=True, cache=True)
def scores_by_speaker(scores, start):
    """Gather each speaker's test score and highest calibration score, (T, S, 2).

    `scores` is (T, conversations); the first conversation of a speaker is the test.
    """
    n_targets, n_speakers = scores.shape[0], len(start) - 1
    pair = np.empty((n_targets, n_speakers, 2), scores.dtype)
    for t in numba.prange(n_targets):
        row = scores[t]
        for s in range(n_speakers):
            best = row[start[s] + 1]
            for c in range(start[s] + 2, start[s + 1]):
                best = max(best, row[c])
            pair[t, s, 0] = row[start[s]]
            pair[t, s, 1] = best
    return pair


@numba.njit(parallel=True, cache=True)
def stream(scores, start, pair, order, depth, sizes, ranks, isolated, block, threshold):
    """Visit every target's candidates once and write the outcome at every size and level.

    Parameters
    ----------
    scores, start
        As for `scores_by_speaker`.
    pair
        What `scores_by_speaker` returned.
    order
        Speakers in the order in which they join S_N, (T, draws, S) int32; the target is first.
    depth
        How many nested columns a speaker shares with the target, (T, draws or 1, S) uint8.
    sizes
        Ascending N, (sizes,).
    ranks
        Each target's own number of calibration conversations M, (T,).
    isolated, block, threshold
        Written: (T, draws, sizes, levels), as bool, int32 and float64.
    """
    n_targets, n_draws = order.shape[0], order.shape[1]
    for job in numba.prange(n_targets * n_draws):
        t, draw = job // n_draws, job % n_draws
        _stream_one(
            scores[t], start, pair[t], order[t, draw], depth[t, draw % depth.shape[1]], sizes,
            ranks[t], isolated[t, draw], block[t, draw], threshold[t, draw],
        )  # fmt: skip


@numba.njit(cache=True)
def _stream_one(row, start, pair, order, depth, sizes, rank, isolated, block, threshold):
    n_levels = block.shape[1]
    top = np.full((n_levels, rank + 1), -np.inf, row.dtype)  # calibration scores, falling
    first = np.full(n_levels, -np.inf, row.dtype)  # the two highest test scores
    second = np.full(n_levels, -np.inf, row.dtype)
    count = np.zeros(n_levels, np.int32)
    n = 0
    for k in range(len(sizes)):
        while n < sizes[k]:
            s = order[n]
            n += 1
            test, best = pair[s, 0], pair[s, 1]
            for level in range(depth[s] + 1):
                count[level] += 1
                if test > second[level]:
                    if test > first[level]:
                        second[level] = first[level]
                        first[level] = test
                    else:
                        second[level] = test
                if best > top[level, rank]:
                    for c in range(start[s] + 1, start[s + 1]):
                        _insert(top[level], row[c])
        for level in range(n_levels):
            limit = -np.inf  # a block of one: the predicate is the block itself
            if count[level] > 1:
                limit = 0.5 * (np.float64(top[level, rank - 1]) + np.float64(top[level, rank]))
            block[k, level] = count[level]
            threshold[k, level] = limit
            isolated[k, level] = first[level] > limit and second[level] <= limit


@numba.njit(cache=True)
def _insert(top, score):
    """Put a score into a falling list, dropping the lowest."""
    place = len(top) - 1
    if score <= top[place]:
        return
    while place > 0 and top[place - 1] < score:
        top[place] = top[place - 1]
        place -= 1
    top[place] = score
