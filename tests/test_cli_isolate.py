"""`voiceprivacy isolate` from files to files."""

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from test_singling_out import corpus, geography

from voiceprivacy.cli import main
from voiceprivacy.embeddings import write_embeddings
from voiceprivacy.singling_out import isolate


@pytest.fixture
def folder(tmp_path):
    write_embeddings(corpus(40, 10), tmp_path / "pool.npz")
    write_embeddings(corpus(40, 2, kind="b"), tmp_path / "enrolment.parquet")
    geography(40).rename_axis("speaker").to_csv(tmp_path / "people.csv")
    return tmp_path


def run(folder, *options, out="out"):
    files = [str(folder / "pool.npz"), str(folder / "enrolment.parquet")]
    return CliRunner().invoke(main, ["isolate", *files, "--out", str(folder / out), *options])


def test_the_table_is_what_the_engine_says(folder):
    table = ["--side-information", str(folder / "people.csv"), "--columns", "level0,level2"]
    done = run(folder, *table, "--sizes", "10,40", "--draws", "2", "--splits", "3", "--seed", "4")
    assert done.exit_code == 0, done.output
    written = pd.read_csv(folder / "out" / "isolation.csv")
    expected = isolate(
        corpus(40, 10), corpus(40, 2, kind="b"), sizes=[10, 40], targets="all", draws=2, splits=3,
        side_information=geography(40)[["level0", "level2"]], seed=4,
    ).summary()  # fmt: skip
    pd.testing.assert_frame_equal(written, expected, check_dtype=False)
    assert (folder / "out" / "isolation.png").stat().st_size > 10_000
    assert not (folder / "out" / "parts").exists()
    assert "40 speakers took part; 40 targets" in done.output
    assert "Mind: There are only 40 targets" in done.output
    assert "level2         isolates" in done.output


def test_results_are_not_overwritten_unasked(folder):
    assert run(folder, "--draws", "1", "--splits", "1").exit_code == 0
    before = (folder / "out" / "isolation.csv").read_text()
    again = run(folder, "--draws", "1", "--splits", "2")
    assert again.exit_code == 2
    assert "isolation.csv is already there" in again.output
    assert (folder / "out" / "isolation.csv").read_text() == before
    assert run(folder, "--draws", "1", "--splits", "2", "--overwrite").exit_code == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--sizes", "10,41"], "N = 41 cannot be drawn: 40 speakers are eligible"),
        (["--targets", "41"], "41 targets were asked for, but 40 speakers"),
        (["--columns", "town"], "--columns needs --side-information"),
        (["--side-information", "people.csv", "--columns", "town"], "has no column 'town'"),
        (["--side-information", "few.csv"], "lacks 30 of 40 speakers"),
        (["--side-information", "absent.csv"], "there is no file"),
        (["--side-information", "."], "there is no file"),
        (["--sizes", "99999999999999999999"], "N = 99999999999999999999 cannot be drawn"),
        (["--known-fractions", "0.5,0.5"], "each once"),
    ],
)
def test_bad_requests_end_in_one_line(folder, options, message):
    geography(40)[:10].rename_axis("speaker").to_csv(folder / "few.csv")
    options = [str(folder / o) if o.endswith((".csv", ".")) else o for o in options]
    done = run(folder, *options)
    assert done.exit_code == 2
    assert message in done.output
    assert "Traceback" not in done.output


def test_speakers_without_a_row_are_kept_on_request(folder):
    geography(40)[:10].rename_axis("speaker").to_csv(folder / "few.csv")
    table = ["--side-information", str(folder / "few.csv"), "--missing", "unknown"]
    done = run(folder, *table, "--draws", "1", "--splits", "1")
    assert done.exit_code == 0, done.output
    assert "Mind: 30 of 40 speakers have no side information" in done.output
    blocks = pd.read_csv(folder / "out" / "isolation.csv").query("level == 'level2'").block_size
    assert np.isfinite(blocks).all()
