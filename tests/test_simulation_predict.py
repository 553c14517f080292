"""Quick predictions: closed forms, other implementations, and the published numbers."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from voiceprivacy.errors import VoicePrivacyError
from voiceprivacy.reference import chance_level
from voiceprivacy.simulation import PRESETS, fitted_and_predicted, simulate
from voiceprivacy.simulation_predict import _eer, _linkability, _unit_means, predict
from voiceprivacy.singling_out import isolate
from voiceprivacy.speaker_model import SpeakerModel

PERFECT = SpeakerModel(d=64, w=0, b=0, h=0, c=0)
USELESS = SpeakerModel(d=1, w=1000, b=0, h=0, c=0, u=0)


def points(**columns):
    return pd.DataFrame({"metric": "singling out", "conversation_length": 1, **columns})


def scores(n_tests, n_candidates, signal=1.0, seed=0):
    values = np.random.default_rng(seed).normal(size=(n_tests, n_candidates))
    values[np.arange(n_tests), np.arange(n_tests)] += signal
    return values


def test_a_useless_extractor_is_at_chance():
    table = points(
        metric=["singling out", "linkability", "EER"], n=[200, 4, 20], conversation_length=1
    )
    so, linkability, eer = predict(USELESS, table, n_targets=800)
    assert so == pytest.approx(chance_level(200, 9), abs=0.04)
    assert linkability == pytest.approx(1 / 4, abs=0.04)
    assert eer == pytest.approx(0.5, abs=0.03)


def test_a_perfect_extractor_never_fails():
    table = points(metric=["singling out"] * 3 + ["linkability"], n=[2, 50, 200, 100])
    assert predict(PERFECT, table, n_targets=50).tolist() == [1, 1, 1, 1]


def test_a_conversation_is_a_unit_vector():
    means = _unit_means(np.random.default_rng(0).normal(size=(5, 3, 8)))
    np.testing.assert_allclose(np.linalg.norm(means, axis=1), 1)


def test_long_conversations_take_more_utterances():
    table = points(conversation_length=[1, 6], n=30)
    short, long = predict(PRESETS["informed"], table, n_targets=60, n_utterances=20)
    assert short + 0.1 < long
    with pytest.raises(VoicePrivacyError):
        predict(PRESETS["informed"], table, n_targets=60, n_utterances=11)


def test_predictions_come_in_the_order_of_the_rows():
    table = points(
        metric=["EER", "singling out", "linkability", "singling out"],
        conversation_length=[3, 3, 1, 1],
        n=[20, 60, 20, 30],
    )
    all_at_once = predict(PRESETS["informed"], table, n_targets=60)
    backwards = predict(PRESETS["informed"], table.iloc[::-1], n_targets=60)
    np.testing.assert_allclose(all_at_once, backwards[::-1])
    assert all_at_once[0] < all_at_once[1]


@pytest.mark.parametrize("n", [1, 2, 7, 30])
def test_linkability_is_the_mean_over_random_candidate_sets(n):
    values, rng = scores(30, 35), np.random.default_rng(1)
    linked = []
    for t in range(30):
        others = np.delete(np.arange(35), t)
        for _ in range(200):
            rivals = rng.choice(others, n - 1, replace=False)
            linked.append(values[t, t] > values[t, rivals].max(initial=-np.inf))
    assert _linkability(values, n) == pytest.approx(np.mean(linked), abs=0.02)


def test_eer_by_hand():
    # Targets 1 and 3, others 0 and 2. The ROC has (miss, alarm) = (0, 1/2) and (1/2, 0).
    assert _eer(np.array([[1.0, 0.0], [2.0, 3.0]])) == pytest.approx(0.25, abs=1e-5)


def test_eer_of_gaussians():
    # Unit Gaussians two standard deviations apart: the error at the midpoint is Phi(-1).
    assert _eer(scores(2000, 2000, signal=2)) == pytest.approx(0.1587, abs=0.015)


@pytest.mark.parametrize("signal", [0, 0.5, 2])
def test_eer_agrees_with_another_implementation(signal):
    other = pytest.importorskip("legal_eval.metrics.eer", reason="legal_eval is not installed")
    values = scores(60, 60, signal)
    off = values[~np.eye(60, dtype=bool)]
    assert _eer(values) == pytest.approx(other.rocch_eer(np.diagonal(values), off), abs=1e-4)


@pytest.mark.parametrize("n", [2, 10, 50])
def test_linkability_agrees_with_another_implementation(n):
    io = pytest.importorskip("legal_eval.io", reason="legal_eval is not installed")
    from legal_eval.metrics.linkability import linkability

    values, names = scores(40, 50, 1.5), [str(i) for i in range(50)]
    expected = linkability(io.ScoreMatrix(values.T, names, names[:40], {}), n, estimator="exact")
    assert _linkability(values, n) == pytest.approx(expected[0], abs=1e-9)


def test_a_level_that_everybody_shares_is_the_signal_alone():
    table = points(n=[100, 100], level=["", "country"])
    signal, country = predict(
        PRESETS["informed"], table, levels={"country": np.ones(100)}, n_targets=100
    )
    assert country == pytest.approx(signal, abs=1e-9)


def test_a_level_that_nobody_shares_isolates_by_itself():
    table = points(n=[100], level="home")
    assert predict(USELESS, table, levels={"home": np.full(9, 1e-9)}, n_targets=50) == [1]


def test_blocks_are_mixed_as_in_the_full_protocol():
    model, n = PRESETS["si_semi_informed"], 600
    speakers = [f"{i:05d}" for i in range(n)]
    areas = pd.Series(np.random.default_rng(0).integers(0, 20, n).astype(str), index=speakers)
    shares = areas.map(areas.value_counts(normalize=True)).to_numpy()
    mixed = predict(model, points(n=[300], level="area"), levels={"area": shares}, n_targets=n)
    corpus = simulate(model, pd.DataFrame({"speaker": speakers}), targets=speakers)
    full = isolate(
        corpus.pool, corpus.enrolment, sizes=[300], side_information=areas.to_frame("area"),
        targets="all", draws=2, splits=3,
    )  # fmt: skip
    assert mixed[0] == pytest.approx(full.isolated[..., 1].mean(), abs=0.025)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (points(n=[30]).drop(columns="n"), "no column 'n'"),
        (points(n=[30], metric="minDCF"), "metric 'minDCF', expected one of 'singling out'"),
        (points(n=[30, 0]), "n is not a whole number >= 1 in row 1"),
        (points(n=[30.5]), "n is not a whole number >= 1 in row 0"),
        (points(n=[30], conversation_length=np.nan), "conversation_length is not a whole"),
        (points(n=[30], level="OA"), "level 'OA', expected one of ''.*levels"),
    ],
)
def test_bad_points_are_refused(table, message):
    with pytest.raises(VoicePrivacyError, match=message):
        predict(PERFECT, table)


def test_published_values_are_those_released():
    package = pytest.importorskip("legal_eval", reason="legal_eval is not installed")
    folder = Path(package.__file__).parent / "data" / "paper_results"
    table = fitted_and_predicted()
    table = table[table["locator"].str.startswith("V25")]
    columns = {"singling out": "singling_out", "linkability": "linkability", "EER": "eer"}
    for metric, rows in table.groupby("metric"):
        released = pd.read_csv(folder / f"{columns[metric]}_results.csv")
        released["preset"] = released["attacker"].str.lower().str.replace("-", "_")
        merged = rows.merge(
            released,
            left_on=["preset", "conversation_length", "n"],
            right_on=["preset", "L", "enrollment_speakers"],
        )
        assert len(merged) == len(rows)
        np.testing.assert_allclose(merged["value"], merged[f"{columns[metric]}_mean"], atol=6e-5)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("attacker", "singling_out", "linkability", "eer"),
    [
        ("original", 0.045, 0.04, 0.02),
        ("informed", 0.035, 0.04, 0.02),
        ("semi_informed", 0.035, 0.04, 0.025),
        ("ignorant", 0.03, 0.03, 0.025),
    ],
)
def test_presets_come_close_to_the_published_curves(attacker, singling_out, linkability, eer):
    table = fitted_and_predicted().query("preset == @attacker and level == '' and n != 12800")
    table = table[(table["metric"] != "singling out") | (table["n"] <= 3443)]
    table = table.assign(error=predict(PRESETS[attacker], table) - table["value"])
    errors = table["error"].abs().groupby(table["metric"]).mean()
    assert errors["singling out"] < singling_out
    assert errors["linkability"] < linkability
    assert errors["EER"] < eer


@pytest.mark.slow
def test_side_information_preset_predicts_the_finer_levels(shared_data):
    areas = pd.read_csv(shared_data("side_information_authors") / "authors_oa_counts.csv")
    table = fitted_and_predicted().query("preset == 'si_semi_informed'").reset_index(drop=True)
    predicted = predict(
        PRESETS["si_semi_informed"], table, levels=block_shares(areas), n_utterances=60
    )
    np.testing.assert_allclose(predicted, table["value"], atol=0.04)


def block_shares(areas):
    """Share of all speakers in the target's output area, and in its single-person households."""
    total = areas["n_speakers"].sum()
    shares = {
        level: np.repeat(areas[column] / total, areas[column]).to_numpy()
        for level, column in {"OA": "n_speakers", "OA+HH1": "n_speakers_HH1"}.items()
    }
    return {level: share[:: 1 + len(share) // 1000] for level, share in shares.items()}
