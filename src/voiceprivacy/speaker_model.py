"""A model of speaker embeddings, and what it takes to look like each of the papers' attackers.

Speaker `s`, session `k`, utterance `i`; every Greek letter and `g`, `q`, `z` is a standard
Gaussian, `e0` is the first axis::

    y[s, k, i] = c sqrt(d) e0 + z[s] + b exp(h g[s, k]) eta[s, k] + w exp(u q[s, k, i]) eps[s, k, i]
    x[s, k, i] = y / |y|

The voice `z[s]` lives in the first `d` coordinates (a fractional `d` gives the last of them a
smaller variance), everything else in all `D`.
"""

from dataclasses import dataclass, fields
from hashlib import blake2b

import numpy as np

from voiceprivacy.errors import VoicePrivacyError, listed

_BLOCK = 64  # speakers drawn at a time: their Gaussians stay in the processor's cache
_STREAMS = {"voice": 0, "A": 1, "B1": 2, "B2": 3}


@dataclass(frozen=True)
class SpeakerModel:
    """How an attacker's extractor places utterances on the unit sphere.

    All sizes are in units of the standard deviation of a voice along one of its dimensions.

    Parameters
    ----------
    d
        Dimensions in which voices differ, 0 < d <= D, not necessarily whole.
    w
        Median size of the noise of one utterance, per coordinate; >= 0.
    b
        Median size of the shift shared by a speaker's utterances of one session, per
        coordinate; >= 0.
    h
        Log standard deviation of that size over speakers and sessions: the tail; >= 0.
    c
        Length of the mean that all embeddings share, over sqrt(d); >= 0. At 0 scores are cosines
        of centred vectors; as it grows they rank like negative Euclidean distances, so noisy
        utterances score low against everybody.
    u
        Log standard deviation of the utterance noise's size: utterances of poor quality; >= 0.
    D
        Dimension of the embeddings.

    Raises
    ------
    VoicePrivacyError
        If a parameter is out of its range.

    Examples
    --------
    >>> SpeakerModel(d=12.7, w=0.546, b=0.117, h=0.354, c=0.271).D
    64
    """

    d: float
    w: float
    b: float
    h: float
    c: float
    u: float = 0.4
    D: int = 64

    def __post_init__(self):
        for field in fields(self):
            value = getattr(self, field.name)
            if not np.isfinite(value) or value < 0:
                raise VoicePrivacyError(
                    f"SpeakerModel: {field.name} = {value}, expected a finite number >= 0."
                )
        if self.D < 1 or self.D % 1 or not 0 < self.d <= self.D:
            raise VoicePrivacyError(
                f"SpeakerModel: d = {self.d} speaker dimensions in D = {self.D}; "
                "expected a whole D >= 1 and 0 < d <= D."
            )

    @property
    def voice_scale(self) -> np.ndarray:
        """Standard deviation of a voice along each coordinate, shape (D,).

        >>> SpeakerModel(d=1.25, w=1, b=0, h=0, c=0, D=3).voice_scale.tolist()
        [1.0, 0.5, 0.0]
        """
        return np.sqrt(np.clip(self.d - np.arange(self.D), 0, 1))


# Points on ridges of nearly equal fit, not estimates of physical quantities: w scales like
# sqrt(d), b trades with h, and c with h for the weak attackers. What they were fitted to is
# listed by `voiceprivacy.simulation.fitted_and_predicted`.
PRESETS = {
    "original": SpeakerModel(d=50.4, w=1.471, b=0.139, h=1.264, c=0.97),
    "informed": SpeakerModel(d=31.7, w=1.284, b=0.175, h=0.876, c=0.716),
    "semi_informed": SpeakerModel(d=40.0, w=3.008, b=0.452, h=1.247, c=3.30),
    "ignorant": SpeakerModel(d=37.5, w=3.35, b=0.906, h=1.189, c=4.23),
    "si_semi_informed": SpeakerModel(d=12.7, w=0.546, b=0.117, h=0.354, c=0.271, u=0.3),
}


def preset(attacker: str) -> SpeakerModel:
    """Return the fitted model of an attacker.

    Raises
    ------
    VoicePrivacyError
        If there is none of that name.

    Examples
    --------
    >>> preset("informed").d
    31.7
    """
    if attacker not in PRESETS:
        raise VoicePrivacyError(
            f"There is no simulated attacker {attacker!r}; expected one of "
            f"{listed(PRESETS, len(PRESETS))}."
        )
    return PRESETS[attacker]


def session_vectors(
    model: SpeakerModel, speakers: np.ndarray, session: str, n: int, seed: int
) -> np.ndarray:
    """Return unit embeddings of `n` utterances of each speaker in one session.

    Parameters
    ----------
    speakers
        Ids, text, shape (S,).
    session
        "A", "B1" or "B2".

    Returns
    -------
    ndarray
        Shape (S, n, D), float32. Row (s, i) depends on the model, the seed, the speaker's id, the
        session and i alone, to rounding; models of equal D share all Gaussians.

    Examples
    --------
    >>> x = session_vectors(preset("informed"), np.array(["a", "b"]), "A", 3, seed=0)
    >>> bool((x[1:, :2] == session_vectors(preset("informed"), np.array(["b"]), "A", 2, 0)).all())
    True
    """
    vectors = np.empty((len(speakers), n, model.D), np.float32)
    for start in range(0, len(speakers), _BLOCK):
        block = slice(start, start + _BLOCK)
        vectors[block] = _block_vectors(model, speakers[block], session, n, seed)
    return vectors


def _block_vectors(model, speakers, session, n, seed):
    centre = _gaussians(seed, speakers, "voice", (model.D,))
    centre *= model.voice_scale.astype(np.float32)
    centre[:, 0] += model.c * np.sqrt(model.d)
    # Row 0 of a speaker is the session (its log size g, then its direction eta), the others are
    # the utterances (q, then eps): asking for more utterances only adds rows.
    draws = _gaussians(seed, speakers, session, (n + 1, model.D + 1))
    centre += model.b * np.exp(model.h * draws[:, 0, :1]) * draws[:, 0, 1:]
    vectors = model.w * np.exp(model.u * draws[:, 1:, :1]) * draws[:, 1:, 1:] + centre[:, None]
    vectors /= np.sqrt(np.einsum("sid,sid->si", vectors, vectors))[..., None]
    return vectors


def _gaussians(seed: int, speakers: np.ndarray, purpose: str, shape: tuple) -> np.ndarray:
    """One array of standard Gaussians a speaker, from a counter-based generator keyed by its id."""
    philox = np.random.Philox(0)
    generator, state = np.random.Generator(philox), philox.state
    state["state"]["counter"] = np.array([0, 0, 0, _STREAMS[purpose]], dtype=np.uint64)
    draws = np.empty((len(speakers), *shape), np.float32)
    for speaker, out in zip(speakers, draws, strict=True):
        # 128 bits, because under a 32-bit hash two of 22,024 speakers might well share a voice.
        key = blake2b(f"{int(seed)} {speaker}".encode(), digest_size=16).digest()
        state["state"]["key"] = np.frombuffer(key, dtype="<u8")
        philox.state = state
        generator.standard_normal(out=out, dtype=np.float32)
    return draws
