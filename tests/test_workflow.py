"""The grid of runs, on a small project of its own, and the Makefile before it."""

import os
import shutil
import signal
import subprocess
import sys
import time

import nbformat
import pytest
import yaml
from conftest import ROOT
from nbformat.v4 import new_code_cell, new_notebook

sys.path.insert(0, str(ROOT / "workflow"))
from grid import PROFILES, GridError, Run, read_grid

PARAMETERS = {profile: {} for profile in PROFILES}
WRITES = "from pathlib import Path\nPath(output_folder, 'good.csv').write_text(str(n))"


def write_notebook(project, name, code):
    declared = "n: int = 1  # how many\noutput_folder: str = ''"
    cells = [new_code_cell(declared, metadata={"tags": ["parameters"]}), new_code_cell(code)]
    nbformat.write(new_notebook(cells=cells), project / "notebooks" / f"{name}.ipynb")


def write_grid(project, **entries):
    (project / "config" / "profiles.yaml").write_text(yaml.safe_dump(entries, sort_keys=False))


def new_project(folder):
    """A small project with our Snakefile: a stub package, no data, no notebooks yet.

    Its `.venv` is this Python's own, so that a blank in the folder's name reaches every call.
    """
    for name in ("notebooks", "config", "data", "src/voiceprivacy"):
        (folder / name).mkdir(parents=True)
    (folder / "src" / "voiceprivacy" / "module.py").write_text("x = 1\n")
    (folder / ".venv").symlink_to(sys.prefix)
    shutil.copy(ROOT / "Snakefile", folder)
    shutil.copytree(ROOT / "workflow", folder / "workflow")
    return folder


def command(project):
    python = project / ".venv" / "bin" / "python"
    settings = ["--profile", "workflow/profiles/smoke", "--quiet", "all"]
    return [python, "-m", "snakemake", *settings]


def snakemake(project):
    """Run the grid; return whether it went well and what it said."""
    done = subprocess.run(
        command(project), cwd=project, capture_output=True, text=True, check=False
    )
    return done.returncode == 0, done.stderr


# The whole grid.


@pytest.fixture(scope="module")
def first_run(tmp_path_factory):
    """A project in a folder with a blank, run once, with two of its three notebooks at fault."""
    project = new_project(tmp_path_factory.mktemp("my project"))
    write_notebook(project, "good", WRITES)
    write_notebook(project, "bad", "1 / 0")
    write_notebook(project, "lazy", "n")
    write_grid(
        project,
        bad={"parameters": PARAMETERS},
        good={"results": ["good.csv"], "parameters": {**PARAMETERS, "smoke": {"n": 3}}},
        lazy={"results": ["lazy.csv"], "parameters": PARAMETERS},
    )
    return project, *snakemake(project)


def test_a_run_uses_the_profiles_parameters_and_tells_start_and_end(first_run):
    project, _, said = first_run
    assert (project / "build/smoke/results/good.csv").read_text() == "3"
    assert "good: started" in said
    assert "good: finished in" in said
    assert len(said.splitlines()) < 15


def test_an_executed_notebook_notes_where_and_with_what_it_was_run(first_run):
    executed = nbformat.read(first_run[0] / "build/smoke/notebooks/good.ipynb", as_version=4)
    noted = executed.metadata["voiceprivacy"]
    assert set(noted) == {"commit", "machine", "python", "packages"}
    assert noted["packages"]["papermill"]
    assert executed.metadata["papermill"]["duration"] > 0


def test_a_failed_notebook_is_told_shortly_kept_and_stops_no_other(first_run):
    project, went_well, said = first_run
    assert not went_well
    assert "bad: FAILED\nnotebooks/bad.ipynb: cell In [3] failed.\n  1 / 0\n  ZeroDiv" in said
    notebooks = {path.name for path in (project / "build/smoke/notebooks").iterdir()}
    assert notebooks == {"bad.partial.ipynb", "good.ipynb"}


def test_a_promised_result_that_was_not_written_is_a_failure(first_run):
    assert "it ran, but did not write build/smoke/results/lazy.csv" in first_run[2]


def test_only_what_changed_in_content_is_run_again(first_run):
    project = first_run[0]
    grid = {
        "good": {"results": ["good.csv"], "parameters": {**PARAMETERS, "smoke": {"n": 3}}},
        "lazy": {"parameters": PARAMETERS},
    }
    write_grid(project, **grid)
    assert "good: started" not in snakemake(project)[1]

    (project / "src/voiceprivacy/module.py").touch()
    grid["good"]["parameters"]["smoke"] = {"n": 4}
    write_grid(project, **grid)
    went_well, said = snakemake(project)
    assert went_well
    assert "good: finished" in said
    assert "lazy" not in said
    assert (project / "build/smoke/results/good.csv").read_text() == "4"

    (project / "src/voiceprivacy/module.py").write_text("x = 2\n")
    assert "lazy: finished" in snakemake(project)[1]


def test_a_fault_in_the_grid_is_shown(tmp_path):
    project = new_project(tmp_path / "project")
    write_grid(project, gone={"parameters": PARAMETERS})
    went_well, said = snakemake(project)
    assert not went_well
    assert "there is no notebooks/gone.ipynb" in said


