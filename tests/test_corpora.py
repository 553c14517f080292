"""Folders of speech become one table; nothing is lost without a reason."""

import builtins

import numpy as np
import pandas as pd
import pytest

from voiceprivacy.corpora import COLUMNS, Corpus, checked, cut, read_audio, read_folder
from voiceprivacy.errors import VoicePrivacyError

soundfile = pytest.importorskip("soundfile", reason="the speech extra is not installed")
pytest.importorskip("soxr", reason="the speech extra is not installed")


def tone(seconds=1.0, rate=16_000, frequency=200.0, amplitude=0.3):
    return amplitude * np.sin(2 * np.pi * frequency * np.arange(round(seconds * rate)) / rate)


def save(path, samples, rate=16_000, **how):
    path.parent.mkdir(parents=True, exist_ok=True)
    soundfile.write(path, samples, rate, **how)
    return path


def owners(corpus):
    return dict(zip(corpus.table["utterance"], corpus.table["speaker"], strict=True))


def reasons(corpus):
    return dict(zip(corpus.skipped["utterance"], corpus.skipped["reason"], strict=True))


# -- one rule for every kind of audio ----------------------------------------------------------


def test_any_rate_and_channels_come_out_as_16_khz_mono(tmp_path):
    """Case 04: The same sound in four files; a silent right channel halves the mean."""
    stereo = np.stack([tone(rate=44_100), np.zeros(44_100)], axis=1)
    heard = {
        "16k": read_audio(save(tmp_path / "a.wav", tone())),
        "48k": read_audio(save(tmp_path / "b.wav", tone(rate=48_000), 48_000)),
        "44k stereo": 2 * read_audio(save(tmp_path / "c.wav", stereo, 44_100)),
        "8k": read_audio(save(tmp_path / "d.wav", tone(rate=8_000), 8_000)),
    }
    middle = slice(1_000, 15_000)  # filters ring at the ends
    for samples in heard.values():
        assert samples.dtype == np.float32
        assert samples.shape == (16_000,)
        np.testing.assert_allclose(samples[middle], tone()[middle], atol=2e-3)


@pytest.mark.parametrize("suffix", [".wav", ".flac", ".ogg", ".mp3", ".WAV"])
def test_pieces_are_slices_of_the_whole(tmp_path, suffix):
    path = save(tmp_path / f"a{suffix}", tone(3) * np.linspace(0.1, 1, 48_000))
    piece = read_audio(path, 1.0, 2.5)
    np.testing.assert_allclose(piece, read_audio(path)[16_000:40_000], atol=1e-4)


def test_what_cannot_be_heard_is_refused(tmp_path):
    flac = save(tmp_path / "a.flac", np.random.default_rng(0).normal(0, 0.1, 48_000))
    flac.write_bytes(flac.read_bytes()[:40_000])
    with pytest.raises(VoicePrivacyError, match=r"a\.flac cannot be decoded"):
        read_audio(flac)
    with pytest.raises(VoicePrivacyError, match="holds no samples"):
        read_audio(save(tmp_path / "b.wav", tone(0)))
    nan = np.where(np.arange(16_000) == 99, np.nan, tone())
    with pytest.raises(VoicePrivacyError, match="not numbers"):
        read_audio(save(tmp_path / "c.wav", nan, subtype="FLOAT"))
    for start, end in ((0.5, 0.2), (5.0, 6.0)):
        with pytest.raises(VoicePrivacyError, match=r"holds no samples|cannot be decoded"):
            read_audio(save(tmp_path / "d.wav", tone()), start, end)
    with pytest.raises(VoicePrivacyError, match=r"none\.wav cannot be decoded"):
        read_audio(tmp_path / "none.wav")


@pytest.mark.parametrize("suffix", [".wav", ".flac", ".mp3"])
def test_a_piece_may_end_half_a_second_after_its_file_but_not_later(tmp_path, suffix):
    """Times of another recording must not give a shorter piece in silence."""
    path = save(tmp_path / f"a{suffix}", tone(2))
    assert 16_000 <= len(read_audio(path, 1.0, 2.4)) < 19_000
    for start, end in ((1.0, 2.8), (2.5, 2.6), (2.5, np.nan)):
        with pytest.raises(VoicePrivacyError, match=rf"between {start} and .*ends after 2\.\d+ s"):
            read_audio(path, start, end)


def test_missing_packages_are_named_with_the_command(tmp_path, monkeypatch):
    path = save(tmp_path / "a.wav", tone())
    real = builtins.__import__

    def without_soxr(name, *rest):
        if name == "soxr":
            raise ImportError("no soxr", name="soxr")
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without_soxr)
    with pytest.raises(VoicePrivacyError, match=r'package soxr; .*"voiceprivacy\[speech\]"'):
        read_audio(path)


# -- layouts -----------------------------------------------------------------------------------


def test_a_folder_a_speaker(tmp_path):
    for name in ("ann/hello.wav", "ann/deep/er/bye.FLAC", "0012/NA.ogg", "b c/12e5.mp3"):
        save(tmp_path / name, tone())
    corpus = read_folder(tmp_path)
    assert owners(corpus) == {"hello": "ann", "bye": "ann", "NA": "0012", "12e5": "b c"}
    assert corpus.name == tmp_path.name
    assert len(corpus.skipped) == len(corpus.notes) == 0


