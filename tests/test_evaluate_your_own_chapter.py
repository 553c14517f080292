"""What book/evaluate_your_own.md says works as it stands: commands, configuration and Python."""

import re

import numpy as np
import pytest
from click.testing import CliRunner
from conftest import ROOT

from voiceprivacy.anonymizers import ANONYMIZERS
from voiceprivacy.attack_models import MODELS
from voiceprivacy.cli import main
from voiceprivacy.examples import write_example
from voiceprivacy.systems import SYSTEMS, settings

soundfile = pytest.importorskip("soundfile", reason="the speech extra is not installed")
TEXT = (ROOT / "book" / "evaluate_your_own.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^voiceprivacy (?:.*\\\n)*.*$", TEXT, re.M)
PYTHON = re.findall(r"```python\n(.*?)```", TEXT, re.S)


@pytest.fixture
def speech(tmp_path, monkeypatch):
    """data/test and data/enrollment of eight people, in the current folder."""
    pytest.importorskip("resemblyzer", reason="the speech extra is not installed")
    t = np.arange(16_000) / 16_000
    for part, count in enumerate((5, 2)):
        for speaker in range(8):
            place = tmp_path / "data" / ("test", "enrollment")[part] / f"s{speaker}"
            place.mkdir(parents=True)
            for k in range(count):
                rng = np.random.default_rng([part, speaker, k])
                hum = sum(np.sin(2 * np.pi * n * (100 + 20 * speaker) * t) for n in range(1, 9))
                samples = 0.05 * hum + 0.02 * rng.normal(size=len(t))
                soundfile.write(place / f"u{k}.wav", samples, 16_000)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(command):
    words = command.replace("\\\n", " ").split()[1:]
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 0, done.output
    return done.output


def test_the_configuration_evaluates(speech):
    (configuration,) = re.findall(r"```yaml\n(.*?)```", TEXT, re.S)
    (speech / "config.yaml").write_text(configuration)
    (command,) = [c for c in COMMANDS if c.startswith("voiceprivacy evaluate")]
    output = run(command)
    assert "linkability" in output
    assert (speech / "evaluation" / "results.csv").exists()
    assert (speech / "evaluation" / "failed.csv").exists()


def test_the_python_runs(tmp_path, monkeypatch, capsys):
    pytest.importorskip("espeakng_loader", reason="the demo extra is not installed")
    pytest.importorskip("resemblyzer", reason="the speech extra is not installed")
    monkeypatch.chdir(tmp_path)
    for code in PYTHON:
        exec(compile(code, "evaluate_your_own.md", "exec"), {"__name__": "chapter"})
    output = capsys.readouterr().out
    assert "singling out" in output
    assert output.count("chance") >= 2


def test_the_report_is_written(tmp_path, monkeypatch):
    write_example(tmp_path, 60)
    monkeypatch.chdir(tmp_path)
    (command,) = [c for c in COMMANDS if c.startswith("voiceprivacy report")]
    run(command)
    assert (tmp_path / "report.html").stat().st_size > 20_000


def test_every_attacker_stands_in_the_table():
    for name, model in MODELS.items():
        assert f"| `{name}` |" in TEXT, model


def test_every_system_that_needs_something_stands_in_a_table():
    for name in {"baseline_b2", *SYSTEMS.keys() - ANONYMIZERS.keys()}:
        assert f"`{name}`" in TEXT, name
        for parameter in {"recipe", "root", "path", "command"} & set(settings(name)):
            assert f"`{parameter}`" in TEXT
