"""Training an attacker: the same weights however it is run, and where it stops."""

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
from attacker_speech import TINY, speech, words
from vpac_tree import write_vpac

from voiceprivacy import _training_data
from voiceprivacy._network import Network
from voiceprivacy._processes import Alone
from voiceprivacy._training import Training
from voiceprivacy.attackers import Augmentation, load_attacker, read_settings, train
from voiceprivacy.errors import VoicePrivacyError
from voiceprivacy.vpac import vpac

torch = pytest.importorskip("torch", reason="the speech extra is not installed")
if find_spec("speechbrain") is None:
    pytest.skip("the attack extra is not installed", allow_module_level=True)

RR = replace(TINY, augmentation=Augmentation("rr", True, redraw=True), specaugment=True)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return speech(tmp_path_factory.mktemp("speech"))


@pytest.fixture(scope="module")
def found(corpus):
    return words(corpus)


@pytest.fixture(scope="module")
def whole(corpus, found, tmp_path_factory):
    """A training with everything random in it, never interrupted."""
    folder = tmp_path_factory.mktemp("whole")
    train(corpus, found, RR, folder)
    return folder


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def plain(state):
    """A checkpoint as values that can be compared."""
    if isinstance(state, dict):
        return {key: plain(value) for key, value in state.items()}
    return state.tolist() if torch.is_tensor(state) else state


def interrupted_after(steps, monkeypatch):
    """Let training fail in the step after so many, as a killed process would."""
    learn, done = Training._learn, []

    def failing(self, *arguments):
        if len(done) == steps:
            raise KeyboardInterrupt
        done.append(1)
        return learn(self, *arguments)

    monkeypatch.setattr(Training, "_learn", failing)
    return done


# -- the same weights --------------------------------------------------------------------------


def test_the_same_seed_gives_the_same_bytes(corpus, found, whole, tmp_path):
    torch.manual_seed(5)
    train(corpus, found, RR, tmp_path)
    assert content(tmp_path) == content(whole)
    assert set(content(whole)) == {"best.pt", "last.pt", "log.csv", "settings.json"}


def test_another_seed_gives_others(corpus, found, whole, tmp_path):
    train(corpus, found, replace(RR, seed=1), tmp_path)
    assert content(tmp_path)["best.pt"] != content(whole)["best.pt"]


