"""Conversations: how a speaker's utterances become a test and several calibration conversations.

A *conversation* of length L is the L2-normalised mean of L unit utterance embeddings of one
speaker. In every split a speaker's utterances are shuffled; the first L make the test
conversation, the following ones the calibration conversations.

Conventions
-----------
Utterances of one speaker lie side by side: speaker ``i`` owns rows ``start[i]`` to
``start[i + 1]``. Speakers and their utterances are in the order of their ids, so that nothing
depends on the order of rows in a file.
"""

from dataclasses import dataclass
from itertools import combinations, islice
from numbers import Real

import numpy as np

from voiceprivacy.embeddings import Embeddings
from voiceprivacy.errors import VoicePrivacyError, listed

CALIBRATIONS = ("disjoint", "combinations")


@dataclass(frozen=True)
class SpeakerRows:
    """Unit utterance embeddings grouped by speaker.

    Parameters
    ----------
    speakers
        Speaker ids, sorted, shape (S,).
    matrix
        Unit utterance embeddings, float32, shape (utterances, d).
    start
        Speaker ``i`` owns rows ``start[i]:start[i + 1]``, shape (S + 1,).
    """

    speakers: np.ndarray
    matrix: np.ndarray
    start: np.ndarray

    @property
    def counts(self) -> np.ndarray:
        """Number of utterances of each speaker, shape (S,)."""
        return np.diff(self.start)


@dataclass(frozen=True)
class Conversations:
    """Which utterances make which conversation, in one split.

    Parameters
    ----------
    utterances
        Row numbers, shape (conversations, L).
    start
        Speaker ``i`` owns conversations ``start[i]:start[i + 1]``, shape (S + 1,). The first is
        the test conversation, the others are for calibration.
    """

    utterances: np.ndarray
    start: np.ndarray

    @property
    def n_calibration(self) -> np.ndarray:
        """Number of calibration conversations of each speaker, shape (S,)."""
        return np.diff(self.start) - 1


def by_speaker(embeddings: Embeddings) -> SpeakerRows:
    """Sort utterances by speaker and utterance id and normalise each to length 1.

    Examples
    --------
    >>> e = Embeddings(np.array(["u2", "u1"]), np.array(["b", "a"]), np.eye(2, dtype="f4") * 3)
    >>> rows = by_speaker(e)
    >>> rows.speakers.tolist(), rows.matrix.tolist()
    (['a', 'b'], [[0.0, 1.0], [1.0, 0.0]])
    """
    order = np.lexsort((embeddings.utterances, embeddings.speakers))
    speakers, counts = np.unique(embeddings.speakers, return_counts=True)
    matrix = _unit(embeddings.matrix[order])
    return SpeakerRows(speakers, matrix, np.concatenate([[0], np.cumsum(counts)]))


def with_at_least(rows: SpeakerRows, utterances: int) -> SpeakerRows:
    """Keep the speakers who have at least `utterances` utterances."""
    return of_speakers(rows, rows.speakers[rows.counts >= utterances])


def of_speakers(rows: SpeakerRows, speakers: np.ndarray) -> SpeakerRows:
    """Keep some speakers, all of whom are there."""
    kept = np.isin(rows.speakers, speakers)
    if kept.all():
        return rows
    start = np.concatenate([[0], np.cumsum(rows.counts[kept])])
    return SpeakerRows(rows.speakers[kept], rows.matrix[np.repeat(kept, rows.counts)], start)


def count_eligible(embeddings: Embeddings, utterances: int) -> int:
    """Count the speakers who have at least `utterances` utterances.

    Examples
    --------
    >>> count_eligible(Embeddings(["u1", "u2", "u3"], ["a", "a", "b"], np.eye(3)), 2)
    1
    """
    return int((np.unique(embeddings.speakers, return_counts=True)[1] >= utterances).sum())