@pytest.mark.slow
def test_a_killed_run_is_taken_up_again(tmp_path):
    project = new_project(tmp_path / "project")
    write_notebook(project, "quick", "n")
    write_notebook(project, "slow", "import time; time.sleep(0 if n > 1 else 60)")
    write_grid(project, quick={"parameters": PARAMETERS}, slow={"parameters": PARAMETERS})
    with subprocess.Popen(command(project), cwd=project, start_new_session=True) as running:
        done = project / "build/smoke/notebooks/quick.ipynb"
        while not done.exists():
            time.sleep(0.2)
        time.sleep(2)
        os.killpg(running.pid, signal.SIGKILL)
    fast = {**PARAMETERS, "smoke": {"n": 2}}
    write_grid(project, quick={"parameters": PARAMETERS}, slow={"parameters": fast})
    went_well, said = snakemake(project)
    assert went_well, said
    assert "slow: finished" in said
    assert "quick" not in said


# Reading the grid.


def grid_of(tmp_path, text, *names):
    (tmp_path / "config").mkdir()
    (tmp_path / "notebooks").mkdir()
    for name in names:
        (tmp_path / "notebooks" / f"{name}.ipynb").touch()
    (tmp_path / "config" / "profiles.yaml").write_text(text)
    return tmp_path / "config" / "profiles.yaml"


def test_the_grid_gives_each_profile_its_parameters(tmp_path):
    text = "a: {results: [a.csv], whole_machine: true, parameters: {smoke: {n: 1}, "
    path = grid_of(tmp_path, text + "book: {n: 2}, full: {}, paper: {}}}", "a")
    assert read_grid(path, "book") == [Run("a", {"n": 2}, ["a.csv"], whole_machine=True)]
    assert read_grid(path, "paper") == [Run("a", {}, ["a.csv"], whole_machine=True)]


def test_an_empty_grid_has_no_runs(tmp_path):
    assert read_grid(grid_of(tmp_path, "# nothing yet\n"), "smoke") == []


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("", "a: needs 'parameters'"),
        ("{parameters: {smoke: {}}}", "a: 'parameters' needs exactly the profiles smoke, book"),
        ("{parameters: {smoke: , book: {}, full: {}, paper: {}}}", r"each with \{\} or"),
        (
            "{result: [x], parameters: {smoke: {}, book: {}, full: {}, paper: {}}}",
            "a: unknown key 'result'",
        ),
    ],
)
def test_a_faulty_entry_is_named(tmp_path, entry, message):
    with pytest.raises(GridError, match=message):
        read_grid(grid_of(tmp_path, f"a: {entry}\n", "a"), "smoke")


def test_an_unknown_profile_is_named(tmp_path):
    with pytest.raises(GridError, match="no profile 'demo'; there are: smoke, book"):
        read_grid(grid_of(tmp_path, ""), "demo")


@pytest.mark.parametrize("cluster", ["slurm", "kubernetes"])
def test_a_clusters_settings_name_a_profile_and_give_a_gpu_to_who_wants_one(cluster):
    path = ROOT / "workflow" / "clusters" / cluster / "config.yaml"
    settings = yaml.safe_load(path.read_text())
    assert settings["executor"] == cluster
    assert settings["config"] == ["profile=paper"]
    grid = yaml.safe_load((ROOT / "config" / "profiles.yaml").read_text())
    trained = {
        name
        for name, entry in grid.items()
        if "cuda" in ((entry.get("parameters") or {}).get("paper") or {}).values()
    }
    assert set(settings["set-resources"]) == trained


def test_every_profile_has_its_snakemake_settings():
    for profile in PROFILES:
        settings = (ROOT / "workflow" / "profiles" / profile / "config.yaml").read_text()
        assert yaml.safe_load(settings)["config"] == [f"profile={profile}"]


# The Makefile.


def make(*arguments, cwd=ROOT):
    return subprocess.run(
        ["make", *arguments], cwd=cwd, capture_output=True, text=True, check=False
    )


def test_make_alone_names_every_target():
    said = make().stdout
    for target in ("install", "book", "test", "bench", "lint", "clean"):
        assert f"make {target}" in said


def test_make_refuses_another_python_before_it_makes_anything(tmp_path):
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, tmp_path)
    old = tmp_path / "python-old"
    old.write_text('#!/bin/sh\ntest "$1" = -V && echo Python 3.9.1 && exit 0\nexit 1\n')
    old.chmod(0o755)
    done = make("install", "PYTHON=./python-old", cwd=tmp_path)
    assert done.returncode != 0
    assert "needs Python 3.11 to 3.13, but ./python-old is Python 3.9.1" in done.stdout
    assert not (tmp_path / ".venv").exists()


def test_make_refuses_an_unknown_profile_and_names_the_known(tmp_path):
    shutil.copy(ROOT / "Makefile", tmp_path)
    shutil.copytree(ROOT / "workflow", tmp_path / "workflow")
    (tmp_path / "installed").touch()
    for name in ("pyproject.toml", "constraints.txt"):
        (tmp_path / name).touch()
    done = make("book", "PROFILE=demo", "VENV=.", "--old-file=./installed", cwd=tmp_path)
    assert done.returncode != 0
    assert "no profile demo; there are: book full paper smoke" in done.stdout
