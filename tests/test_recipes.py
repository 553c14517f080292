"""The challenges' recipes by name: called as they are called, on scripts that behave like them."""

import sys

import numpy as np
import pytest
import yaml
from recipe_scripts import write_2022, write_2024
from test_anonymize import write_corpus

from voiceprivacy.errors import VoicePrivacyError
from voiceprivacy.kaldi import write_kaldi
from voiceprivacy.recipes import NEEDS_B1, changed
from voiceprivacy.systems import find_system

pytest.importorskip("soundfile", reason="the speech extra is not installed")


@pytest.fixture
def corpus(tmp_path):
    made = write_corpus(tmp_path / "in", 1)
    write_kaldi(tmp_path / "kaldi", made, genders={"s0": "female", "s1": "male"})
    return made


def check(system, corpus, out):
    result = system.of(corpus, out)
    assert result.table["utterance"].tolist() == corpus.table["utterance"].tolist()
    np.testing.assert_allclose(result.audio(0), corpus.audio(0) / 2, atol=2e-4)


@pytest.mark.parametrize(
    ("name", "suffix"),
    [
        ("baseline_b3", "_sttts"),
        ("baseline_b4", "_nac"),
        ("baseline_b5", "_asrbn_hifigan_bn_tdnnf_wav2vec2_vq_48_v1"),
        ("baseline_b6", "_asrbn_hifigan_bn_tdnnf_600h_vq_48_v1"),
    ],
)
def test_the_recipe_of_2024_is_called_on_our_data(name, suffix, corpus, tmp_path):
    parameters = {
        "recipe": str(write_2024(tmp_path / "recipe")),
        "python": sys.executable,
        "tables": str(tmp_path / "kaldi"),
    }
    system = find_system(name, parameters)
    assert (system.name, system.suffix) == (name, suffix)
    check(system, corpus, tmp_path / "out")


def test_b4_without_a_gpu_writes_elsewhere(corpus, tmp_path, monkeypatch):
    monkeypatch.setenv("NO_GPU", "1")
    recipe = str(write_2024(tmp_path / "recipe"))
    system = find_system("baseline_b4", {"recipe": recipe, "python": sys.executable})
    check(system, corpus, tmp_path / "out")


def test_b1_is_called_in_the_recipe_of_2022(corpus, tmp_path):
    recipe = write_2022(tmp_path / "recipe", NEEDS_B1)
    parameters = {"recipe": str(recipe), "tables": str(tmp_path / "kaldi")}
    check(find_system("baseline_b1", parameters, seed=4), corpus, tmp_path / "out")
    link = recipe / "baseline" / "data" / "voiceprivacy"
    link.unlink()
    link.mkdir()
    with pytest.raises(VoicePrivacyError, match="voiceprivacy is there already and no link"):
        find_system("baseline_b1", parameters).of(corpus, tmp_path / "other")


def test_what_is_missing_is_told_before_anything_runs(tmp_path):
    with pytest.raises(VoicePrivacyError, match=r"Challenge 2024, but no recipe is given\. Clone"):
        find_system("baseline_b5")
    with pytest.raises(VoicePrivacyError, match=r"lacks 'run_anonymization.py', 'configs/anon_na"):
        find_system("baseline_b4", {"recipe": str(tmp_path)})
    recipe = write_2024(tmp_path / "recipe")
    (recipe / "configs" / "anon_sttts.yaml").unlink()
    with pytest.raises(VoicePrivacyError, match=r"recipe lacks 'configs/anon_sttts\.yaml'\. Clone"):
        find_system("baseline_b3", {"recipe": str(recipe)})
    with pytest.raises(VoicePrivacyError, match=r"lacks 'baseline/path\.sh', .*anonymize_data_dir"):
        find_system("baseline_b1", {"recipe": str(recipe)})
    with pytest.raises(VoicePrivacyError, match="baseline_b4: there is no program 'python9'"):
        find_system("baseline_b4", {"recipe": str(recipe), "python": "python9"})


def test_the_path_of_python_starts_where_we_are(corpus, tmp_path, monkeypatch):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").symlink_to(sys.executable)
    monkeypatch.chdir(tmp_path)
    write_2024(tmp_path / "recipe")
    system = find_system("baseline_b4", {"recipe": "recipe", "python": "bin/python"})
    assert system.command[0] == str(tmp_path / "bin" / "python")
    assert system.folder == str(tmp_path / "recipe")


@pytest.mark.parametrize("name", ["baseline_b1", "baseline_b3"])
def test_genders_must_be_told(name, tmp_path):
    make = write_2024 if name == "baseline_b3" else lambda place: write_2022(place, NEEDS_B1)
    parameters = {"recipe": str(make(tmp_path / "recipe"))}
    with pytest.raises(VoicePrivacyError, match=f"{name} needs to know who is female and male"):
        find_system(name, parameters | ({"python": sys.executable} if name[-1] == "3" else {}))


def test_a_configuration_is_changed_only_where_it_is_told(tmp_path):
    path = tmp_path / "anon.yaml"
    path.write_text("a: x # first\n# kept\nb:\n  - c: 1\n  - c: 2\nd: !ref <a>\ne:\n  f: 'old'\n")
    text = changed(path, {"a": "/p: q", "b": [{"c": 3}], "e.f": "new"})
    assert text == "a: '/p: q' # first\n# kept\nb:\n  [{c: 3}]\nd: !ref <a>\ne:\n  f: new\n"
    yaml.compose(text)
    assert changed(path, {"d": "z"}).endswith("d: z\ne:\n  f: 'old'\n")
    with pytest.raises(VoicePrivacyError, match=r"anon\.yaml has no setting e\.g; expected"):
        changed(path, {"e.g": 1})


def test_a_program_of_one_s_own_by_name(corpus, tmp_path):
    from recipe_scripts import PLAIN

    (tmp_path / "mine.py").write_text(PLAIN)
    command = f"{sys.executable} {tmp_path / 'mine.py'} {{input}} {{output}}/deep"
    check(find_system("external", {"command": command}), corpus, tmp_path / "out")
    with pytest.raises(VoicePrivacyError, match=r"command 'mine' has no \{input\}"):
        find_system("external", {"command": "mine"})
