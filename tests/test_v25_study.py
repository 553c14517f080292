"""The 2025 study on simulated attackers, and its panels."""

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from voiceprivacy.comparison import compare
from voiceprivacy.errors import VoicePrivacyError
from voiceprivacy.evidence import evidence_of
from voiceprivacy.published import published, v25_curves
from voiceprivacy.v25_plots import nine_panels, residual_panels
from voiceprivacy.v25_study import beside_published, printed_numbers, residuals, simulated_panels

SMALL = {"n_candidates": 150, "n_tests": 60, "n_targets": 20, "draws": 1, "splits": 2}


@pytest.fixture(scope="module")
def panels():
    parts = [simulated_panels(a, n, **SMALL) for a in ("original", "ignorant") for n in (1, 30)]
    return pd.concat(parts, ignore_index=True)


def test_every_metric_has_its_sizes(panels):
    sizes = panels.groupby(["metric", "conversation_length"])["n_speakers"].unique()
    assert sizes["singling out", 1].tolist() == [30, 100]
    assert sizes["singling out", 30].tolist() == [30]  # among the tested alone
    assert sizes["linkability", 30].tolist() == [20]
    assert sizes["EER", 1].tolist() == [20, 80]


def test_the_same_seed_gives_the_same_numbers():
    first, again = (simulated_panels("informed", 1, **SMALL) for _ in range(2))
    pd.testing.assert_frame_equal(first, again)


def test_better_attackers_and_longer_conversations_find_more(panels):
    link = panels.query("metric == 'linkability'").set_index(["attacker", "conversation_length"])
    assert link.loc[("original", 30), "observed"] > link.loc[("original", 1), "observed"]
    assert link.loc[("original", 1), "observed"] > link.loc[("ignorant", 1), "observed"] + 0.3


def test_residuals_are_observed_minus_published(panels):
    table = beside_published(panels)
    assert len(table) == len(panels)  # every size is a point of a published curve
    curves = v25_curves().set_index(["metric", "attacker", "conversation_length", "n"])["value"]
    for row in table.itertuples():
        key = row.metric.lower(), row.attacker, row.conversation_length, row.n_speakers
        assert row.published == curves[key]
        assert row.residual == pytest.approx(row.observed - row.published)
        assert row.inside == (row.observed_low <= row.published <= row.observed_high)
    means = residuals(table).set_index(["metric", "attacker"])
    own = table.query("metric == 'EER' and attacker == 'ignorant'")["residual"]
    assert means.loc[("EER", "ignorant"), "mean absolute"] == pytest.approx(own.abs().mean())


def test_numbers_in_the_text_are_found_in_the_panels_or_say_what_is_missing(panels):
    table = compare(printed_numbers(panels), evidence=evidence_of("simulated"), paper="V25")
    table = table.set_index("item")
    assert list(table.index) == list(published("V25").query("locator == 'Sec. 5'")["item"])
    at = "metric == 'linkability' and attacker == 'original' and conversation_length == 30"
    own = panels.query(f"{at} and n_speakers == 20").iloc[0]
    found = table.loc["linkability_original_L30_N20", ["reproduced", "low", "high"]]
    assert found.tolist() == own[["observed", "observed_low", "observed_high"]].tolist()
    missing = table["note"][table["verdict"] == "not run"]
    assert missing["linkability_original_L1_N10000"] == "missing: a run with N = 10,000 speakers"
    assert missing["linkability_original_L3_N20"] == "missing: a run with N = 20 speakers"
    assert missing["one_minus_eer_level"].startswith("missing: the number of speakers or the")
    moved = panels.assign(n_speakers=panels["n_speakers"].replace(20, 10_120))
    assert printed_numbers(moved)["linkability_original_L1_N10000"][0] > 0.5


def test_an_unknown_attacker_is_refused():
    with pytest.raises(VoicePrivacyError, match="attacker 'clever'; expected one of original"):
        simulated_panels("clever", 1)


def test_nine_panels_hold_both_sources(panels):
    published = v25_curves().replace({"metric": {"eer": "EER"}})
    fig = nine_panels(published, panels)
    assert len(fig.axes) == 9
    lowest = fig.axes[6]  # 1 - EER at L = 1
    drawn = {line.get_label(): line.get_ydata() for line in lowest.lines}
    own = panels.query("metric == 'EER' and attacker == 'original' and conversation_length == 1")
    np.testing.assert_allclose(drawn["original"], 1 - own["observed"])
    assert drawn["ignorant, published"].max() < 0.7
    assert len(residual_panels(beside_published(panels)).axes) == 3
    plt.close("all")
