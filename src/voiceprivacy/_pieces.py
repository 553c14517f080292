"""Words cut out of an utterance, and joined in another order."""

import itertools

import numpy as np

from voiceprivacy._audio import RATE
from voiceprivacy.errors import VoicePrivacyError

BOUNDARIES = ("gapless", "tight")


def pieces(
    spans: np.ndarray, n_samples: int, boundaries: str = "gapless"
) -> tuple[int, np.ndarray]:
    """Return which samples belong to which word.

    Parameters
    ----------
    spans
        Start and end of every word in samples, (k, 2), in order of time, not overlapping.
    n_samples
        Length of the utterance.
    boundaries
        ``"gapless"``: a word runs to the next one's start and the last one to the end of the
        file, so that nothing is lost; what precedes the first word is the lead, which stays
        first. ``"tight"``: a word runs from its start to its end; pauses, lead and tail are lost.

    Returns
    -------
    tuple
        Number of samples in the lead, and start and end of every piece, (k, 2).

    Raises
    ------
    VoicePrivacyError
        If the spans are out of order, overlap, are empty or leave the utterance.

    Notes
    -----
    The paper says "word segments" (Sec. 3.1). The authors' code cuts tight for RR and SR, gapless
    for AR; here either goes with every strategy.

    Examples
    --------
    >>> lead, words = pieces(np.array([[2, 5], [6, 8]]), 10)
    >>> lead, words.tolist()
    (2, [[2, 6], [6, 10]])
    >>> pieces(np.array([[2, 5], [6, 8]]), 10, "tight")[1].tolist()
    [[2, 5], [6, 8]]
    """
    spans = _checked(spans, n_samples)
    if boundaries == "tight" or not len(spans):
        return 0, spans
    return int(spans[0, 0]), np.column_stack([spans[:, 0], [*spans[1:, 0], n_samples]])


def rearranged(
    samples: np.ndarray,
    spans: np.ndarray,
    order: np.ndarray,
    *,
    boundaries: str = "gapless",
    crossfade: float = 0.0,
) -> np.ndarray:
    """Return an utterance's words in another order.

    Parameters
    ----------
    samples
        The utterance, (n,).
    spans
        Its words, see `pieces`; with no words the utterance comes back as it is.
    order
        Which word comes first, second, ...: a permutation (k,).
    boundaries
        See `pieces`.
    crossfade
        Seconds over which words that meet are mixed. Both are continued into what follows or
        precedes them in the utterance, so that the length stays what it is without a cross-fade.
        It is shortened where words are shorter.

    Returns
    -------
    numpy.ndarray
        Lead and words; with ``"gapless"`` and no cross-fade a permutation of the samples.

    Raises
    ------
    VoicePrivacyError
        If the order does not name each word once, or the spans are impossible (see `pieces`).

    Examples
    --------
    >>> rearranged(np.arange(10), np.array([[2, 5], [6, 8]]), np.array([1, 0])).tolist()
    [0, 1, 6, 7, 8, 9, 2, 3, 4, 5]
    """
    order = np.asarray(order, dtype=np.int64)
    if not np.array_equal(np.sort(order), np.arange(len(spans))):
        raise VoicePrivacyError(
            f"order {order.tolist()} does not name each of {len(spans)} words once."
        )
    return np.concatenate(in_order(samples, spans, order, boundaries, crossfade))


def in_order(
    samples: np.ndarray, spans: np.ndarray, order: np.ndarray, boundaries: str, crossfade: float
) -> list[np.ndarray]:
    """The lead and the words in their new order; without a cross-fade nothing is copied."""
    lead, words = pieces(spans, len(samples), boundaries)
    if not len(words):
        return [samples]
    places = words[order].tolist()
    if lead:
        places.insert(0, [0, lead])
    parts = [samples[start:end] for start, end in places]
    half = round(crossfade * RATE / 2)
    return _faded(samples, parts, places, half) if half else parts


def _faded(
    samples: np.ndarray, parts: list[np.ndarray], places: list[list[int]], half: int
) -> list[np.ndarray]:
    """Mix the ends of parts that meet but did not, within `half` samples of where they meet."""
    parts = [part.copy() for part in parts]
    for (left, right), ((_, end), (start, _)) in zip(
        itertools.pairwise(parts), itertools.pairwise(places), strict=True
    ):
        # Half a part at most: fades at its two ends must not meet.
        reach = min(half, len(left) // 2, len(right) // 2)
        if end == start or not reach:
            continue
        ramp = (np.arange(2 * reach, dtype=samples.dtype) + 0.5) / (2 * reach)
        before, after = (_around(samples, place, reach) for place in (end, start))
        left[-reach:], right[:reach] = np.split(before * (1 - ramp) + after * ramp, 2)
    return parts


def _around(samples: np.ndarray, place: int, reach: int) -> np.ndarray:
    """The samples within `reach` of a place, silence beyond the utterance."""
    first, last = place - reach, place + reach
    inside = samples[max(first, 0) : last]
    if len(inside) == 2 * reach:
        return inside
    return np.pad(inside, (max(-first, 0), max(last - len(samples), 0)))


def _checked(spans: np.ndarray, n_samples: int) -> np.ndarray:
    """`spans` as (k, 2), or an error."""
    spans = np.asarray(spans, dtype=np.int64).reshape(-1, 2)
    places = spans.ravel()
    ordered = (places[1:] >= places[:-1]).all() and (spans[:, 0] < spans[:, 1]).all()
    if len(spans) and not (ordered and places[0] >= 0 and places[-1] <= n_samples):
        raise VoicePrivacyError(
            f"words must follow one another within {n_samples} samples, each at least one sample "
            f"long; got {spans.tolist()}."
        )
    return spans
