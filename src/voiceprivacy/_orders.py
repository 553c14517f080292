"""In which order SegReConcat puts an utterance's words."""

import numpy as np


def order_random(n: int, rng: np.random.Generator) -> np.ndarray:
    """Return a random order of `n` words, each equally likely (RR, Sec. 3.2).

    Examples
    --------
    >>> sorted(order_random(4, np.random.default_rng(0)).tolist())
    [0, 1, 2, 3]
    """
    return rng.permutation(n)
