"""Linkability: how often an attacker picks the right one of N' enrolled speakers (V25).

A test conversation is *linked* when its own speaker's enrolment outscores all other candidates;
ties favour the true speaker. If m of the n - 1 other enrolled speakers score higher, a random set
of N' - 1 others leaves it linked with probability C(n - 1 - m, N' - 1) / C(n - 1, N' - 1). So one
count m a test conversation gives the exact mean for every N', without drawing candidate sets.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits
from tqdm import tqdm

from voiceprivacy.conversation_trials import ConversationTrials
from voiceprivacy.errors import VoicePrivacyError, listed
from voiceprivacy.intervals import wilson_of
from voiceprivacy.randomness import stream

# Cosines of the same two vectors differ by less, depending on their place in a matrix product.
ROUNDING = 2.0**-22
# Share of test conversations; single precision ties one in some hundreds by chance.
MANY_TIES = 0.05


class TiesWarning(UserWarning):
    """Many test conversations score the same with another speaker as with the right one."""


@dataclass(frozen=True, eq=False)
class Linkability:
    """How many candidates outscore the right one, for every test conversation.

    Parameters
    ----------
    speakers
        Tested speakers, (T,).
    better
        Other candidates with a strictly higher score than the own enrolment, (draws, T).
    n_candidates
        Enrolled speakers, n.
    conversation_length
        Utterances in a conversation, L.
    sizes
        The N' of the intervals, (K,).
    losses
        What each candidate costs, (n, K): the mean over tests by which linkage would be likelier
        if that candidate were not enrolled.
    own
        The row of each tested speaker among the candidates, (T,).
    """

    speakers: np.ndarray
    better: np.ndarray
    n_candidates: int
    conversation_length: int
    sizes: np.ndarray
    losses: np.ndarray
    own: np.ndarray

    def per_speaker(self, sizes: Sequence[int]) -> np.ndarray:
        """Return each speaker's probability of being linked among N' candidates, (T, K)."""
        sizes = checked_sizes(sizes, self.n_candidates)
        table = linked(self.n_candidates - 1, sizes - 1, int(self.better.max()))
        return table[self.better].mean(axis=0)

    def mean(self, sizes: Sequence[int]) -> np.ndarray:
        """Return linkability for every N', (K,): exact, without drawing candidates."""
        return self.per_speaker(sizes).mean(axis=0)

    def sampled(self, sizes: Sequence[int], *, runs: int = 5, seed: int = 0) -> np.ndarray:
        """Return linkability of randomly drawn candidate sets, as the paper does, (runs, K).

        Run r takes the test conversations of draw r, beginning again after the last.
        """
        sizes = checked_sizes(sizes, self.n_candidates)
        others = self.n_candidates - 1
        rates = np.empty((runs, len(sizes)))
        for run in range(runs):
            better = self.better[run % len(self.better)]
            for column, size in enumerate(sizes.tolist()):
                rng = stream(seed, "candidates", size, run)
                met = rng.hypergeometric(better, others - better, size - 1)
                rates[run, column] = (met == 0).mean()
        return rates

    def standard_error(self) -> np.ndarray:
        """Return the standard error at each of `sizes`, (K,), by leaving out one speaker at a time.

        Notes
        -----
        The jackknife (Efron and Stein, Annals of Statistics 9, 1981, pages 586-596) over speakers,
        each of whom is a candidate and perhaps tested: the exact mean is a U-statistic, and without
        one speaker it is known from the counts m alone. NaN with fewer than three candidates.
        """
        rates = self.per_speaker(self.sizes)
        total = self.losses.copy()
        total[self.own] -= (rates - rates.mean(axis=0)) / max(len(rates) - 1, 1)
        n = self.n_candidates
        if n < 3 or len(rates) < 2:
            return np.full(len(self.sizes), np.nan)
        return np.sqrt((n - 1) / n * ((total - total.mean(axis=0)) ** 2).sum(axis=0))

    def summary(self, *, confidence: float = 0.95) -> pd.DataFrame:
        """Return one row for each of `sizes`.

        Returns
        -------
        pandas.DataFrame
            ``conversation_length``, ``n_speakers`` (N'), ``targets``, ``evaluations``,
            ``chance`` (1 / N') and ``observed`` with its standard error and interval (``_se``,
            ``_low``, ``_high``).
        """
        observed, error = self.mean(self.sizes), self.standard_error()
        low, high = wilson_of(observed, error, len(self.speakers), confidence)
        return pd.DataFrame(
            {
                "conversation_length": self.conversation_length,
                "n_speakers": self.sizes,
                "targets": len(self.speakers),
                "evaluations": self.better.size,
                "chance": 1 / self.sizes,
                "observed": observed,
                "observed_se": error,
                "observed_low": low,
                "observed_high": high,
            }
        )


