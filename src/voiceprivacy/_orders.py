"""In which order SegReConcat puts an utterance's words."""

import numpy as np

from voiceprivacy._dtw import acoustic_distances, mfccs


def order_random(n: int, rng: np.random.Generator) -> np.ndarray:
    """Return a random order of `n` words, each equally likely (RR, Sec. 3.2).

    Examples
    --------
    >>> sorted(order_random(4, np.random.default_rng(0)).tolist())
    [0, 1, 2, 3]
    """
    return rng.permutation(n)


def order_acoustic(samples: np.ndarray, words: np.ndarray, lead: int = 0) -> np.ndarray:
    """Return the order in which each word sounds most like the one before it (AR, Sec. 3.2.1).

    Parameters
    ----------
    samples
        The utterance, (n,), 16 kHz.
    words
        Start and end of each word, (k, 2).
    lead
        Samples before the first word; if there are any, the chain starts from them, else from the
        first word.

    Returns
    -------
    numpy.ndarray
        A permutation, (k,).
    """
    if len(words) < 2:
        return np.arange(len(words))
    if lead:
        words = np.vstack([[0, lead], words])
    order = greedy_chain(acoustic_similarity(samples, words), 0)
    return order[1:] - 1 if lead else order


def acoustic_similarity(samples: np.ndarray, words: np.ndarray) -> np.ndarray:
    """Return 1 / (1 + D) of all pairs of words, (k, k), D being the cost of warping their MFCCs."""
    return 1 / (1 + acoustic_distances(mfccs(samples, words)))


def order_semantic(features: np.ndarray) -> np.ndarray:
    """Return the order in which each word means most nearly what the one before it does.

    Parameters
    ----------
    features
        The encoder's output for each word, (k, 2 d'), compared by cosine (SR, Sec. 3.2.2).

    Returns
    -------
    numpy.ndarray
        A permutation, (k,), that starts at the word of highest mean similarity to the others.

    Examples
    --------
    >>> order_semantic(np.array([[0.0, 1.0], [1.0, 1.0], [1.0, 0.5]])).tolist()
    [1, 2, 0]
    """
    if len(features) < 2:
        return np.arange(len(features))
    similarity = cosine_similarity(features)
    others = similarity - np.diag(np.diag(similarity))
    return greedy_chain(similarity, int(np.argmax(others.sum(axis=1))))


def cosine_similarity(features: np.ndarray) -> np.ndarray:
    """Return the cosine between all pairs of rows, (k, k); 0 with a row of zeros.

    Examples
    --------
    >>> cosine_similarity(np.array([[2.0, 0.0], [0.0, 1.0], [0.0, 0.0]])).tolist()
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 0.0]]
    """
    features = np.asarray(features, np.float64)
    norms = np.linalg.norm(features, axis=1, keepdims=True)
    unit = features / np.where(norms > 0, norms, 1)
    return unit @ unit.T


def greedy_chain(similarity: np.ndarray, start: int) -> np.ndarray:
    """Return the order that goes on to the most similar of what is left.

    Parameters
    ----------
    similarity
        Between all pairs, (n, n).
    start
        Which comes first.

    Returns
    -------
    numpy.ndarray
        A permutation, (n,); of equally similar ones the lowest comes first.

    Examples
    --------
    >>> greedy_chain(np.array([[1, 0.2, 0.9], [0.2, 1, 0.4], [0.9, 0.4, 1]]), 0).tolist()
    [0, 2, 1]
    """
    left = np.array(similarity, np.float64)
    order = [start]
    for _ in range(len(left) - 1):
        left[:, order[-1]] = -np.inf
        order.append(int(np.argmax(left[order[-1]])))
    return np.array(order)