def test_a_name_that_repeats_puts_the_folder_before_every_id(tmp_path):
    for number, name in enumerate(["spk1/001.wav", "spk2/001.wav", "spk2/002.wav"]):
        save(tmp_path / name, tone(frequency=200 + 100 * number))
    corpus = read_folder(tmp_path)
    assert owners(corpus) == {"spk1/001": "spk1", "spk2/001": "spk2", "spk2/002": "spk2"}
    assert not np.allclose(corpus.audio(0), corpus.audio(1))


def test_librispeech_names_flat_and_in_their_tree(tmp_path):
    for name in ("1-10-0000.flac", "1-11-0000.flac", "20-5-0003.flac"):
        reader, chapter, _ = name.split("-")
        save(tmp_path / "flat" / name, tone())
        save(tmp_path / "tree" / "train-clean-100" / reader / chapter / name, tone())
    expected = {"1-10-0000": "1", "1-11-0000": "1", "20-5-0003": "20"}
    assert owners(read_folder(tmp_path / "flat")) == expected
    assert owners(read_folder(tmp_path / "tree")) == expected


def test_dates_in_speakers_folders_are_no_readers(tmp_path):
    for name in ("ann/2020-01-31.wav", "bob/2020-02-01.wav"):
        save(tmp_path / name, tone())
    assert set(owners(read_folder(tmp_path)).values()) == {"ann", "bob"}


def test_a_stray_file_does_not_change_who_speaks(tmp_path):
    for name in ("clean/1/10/1-10-0000.flac", "clean/2/20/2-20-0000.flac", "clean/noise.wav"):
        save(tmp_path / name, tone())
    corpus = read_folder(tmp_path)
    assert set(owners(corpus).values()) == {"1", "2"}
    assert reasons(corpus) == {"noise": "no speaker"}


def test_linked_speakers_are_found_and_a_circle_ends(tmp_path):
    save(tmp_path / "elsewhere" / "ann" / "a.wav", tone())
    root = tmp_path / "root"
    save(root / "bob" / "b.wav", tone())
    (root / "ann").symlink_to(tmp_path / "elsewhere" / "ann", target_is_directory=True)
    (root / "bob" / "again").symlink_to(root, target_is_directory=True)
    assert owners(read_folder(root)) == {"a": "ann", "b": "bob"}


def test_every_file_left_out_has_its_reason(tmp_path):
    save(tmp_path / "ann" / "ok.wav", tone())
    save(tmp_path / "ann" / "empty.wav", tone(0))
    save(tmp_path / "loose.wav", tone())
    save(tmp_path / "ann" / "phone.wav", tone(rate=8_000), 8_000)
    (tmp_path / "ann" / "broken.flac").write_bytes(b"fLaC no more")
    (tmp_path / "ann" / "song.m4a").touch()
    (tmp_path / "ann" / "._ok.wav").write_bytes(b"a Finder leftover")
    (tmp_path / "ann" / "notes.txt").touch()
    corpus = read_folder(tmp_path)
    assert set(owners(corpus)) == {"ok", "phone"}
    assert reasons(corpus) == {
        "song": "format",
        "broken": "unreadable",
        "empty": "unreadable",
        "loose": "no speaker",
    }
    assert corpus.left_out().to_dict() == {"unreadable": 2, "format": 1, "no speaker": 1}
    assert corpus.notes["detail"].tolist() == ["8000 Hz: nothing above 4000 Hz; 16 kHz expected"]


def test_folders_without_speech_are_refused(tmp_path):
    with pytest.raises(VoicePrivacyError, match="no such folder"):
        read_folder(tmp_path / "none")
    with pytest.raises(VoicePrivacyError, match=r"no usable speech; expected speaker/utterance"):
        read_folder(tmp_path)
    save(tmp_path / "loose.wav", tone())
    with pytest.raises(VoicePrivacyError, match=r"Left out: .*loose\.wav: no speaker"):
        read_folder(tmp_path)


def test_two_files_for_one_id_are_refused(tmp_path):
    for name in ("ann/a.wav", "ann/a.flac"):
        save(tmp_path / name, tone())
    with pytest.raises(VoicePrivacyError, match=r"1 utterance ids stand for two .*: 'ann/a'"):
        read_folder(tmp_path)


# -- cutting -----------------------------------------------------------------------------------


@pytest.fixture
def recording(tmp_path):
    """5.5 s at 48 kHz, silent from 2 to 4 s."""
    samples = tone(5.5, 48_000)
    samples[96_000:192_000] = 0
    save(tmp_path / "corpus" / "ann" / "a.wav", samples, 48_000)
    return read_folder(tmp_path / "corpus")


