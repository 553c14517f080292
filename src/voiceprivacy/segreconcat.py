"""SegReConcat: an utterance's words in another order, put behind the utterance itself.

An attacker who trains on such audio hears a speaker's words both in and out of their context
(SegReConcat paper, Sec. 3). `SegReConcat` holds the settings and does all of it for one utterance
in memory, cheaply enough for every training step; `voiceprivacy.augment` does a folder.
"""

import itertools
from dataclasses import dataclass

import numpy as np

from voiceprivacy._audio import RATE
from voiceprivacy._orders import order_random
from voiceprivacy.errors import VoicePrivacyError
from voiceprivacy.randomness import stream

STRATEGIES = ("rr", "ar", "sr")
CONTROLS = ("none", "same", "reversed")
BOUNDARIES = ("gapless", "tight")
ORDERS = ("original_first", "random")


@dataclass(frozen=True)
class SegReConcat:
    """Settings of the augmentation, and the augmentation of one utterance.

    Parameters
    ----------
    strategy
        How words are put in order: ``"rr"`` at random, ``"ar"`` by acoustic and ``"sr"`` by
        semantic similarity (Sec. 3.2). Controls that the paper does not have: ``"same"`` (the
        utterance itself takes the place of the rearranged half), ``"reversed"`` (the utterance
        backwards), ``"none"`` (no augmentation, whatever `concatenate` says).
    concatenate
        Whether the utterance and its rearrangement follow one another (Sec. 3.3), or the
        rearrangement stands alone.
    boundaries
        What belongs to a word, see `pieces`.
    order
        ``"original_first"`` as in the paper, or ``"random"`` as in the authors' script: a coin
        tossed for each utterance and epoch.
    crossfade
        Seconds of cross-fade where words meet that did not, see `rearranged`.
    seed
        Seed of everything random.

    Raises
    ------
    VoicePrivacyError
        If a setting is unknown.

    Examples
    --------
    >>> samples, spans = np.arange(6, dtype=np.float32), np.array([[0, 2], [2, 4], [4, 6]])
    >>> SegReConcat("rr", seed=1).augmented(samples, spans, "1-1-0001").astype(int).tolist()
    [0, 1, 2, 3, 4, 5, 0, 1, 4, 5, 2, 3]
    """

    strategy: str
    concatenate: bool = True
    boundaries: str = "gapless"
    order: str = "original_first"
    crossfade: float = 0.0
    seed: int = 0

    def __post_init__(self):
        _expect("strategy", self.strategy, (*STRATEGIES, *CONTROLS))
        _expect("boundaries", self.boundaries, BOUNDARIES)
        _expect("order", self.order, ORDERS)
        if not 0 <= self.crossfade < 1:
            raise VoicePrivacyError(
                f"a cross-fade of {self.crossfade} s; expected 0 to 1 s, usually below 0.02 s."
            )

    def augmented(
        self, samples: np.ndarray, spans: np.ndarray, utterance: str, epoch: int = 0
    ) -> np.ndarray:
        """Return the augmented utterance.

        Parameters
        ----------
        samples
            The utterance, (n,).
        spans
            Its words, see `pieces`.
        utterance
            Its id: every utterance has its own random numbers, whatever else is augmented.
        epoch
            Gives other random numbers each time the utterance is seen.

        Returns
        -------
        numpy.ndarray
            2 n samples if concatenated and gapless, n if not concatenated. An utterance with
            fewer than two words is its own rearrangement.
        """
        if self.strategy == "none":
            return samples
        if self.strategy == "reversed":
            parts = [samples[::-1]]
        elif self.strategy == "same" or len(spans) < 2:
            parts = [samples]
        else:
            order = self.word_order(samples, spans, utterance, epoch)
            parts = _parts(samples, spans, order, self.boundaries, self.crossfade)
        if self.concatenate:
            last = self.order == "random" and self._toss(utterance, epoch)
            parts = [*parts, samples] if last else [samples, *parts]
        return np.concatenate(parts)

    def word_order(
        self, samples: np.ndarray, spans: np.ndarray, utterance: str, epoch: int = 0
    ) -> np.ndarray:
        """Return the order of the words in the rearranged half, a permutation (k,)."""
        return order_random(len(spans), stream(self.seed, "rr", utterance, epoch))

    def _toss(self, utterance: str, epoch: int) -> bool:
        """Whether the utterance itself comes last."""
        return bool(stream(self.seed, "halves", utterance, epoch).random() < 0.5)


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

    Examples
    --------
    >>> rearranged(np.arange(10), np.array([[2, 5], [6, 8]]), np.array([1, 0])).tolist()
    [0, 1, 6, 7, 8, 9, 2, 3, 4, 5]
    """
    return np.concatenate(_parts(samples, spans, order, boundaries, crossfade))


def _parts(
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


def _expect(what: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise VoicePrivacyError(f"{what} {value!r}; expected one of {', '.join(known)}.")
