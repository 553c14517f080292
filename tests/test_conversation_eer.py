"""EER of conversations: rules, numbers of speakers, and how sure it is."""

import numpy as np
import pytest
from scipy.stats import norm
from test_conversation_trials import speech

from voiceprivacy.conversation_eer import (
    ConversationEer,
    _student,
    _weights,
    conversation_eer,
)
from voiceprivacy.conversation_trials import draw_trials
from voiceprivacy.eer import rocch_eer, speechbrain_eer
from voiceprivacy.errors import VoicePrivacyError
from voiceprivacy.intervals import wilson_of

PEOPLE = {f"s{i:02d}": 3 for i in range(40)}


@pytest.fixture(scope="module")
def trials():
    """Forty speakers whose enrolment is their test with noise."""
    test = speech("t", PEOPLE, dimension=6)
    voices = np.repeat(test.matrix[::3], 3, axis=0)
    enrolment = speech("e", PEOPLE, dimension=6, seed=1)
    object.__setattr__(enrolment, "matrix", enrolment.matrix + voices)
    return draw_trials(test, enrolment, length=2, draws=2)


def scores(trials, draw):
    """Own and other scores of all trials, literally."""
    matrix = trials.tests[draw] @ trials.enrolled.T
    own = np.eye(len(matrix), dtype=bool)
    return matrix[own], matrix[~own]


def made(targets, nontargets, others=None):
    """Given scores, (draws, T) and (draws, T, C); one draw may come without its axis."""
    targets = np.atleast_2d(targets)
    nontargets = np.reshape(nontargets, (*targets.shape, -1))
    n = targets.shape[1]
    if others is None:
        others = np.random.default_rng(1).integers(0, n, nontargets.shape)
    others = np.reshape(others, nontargets.shape)
    return ConversationEer(np.arange(n), targets, nontargets, others, np.arange(n), n, 1)


@pytest.mark.parametrize(("rule", "eer"), [("ROCCH", rocch_eer), ("SpeechBrain", speechbrain_eer)])
def test_all_trials_give_the_rule_s_rate(trials, rule, eer):
    found = conversation_eer(trials, max_nontargets=None)
    expected = [eer(*scores(trials, draw)) for draw in range(2)]
    assert found.rates(40, rule) == pytest.approx(expected, abs=1e-3)
    row = found.summary(rule=rule).iloc[0]
    assert row["observed"] == pytest.approx(np.mean(expected), abs=1e-3)
    assert (row["n_speakers"], row["rule"], row["chance"]) == (40, rule, 0.5)
    assert 0 < row["observed_low"] < row["observed_high"] < 1


def test_nontargets_are_distinct_others(trials):
    found = conversation_eer(trials, max_nontargets=9)
    assert found.others.shape == (2, 40, 9)
    assert (found.others != trials.own[None, :, None]).all()
    assert all(len(set(row)) == 9 for row in found.others.reshape(-1, 9).tolist())
    matrix = trials.tests[1] @ trials.enrolled.T
    expected = np.take_along_axis(matrix, found.others[1], axis=1)
    np.testing.assert_allclose(found.nontargets[1], expected, atol=1e-6)


def test_fewer_speakers_are_fewer_nontargets(trials):
    found = conversation_eer(trials)
    first = rocch_eer(found.targets[0], found.nontargets[0, :, :4])
    assert found.rates(5)[0] == first
    assert conversation_eer(trials, seed=3).rates(5)[0] != first


def test_perfect_scores_have_a_width(trials):
    found = conversation_eer(trials)
    perfect = ConversationEer(
        found.speakers, found.targets + 9, found.nontargets, found.others, found.own, 40, 2
    )
    row = perfect.summary().iloc[0]
    assert row["observed"] == row["observed_low"] == 0
    assert row["observed_high"] == pytest.approx(1.96**2 / (40 + 1.96**2), rel=1e-3)