def draw_conversations(
    start: np.ndarray,
    length: int,
    rng: np.random.Generator,
    *,
    calibration: str = "disjoint",
    n_calibration: int = 9,
) -> Conversations:
    """Shuffle every speaker's utterances and divide them into conversations.

    Parameters
    ----------
    start
        Speaker ``i`` owns utterances ``start[i]:start[i + 1]``; each has at least 2 x `length`.
    length
        Utterances in a conversation, L.
    rng
        Source of the shuffle.
    calibration
        ``"disjoint"``: as many conversations without a shared utterance as fit, at most
        `n_calibration`. ``"combinations"``: the first `n_calibration` combinations of L among the
        utterances that are left after the test conversation; they overlap for L > 1.
    n_calibration
        Largest number of calibration conversations of a speaker, M.

    Notes
    -----
    The papers describe 9L disjoint calibration utterances (SI, Sec. IV-B); the authors' published
    code takes combinations. The text is the default here, the code an option.

    Examples
    --------
    >>> c = draw_conversations(np.array([0, 6, 10]), 2, np.random.default_rng(0))
    >>> c.start.tolist(), c.n_calibration.tolist()
    ([0, 3, 5], [2, 1])
    """
    if calibration not in CALIBRATIONS:
        raise VoicePrivacyError(
            f"calibration is {calibration!r}; expected one of {', '.join(CALIBRATIONS)}."
        )
    counts = np.diff(start)
    speaker = np.repeat(np.arange(len(counts)), counts)
    # A uniform key in [0, 1) after the speaker's number shuffles within speakers only.
    shuffled = np.argsort(speaker + rng.random(len(speaker)))
    places = {k: _places(k, length, calibration, n_calibration) for k in np.unique(counts).tolist()}
    n_conversations = np.array([len(places[k]) for k in counts.tolist()])
    first = np.concatenate([[0], np.cumsum(n_conversations)])
    utterances = np.empty((first[-1], length), dtype=np.int64)
    for count, place in places.items():
        who = np.flatnonzero(counts == count)
        into = first[who][:, None] + np.arange(len(place))
        utterances[into] = shuffled[start[who][:, None, None] + place]
    return Conversations(utterances, first)


def conversation_embeddings(matrix: np.ndarray, conversations: Conversations) -> np.ndarray:
    """Return the unit embedding of every conversation, shape (conversations, d).

    Parameters
    ----------
    matrix
        Unit utterance embeddings, shape (utterances, d).
    """
    utterances = conversations.utterances
    total = matrix[utterances[:, 0]]
    if utterances.shape[1] > 1:
        for column in utterances.T[1:]:
            total += matrix[column]
        total = _unit(total)
    return total


def enrolment_embeddings(rows: SpeakerRows) -> np.ndarray:
    """Return each speaker's unit mean of unit utterances, shape (S, d)."""
    return _unit(np.add.reduceat(rows.matrix, rows.start[:-1], axis=0))


def check_counts(least: int = 1, **counts: int) -> None:
    """Refuse numbers that are not whole, or below the least."""
    for name, count in counts.items():
        is_number = isinstance(count, Real) and not isinstance(count, bool)
        if not is_number or count != count // 1 or count < least:
            raise VoicePrivacyError(
                f"{name} is {count!r}; expected a whole number from {least} up."
            )


def refuse_unlike(
    released: Embeddings, other: Embeddings, name: str, other_name: str = "enrolment"
) -> None:
    """Refuse embeddings that cannot be compared, or that are the same.

    Parameters
    ----------
    name, other_name
        What messages call them.

    Raises
    ------
    VoicePrivacyError
        If dimensions differ, or an utterance is in both.
    """
    if released.dimension != other.dimension:
        raise VoicePrivacyError(
            f"The {name}'s embeddings have {released.dimension} numbers and the {other_name}'s "
            f"{other.dimension}; both must come from one extractor."
        )
    shared = np.intersect1d(released.utterances, other.utterances)
    if len(shared):
        raise VoicePrivacyError(
            f"{len(shared)} utterances are both in the {name} and in the {other_name}: "
            f"{listed(shared.tolist())}. The attacker must not enrol with what is tested."
        )


def _unit(matrix: np.ndarray) -> np.ndarray:
    """Scale rows to length 1, in place."""
    # Squares are summed in double precision: those of very short or long rows leave float32.
    norm = np.sqrt(np.einsum("ij,ij->i", matrix, matrix, dtype=np.float64))
    if not norm.all():
        raise VoicePrivacyError(
            f"{(norm == 0).sum()} means of embeddings are zero: a speaker's utterances cancel out. "
            "Check the extractor; opposite vectors of one voice are no embeddings."
        )
    matrix /= norm[:, None]
    return matrix


def _places(count: int, length: int, calibration: str, n_calibration: int) -> np.ndarray:
    """Places in a shuffled list of `count` utterances that make each conversation, (C, L)."""
    if calibration == "disjoint":
        n = min(count // length, 1 + n_calibration)
        return np.arange(n * length).reshape(n, length)
    others = islice(combinations(range(length, count), length), n_calibration)
    return np.array([tuple(range(length)), *others])
