"""The compiled heart of singling out: every N and every nested level in one pass.

Candidates of a target are visited in a random order, the target first, so that the first N of
them are the evaluation set S_N for every N at once. Per level the pass keeps the M + 1 highest
calibration scores (their last two hold the threshold) and the two highest test scores (isolation
means that the first is above the threshold and the second is not). Both only rise as N grows.

Shapes: T targets, S speakers, D draws, K sizes, J levels (columns of side information + 1).
Conversation ``c`` of speaker ``s`` is one of ``start[s]:start[s + 1]``, the first being the test;
its score is in column ``column[c]`` of a target's row of scores.
"""

import numba
import numpy as np


@numba.njit(parallel=True, cache=True)
def shared_depths(codes, own):
    """Count the leading columns that each speaker shares with each target, (T, S) uint8.

    A negative code is an unknown value, which differs from none.
    """
    depth = np.zeros((len(own), len(codes)), np.uint8)
    for t in numba.prange(len(own)):
        for s in range(len(codes)):
            for j in range(codes.shape[1]):
                here, there = codes[s, j], codes[own[t], j]
                if here != there and here >= 0 and there >= 0:
                    break
                depth[t, s] += 1
    return depth


@numba.njit(parallel=True, cache=True)
def count_blocks(order, depth, hidden, hidden_target, sizes, block):
    """Count the compatible speakers at every size and level into `block`, (T, D, K, J).

    Parameters
    ----------
    order
        Speakers in the order in which they join S_N, (T, D, largest N) int32, the target first.
    depth
        What `shared_depths` returned.
    hidden
        Whose side information is not disclosed, (D, S) bool, or (0, 0) when everybody's is.
    hidden_target
        Whether the target's own is not disclosed, which rules nobody out, (T, D) bool.
    sizes
        Ascending N, (K,).
    """
    n_targets, n_draws, _, n_levels = block.shape
    for job in numba.prange(n_targets * n_draws):
        t, draw = job // n_draws, job % n_draws
        shared = _disclosed(depth[t], hidden, hidden_target[t, draw], draw, n_levels)
        at_depth = np.zeros(n_levels, np.int32)
        n = 0
        for k in range(len(sizes)):
            while n < sizes[k]:
                at_depth[shared[order[t, draw, n]]] += 1
                n += 1
            count = 0
            for level in range(n_levels - 1, -1, -1):
                count += at_depth[level]
                block[t, draw, k, level] = count


@numba.njit(parallel=True, cache=True)
def highest_scores(scores, column, start):
    """Find each speaker's highest score over all its conversations, (T, S)."""
    highest = np.empty((len(scores), len(start) - 1), scores.dtype)
    for t in numba.prange(len(scores)):
        for s in range(len(start) - 1):
            best = scores[t, column[start[s]]]
            for c in range(start[s] + 1, start[s + 1]):
                best = max(best, scores[t, column[c]])
            highest[t, s] = best
    return highest


@numba.njit(parallel=True, cache=True)
def stream(
    scores, column, start, highest, order, depth, hidden, hidden_target, sizes, ranks,
    isolated, threshold,
):  # fmt: skip
    """Visit every target's candidates once and write the outcome at every size and level.

    Parameters
    ----------
    scores, column, start
        The scores and where each conversation's lies, see the module.
    highest
        What `highest_scores` returned.
    order, depth, hidden, hidden_target, sizes
        As for `count_blocks`.
    ranks
        Each target's own number of calibration conversations M, (T,).
    isolated, threshold
        Written: (T, D, K, J), as bool and float64.
    """
    n_targets, n_draws, _, n_levels = isolated.shape
    for job in numba.prange(n_targets * n_draws):
        t, draw = job // n_draws, job % n_draws
        shared = _disclosed(depth[t], hidden, hidden_target[t, draw], draw, n_levels)
        _stream_one(
            scores[t], column, start, highest[t], order[t, draw], shared, sizes, ranks[t],
            isolated[t, draw], threshold[t, draw],
        )  # fmt: skip


@numba.njit(cache=True)
def _disclosed(depth, hidden, hidden_target, draw, n_levels):
    """Let those of whom nothing is disclosed share every column with the target."""
    if len(hidden) == 0:
        return depth
    depth = depth.copy()
    for s in range(len(depth)):
        if hidden[draw, s] or hidden_target:
            depth[s] = n_levels - 1
    return depth


@numba.njit(cache=True)
def _stream_one(row, column, start, highest, order, depth, sizes, rank, isolated, threshold):
    n_levels = isolated.shape[1]
    top = np.full((n_levels, rank + 1), -np.inf, row.dtype)  # calibration scores, falling
    first = np.full(n_levels, -np.inf, row.dtype)  # the two highest test scores
    second = np.full(n_levels, -np.inf, row.dtype)
    bar = np.full(n_levels, -np.inf, row.dtype)  # below it a score changes nothing
    n = 0
    for k in range(len(sizes)):
        while n < sizes[k]:
            s = order[n]
            n += 1
            level = np.int64(depth[s])
            # A coarser block holds the finer one, so its bar is at least as high: who changes
            # nothing at one level changes nothing above it.
            while level >= 0 and highest[s] > bar[level]:
                test = row[column[start[s]]]
                if test > second[level]:
                    second[level] = min(test, first[level])
                    first[level] = max(test, first[level])
                for c in range(start[s] + 1, start[s + 1]):
                    _insert(top[level], row[column[c]])
                bar[level] = min(second[level], top[level, rank])
                level -= 1
        for level in range(n_levels):
            # Alone in the block, fewer than M + 1 scores: minus infinity, so the block itself.
            limit = 0.5 * (np.float64(top[level, rank - 1]) + np.float64(top[level, rank]))
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
