"""Anonymization systems by name, object, command or folder; and extractors by name."""

import sys

import numpy as np
import pytest

from voiceprivacy.anonymizers import BaseAnonymizer
from voiceprivacy.corpora import read_folder
from voiceprivacy.errors import VoicePrivacyError
from voiceprivacy.external import CommandAnonymizer
from voiceprivacy.extractors import ResemblyzerExtractor
from voiceprivacy.models import find_model
from voiceprivacy.precomputed import Precomputed
from voiceprivacy.systems import find_system

soundfile = pytest.importorskip("soundfile", reason="the speech extra is not installed")
TONE = (0.3 * np.sin(np.arange(16_000) / 20)).astype(np.float32)


class Half(BaseAnonymizer):
    def anonymize(self, audio_data):
        return audio_data / 2


def python(code):
    """A command that runs Python with the two paths."""
    return f"command: {sys.executable} -c '{code}' {{input}} {{output}}"


def test_each_way_of_naming_a_system(tmp_path):
    assert find_system(None) is None
    assert find_system("none") is None
    assert find_system("mcadams", {"random_seed": 42, "lowest": 0.6}).lowest == 0.6
    assert find_system("mcadams", seed=7).seed == 7
    half = Half()
    assert find_system(half) is half
    assert find_system("command: cp {input} {output}").name == "cp"
    assert find_system(tmp_path) == Precomputed(tmp_path)


@pytest.mark.parametrize(
    ("system", "parameters", "message"),
    [
        ("mcadam", None, "expected none, one of identity.*baseline_b6, .*vpac-T25-1, an object"),
        ("baseline_b1", None, "recipe of the VoicePrivacy Challenge 2022, but no recipe is given"),
        ("mcadams", {"candidate_count": 100}, "has no parameter candidate_count; it has: lowest"),
        (Half(), {"lowest": 1}, "parameters lowest are for a named system"),
        ("command: cp {input}", None, "has no {output}; give both"),
        ("command: no_such_program {input} {output}", None, "there is no program 'no_such_pro"),
    ],
)
def test_what_is_no_system_is_refused(system, parameters, message):
    with pytest.raises(VoicePrivacyError, match=message):
        find_system(system, parameters)


def test_a_command_hears_and_is_heard():
    code = (
        "import sys, soundfile as s; x, r = s.read(sys.argv[1]); "
        's.write(sys.argv[2], x / 2, r, subtype="FLOAT")'
    )
    found = find_system(python(code))(TONE, speaker="a b", utterance="$(touch x)")
    np.testing.assert_allclose(found, TONE / 2, atol=1e-6)


def test_ids_are_words_and_never_read_by_a_shell(tmp_path):
    touched = tmp_path / "owned"
    code = "import sys, shutil; print(sys.argv[3]); shutil.copy(*sys.argv[1:3])"
    system = CommandAnonymizer(python(code).removeprefix("command: ") + " '{utterance} {other}'")
    found = system(TONE, utterance=f"$(touch {touched}); `touch {touched}`")
    assert found.shape == TONE.shape
    assert not touched.exists()


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ('import sys; sys.exit("no model here")', "ended with status 1: no model here"),
        ("pass", r"ended well but wrote no \{output\}"),
    ],
)
def test_a_command_that_fails_says_why(code, message):
    with pytest.raises(VoicePrivacyError, match=message):
        find_system(python(code))(TONE)


def test_a_command_that_hangs_is_given_up():
    code = python("import time; time.sleep(60)").removeprefix("command: ")
    with pytest.raises(VoicePrivacyError, match=r"did not end within 0\.2 s"):
        CommandAnonymizer(code, timeout=0.2)(TONE)


def test_a_folder_of_anonymized_speech_goes_by_names(tmp_path):
    for root, names in (("in", "abc"), ("out", "ab")):
        for name in names:
            path = tmp_path / root / "s1" / f"{name}.wav"
            path.parent.mkdir(parents=True, exist_ok=True)
            soundfile.write(path, TONE if root == "in" else TONE / 2, 16_000)
    found = find_system(tmp_path / "out").of(read_folder(tmp_path / "in"))
    assert found.table["utterance"].tolist() == ["a", "b"]
    assert found.skipped[["utterance", "reason"]].to_numpy().tolist() == [["c", "not anonymized"]]
    np.testing.assert_allclose(found.audio(0), TONE / 2, atol=1e-4)
    (tmp_path / "other" / "s2").mkdir(parents=True)
    soundfile.write(tmp_path / "other" / "s2" / "x.wav", TONE, 16_000)
    with pytest.raises(VoicePrivacyError, match="has none of the 3 utterances"):
        find_system(tmp_path / "other").of(read_folder(tmp_path / "in"))


def test_extractors_are_found_and_loaded_late(tmp_path):
    assert find_model("resemblyzer") is ResemblyzerExtractor

    class Mine:
        name, dimension = "mine", 2

        def embed(self, waveform):
            return np.ones(2)

        def embed_many(self, waveforms):
            return np.ones((len(waveforms), 2))

    mine = Mine()
    assert find_model(mine)() is mine
    (tmp_path / "best.pt").touch()
    assert callable(find_model("ecapa_tdnn", tmp_path))


@pytest.mark.parametrize(
    ("model", "path", "message"),
    [
        (
            "xvector",
            "",
            "one of resemblyzer, ecapa_tdnn, sidekit, a name on the .* hub .*, or an object",
        ),
        ("ecapa_tdnn", "", "needs extractor_path"),
        ("ecapa_tdnn", "nowhere", "nowhere is no trained model: expected a folder with best.pt"),
        ("resemblyzer", "x", "has its own weights"),
        (object(), "", "or an object with name, dimension, embed and embed_many"),
    ],
)
def test_what_is_no_extractor_is_refused(model, path, message):
    with pytest.raises(VoicePrivacyError, match=message):
        find_model(model, path)
