"""Equal error rate of conversations against enrolments, by number of speakers (V25).

Target trials compare a test conversation with its own speaker's enrolment, nontarget trials with
those of other candidates. The EER depends on how nontarget scores are distributed, not on how many
there are, so that it hardly moves with the number of speakers: that is V25's point.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.stats import norm, t

from voiceprivacy.conversation_trials import ConversationTrials
from voiceprivacy.eer import OrientationWarning, rocch_eer, speechbrain_eer
from voiceprivacy.errors import VoicePrivacyError, listed
from voiceprivacy.intervals import wilson_of
from voiceprivacy.linkability import checked_sizes
from voiceprivacy.randomness import stream

RULES = {"ROCCH": rocch_eer, "SpeechBrain": speechbrain_eer}


@dataclass(frozen=True, eq=False)
class ConversationEer:
    """Scores of conversation trials.

    Parameters
    ----------
    speakers
        Tested speakers, (T,).
    targets
        Scores with the own enrolment, (draws, T).
    nontargets
        Scores with C random other candidates, in the order drawn, (draws, T, C).
    others
        Which candidates these are, (draws, T, C).
    own
        The row of each tested speaker among the candidates, (T,).
    n_candidates
        Enrolled speakers, n.
    conversation_length
        Utterances in a conversation, L.
    """

    speakers: np.ndarray
    targets: np.ndarray
    nontargets: np.ndarray
    others: np.ndarray
    own: np.ndarray
    n_candidates: int
    conversation_length: int

    def rates(self, size: int, rule: str = "ROCCH") -> np.ndarray:
        """Return the EER of each draw when N speakers are enrolled, (draws,); fractions."""
        used = self._used(size)
        return np.array(
            [
                RULES[rule](own, others[:, :used])
                for own, others in zip(self.targets, self.nontargets, strict=True)
            ]
        )

    def standard_error(self, size: int) -> float:
        """Return the standard error of the mean of `rates`, speakers being what is sampled.

        Either rule's: they differ by less than it.

        Notes
        -----
        The delta method on how much each speaker, tested or tried against, moves both error rates
        at the threshold where they meet; the rates' slopes there come from the scores nearby.
        """
        used, rates = self._used(size), self._plain(size)
        moved = np.zeros(self.n_candidates)
        for draw, rate in enumerate(rates):
            own, others = self.targets[draw], self.nontargets[draw, :, :used]
            at = np.quantile(own, rate)
            miss, alarm = _weights(own, others, rate)
            accepted = (others > at) - (others > at).mean()
            moved[self.own] += miss * ((own <= at) - (own <= at).mean()) / len(own)
            moved[self.own] += alarm * accepted.mean(axis=1) / len(own)
            tried = self.others[draw, :, :used].ravel()
            moved += alarm * np.bincount(tried, accepted.ravel(), self.n_candidates) / others.size
        moved /= len(rates)
        n = len(own)
        return float(np.sqrt((moved**2).sum() * n / (n - 1))) if n > 1 else np.nan

    def summary(
        self,
        sizes: Sequence[int] | None = None,
        *,
        rule: str = "ROCCH",
        confidence: float = 0.95,
    ) -> pd.DataFrame:
        """Return one row for each number of speakers N.

        Parameters
        ----------
        sizes
            From 2 to the number n of enrolled speakers; by default n alone.
        rule
            ``"ROCCH"`` or ``"SpeechBrain"``, see `voiceprivacy.eer`.

        Returns
        -------
        pandas.DataFrame
            ``conversation_length``, ``n_speakers``, ``targets``, ``evaluations``, ``chance``
            (.5), ``observed`` with ``_se``, ``_low``, ``_high``, and ``rule``.

        Raises
        ------
        VoicePrivacyError
            If a size is out of range, or the rule is unknown.

        Notes
        -----
        The interval is for the EER of a large population. Few targets make the convex hull
        optimistic (0.44 for 0.46, 60 speakers), so that under either rule the interval lies around
        the mean of SpeechBrain's, and is widened where it would leave the estimate out. It is
        wider by Student's quantile over the normal one, with a degree of freedom a target. With few
        misses it remains short: at an EER of 6 % and 60 targets, 90 to 94 of 100 simulated corpora
        have the truth in it.
        """
        if rule not in RULES:
            raise VoicePrivacyError(f"rule {rule!r}; expected one of {listed(RULES)}.")
        sizes = checked_sizes([self.n_candidates] if sizes is None else sizes, self.n_candidates)
        observed = np.array([self.rates(size, rule).mean() for size in sizes.tolist()])
        centre = np.array([self._plain(size).mean() for size in sizes.tolist()])
        error = np.array([self.standard_error(size) for size in sizes.tolist()])
        wider = _student(len(self.speakers), confidence)
        low, high = wilson_of(centre, wider * error, len(self.speakers), confidence)
        low, high = np.minimum(low, observed), np.maximum(high, observed)
        return pd.DataFrame(
            {
                "conversation_length": self.conversation_length,
                "n_speakers": sizes,
                "targets": len(self.speakers),
                "evaluations": self.targets.size,
                "chance": 0.5,
                "observed": observed,
                "observed_se": error,
                "observed_low": low,
                "observed_high": high,
                "rule": rule,
            }
        )

    def _plain(self, size: int) -> np.ndarray:
        """Return SpeechBrain's rates, whichever way scores are oriented."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", OrientationWarning)
            return self.rates(size, "SpeechBrain")

    def _used(self, size: int) -> int:
        """How many of the nontarget scores of a test count among N speakers."""
        if size < 2:
            raise VoicePrivacyError(f"N = {size}: an EER needs two or more enrolled speakers.")
        return min(int(size) - 1, self.nontargets.shape[2])


