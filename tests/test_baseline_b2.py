"""Baseline B2 to the letter: samples as the challenge makes them, coefficients as it draws."""

import hashlib
import json
import pickle

import numpy as np
import pandas as pd
import pytest
from test_anonymize import sounds, write_corpus
from test_anonymizers import plain_mcadams, vowel

from voiceprivacy.anonymize import anonymized
from voiceprivacy.anonymizers import BaselineB2, McAdams, by_name
from voiceprivacy.corpora import COLUMNS, REPORT_COLUMNS, Corpus
from voiceprivacy.errors import VoicePrivacyError

FIRST = [0.68758807, 0.56747103, 0.75924141, 0.87499472, 0.61472639]
ids = [f"1272-128104-{k:04d}" for k in range(5)]


def corpus_of(utterances, skipped=()):
    rows = [(u, u.split("-")[0], f"{u}.flac", np.nan, np.nan) for u in utterances]
    report = [(u, f"{u}.flac", "unreadable", "") for u in skipped]
    return Corpus(
        "set", pd.DataFrame(rows, columns=COLUMNS), pd.DataFrame(report, columns=REPORT_COLUMNS)
    )


def at(coefficient):
    """B2 with one coefficient for everybody."""
    return BaselineB2(coefficient, coefficient, level="speaker")


def plain_b2(samples, coefficient):
    """What the challenge writes, as 16-bit numbers."""
    out = plain_mcadams(samples, coefficient, filled=False)
    return (out / np.abs(out).max() * 32766).astype(np.int16)


# -- samples -----------------------------------------------------------------------------------


@pytest.mark.parametrize("coefficient", [0.5, 0.72, 0.9])
@pytest.mark.parametrize("n_samples", [320, 321, 479, 480, 9_000, 9_119])
def test_samples_are_the_challenge_s(coefficient, n_samples):
    samples = np.concatenate([np.zeros(100, np.float32), vowel()])[:n_samples]
    out = at(coefficient)(samples) * 32768
    assert len(out) == n_samples
    np.testing.assert_array_equal(out, np.trunc(out))
    assert np.abs(out).max() == 32766
    assert np.abs(out - plain_b2(samples, coefficient)).max() <= 1


def test_what_follows_the_last_full_frame_is_silent():
    samples = vowel(seconds=1)[:9_119]
    covered = 320 + (9_119 - 320) // 160 * 160
    out = at(0.8)(samples)
    assert not out[covered:].any()
    assert out[covered - 100 : covered].any()
    assert McAdams(0.8, 0.8)(samples)[covered:].any()


def test_a_coefficient_of_one_gives_the_input_back_where_frames_overlap():
    samples = vowel(seconds=1)
    inner = slice(160, -160)
    out = at(1.0)(samples)[inner]
    # The window's squares sum to one to within half a percent.
    scale = np.abs(out).max() / np.abs(samples[inner]).max()
    np.testing.assert_allclose(out, samples[inner] * scale, atol=0.01)


def test_less_than_a_frame_is_silence():
    assert not at(0.8)(vowel()[:319]).any()


def test_real_speech_is_the_challenge_s(shared_data):
    import soundfile

    path = sorted(shared_data("librispeech_train_clean_100").rglob("*.flac"))[0]
    samples = soundfile.read(path, dtype="float32")[0][:48_123]
    assert np.abs(at(0.6)(samples) * 32768 - plain_b2(samples, 0.6)).max() <= 1


# -- coefficients ------------------------------------------------------------------------------


def test_the_first_coefficients_are_the_challenge_s_in_every_set():
    for letter in "ab":
        names = [f"{letter}{u}" for u in ids]
        ready = BaselineB2().prepared(corpus_of(names))
        found = [ready.drawn("", u) for u in names]
        np.testing.assert_allclose(found, FIRST, atol=5e-9)


def test_neither_order_nor_an_unreadable_file_moves_the_others():
    shuffled = BaselineB2().prepared(corpus_of(ids[::-1]))
    lacking = BaselineB2().prepared(corpus_of([ids[0], *ids[2:]], skipped=[ids[1]]))
    for ready in (shuffled, lacking):
        np.testing.assert_allclose(ready.drawn("", ids[4]), FIRST[4], atol=5e-9)


def test_a_speaker_s_coefficient_is_the_first_of_a_stream_of_its_own():
    b2 = by_name("baseline_b2-speaker")
    assert b2.prepared(corpus_of(ids)) is b2
    number = int(hashlib.sha256(b"1272").hexdigest()[:8], 16)
    own = np.random.default_rng(number).uniform(0.5, 0.9)
    assert b2.drawn("1272", "a") == b2.drawn("1272", "b") == own


def test_another_seed_is_another_stream():
    assert not np.allclose(BaselineB2(seed=1).stream(5), FIRST, atol=1e-3)


def test_a_place_must_be_known():
    with pytest.raises(VoicePrivacyError, match=r"'x' depends on its place .* call prepared"):
        BaselineB2()(vowel(), utterance="x")
    with pytest.raises(VoicePrivacyError, match="'x' depends on its place"):
        BaselineB2().prepared(corpus_of(ids))(vowel(), utterance="x")


def test_one_utterance_s_worth_goes_to_another_process():
    ready = BaselineB2().prepared(corpus_of([f"u{k:05d}" for k in range(10_000)]))
    small = pickle.dumps(ready.narrowed("u00004"))
    assert len(small) < 1_000
    np.testing.assert_allclose(pickle.loads(small).drawn("", "u00004"), FIRST[4], atol=5e-9)
    assert pickle.loads(small).parameters() == ready.parameters()


# -- over a corpus -----------------------------------------------------------------------------


def test_a_corpus_is_the_same_for_any_workers_and_resumed(tmp_path):
    corpus = write_corpus(tmp_path / "in")
    result = anonymized(corpus, BaselineB2(), tmp_path / "one")
    for row, coefficient in enumerate(BaselineB2().stream(len(corpus))):
        found = result.audio(row) * 32768
        assert np.abs(found - plain_b2(corpus.audio(row), coefficient)).max() <= 1
    anonymized(corpus, BaselineB2(), tmp_path / "two", workers=3)
    (tmp_path / "two" / "s1" / "11.flac").unlink()
    anonymized(corpus, BaselineB2(), tmp_path / "two")
    assert sounds(tmp_path / "one") == sounds(tmp_path / "two")


def test_another_set_needs_another_folder(tmp_path):
    corpus = write_corpus(tmp_path / "in")
    anonymized(corpus, BaselineB2(), tmp_path / "out")
    told = json.loads((tmp_path / "out" / "manifest.json").read_text())["parameters"]
    assert set(told) == {"lowest", "highest", "level", "seed", "utterances"}
    with pytest.raises(VoicePrivacyError, match=r"another run \(different: parameters\)"):
        anonymized(corpus.select([1, 2]), BaselineB2(), tmp_path / "out")
