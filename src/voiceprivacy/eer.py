"""Equal error rate: how well scores tell trials of one speaker from trials of two.

`eer` follows one rule, that of SpeechBrain and with it of the VoicePrivacy Challenges
(`CONVENTION` says it in words, for files of results). Tools differ on the same scores: where no
threshold makes both error rates equal, others interpolate or take the larger one.
"""

import warnings

import numba
import numpy as np

from voiceprivacy.errors import VoicePrivacyError

CONVENTION = (
    "EER as a fraction: mean of FAR and FRR at the first score that minimises |FAR - FRR| "
    "(SpeechBrain, VoicePrivacy Challenge)"
)


class OrientationWarning(UserWarning):
    """Scores seem to be distances: trials of two speakers score higher than those of one."""


def eer(target_scores: np.ndarray, nontarget_scores: np.ndarray) -> float:
    """Return the equal error rate as SpeechBrain and the VoicePrivacy Challenges compute it.

    Parameters
    ----------
    target_scores
        Scores of trials of one speaker, any shape; higher means more alike. Any finite numbers,
        also all negative ones.
    nontarget_scores
        Scores of trials of two speakers.

    Returns
    -------
    float
        A fraction, 0 to 1: .5 if the scores tell nothing or are all the same.

    Raises
    ------
    VoicePrivacyError
        If there are no scores of one kind, or some are no finite numbers.

    Warns
    -----
    OrientationWarning
        If the result is above .5. It is returned as it is, never turned round.

    Notes
    -----
    Thresholds t are the scores themselves; FRR = share of targets <= t and FAR = share of
    nontargets > t; the first t with the smallest abs(FAR - FRR) gives (FAR + FRR) / 2
    (SpeechBrain, ``speechbrain.utils.metric_stats.EER``). SpeechBrain also tries the midpoints
    between scores, where both rates are those of the score below. Rates are compared as whole
    numbers here, so that a tie is a tie. This is not the EER of the ROC curve's convex hull.

    Examples
    --------
    >>> round(eer(np.array([0.6, 0.6, 0.9]), np.array([0.6, 0.1, 0.2])), 4)
    0.1667
    """
    targets, nontargets = (
        np.sort(_checked(scores, kind))
        for scores, kind in ((target_scores, "target"), (nontarget_scores, "nontarget"))
    )
    thresholds = np.unique(np.concatenate([targets, nontargets]))
    rejected = np.searchsorted(targets, thresholds, "right")
    accepted = len(nontargets) - np.searchsorted(nontargets, thresholds, "right")
    at = np.argmin(np.abs(accepted * len(targets) - rejected * len(nontargets)))
    rate = float(accepted[at] / len(nontargets) + rejected[at] / len(targets)) / 2
    if rate > 0.5:
        warnings.warn(
            f"EER is {rate:.1%}, above 50 %: if higher scores mean less alike (distances), pass "
            "their negatives; otherwise the scores tell speakers no better than chance.",
            OrientationWarning,
            stacklevel=2,
        )
    return rate


@numba.njit(cache=True)
def resampled_eers(row, column, target, last, weights):
    """Return the EER of each resample of speakers, NaN where it drew no target or no nontarget.

    Parameters
    ----------
    row, column
        Each trial's enrolment speaker and trial speaker, (n,) numbers, trials by rising score.
    target
        Whether a trial is one of a single speaker, (n,) bool; it counts as often as its speaker.
        A nontarget counts as often as the product of its two speakers.
    last
        Whether a trial is the last one of its score, (n,) bool.
    weights
        How often each speaker was drawn, (resamples, speakers) whole numbers.
    """
    rates = np.full(len(weights), np.nan)
    for r in range(len(weights)):
        w = weights[r]
        targets = nontargets = 0
        for i in range(len(row)):
            if target[i]:
                targets += w[row[i]]
            else:
                nontargets += w[row[i]] * w[column[i]]
        if targets == 0 or nontargets == 0:
            continue
        rejected, accepted, smallest = 0, nontargets, np.inf
        for i in range(len(row)):
            if target[i]:
                rejected += w[row[i]]
            else:
                accepted -= w[row[i]] * w[column[i]]
            if last[i]:
                gap = abs(accepted * targets - rejected * nontargets)
                if gap < smallest:
                    smallest = gap
                    rates[r] = (accepted / nontargets + rejected / targets) / 2
                if accepted * targets <= rejected * nontargets:
                    break  # from here on the gap only grows
    return rates


def _checked(scores: np.ndarray, kind: str) -> np.ndarray:
    """The scores in one dimension, if there are any and all are finite."""
    scores = np.ravel(np.asarray(scores))
    if not scores.size:
        raise VoicePrivacyError(f"there are no {kind} scores; an EER needs some of each kind.")
    if scores.dtype.kind not in "fiu" or not np.isfinite(scores).all():
        raise VoicePrivacyError(f"{kind} scores hold something else than finite numbers.")
    return scores
