"""What an attacker trains on: utterances, their words, and what augmentation makes of them."""

import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

from voiceprivacy._audio import RATE, audio_packages
from voiceprivacy._sampling import Draw, make_rows
from voiceprivacy.attacker_settings import AttackerSettings
from voiceprivacy.corpora import Corpus
from voiceprivacy.errors import VoicePrivacyError, listed
from voiceprivacy.parts import Arrays, Parts
from voiceprivacy.segmentation import Segmentation
from voiceprivacy.segreconcat import STRATEGIES, Encoder, SegReConcat

MEMORY = 2**31
"""Bytes of audio up to which a corpus is read once and kept; a larger one is read crop by crop."""
HEARD = 8
"""Utterances by which speech is told from other speech with the same ids and lengths."""


class Material:
    """Speech, its words, and the settings of a training, seen together.

    Parameters
    ----------
    corpus, words, settings, encoder, orders
        As in `voiceprivacy.attackers.train`.

    Attributes
    ----------
    speech
        The crops.
    rows
        Which utterance each row is a crop of.
    """

    def __init__(
        self,
        corpus: Corpus,
        words: Segmentation | None,
        settings: AttackerSettings,
        encoder: Encoder | None = None,
        orders: Mapping[str, np.ndarray] | None = None,
    ):
        self.settings, self._encoder = settings, encoder
        self._words = _needed_words(corpus, words, settings)
        own = settings.augmentation
        augmentation = SegReConcat(
            own.strategy,
            concatenate=own.concatenate,
            boundaries=own.boundaries,
            order=own.order,
            crossfade=own.crossfade,
            seed=settings.seed,
            padding=own.padding,
            encoder=encoder,
        )
        augmentation.orders.update(orders or {})
        self.speech = Speech(corpus, self._words, settings, augmentation)
        self._lengths = np.array([_length(*place) for place in _places(corpus)], np.int64)
        self.rows = make_rows(corpus, self.speech.lengths(self._lengths), settings)

    def claim(self, folder: Path) -> Parts:
        """Note in a folder what is trained on, or refuse one that belongs to another training."""
        corpus = self.speech.corpus
        heard = np.unique(np.linspace(0, len(corpus) - 1, HEARD).astype(int))
        known = self.settings.as_dict() | {"encoder": getattr(self._encoder, "name", "")}
        ids = corpus.table[["utterance", "speaker"]].to_numpy(np.str_)
        spans = np.concatenate(self.speech.spans)
        audio = [corpus.audio(row) for row in heard.tolist()]
        return Parts(folder, known, [ids, spans, self._lengths, *audio])

    def prepare(self, parts: Parts, progress: bool = False) -> None:
        """Read what fits into memory, and find the orders that do not change."""
        if self.rows.left_out:
            warnings.warn(
                f"{len(self.rows.left_out)} of {len(self.speech.corpus)} utterances are shorter "
                f"than a crop of {self.settings.crop_seconds:g} s and are left out: "
                f"{listed(self.rows.left_out)}.",
                stacklevel=3,
            )
        if self._lengths.sum() * 4 <= MEMORY:
            self.speech.keep()
        if self.settings.augmentation.strategy in ("ar", "sr"):
            orders = parts.get("orders", lambda: self._find_orders(progress))
            self.speech.augmentation.orders.update(_unpacked(orders))

    def _find_orders(self, progress: bool) -> Arrays:
        augmentation = self.speech.augmentation
        known = [u in augmentation.orders for u in self.speech.utterances]
        unknown = self.speech.corpus.select(~np.array(known))
        augmentation.prepare(unknown, self._words, progress=progress)
        own = [augmentation.orders.get(u, np.empty(0, int)) for u in self.speech.utterances]
        return {
            "utterances": np.array(self.speech.utterances, np.str_),
            "words": np.array([len(order) for order in own]),
            "orders": np.concatenate(own),
        }


def _unpacked(orders: Arrays) -> dict[str, np.ndarray]:
    each = np.split(orders["orders"], np.cumsum(orders["words"])[:-1])
    return {u: o for u, o in zip(orders["utterances"].tolist(), each, strict=True) if len(o)}


