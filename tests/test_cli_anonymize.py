"""`voiceprivacy anonymize` from a folder or a Kaldi directory to another."""

import json
import sys

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from recipe_scripts import PLAIN, write_2024
from test_anonymize import save, sounds, vowel, write_corpus

from voiceprivacy.anonymize import anonymized
from voiceprivacy.anonymizers import McAdams
from voiceprivacy.cli import main
from voiceprivacy.corpora import read_folder
from voiceprivacy.kaldi import genders, read_kaldi, transcripts, write_kaldi
from voiceprivacy.systems import SYSTEMS


@pytest.fixture
def folder(tmp_path):
    write_corpus(tmp_path / "in")
    return tmp_path


def run(folder, *options, out="out", speech="in"):
    return CliRunner().invoke(
        main, ["anonymize", str(folder / speech), str(folder / out), *options]
    )


def test_the_folder_is_what_the_library_makes(folder):
    done = run(folder, "--method", "mcadams", "--set", "lowest=0.6", "--set", "highest=0.7",
               "--seed", "3", "--workers", "2")  # fmt: skip
    assert done.exit_code == 0, done.output
    assert f"6 utterances anonymized (mcadams): {folder / 'out'}" in done.output
    anonymized(read_folder(folder / "in"), McAdams(0.6, 0.7, seed=3), folder / "same")
    assert sounds(folder / "out") == sounds(folder / "same")
    skipped = pd.read_csv(folder / "out" / "skipped.csv")
    assert skipped.columns.tolist() == ["utterance", "path", "reason", "detail"]
    assert not len(skipped)


def test_started_again_it_goes_on(folder):
    assert run(folder, "--method", "identity").exit_code == 0
    before = {p: (folder / "out" / p).stat().st_mtime_ns for p in sounds(folder / "out")}
    gone = folder / "out" / "s0" / "01.flac"
    gone.unlink()
    assert run(folder, "--method", "identity").exit_code == 0
    after = {p: (folder / "out" / p).stat().st_mtime_ns for p in sounds(folder / "out")}
    assert [str(p) for p in before if before[p] != after[p]] == ["s0/01.flac"]


def test_methods_are_listed_with_their_parameters():
    shown = CliRunner().invoke(main, ["anonymize", "--list"])
    assert shown.exit_code == 0
    lines = shown.output.splitlines()
    assert [line.split()[0] for line in lines] == list(SYSTEMS)
    assert lines[0].endswith("Speech as it is. (seed=0)")
    assert "lowest=0.5, highest=0.9, level=speaker, seed=0" in shown.output


def test_a_kaldi_directory_becomes_another(folder):
    corpus = read_folder(folder / "in")
    write_kaldi(folder / "kaldi", corpus, genders={"s0": "female", "s1": "male"})
    text = "".join(f"{u} A WORD\n" for u in corpus.table["utterance"])
    (folder / "kaldi" / "text").write_text(text)
    done = run(folder, "--method", "resample", speech="kaldi")
    assert done.exit_code == 0, done.output
    result = read_kaldi(folder / "out")
    assert result.table["utterance"].tolist() == corpus.table["utterance"].tolist()
    assert genders(folder / "out").to_dict() == {"s0": "female", "s1": "male"}
    assert set(transcripts(folder / "out").values()) == {"A WORD"}
    factors = pd.read_csv(folder / "out" / "utterances.csv")["time_factor"]
    lengths = [len(result.audio(row)) for row in range(6)]
    np.testing.assert_array_equal(lengths, (8_000 * factors).round())


def test_a_broken_file_is_named_the_rest_done_and_the_status_tells(folder):
    bad = folder / "in" / "s1" / "11.wav"
    bad.write_bytes(b"RIFF no sound")
    save(folder / "in" / "s1" / "quiet.wav", np.zeros(4_000))
    done = run(folder, "--method", "mcadams")
    assert done.exit_code == 2
    assert f"left out: '{bad}: unreadable'. The others are done" in done.output
    assert "Mind: 1 silent ('quiet')." in done.output
    assert "Traceback" not in done.output
    assert len(sounds(folder / "out")) == 6
    (row,) = pd.read_csv(folder / "out" / "skipped.csv").itertuples()
    assert (row.path, row.reason) == (str(bad), "unreadable")


