"""Clustered intervals: closed forms, coverage, missing targets, extremes."""

import numpy as np
import pytest
from scipy import stats

from voiceprivacy.errors import VoicePrivacyError
from voiceprivacy.intervals import (
    cluster_bootstrap,
    cluster_standard_error,
    two_way_interval,
    wilson,
    wilson_of,
)


def test_standard_error_is_the_closed_form():
    means = np.random.default_rng(1).random((40, 3, 2))
    np.testing.assert_allclose(cluster_standard_error(means), stats.sem(means, axis=0))


def test_missing_targets_leave_a_cell_as_if_never_there():
    means = np.random.default_rng(2).random((30, 2))
    holed = means.copy()
    holed[20:, 1] = np.nan
    error = cluster_standard_error(holed)
    np.testing.assert_allclose(error, [stats.sem(means[:, 0]), stats.sem(means[:20, 1])])
    low, high = cluster_bootstrap(holed)
    whole = cluster_bootstrap(means)
    assert (low[0], high[0]) == (whole[0][0], whole[1][0])
    # The other cell keeps 20 targets: the normal interval of those, and a wider one than all 30.
    centre, half = means[:20, 1].mean(), 1.96 * stats.sem(means[:20, 1])
    np.testing.assert_allclose([low[1], high[1]], [centre - half, centre + half], atol=0.02)


def test_bootstrap_agrees_with_the_normal_interval_of_many_targets():
    means = np.random.default_rng(3).random(2000)
    half = 1.96 * stats.sem(means)
    np.testing.assert_allclose(
        cluster_bootstrap(means), (means.mean() - half, means.mean() + half), atol=half / 8
    )


def test_bootstrap_covers_as_often_as_it_says():
    # Each target has its own success rate; 20 evaluations a target share it.
    rng = np.random.default_rng(4)
    rates = rng.beta(2, 3, size=(100, 1000))
    means = rng.binomial(20, rates) / 20
    low, high = cluster_bootstrap(means, replicates=1000)
    assert 0.92 < np.mean((low <= 0.4) & (high >= 0.4)) < 0.97


def test_same_seed_same_bytes_and_cells_do_not_disturb_each_other():
    means = np.random.default_rng(5).random((50, 4, 3))
    first, again = cluster_bootstrap(means, seed=7), cluster_bootstrap(means, seed=7)
    assert first[0].tobytes() == again[0].tobytes()
    assert first[1].tobytes() == again[1].tobytes()
    alone = cluster_bootstrap(means[:, 2, 1], seed=7)
    assert (first[0][2, 1], first[1][2, 1]) == alone
    assert cluster_bootstrap(means[:, 2, 1], seed=8) != alone


def test_shapes_follow_the_trailing_axes():
    low, high = cluster_bootstrap(np.ones((5, 2, 3)))
    assert low.shape == high.shape == (2, 3)
    assert isinstance(cluster_bootstrap(np.arange(5.0))[0], float)
    assert isinstance(cluster_standard_error(np.arange(5.0)), float)


def test_equal_targets_have_an_interval_of_no_width():
    assert cluster_bootstrap(np.full(9, 0.25)) == (0.25, 0.25)
    assert cluster_standard_error(np.full(9, 0.25)) == 0


def test_one_target_says_nothing_about_others():
    assert np.isnan(cluster_standard_error(np.array([0.4])))
    assert np.isnan(cluster_bootstrap(np.array([0.4]))).all()
    one_left = np.array([[0.1, np.nan], [0.2, 0.5], [0.4, np.nan]])
    assert np.isnan(cluster_bootstrap(one_left)[0]).tolist() == [False, True]
    assert np.isnan(cluster_standard_error(one_left)).tolist() == [False, True]


def test_a_cell_with_few_targets_survives_replicates_that_drew_none():
    sparse = np.full((40, 1), np.nan)
    sparse[:2, 0] = 0.0, 1.0
    low, high = cluster_bootstrap(sparse)
    assert (low[0], high[0]) == (0, 1)


def test_wilson_matches_scipy_and_stays_inside():
    for successes, trials in [(0, 7), (7, 7), (1, 1), (3, 50), (49, 50)]:
        expected = stats.binomtest(successes, trials).proportion_ci(0.9, method="wilson")
        low, high = wilson(successes, trials, 0.9)
        np.testing.assert_allclose((low, high), (expected.low, expected.high), atol=1e-12)
        assert 0 <= low <= high <= 1
    assert wilson(0, 7)[0] == 0
    assert wilson(7, 7)[1] == 1


def test_wilson_takes_arrays_and_knows_nothing_without_trials():
    low, high = wilson(np.array([0, 2, 4]), np.array([0, 4, 4]))
    assert np.isnan(low).tolist() == np.isnan(high).tolist() == [True, False, False]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: cluster_bootstrap(np.array([])), r"shape \(targets, ...\); got shape \(0,\)"),
        (lambda: cluster_standard_error(np.array(0.5)), "one mean a target"),
        (lambda: cluster_bootstrap(np.ones(3), confidence=95), "between 0 and 1.*got 95"),
        (lambda: wilson(3, 2), "between 0 and the number of trials"),
        (lambda: wilson(-1, 2), "between 0 and the number of trials"),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(VoicePrivacyError, match=message):
        call()


# -- targets and splits ------------------------------------------------------------------------


def test_two_ways_are_one_where_the_other_does_not_matter():
    """Splits that move nobody leave the error by targets; targets alike, that by splits."""
    rng = np.random.default_rng(0)
    targets, splits = rng.normal(size=30), rng.normal(size=10)
    error, low, high = two_way_interval(np.repeat(targets[:, None], 10, axis=1))
    assert error == pytest.approx(stats.sem(targets))
    half = stats.t.ppf(0.975, 29) * stats.sem(targets)
    assert (low, high) == pytest.approx((targets.mean() - half, targets.mean() + half))
    error, low, high = two_way_interval(np.tile(splits, (30, 1)))
    assert error == pytest.approx(stats.sem(splits))
    assert high - low == pytest.approx(2 * stats.t.ppf(0.975, 9) * stats.sem(splits))


def test_two_ways_cover_sums_of_effects():
    rng = np.random.default_rng(1)
    effects = rng.normal(size=(400, 25, 1)) + rng.normal(size=(400, 1, 8))
    values = np.moveaxis(effects + rng.normal(size=(400, 25, 8)), 0, -1)
    _, low, high = two_way_interval(values)
    assert 0.92 <= ((low <= 0) & (high >= 0)).mean() <= 0.98


def test_two_ways_leave_out_targets_without_a_value():
    means = np.random.default_rng(2).random((6, 4, 2))
    holed = means.copy()
    holed[3:, :, 1] = np.nan
    found = np.array(two_way_interval(holed))
    np.testing.assert_allclose(found[:, 0], np.array(two_way_interval(means))[:, 0])
    np.testing.assert_allclose(found[:, 1], np.array(two_way_interval(means[:3]))[:, 1])
    holed[1:, :, 1] = np.nan
    assert np.isnan(np.array(two_way_interval(holed))[:, 1]).all()


def test_a_constant_has_no_width():
    assert [float(x) for x in two_way_interval(np.full((5, 3), 0.25))] == [0, 0.25, 0.25]


def test_wilson_s_interval_of_a_known_error():
    exact = wilson_of(0.3, np.sqrt(0.3 * 0.7 / 50), 7)
    assert exact == pytest.approx(wilson(15, 50))
    assert wilson_of(1.0, 0.0, 40) == wilson(40, 40)  # as many independent trials as units
    assert np.isnan(wilson_of(0.5, 0.1, 1)).all()
