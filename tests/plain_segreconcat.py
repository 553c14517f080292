"""SegReConcat written down as plainly as the paper says it, for comparison. Slow."""

import math


def dtw(a, b):
    """Total cost of warping two words, each a list of frames."""
    cost = {(-1, -1): 0.0}
    for i, frame_a in enumerate(a):
        for j, frame_b in enumerate(b):
            before = [cost.get(p, math.inf) for p in ((i - 1, j - 1), (i - 1, j), (i, j - 1))]
            cost[i, j] = math.dist(frame_a, frame_b) + min(before)
    return cost[len(a) - 1, len(b) - 1]


def chain(similarity, start):
    """The greedy traversal of Sec. 3.2.1."""
    order, unused = [start], [k for k in range(len(similarity)) if k != start]
    while unused:
        best = unused[0]
        for word in unused:
            if similarity[order[-1]][word] > similarity[order[-1]][best]:
                best = word
        order.append(best)
        unused.remove(best)
    return order


def acoustic(words):
    """The order of words, each a list of frames, that starts with the first one."""
    return chain([[1 / (1 + dtw(a, b)) for b in words] for a in words], 0)


def semantic(features):
    """The order of words, each a vector, that starts with the one most similar on average."""
    similarity = [
        [sum(map(float.__mul__, a, b)) / (math.hypot(*a) * math.hypot(*b)) for b in features]
        for a in features
    ]
    means = [
        sum(s for j, s in enumerate(row) if j != i) / max(1, len(row) - 1)
        for i, row in enumerate(similarity)
    ]
    return chain(similarity, means.index(max(means)))
