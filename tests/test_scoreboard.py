"""The scoreboard: complete, with the numbers of the result files, honest where there are none."""

import re
import sys

import numpy as np
import pandas as pd
import pytest
from conftest import ROOT

from voiceprivacy.comparison import compare, write_comparison
from voiceprivacy.evidence import evidence_of
from voiceprivacy.published import published, v25_curves
from voiceprivacy.tables import write_table
from voiceprivacy.v25_study import simulated_panels
from voiceprivacy.verdicts import NotRun, digits_with_interval

sys.path.insert(0, str(ROOT / "workflow"))
from scoreboard import PANELS, PAPERS, curves, page, reported, verdicts

SIMULATED = evidence_of("simulated")
SPEECH = evidence_of("speech", corpus="LibriSpeech")
OA = "semi_L1_N12800_OA_observed"  # printed 0.585
NAMES = ["first", "second"]


@pytest.fixture
def results(tmp_path):
    """Two pages that report three items, one of them twice, and a leftover of a third."""
    first = {OA: (0.5871, 0.5801, 0.5941), "targets": 495, "draws": NotRun("time")}
    write_comparison(compare(first, evidence=SIMULATED), tmp_path, "first")
    second = {OA: (0.6111, 0.6001, 0.6221), "draws": 5, "splits": NotRun("a GPU")}
    write_comparison(compare(second, evidence=SIMULATED), tmp_path, "second")
    write_comparison(compare({"splits": 10}, evidence=SIMULATED), tmp_path, "leftover")
    foreign = compare({"table1_SR": (20.51, 18.0, 23.0)}, paper="SRC", evidence=SPEECH)
    both = pd.concat([pd.read_csv(tmp_path / "first.csv", dtype={"paper": str}), foreign])
    write_comparison(both, tmp_path, "first")
    return tmp_path


def counted(results):
    return verdicts(reported(results, NAMES)).set_index("item")["verdict"]


def test_every_published_item_is_there_exactly_once_in_the_papers_order(results):
    everything = published()["item"].tolist()
    assert list(counted(results).index) == everything
    assert list(counted(results / "nowhere").index) == everything
    assert set(published()["paper"]) == set(PAPERS)
    # ... and on the page: one row that is no continuation for each.
    tables = page(results, NAMES, "smoke").split("## V25, Figure 1")[0].split("\n## ")[1:]
    rows = [line for text in tables for line in text.splitlines() if line.startswith("| ")]
    heads = [row for row in rows if not row.startswith(("|  |", "| what"))]
    assert len(heads) == len(everything)


def test_missing_results_are_not_run_and_say_what_is_missing(results, tmp_path):
    assert set(counted(tmp_path / "nowhere")) == {"not run"}
    assert counted(results)["splits"] == "not run"  # the leftover is of no notebook of the grid
    text = page(results, NAMES, "smoke")
    assert re.search(r"splits.*not run<br>\*missing: a GPU\* \| \[second\]", text)
    assert "not run<br>*missing: no notebook of this run reports it* |  |" in text


def test_an_item_counts_as_the_gravest_of_its_verdicts(results):
    found = counted(results)
    assert found[OA] == "differs"  # one page matches, one differs
    assert found["draws"] == "matches"  # one page has not run it
    assert found["table1_SR"] == "stand-in data"
    reports = reported(results, NAMES)
    assert reports[reports["item"] == OA]["verdict"].tolist() == ["matches", "differs"]
    assert reports[reports["item"] == "draws"]["notebook"].tolist() == ["second"]


def test_counts_stand_at_the_top(results):
    text = page(results, NAMES, "smoke")
    si, src, v25 = (len(published(name)) for name in ("SI", "SRC", "V25"))
    assert f"| SI | {si} | 2 | 1 | 0 | {si - 3} |" in text
    assert f"| SRC | {src} | 0 | 0 | 1 | {src - 1} |" in text
    assert f"| all three | {si + src + v25} | 2 | 1 | 1 | {si + src + v25 - 4} |" in text
    assert text.index("| SI |") < text.index("\n## ")


def test_numbers_are_those_of_the_result_files(results):
    """Change a file and the page changes with it: nothing is typed."""
    shown = page(results, NAMES, "smoke")
    row = "| 0.585 | 0.587 (0.580 to 0.594) | simulated embeddings | matches | "
    assert f"{row}[first](../_executed/first.ipynb) |" in shown
    assert "|  |  | 0.611 (0.600 to 0.622) | simulated embeddings | differs | [second]" in shown
    for name in NAMES:
        values = pd.read_csv(results / f"{name}.csv")[["reproduced", "low", "high"]].to_numpy()
        for value, low, high in values[~np.isnan(values[:, 0])]:
            assert f"| {digits_with_interval(value, low, high)} |" in shown
    text = (results / "first.csv").read_text().replace("0.5871", "0.5831")
    (results / "first.csv").write_text(text)
    assert "| 0.585 | 0.583 (0.580 to 0.594) |" in page(results, NAMES, "smoke")


def test_every_curve_of_the_figure_has_a_row_with_the_points_that_match(tmp_path):
    panels = simulated_panels(
        "original", 1, n_candidates=60, n_tests=30, n_targets=20, draws=1, splits=2
    ).assign(evidence=SIMULATED)
    write_table(panels, tmp_path, PANELS)
    rows = curves(tmp_path)
    assert len(rows) == 36
    assert rows["points"].sum() == len(v25_curves())
    own = rows.query("attacker == 'original' and conversation_length == 1")
    assert (own["matches"] + own["differs"]).tolist() == [1, 1, 1]
    assert rows[["matches", "differs"]].to_numpy().sum() == 3
    moved = panels.assign(observed_low=2.0, observed_high=3.0)
    write_table(moved, tmp_path, PANELS)
    assert curves(tmp_path)["differs"].sum() == 3
    write_table(moved.assign(evidence=SPEECH), tmp_path, PANELS)
    assert curves(tmp_path)["stand-in data"].sum() == 3


def test_figure_without_results_is_not_run(tmp_path):
    text = page(tmp_path, [], "smoke").split("## V25, Figure 1")[1]
    assert text.count("| 0 | not run |") == 36
    assert "published points 0 were computed." in text
    assert "_executed" not in text
