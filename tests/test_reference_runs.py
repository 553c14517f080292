"""Kept results: copying them with their origin, and reading them back."""

import json
import subprocess
import sys

import pandas as pd
import pytest
from conftest import ROOT

from voiceprivacy import reference_runs
from voiceprivacy.errors import VoicePrivacyError
from voiceprivacy.reference_runs import reference_run

sys.path.insert(0, str(ROOT / "workflow"))
from keep_results import keep


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A project with one commit and one finished table."""
    results = tmp_path / "build" / "full" / "results" / "tables"
    results.mkdir(parents=True)
    (results / "a.csv").write_text("row,eer\nRR,0.25\n")
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "code.py").write_text("1\n")
    git = ["git", "-c", "user.name=n", "-c", "user.email=e@e"]
    for command in (["init", "-q"], ["add", "src"], ["commit", "-qm", "Begin"]):
        subprocess.run([*git, *command], cwd=tmp_path, check=True)

    def found(folder, name=""):
        path = tmp_path / folder / name
        if not path.exists():
            raise VoicePrivacyError("not shipped")
        return path

    monkeypatch.setattr(reference_runs, "shipped", found)
    return tmp_path


def test_a_kept_table_comes_back_with_its_origin(project):
    assert keep(project, "full") == ["tables/a.csv"]
    table, origin = reference_run("tables/a.csv")
    pd.testing.assert_frame_equal(table, pd.DataFrame({"row": ["RR"], "eer": [0.25]}))
    head = ["git", "rev-parse", "--short", "HEAD"]
    commit = subprocess.run(head, cwd=project, capture_output=True, text=True, check=True).stdout
    assert origin.startswith("profile full, 20")
    assert f"commit {commit.strip()}, " in origin
    assert "torch" in origin


def test_keeping_again_changes_only_what_changed(project):
    keep(project, "full")
    (project / "src" / "code.py").write_text("2\n")
    second = project / "build" / "full" / "results" / "b.csv"
    second.write_text("x\n1\n")
    keep(project, "full")
    notes = json.loads((project / "data" / "reference_runs" / "full.json").read_text())
    assert not notes["tables/a.csv"]["commit"].endswith("with changes")
    assert notes["b.csv"]["commit"].endswith("with changes")


def test_what_is_not_kept_is_none_and_a_table_without_origin_an_error(project):
    assert reference_run("tables/a.csv") is None
    keep(project, "full")
    (project / "data" / "reference_runs" / "full.json").write_text("{}")
    with pytest.raises(VoicePrivacyError, match="does not say where it comes from"):
        reference_run("tables/a.csv")