class Speech:
    """Crops of the utterances of a corpus, augmented; a data set of torch.

    Parameters
    ----------
    corpus, words
        The speech, and its words if the augmentation needs any.
    settings
        Length of a crop, and whether random orders are drawn again in every epoch.
    augmentation
        What is done to an utterance.
    """

    def __init__(
        self,
        corpus: Corpus,
        words: Segmentation | None,
        settings: AttackerSettings,
        augmentation: SegReConcat,
    ):
        self.corpus, self.augmentation = corpus, augmentation
        self.crop = round(settings.crop_seconds * RATE)
        self.redraw = settings.augmentation.redraw
        self.utterances = corpus.table["utterance"].to_list()
        names, self.labels = np.unique(
            corpus.table["speaker"].to_numpy(np.str_), return_inverse=True
        )
        self.speakers = names.tolist()
        self.spans = _spans(words, self.utterances)
        self._audio = None

    def keep(self) -> None:
        """Read all audio now, and keep it."""
        self._audio = [self.corpus.audio(row) for row in range(len(self.corpus))]

    def __getitem__(self, draw: Draw) -> tuple[np.ndarray, int]:
        samples = self.augmented(draw.utterance, draw.epoch)
        if len(samples) < self.crop:
            samples = np.resize(samples, self.crop)
        start = int(draw.place * (len(samples) - self.crop + 1))
        # A copy, so that the augmented utterance's memory serves the next one.
        return samples[start : start + self.crop].copy(), int(self.labels[draw.utterance])

    def augmented(self, number: int, epoch: int = 0) -> np.ndarray:
        """One utterance as it is trained on."""
        samples = self.corpus.audio(number) if self._audio is None else self._audio[number]
        return self.augmentation.augmented(
            samples, self.spans[number], self.utterances[number], epoch * self.redraw
        )

    def lengths(self, plain: np.ndarray) -> np.ndarray:
        """Samples of each utterance as trained, (n,), from those that it has."""
        if self.augmentation.strategy == "none":
            return plain
        half = plain
        if self.augmentation.boundaries == "tight":
            half = np.array([_tight(*own) for own in zip(self.spans, plain, strict=True)])
        return plain + half if self.augmentation.concatenate else half


def _tight(spans: np.ndarray, n_samples: int) -> int:
    """What is left of an utterance when pauses are cut."""
    return int((spans[:, 1] - spans[:, 0]).sum()) if len(spans) > 1 else int(n_samples)


def _spans(words: Segmentation | None, utterances: Iterable[str]) -> list[np.ndarray]:
    """Start and end of every word, utterance by utterance; none where words are not needed."""
    if words is None:
        return [np.empty((0, 2), np.int64) for _ in utterances]
    # One pass over the table: a large corpus has more than a million words.
    table = words.table[["start", "end"]].to_numpy()
    rows = words.table.groupby("utterance").indices
    return [table[rows.get(utterance, [])] for utterance in utterances]


def _places(corpus: Corpus):
    return corpus.table[["path", "start", "end"]].itertuples(index=False, name=None)


def _length(path: str, start: float, end: float) -> int:
    """Samples at 16 kHz, by the file's header."""
    if np.isnan(end):
        soundfile, _ = audio_packages()
        try:
            end = soundfile.info(path).duration
        except (OSError, RuntimeError) as error:
            raise VoicePrivacyError(f"{path} cannot be read ({error}).") from error
    return round((end - (0.0 if np.isnan(start) else start)) * RATE)


def _needed_words(
    corpus: Corpus, words: Segmentation | None, settings: AttackerSettings
) -> Segmentation | None:
    """The words, if the augmentation needs any; they must know all utterances."""
    strategy = settings.augmentation.strategy
    if strategy not in STRATEGIES:
        return None
    if words is None:
        raise VoicePrivacyError(
            f"strategy {strategy} rearranges words; give their times (voiceprivacy segment finds "
            "them)."
        )
    absent = sorted(set(corpus.table["utterance"]) - set(words.utterances))
    if absent:
        raise VoicePrivacyError(
            f"{len(absent)} utterances of {corpus.name} are not among those of {words.name}: "
            f"{listed(absent)}; segment this very corpus."
        )
    return words
