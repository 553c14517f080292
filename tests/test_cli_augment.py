"""`voiceprivacy augment` from a folder or a Kaldi directory to another."""

import itertools

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from test_augment import bytes_below, speech

from voiceprivacy._words import word_table
from voiceprivacy.cli import augment as cli
from voiceprivacy.cli import main
from voiceprivacy.corpora import read_folder
from voiceprivacy.kaldi import genders, read_kaldi, transcripts, write_kaldi
from voiceprivacy.segmentation import Found, Segmentation, write_timestamps

RATE = 16_000


class Thirds:
    """Finds three words, and encodes a word by its first samples."""

    name = "thirds"

    def find(self, samples, utterance):
        times = np.linspace(0, len(samples) / RATE, 4)
        return [Found("word", *span) for span in itertools.pairwise(times)]

    def encode(self, waveforms, padding="short"):
        return np.array([waveform[:3] for waveform in waveforms])


@pytest.fixture
def folder(tmp_path):
    corpus, _ = speech(tmp_path / "in", 4)
    words = Segmentation(
        "drawn",
        word_table(
            (utterance, "", start + row, end)
            for row, utterance in enumerate(corpus.table["utterance"])
            for start, end in ((800, 2400), (2600, 5000), (5000, 7900))
        ),
    )
    write_timestamps(words, tmp_path / "words.csv")
    return tmp_path, corpus, words


@pytest.fixture
def whisper(monkeypatch):
    asked = []

    class Whisper(Thirds):
        def __init__(self, model):
            asked.append(model)

    monkeypatch.setattr(cli, "WhisperRecogniser", Whisper)
    return asked


def run(root, *options, timestamps=True):
    given = ["--timestamps", str(root / "words.csv")] * timestamps
    return CliRunner().invoke(
        main, ["augment", str(root / "in"), str(root / "out"), *given, *options]
    )


def test_a_folder_is_augmented_with_given_words(folder):
    root, corpus, _ = folder
    done = run(root, "--strategy", "rr", "--concatenate", "--workers", "2")
    assert done.exit_code == 0, done.output
    assert "4 utterances augmented (rr, concatenated, gapless" in done.output
    out = read_folder(root / "out")
    assert out.table["utterance"].tolist() == corpus.table["utterance"].tolist()
    assert len(out.audio(0)) == 2 * len(corpus.audio(0))
    assert (root / "out" / "timestamps.csv").read_text() == (root / "words.csv").read_text()
    assert len(pd.read_csv(root / "out" / "skipped.csv")) == 0


def test_settings_reach_the_method(folder):
    root, corpus, words = folder
    done = run(root, "--strategy", "rr", "--alone", "--boundaries", "tight", "--seed", "3")
    assert done.exit_code == 0, done.output
    assert "rr, alone, tight, original_first, crossfade 0 s, seed 3" in done.output
    lengths = [len(read_folder(root / "out").audio(row)) for row in range(4)]
    assert lengths == [np.diff(words.spans(u)).sum() for u in corpus.table["utterance"]]


def test_words_are_found_where_none_are_given(folder, whisper):
    root, _, _ = folder
    done = run(root, "--strategy", "sr", "--recogniser", "packaged", timestamps=False)
    assert done.exit_code == 0, done.output
    assert whisper == ["packaged"]  # one model finds the words and encodes them
    told = pd.read_csv(root / "out" / "utterances.csv")
    assert (told["words"] == 3).all()
    assert not (root / "out.parts").exists()


def test_whisper_medium_is_the_default(folder, whisper):
    assert run(folder[0], "--strategy", "rr", timestamps=False).exit_code == 0
    assert whisper == ["medium"]


def test_given_words_are_encoded_by_the_model_that_is_named(folder, whisper):
    assert run(folder[0], "--strategy", "sr", "--model", "packaged").exit_code == 0
    assert whisper == ["packaged"]


def test_kaldi_tables_are_carried_along(folder):
    root, corpus, _ = folder
    kaldi = root / "in" / "kaldi"
    write_kaldi(kaldi, corpus, genders={"s0": "female", "s1": "male"})
    said = dict.fromkeys(corpus.table["utterance"], "SOME WORDS")
    (kaldi / "text").write_text("".join(f"{u} {text}\n" for u, text in said.items()))
    files = [str(kaldi), str(root / "out"), "--timestamps", str(root / "words.csv")]
    done = CliRunner().invoke(main, ["augment", *files, "--strategy", "rr"])
    assert done.exit_code == 0, done.output
    out = read_kaldi(root / "out")
    assert out.table[["utterance", "speaker"]].equals(corpus.table[["utterance", "speaker"]])
    assert len(out.audio(2)) == 2 * len(corpus.audio(2))
    assert genders(root / "out").to_dict() == {"s0": "female", "s1": "male"}
    assert transcripts(root / "out") == said
    durations = (root / "out" / "utt2dur").read_text().split()[1::2]
    assert durations == ["1.0"] * 4
    assert (root / "out" / "spk2utt").read_text() == "s0 u00 u02\ns1 u01 u03\n"


def test_a_corrupt_file_is_listed_and_fails_the_command_after_the_rest_is_done(folder):
    root, _, _ = folder
    bad = root / "in" / "s1" / "u01.flac"
    bad.write_bytes(bad.read_bytes()[:100] + b"\0" * 500)
    done = run(root, "--strategy", "rr")
    assert done.exit_code == 2
    assert f"left out: '{bad}: unreadable'. The others are done" in done.stderr
    assert "Traceback" not in done.output
    skipped = pd.read_csv(root / "out" / "skipped.csv")
    assert skipped[["path", "reason"]].to_numpy().tolist() == [[str(bad), "unreadable"]]
    assert len(read_folder(root / "out")) == 3


def test_utterances_without_words_are_told(folder):
    root, _, _ = folder
    rows = (root / "words.csv").read_text().splitlines()
    (root / "words.csv").write_text("\n".join(rows[:-1]) + "\n")
    done = run(root, "--strategy", "rr")
    assert done.exit_code == 0, done.output
    assert "Mind: 1 no words (see utterances.csv)." in done.stderr
    assert "Without words: 1 not in the file." in done.stderr


def test_times_that_do_not_fit_the_speech_are_told(folder):
    root, _, _ = folder
    table = pd.read_csv(root / "words.csv")
    table.loc[0, "word_timestamps"] = '{"0": [0.1, 0.4], "1": [100, 101]}'
    table.to_csv(root / "words.csv", index=False)
    done = run(root, "--strategy", "rr")
    assert done.exit_code == 0, done.output
    assert "Repairs: 1 outside." in done.stderr


@pytest.mark.parametrize("out", ["in", "in/augmented"])
def test_the_folder_itself_is_refused_before_anybody_listens(folder, whisper, monkeypatch, out):
    root, _, _ = folder
    monkeypatch.setattr(Thirds, "find", lambda *_: pytest.fail("it listened"))
    before = bytes_below(root)
    files = [str(root / "in"), str(root / out), "--strategy", "rr"]
    done = CliRunner().invoke(main, ["augment", *files])
    assert done.exit_code == 2
    assert "lies in IN" in done.stderr
    assert bytes_below(root) == before


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["--strategy", "rr", "--recogniser", "packaged"],
            "--timestamps or --recogniser, not both",
        ),
        (["--strategy", "rr", "--crossfade", "5"], "a cross-fade of 5.0 s"),
    ],
)
def test_bad_options(folder, options, message):
    done = run(folder[0], *options)
    assert done.exit_code == 2
    assert message in done.stderr
    assert not (folder[0] / "out").exists()
