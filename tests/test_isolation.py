"""The summary of an evaluation: means, groups, and gains over the signal."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from voiceprivacy.intervals import cluster_standard_error, two_way_interval
from voiceprivacy.isolation import Isolation


@pytest.fixture
def result():
    """Three targets, one draw, ten splits, one size; the first target is unknown at 0.5."""
    alone, area = np.array([1, 5, 9]), np.array([1, 7, 10])
    rates = np.array([[alone, alone], [alone, area]])  # by fraction, level, target
    rates[0, 1, 1:] = area[1:]
    isolated = np.arange(10)[:, None, None] < np.moveaxis(rates, 1, 2)[:, :, None, None, :]
    return Isolation(
        targets=np.array(["a", "b", "c"]),
        levels=("signal only", "OA"),
        sizes=np.array([30]),
        known_fractions=(0.5, 1.0),
        conversation_length=1,
        isolated=isolated[:, :, :, None, :, :],
        threshold=np.zeros((2, 3, 10, 1, 1, 2)),
        block=np.broadcast_to([30, 5], (2, 3, 1, 1, 2)),
        target_known=np.array([[False, True, True], [True, True, True]])[:, :, None],
        n_calibration=np.full(3, 9),
        side_information=pd.DataFrame({"OA": list("xxy")}, index=["a", "b", "c"]),
        counts={},
    )


def test_the_gain_is_paired_with_the_same_targets_signal(result):
    table = result.summary().query("known_fraction == 1").set_index("level")
    assert (
        table.loc["signal only", ["gain", "gain_se", "gain_low", "gain_high"]].tolist() == [0] * 4
    )
    gains = (result.isolated[1, :, :, 0, 0, 1] ^ result.isolated[1, :, :, 0, 0, 0]).astype(float)
    assert gains.mean(axis=1).tolist() == [0.0, 0.2, 0.1]
    error, low, high = two_way_interval(gains)
    assert table.loc["OA", "gain"] == pytest.approx(0.1)
    row = table.loc["OA", ["gain_se", "gain_low", "gain_high"]].tolist()
    assert row == pytest.approx([float(error), float(low), float(high)])


def test_one_split_leaves_targets_as_clusters(result):
    once = replace(result, isolated=result.isolated[:, :, :1])
    table = once.summary().query("known_fraction == 1").set_index("level")
    observed = once.isolated[1, :, 0, 0, 0, 1].astype(float)
    assert table.loc["OA", "observed_se"] == pytest.approx(cluster_standard_error(observed))


def test_known_and_unknown_targets_have_their_own_gain(result):
    table = result.summary(by="known").query("known_fraction == 0.5 and level == 'OA'")
    gains = dict(zip(table["known"], table["gain"], strict=True))
    assert gains == {False: 0, True: pytest.approx(0.15)}


def test_targets_that_all_agree_leave_an_interval(result):
    """Three of three isolated say less than certainty, unless each was alone in its block."""
    every = np.ones_like(result.isolated)
    block = np.broadcast_to([30, 1], (2, 3, 1, 1, 2))
    table = replace(result, isolated=every, block=block).summary().query("known_fraction == 1")
    rows = table.set_index("level")[["observed_low", "observed_high"]]
    assert rows.loc["signal only"].tolist() == pytest.approx([3 / (3 + 1.96**2), 1], abs=1e-3)
    assert rows.loc["OA"].tolist() == [1, 1]
