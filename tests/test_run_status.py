"""The status page: what each executed notebook notes of its run, and what is not there."""

import json
import sys

from conftest import ROOT

sys.path.insert(0, str(ROOT / "workflow"))
from provenance import packages, provenance
from run_status import page, run_status

OWN = {
    "commit": "abc1234",
    "machine": "2 cores of X|Y",
    "python": "3.11.7",
    "packages": {"numpy": "2.4.6"},
}


def write(folder, name, seconds=61.4, **own):
    times = {"duration": seconds, "start_time": "2026-12-01T05:21:01.981541+00:00"}
    metadata = {"papermill": times} | ({"voiceprivacy": own} if own else {})
    (folder / name).write_text(json.dumps({"cells": [], "metadata": metadata}))


def test_outcomes_times_and_origin_come_from_the_executed_notebooks(tmp_path):
    write(tmp_path, "a.ipynb", **OWN)
    write(tmp_path, "b.partial.ipynb", seconds=None)
    rows = run_status(tmp_path, ["a", "b", "c"]).set_index("notebook")
    assert rows["outcome"].to_dict() == {"a": "finished", "b": "failed", "c": "not run"}
    text = page(tmp_path, ["a", "b", "c"], "smoke")
    assert "| [a](../_executed/a.ipynb) | finished | 61 | 2026-12-01 05:21 | abc1234 |" in text
    assert "| b | failed |  | 2026-12-01 05:21 |  |" in text
    assert "| c | not run |  |  |  |" in text
    assert "1 of 3 notebooks finished under the profile `smoke`" in text


def test_each_machine_is_told_once_with_its_versions(tmp_path):
    for name in ("a", "b"):
        write(tmp_path, f"{name}.ipynb", **OWN)
    text = page(tmp_path, ["a", "b"], "smoke")
    assert text.count("2 cores of X\\|Y, Python 3.11.7.") == 1
    assert text.count("| numpy | 2.4.6 |") == 1
    write(tmp_path, "b.ipynb", **OWN | {"packages": {"numpy": "2.5.0"}})
    text = page(tmp_path, ["a", "b"], "smoke")
    assert "Python 3.11.7: a." in text
    assert "Python 3.11.7: b." in text
    assert "| numpy | 2.5.0 |" in text


def test_a_notebook_that_notes_nothing_says_so(tmp_path):
    write(tmp_path, "a.ipynb")
    text = page(tmp_path, ["a"], "smoke")
    assert "Machine not recorded, Python not recorded" in text
    assert "Versions of packages: not recorded." in text


def test_provenance_holds_versions_and_needs_no_clone(tmp_path):
    found = provenance(tmp_path)
    assert found["commit"] == "unknown"
    assert " cores of " in found["machine"]
    assert found["packages"] == packages()
    assert packages()["numpy"][0].isdigit()
    assert json.loads(json.dumps(found)) == found
