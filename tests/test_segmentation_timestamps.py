"""Word times of the authors' form go in and out without loss."""

import json

import numpy as np
import pandas as pd
import pytest
from test_segmentation import save, tone

from voiceprivacy.corpora import cut, read_folder
from voiceprivacy.errors import VoicePrivacyError
from voiceprivacy.segmentation import Segmentation, read_timestamps, write_timestamps

RATE = 16_000


@pytest.fixture
def corpus(tmp_path):
    for k in range(4):
        save(tmp_path / "in" / f"s{k % 2}" / f"u{k}.wav", tone(150 + 40 * k, 1 + k / 4))
    return read_folder(tmp_path / "in")


def write(path, *rows, header="utterance_id,word_timestamps"):
    path.write_text("\n".join([header, *rows]) + "\n")
    return path


def test_the_authors_form_is_read(corpus, tmp_path):
    path = write(
        tmp_path / "words.csv",
        'u0,"{""0"": [0.1, 0.25], ""1"": [0.25, 0.9]}"',
        'u1,"{""10"": [0.8, 1.0], ""9"": [0.5, 0.8]}"',
        "u2,{}",
        'elsewhere,"{""0"": [0, 1]}"',
    )
    words = read_timestamps(path, corpus)
    assert words.spans("u0").tolist() == [[1600, 4000], [4000, 14_400]]
    assert words.spans("u1").tolist() == [[8000, 12_800], [12_800, 16_000]]
    assert words.words("u0") == ["", ""]
    assert words.no_words[["utterance", "reason"]].to_numpy().tolist() == [
        ["u2", "nothing found"],
        ["u3", "not in the file"],
    ]
    assert len(words.counts()) == 0


def test_columns_are_found_by_name_behind_a_byte_order_mark(corpus, tmp_path):
    path = tmp_path / "words.csv"
    path.write_text('\ufeffn,word_timestamps,utterance_id\n1,"{""0"": [0.1, 0.2]}",u0\n', "utf-8")
    assert read_timestamps(path, corpus).spans("u0").tolist() == [[1600, 3200]]


def test_impossible_times_are_repaired(corpus, tmp_path):
    path = write(
        tmp_path / "words.csv",
        'u0,"{""0"": [0.5, 0.5], ""1"": [0.6, 1.7], ""2"": [null, 1]}"'.replace("null", "NaN"),
        'u1,"{""0"": [9.5, 9.7]}"',
    )
    words = read_timestamps(path, corpus)
    assert words.spans("u0").tolist() == [[9600, 16_000]]
    assert words.counts().to_dict() == {"no time": 1, "no length": 1, "clamped": 1, "outside": 1}
    assert words.no_words["reason"].tolist() == ["nothing left", *["not in the file"] * 2]


def test_times_are_clamped_to_what_decodes(tmp_path, corpus):
    pieces = cut(corpus.select([3]), 0.5)
    row = 'u3_000,"{""0"": [0.1, 0.9]}"'
    words = read_timestamps(write(tmp_path / "words.csv", row), pieces)
    assert words.spans("u3_000").tolist() == [[1600, 8000]]
    save(tmp_path / "in" / "s1" / "u3.wav", tone(seconds=0.3, rate=48_000), 48_000)
    row = 'u3,"{""0"": [0.1, 0.9]}"'
    assert read_timestamps(write(tmp_path / "w.csv", row), corpus).spans("u3").tolist() == [
        [1600, 4800]
    ]
    (tmp_path / "in" / "s1" / "u3.wav").write_bytes(b"RIFF")
    words = read_timestamps(write(tmp_path / "w.csv", row), corpus.select([3]))
    assert words.no_words["reason"].tolist() == ["unreadable"]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (["u0,{}", "u0,{}"], "line 3: utterance 'u0' stands there twice"),
        (["u0,"], "line 2: '' are no word times; expected JSON such as"),
        (["u0"], "line 2: None are no word times"),
        (["u0,[[0.1, 0.2]]"], "line 2: '.*' are no word times"),
        (['u0,"{""0"": [0.1]}"'], "are no word times"),
        (['u0,"{""a"": [0.1, 0.2]}"'], "are no word times"),
        (['u0,"{""0"": [""x"", 1]}"'], "are no word times"),
        (['u0,"{""0"": [0, Infinity]}"'], "line 2: a word time is infinite"),
        (["u0.wav,{}"], "names no utterance of in: it has 'u0.wav', the corpus 'u0', 'u1'"),
        ([], "names no utterance"),
    ],
)
def test_damaged_files_are_refused(corpus, tmp_path, rows, message):
    with pytest.raises(VoicePrivacyError, match=message):
        read_timestamps(write(tmp_path / "words.csv", *rows), corpus)


def test_other_files_are_refused(corpus, tmp_path):
    path = write(tmp_path / "words.csv", header="utterance,word")
    with pytest.raises(VoicePrivacyError, match=r"no column 'utterance_id', 'word_timestamps'"):
        read_timestamps(path, corpus)
    with pytest.raises(VoicePrivacyError, match="no such file of word times"):
        read_timestamps(tmp_path / "none.csv", corpus)
    (tmp_path / "empty.csv").touch()
    with pytest.raises(VoicePrivacyError, match="no column"):
        read_timestamps(tmp_path / "empty.csv", corpus)


def test_a_table_in_another_encoding_is_refused(corpus, tmp_path):
    path = tmp_path / "words.csv"
    path.write_bytes("utterance_id,word_timestamps\né,{}\n".encode("latin-1"))
    with pytest.raises(VoicePrivacyError, match=r"words.csv is no CSV in UTF-8 \(.*0xe9"):
        read_timestamps(path, corpus)


def test_an_utterance_may_have_thousands_of_words(corpus, tmp_path):
    utterance = corpus.table["utterance"][0]
    text = json.dumps({str(k): [k / 10, (k + 1) / 10] for k in range(8_000)})
    path = tmp_path / "words.csv"
    pd.DataFrame({"utterance_id": [utterance], "word_timestamps": [text]}).to_csv(path)
    assert len(text) > 2**17
    assert len(read_timestamps(path, corpus).spans(utterance)) == 10


def test_what_is_written_is_read_back_to_the_sample(corpus, tmp_path):
    rng = np.random.default_rng(0)
    rows = []
    for utterance in ("u3", "u0", "u1"):
        limits = np.sort(rng.choice(np.arange(0, RATE, 481), 12, replace=False))
        rows += [(utterance, "w", a, b) for a, b in zip(limits[::2], limits[1::2], strict=True)]
    table = pd.DataFrame(rows, columns=["utterance", "word", "start", "end"])
    without = pd.DataFrame({"utterance": ["u2"], "reason": ["silent"], "detail": [""]})
    words = Segmentation("me", table.astype({"start": np.int64, "end": np.int64}), no_words=without)
    write_timestamps(words, tmp_path / "words.csv")
    again = read_timestamps(tmp_path / "words.csv", corpus)
    for utterance in words.utterances:
        np.testing.assert_array_equal(again.spans(utterance), words.spans(utterance))
    assert again.no_words["utterance"].tolist() == ["u2"]
    assert len(again.repairs) == 0
    lines = (tmp_path / "words.csv").read_text().splitlines()
    assert [line.split(",")[0] for line in lines] == ["utterance_id", "u0", "u1", "u2", "u3"]
    assert lines[3] == "u2,{}"
