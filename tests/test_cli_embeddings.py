"""The command line shows what a file of embeddings holds, and converts without losing anything."""

import pytest
from click.testing import CliRunner

from voiceprivacy.cli import main
from voiceprivacy.embeddings import Embeddings, read_embeddings, write_embeddings


@pytest.fixture
def pool(tmp_path):
    """Three vectors of norms 5, 1 and 13."""
    e = Embeddings(["u1", "u2", "u3"], ["s", "s", "t"], [[3, 4], [0, 1], [5, 12]])
    write_embeddings(e, tmp_path / "in/pool.npz")
    return tmp_path / "in/pool.npz"


def run(*arguments):
    return CliRunner().invoke(main, ["embeddings", *map(str, arguments)])


def test_show_tells_format_counts_and_norms(pool):
    result = run("show", pool)
    assert result.exit_code == 0
    assert result.output.splitlines() == [
        "format      npz",
        "utterances  3",
        "speakers    2",
        "dimension   2",
        "norms       min 1, median 5, max 13",
    ]


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("x.h5", "SIDEKIT HDF5"),
        ("x.ark", "Kaldi archive"),
        ("x.scp", "Kaldi scp"),
        ("x.parquet", "parquet"),
        ("x.npz", "npz"),
    ],
)
def test_convert_and_back_keeps_every_bit(pool, tmp_path, name, form):
    result = run("convert", pool, tmp_path / "out" / name)
    assert result.exit_code == 0
    assert f"format      npz -> {form}\n" in result.output
    assert run("convert", tmp_path / "out" / name, tmp_path / "back.npz").exit_code == 0
    before, after = read_embeddings(pool), read_embeddings(tmp_path / "back.npz")
    assert after.utterances.tolist() == before.utterances.tolist()
    assert after.speakers.tolist() == before.speakers.tolist()
    assert after.matrix.tobytes() == before.matrix.tobytes()


@pytest.mark.parametrize(
    ("name", "taken"),
    [("x.ark", "x.ark"), ("x.ark", "x.scp"), ("x.ark", "utt2spk"), ("x.h5", "spk2utt")],
)
def test_convert_replaces_nothing_unless_told(pool, tmp_path, name, taken):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / taken).write_text("mine")
    result = run("convert", pool, tmp_path / "out" / name)
    assert result.exit_code == 2
    assert f"{taken}' would be replaced; choose another OUT, or --overwrite" in result.output
    assert (tmp_path / "out" / taken).read_text() == "mine"
    assert run("convert", pool, tmp_path / "out" / name, "--overwrite").exit_code == 0
    assert len(read_embeddings(tmp_path / "out" / name)) == 3


def test_speakers_come_from_a_named_table_and_may_be_shortened(pool, tmp_path):
    table, long = tmp_path / "utt2spk", "spk-m-2-spk-m-2-common-voice-en"
    table.write_text(f"u1 {long}\nu2 {long}\nu3 s\n")
    assert "speakers    2" in run("show", pool, "--speakers", table).output
    out = tmp_path / "out.npz"
    assert run("convert", pool, out, "--speakers", table, "--short-speakers").exit_code == 0
    assert read_embeddings(out).speakers.tolist() == ["spk-m-2", "spk-m-2", "s"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["show", "{folder}"], "expected exactly one of xvector.h5"),
        (["show", "{folder}/none.npz"], "no such file or folder of embeddings"),
        (["convert", "{pool}", "{folder}/x.npy"], "npy matrix is a format that is only read"),
        (["convert", "{pool}", "{folder}/x.csv"], "unknown suffix '.csv'"),
    ],
)
def test_bad_input_ends_in_one_message(pool, tmp_path, arguments, message):
    result = run(*(a.format(pool=pool, folder=tmp_path) for a in arguments))
    assert result.exit_code == 2
    assert result.output.startswith("Error: ")
    assert message in result.output
    assert result.output.count("\n") == 1