def conversation_eer(
    trials: ConversationTrials, *, max_nontargets: int | None = 500, seed: int = 0
) -> ConversationEer:
    """Score conversation trials for equal error rates.

    Parameters
    ----------
    trials
        From `voiceprivacy.conversation_trials.draw_trials`.
    max_nontargets
        Most nontarget trials of a test conversation, drawn at random; ``None``: all others.
    seed
        Of that draw.

    Raises
    ------
    VoicePrivacyError
        If `max_nontargets` is below 1 or no whole number.

    Notes
    -----
    500 at most, and target trials that are the same for every N, as in the authors' package.

    Examples
    --------
    >>> from voiceprivacy.conversation_trials import draw_trials
    >>> from voiceprivacy.embeddings import Embeddings
    >>> enrolment = Embeddings(["e1", "e2", "e3"], ["a", "b", "c"], [[1, 0], [0, 1], [-1, 0]])
    >>> test = Embeddings(["t1", "t2"], ["a", "c"], [[2, 1], [-3, 1]])
    >>> conversation_eer(draw_trials(test, enrolment)).summary()["observed"].tolist()
    [0.0]
    """
    others = len(trials.candidates) - 1
    most = others if max_nontargets is None else min(_whole(max_nontargets), others)
    shape = trials.draws, len(trials.speakers)
    targets = np.empty(shape, np.float32)
    nontargets = np.empty((*shape, most), np.float32)
    columns = np.empty((*shape, most), np.int32)
    for draw in range(trials.draws):
        rng = stream(seed, "nontargets", draw)
        for block, scores in trials.score_blocks(draw):
            own = trials.own[block][:, None]
            drawn = np.array([rng.permutation(others)[:most] for _ in own])
            columns[draw, block] = drawn + (drawn >= own)
            targets[draw, block] = np.take_along_axis(scores, own, axis=1)[:, 0]
            nontargets[draw, block] = np.take_along_axis(scores, columns[draw, block], axis=1)
    return ConversationEer(
        trials.speakers, targets, nontargets, columns, trials.own, others + 1, trials.length
    )


def _student(targets: int, confidence: float) -> float:
    """Student's quantile over the normal one: how much wider few targets make an interval."""
    upper = (1 + confidence) / 2
    return t.ppf(upper, targets - 1) / norm.ppf(upper) if targets > 1 else 1.0


def _whole(max_nontargets: int) -> int:
    if max_nontargets != int(max_nontargets) or max_nontargets < 1:
        raise VoicePrivacyError(
            f"max_nontargets is {max_nontargets}; expected a whole number from 1 up, or None: all."
        )
    return int(max_nontargets)


def _weights(own: np.ndarray, others: np.ndarray, rate: float) -> tuple[float, float]:
    """How much of a change in the rates of misses and of alarms the EER follows, summing to 1.

    The steeper a rate, the less. A slope is that between half and one and a half times the EER: a
    kernel's width would reach from a low EER into the bulk of the scores.
    """
    around = np.array([rate / 2, min(1.5 * rate, 1)])
    misses, alarms = np.ptp(np.quantile(own, around)), np.ptp(np.quantile(others, 1 - around))
    total = misses + alarms
    return (misses / total, alarms / total) if total else (0.5, 0.5)
