"""SegReConcat: an utterance's words in another order, put behind the utterance itself.

An attacker who trains on such audio hears a speaker's words both in and out of their context
(SegReConcat paper, Sec. 3). `SegReConcat` holds the settings and does all of it for one utterance
in memory, cheaply enough for every training step; `voiceprivacy.augment` does a folder.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from tqdm import tqdm

from voiceprivacy._orders import (
    acoustic_similarity,
    cosine_similarity,
    order_acoustic,
    order_random,
    order_semantic,
)
from voiceprivacy._pieces import BOUNDARIES, in_order, pieces, rearranged
from voiceprivacy._whisper import PADDINGS
from voiceprivacy.corpora import Corpus
from voiceprivacy.errors import VoicePrivacyError
from voiceprivacy.randomness import stream
from voiceprivacy.segmentation import Segmentation

__all__ = [
    "BOUNDARIES",
    "CONTROLS",
    "ORDERS",
    "PADDINGS",
    "STRATEGIES",
    "Encoder",
    "SegReConcat",
    "acoustic_similarity",
    "cosine_similarity",
    "order_acoustic",
    "order_random",
    "order_semantic",
    "pieces",
    "rearranged",
]

STRATEGIES = ("rr", "ar", "sr")
CONTROLS = ("none", "same", "reversed")
ORDERS = ("original_first", "random")


class Encoder(Protocol):
    """What turns words into features of their meaning."""

    name: str

    def encode(self, waveforms: Sequence[np.ndarray], padding: str = "short") -> np.ndarray:
        """Encode words, each on its own, as (words, features)."""


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
    padding
        What the encoder of ``"sr"`` is given: ``"short"``, the word, or ``"window"``, the word in
        30 s of silence as the authors do.
    encoder
        What gives ``"sr"`` its features, such as a
        `voiceprivacy.segmentation.WhisperRecogniser`.
    orders
        Orders by acoustic or semantic similarity that are known already, by utterance; they are
        the same in every epoch and computed once. So an object serves one corpus, and a copy with
        another strategy or other boundaries must be given ``orders={}``.

    Raises
    ------
    VoicePrivacyError
        If a setting is unknown, or ``"sr"`` has no encoder when it needs one.

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
    padding: str = "short"
    encoder: Encoder | None = field(default=None, compare=False)
    orders: dict[str, np.ndarray] = field(default_factory=dict, compare=False, repr=False)

    def __post_init__(self):
        _expect("strategy", self.strategy, (*STRATEGIES, *CONTROLS))
        _expect("boundaries", self.boundaries, BOUNDARIES)
        _expect("order", self.order, ORDERS)
        _expect("padding", self.padding, PADDINGS)
        if not 0 <= self.crossfade < 1:
            raise VoicePrivacyError(
                f"a cross-fade of {self.crossfade} s; expected 0 to 1 s, usually below 0.02 s."
            )

    @property
    def name(self) -> str:
        """All settings that change what comes out.

        Examples
        --------
        >>> SegReConcat("rr").name
        'rr, concatenated, gapless, original_first, crossfade 0 s, seed 0'
        """
        how = "concatenated" if self.concatenate else "alone"
        settings = [self.strategy, how, self.boundaries, self.order]
        settings += [f"crossfade {self.crossfade:g} s", f"seed {self.seed}"]
        if self.strategy == "sr" and self.encoder is not None:
            settings += [f"{self.padding} padding", self.encoder.name]
        return ", ".join(settings)

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
            parts = in_order(samples, spans, order, self.boundaries, self.crossfade)
        if self.concatenate:
            last = self.order == "random" and self._toss(utterance, epoch)
            parts = [*parts, samples] if last else [samples, *parts]
        return np.concatenate(parts)

    def word_order(
        self, samples: np.ndarray, spans: np.ndarray, utterance: str, epoch: int = 0
    ) -> np.ndarray:
        """Return the order of the words in the rearranged half, a permutation (k,).

        Parameters are those of `augmented`. The controls keep the words in their order.

        Raises
        ------
        VoicePrivacyError
            If the order that is known has another number of words.
        """
        if self.strategy in CONTROLS or len(spans) < 2:
            return np.arange(len(spans))
        if self.strategy == "rr":
            return order_random(len(spans), stream(self.seed, "rr", utterance, epoch))
        if utterance not in self.orders:
            self.orders[utterance] = self._by_similarity(samples, spans)
        order = self.orders[utterance]
        if len(order) != len(spans):
            raise VoicePrivacyError(
                f"utterance {utterance!r} has {len(spans)} words, but {len(order)} were put in "
                "order before; make a new SegReConcat for another corpus or segmentation."
            )
        return order

    def _by_similarity(self, samples: np.ndarray, spans: np.ndarray) -> np.ndarray:
        lead, words = pieces(spans, len(samples), self.boundaries)
        if self.strategy == "ar":
            return order_acoustic(samples, words, lead)
        if self.encoder is None:
            raise VoicePrivacyError(
                "rearranging by semantic similarity needs SegReConcat(..., encoder=...), such as "
                "voiceprivacy.segmentation.WhisperRecogniser."
            )
        waveforms = [samples[start:end] for start, end in words.tolist()]
        return order_semantic(self.encoder.encode(waveforms, self.padding))

    def prepare(
        self,
        corpus: Corpus,
        segmentation: Segmentation,
        *,
        workers: int = 1,
        progress: bool = False,
    ) -> None:
        """Compute the orders by similarity of a whole corpus, so that training need not.

        Parameters
        ----------
        corpus
            What is going to be augmented.
        segmentation
            Its words.
        workers
            Threads.
        progress
            Show a bar on stderr.
        """
        if self.strategy not in ("ar", "sr"):
            return

        def one(row: int) -> None:
            utterance = corpus.table["utterance"][row]
            self.word_order(corpus.audio(row), segmentation.spans(utterance), utterance)

        with ThreadPoolExecutor(workers) as pool:
            list(tqdm(pool.map(one, range(len(corpus))), total=len(corpus), disable=not progress))

    def _toss(self, utterance: str, epoch: int) -> bool:
        """Whether the utterance itself comes last."""
        return bool(stream(self.seed, "halves", utterance, epoch).random() < 0.5)


def _expect(what: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise VoicePrivacyError(f"{what} {value!r}; expected one of {', '.join(known)}.")
