"""Which crops an attacker trains on, and in which order.

Everything random is a function of the seed and of the number of the step, so that a run that was
interrupted goes on as if it had not been.
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd

from voiceprivacy._audio import RATE
from voiceprivacy.attacker_settings import AttackerSettings
from voiceprivacy.corpora import Corpus
from voiceprivacy.errors import VoicePrivacyError
from voiceprivacy.randomness import stream


class Draw(NamedTuple):
    """One crop: whose, in which epoch, and from where, 0 (the beginning) to 1 (the end)."""

    utterance: int
    epoch: int
    place: float


@dataclass(frozen=True)
class Rows:
    """Which utterance each row is a crop of, for training and for development, and who is left.

    Attributes
    ----------
    train, dev
        An utterance's number, once for every full crop in it.
    left_out
        Utterances without a row, because they are shorter than a crop.
    """

    train: np.ndarray
    dev: np.ndarray
    left_out: list[str]


def make_rows(corpus: Corpus, lengths: np.ndarray, settings: AttackerSettings) -> Rows:
    """Give every utterance its rows, and hold back a share of every speaker's for development.

    Parameters
    ----------
    corpus
        All speech.
    lengths
        Samples of each utterance as trained, (n,).
    settings
        Length of a crop, what becomes of shorter ones, share and seed.

    Raises
    ------
    VoicePrivacyError
        If too few speakers, utterances or rows are left.
    """
    counts = (lengths // round(settings.crop_seconds * RATE)).astype(int)
    if settings.short == "repeat":
        counts = np.maximum(counts, 1)
    speakers = corpus.table["speaker"].to_numpy(object)
    usable = np.flatnonzero(counts)
    held = np.zeros(len(corpus), bool)
    for speaker, own in pd.Series(usable).groupby(speakers[usable]):
        held[_held_back(own.to_numpy(), settings, str(speaker))] = True
    dev = held[usable]
    train, dev = (np.repeat(own, counts[own]) for own in (usable[~dev], usable[dev]))
    left_out = corpus.table["utterance"][counts == 0].to_list()
    _check_rows(corpus, speakers[train], dev, left_out, settings)
    return Rows(train, dev, left_out)


def _held_back(own: np.ndarray, settings: AttackerSettings, speaker: str) -> np.ndarray:
    """The development utterances among one speaker's: the share, at least one of two or more."""
    n = max(round(settings.dev_share * len(own)), len(own) > 1)
    return stream(settings.seed, "dev", speaker).permutation(own)[: min(n, len(own) - 1)]


def _check_rows(corpus, speakers, dev, left_out, settings) -> None:
    short = f" ({len(left_out)} of {len(corpus)} utterances are shorter and are left out)"
    where = f"{corpus.name}, in crops of {settings.crop_seconds:g} s{short if left_out else ''}"
    found = len(set(speakers))
    if found < 2:
        raise VoicePrivacyError(
            f"{where}: {found} speakers to train on; an attacker learns to tell two or more apart."
        )
    if len(speakers) < settings.batch_size:
        raise VoicePrivacyError(
            f"{where}: {len(speakers)} rows to train on, fewer than a batch of "
            f"{settings.batch_size}; give more speech, or settings with a smaller batch_size."
        )
    if not len(dev):
        raise VoicePrivacyError(
            f"{where}: no speaker has two utterances, so none can be held back for development."
        )


def batches(rows: np.ndarray, size: int, seed: int, first: int = 0) -> Iterator[list[Draw]]:
    """Yield the crops of step `first`, counted from 0, and of all that follow, without end.

    Every epoch goes through all rows in another order; what does not fill a batch at its end is
    left out.
    """
    per_epoch = len(rows) // size
    for epoch in itertools.count(first // per_epoch):
        order = stream(seed, "rows", epoch).permutation(rows)
        for k in range(first % per_epoch if epoch == first // per_epoch else 0, per_epoch):
            places = stream(seed, "crops", epoch, k).random(size)
            chosen = order[k * size : (k + 1) * size]
            yield [Draw(int(u), epoch, float(p)) for u, p in zip(chosen, places, strict=True)]


def fixed_crops(rows: np.ndarray, seed: int) -> list[Draw]:
    """One crop a row, always the same, of the utterances as the first epoch has them."""
    places = stream(seed, "development crops").random(len(rows))
    return [Draw(int(u), 0, float(p)) for u, p in zip(rows, places, strict=True)]
