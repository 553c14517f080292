"""`voiceprivacy segment` from sound files to a table of words."""

import sys

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from test_segmentation import save, tone

from voiceprivacy.cli import main
from voiceprivacy.cli import segment as cli
from voiceprivacy.corpora import read_folder
from voiceprivacy.errors import VoicePrivacyError
from voiceprivacy.segmentation import Found, read_timestamps

soundfile = pytest.importorskip("soundfile", reason="the speech extra is not installed")

RATE = 16_000


class Halves:
    """Finds two words, the second one beyond the end."""

    name = "halves"

    def find(self, samples, utterance):
        half = len(samples) / RATE / 2
        return [Found("first", 0, half), Found("second", half, 3 * half)]


@pytest.fixture
def folder(tmp_path):
    for k in range(3):
        save(tmp_path / "in" / f"s{k}" / f"u{k}.wav", tone(seconds=1 + k))
    save(tmp_path / "in" / "s0" / "quiet.wav", np.zeros(RATE))
    return tmp_path


@pytest.fixture
def halves(monkeypatch):
    monkeypatch.setattr(cli, "PocketSphinxRecogniser", lambda transcripts: Halves())


def run(folder, *options):
    files = [str(folder / "in"), str(folder / "words.csv")]
    return CliRunner().invoke(main, ["segment", *files, *options])


def test_times_repairs_and_utterances_without_words_are_written(folder, halves):
    done = run(folder, "--recogniser", "pocketsphinx")
    assert done.exit_code == 0, done.output
    words = read_timestamps(folder / "words.csv", read_folder(folder / "in"))
    assert words.spans("u1").tolist() == [[0, RATE], [RATE, 2 * RATE]]
    repairs = pd.read_csv(folder / "words_repairs.csv")
    assert repairs["repair"].tolist() == ["clamped"] * 3
    without = pd.read_csv(folder / "words_no_words.csv")
    assert without[["utterance", "reason"]].to_numpy().tolist() == [["quiet", "silent"]]
    assert "6 words in 3 of 4 utterances, by halves." in done.output
    assert "Repairs: 3 clamped." in done.stderr
    assert "Without words: 1 silent." in done.stderr
    assert not (folder / "words.csv.parts").exists()


def test_files_left_out_end_in_an_error_after_the_others_are_done(folder, halves):
    (folder / "in" / "s1" / "empty.wav").touch()
    (folder / "in" / "s1" / "other.opus").touch()
    done = run(folder, "--recogniser", "pocketsphinx")
    assert done.exit_code == 2
    assert "not all of the speech was segmented; left out:" in done.stderr
    assert f"details are in {folder / 'words_skipped.csv'}" in done.stderr
    skipped = pd.read_csv(folder / "words_skipped.csv")
    assert sorted(skipped["utterance"]) == ["empty", "other"]
    ids = pd.read_csv(folder / "words.csv")["utterance_id"]
    assert sorted(ids) == ["quiet", "u0", "u1", "u2"]


def test_files_that_a_recogniser_fails_on_are_left_out(folder, monkeypatch):
    class Choosy(Halves):
        def find(self, samples, utterance):
            if utterance == "u1":
                raise RuntimeError("no such word")
            return super().find(samples, utterance)

    monkeypatch.setattr(cli, "PocketSphinxRecogniser", lambda transcripts: Choosy())
    done = run(folder, "--recogniser", "pocketsphinx")
    assert done.exit_code == 2
    (row,) = pd.read_csv(folder / "words_skipped.csv").itertuples()
    assert (row.utterance, row.reason) == ("u1", "failed")
    assert row.path == str(folder / "in" / "s1" / "u1.wav")


def test_transcripts_of_other_speech_are_refused_at_once(folder, halves):
    (folder / "text").write_text("x1 HELLO\n")
    done = run(folder, "--recogniser", "pocketsphinx", "--transcripts", str(folder / "text"))
    assert done.exit_code == 2
    assert "no utterance of the speech: it has 'x1', the speech 'quiet', 'u0'" in done.stderr
    assert sorted(path.name for path in folder.iterdir()) == ["in", "text"]


def test_a_kaldi_directory_is_read(folder, halves):
    (folder / "in" / "wav.scp").write_text(f"k1 {folder / 'in' / 's1' / 'u1.wav'}\n")
    (folder / "in" / "utt2spk").write_text("k1 s1\n")
    assert run(folder, "--recogniser", "pocketsphinx").exit_code == 0
    assert pd.read_csv(folder / "words.csv")["utterance_id"].tolist() == ["k1"]


def test_what_a_kaldi_directory_lacks_is_left_out_on_request(folder, halves):
    (folder / "in" / "wav.scp").write_text(f"k1 {folder / 'in' / 's1' / 'u1.wav'}\n")
    (folder / "in" / "utt2spk").write_text("k1 s1\nk2 s2\n")
    done = run(folder, "--recogniser", "pocketsphinx")
    assert done.exit_code == 2
    assert "or leave out what is not whole (missing: drop)" in done.stderr
    done = run(folder, "--recogniser", "pocketsphinx", "--missing", "drop")
    assert done.exit_code == 2  # the words of the others are there
    assert pd.read_csv(folder / "words.csv")["utterance_id"].tolist() == ["k1"]
    assert pd.read_csv(folder / "words_skipped.csv")["utterance"].tolist() == ["k2"]


