"""The evaluation's configuration: the documented keys, and lines of what is wrong."""

import numpy as np
import pytest
from click.testing import CliRunner

from voiceprivacy.cli import main
from voiceprivacy.errors import VoicePrivacyError
from voiceprivacy.evaluation_settings import read_evaluation_settings
from voiceprivacy.paths import shipped

DOCUMENTED = """\
# config.yaml
evaluation:
  conversation_lengths: [1, 3, 30]
  speaker_counts: [20, 100, 1000, 10000]
  num_runs: 5
  num_folds: 10
anonymization:
  system: "baseline_b1"
  parameters:
    candidate_count: 100
    random_seed: 42
speaker_embedding:
  model: "ecapa_tdnn"
  extractor_path: "models/ecapa_tdnn.pth"
  sample_rate: 16000
  frame_length: 0.025
  frame_shift: 0.010
attack_models:
  - "ignorant"
  - "semi_informed"
  - "informed"
"""


def read(tmp_path, text):
    path = tmp_path / "config.yaml"
    path.write_text(text)
    return read_evaluation_settings(path)


def test_the_documented_file_is_read(tmp_path):
    settings = read(tmp_path, DOCUMENTED)
    assert settings.data == {
        "test": tmp_path / "data" / "test",
        "enrollment": tmp_path / "data" / "enrollment",
    }
    assert settings.arguments == {
        "conversation_lengths": [1, 3, 30],
        "speaker_counts": [20, 100, 1000, 10000],
        "num_runs": 5,
        "num_folds": 10,
        "anonymization_system": "baseline_b1",
        "parameters": {"candidate_count": 100, "random_seed": 42},
        "speaker_embedding_model": "ecapa_tdnn",
        "extractor_path": tmp_path / "models" / "ecapa_tdnn.pth",
        "attack_models": ["ignorant", "semi_informed", "informed"],
    }


def test_all_of_it_may_be_left_out(tmp_path):
    assert read(tmp_path, "# nothing yet\n").arguments == {}


def test_the_shipped_file_is_read():
    settings = read_evaluation_settings(shipped("config", "evaluation.yaml"))
    assert settings.arguments["attack_models"] == ["ignorant", "lazy_informed"]


def test_folders_are_found_beside_the_file(tmp_path):
    (tmp_path / "data" / "calibration").mkdir(parents=True)
    (tmp_path / "made").mkdir()
    settings = read(tmp_path, "anonymization: {system: made}\ndata: {test: my/test}\n")
    assert settings.data["calibration"] == tmp_path / "data" / "calibration"
    assert settings.data["test"] == tmp_path / "my" / "test"
    assert settings.arguments == {"anonymization_system": str(tmp_path / "made")}


def test_a_system_s_folders_are_found_beside_the_file_too(tmp_path):
    (tmp_path / "recipe").mkdir()
    text = "anonymization: {system: baseline_b4, parameters: {recipe: recipe, python: recipe}}"
    own = read(tmp_path, text).arguments["parameters"]
    assert own == {"recipe": str(tmp_path / "recipe"), "python": "recipe"}


def test_how_and_where_attackers_train_can_be_said(tmp_path):
    (tmp_path / "mine.yaml").write_text("{}\n")
    named = read(tmp_path, "attacker_settings: paper\ndevice: cuda\n").arguments
    assert named == {"attacker_settings": "paper", "device": "cuda"}
    own = read(tmp_path, "attacker_settings: mine.yaml\n").arguments
    assert own == {"attacker_settings": str(tmp_path / "mine.yaml")}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("evaluatoin: {}\n", r"line 1: no setting evaluatoin \(did you mean evaluation\?\)"),
        ("seed: 1\nevaluation:\n  num_run: 5\n", r"line 3: no setting evaluation\.num_run \(did"),
        ("\nevaluation:\n  num_runs: five\n", r"line 3: evaluation\.num_runs: 'five'; expected"),
        ("evaluation:\n  num_runs: true\n", r"line 2: evaluation\.num_runs: True; expected"),
        ("evaluation: {num_folds: 0}\n", "line 1: .*expected 1 or more"),
        ("evaluation:\n  speaker_counts: [20, -1]\n", "line 2: .*expected numbers from 1 up"),
        ("evaluation: 5\n", "line 1: evaluation: expected the keys conversation_lengths"),
        ("seed: 1\nseed: 2\n", "line 2: seed stands here a second time"),
        ("speaker_embedding:\n  sample_rate: 8000\n", "line 2: .*brought to 16000 Hz"),
        ("speaker_embedding: {frame_length: 25}\n", "expected seconds, such as"),
        ("attack_models: [clever]\n", "attack model 'clever'; expected one of"),
        ("- 1\n", "expected the sections evaluation, anonymization"),
        ("seed: -1", "line 1: seed: -1; expected 0 or more"),
        ('seed: !!int "abc"', "line 1: seed: no plain value; expected"),
        ("seed: !!python/object:os.system x", "line 1: seed: no plain value"),
        ("? [a, b]\n: 1\n", "line 1: no setting a list or mapping"),
        ("anonymization: {parameters: {1: 2}}", "expected names before the values"),
        ("anonymization: {parameters: {? [1] : 2}}", "parameters: no plain value"),
        ("a: [1\n", "is no YAML"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(tmp_path, text, message):
    with pytest.raises(VoicePrivacyError, match=message):
        read(tmp_path, text)


def test_a_missing_file_is_told(tmp_path):
    with pytest.raises(VoicePrivacyError, match="No such file or directory; expected a YAML"):
        read_evaluation_settings(tmp_path / "nothing.yaml")


def test_the_command_evaluates_and_keeps(tmp_path):
    soundfile = pytest.importorskip("soundfile", reason="the speech extra is not installed")
    pytest.importorskip("resemblyzer", reason="the speech extra is not installed")
    rng = np.random.default_rng(0)
    for part in ("test", "enrollment"):
        for speaker in range(3):
            for k in range(3):
                place = tmp_path / "data" / part / f"s{speaker}"
                place.mkdir(parents=True, exist_ok=True)
                soundfile.write(place / f"u{k}.wav", 0.1 * rng.normal(size=16_000), 16_000)
    config = tmp_path / "config.yaml"
    config.write_text("evaluation: {conversation_lengths: [1], speaker_counts: [3]}\n")
    arguments = ["evaluate", str(config), "--out", str(tmp_path / "out")]
    done = CliRunner().invoke(main, arguments)
    assert done.exit_code == 0, done.output
    assert "linkability" in done.output
    assert (tmp_path / "out" / "results.csv").exists()
    again = CliRunner().invoke(main, arguments)
    assert again.exit_code == 2
    assert "is already there" in again.output
    assert CliRunner().invoke(main, [*arguments, "--overwrite"]).exit_code == 0
    config.write_text("evaluation: {num_run: 1}\n")
    wrong = CliRunner().invoke(main, [*arguments, "--overwrite"])
    assert wrong.exit_code == 2
    assert "line 1: no setting evaluation.num_run" in wrong.output
    assert "Traceback" not in wrong.output
