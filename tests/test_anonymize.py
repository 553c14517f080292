"""A corpus anonymized into a folder: the same files however it is run, nothing lost silently."""

import json
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest

from voiceprivacy.anonymize import anonymized
from voiceprivacy.anonymizers import STAND_INS, BaseAnonymizer, Identity, McAdams, by_name
from voiceprivacy.corpora import cut, read_folder
from voiceprivacy.errors import VoicePrivacyError

soundfile = pytest.importorskip("soundfile", reason="the speech extra is not installed")


def vowel(pitch, seconds=0.5, rate=16_000):
    t = np.arange(round(seconds * rate)) / rate
    return 0.1 * sum(np.sin(2 * np.pi * k * pitch * t) / k for k in range(1, 12))


def save(path, samples, rate=16_000):
    path.parent.mkdir(parents=True, exist_ok=True)
    soundfile.write(path, samples, rate)


def write_corpus(folder, utterances=3):
    for speaker in range(2):
        for u in range(utterances):
            save(folder / f"s{speaker}" / f"{speaker}{u}.wav", vowel(100 + 90 * speaker + 7 * u))
    return read_folder(folder)


@pytest.fixture
def corpus(tmp_path):
    return write_corpus(tmp_path / "in")


def sounds(folder):
    return {p.relative_to(folder): p.read_bytes() for p in folder.rglob("*.flac")}


@dataclass(frozen=True)
class Counting(BaseAnonymizer):
    """Notes its calls, and is interrupted from one of them on."""

    calls: list
    stop_at: int = 10**9

    def anonymize(self, samples, *, utterance):
        self.calls.append(utterance)
        if len(self.calls) >= self.stop_at:
            raise KeyboardInterrupt
        return samples[::-1].copy()

    def parameters(self):
        return {}


# -- what is written ---------------------------------------------------------------------------


def test_the_same_ids_and_speakers_in_files_of_their_names(corpus, tmp_path):
    result = anonymized(corpus, McAdams(), tmp_path / "out")
    pd.testing.assert_frame_equal(
        result.table[["utterance", "speaker"]], corpus.table[["utterance", "speaker"]]
    )
    assert sorted(map(str, sounds(tmp_path / "out"))) == sorted(
        f"s{s}/{s}{u}.flac" for s in range(2) for u in range(3)
    )
    again = read_folder(tmp_path / "out")
    pd.testing.assert_frame_equal(again.table, result.table)
    for row in range(len(corpus)):
        assert len(result.audio(row)) == len(corpus.audio(row))
        assert not np.allclose(result.audio(row), corpus.audio(row), atol=0.01)
    info = soundfile.info(result.table["path"][0])
    assert (info.samplerate, info.channels, info.subtype) == (16_000, 1, "PCM_16")


def test_identity_keeps_every_sample(corpus, tmp_path):
    result = anonymized(corpus, Identity(), tmp_path / "out")
    for row in range(len(corpus)):
        np.testing.assert_array_equal(result.audio(row), corpus.audio(row))


def test_pieces_of_a_file_become_files(corpus, tmp_path):
    pieces = cut(corpus, 0.2)
    result = anonymized(pieces, Identity(), tmp_path / "out")
    np.testing.assert_array_equal(result.audio(3), pieces.audio(3))
    assert (tmp_path / "out" / "s0" / "00_000.flac").exists()


def test_ids_that_are_paths_keep_them(tmp_path):
    for speaker in ("ann", "bob"):
        save(tmp_path / "in" / speaker / "home" / "1.wav", vowel(120))
    corpus = read_folder(tmp_path / "in")
    anonymized(corpus, Identity(), tmp_path / "out")
    assert sorted(map(str, sounds(tmp_path / "out"))) == ["ann/home/1.flac", "bob/home/1.flac"]


def test_other_rates_and_channels_come_out_as_one(tmp_path):
    stereo = np.stack([vowel(120, 0.5, 48_000), np.zeros(24_000)], axis=1)
    save(tmp_path / "in" / "s" / "a.wav", stereo, 48_000)
    result = anonymized(read_folder(tmp_path / "in"), McAdams(), tmp_path / "out")
    assert len(result.audio(0)) == 8_000