def test_a_kaldi_directory_without_a_list_of_sounds_is_read(folder, halves):
    (folder / "in" / "wav").mkdir()
    (folder / "in" / "s1" / "u1.wav").rename(folder / "in" / "wav" / "k1.wav")
    (folder / "in" / "utt2spk").write_text("k1 s1\n")
    done = run(folder, "--recogniser", "pocketsphinx")
    assert done.exit_code == 0, done.output
    assert pd.read_csv(folder / "words.csv")["utterance_id"].tolist() == ["k1"]


def test_results_are_not_overwritten_unasked(folder, halves):
    (folder / "words.csv").write_text("mine")
    done = run(folder, "--recogniser", "pocketsphinx")
    assert done.exit_code == 2
    assert "words.csv is already there" in done.output
    assert (folder / "words.csv").read_text() == "mine"
    assert run(folder, "--recogniser", "pocketsphinx", "--overwrite").exit_code == 0
    assert (folder / "words.csv").read_text() != "mine"


def test_a_stopped_run_goes_on(folder, monkeypatch):
    asked = []

    class Stopping(Halves):
        def find(self, samples, utterance):
            if len(asked) == 2:
                asked.append("stop")
                raise KeyboardInterrupt
            asked.append(utterance)
            return super().find(samples, utterance)

    monkeypatch.setattr(cli, "PocketSphinxRecogniser", lambda transcripts: Stopping())
    assert run(folder, "--recogniser", "pocketsphinx").exit_code == 130
    assert not (folder / "words.csv").exists()
    assert run(folder, "--recogniser", "pocketsphinx").exit_code == 0
    assert asked == ["u0", "u1", "stop", "u2"]


@pytest.mark.parametrize("form", ["file", "folder"])
def test_transcripts_are_read(folder, monkeypatch, form):
    heard = []
    monkeypatch.setattr(
        cli, "PocketSphinxRecogniser", lambda texts: heard.append(texts) or Halves()
    )
    path = folder / "texts" / "1" / "1-2.trans.txt"
    path.parent.mkdir(parents=True)
    path.write_text("u0 GO ON\nu1 STOP\n\n")
    texts = str(path if form == "file" else folder / "texts")
    done = run(folder, "--recogniser", "pocketsphinx", "--transcripts", texts)
    assert done.exit_code == 0, done.output
    assert heard == [{"u0": "GO ON", "u1": "STOP"}]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["--recogniser", "pocketsphinx", "--device", "cpu", "--model", "tiny"],
            "--recogniser pocketsphinx has no use for --device, --model",
        ),
        (["--recogniser", "packaged", "--model", "tiny"], "packaged has no use for --model"),
        (["--transcripts", "t.txt"], "--recogniser whisper has no use for --transcripts"),
        (["--recogniser", "pocketsphinx", "--transcripts", "t.txt"], "t.txt is missing"),
        (["--recogniser", "pocketsphinx", "--transcripts", "."], "no .trans.txt files"),
        (["--model", "huge"], "'huge' is neither a folder nor a model"),
    ],
)
def test_bad_requests_are_one_message(folder, monkeypatch, options, message):
    pytest.importorskip("faster_whisper", reason="the words extra is not installed")
    monkeypatch.chdir(folder)
    done = run(folder, *options)
    assert done.exit_code == 2
    assert message in done.output
    assert "Traceback" not in done.output
    assert not (folder / "words.csv").exists()


def test_a_missing_recogniser_is_told_before_any_sound_is_read(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "faster_whisper", None)
    monkeypatch.setattr(cli, "read_speech", None)
    done = run(folder)
    assert done.exit_code == 2
    assert 'pip install "voiceprivacy[words]"' in done.output
    assert "pocketsphinx" in done.output


def test_an_mp3_needs_no_other_program_and_half_precision_falls_back(tmp_path, monkeypatch):
    pytest.importorskip("faster_whisper", reason="the words extra is not installed")
    if "MP3" not in soundfile.available_formats():
        pytest.skip("this libsndfile writes no mp3")
    save(tmp_path / "in" / "s" / "u.mp3", tone(seconds=1.5, rate=44_100), 44_100)
    monkeypatch.setenv("PATH", "")
    done = run(tmp_path, "--recogniser", "packaged", "--compute-type", "float16")
    assert done.exit_code == 0, done.output
    assert "Mind: float16 does not work on this CPU; using int8." in done.stderr
    assert pd.read_csv(tmp_path / "words.csv")["utterance_id"].tolist() == ["u"]


def test_a_recogniser_that_fails_everywhere_leaves_no_table(folder, monkeypatch):
    class Failing(Halves):
        def find(self, samples, utterance):
            raise VoicePrivacyError("no voice model")

    monkeypatch.setattr(cli, "PocketSphinxRecogniser", lambda transcripts: Failing())
    done = run(folder, "--recogniser", "pocketsphinx")
    assert done.exit_code == 2
    assert "halves failed on all 3 utterances" in done.output
    assert not (folder / "words.csv").exists()