def test_cut_keeps_full_pieces_and_reports_the_others(recording):
    pieces = cut(recording, 2.0)
    assert owners(pieces) == {"a_000": "ann"}
    assert reasons(pieces) == {"a_001": "silent", "a_002": "too short"}
    silent, short = pieces.skipped["detail"]
    assert silent.startswith("mean amplitude")
    assert silent.endswith("expected at least 0.0005")
    assert short == "1.500 s, expected at least 2 s"


def test_cut_keeps_a_rest_that_is_long_enough(recording):
    pieces = cut(recording, 2.0, minimum=1.5)
    assert set(owners(pieces)) == {"a_000", "a_002"}
    assert pieces.table[["start", "end"]].to_numpy().tolist() == [[0, 2], [4, 5.5]]
    assert [len(pieces.audio(i)) for i in range(2)] == [32_000, 24_000]


def test_pieces_lie_end_to_end(recording):
    pieces = cut(recording, 0.5)
    kept = pieces.table
    assert [len(pieces.audio(i)) for i in range(len(pieces))] == [8_000] * len(pieces)
    assert kept["utterance"].tolist() == [f"a_{k:03d}" for k in (0, 1, 2, 3, 8, 9, 10)]
    np.testing.assert_allclose(kept["end"] - kept["start"], 0.5)


def test_cutting_twice_stays_inside_the_first_pieces(recording):
    once, twice = cut(recording, 0.5), cut(cut(recording, 1.0, minimum=0.5), 0.5)
    assert once.table["start"].tolist() == twice.table["start"].tolist()
    assert twice.table["utterance"].tolist()[:3] == ["a_000_000", "a_000_001", "a_001_000"]


def test_cut_reports_what_cannot_be_decoded_and_goes_on(tmp_path):
    save(tmp_path / "ann" / "ok.wav", tone(2))
    noise = np.random.default_rng(0).normal(0, 0.1, 48_000)
    flac = save(tmp_path / "ann" / "half.flac", noise)
    flac.write_bytes(flac.read_bytes()[:40_000])
    for sift, ids in ((cut, {"ok_000"}), (checked, {"ok"})):
        corpus = sift(read_folder(tmp_path))
        assert set(owners(corpus)) == ids
        assert reasons(corpus) == {"half": "unreadable"}


def test_checked_keeps_whole_utterances(tmp_path):
    save(tmp_path / "ann" / "ok.wav", tone(1.3))
    save(tmp_path / "ann" / "short.wav", tone(0.4))
    save(tmp_path / "ann" / "mute.wav", tone(1, amplitude=1e-4))
    corpus = checked(read_folder(tmp_path))
    assert corpus.table[["utterance", "start", "end"]].to_numpy().tolist() == [["ok", 0.0, 1.3]]
    assert reasons(corpus) == {"short": "too short", "mute": "silent"}


@pytest.mark.parametrize("sift", [checked, lambda corpus: cut(corpus, 0.5)])
def test_a_low_rate_is_noted_once_whoever_read_the_table(tmp_path, sift):
    """Case 04: no reader but that of folders opens files, so what decodes them tells."""
    paths = [
        save(tmp_path / "ann" / f"{rate}.wav", tone(1, rate), rate) for rate in (8_000, 16_000)
    ]
    rows = [(path.stem, "ann", str(path), np.nan, np.nan) for path in paths]
    for corpus in (Corpus("mine", pd.DataFrame(rows, columns=COLUMNS)), read_folder(tmp_path)):
        notes = sift(corpus).notes
        assert notes[["utterance", "reason"]].to_numpy().tolist() == [["8000", "low rate"]]
        assert notes["detail"][0] == "8000 Hz: nothing above 4000 Hz; 16 kHz expected"


def test_nothing_left_is_an_error(recording):
    with pytest.raises(VoicePrivacyError, match=r"no usable speech.*too short \(5\.500 s"):
        cut(recording, 6.0)


@pytest.mark.parametrize(("seconds", "minimum"), [(0, None), (-1, None), (2, 3), (2, 0)])
def test_impossible_lengths_are_refused(recording, seconds, minimum):
    with pytest.raises(VoicePrivacyError, match="expected 0 < minimum <= seconds"):
        cut(recording, seconds, minimum)


def test_select_takes_masks_and_row_numbers(recording):
    pieces = cut(recording, 0.5)
    assert pieces.select(np.arange(len(pieces)) > 4).table["utterance"].tolist() == [
        "a_009",
        "a_010",
    ]
    assert len(pieces.select([])) == 0
    np.testing.assert_array_equal(pieces.select([3]).audio(0), pieces.audio(3))


def test_ids_must_differ():
    table = pd.DataFrame({"utterance": ["a", "a"]})
    with pytest.raises(VoicePrivacyError, match="1 utterance ids stand for two recordings: 'a'"):
        Corpus("mine", table)


def test_real_librispeech(shared_data):
    corpus = read_folder(shared_data("librispeech_train_clean_100"))
    assert len(corpus) == corpus.table["speaker"].nunique() == 251
    assert corpus.table["utterance"][0].startswith(corpus.table["speaker"][0] + "-")
    few = cut(corpus.select(np.arange(5)), 2.0)
    assert all(len(few.audio(i)) == 32_000 for i in range(len(few)))
