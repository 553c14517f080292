from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner

from voiceprivacy.cli import main
from voiceprivacy.geolocation import read_geolocation


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ages = ["teens", "fourties", "", "sixties"] * 50
    pd.DataFrame(
        {"client_id": [f"{k:04d}" for k in range(200)], "gender": ["f", "m"] * 100, "age": ages}
    ).to_csv("speakers.csv", index=False)

    def invoke(*arguments):
        return CliRunner().invoke(main, ["assign", *arguments])

    return invoke


def test_default_areas(run):
    result = run("speakers.csv", "--out", "out/geolocation.csv")
    assert result.exit_code == 0, result.output
    assert "200 speakers in" in result.output
    assert "Unknown: gender for 0, age for 50." in result.output
    assert "household class by OA" in result.output
    assert "Open Government Licence" in result.output
    table = read_geolocation("out/geolocation.csv")
    assert sorted(table["spk_id"]) == [f"{k:04d}" for k in range(200)]
    assert table["LAD"].unique().tolist() == ["E06000017"]


def test_speakers_of_common_voice_bring_their_words(run):
    folder = Path("cv-corpus-11.0-2022-09-21", "en")
    folder.mkdir(parents=True)
    lines = ["client_id\tpath\tage\tgender", "ann\tcv_1\tfourties\tfemale_feminine"]
    lines += ["ann\tcv_2\tteens\tfemale", "ann\tcv_3\tfourties\tfemale", "bob\tcv_4\t\tmale"]
    folder.joinpath("validated.tsv").write_text("\n".join(lines) + "\n")
    result = run(str(folder), "--out", "geolocation.csv")
    assert result.exit_code == 0, result.output
    assert "Unknown: gender for 0, age for 1." in result.output
    assert "Mind: 1 speakers say more than one age" in result.output
    table = read_geolocation("geolocation.csv").set_index("spk_id")
    assert table["gender"].to_dict() == {"ann": "female", "bob": "male"}


def test_official_tables(run, shared_data):
    folder = str(shared_data("census2021_rutland"))
    result = run("speakers.csv", "--out", "a.csv", "--census", folder, "--district", "E06000017")
    assert result.exit_code == 0, result.output
    assert read_geolocation("a.csv")["MSOA"].nunique() == 5


def test_seed_and_options_reach_the_file(run):
    for name, options in {
        "a": [],
        "again": ["--seed", "0"],
        "seed": ["--seed", "1"],
        "none": ["--constraints", "none"],
        "age": ["--constraints", "age"],
        "published": ["--households", "as_published"],
    }.items():
        result = run("speakers.csv", "--out", f"{name}.csv", *options)
        assert result.exit_code == 0, result.output
    tables = {
        name: Path(f"{name}.csv").read_text() for name in ("a", "seed", "none", "age", "published")
    }
    assert Path("again.csv").read_text() == tables["a"]
    assert len(set(tables.values())) == len(tables)


def test_keeps_a_file_that_is_there(run):
    assert run("speakers.csv", "--out", "a.csv").exit_code == 0
    before = Path("a.csv").read_text()
    result = run("speakers.csv", "--out", "a.csv", "--seed", "1")
    assert result.exit_code == 2
    assert "a.csv exists and is kept" in result.output
    assert Path("a.csv").read_text() == before
    # It says so at once, before anything is read.
    assert "a.csv exists and is kept" in run("none.csv", "--out", "a.csv").output
    assert run("speakers.csv", "--out", "a.csv", "--seed", "1", "--overwrite").exit_code == 0
    assert Path("a.csv").read_text() != before


def test_ages_are_needed_only_where_they_constrain(run):
    pd.read_csv("speakers.csv", dtype=str).drop(columns="age").to_csv("no_age.csv", index=False)
    result = run("no_age.csv", "--out", "a.csv")
    assert result.exit_code == 2
    assert "no_age.csv has no column 'age'" in result.output
    assert "Traceback" not in result.output
    assert run("no_age.csv", "--out", "a.csv", "--constraints", "gender").exit_code == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--constraints", "sex"], "expected gender, age"),
        (["--households", "random"], "census"),
        (["--seed", "-1"], "-1"),
        (["--district", "E06000017"], "--district needs --census"),
        (["--census", "nowhere"], "nowhere"),
    ],
)
def test_refuses(run, options, message):
    result = run("speakers.csv", "--out", "a.csv", *options)
    assert result.exit_code == 2
    assert message in result.output
    assert not isinstance(result.exception, (KeyError, TypeError, AttributeError))


def test_refuses_a_missing_file(run):
    result = run("none.csv", "--out", "a.csv")
    assert result.exit_code == 2
    assert "there is no file none.csv" in result.output
