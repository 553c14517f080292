"""The two legal metrics on embeddings, by the names of the framework's documentation (V25).

One test conversation, one enrolment and some calibration conversations of each speaker go in. For
utterances that are still to be divided into conversations, see `voiceprivacy.singling_out` and
`voiceprivacy.linkability`.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from voiceprivacy.conversation_trials import draw_trials
from voiceprivacy.conversations import check_counts
from voiceprivacy.embeddings import Embeddings
from voiceprivacy.errors import VoicePrivacyError
from voiceprivacy.given_conversations import isolate_given
from voiceprivacy.linkability import linkability

Vectors = Embeddings | Mapping[str, np.ndarray] | np.ndarray


class Measured(NamedTuple):
    """A metric, its interval, what chance would give, and how many speakers it rests on."""

    value: float
    low: float
    high: float
    chance: float
    n_speakers: int
    targets: int
    left_out: int
    """Speakers who lack one of the kinds of speech."""


class SinglingOutMetric:
    """How often an attacker isolates exactly one speaker (V25).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> voices = rng.normal(size=(30, 8))
    >>> spoken = [voices + 0.1 * rng.normal(size=voices.shape) for _ in range(5)]
    >>> SinglingOutMetric().compute(
    ...     test_embeddings=spoken[0],
    ...     enrollment_embeddings=spoken[1],
    ...     calibration_embeddings=np.stack(spoken[2:], axis=1),
    ... )
    1.0
    """

    def compute(
        self,
        test_embeddings: Vectors,
        enrollment_embeddings: Vectors,
        calibration_embeddings: Vectors,
    ) -> float:
        """Return the probability alone; see `evaluate`."""
        return self.evaluate(test_embeddings, enrollment_embeddings, calibration_embeddings).value

    def evaluate(
        self,
        test_embeddings: Vectors,
        enrollment_embeddings: Vectors,
        calibration_embeddings: Vectors,
        *,
        n_speakers: int | None = None,
        draws: int = 5,
        confidence: float = 0.95,
        seed: int = 0,
    ) -> Measured:
        """Measure singling out among all speakers, or among `n_speakers` drawn at random.

        Parameters
        ----------
        test_embeddings, enrollment_embeddings, calibration_embeddings
            `Embeddings`; a mapping from speaker to vectors, (d,) or (k, d); or arrays of shape
            (speakers, d) or (speakers, k, d) whose rows are the same speakers in all three. Several
            test or enrolment vectors of a speaker are averaged; each calibration vector is a
            conversation of its own.
        n_speakers
            N, at most the speakers with test and calibration vectors.
        draws
            Random sets of N speakers for each target, if N is not all of them.

        Raises
        ------
        VoicePrivacyError
            If shapes or speakers do not fit together.

        Notes
        -----
        With one division into test and calibration conversations the interval knows nothing of the
        chance in it; `voiceprivacy.singling_out.isolate` divides ten times. ``chance`` is the exact
        level of a useless attacker, see `voiceprivacy.reference.chance_level`.
        """
        check_counts(draws=draws)
        test, enrolment, calibration = _parts(
            test=test_embeddings, enrollment=enrollment_embeddings,
            calibration=calibration_embeddings,
        )  # fmt: skip
        everybody = len(np.intersect1d(test.speakers, calibration.speakers))
        found = isolate_given(
            _averaged(test), calibration, enrolment,
            sizes=None if n_speakers is None else [n_speakers],
            draws=draws if n_speakers not in (None, everybody) else 1,
            splits=1, n_calibration=len(calibration), seed=seed,
        )  # fmt: skip
        row = found.summary(confidence=confidence, seed=seed).iloc[0]
        return _measured(row, _everybody(test, enrolment, calibration) - len(found.targets))


class LinkabilityMetric:
    """How often an attacker picks the right one of all enrolled speakers (V25).

    Examples
    --------
    >>> voices = np.random.default_rng(0).normal(size=(30, 8))
    >>> LinkabilityMetric().compute(test_embeddings=voices, enrollment_embeddings=voices + 0.01)
    1.0
    """

    def compute(self, test_embeddings: Vectors, enrollment_embeddings: Vectors) -> float:
        """Return the probability alone; see `evaluate`."""
        return self.evaluate(test_embeddings, enrollment_embeddings).value

    def evaluate(
        self,
        test_embeddings: Vectors,
        enrollment_embeddings: Vectors,
        *,
        n_speakers: int | None = None,
        confidence: float = 0.95,
    ) -> Measured:
        """Measure linkability among all enrolled speakers, or exactly among any `n_speakers`.

        Parameters
        ----------
        test_embeddings, enrollment_embeddings
            As of `SinglingOutMetric.evaluate`; several vectors of a speaker are averaged.
        n_speakers
            N', at most the enrolled speakers.

        Raises
        ------
        VoicePrivacyError
            If shapes or speakers do not fit together.
        """
        test, enrolment = _parts(test=test_embeddings, enrollment=enrollment_embeddings)
        trials = draw_trials(_averaged(test), enrolment, draws=1)
        sizes = [len(trials.candidates) if n_speakers is None else n_speakers]
        row = linkability(trials, sizes).summary(confidence=confidence).iloc[0]
        return _measured(row, _everybody(test, enrolment) - len(trials.speakers))


def _everybody(*parts: Embeddings) -> int:
    """How many speakers there are in any of the parts."""
    return len(np.unique(np.concatenate([part.speakers for part in parts])))


def _measured(row, left_out: int) -> Measured:
    ends = (float(row[name]) for name in ("observed", "observed_low", "observed_high", "chance"))
    return Measured(*ends, int(row["n_speakers"]), int(row["targets"]), left_out)


def _averaged(vectors: Embeddings) -> Embeddings:
    """One unit-weighted mean a speaker."""
    speakers, own = np.unique(vectors.speakers, return_inverse=True)
    total = np.zeros((len(speakers), vectors.dimension))
    np.add.at(total, own, vectors.normalised().matrix)
    return Embeddings([f"test/{name}" for name in speakers], speakers, total)


def _parts(**given: Vectors) -> list[Embeddings]:
    """All kinds of speech as `Embeddings`, with ids of their own."""
    arrays = {name: np.shape(v)[0] for name, v in given.items() if isinstance(v, np.ndarray)}
    if len(set(arrays.values())) > 1:
        counts = ", ".join(f"{name} {rows}" for name, rows in arrays.items())
        raise VoicePrivacyError(
            f"arrays of different numbers of speakers ({counts}); row i of each must be the same "
            "speaker. Give mappings from speaker to vectors where some lack a kind."
        )
    return [_embeddings(values, name) for name, values in given.items()]


def _embeddings(values: Vectors, name: str) -> Embeddings:
    if isinstance(values, Embeddings):
        return values
    if isinstance(values, np.ndarray):
        if values.ndim not in (2, 3):
            raise VoicePrivacyError(
                f"{name}_embeddings have shape {values.shape}; expected (speakers, d) or "
                "(speakers, vectors, d)."
            )
        values = {f"{row:06d}": own for row, own in enumerate(values)}
    if not isinstance(values, Mapping) or not values:
        raise VoicePrivacyError(
            f"{name}_embeddings are {type(values).__name__}; expected Embeddings, a mapping from "
            "speaker to vectors, or an array of shape (speakers, d)."
        )
    rows = [(str(who), np.atleast_2d(own)) for who, own in values.items()]
    widths = sorted({own.shape[1] for _, own in rows})
    if len(widths) > 1:
        raise VoicePrivacyError(
            f"{name}_embeddings have vectors of {widths} numbers; expected one."
        )
    speakers = [who for who, own in rows for _ in own]
    ids = [f"{name}/{who}/{k}" for who, own in rows for k in range(len(own))]
    return Embeddings(ids, speakers, np.concatenate([own for _, own in rows]))
