"""One EER rule: by hand, in closed form, and as SpeechBrain computes it."""

import importlib.util
import subprocess
import sys
import types
import warnings

import numpy as np
import pytest
from scipy.stats import norm

from voiceprivacy.eer import (
    CONVENTION,
    OrientationWarning,
    resampled_eers,
    rocch_eer,
    speechbrain_eer,
)
from voiceprivacy.errors import VoicePrivacyError


@pytest.mark.parametrize(
    ("targets", "nontargets", "expected"),
    [
        # The case on which tools differ: interpolated .2222, larger rate .3333, their mean .1667.
        ([0.6, 0.6, 0.9], [0.6, 0.1, 0.2], 1 / 6),
        ([0.5] * 3, [0.5] * 7, 0.5),
        ([3.0, 4.0], [1.0, 2.0], 0.0),
        # At 2: one of two targets rejected, one of two nontargets accepted.
        ([2.0, 4.0], [1.0, 3.0], 0.5),
        # Only the first threshold, 1, has rates 0 and 1/4; at 2 they are 1/3 and 1/4: smaller gap.
        ([2.0, 5.0, 6.0], [0.0, 0.5, 1.0, 4.0], (1 / 3 + 1 / 4) / 2),
        # A tie: rates 0 and 1/2 at the score 1, and 1/1 and 1/2 at the score 2; the first counts.
        ([2.0], [1.0, 3.0], 0.25),
        ([-0.2, -0.1], [-0.9, -0.8], 0.0),
    ],
)
def test_worked_by_hand(targets, nontargets, expected):
    assert speechbrain_eer(np.array(targets), np.array(nontargets)) == pytest.approx(
        expected, abs=1e-15
    )


def test_the_stated_rule_names_itself_and_its_unit():
    assert "fraction" in CONVENTION
    assert "|FAR - FRR|" in CONVENTION
    assert "SpeechBrain" in CONVENTION


@pytest.mark.parametrize("d", [0.5, 1.0, 2.0, 3.0])
def test_two_normal_distributions_have_the_eer_of_half_their_distance(d):
    """Unit variances, d apart: threshold d/2, both rates Phi(-d/2)."""
    quantiles = norm.ppf((np.arange(20_000) + 0.5) / 20_000)
    assert speechbrain_eer(quantiles + d, quantiles) == pytest.approx(norm.cdf(-d / 2), abs=1e-4)


def test_order_and_monotone_changes_of_scores_do_not_matter():
    rng = np.random.default_rng(0)
    targets, nontargets = rng.normal(1, 1, 300), rng.normal(0, 1, 2_000)
    expected = speechbrain_eer(targets, nontargets)
    assert speechbrain_eer(targets[::-1], rng.permutation(nontargets)) == expected
    for change in (np.exp, np.arctan, lambda s: s**3 - 50):
        assert speechbrain_eer(change(targets), change(nontargets)) == expected
    assert speechbrain_eer(targets.reshape(30, 10), nontargets) == expected


def test_reversed_scores_are_warned_about_and_not_turned_round():
    with pytest.warns(OrientationWarning, match=r"EER is 100\.0%, above 50 %.*negatives"):
        assert speechbrain_eer(np.array([0.1, 0.2]), np.array([0.8, 0.9])) == 1.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert speechbrain_eer(np.array([-5.0]), np.array([-9.0])) == 0.0
        assert speechbrain_eer(np.array([1.0]), np.array([1.0])) == 0.5


@pytest.mark.parametrize(
    ("targets", "nontargets", "match"),
    [
        ([], [1.0], "no target scores"),
        ([1.0], [], "no nontarget scores"),
        ([np.nan], [1.0], "target scores hold something else"),
        ([1.0], [np.inf], "nontarget scores hold something else"),
        (["a"], [1.0], "target scores hold something else"),
    ],
)
def test_scores_that_are_no_scores_are_refused(targets, nontargets, match):
    with pytest.raises(VoicePrivacyError, match=match):
        speechbrain_eer(np.array(targets), np.array(nontargets))


# -- SpeechBrain's own -------------------------------------------------------------------------


def awkward_scores(rng):
    """Ties within and across kinds, few and many scores, near and far."""
    n, m = rng.integers(1, 30), rng.integers(1, 60)
    targets, nontargets = rng.normal(rng.uniform(0, 2), 1, n), rng.normal(0, 1, m)
    places = int(rng.integers(0, 4))
    return tuple(np.round(s, places).astype(np.float32) for s in (targets, nontargets))


def literal(targets, nontargets):
    """SpeechBrain's loop in exact arithmetic: the rates of all thresholds with the smallest gap.

    Thresholds are every score and every midpoint between two, ascending.
    """
    scores = np.unique(np.concatenate([targets, nontargets]).astype(float))
    found = []
    for t in np.sort(np.concatenate([scores, (scores[:-1] + scores[1:]) / 2])):
        rejected, accepted = int((targets <= t).sum()), int((nontargets > t).sum())
        gap = abs(accepted * len(targets) - rejected * len(nontargets))
        found.append((gap, (accepted / len(nontargets) + rejected / len(targets)) / 2))
    return [rate for gap, rate in found if gap == min(found)[0]]


@pytest.mark.filterwarnings("ignore::voiceprivacy.eer.OrientationWarning")
def test_the_rule_equals_its_literal_loop():
    for trial in range(300):
        targets, nontargets = awkward_scores(np.random.default_rng(trial))
        assert speechbrain_eer(targets, nontargets) == pytest.approx(
            literal(targets, nontargets)[0], abs=1e-15
        )