def test_the_manifest_says_what_was_done(corpus, tmp_path):
    anonymized(corpus, McAdams(0.6, 0.7, seed=5), tmp_path / "out")
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["anonymizer"] == "mcadams"
    assert manifest["parameters"] == {
        "lowest": 0.6, "highest": 0.7, "level": "utterance", "seed": 5,
    }  # fmt: skip
    table = pd.read_csv(tmp_path / "out" / "utterances.csv", dtype={"utterance": str})
    assert table["utterance"].tolist() == sorted(corpus.table["utterance"])
    assert (table["samples"] == 8_000).all()
    assert (table["time_factor"] == 1).all()


# -- the same, however it is run ---------------------------------------------------------------


def test_workers_and_order_change_no_byte(corpus, tmp_path):
    anonymized(corpus, McAdams(), tmp_path / "one")
    order = np.random.default_rng(0).permutation(len(corpus))
    anonymized(corpus.select(order), McAdams(), tmp_path / "two", workers=3)
    assert sounds(tmp_path / "one") == sounds(tmp_path / "two")
    csv = [(tmp_path / run / "utterances.csv").read_bytes() for run in ("one", "two")]
    assert csv[0] == csv[1]


@pytest.mark.parametrize("name", STAND_INS)
def test_every_stand_in_makes_the_same_files_on_threads(corpus, tmp_path, name):
    anonymized(corpus, by_name(name), tmp_path / "one")
    anonymized(corpus.select(np.arange(6)[::-1]), by_name(name), tmp_path / "two", workers=4)
    assert sounds(tmp_path / "one") == sounds(tmp_path / "two")


def test_another_seed_changes_every_file(corpus, tmp_path):
    anonymized(corpus, McAdams(seed=0), tmp_path / "one")
    anonymized(corpus, McAdams(seed=1), tmp_path / "two")
    one, two = sounds(tmp_path / "one"), sounds(tmp_path / "two")
    assert all(one[name] != two[name] for name in one)


def test_a_file_more_changes_no_other(tmp_path):
    small = write_corpus(tmp_path / "in")
    anonymized(small, McAdams(), tmp_path / "out")
    before = sounds(tmp_path / "out")
    large = write_corpus(tmp_path / "more" / "in", 4)
    anonymized(large, McAdams(), tmp_path / "fresh")
    fresh = sounds(tmp_path / "fresh")
    assert len(fresh) == len(before) + 2
    assert all(fresh[name] == before[name] for name in before)


def test_an_interrupted_run_goes_on(corpus, tmp_path):
    calls = []
    with pytest.raises(KeyboardInterrupt):
        anonymized(corpus, Counting(calls, stop_at=4), tmp_path / "out")
    assert len(sounds(tmp_path / "out")) == 3
    result = anonymized(corpus, Counting(calls), tmp_path / "out")
    assert len(result) == 6
    assert sorted(calls[:3] + calls[-3:]) == sorted(corpus.table["utterance"])
    assert not list((tmp_path / "out").rglob(".*"))


def test_a_younger_source_is_done_again(corpus, tmp_path):
    calls = []
    anonymized(corpus, Counting(calls), tmp_path / "out")
    save(tmp_path / "in" / "s0" / "01.wav", vowel(300))
    again = anonymized(corpus, Counting(calls), tmp_path / "out")
    assert calls[6:] == ["01"]
    np.testing.assert_allclose(again.audio(1), corpus.audio(1)[::-1], atol=1e-4)


# -- what is refused, and what is told ---------------------------------------------------------


def test_another_run_s_folder_is_refused(corpus, tmp_path):
    anonymized(corpus, McAdams(), tmp_path / "out")
    before = sounds(tmp_path / "out")
    with pytest.raises(VoicePrivacyError, match=r"another run \(different: parameters\)"):
        anonymized(corpus, McAdams(seed=1), tmp_path / "out")
    with pytest.raises(VoicePrivacyError, match="different: anonymizer, class, parameters"):
        anonymized(corpus, Identity(), tmp_path / "out")
    assert sounds(tmp_path / "out") == before


