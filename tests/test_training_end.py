"""Where an attacker's training stops, with one process or several, and at the paper's size."""

import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from attacker_speech import TINY, interrupted_after, speech, with_dev_losses
from vpac_tree import write_vpac

from voiceprivacy._network import Network
from voiceprivacy.attackers import load_attacker, read_settings, train
from voiceprivacy.errors import VoicePrivacyError
from voiceprivacy.vpac import vpac

torch = pytest.importorskip("torch", reason="the speech extra is not installed")
if find_spec("speechbrain") is None:
    pytest.skip("the attack extra is not installed", allow_module_level=True)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return speech(tmp_path_factory.mktemp("speech"))


# -- where training stops ----------------------------------------------------------------------


STEADY = replace(TINY, schedule="triangular", max_steps=20, evaluate_every=1)


def test_it_stops_when_the_development_loss_no_longer_falls(corpus, tmp_path, monkeypatch):
    with_dev_losses(monkeypatch, [5.0, 4.0, 4.5, 3.0, 3.0, 3.5, 9.0])
    attacker = train(corpus, None, replace(STEADY, patience=2), tmp_path)
    assert attacker.steps == 6
    assert attacker.best_step == 4
    assert attacker.dev_loss == 3.0


def test_the_best_weights_are_kept_and_the_last_to_go_on(corpus, tmp_path, monkeypatch):
    with_dev_losses(monkeypatch, [5.0, 4.0, 6.0])
    train(corpus, None, replace(STEADY, max_steps=3), tmp_path / "three")
    with_dev_losses(monkeypatch, [5.0, 4.0])
    train(corpus, None, replace(STEADY, max_steps=2), tmp_path / "two")
    three, two = (
        torch.load(tmp_path / name / "best.pt", weights_only=True) for name in ("three", "two")
    )
    assert torch.equal(three["classifier"]["weight"], two["classifier"]["weight"])
    last = torch.load(tmp_path / "three" / "last.pt", weights_only=True)
    assert not torch.equal(last["network"]["classifier"]["weight"], two["classifier"]["weight"])


def test_patience_survives_an_interruption(corpus, tmp_path, monkeypatch):
    settings = replace(STEADY, patience=3)
    with monkeypatch.context() as patch:
        with_dev_losses(patch, [5.0, 6.0, 6.0])
        interrupted_after(3, patch)
        with pytest.raises(KeyboardInterrupt):
            train(corpus, None, settings, tmp_path)
    with_dev_losses(monkeypatch, [6.0, 4.0])
    assert train(corpus, None, settings, tmp_path).steps == 4


def test_epochs_end_training_and_are_evaluated(corpus, tmp_path):
    settings = replace(STEADY, max_steps=None, max_epochs=2, evaluate_every=None)
    log = train(corpus, None, settings, tmp_path).log
    assert log["epoch"].tolist() == [1.0, 2.0]
    assert log["step"].tolist() == [7, 14]


def test_the_last_step_is_evaluated_whatever_comes_between(corpus, tmp_path):
    log = train(corpus, None, replace(TINY, max_steps=7, evaluate_every=5), tmp_path).log
    assert log["step"].tolist() == [5, 7]


@pytest.mark.parametrize("step", [2, 6])
def test_a_loss_that_is_no_number_stops_it_and_the_best_is_kept(
    corpus, tmp_path, monkeypatch, step
):
    loss, calls = Network.loss, []

    def spoiled(self, features, labels, *others):
        value, right = loss(self, features, labels, *others)
        calls.append(len(others))
        return (value * np.nan if calls.count(2) == step else value), right

    monkeypatch.setattr(Network, "loss", spoiled)
    kept = r"the best model so far stays in best\.pt" if step > 4 else "no model is kept"
    with pytest.raises(VoicePrivacyError, match=f"no number at step {step}; {kept}.*learning_rate"):
        train(corpus, None, TINY, tmp_path)
    assert (tmp_path / "best.pt").exists() == (step > 4)
    if step > 4:
        assert np.isfinite(load_attacker(tmp_path).embed(corpus.audio(0))).all()


def test_a_development_loss_that_is_no_number_stops_it(corpus, tmp_path, monkeypatch):
    with_dev_losses(monkeypatch, [np.nan])
    with pytest.raises(VoicePrivacyError, match="no number at step 4; no model is kept"):
        train(corpus, None, TINY, tmp_path)


def test_utterances_that_are_left_out_are_told(corpus, tmp_path):
    settings = replace(TINY, short="drop", crop_seconds=1.3, batch_size=4)
    message = r"6 of 30 utterances are shorter than a crop of 1\.3 s and are left out: '1000-1-0000"
    with pytest.warns(UserWarning, match=message):
        train(corpus, None, settings, tmp_path)


# -- several processes -------------------------------------------------------------------------

SHARED = """
import sys
from dataclasses import replace
sys.path.insert(0, {tests!r})
from attacker_speech import TINY, words
from voiceprivacy.attackers import Augmentation, train
from voiceprivacy._training import Training
from voiceprivacy.corpora import read_folder

def run_and_tell(self, progress=False, run=Training.run):
    run(self, progress)
    print("weights", sum(p.double().abs().sum().item() for p in self.network.parameters))

Training.run = run_and_tell
corpus = read_folder({speech!r})
settings = replace(TINY, augmentation=Augmentation("ar", True), specaugment=True)
try:
    print(train(corpus, words(corpus), settings, {out!r}).name)
except ValueError as error:
    print(error)
"""


def torchrun(script, processes):
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", str(processes)]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    run = subprocess.run(
        [*command, "--standalone", str(script)], capture_output=True, text=True, env=environment
    )
    assert run.returncode == 0, run.stderr[-3000:]
    return run.stdout  # lines of different processes may run into one another


@pytest.mark.slow
def test_two_processes_train_one_attacker(corpus, tmp_path):
    script = tmp_path / "script.py"
    out = tmp_path / "out"
    place = Path(corpus.table["path"][0]).parents[1]
    script.write_text(
        SHARED.format(tests=str(Path(__file__).parent), speech=str(place), out=str(out))
    )
    told = torchrun(script, 2)
    name = load_attacker(out).name
    assert told.count(name) == 2
    weights = re.findall(r"weights ([\d.]+)", told)
    assert len(weights) == 2
    assert len(set(weights)) == 1
    log = pd.read_csv(out / "log.csv")
    assert log["step"].tolist() == [4, 8, 12]
    assert log["train_accuracy"].between(0, 1).all()
    assert torchrun(script, 2).count(name) == 2
    message = "batch_size: 8 cannot be shared by 3 processes"
    assert torchrun(script, 3).count(message) == 3


# -- the paper's configuration -----------------------------------------------------------------


@pytest.mark.slow
def test_the_paper_s_configuration_starts_stops_early_and_resumes(tmp_path, monkeypatch):
    write_vpac(tmp_path)
    tree = vpac(tmp_path, "T8-5")
    settings = replace(
        read_settings("paper").for_row("SpecAug"), batch_size=4, evaluate_every=1, patience=1
    )
    assert settings.channels[0] == 1024
    with monkeypatch.context() as patch:
        interrupted_after(1, patch)
        with pytest.raises(KeyboardInterrupt):
            train(tree.train, None, settings, tmp_path / "out")
    assert json.loads((tmp_path / "out" / "settings.json").read_text())["embedding"] == 192
    with_dev_losses(monkeypatch, [99.0])
    attacker = train(tree.train, None, settings, tmp_path / "out")
    assert attacker.steps == 2
    assert attacker.best_step == 1
    assert attacker.embed(tree.train.audio(0)).shape == (192,)
