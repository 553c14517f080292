"""Anonymizers: one small interface, and simple systems to try an attacker on.

Every one here is plain signal processing and stands in for no particular published system, save
McAdams, which is baseline B2 of the VoicePrivacy Challenge. Write your own in a few lines:

>>> class Hum(BaseAnonymizer):
...     def anonymize(self, audio_data):
...         loudness = np.sqrt(np.convolve(audio_data**2, np.ones(160) / 160, "same"))
...         return loudness * np.sin(0.06 * np.arange(len(audio_data)))
>>> hum = Hum()
>>> hum(np.ones(16_000)).shape, hum.name
((16000,), 'Hum')

`voiceprivacy.anonymize.anonymized` runs any of them over a corpus.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from voiceprivacy import _lpc
from voiceprivacy._audio import RATE
from voiceprivacy.errors import VoicePrivacyError, listed
from voiceprivacy.randomness import stream

PEAK = 32766 / 32768
LEVELS = ("utterance", "speaker")
# A vocoder may round to its own frames; word times stay right to within this.
TOLERANCE_S = 0.05


class BaseAnonymizer:
    """Something that makes speech unlike its speaker. Override `anonymize`.

    Attributes
    ----------
    name
        What tables and files call it; the class's name unless told.
    level
        Whether chance is drawn anew for each ``"utterance"`` or once a ``"speaker"``.
    seed
        Seed of all chance.
    """

    level = "utterance"
    seed = 0

    @property
    def name(self) -> str:
        return type(self).__name__

    def anonymize(self, samples: np.ndarray, *, speaker: str = "", utterance: str = ""):
        """Return the anonymized samples.

        Parameters
        ----------
        samples
            One utterance, float32, mono, 16 kHz.
        speaker, utterance
            Whose and which it is. A method that needs neither may leave them out of its signature.

        Returns
        -------
        array
            Samples at 16 kHz, `time_factor` times as many (to within 50 ms).
        """
        raise NotImplementedError(f"{type(self).__name__} does not define anonymize")

    def time_factor(self, speaker: str = "", utterance: str = "") -> float:
        """How many times longer an utterance becomes; word times are multiplied by it."""
        return 1.0

    def chance(self, speaker: str, utterance: str) -> np.random.Generator:
        """Return the random stream of an utterance, or of its speaker, as `level` says."""
        return stream(self.seed, self.name, speaker if self.level == "speaker" else utterance)

    def parameters(self) -> dict[str, object]:
        """Return everything that results depend on: what was set on this object, and the seed."""
        return {"seed": self.seed, "level": self.level} | vars(self)

    def __call__(
        self, samples: np.ndarray, *, speaker: str = "", utterance: str = ""
    ) -> np.ndarray:
        """Anonymize one utterance and check what comes back.

        Returns
        -------
        array
            Float32, one dimension. Digital silence and its length are kept without asking
            `anonymize`.

        Raises
        ------
        VoicePrivacyError
            If `anonymize` returns anything but one dimension of finite floats of the right length.
        """
        known = {"speaker": speaker, "utterance": utterance}
        expected = round(len(samples) * self.time_factor(**known))
        if not np.any(samples):
            return np.zeros(expected, np.float32)
        taken = inspect.signature(self.anonymize).parameters
        told = {key: value for key, value in known.items() if key in taken}
        out = np.asarray(self.anonymize(samples, **told))
        fault = _fault(out, expected)
        if fault:
            raise VoicePrivacyError(
                f"{type(self).__name__}.anonymize returned {fault} for utterance {utterance!r} "
                f"({len(samples)} samples); expected {expected} finite floats at {RATE} Hz."
            )
        return out.astype(np.float32)


def _fault(out: np.ndarray, expected: int) -> str:
    """What is wrong with an anonymizer's output; empty if nothing is."""
    if out.ndim != 1 or not np.issubdtype(out.dtype, np.floating):
        return f"shape {out.shape} of {out.dtype}"
    if not np.isfinite(out).all():
        return f"{np.count_nonzero(~np.isfinite(out))} values that are not finite"
    if not len(out) or abs(len(out) - expected) > TOLERANCE_S * RATE:
        return f"{len(out)} samples"
    return ""


