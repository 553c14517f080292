"""Equal error rate: how well scores tell trials of one speaker from trials of two.

Two rules, each under its own name, because tools differ on the same scores where no threshold makes
both error rates equal. `speechbrain_eer` is SpeechBrain's and with it that of the VoicePrivacy
Challenges (`CONVENTION` says it in words, for files of results); `rocch_eer` is that of the ROC's
convex hull, as in V25.
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


def speechbrain_eer(target_scores: np.ndarray, nontarget_scores: np.ndarray) -> float:
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
    >>> round(speechbrain_eer(np.array([0.6, 0.6, 0.9]), np.array([0.6, 0.1, 0.2])), 4)
    0.1667
    """
    targets, nontargets = _sorted(target_scores, nontarget_scores)
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


def rocch_eer(target_scores: np.ndarray, nontarget_scores: np.ndarray) -> float:
    """Return the equal error rate on the convex hull of the ROC curve.

    Parameters
    ----------
    target_scores, nontarget_scores
        As of `speechbrain_eer`.

    Returns
    -------
    float
        A fraction, 0 to 0.5: the hull contains the rule that decides by a coin.

    Raises
    ------
    VoicePrivacyError
        As `speechbrain_eer`.

    Notes
    -----
    V25 reports 1 - EER under this rule. Mixing two thresholds reaches every point
    between theirs, so that the error rates that can be had end at the lower left hull of the points
    (FAR, FRR); where it meets FAR = FRR is the EER (Brummer and de Villiers, BOSARIS, 2011). A
    corner of the hull lies just below a target score, so that only as many points as there are
    targets are looked at.

    Examples
    --------
    >>> round(rocch_eer(np.array([0.6, 0.6, 0.9]), np.array([0.6, 0.1, 0.2])), 4)
    0.2222
    """
    targets, nontargets = _sorted(target_scores, nontarget_scores)
    first = np.flatnonzero(np.append(True, np.diff(targets) > 0))
    miss = np.append(first, len(targets))
    below = np.searchsorted(nontargets, targets[first], "left")
    alarm = np.append(len(nontargets) - below, 0)
    return float(_hull_crossing(miss, alarm, len(targets), len(nontargets)))


@numba.njit(cache=True)
def _hull_crossing(miss, alarm, n_targets, n_nontargets):
    """Where the lower left hull of points (alarm, miss) meets the diagonal.

    Counts: of missed targets, rising, and of false alarms, falling. Whole numbers keep the hull
    exact.
    """
    corners = np.empty(len(miss), np.int64)
    n = 0
    for i in range(len(miss)):
        while n > 1:
            a, b = corners[n - 2], corners[n - 1]
            turn = (alarm[b] - alarm[a]) * (miss[i] - miss[a])
            turn -= (miss[b] - miss[a]) * (alarm[i] - alarm[a])
            if turn < 0:
                break
            n -= 1
        corners[n] = i
        n += 1
    before = alarm[0] / n_nontargets
    for k in range(1, n):
        a, b = corners[k - 1], corners[k]
        after = miss[b] / n_targets - alarm[b] / n_nontargets
        if after >= 0:
            step = (miss[b] - miss[a]) / n_targets
            return miss[a] / n_targets + step * before / (before + after)
        before = -after
    return 0.0


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


def _sorted(targets: np.ndarray, nontargets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return np.sort(_checked(targets, "target")), np.sort(_checked(nontargets, "nontarget"))


def _checked(scores: np.ndarray, kind: str) -> np.ndarray:
    """The scores in one dimension, if there are any and all are finite."""
    scores = np.ravel(np.asarray(scores))
    if not scores.size:
        raise VoicePrivacyError(f"there are no {kind} scores; an EER needs some of each kind.")
    if scores.dtype.kind not in "fiu" or not np.isfinite(scores).all():
        raise VoicePrivacyError(f"{kind} scores hold something else than finite numbers.")
    return scores
