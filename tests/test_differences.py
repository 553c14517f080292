"""Paired differences between evaluations of the same targets."""

import dataclasses

import numpy as np
import pandas as pd
import pytest

from voiceprivacy.differences import fall_with_size, overview, paired_differences
from voiceprivacy.errors import VoicePrivacyError
from voiceprivacy.intervals import cluster_standard_error
from voiceprivacy.isolation import Isolation


def run(rates, fractions=(1.0,), sizes=(10, 30)):
    """An evaluation in which target t is isolated in rates[t] of ten splits, at every level."""
    isolated = np.arange(10)[:, None] < 10 * np.asarray(rates)[:, None, None]  # (T, 10, 1)
    shape = (len(fractions), len(rates), 10, 1, len(sizes), 2)
    isolated = np.broadcast_to(isolated[None, :, :, :, None, None], shape).copy()
    isolated[:-1] = False
    return Isolation(
        targets=np.array([f"t{t}" for t in range(len(rates))]),
        levels=("signal only", "OA"),
        sizes=np.array(sizes),
        known_fractions=fractions,
        conversation_length=1,
        isolated=isolated,
        threshold=np.zeros(shape),
        block=np.full((len(fractions), len(rates), 1, len(sizes), 2), 5),
        target_known=np.ones((len(fractions), len(rates), 1), bool),
        n_calibration=np.full(len(rates), 9),
        side_information=pd.DataFrame(index=[f"t{t}" for t in range(len(rates))]),
        counts={},
    )


def test_differences_are_paired_by_target():
    a, b = [0.1, 0.9, 0.5], [0.2, 1.0, 0.9]
    table = paired_differences({"a": run(a), "b": run(b)})
    assert table[["first", "second"]].drop_duplicates().values.tolist() == [["a", "b"]]
    assert table[["level", "n_speakers"]].values.tolist() == [
        ["signal only", 10],
        ["OA", 10],
        ["signal only", 30],
        ["OA", 30],
    ]
    np.testing.assert_allclose(table["difference"], 0.2)
    # The spread of 0.1, 0.1, 0.4: not that of two samples of rates that differ by 0.8.
    np.testing.assert_allclose(
        table["difference_se"], cluster_standard_error(np.array([0.1, 0.1, 0.4]))
    )
    assert (table["difference_low"] >= 0.1).all()
    assert (table["difference_high"] <= 0.4).all()


def test_every_pair_appears_once():
    table = paired_differences({name: run([0.5, 0.5]) for name in "abc"})
    pairs = table[["first", "second"]].drop_duplicates().values.tolist()
    assert pairs == [["a", "b"], ["a", "c"], ["b", "c"]]
    assert (table["difference"] == 0).all()
    assert (table["difference_high"] == 0).all()


def test_groups_of_targets_have_their_own_difference():
    towns = pd.DataFrame({"town": ["x", "y", "x"]}, index=["t0", "t1", "t2"])
    a = dataclasses.replace(run([0.1, 0.9, 0.5]), side_information=towns)
    b = run([0.2, 1.0, 0.9])
    table = paired_differences({"a": a, "b": b}, by="town").query("n_speakers == 10")
    assert table[["town", "level"]].values.tolist() == [
        ["x", "signal only"],
        ["x", "OA"],
        ["y", "signal only"],
        ["y", "OA"],
    ]
    np.testing.assert_allclose(table["difference"], [0.25, 0.25, 0.1, 0.1])
    with pytest.raises(VoicePrivacyError, match="by is 'street'; expected one of 'town'"):
        paired_differences({"a": a, "b": b}, by="street")


def test_the_overview_names_the_largest():
    table = paired_differences({"a": run([0.2, 0.4]), "b": run([0.4, 0.5]), "c": run([0.2, 0.5])})
    found = overview(table.query("level == 'OA' and n_speakers == 30"))  # 0.15, 0.05 and -0.1
    assert found["differences"] == 3
    assert found[["first", "second", "level", "n_speakers"]].tolist() == ["a", "b", "OA", 30]
    assert found["largest"] == pytest.approx(0.15)
    assert found["mean absolute difference"] == pytest.approx(0.1)
    assert found["typical standard error"] == pytest.approx(0.05)
    assert found["largest in standard errors"] == pytest.approx(3)
    assert found["intervals without 0"] == pytest.approx(1 / 3)


def test_only_full_knowledge_is_compared():
    table = paired_differences({"a": run([0.4, 0.4], (0.1, 1.0)), "b": run([0.6, 0.6])})
    np.testing.assert_allclose(table["difference"], 0.2)


@pytest.mark.parametrize(
    ("other", "axis"),
    [
        (run([0.5, 0.5], sizes=(10, 40)), "sizes"),
        (run([0.5, 0.5, 0.5]), "targets"),
        (dataclasses.replace(run([0.5, 0.5]), levels=("signal only", "LSOA")), "levels"),
    ],
)
def test_unlike_runs_are_refused(other, axis):
    with pytest.raises(VoicePrivacyError, match=f"run 'b' has other {axis} than 'a'"):
        paired_differences({"a": run([0.5, 0.5]), "b": other})


def test_partial_knowledge_alone_is_refused():
    with pytest.raises(VoicePrivacyError, match=r"'a' knows \(0.5,\).*include 1.0"):
        paired_differences({"a": run([0.5, 0.5], (0.5,)), "b": run([0.5, 0.5])})


def test_one_run_makes_no_pair():
    with pytest.raises(VoicePrivacyError, match="two or more"):
        paired_differences({"a": run([0.5, 0.5])})


def test_the_fall_with_size_is_paired_and_of_the_signal_alone():
    evaluated = run([0.9, 0.5, 0.7])
    evaluated.isolated[:, :, 1, :, 1, 0] = False  # one split of ten isolates nobody at N = 30
    evaluated.isolated[..., 1] = True
    assert fall_with_size(evaluated, 10, 30) == pytest.approx((0.1, 0.1, 0.1))
    with pytest.raises(VoicePrivacyError, match=r"no evaluation at N = 400; there are \[10, 30\]"):
        fall_with_size(evaluated, 10, 400)
