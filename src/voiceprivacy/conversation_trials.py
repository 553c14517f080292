"""Trials of linkability and EER: a conversation of each tested speaker against every enrolment.

V25's roles: the *candidates* are all enrolled speakers (its set A), the *tested* speakers those of
them of whom there is also released speech (its set B). A score is a cosine.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd

from voiceprivacy.conversations import (
    SpeakerRows,
    by_speaker,
    check_counts,
    conversation_embeddings,
    draw_conversations,
    enrolment_embeddings,
    of_speakers,
    refuse_unlike,
)
from voiceprivacy.embeddings import Embeddings
from voiceprivacy.errors import VoicePrivacyError, listed
from voiceprivacy.randomness import stream
from voiceprivacy.scoring import cosine_scores

# Scores held at a time: some 50 MB.
BLOCK_SCORES = 12_000_000
NOT_ENROLLED, NO_TEST, TOO_SHORT = "not enrolled", "no test speech", "too few test utterances"


@dataclass(frozen=True, eq=False)
class ConversationTrials:
    """Test conversations and the enrolments that each is compared with.

    Parameters
    ----------
    speakers
        Tested speakers, sorted, (T,).
    candidates
        All enrolled speakers, sorted, (n,).
    own
        The row of each tested speaker among the candidates, (T,).
    tests
        Unit test conversations, float32, (draws, T, d).
    enrolled
        Unit enrolment means, float32, (n, d).
    length
        Utterances in a conversation, L.
    left_out
        Speakers who are not tested, or not enrolled: ``speaker``, ``reason``.
    """

    speakers: np.ndarray
    candidates: np.ndarray
    own: np.ndarray
    tests: np.ndarray
    enrolled: np.ndarray
    length: int
    left_out: pd.DataFrame

    @property
    def draws(self) -> int:
        """How many test conversations each speaker has."""
        return len(self.tests)

    def score_blocks(self, draw: int) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield one draw's scores by blocks of tested speakers: their slice, and (t, n) float32."""
        rows = max(1, BLOCK_SCORES // len(self.candidates))
        for start in range(0, len(self.speakers), rows):
            block = slice(start, min(start + rows, len(self.speakers)))
            yield block, cosine_scores(self.tests[draw, block], self.enrolled)


def draw_trials(
    test: Embeddings,
    enrolment: Embeddings,
    *,
    length: int = 1,
    draws: int = 5,
    n_enrolment: int | None = None,
    seed: int = 0,
) -> ConversationTrials:
    """Draw test conversations, and average every speaker's enrolment.

    Parameters
    ----------
    test
        Released utterances.
    enrolment
        Utterances that the attacker holds of every candidate; disjoint from `test`.
    length
        Random utterances in a test conversation, L.
    draws
        Conversations of each tested speaker; they may share utterances.
    n_enrolment
        Utterances that enrol a speaker, the first by id; ``None``: all.
    seed
        Of the draws.

    Raises
    ------
    VoicePrivacyError
        If nobody can be tested, there is but one candidate, or the two do not fit together.

    Notes
    -----
    V25 draws utterances at random, as here; the authors' package takes the
    first L for L > 1.

    Examples
    --------
    >>> test = Embeddings(["t1", "t2"], ["a", "c"], [[1, 0], [1, 1]])
    >>> enrolment = Embeddings(["e1", "e2"], ["a", "b"], [[1, 0], [0, 1]])
    >>> trials = draw_trials(test, enrolment, draws=1)
    >>> [(block, scores.tolist()) for block, scores in trials.score_blocks(0)]
    [(slice(0, 1, None), [[1.0, 0.0]])]
    >>> trials.left_out.to_numpy().tolist()
    [['c', 'not enrolled'], ['b', 'no test speech']]
    """
    check_counts(length=length, draws=draws)
    refuse_unlike(test, enrolment, "test")
    spoken, known = by_speaker(test), _first(by_speaker(enrolment), n_enrolment)
    left_out = _left_out(spoken, known, length)
    tested = np.intersect1d(spoken.speakers[spoken.counts >= length], known.speakers)
    _refuse_few(tested, known.speakers, spoken.speakers, length)
    rows = of_speakers(spoken, tested)
    tests = [_conversations(rows, length, seed, draw) for draw in range(draws)]
    return ConversationTrials(
        tested,
        known.speakers,
        np.searchsorted(known.speakers, tested),
        np.array(tests),
        enrolment_embeddings(known),
        length,
        left_out,
    )


def _first(rows: SpeakerRows, n: int | None) -> SpeakerRows:
    """The first `n` utterances of every speaker."""
    if n is None:
        return rows
    check_counts(n_enrolment=n)
    place = np.arange(len(rows.matrix)) - np.repeat(rows.start[:-1], rows.counts)
    start = np.concatenate([[0], np.cumsum(np.minimum(rows.counts, n))])
    return SpeakerRows(rows.speakers, rows.matrix[place < n], start)


def _left_out(spoken: SpeakerRows, known: SpeakerRows, length: int) -> pd.DataFrame:
    """Who takes no part, or not on both sides, and why."""
    strange = np.setdiff1d(spoken.speakers, known.speakers)
    silent = np.setdiff1d(known.speakers, spoken.speakers)
    short = np.setdiff1d(spoken.speakers[spoken.counts < length], strange)
    reasons = {NOT_ENROLLED: strange, TOO_SHORT: short, NO_TEST: silent}
    rows = [(str(name), reason) for reason, names in reasons.items() for name in names]
    return pd.DataFrame(rows, columns=["speaker", "reason"], dtype=str)


def _refuse_few(
    tested: np.ndarray, candidates: np.ndarray, spoken: np.ndarray, length: int
) -> None:
    common = np.intersect1d(candidates, spoken)
    if len(common) and not len(tested):
        raise VoicePrivacyError(
            f"None of the {len(common)} speakers who are both enrolled and tested has {length} "
            "utterances in the test; take shorter conversations, or more speech of each."
        )
    if not len(tested):
        raise VoicePrivacyError(
            "No speaker is both enrolled and tested; the enrolment has "
            f"{listed(candidates[:3].tolist())}, the test {listed(spoken[:3].tolist())}. The same "
            "speaker needs the same id in both."
        )
    if len(candidates) < 2:
        raise VoicePrivacyError(
            "Only one speaker is enrolled, so there is nobody to be taken for; enrol two or more."
        )


def _conversations(rows: SpeakerRows, length: int, seed: int, draw: int) -> np.ndarray:
    """A test conversation of every speaker, (T, d)."""
    rng = stream(seed, "test conversation", draw)
    drawn = draw_conversations(rows.start, length, rng, n_calibration=0)
    return conversation_embeddings(rows.matrix, drawn)
