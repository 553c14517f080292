"""Charts of tables: what is drawn is the table, and a select leaves what it says."""

import json

import nbformat
import pandas as pd
import pytest
import vl_convert
from conftest import ROOT

from voiceprivacy.errors import VoicePrivacyError
from voiceprivacy.interactive import MIME, VEGALITE
from voiceprivacy.interactive_charts import (
    isolation_explorer,
    linkability_explorer,
    paired_metrics,
)
from voiceprivacy.published import published, v25_curves
from voiceprivacy.runner import run_notebook
from voiceprivacy.styles import ATTACKERS, LEVELS


def summary():
    rows = [
        (attacker, length, variant, level, n, round(0.9 - place / 50 - n / 10_000, 5))
        for place, (attacker, length, variant, level) in enumerate(
            (attacker, length, variant, level)
            for attacker in ("semi-informed", "ignorant")
            for length in (1, 3)
            for variant in ("OA+gender", "OA+age")
            for level in ("OA", "signal only")
        )
        for n in (30, 3200)
    ]
    columns = ["attacker", "conversation_length", "variant", "level", "n_speakers", "observed"]
    table = pd.DataFrame(rows, columns=columns)
    observed = table["observed"]
    ends = {"observed_low": observed - 0.1, "observed_high": observed + 0.1}
    return table.assign(**ends, reference=0.4)


SUMMARY = summary()
PUBLISHED = published("SI").query("kind == 'number' and quantity == 'observed'")


def pairs(factor=1.0):
    table = pd.DataFrame({"attacker": ["original"] * 4, "conversation_length": [1, 1, 3, 3]})
    table = table.assign(n=[20, 320] * 2, eer=[0.1, 0.11, 0.05, 0.05])
    return table.assign(linkability=[0.8 * factor, 0.3 * factor, 0.9 * factor, 0.6 * factor])


def with_value(spec, **values):
    """A chart's specification in which selects or sliders stand elsewhere."""
    spec = json.loads(json.dumps(spec))
    for parameter in spec["params"]:
        parameter["value"] = values.get(parameter["name"], parameter.get("value"))
    return spec


def points(spec, group="symbol"):
    """The marks of a kind that are drawn, as (x, y, colour)."""

    def walk(item):
        if isinstance(item, dict):
            if item.get("marktype") == group and item.get("role") == "mark":
                yield from item["items"]
            for value in item.values():
                yield from walk(value)
        elif isinstance(item, list):
            for value in item:
                yield from walk(value)

    scene = vl_convert.vegalite_to_scenegraph(spec, vl_version=VEGALITE)
    return list(walk(scene))


def datasets(chart):
    """The tables that a chart carries, but for rows without a column."""
    tables = [pd.DataFrame(rows) for rows in chart.to_dict()["datasets"].values()]
    return [table for table in tables if len(table.columns)]


def test_the_data_in_the_chart_are_the_table():
    (data,) = datasets(isolation_explorer(SUMMARY))
    pd.testing.assert_frame_equal(data, SUMMARY[list(data)], check_dtype=False, atol=1e-5)
    assert set(data) == set(SUMMARY)


def test_the_paper_s_numbers_are_those_that_it_prints():
    _, data = datasets(isolation_explorer(SUMMARY, PUBLISHED))
    wanted = PUBLISHED[list(data)].dropna().reset_index(drop=True)
    pd.testing.assert_frame_equal(data, wanted, check_dtype=False)


def test_each_column_of_settings_has_a_select_with_its_values():
    parameters = isolation_explorer(SUMMARY).to_dict()["params"]
    options = {parameter["name"]: parameter["bind"]["options"] for parameter in parameters}
    assert options == {
        "attacker": ["semi-informed", "ignorant"],
        "L": [1, 3],
        "assignment": ["OA+gender", "OA+age"],
        "granularity": ["all", "signal only", "OA"],
    }
    fewer = isolation_explorer(SUMMARY.query("variant == 'OA+age'").drop(columns="variant"))
    names = [parameter["name"] for parameter in fewer.to_dict()["params"]]
    assert names == ["attacker", "L", "granularity"]