def test_a_folder_with_other_files_is_refused(corpus, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.tex").write_text("mine")
    with pytest.raises(VoicePrivacyError, match="out holds other files; name a new folder"):
        anonymized(corpus, Identity(), tmp_path / "out")
    (tmp_path / "out" / "manifest.json").write_text("{")
    with pytest.raises(VoicePrivacyError, match=r"manifest.json is damaged"):
        anonymized(corpus, Identity(), tmp_path / "out")


@pytest.mark.parametrize("out", ["in", "in/s0", "."])
def test_the_corpus_itself_is_never_written_into(corpus, tmp_path, out):
    with pytest.raises(VoicePrivacyError, match="holds audio that is to be read"):
        anonymized(corpus, Identity(), tmp_path / out)
    assert not list(tmp_path.rglob("*.flac"))


def test_a_file_that_cannot_be_read_is_listed_and_the_rest_done(corpus, tmp_path):
    bad = tmp_path / "in" / "s1" / "10.wav"
    bad.write_bytes(bad.read_bytes()[:10])
    result = anonymized(corpus, Identity(), tmp_path / "out", workers=2)
    assert len(result) == 5
    (row,) = result.skipped.itertuples()
    assert (row.utterance, row.reason) == ("10", "unreadable")
    assert str(bad) in row.detail
    assert len(sounds(tmp_path / "out")) == 5


def test_nothing_readable_is_an_error(corpus, tmp_path):
    for path in corpus.table["path"]:
        open(path, "wb").close()
    with pytest.raises(VoicePrivacyError, match=r"in: nothing could be anonymized: .*00.wav"):
        anonymized(corpus, Identity(), tmp_path / "out")


def test_silence_stays_silence_and_is_noted(tmp_path):
    save(tmp_path / "in" / "s" / "quiet.wav", np.zeros(4_000))
    save(tmp_path / "in" / "s" / "voice.wav", vowel(120))
    for _ in range(2):  # the second time from the files that are there
        result = anonymized(read_folder(tmp_path / "in"), McAdams(), tmp_path / "out")
        assert result.notes[["utterance", "reason"]].to_numpy().tolist() == [["quiet", "silent"]]
        assert not result.audio(0).any()
        assert len(result.audio(0)) == 4_000


def test_loud_output_is_scaled_and_noted_never_clipped(corpus, tmp_path):
    class Loud(BaseAnonymizer):
        def anonymize(self, audio_data):
            return audio_data * 8

    for _ in range(2):
        result = anonymized(corpus, Loud(), tmp_path / "out")
        assert result.notes["reason"].tolist() == ["scaled"] * 6
        x, y = corpus.audio(0), result.audio(0)
        np.testing.assert_allclose(y, x * (32766 / 32768 / np.abs(x).max()), atol=4e-5)


def test_a_broken_anonymizer_stops_the_run_with_its_name(corpus, tmp_path):
    class Slow(BaseAnonymizer):
        def anonymize(self, audio_data):
            return np.repeat(audio_data, 3)

    # Of several workers' errors any may be the first.
    with pytest.raises(
        VoicePrivacyError, match=r"Slow.anonymize returned 24000 samples for .*'0\d'"
    ):
        anonymized(corpus, Slow(), tmp_path / "out", workers=2)


def test_no_workers_do_nothing(corpus, tmp_path):
    with pytest.raises(VoicePrivacyError, match="0 workers cannot work; expected 1 or more"):
        anonymized(corpus, Identity(), tmp_path / "out", workers=0)


def test_an_id_that_leads_out_of_the_folder_is_refused(corpus, tmp_path):
    table = corpus.table.assign(utterance=["../../x", *corpus.table["utterance"][1:]])
    bad = type(corpus)("bad", table)
    with pytest.raises(VoicePrivacyError, match=r"'../../x' of speaker 's0' makes no file name"):
        anonymized(bad, Identity(), tmp_path / "out")
