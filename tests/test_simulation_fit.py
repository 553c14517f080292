"""The response-surface fit: it finds the curves of a known model back, and the published ones."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from test_simulation_predict import block_shares

from voiceprivacy.errors import VoicePrivacyError
from voiceprivacy.simulation import PRESETS, fitted_and_predicted
from voiceprivacy.simulation_fit import _quadratic, _weights, fit
from voiceprivacy.simulation_predict import predict
from voiceprivacy.speaker_model import SpeakerModel

TRUTH = SpeakerModel(d=20, w=1.2, b=0.2, h=0.9, c=0.7)


def curves(lengths, sizes, candidates):
    rows = [
        *(("singling out", length, n) for length in lengths for n in sizes),
        *(("linkability", length, n) for length in lengths for n in candidates),
        *(("EER", length, 20) for length in lengths),
    ]
    return pd.DataFrame(rows, columns=["metric", "conversation_length", "n"])


def test_finds_the_curves_of_a_known_model_back():
    table = curves([1, 3], [], [10, 100])
    table["value"] = predict(TRUTH, table, n_targets=150)
    start = replace(TRUTH, d=32, w=1.0)
    before = np.abs(predict(start, table, n_targets=150) - table["value"]).mean()
    found = fit(table, start=start, free=["d", "w"], rounds=2, trials=7, n_targets=150)
    assert found.mean_absolute_error.max() < 0.004 < 0.01 < before
    assert found.model.w / np.sqrt(found.model.d) == pytest.approx(1.2 / np.sqrt(20), rel=0.1)
    assert replace(found.model, d=20, w=1.2) == TRUTH


def test_reports_every_trial_and_the_best_one():
    table = curves([1], [], [10]).assign(value=[0.7, 0.1])
    found = fit(table, start=TRUTH, free=["w"], rounds=2, trials=3, n_targets=40)
    assert len(found.trials) == 2 * (3 + 2)
    assert found.trials["w"].iloc[found.trials["loss"].idxmin()] == found.model.w
    np.testing.assert_allclose(found.points["predicted"], predict(found.model, table, n_targets=40))
    loss = (found.points["error"] ** 2).groupby(found.points["metric"]).mean().mean()
    assert found.trials["loss"].min() == pytest.approx(loss)


def test_the_same_seed_tries_the_same_models():
    table = curves([1], [], [10]).assign(value=[0.7, 0.1])
    first, again, other = (
        fit(table, free=["w"], rounds=1, trials=3, n_targets=40, seed=seed) for seed in (1, 1, 2)
    )
    assert first.model == again.model
    assert (first.trials["w"] != other.trials["w"]).all()


def test_speaker_dimensions_stay_within_the_space():
    table = curves([1], [], [10]).assign(value=[1.0, 0.0])
    found = fit(
        table, start=replace(TRUTH, d=60), free=["d", "w"], rounds=1, trials=5, n_targets=40
    )
    assert found.trials["d"].max() <= 64 * (1 + 1e-9)


def test_every_metric_weighs_the_same_whatever_its_number_of_points():
    table = pd.DataFrame({"metric": ["EER", "linkability", "linkability"], "weight": [5, 1, 3]})
    assert _weights(table).tolist() == [0.5, 0.125, 0.375]
    assert _weights(table.drop(columns="weight")).tolist() == [0.5, 0.25, 0.25]


def test_the_regression_is_quadratic_in_every_direction():
    assert _quadratic(np.array([[2.0, 3.0]])).tolist() == [[1, 2, 3, 4, 6, 9]]


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        ({"value": [58.5, 0.1]}, {}, "value is not a fraction.*row 0.*divide percentages"),
        ({"value": [0.5, np.nan]}, {}, "value is not a fraction.*row 1"),
        ({"metric": "minDCF"}, {}, "metric 'minDCF'"),
        ({}, {"free": []}, "expected one or more of 'd', 'w', 'b', 'h', 'c'"),
        ({}, {"free": ["D"]}, r"free is \['D'\]"),
        ({}, {"start": replace(TRUTH, c=0)}, "'c' cannot be searched from 0"),
        ({}, {"spread": 1}, "spread is 1, expected a factor above 1"),
    ],
)
def test_bad_requests_are_refused(change, options, message):
    table = curves([1], [], [10]).assign(value=[0.7, 0.1]).assign(**change)
    with pytest.raises(VoicePrivacyError, match=message):
        fit(table, **options)


def test_curves_without_values_are_refused():
    with pytest.raises(VoicePrivacyError, match="column 'value'"):
        fit(curves([1], [], [10]))


@pytest.mark.slow
def test_finds_all_five_parameters_curves_back():
    table = curves([1, 3], [30, 200, 800], [20, 200, 1000])
    table["value"] = predict(TRUTH, table)
    found = fit(table, start=SpeakerModel(d=40, w=2, b=0.3, h=0.6, c=0.4))
    assert found.mean_absolute_error.max() < 0.01
    # Another simulation of the same model: the fit did not learn the noise of one seed.
    again = predict(found.model, table, seed=9) - predict(TRUTH, table, seed=9)
    assert np.abs(again).mean() < 0.02


@pytest.mark.slow
def test_linkability_and_eer_predict_singling_out():
    table = fitted_and_predicted().query("preset == 'informed' and level == ''")
    seen = table.query("metric != 'singling out' and n != 20020")
    held_out = table.query("metric == 'singling out' and n <= 3443")
    found = fit(seen, start=PRESETS["ignorant"])
    assert found.mean_absolute_error.max() < 0.04
    assert np.abs(predict(found.model, held_out) - held_out["value"]).mean() < 0.06


@pytest.mark.slow
def test_fits_the_side_information_paper(shared_data):
    areas = pd.read_csv(shared_data("side_information_authors") / "authors_oa_counts.csv")
    settings = {"levels": block_shares(areas), "n_utterances": 60}
    table = fitted_and_predicted().query("preset == 'si_semi_informed'")
    seen, held_out = table.query("status == 'fitted'"), table.query("status == 'predicted'")
    found = fit(seen, start=replace(PRESETS["informed"], u=0.3), spread=4, **settings)
    assert found.mean_absolute_error["singling out"] < 0.015
    np.testing.assert_allclose(
        predict(found.model, held_out, seed=1, **settings), held_out["value"], atol=0.05
    )
    assert 5 < found.model.d < 20