def test_a_select_leaves_the_rows_that_it_names():
    spec = isolation_explorer(SUMMARY).to_dict()
    assert len(points(spec)) == 4
    spec = with_value(spec, attacker="ignorant", L=3, assignment="OA+age", granularity="OA")
    here = "attacker == 'ignorant' and conversation_length == 3 and variant == 'OA+age'"
    own = SUMMARY.query(f"{here} and level == 'OA'")
    floor = 0.1  # the tenth below the least value drawn
    heights = [320 * (1 - value) / (1 - floor) for value in own["observed"]]
    drawn = points(spec)
    assert sorted(point["y"] for point in drawn) == pytest.approx(sorted(heights), abs=0.01)
    assert {point["fill"] for point in drawn} == {LEVELS["OA"].color}


def test_published_points_are_hollow_and_grey():
    drawn = points(isolation_explorer(SUMMARY, PUBLISHED).to_dict())
    hollow = [point for point in drawn if point.get("fill") in (None, "transparent")]
    assert {point["stroke"] for point in hollow} == {"#737373"}
    assert hollow


def test_curves_that_cannot_be_told_apart_are_refused():
    with pytest.raises(VoicePrivacyError, match="OA has several values at N = 30"):
        isolation_explorer(SUMMARY.drop(columns="variant"))
    with pytest.raises(VoicePrivacyError, match="lacks 'reference'"):
        isolation_explorer(SUMMARY.drop(columns="reference"))


def test_a_metric_is_paired_with_the_other_at_the_same_size():
    curves = v25_curves().replace({"metric": {"eer": "EER"}})
    table = paired_metrics(curves)
    assert table["n"].between(20, 20_480).all()
    at = table.query("attacker == 'informed' and conversation_length == 3 and n == 320")
    for column, metric in (("eer", "EER"), ("linkability", "linkability")):
        where = "attacker == 'informed' and conversation_length == 3 and n == 320"
        (value,) = curves[curves["metric"] == metric].query(where)["value"]
        assert at[column].item() == pytest.approx(value, abs=1e-12)


def test_both_tables_of_pairs_are_in_the_chart():
    found = datasets(linkability_explorer(pairs(), pairs(0.9)))
    for data, table in zip(found, (pairs(), pairs(0.9)), strict=True):
        pd.testing.assert_frame_equal(data[list(table)], table, check_dtype=False)


def test_linkability_falls_at_the_same_eer_as_candidates_become_many():
    spec = linkability_explorer(pairs(), pairs(0.9)).to_dict()
    few, many = points(spec), points(with_value(spec, n=320))
    assert len(few) == len(many) == 4
    colours = {point.get("fill") for point in few} - {None, "transparent"}
    assert colours == {ATTACKERS["original"].color}
    assert min(point["y"] for point in many) > min(point["y"] for point in few)


@pytest.mark.slow
def test_on_the_page_of_figure_1_the_assignment_moves_the_households_curves(tmp_path):
    small = {"attackers": ["semi-informed"], "conversation_length": 1, "sizes": [3200]}
    small |= {"draws": 1, "splits": 2, "output_folder": str(tmp_path)}
    page = run_notebook(
        ROOT / "notebooks" / "si_figure1_isolation.ipynb", tmp_path / "out.ipynb", small
    )
    cells = nbformat.read(page, 4).cells
    outputs = [output for cell in cells for output in cell.get("outputs", [])]
    (spec,) = [output.data[MIME] for output in outputs if MIME in output.get("data", {})]
    (select,) = [one for one in spec["params"] if one["name"] == "assignment"]
    assert select["bind"]["options"] == ["OA+gender+age", "OA only", "as published"]
    heights = []
    for assignment in select["bind"]["options"]:
        drawn = points(with_value(spec, assignment=assignment, granularity="OA+HH3+"))
        heights += [point["y"] for point in drawn if point["fill"] != "transparent"]
    assert len(set(heights)) == 3
    assert heights[2] < min(heights[:2]) - 30, "smaller blocks isolate more: drawn higher up"