@pytest.mark.parametrize("steps", [2, 4, 5, 11])
def test_a_stopped_run_goes_on_to_the_same_weights(
    corpus, found, whole, tmp_path, monkeypatch, steps
):
    with monkeypatch.context() as patch:
        interrupted_after(steps, patch)
        with pytest.raises(KeyboardInterrupt):
            train(corpus, found, RR, tmp_path)
    kept = (tmp_path / "last.pt").exists()
    assert kept == (steps >= 4)
    done = interrupted_after(100, monkeypatch)
    train(corpus, found, RR, tmp_path)
    assert len(done) == 12 - 4 * (steps // 4)
    for name in ("best.pt", "log.csv", "settings.json"):
        assert (tmp_path / name).read_bytes() == (whole / name).read_bytes()
    ends = [plain(torch.load(f / "last.pt", weights_only=True)) for f in (tmp_path, whole)]
    assert ends[0] == ends[1]


def test_audio_read_crop_by_crop_gives_the_same_weights(
    corpus, found, whole, tmp_path, monkeypatch
):
    monkeypatch.setattr(_training_data, "MEMORY", 0)
    train(corpus, found, RR, tmp_path)
    assert content(tmp_path) == content(whole)


def test_workers_give_the_same_weights(corpus, found, whole, tmp_path):
    train(corpus, found, RR, tmp_path, workers=2)
    assert content(tmp_path) == content(whole)


def test_masks_and_orders_change_the_weights(corpus, found, whole, tmp_path):
    for name, changes in {
        "no masks": {"specaugment": False},
        "orders kept": {"augmentation": Augmentation("rr", True)},
        "original twice": {"augmentation": Augmentation("same", True)},
    }.items():
        train(corpus, found, replace(RR, **changes), tmp_path / name)
        assert content(tmp_path / name)["best.pt"] != content(whole)["best.pt"]


def test_every_step_has_its_own_masks(corpus, tmp_path, monkeypatch):
    masked, seeds = Network.masked, []

    def noting(self, features, seed):
        seeds.append(seed)
        return masked(self, features, seed)

    monkeypatch.setattr(Network, "masked", noting)
    train(corpus, None, replace(TINY, specaugment=True), tmp_path)
    assert len(set(seeds)) == len(seeds) == 12


def test_rows_without_words_hear_the_same_crops(corpus, found):
    """Rows differ by their augmentation alone: places and order come from the seed."""
    plain, twice = (
        Training(
            _training_data.Material(corpus, found, replace(TINY, augmentation=one)),
            Path("nowhere"),
            Alone(torch.device("cpu")),
            0,
        )
        for one in (Augmentation(), Augmentation("rr"))
    )
    assert plain.network.parameters[0].tolist() == twice.network.parameters[0].tolist()
    assert plain.rows.train.tolist() == twice.rows.train.tolist()


# -- the folder --------------------------------------------------------------------------------


def test_a_finished_training_is_not_repeated(corpus, found, whole, monkeypatch):
    done = interrupted_after(0, monkeypatch)
    assert train(corpus, found, RR, whole).name == load_attacker(whole).name
    assert done == []


def test_a_folder_of_other_settings_or_speech_is_refused(corpus, found, whole, tmp_path):
    before = content(whole)
    with pytest.raises(VoicePrivacyError, match=r"different: augmentation, data, seed\)"):
        train(corpus, found, replace(TINY, seed=3, specaugment=True), whole)
    with pytest.raises(VoicePrivacyError, match=r"another run \(different: data\)"):
        train(corpus, words(corpus, ends=0.8), RR, whole)
    other = speech(tmp_path, seconds=1.2)
    path = Path(other.table["path"][0])
    path.write_bytes(Path(other.table["path"][5]).read_bytes())
    with pytest.raises(VoicePrivacyError, match=r"another run \(different: data\)"):
        train(other, found, RR, whole)
    assert content(whole) == before


def test_a_damaged_checkpoint_is_told(corpus, found, whole, tmp_path):
    for name, bytes_ in content(whole).items():
        (tmp_path / name).write_bytes(bytes_[:-900] if name == "last.pt" else bytes_)
    with pytest.raises(VoicePrivacyError, match=r"last\.pt is damaged"):
        train(corpus, found, RR, tmp_path)


def test_the_log_has_a_row_an_evaluation(whole):
    log = pd.read_csv(whole / "log.csv")
    assert list(log) == [
        "step", "epoch", "learning_rate", "train_loss", "train_accuracy", "dev_loss",
        "dev_accuracy",
    ]  # fmt: skip
    assert log["step"].tolist() == [4, 8, 12]
    assert log["epoch"].is_monotonic_increasing
    assert log["learning_rate"].iloc[-1] == pytest.approx(0.01 / 25e4)
    assert log["train_accuracy"].between(0, 1).all()


def test_orders_by_similarity_are_found_once(corpus, found, tmp_path, monkeypatch):
    class Encoder:
        name = "energy"
        asked = 0

        def encode(self, waveforms, padding="short"):
            Encoder.asked += 1
            return np.array([[np.abs(wave).sum(), np.abs(wave).max()] for wave in waveforms])

    settings = replace(TINY, augmentation=Augmentation("sr", True))
    train(corpus, found, settings, tmp_path / "one", encoder=Encoder())
    assert Encoder.asked == 29  # one of 30 utterances has one word
    (tmp_path / "one" / "last.pt").unlink()
    train(corpus, found, settings, tmp_path / "one", encoder=Encoder())
    assert Encoder.asked == 29
    orders = {u: np.arange(4)[::-1] for u in corpus.table["utterance"][1:]}
    given = train(corpus, found, settings, tmp_path / "given", orders=orders)
    assert Encoder.asked == 29
    assert given.name != load_attacker(tmp_path / "one").name
    with pytest.raises(VoicePrivacyError, match=r"different: encoder"):
        train(corpus, found, settings, tmp_path / "one", orders=orders)


# -- where training stops ----------------------------------------------------------------------


def with_dev_losses(monkeypatch, losses):
    values = iter(losses)
    monkeypatch.setattr(Training, "_development", lambda self: (next(values), 0.5))


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
