"""Chance levels against closed forms, and the simulation against both."""

import numpy as np
import pytest

from voiceprivacy.errors import VoicePrivacyError
from voiceprivacy.reference import (
    chance_level,
    conditional_reference,
    midpoint_chance_limit,
    simulated_chance_level,
)


def test_the_reference_at_a_mean_block_between_one_and_two_is_the_formula():
    n = np.array([1, 1.01, 1.28, 1.7])
    expected = [1, *(1 - 1 / n[1:]) ** (n[1:] - 1)]
    assert conditional_reference(n) == pytest.approx(expected, rel=1e-12)


def test_the_midpoint_limit_has_a_closed_form_at_one_calibration_conversation():
    assert midpoint_chance_limit(1) == pytest.approx(4 * np.log(2) - 2.5, abs=1e-9)
    assert midpoint_chance_limit(1000) == pytest.approx(np.exp(-1), abs=1e-3)


@pytest.mark.parametrize("m", [1, 2, 9])
def test_the_midpoint_limit_is_met_by_exponential_scores(m):
    # The largest of many exponential scores, in units of one: minus the log of Poisson times.
    rng = np.random.default_rng(0)
    times = rng.exponential(size=(200_000, m + 1)).cumsum(axis=1)
    threshold = -np.log(times[:, m - 1 :]).mean(axis=1)
    tests = rng.poisson(np.exp(-threshold) / m)
    assert (tests == 1).mean() == pytest.approx(midpoint_chance_limit(m), abs=0.004)


@pytest.mark.parametrize(("n", "m"), [(2, 9), (5, 3), (19, 9), (100, 20)])
def test_exchangeable_scores_isolate_at_the_exact_level(n, m):
    level, error = simulated_chance_level(n, m, trials=8_000)
    # A midpoint between two ranks that give the same level moves it by less than this.
    assert abs(level - chance_level(n, m)) < 4 * error + 0.002


def test_the_midpoint_lifts_the_level_of_a_single_calibration_conversation():
    level, error = simulated_chance_level(300, 1, trials=20_000)
    assert level - 4 * error > chance_level(300, 1)
    assert abs(level - midpoint_chance_limit(1)) < 4 * error + 0.01


@pytest.mark.parametrize(
    ("correlation", "shared", "low", "high"),
    [(0.8, True, 0.39, 0.45), (0.8, False, 0.29, 0.34), (1.0, True, 1.0, 1.0)],
)
def test_correlation_lifts_the_level_if_the_test_shares_it_and_lowers_it_if_not(
    correlation, shared, low, high
):
    level, _ = simulated_chance_level(
        200, 9, correlation=correlation, shared_by_test=shared, trials=4_000
    )
    assert low <= level <= high


@pytest.mark.parametrize(
    "wrong", [{"block_size": 1}, {"n_calibration": 0}, {"correlation": 1.5}, {"trials": 0}]
)
def test_what_cannot_be_simulated_is_refused(wrong):
    with pytest.raises(VoicePrivacyError, match="cannot simulate"):
        simulated_chance_level(**{"block_size": 5} | wrong)
