"""Training an attacker: the same weights however it is run, in a folder of its own."""

from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from attacker_speech import TINY, interrupted_after, speech, words

from voiceprivacy import _training_data
from voiceprivacy._network import Network
from voiceprivacy._processes import Alone
from voiceprivacy._training import Training
from voiceprivacy.attackers import Augmentation, load_attacker, train
from voiceprivacy.errors import VoicePrivacyError

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
    # What torch remembers of them would complain when Python ends.
    torch.multiprocessing.reductions.shared_cache.clear()
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