@pytest.mark.parametrize("out", ["in", "in/anonymized", "in/s0"])
def test_a_folder_inside_the_speech_is_refused(folder, out):
    done = run(folder, "--method", "identity", out=out)
    assert done.exit_code == 2
    assert "lies in IN" in done.output
    assert not list((folder / "in").rglob("*.flac"))


def test_other_settings_need_another_folder(folder):
    assert run(folder, "--method", "mcadams").exit_code == 0
    done = run(folder, "--method", "mcadams", "--seed", "1")
    assert done.exit_code == 2
    assert "holds the output of another run (different: parameters)" in done.output


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--method", "mcadam"], "there is no anonymizer 'mcadam'; there are: identity,"),
        (["--method", "mcadams", "--set", "alpha=1"], "no parameter 'alpha'; it has: lowest,"),
        (["--method", "mcadams", "--set", "lowest=low"], "no lowest='low'; expected float"),
        (["--method", "mcadams", "--set", "lowest"], "expected KEY=VALUE, not 'lowest'"),
        ([], "Missing option '--method'"),
    ],
)
def test_mistakes_are_told_before_anything_is_written(folder, options, told):
    done = run(folder, *options)
    assert done.exit_code == 2
    assert told in " ".join(done.output.split())
    assert not (folder / "out").exists()


def test_no_such_folder(folder):
    done = run(folder, "--method", "identity", speech="nowhere")
    assert done.exit_code == 2
    assert "nowhere: no such folder of speech" in done.output


def test_stereo_at_48_khz_becomes_mono_at_16(folder):
    save(folder / "in" / "s0" / "wide.wav", np.stack([vowel(120, 0.5, 48_000)] * 2, 1), 48_000)
    assert run(folder, "--method", "whisper").exit_code == 0
    table = pd.read_csv(folder / "out" / "utterances.csv").set_index("utterance").loc["wide"]
    assert table["samples"] == round(8_000 * table["time_factor"])
    manifest = json.loads((folder / "out" / "manifest.json").read_text())
    assert manifest["class"] == "Whisper"


def test_a_program_over_the_whole_directory(folder):
    (folder / "mine.py").write_text(PLAIN)
    command = f"command={sys.executable} {folder / 'mine.py'} {{input}} {{output}}"
    done = run(folder, "--method", "external", "--set", command)
    assert done.exit_code == 0, done.output
    assert f"6 utterances anonymized (external): {folder / 'out'}" in done.output
    assert len(sounds(folder / "out")) == 6
    done = run(folder, "--method", "external", "--set", f"{command} 01=empty", out="other")
    assert done.exit_code == 2
    assert "01.wav: empty" in " ".join(done.output.replace("\n", "").split())
    (row,) = pd.read_csv(folder / "other" / "skipped.csv", dtype=str).itertuples()
    assert (row.utterance, row.reason) == ("01", "empty")


def test_a_baseline_takes_the_tables_of_the_kaldi_directory(folder):
    corpus = read_folder(folder / "in")
    write_kaldi(folder / "kaldi", corpus, genders={"s0": "female", "s1": "male"})
    recipe = write_2024(folder / "recipe")
    options = ["--set", f"recipe={recipe}", "--set", f"python={sys.executable}"]
    done = run(folder, "--method", "baseline_b3", *options, speech="kaldi")
    assert done.exit_code == 0, done.output
    assert genders(folder / "out").to_dict() == {"s0": "female", "s1": "male"}
    done = run(folder, "--method", "baseline_b3", *options, out="other")
    assert done.exit_code == 2
    assert "set tables to a Kaldi directory" in done.output


def test_what_was_anonymized_elsewhere_is_taken_over(folder):
    assert run(folder, "--method", "mcadams", out="made").exit_code == 0
    done = run(folder, "--method", "precomputed", "--set", f"path={folder / 'made'}")
    assert done.exit_code == 0, done.output
    found, made = (read_folder(folder / name) for name in ("out", "made"))
    np.testing.assert_array_equal(found.audio(3), made.audio(3))


def test_b2_by_name(folder):
    assert run(folder, "--method", "baseline_b2").exit_code == 0
    assert run(folder, "--method", "baseline_b2-speaker", out="other").exit_code == 0
    assert sounds(folder / "out").keys() == sounds(folder / "other").keys()
    assert sounds(folder / "out") != sounds(folder / "other")
