"""Intervals of equal error rates: speakers are resampled, and training seeds, never trials."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from voiceprivacy.errors import VoicePrivacyError
from voiceprivacy.randomness import stream

if TYPE_CHECKING:
    from voiceprivacy.verification import Verification


class Estimate(NamedTuple):
    """A number with its bootstrap standard error and percentile interval."""

    value: float
    low: float
    high: float
    standard_error: float


def mean_eer(
    runs: "Sequence[Verification]",
    *,
    confidence: float = 0.95,
    replicates: int = 1000,
    seed: int = 0,
) -> Estimate:
    """Return the EER averaged over training seeds, with its interval.

    Parameters
    ----------
    runs
        The same trials scored by attackers trained under different seeds; one is enough, and then
        the interval knows nothing about seeds.
    confidence
        Coverage of the percentile interval.
    replicates
        Resamples. The few in which a cell has no target or no nontarget are left out.
    seed
        The same seed gives the same resamples of speakers for every system.

    Raises
    ------
    VoicePrivacyError
        If the runs do not share their trials.

    Notes
    -----
    Trials that share a speaker are not independent. Per cell, as many speakers as it has are drawn
    with replacement, for both sides at once: a speaker drawn w times has weight w in target trials,
    and a nontarget the product of its two speakers' weights. Drawing users goes back to the subsets
    bootstrap (Poh, Martin and Bengio, IEEE TPAMI 29(3), 2007, pages 492-498; for speaker
    recognition Wu, Martin, Greenberg and Kacker, IEEE/ACM TASLP 25(1), 2017, pages 5-14); products
    of weights for crossed factors are Owen's pigeonhole bootstrap (Annals of Applied Statistics
    1(2), 2007, pages 386-411), which errs towards intervals that are too wide.
    Of k seeds, k - 1 are drawn with replacement: then the variance of a mean of few units is
    not understated (Rao and Wu, JASA 83, 1988, pages 231-241).
    """
    return _estimate([list(runs)], [1.0], confidence, replicates, seed)


def paired_difference(
    a: "Verification | Sequence[Verification]",
    b: "Verification | Sequence[Verification]",
    *,
    confidence: float = 0.95,
    replicates: int = 1000,
    seed: int = 0,
) -> Estimate:
    """Return EER of `a` minus EER of `b` on the same trials, with its interval.

    Both systems see the same resamples of speakers, so that what makes the trials easy or hard
    for both cancels. Given several runs each, run k of `a` belongs to run k of `b` (the same
    training seed), and seeds are resampled in pairs. Parameters as in `mean_eer`.

    Raises
    ------
    VoicePrivacyError
        If the two do not share their trials, or differ in the number of runs.
    """
    sides = [list(side) if isinstance(side, Sequence) else [side] for side in (a, b)]
    if len(sides[0]) != len(sides[1]):
        raise VoicePrivacyError(
            f"{len(sides[0])} and {len(sides[1])} runs cannot be paired; expected one of each "
            "for every training seed."
        )
    return _estimate(sides, [1.0, -1.0], confidence, replicates, seed)


def _estimate(
    sides: "list[list[Verification]]",
    signs: list[float],
    confidence: float,
    replicates: int,
    seed: int,
) -> Estimate:
    """The signed sum of the sides' EERs, each averaged over its runs."""
    runs = [run for side in sides for run in side]
    if not runs or not 0 < confidence < 1 or replicates < 2:
        raise VoicePrivacyError(
            f"{len(runs)} runs, confidence {confidence}, {replicates} replicates; expected at "
            "least one run, a confidence between 0 and 1 and at least 2 replicates."
        )
    _refuse_other_trials(runs)
    value = sum(
        s * np.mean([run.eer for run in side]) for s, side in zip(signs, sides, strict=True)
    )
    weights = [cell.resamples(replicates, seed) for cell in runs[0].cells]
    per_seed = sum(
        sign
        * np.array(
            [
                run.shares @ [c.eers(w) for c, w in zip(run.cells, weights, strict=True)]
                for run in side
            ]
        )
        for sign, side in zip(signs, sides, strict=True)
    )
    drawn = _over_seeds(per_seed, seed)
    drawn = drawn[np.isfinite(drawn)]
    if len(drawn) < 2:
        raise VoicePrivacyError(
            "hardly any resample of speakers has targets and nontargets; an interval needs more "
            "speakers of each gender."
        )
    low, high = np.quantile(drawn, [(1 - confidence) / 2, (1 + confidence) / 2])
    return Estimate(float(value), float(low), float(high), float(drawn.std(ddof=1)))


def _over_seeds(per_seed: np.ndarray, seed: int) -> np.ndarray:
    """Average every replicate over resampled seeds: from (seeds, replicates) to (replicates,)."""
    k, replicates = per_seed.shape
    if k == 1:
        return per_seed[0]
    counts = stream(seed, "training seeds").multinomial(k - 1, np.full(k, 1 / k), size=replicates)
    return np.einsum("rk,kr->r", counts / (k - 1), per_seed)


def _refuse_other_trials(runs: "list[Verification]") -> None:
    """Raise unless all runs have the same cells with the same trials."""
    for run in runs[1:]:
        same = len(run.cells) == len(runs[0].cells) and all(
            (one.subset, one.gender) == (other.subset, other.gender)
            and all(
                np.array_equal(getattr(one, key), getattr(other, key))
                for key in ("enrolment", "utterances", "speakers", "tested")
            )
            for one, other in zip(runs[0].cells, run.cells, strict=True)
        )
        if not same:
            raise VoicePrivacyError(
                "these runs were not scored on the same trials, so they cannot be compared in "
                "pairs; score all on the trials that none of them lost."
            )