def test_the_standard_error_of_independent_gaussians():
    """Targets apart by d, others by chance: the delta method in closed form."""
    rng, d, n, m = np.random.default_rng(0), 1.0, 400, 60
    errors, rates = [], []
    for _ in range(60):
        found = made(rng.normal(d, 1, n), rng.normal(size=(n, m)))
        errors.append(found.standard_error(m + 1))
        rates.append(found.rates(m + 1, "SpeechBrain")[0])
    assert np.mean(rates) == pytest.approx(norm.cdf(-d / 2), abs=0.01)
    # Nontargets are plenty: half of the targets' error, as both slopes are alike.
    p = norm.cdf(-d / 2)
    assert np.mean(errors) == pytest.approx(0.5 * np.sqrt(p * (1 - p) / n), rel=0.15)
    assert np.std(rates) == pytest.approx(np.mean(errors), rel=0.25)


def test_speakers_tried_against_count_in_the_error():
    """Half of a nontarget score is the other speaker's, so that many tests help little."""
    rng, n = np.random.default_rng(0), 60
    others = np.array([np.delete(np.arange(n), i) for i in range(n)])
    errors, rates = [], []
    for _ in range(100):
        scores = rng.normal(size=n)[others] + rng.normal(size=others.shape)
        found = made(rng.normal(2, 0.5, n), scores, others)
        errors.append(found.standard_error(n))
        rates.append(found.rates(n, "SpeechBrain")[0])
    assert np.std(rates) == pytest.approx(np.mean(errors), rel=0.2)


def test_an_interval_holds_its_estimate():
    """The hull errs less than SpeechBrain's rule where trials are few, and here and there more."""
    rng, n = np.random.default_rng(0), 900
    few = made(rng.normal(size=(400, 20)), rng.normal(size=(400, 20, 19)))
    more = made(np.tile([0.6, 0.6, 0.9], n // 3), np.tile([[0.6, 0.1, 0.2]], (n, 1)))
    for found, end in ((few, "observed_low"), (more, "observed_high")):
        row = found.summary([4]).iloc[0]
        assert row["observed"] == row[end]


def test_the_interval_is_wilson_s_with_student_s_quantile(trials):
    found = conversation_eer(trials)
    row = found.summary(rule="SpeechBrain").iloc[0]
    error = row["observed_se"] * 2.022691 / 1.959964  # Student's with 39 degrees of freedom
    expected = wilson_of(row["observed"], error, 40)
    assert (row["observed_low"], row["observed_high"]) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("d", [1.5, 3.0, 6.0])
def test_the_eer_follows_the_flatter_rate(d):
    """Targets d apart and twice as wide: their rate rises half as fast where both are equal."""
    quantiles = norm.ppf((np.arange(100_000) + 0.5) / 100_000)
    weights = _weights(d + 2 * quantiles, quantiles, norm.cdf(-d / 3))
    assert weights == pytest.approx((2 / 3, 1 / 3), abs=1e-3)


def test_few_targets_make_an_interval_wider():
    assert _student(10**6, 0.95) == pytest.approx(1, abs=1e-5)
    assert _student(5, 0.95) == pytest.approx(2.776445 / 1.959964, abs=1e-6)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sizes": [41]}, "40 speakers are enrolled"),
        ({"sizes": []}, "No sizes: 40 speakers are enrolled"),
        ({"sizes": [1]}, "needs two or more enrolled speakers"),
        ({"rule": "EER"}, "rule 'EER'; expected one of 'ROCCH', 'SpeechBrain'"),
    ],
)
def test_what_cannot_be_told_is_refused(trials, options, message):
    with pytest.raises(VoicePrivacyError, match=message):
        conversation_eer(trials).summary(**options)


@pytest.mark.parametrize("most", [0, -1, 2.5])
def test_a_number_of_nontargets_is_a_number(trials, most):
    with pytest.raises(VoicePrivacyError, match=f"max_nontargets is {most}; expected a whole"):
        conversation_eer(trials, max_nontargets=most)
