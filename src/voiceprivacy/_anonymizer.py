"""What every anonymizer is: one method to override, checked output, chance drawn by id."""

import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from voiceprivacy._audio import RATE
from voiceprivacy.errors import VoicePrivacyError
from voiceprivacy.randomness import stream

if TYPE_CHECKING:
    from voiceprivacy.corpora import Corpus

PEAK = 32766 / 32768
LEVELS = ("utterance", "speaker")
# Half a step of 16 bits.
INAUDIBLE = 2.0**-16
# A vocoder may round to its own frames; word times stay right to within this.
TOLERANCE_S = 0.05


class BaseAnonymizer:
    """Something that makes speech unlike its speaker. Override `anonymize`, then call the object.

    Attributes
    ----------
    name
        What tables and files call it; the class's name unless told.
    level
        Whether chance is drawn anew for each ``"utterance"`` or once a ``"speaker"``.
    seed
        Seed of all chance.

    Notes
    -----
    With several workers `anonymize` is called from several threads at once.
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
            Whose and which it is. A method that does not need them leaves them out.

        Returns
        -------
        array
            Samples at 16 kHz, `time_factor` times as many (to within 50 ms).
        """
        raise NotImplementedError(f"{type(self).__name__} does not define anonymize")

    def time_factor(self, speaker: str = "", utterance: str = "") -> float:
        """How many times longer an utterance becomes; word times are multiplied by it."""
        return 1.0

    def prepared(self, corpus: "Corpus") -> "BaseAnonymizer":
        """Return the anonymizer of this very corpus; itself, unless results depend on the whole."""
        return self

    def narrowed(self, utterance: str) -> "BaseAnonymizer":
        """Return what is needed of a prepared anonymizer for one utterance."""
        return self

    def parameters(self) -> dict[str, object]:
        """Return everything that results depend on: what was set on this object, and the seed."""
        return {"seed": self.seed, "level": self.level} | vars(self)

    def chance(self, *purpose: str) -> np.random.Generator:
        """Return the random stream of one purpose under this anonymizer's seed and name."""
        return stream(self.seed, self.name, *purpose)

    def __call__(
        self, samples: np.ndarray, *, speaker: str = "", utterance: str = ""
    ) -> np.ndarray:
        """Anonymize one utterance and check what comes back.

        Returns
        -------
        array
            Float32, one dimension. Silence (no sample as large as half a step of 16 bits) stays
            silence, without asking `anonymize`.

        Raises
        ------
        VoicePrivacyError
            If `anonymize` returns anything but one dimension of finite floats of the right length.
        """
        known = {"speaker": speaker, "utterance": utterance}
        expected = round(len(samples) * self.time_factor(**known))
        if np.abs(samples).max(initial=0) < INAUDIBLE:
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


@dataclass(frozen=True)
class Drawn(BaseAnonymizer):
    """An anonymizer with one number drawn uniformly for each utterance, or for each speaker.

    Parameters
    ----------
    lowest, highest
        Limits of the number, positive.
    level
        One number an ``"utterance"`` or a ``"speaker"``; then ``-speaker`` ends the name.
    seed
        Seed of all chance.
    """

    lowest: float
    highest: float
    level: str = "utterance"
    seed: int = 0
    kind: ClassVar[str]

    def __post_init__(self):
        if not 0 < self.lowest <= self.highest < np.inf:
            raise VoicePrivacyError(
                f"{self.kind} cannot draw between {self.lowest} and {self.highest}; "
                "expected 0 < lowest <= highest."
            )
        if self.level not in LEVELS:
            raise VoicePrivacyError(f"level {self.level!r} is unknown; expected one of {LEVELS}.")

    @property
    def name(self) -> str:
        return self.kind if self.level == "utterance" else f"{self.kind}-speaker"

    def drawn(self, speaker: str = "", utterance: str = "") -> float:
        """Return the number of an utterance."""
        return self.between(self.lowest, self.highest, "drawn", speaker, utterance)

    def between(
        self, lowest: float, highest: float, purpose: str, speaker: str, utterance: str
    ) -> float:
        """Draw for one purpose, for this utterance or this speaker as `level` says."""
        whose = speaker if self.level == "speaker" else utterance
        return float(self.chance(purpose, whose).uniform(lowest, highest))


def at_peak(samples: np.ndarray) -> np.ndarray:
    """Scale samples so that the largest is just short of full scale."""
    peak = np.abs(samples).max()
    return samples * (PEAK / peak) if peak else samples