@pytest.fixture(scope="module")
def of_speechbrain():
    """SpeechBrain's function, without the rest of SpeechBrain and its audio backends."""
    torch = pytest.importorskip("torch", reason="the speech extra is not installed")
    found = importlib.util.find_spec("speechbrain")
    if found is None:
        pytest.skip("the attack extra is not installed")
    source = found.submodule_search_locations[0] + "/utils/metric_stats.py"
    with open(source, encoding="utf-8") as file:
        text = file.read()
    start, end = text.index("def EER("), text.index("def minDCF(")
    module = types.ModuleType("speechbrain_eer")
    module.torch = torch
    exec(compile(text[start:end], source, "exec"), module.__dict__)

    def run(targets, nontargets):
        return module.EER(torch.from_numpy(targets), torch.from_numpy(nontargets))[0]

    return run


@pytest.mark.filterwarnings("ignore::voiceprivacy.eer.OrientationWarning")
def test_the_rule_equals_speechbrain_s(of_speechbrain):
    """Where two gaps tie, its float32 rates may choose either; elsewhere there is no choice."""
    for trial in range(200):
        targets, nontargets = awkward_scores(np.random.default_rng(trial))
        theirs = of_speechbrain(targets, nontargets)
        rates = literal(targets, nontargets)
        assert min(abs(theirs - rate) for rate in rates) < 1e-6
        if len(set(rates)) == 1:
            assert speechbrain_eer(targets, nontargets) == pytest.approx(theirs, abs=1e-6)
    rng = np.random.default_rng(0)
    targets = rng.normal(1, 1, 211).astype(np.float32)
    nontargets = rng.normal(0, 1, 1_999).astype(np.float32)
    theirs = of_speechbrain(targets, nontargets)
    assert speechbrain_eer(targets, nontargets) == pytest.approx(theirs, abs=1e-6)


# -- the convex hull ---------------------------------------------------------------------------


def test_the_hull_s_rule_equals_the_authors_package():
    theirs = pytest.importorskip("legal_eval", reason="the test extra is not installed").rocch_eer
    for trial in range(300):
        targets, nontargets = awkward_scores(np.random.default_rng(trial))
        expected = theirs(targets, nontargets)
        assert rocch_eer(targets, nontargets) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    ("targets", "nontargets", "expected"),
    [
        ([2, 3], [0, 1], 0.0),  # perfect
        ([0, 1], [2, 3], 0.5),  # worse than useless: a coin
        ([1, 1, 1], [1, 1], 0.5),  # constant
        ([1, 3], [2, 0], 0.25),  # half way between (FAR 1/2, FRR 0) and (0, 1/2)
        ([0.6, 0.6, 0.9], [0.6, 0.1, 0.2], 2 / 9),  # from (1/3, 0) to (0, 2/3)
    ],
)
def test_the_hull_s_rule_by_hand(targets, nontargets, expected):
    assert rocch_eer(np.array(targets), np.array(nontargets)) == pytest.approx(expected, abs=1e-15)


def test_the_hull_s_rule_for_two_gaussians():
    quantiles = norm.ppf((np.arange(100_000) + 0.5) / 100_000)
    for d in (0.5, 2.0, 4.0):
        assert rocch_eer(quantiles + d, quantiles) == pytest.approx(norm.cdf(-d / 2), abs=1e-4)


@pytest.mark.parametrize("seed", range(30))
def test_the_hull_never_errs_more(seed):
    targets, nontargets = awkward_scores(np.random.default_rng(seed))
    rate = rocch_eer(targets, nontargets)
    assert 0 <= rate <= 0.5
    thresholds = np.unique(np.concatenate([targets, nontargets]))
    larger = [max((targets <= t).mean(), (nontargets > t).mean()) for t in thresholds]
    assert rate <= min(larger) + 1e-12
    assert rocch_eer(3 * targets[::-1] + 1, 3 * nontargets + 1) == pytest.approx(rate, abs=1e-12)


# -- resamples of speakers ---------------------------------------------------------------------


def trials_of(rng, people=6, utterances=4):
    """A full product of enrolled and trial speakers, as sorted trials."""
    row, column = np.divmod(np.arange(people * people * utterances), people * utterances)
    column = column // utterances
    target = row == column
    scores = np.round(rng.normal(target * 1.0, 1), 1)
    order = np.argsort(scores, kind="stable")
    last = np.append(np.diff(scores[order]) > 0, True)
    return row[order], column[order], target[order], last, scores[order]


def test_weights_of_one_give_the_plain_eer():
    for seed in range(20):
        row, column, target, last, scores = trials_of(np.random.default_rng(seed))
        weights = np.ones((1, 6), np.int64)
        rate = resampled_eers(row, column, target, last, weights)[0]
        assert rate == speechbrain_eer(scores[target], scores[~target])


def test_weights_repeat_trials():
    """A speaker drawn w times repeats targets w times, nontargets as often as both together."""
    rng = np.random.default_rng(1)
    row, column, target, last, scores = trials_of(rng)
    weights = rng.multinomial(6, np.full(6, 1 / 6), size=50)
    rates = resampled_eers(row, column, target, last, weights)
    for w, rate in zip(weights, rates, strict=True):
        times = np.where(target, w[row], w[row] * w[column])
        repeated, kind = np.repeat(scores, times), np.repeat(target, times)
        assert rate == pytest.approx(literal(repeated[kind], repeated[~kind])[0], abs=1e-15)


def test_a_resample_without_targets_or_nontargets_has_no_eer():
    row, column, target, last, _ = trials_of(np.random.default_rng(2), people=2)
    weights = np.array([[2, 0], [0, 0], [1, 1]])
    rates = resampled_eers(row, column, target, last, weights)
    assert np.isnan(rates).tolist() == [True, True, False]


def test_the_rule_needs_neither_torch_nor_speechbrain():
    script = "import sys, voiceprivacy.eer; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
