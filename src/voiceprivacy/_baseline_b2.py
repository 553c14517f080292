"""Baseline B2 of the VoicePrivacy Challenge 2024 to the letter, its coefficients included."""

import hashlib
from collections.abc import Iterable, Mapping
from copy import copy
from dataclasses import dataclass, field

import numpy as np

from voiceprivacy import _lpc
from voiceprivacy._anonymizer import BaseAnonymizer, Drawn
from voiceprivacy.corpora import Corpus
from voiceprivacy.errors import VoicePrivacyError

KEY = "VPC2024"
LARGEST, STEPS = 32766, 32768


@dataclass(frozen=True)
class BaselineB2(Drawn):
    """B2 exactly as the VoicePrivacy Challenge 2024 defines it, its coefficients included.

    Source: ``anonymise_dir_mcadams_rand_seed.py`` and ``configs/anon_mcadams.yaml`` of the
    challenge's recipe. As `voiceprivacy.anonymizers.McAdams`, but what follows the last full frame
    is silent, samples are cut to 16 bits, and coefficients are the challenge's: at level
    ``"utterance"`` the k-th utterance of every set gets the k-th number of one stream; at level
    ``"speaker"`` each speaker has a stream of its own, and gets its first number.

    Parameters
    ----------
    lowest, highest
        Limits of the coefficient.
    seed
        0 for the challenge's own streams, anything else for others.

    Raises
    ------
    VoicePrivacyError
        If an utterance's place in its set is asked for before `prepared` has told it.

    Notes
    -----
    An utterance's place is the one that its id has among the sorted ids of the set, as in a
    ``wav.scp`` that Kaldi sorted; what was skipped while reading keeps its place. Silence, which
    the challenge turns into a full-scale constant, stays silence; so do utterances shorter than a
    frame, at which the challenge's code fails.

    Examples
    --------
    >>> BaselineB2().stream(3).round(8).tolist()
    [0.68758807, 0.56747103, 0.75924141]
    """

    lowest: float = 0.5
    highest: float = 0.9
    kind = "baseline_b2"
    _coefficients: Mapping[str, float] | None = field(
        default=None, init=False, repr=False, compare=False
    )
    _set: str = field(default="", init=False, repr=False, compare=False)

    def stream(self, count: int, key: str = KEY) -> np.ndarray:
        """Return the first coefficients of a key's stream, (count,)."""
        number = _number(key)
        rng = np.random.default_rng([number, self.seed] if self.seed else number)
        return rng.uniform(self.lowest, self.highest, count)

    def prepared(self, corpus: Corpus) -> BaseAnonymizer:
        """Return the same, knowing the place of each utterance of a set."""
        if self.level == "speaker":
            return self
        ids = sorted({*corpus.table["utterance"], *corpus.skipped["utterance"]})
        coefficients = dict(zip(ids, self.stream(len(ids)).tolist(), strict=True))
        return self._knowing(coefficients, _digest(ids))

    def narrowed(self, utterance: str) -> BaseAnonymizer:
        """Return the same, knowing one utterance only: little to send to another process."""
        if self._coefficients is None:
            return self
        return self._knowing({utterance: self.drawn("", utterance)}, self._set)

    def parameters(self) -> dict[str, object]:
        shown = {key: value for key, value in vars(self).items() if not key.startswith("_")}
        return shown | ({"utterances": self._set} if self._set else {})

    def drawn(self, speaker: str = "", utterance: str = "") -> float:
        if self.level == "speaker":
            return float(self.stream(1, speaker)[0])
        if utterance not in (self._coefficients or {}):
            raise VoicePrivacyError(
                f"{self.name}: the coefficient of {utterance!r} depends on its place among the "
                "utterances of its set; call prepared(corpus) first, as `anonymized` does, or take "
                "level='speaker'."
            )
        return self._coefficients[utterance]

    def anonymize(self, samples, *, speaker="", utterance=""):
        coefficient = self.drawn(speaker, utterance)
        out = np.zeros(len(samples))
        whole = len(samples) - (len(samples) - _lpc.FRAME) % _lpc.HOP
        if whole < _lpc.FRAME:
            return out
        out[:whole] = _lpc.mcadams(samples[:whole], coefficient)
        # Divided first, so that the largest sample is exactly LARGEST before it is cut.
        return np.trunc(out / np.abs(out).max() * LARGEST) / STEPS

    def _knowing(self, coefficients: Mapping[str, float], digest: str) -> BaseAnonymizer:
        other = copy(self)
        object.__setattr__(other, "_coefficients", coefficients)
        object.__setattr__(other, "_set", digest)
        return other


def _number(text: str) -> int:
    """What the challenge makes of a text to seed a stream: 32 bits of its SHA-256."""
    return int(hashlib.sha256(text.encode()).hexdigest()[:8], 16)


def _digest(ids: Iterable[str]) -> str:
    """A short name for a set of ids: with another set, files made before are of no use."""
    return hashlib.sha256("\n".join(ids).encode()).hexdigest()[:16]
