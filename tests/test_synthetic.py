"""Synthetic speech: the same for the same seed, timed word by word, written once and whole."""

import builtins
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import voiceprivacy
from voiceprivacy import synthetic
from voiceprivacy._sentences import sentence
from voiceprivacy._voices import voice
from voiceprivacy.errors import VoicePrivacyError
from voiceprivacy.synthetic import speak

soundfile = pytest.importorskip("soundfile", reason="the speech extra is not installed")
pytest.importorskip("espeakng_loader", reason="the demo extra is not installed")


@pytest.fixture(scope="module")
def spoken(tmp_path_factory):
    out = tmp_path_factory.mktemp("synthetic") / "corpus"
    return out, speak(out, 5, 4, seed=3)


def words_of(out):
    return pd.read_csv(out / "words.csv", dtype={"utterance": str, "word": str})


def content(folder):
    return {p.relative_to(folder): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


# -- what is said ------------------------------------------------------------------------------


def test_a_corpus_of_named_speakers(spoken):
    out, corpus = spoken
    assert corpus.name == "synthetic speech (eSpeak NG)"
    assert len(corpus) == 20
    assert corpus.table["utterance"][0] == "10001-1-0000"
    assert corpus.table["speaker"].value_counts().to_dict() == {f"{10001 + k}": 4 for k in range(5)}
    genders = pd.read_csv(out / "speakers.csv", dtype=str)
    assert genders["speaker"].tolist() == sorted(set(corpus.table["speaker"]))
    assert genders["gender"].tolist() == ["female", "male", "female", "male", "female"]


def test_audio_is_16_khz_mono_audible_and_never_clipped(spoken):
    _, corpus = spoken
    for i, path in enumerate(corpus.table["path"]):
        info = soundfile.info(path)
        assert (info.samplerate, info.channels, info.subtype) == (16_000, 1, "PCM_16")
        samples = corpus.audio(i)
        assert 1.5 < len(samples) / 16_000 < 9
        assert 0.05 < np.abs(samples).max() < 0.999
        assert -40 < 20 * np.log10(np.sqrt((samples**2).mean())) < -14


def test_words_lie_in_order_inside_their_utterance(spoken):
    out, corpus = spoken
    words = words_of(out)
    lengths = {u: len(corpus.audio(i)) for i, u in enumerate(corpus.table["utterance"])}
    assert set(words["utterance"]) == set(lengths)
    for utterance, rows in words.groupby("utterance"):
        start, end = rows["start_sample"].to_numpy(), rows["end_sample"].to_numpy()
        assert 8 <= len(rows) <= 13
        assert (end - start > 0.03 * 16_000).all()
        assert (start[1:] >= end[:-1]).all()
        assert start[0] >= 0
        assert end[-1] <= lengths[utterance]


def test_sound_lies_where_the_words_are(spoken):
    """Between words and after the last one it is far quieter than inside them."""
    out, corpus = spoken
    words = words_of(out)
    for i, utterance in enumerate(corpus.table["utterance"]):
        samples = corpus.audio(i)
        inside = np.zeros(len(samples), bool)
        for row in words[words["utterance"] == utterance].itertuples():
            inside[row.start_sample : row.end_sample] = True
        assert inside.mean() > 0.7
        assert np.abs(samples[~inside]).mean() < 0.2 * np.abs(samples[inside]).mean()


def test_utterances_differ_and_longer_words_take_longer(spoken):
    words = words_of(spoken[0])
    assert words.groupby("utterance")["word"].agg(" ".join).is_unique
    duration = (words["end_sample"] - words["start_sample"]) / 16_000
    assert np.corrcoef(words["word"].str.len(), duration)[0, 1] > 0.5


def pitch(samples):
    """Median over loud frames of the lag (60 to 350 Hz) where autocorrelation is highest."""
    frames = np.lib.stride_tricks.sliding_window_view(samples, 1_024)[::1_600]
    loud = frames[frames.std(axis=1) > samples.std()] * np.hanning(1_024)
    correlation = np.fft.irfft(np.abs(np.fft.rfft(loud, 2_048)) ** 2)
    lags = np.arange(46, 267)
    window = np.fft.irfft(np.abs(np.fft.rfft(np.hanning(1_024), 2_048)) ** 2)
    return np.median(16_000 / lags[np.argmax(correlation[:, lags] / window[lags], axis=1)])


def test_women_have_the_higher_pitch(spoken):
    _, corpus = spoken
    pitches = np.array([pitch(corpus.audio(row)) for row in range(len(corpus))]).reshape(5, 4)
    women, men = pitches[0::2].mean(), pitches[1::2].mean()
    assert 80 < men < 160
    assert men + 30 < women < 270


def test_voices_and_sentences_differ():
    assert len({voice(0, k).settings for k in range(100)}) == 100
    assert voice(0, 4) != voice(1, 4)
    rng = np.random.default_rng(0)
    sentences = [" ".join(sentence(rng)) for _ in range(300)]
    assert len(set(sentences)) == 300
    assert {len(s.split()) for s in sentences} == {8, 9, 12, 13}


# -- the same again ----------------------------------------------------------------------------


def test_the_same_settings_give_the_same_files(spoken, tmp_path):
    out, _ = spoken
    speak(tmp_path / "again", 5, 4, seed=3)
    assert content(tmp_path / "again") == content(out)


def test_other_seeds_give_other_speech(spoken, tmp_path):
    other = speak(tmp_path / "other", 1, 1, seed=4)
    assert len(other.audio(0)) != len(spoken[1].audio(0))


def test_a_speaker_does_not_depend_on_who_spoke_before(spoken, tmp_path):
    """Speakers in reverse order, fewer utterances: the same bytes."""
    out, _ = spoken
    with synthetic._espeak_data() as data:
        for k in (4, 2, 0):
            for u, (samples, rate, words) in enumerate(synthetic._speech(data, 3, k, 2)):
                name = f"{10001 + k}-1-{u:04d}.flac"
                synthetic._write_utterance(tmp_path / name, samples, rate, words)
                assert not any((data / "voices" / "!v").iterdir())  # it cannot list over 349
                assert (tmp_path / name).read_bytes() == (out / f"{10001 + k}" / name).read_bytes()


def test_spoken_once(spoken, monkeypatch):
    out, corpus = spoken
    monkeypatch.setattr(synthetic, "_write", None)
    assert speak(out, 5, 4, seed=3).table.equals(corpus.table)


def test_an_empty_folder_is_filled(tmp_path):
    assert len(speak(tmp_path, 1, 1)) == 1


# -- bad input ---------------------------------------------------------------------------------


def test_another_corpus_in_the_folder_is_kept(spoken):
    out, _ = spoken
    before = content(out)
    with pytest.raises(
        VoicePrivacyError, match=r"other settings .*'seed': 3.*asked for.*'seed': 9"
    ):
        speak(out, 5, 4, seed=9)
    assert content(out) == before


def test_a_folder_of_other_files_is_refused(tmp_path):
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(VoicePrivacyError, match="holds other files; name a new folder"):
        speak(tmp_path, 1, 1)
    with pytest.raises(VoicePrivacyError, match="holds other files"):
        speak(tmp_path / "thesis.tex", 1, 1)


def test_lost_files_are_noticed(tmp_path):
    corpus = speak(tmp_path / "c", 1, 2)
    Path(corpus.table["path"][0]).unlink()
    with pytest.raises(VoicePrivacyError, match="holds 1 of 2 utterances; remove the folder"):
        speak(tmp_path / "c", 1, 2)


def test_an_interrupted_run_leaves_nothing(tmp_path, monkeypatch):
    real, calls = synthetic._write_utterance, []

    def interrupted(*args):
        calls.append(args)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return real(*args)

    monkeypatch.setattr(synthetic, "_write_utterance", interrupted)
    with pytest.raises(KeyboardInterrupt):
        speak(tmp_path / "c", 2, 2)
    assert not list(tmp_path.iterdir())
    assert len(speak(tmp_path / "c", 2, 2)) == 4


@pytest.mark.parametrize(("speakers", "utterances"), [(0, 1), (1, 0), (1, 10_001)])
def test_impossible_sizes_are_refused(tmp_path, speakers, utterances):
    with pytest.raises(VoicePrivacyError, match="expected at least one speaker"):
        speak(tmp_path / "c", speakers, utterances)


def test_a_missing_synthesiser_is_named_with_the_command(tmp_path, monkeypatch):
    real = builtins.__import__

    def without(name, *rest):
        if name == "espeakng_loader":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(VoicePrivacyError, match=r'pip install "voiceprivacy\[demo\]"'):
        speak(tmp_path / "c", 1, 1)


def test_a_library_that_merges_words_is_noticed():
    events = [(1, 0, ""), (7, 900, "_")]
    with pytest.raises(VoicePrivacyError, match="timed 1 words of 'on the'"):
        synthetic._word_times(["on", "the"], events, 1_000)


def test_a_word_ends_where_a_pause_or_the_next_word_starts():
    events = [(1, 10, ""), (7, 10, "a"), (7, 50, "_"), (1, 60, ""), (1, 90, ""), (7, 95, "_:")]
    assert synthetic._word_times(["a", "b", "c"], events, 100) == [
        ("a", 10, 50),
        ("b", 60, 90),
        ("c", 90, 95),
    ]


def test_only_one_module_loads_the_synthesiser():
    """eSpeak NG is under the GPL; the rest of the package stays clear of it."""
    sources = Path(voiceprivacy.__file__).parent.rglob("*.py")
    loaders = [p.name for p in sources if re.search(r"import espeak|from espeak", p.read_text())]
    assert loaders == ["synthetic.py"]
