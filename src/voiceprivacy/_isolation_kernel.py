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
def scores_by_speaker(scores, column, start):
    """Gather each speaker's test score and highest calibration score, (T, S, 2)."""
    n_targets, n_speakers = len(scores), len(start) - 1
    pair = np.empty((n_targets, n_speakers, 2), scores.dtype)
    for t in numba.prange(n_targets):
        row = scores[t]
        for s in range(n_speakers):
            best = row[column[start[s] + 1]]
            for c in range(start[s] + 2, start[s + 1]):
                best = max(best, row[column[c]])
            pair[t, s, 0] = row[column[start[s]]]
            pair[t, s, 1] = best
    return pair


@numba.njit(parallel=True, cache=True)
def stream(
    scores, column, start, pair, order, depth, hidden, hidden_target, sizes, ranks,
    isolated, block, threshold,
):  # fmt: skip
    """Visit every target's candidates once and write the outcome at every size and level.

    Parameters
    ----------
    scores, column, start
        The scores and where each conversation's lies, see the module.
    pair
        What `scores_by_speaker` returned.
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
    ranks
        Each target's own number of calibration conversations M, (T,).
    isolated, block, threshold
        Written: (T, D, K, J), as bool, int32 and float64.
    """
    n_targets, n_draws = order.shape[0], order.shape[1]
    for job in numba.prange(n_targets * n_draws):
        t, draw = job // n_draws, job % n_draws
        shared = depth[t]
        if len(hidden):
            shared = _with_hidden(shared, hidden[draw], hidden_target[t, draw], block.shape[3] - 1)
        _stream_one(
            scores[t], column, start, pair[t], order[t, draw], shared, sizes,
            ranks[t], isolated[t, draw], block[t, draw], threshold[t, draw],
        )  # fmt: skip


@numba.njit(cache=True)
def _with_hidden(shared, hidden, hidden_target, n_columns):
    """Let those of whom nothing is disclosed share every column with the target."""
    depth = shared.copy()
    for s in range(len(depth)):
        if hidden[s] or hidden_target:
            depth[s] = n_columns
    return depth


@numba.njit(cache=True)
def _stream_one(row, column, start, pair, order, depth, sizes, rank, isolated, block, threshold):
    n_levels = block.shape[1]
    top = np.full((n_levels, rank + 1), -np.inf, row.dtype)  # calibration scores, falling
    first = np.full(n_levels, -np.inf, row.dtype)  # the two highest test scores
    second = np.full(n_levels, -np.inf, row.dtype)
    at_depth = np.zeros(n_levels, np.int32)
    n = 0
    for k in range(len(sizes)):
        while n < sizes[k]:
            s = order[n]
            n += 1
            test, best, level = pair[s, 0], pair[s, 1], np.int64(depth[s])
            at_depth[level] += 1
            # A coarser block holds the finer one, so its bars are at least as high: what changes
            # nothing at one level changes nothing above it.
            while level >= 0 and (test > second[level] or best > top[level, rank]):
                if test > second[level]:
                    second[level] = min(test, first[level])
                    first[level] = max(test, first[level])
                for c in range(start[s] + 1, start[s + 1]):
                    _insert(top[level], row[column[c]])
                level -= 1
        count = 0
        for level in range(n_levels - 1, -1, -1):
            count += at_depth[level]
            limit = -np.inf  # a block of one: the predicate is the block itself
            if count > 1:
                limit = 0.5 * (np.float64(top[level, rank - 1]) + np.float64(top[level, rank]))
            block[k, level] = count
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