def at_peak(samples: np.ndarray) -> np.ndarray:
    """Scale samples so that the largest is just short of full scale, as B2 does."""
    peak = np.abs(samples).max()
    return samples * (PEAK / peak) if peak else samples


@dataclass(frozen=True)
class Identity(BaseAnonymizer):
    """Unchanged speech."""

    seed: int = 0
    name = "identity"

    def anonymize(self, samples, *, speaker="", utterance=""):
        return samples


@dataclass(frozen=True)
class McAdams(BaseAnonymizer):
    """Formants moved: angles of LPC poles raised to a power (McAdams coefficient).

    Baseline B2 of the VoicePrivacy Challenge 2024 (anonymise_dir_mcadams_rand_seed.py,
    ``anonym_v2``): order 20 by Burg's method, frames of 20 ms every 10 ms, the residual kept.

    Parameters
    ----------
    lowest, highest
        The coefficient is uniform between these; 1 changes nothing, 0.5 a lot.
    level
        One coefficient an ``"utterance"`` or a ``"speaker"``.
    seed
        Seed of the coefficients.

    Notes
    -----
    B2 leaves what follows the last full frame silent; here it is filled up and kept. Output is
    scaled to a peak of 32766/32768, as in B2; there silence becomes a full-scale constant,
    here it stays silence. Coefficients are drawn by id and not in the order of a list of files.
    """

    lowest: float = 0.5
    highest: float = 0.9
    level: str = "utterance"
    seed: int = 0

    def __post_init__(self):
        if not 0 < self.lowest <= self.highest:
            raise VoicePrivacyError(
                f"McAdams coefficients from {self.lowest} to {self.highest}; "
                "expected 0 < lowest <= highest, such as 0.5 and 0.9."
            )
        _check_level(self.level)

    @property
    def name(self) -> str:
        return "mcadams" if self.level == "utterance" else "mcadams-speaker"

    def coefficient(self, speaker: str = "", utterance: str = "") -> float:
        """Return the coefficient of an utterance."""
        return self.chance(speaker, utterance).uniform(self.lowest, self.highest)

    def anonymize(self, samples, *, speaker="", utterance=""):
        frames = _lpc.windowed(samples)
        envelopes = _lpc.predictors(frames)
        moved = _lpc.bent(envelopes, self.coefficient(speaker, utterance))
        voice = _lpc.excited(_lpc.residuals(frames, envelopes), moved)
        return at_peak(_lpc.overlapped(voice, len(samples)))


def _check_level(level: str) -> None:
    if level not in LEVELS:
        raise VoicePrivacyError(f"level {level!r} is unknown; expected one of {LEVELS}.")


ANONYMIZERS: dict[str, Callable[..., BaseAnonymizer]] = {
    "identity": Identity,
    "mcadams": McAdams,
    "mcadams-speaker": partial(McAdams, level="speaker"),
}


def by_name(name: str, **parameters: object) -> BaseAnonymizer:
    """Return the anonymizer of this name, with some of its parameters set.

    Raises
    ------
    VoicePrivacyError
        If there is no such anonymizer, or it has no such parameter.

    Examples
    --------
    >>> by_name("mcadams", lowest=0.6, seed=3)
    McAdams(lowest=0.6, highest=0.9, level='utterance', seed=3)
    """
    if name not in ANONYMIZERS:
        raise VoicePrivacyError(
            f"there is no anonymizer {name!r}; there are: {', '.join(ANONYMIZERS)}."
        )
    known = inspect.signature(ANONYMIZERS[name]).parameters
    unknown = [parameter for parameter in parameters if parameter not in known]
    if unknown:
        raise VoicePrivacyError(
            f"anonymizer {name!r} has no parameter {listed(unknown)}; it has: "
            f"{', '.join(known) or 'none'}."
        )
    return ANONYMIZERS[name](**parameters)
