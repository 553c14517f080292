"""Durations: a release's own table first, then headers, which are read once."""

import numpy as np
import pytest

from voiceprivacy import durations as module
from voiceprivacy.corpora import cut, read_folder
from voiceprivacy.durations import utterance_durations
from voiceprivacy.errors import VoicePrivacyError

soundfile = pytest.importorskip("soundfile", reason="the speech extra is not installed")
pytest.importorskip("soxr", reason="the speech extra is not installed")


def save(path, seconds, rate=16_000):
    path.parent.mkdir(parents=True, exist_ok=True)
    tone = 0.3 * np.sin(2 * np.pi * 200 * np.arange(round(seconds * rate)) / rate)
    soundfile.write(path, tone, rate)
    return path


@pytest.fixture
def corpus(tmp_path):
    for name, seconds, rate in (("a", 1.0, 16_000), ("b", 0.25, 48_000), ("c", 2.0, 8_000)):
        save(tmp_path / "speech" / "ann" / f"{name}.wav", seconds, rate)
    return read_folder(tmp_path / "speech")


@pytest.fixture
def headers(monkeypatch):
    """The files whose headers are read from now on."""
    read, real = [], module._header
    monkeypatch.setattr(module, "_header", lambda path: read.append(path[-5]) or real(path))
    return read


def test_headers_of_any_rate(corpus):
    left, seconds = utterance_durations(corpus)
    assert seconds.to_dict() == {"a": 1.0, "b": 0.25, "c": 2.0}
    assert left.table.equals(corpus.table)
    note = left.notes.iloc[-1]
    assert note[["utterance", "reason"]].tolist() == ["c", "low rate"]
    assert note["detail"] == "8000 Hz; 16 kHz expected"


def test_the_release_s_table_comes_first(corpus, tmp_path, headers):
    table = "duration[ms]\tclip\n5004\ta.mp3\n99\tzz.mp3\n7008\tc.mp3\n"
    (tmp_path / "clip_durations.tsv").write_text(table)
    left, seconds = utterance_durations(corpus, tmp_path)
    assert seconds.to_dict() == {"a": 5.004, "b": 0.25, "c": 7.008}
    assert headers == ["b"]
    assert len(left.notes) == len(corpus.notes)


def test_without_a_table_all_is_measured(corpus, tmp_path, headers):
    assert len(utterance_durations(corpus, tmp_path)[1]) == 3
    assert headers == ["a", "b", "c"]


def test_an_interrupted_run_goes_on(corpus, tmp_path, monkeypatch):
    keep, real, read = tmp_path / "deep" / "durations.tsv", module._header, []

    def interrupted(path):
        if path.endswith("b.wav"):
            raise KeyboardInterrupt
        return real(path)

    monkeypatch.setattr(module, "_header", interrupted)
    with pytest.raises(KeyboardInterrupt):
        utterance_durations(corpus, keep=keep)
    assert keep.read_text() == "clip\tduration[ms]\trate\na\t1000\t16000\n"
    monkeypatch.setattr(module, "_header", lambda path: read.append(path[-5]) or real(path))
    left, seconds = utterance_durations(corpus, keep=keep)
    assert read == ["b", "c"]
    again, same = utterance_durations(corpus, keep=keep)
    assert read == ["b", "c"]
    assert same.equals(seconds)
    assert again.notes.equals(left.notes)
    assert seconds.equals(utterance_durations(corpus)[1])


def test_saved_now_and_then(corpus, tmp_path, monkeypatch):
    saved = []
    monkeypatch.setattr(module, "BATCH", 2)
    monkeypatch.setattr(module, "_save", lambda path, known, rows: saved.append(len(rows)))
    utterance_durations(corpus, keep=tmp_path / "keep.tsv")
    assert saved == [2, 3]


def test_files_without_a_duration_are_left_out(corpus, tmp_path):
    keep = tmp_path / "keep.tsv"
    (tmp_path / "speech" / "ann" / "a.wav").write_bytes(b"no sound")
    save(tmp_path / "speech" / "ann" / "b.wav", 0)
    left, seconds = utterance_durations(corpus, keep=keep)
    assert seconds.index.tolist() == left.table["utterance"].tolist() == ["c"]
    assert left.skipped[["utterance", "reason"]].to_numpy().tolist() == [
        ["a", "unreadable"],
        ["b", "unreadable"],
    ]
    assert left.skipped["detail"][1] == "holds no samples"
    assert keep.read_text().count("\n") == 2
    (tmp_path / "speech" / "ann" / "c.wav").unlink()
    with pytest.raises(VoicePrivacyError, match="the duration of no utterance is known"):
        utterance_durations(corpus)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("clip\tduration[ms]\na.mp3\t5 s\nb.mp3\t-1\n", r"2 rows whose duration\[ms\] .*line 2, 3"),
        ("clip\tduration\na.mp3\t5\n", r"no column 'duration\[ms\]'; its heading"),
        ("clip\tduration[ms]\na.mp3\n", r"'line 2: 1'"),
    ],
)
def test_damaged_tables_are_refused(corpus, tmp_path, text, message):
    (tmp_path / "clip_durations.tsv").write_text(text)
    with pytest.raises(VoicePrivacyError, match=message):
        utterance_durations(corpus, tmp_path)


def test_pieces_of_files_are_refused(corpus):
    with pytest.raises(VoicePrivacyError, match="7 utterances are pieces of files: 'a_000'"):
        utterance_durations(cut(corpus, 0.5, minimum=0.2))


def test_a_kept_table_without_rows_changes_nothing(corpus, tmp_path):
    (tmp_path / "clip_durations.tsv").write_text("clip\tduration[ms]\na.mp3\t10\nb.mp3\t20\n")
    corpus = corpus.select(np.arange(2))
    (tmp_path / "keep.tsv").write_text("clip\tduration[ms]\trate\n")
    seconds = utterance_durations(corpus, tmp_path, keep=tmp_path / "keep.tsv")[1]
    assert seconds.dtype == float
    assert seconds.tolist() == [0.01, 0.02]