def linkability(
    trials: ConversationTrials, sizes: Sequence[int] | None = None, *, progress: bool = False
) -> Linkability:
    """Count for every test conversation the candidates that outscore the right one.

    Parameters
    ----------
    trials
        From `voiceprivacy.conversation_trials.draw_trials`.
    sizes
        The N' of the summary, each from 1 to the number n of enrolled speakers; by default
        `default_sizes`. Means of other N' can be asked for afterwards.
    progress
        Show a bar on stderr.

    Raises
    ------
    VoicePrivacyError
        If a size is beyond the enrolled speakers.

    Warns
    -----
    TiesWarning
        If more than one test conversation in twenty ties with another candidate.

    Notes
    -----
    Cosines that differ by less than 2**-22, the rounding of single precision, are ties.

    Examples
    --------
    >>> from voiceprivacy.conversation_trials import draw_trials
    >>> from voiceprivacy.embeddings import Embeddings
    >>> enrolment = Embeddings(["e1", "e2", "e3"], ["a", "b", "c"], [[1, 0], [0, 1], [-1, 0]])
    >>> test = Embeddings(["t1", "t2"], ["a", "c"], [[2, 1], [1, 3]])
    >>> found = linkability(draw_trials(test, enrolment, draws=1), [2, 3])
    >>> found.better.tolist(), found.mean([1, 2, 3]).tolist()
    ([[0, 2]], [1.0, 0.5, 0.5])
    """
    n = len(trials.candidates)
    sizes = checked_sizes(default_sizes(n) if sizes is None else sizes, n)
    better = np.empty((trials.draws, len(trials.speakers)), np.int64)
    losses, gains, ties = np.zeros((n, len(sizes))), gains_without(n, sizes), 0
    with tqdm(total=better.size, disable=not progress, unit="conversation") as bar:
        for draw in range(trials.draws):
            for block, scores in trials.score_blocks(draw):
                own = scores[np.arange(len(scores)), trials.own[block]][:, None]
                beats = scores > own + ROUNDING
                better[draw, block] = np.count_nonzero(beats, axis=1)
                losses += summed(beats.T, gains[better[draw, block]])
                ties += np.count_nonzero((scores == own).sum(axis=1) > 1)
                bar.update(len(scores))
    warn_of_ties(ties, better.size)
    return Linkability(
        trials.speakers, better, n, trials.length, sizes, losses / better.size, trials.own
    )


def linked(others: int, drawn: Sequence[int], most: int) -> np.ndarray:
    """Return the probability that no better candidate is among those drawn.

    Parameters
    ----------
    others
        Candidates besides the right one, n - 1.
    drawn
        How many of them are drawn, N' - 1, (K,).
    most
        The largest number m of better candidates.

    Returns
    -------
    numpy.ndarray
        Row m for m better candidates, (most + 1, K).

    Notes
    -----
    C(n - 1 - m, k) / C(n - 1, k) as a product of m ratios, which loses no digits; logarithms of
    factorials of 22,023 lose five.

    Examples
    --------
    >>> linked(2, [0, 1, 2], 2).tolist()
    [[1.0, 1.0, 1.0], [1.0, 0.5, 0.0], [1.0, 0.0, 0.0]]
    """
    left = others - np.arange(most, dtype=float)[:, None]
    table = np.ones((most + 1, len(drawn)))
    np.maximum(left - np.asarray(drawn), 0, out=table[1:])
    table[1:] /= np.maximum(left, 1)
    return np.cumprod(table, axis=0, out=table)


def default_sizes(n: int) -> np.ndarray:
    """Return the paper's grid of N' up to n: 20, 120, 220 and so on, and n itself (V25, Fig. 1)."""
    return np.unique(np.append(np.arange(min(20, n), n, 100), n))


def checked_sizes(sizes: Sequence[int], n: int) -> np.ndarray:
    """Return N' as sorted whole numbers.

    Raises
    ------
    VoicePrivacyError
        If there are none, or one is below 1 or above the number n of enrolled speakers.
    """
    if not len(sizes):
        raise VoicePrivacyError(f"No sizes: {n} speakers are enrolled; ask for some from 1 to {n}.")
    wrong = [size for size in sizes if size != int(size) or not 1 <= size <= n]
    if wrong:
        raise VoicePrivacyError(
            f"N' = {listed(wrong)} candidates cannot be drawn: {n} speakers are enrolled. Ask for "
            f"whole sizes from 1 to {n}, or enrol more speakers."
        )
    return np.unique(np.asarray(sizes, dtype=np.int64))


def gains_without(n: int, sizes: np.ndarray) -> np.ndarray:
    """Return by how much one of m better candidates less makes linkage likelier, (n, K), float32.

    Parameters
    ----------
    n
        Enrolled speakers; m is 0 to n - 1.
    sizes
        N', (K,).
    """
    # Without one of n candidates at most N' = n - 1 can be asked for.
    table = linked(n - 2, np.minimum(sizes, n - 1) - 1, n - 1)
    gains = np.vstack([np.zeros((1, len(sizes))), table[:-1] - table[1:]])
    return np.where(sizes > 1, gains, 0).astype(np.float32)


def summed(beats: np.ndarray, gains: np.ndarray) -> np.ndarray:
    """Return the sum of the gains of the tests that each candidate beats, (candidates, K).

    Parameters
    ----------
    beats
        Whether a candidate scores higher than the right one, (candidates, tests).
    gains
        Of every test, (tests, K), float32.
    """
    # One thread: the sum's last bits must not depend on how many there are.
    with threadpool_limits(1, user_api="blas"):
        return beats.astype(np.float32) @ gains


def warn_of_ties(ties: int, tests: int) -> None:
    """Warn if more than one test conversation in twenty ties with another candidate."""
    if ties > MANY_TIES * tests:
        warnings.warn(
            f"{ties:,} of {tests:,} test conversations score the same with the right speaker and "
            "with another one. Ties count for the right speaker, so that linkability is too high; "
            "check that speakers' embeddings differ, and that scores are not rounded.",
            TiesWarning,
            stacklevel=3,
        )
