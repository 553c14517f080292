"""Anonymizers: one small interface, and simple systems to try an attacker on.

Every system here is plain signal processing, is named for what it does, and stands in for no
particular published one, save `McAdams`, the method of baseline B2 of the VoicePrivacy Challenge,
and `BaselineB2`, that baseline to the letter. Each makes samples of a peak just below full scale,
as B2 does. Your own takes a few lines:

>>> import numpy as np
>>> class Hum(BaseAnonymizer):
...     def anonymize(self, audio_data):
...         loudness = np.sqrt(np.convolve(audio_data**2, np.ones(160) / 160, "same"))
...         return loudness * np.sin(0.06 * np.arange(len(audio_data)))
>>> hum = Hum()
>>> hum.name, hum(np.ones(16_000)).shape
('Hum', (16000,))

`voiceprivacy.anonymize.anonymized` runs any of them over a corpus.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from voiceprivacy import _lpc, _registry, _vocoders
from voiceprivacy._anonymizer import PEAK, BaseAnonymizer, Drawn, at_peak
from voiceprivacy._audio import RATE, audio_packages
from voiceprivacy._baseline_b2 import BaselineB2

__all__ = [
    "ANONYMIZERS", "PEAK", "STAND_INS", "BaseAnonymizer", "BaselineB2", "Codebook", "Drawn",
    "Hybrid", "Identity", "McAdams", "NoiseVocoder", "Resample", "Whisper", "by_name",
]  # fmt: skip


@dataclass(frozen=True)
class Identity(BaseAnonymizer):
    """Speech as it is."""

    seed: int = 0
    name = "identity"

    def anonymize(self, samples):
        return samples


@dataclass(frozen=True)
class Resample(Drawn):
    """Played faster or slower: pitch, formants and tempo change together.

    Parameters
    ----------
    lowest, highest
        Limits of the speed; 2 is an octave up in half the time.

    Examples
    --------
    >>> twice = Resample(2.0, 2.0)
    >>> twice(np.ones(16_000)).shape, twice.time_factor()
    ((8000,), 0.5)
    """

    lowest: float = 0.8
    highest: float = 1.25
    kind = "resample"

    def time_factor(self, speaker="", utterance=""):
        return 1 / self.drawn(speaker, utterance)

    def anonymize(self, samples, *, speaker="", utterance=""):
        return at_peak(_at_speed(samples, self.drawn(speaker, utterance)))


@dataclass(frozen=True)
class McAdams(Drawn):
    """Formants moved: angles of LPC poles are raised to a power, the McAdams coefficient.

    Baseline B2 of the VoicePrivacy Challenge 2024 (anonymise_dir_mcadams_rand_seed.py,
    ``anonym_v2``): order 20 by Burg's method, frames of 20 ms every 10 ms, the residual kept.

    Parameters
    ----------
    lowest, highest
        Limits of the coefficient; 1 moves nothing, 0.5 a lot.

    Notes
    -----
    B2 leaves what follows the last full frame silent; here it is filled up and kept. Output is
    scaled to a peak of 32766/32768 as in B2; there silence becomes a full-scale constant, here it
    stays silence. Coefficients are drawn by id and not in the order of a list of files;
    `BaselineB2` draws them as the challenge does.
    """

    lowest: float = 0.5
    highest: float = 0.9
    kind = "mcadams"

    def anonymize(self, samples, *, speaker="", utterance=""):
        return at_peak(_lpc.mcadams(samples, self.drawn(speaker, utterance)))


@dataclass(frozen=True)
class Whisper(Resample):
    """No voice: noise through formants that are moved as by `McAdams`, at some speed.

    The coefficient lies between 0.6 and 0.9.

    Parameters
    ----------
    lowest, highest
        Limits of the speed.
    """

    kind = "whisper"

    def anonymize(self, samples, *, speaker="", utterance=""):
        coefficient = self.between(0.6, 0.9, "coefficient", speaker, utterance)
        frames = _lpc.windowed(samples)
        envelopes = _lpc.predictors(frames)
        noise = self.chance("noise", utterance).standard_normal(frames.shape)
        breath = _lpc.excited(noise, _lpc.bent(envelopes, coefficient))
        whispered = _lpc.overlapped(_lpc.as_loud(breath, frames), len(samples))
        return at_peak(_at_speed(whispered, self.drawn(speaker, utterance)))


@dataclass(frozen=True)
class Codebook(Drawn):
    """Each frame becomes the nearest of 64 idealised sounds, in a monotonous voice.

    The mean spectrum is taken off first; the pitch lies between 90 and 220 Hz.

    Parameters
    ----------
    lowest, highest
        Limits of the factor of the sounds' frequencies: larger for a shorter vocal tract.
    """

    lowest: float = 0.85
    highest: float = 1.2
    kind = "codebook"

    def anonymize(self, samples, *, speaker="", utterance=""):
        pitch = self.between(90, 220, "pitch", speaker, utterance)
        noise = self.chance("noise", utterance).standard_normal(len(samples))
        gains = partial(_vocoders.codebook_gains, stretch=self.drawn(speaker, utterance))
        return at_peak(_vocoders.refiltered(samples, _vocoders.voice(pitch, noise), gains))


@dataclass(frozen=True)
class NoiseVocoder(Resample):
    """Three bands of noise, about as loud as the speech is there, at some speed.

    Of each band only the slow changes of loudness are kept, more or less marked, about a mean that
    is drawn. The least of the speaker is left here, yet not nothing.

    Parameters
    ----------
    lowest, highest
        Limits of the speed.
    """

    lowest: float = 0.7
    highest: float = 1.4
    kind = "noise-vocoder"

    def anonymize(self, samples, *, speaker="", utterance=""):
        whose = speaker if self.level == "speaker" else utterance
        gains = partial(_vocoders.band_gains, style=_vocoders.style(self.chance("style", whose)))
        noise = self.chance("noise", utterance).standard_normal(len(samples))
        voice = _vocoders.refiltered(samples, noise, gains)
        return at_peak(_at_speed(voice, self.drawn(speaker, utterance)))


@dataclass(frozen=True)
class Hybrid(BaseAnonymizer):
    """One of two anonymizers, by a fair coin for each utterance.

    Parameters
    ----------
    heads, tails
        Their names.
    """

    heads: str = "whisper"
    tails: str = "codebook"
    seed: int = 0
    name = "hybrid"

    def __post_init__(self):
        by_name(self.heads), by_name(self.tails)

    def tossed(self, utterance: str = "") -> BaseAnonymizer:
        """Return the anonymizer of an utterance."""
        name = self.heads if self.chance("coin", utterance).integers(2) else self.tails
        return by_name(name, seed=self.seed)

    def time_factor(self, speaker="", utterance=""):
        return self.tossed(utterance).time_factor(speaker, utterance)

    def anonymize(self, samples, *, speaker="", utterance=""):
        return self.tossed(utterance)(samples, speaker=speaker, utterance=utterance)


def _at_speed(samples: np.ndarray, speed: float) -> np.ndarray:
    """Resample to play `speed` times as fast: round(n / speed) samples."""
    _, soxr = audio_packages()
    return soxr.resample(np.asarray(samples, np.float32), RATE * speed, RATE)


ANONYMIZERS: dict[str, Callable[..., BaseAnonymizer]] = {
    "identity": Identity,
    "resample": Resample,
    "mcadams-speaker": partial(McAdams, level="speaker"),
    "mcadams": McAdams,
    "whisper": Whisper,
    "codebook": Codebook,
    "hybrid": Hybrid,
    "noise-vocoder": NoiseVocoder,
    "baseline_b2": BaselineB2,
    "baseline_b2-speaker": partial(BaselineB2, level="speaker"),
}
"""What makes the anonymizer of each name."""

STAND_INS = tuple(
    name for name in ANONYMIZERS if name != "identity" and not name.startswith("baseline_b2")
)
"""Seven systems of very different strength; the last is a control that leaves hardly anything."""


def by_name(name: str, **parameters: object) -> BaseAnonymizer:
    """Return the anonymizer of this name, with some of its parameters set.

    Raises
    ------
    VoicePrivacyError
        If there is no such anonymizer, or it has no such parameter or not of this kind.

    Examples
    --------
    >>> by_name("mcadams", lowest=0.6, seed=3)
    McAdams(lowest=0.6, highest=0.9, level='utterance', seed=3)
    """
    return _registry.made(ANONYMIZERS, name, parameters)


def settings(name: str) -> dict[str, object]:
    """Return the parameters of an anonymizer and their defaults.

    Examples
    --------
    >>> settings("mcadams-speaker")
    {'lowest': 0.5, 'highest': 0.9, 'level': 'speaker', 'seed': 0}
    """
    return _registry.settings(ANONYMIZERS[name])
