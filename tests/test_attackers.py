"""The attacker: what it embeds, and what it refuses."""

import importlib.util
import pickle
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from attacker_speech import TINY, sound, speech, words

from voiceprivacy import _batches, _speechbrain
from voiceprivacy.attackers import Attacker, Augmentation, load_attacker, train
from voiceprivacy.errors import VoicePrivacyError
from voiceprivacy.extractors import Extractor, extract

torch = pytest.importorskip("torch", reason="the speech extra is not installed")
if importlib.util.find_spec("speechbrain") is None:
    pytest.skip("the attack extra is not installed", allow_module_level=True)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return speech(tmp_path_factory.mktemp("speech"))


@pytest.fixture(scope="module")
def attacker(corpus, tmp_path_factory) -> Attacker:
    return train(corpus, None, TINY, tmp_path_factory.mktemp("attacker"))


# -- the network -------------------------------------------------------------------------------


def test_features_are_those_of_speechbrain(attacker):
    library = _speechbrain.speechbrain()
    from speechbrain.processing.features import InputNormalization

    waves = torch.from_numpy(np.stack([sound(s, 0, 1.0) for s in (1, 2, 3)])).float()
    fbank = library.Fbank(n_mels=TINY.mels, hop_length=TINY.hop_ms)
    normalise = InputNormalization(norm_type="sentence", std_norm=False)
    expected = normalise(fbank(waves), torch.ones(3))
    found = attacker._network.features(waves)
    assert found.shape == (3, 51, 16)
    assert torch.allclose(found, expected, atol=1e-4)


def test_masks_hide_bands_and_stretches_and_nothing_else(attacker):
    features = torch.full((4, 50, 16), 3.0)
    before = torch.random.get_rng_state()
    masked = attacker._network.masked(features.clone(), 1)
    assert torch.equal(torch.random.get_rng_state(), before)
    assert set(masked.unique().tolist()) == {0.0, 3.0}
    for one in masked == 0:
        bands, stretches = one.all(dim=0), one.all(dim=1)
        assert torch.equal(one, bands[None, :] | stretches[:, None])
        assert 0 < bands.sum() <= 3 * 2
        assert 0 < stretches.sum() <= 3 * 2
    assert torch.equal(masked, attacker._network.masked(features.clone(), 1))
    assert not torch.equal(masked, attacker._network.masked(features.clone(), 2))


def test_the_loss_is_an_additive_angular_margin(attacker):
    features = attacker._network.features(torch.from_numpy(sound(1000, 0, 1.0)).float()[None])
    labels = torch.tensor([2])
    with torch.no_grad():
        loss, right = attacker._network.loss(features, labels)
        cosines = attacker._network.classifier(attacker._network.encoder(features))[0, 0]
    logits = 30 * cosines
    logits[2] = 30 * torch.cos(torch.arccos(cosines[2]) + 0.2)
    assert loss.item() == pytest.approx(-torch.log_softmax(logits, 0)[2].item(), rel=1e-4)
    assert bool(right) == (int(cosines.argmax()) == 2)


# -- embeddings --------------------------------------------------------------------------------


def test_an_attacker_is_an_extractor(attacker, corpus):
    assert isinstance(attacker, Extractor)
    embeddings = extract(corpus, attacker)
    assert embeddings.matrix.shape == (30, 8)
    assert embeddings.matrix.dtype == np.float32


def test_an_embedding_depends_on_its_utterance_alone(attacker, corpus):
    """Case 38."""
    waveforms = [corpus.audio(row) for row in (0, 9, 4, 12, 7)]
    # The shortest that there are, an end between two windows, and a click behind the last one.
    waveforms += [waveforms[0][:length].copy() for length in (640, 700, 9_599)]
    waveforms[-1][-3] = 40.0
    alone = np.array([attacker.embed(wave) for wave in waveforms])
    together = attacker.embed_many(waveforms)
    np.testing.assert_allclose(together, alone, rtol=0, atol=1e-5 * np.abs(alone).max())
    order = np.random.default_rng(0).permutation(len(waveforms))
    shuffled = attacker.embed_many([waveforms[row] for row in order])
    np.testing.assert_allclose(shuffled, alone[order], rtol=0, atol=1e-5 * np.abs(alone).max())
    assert attacker.embed_many([]).shape == (0, 8)


def test_a_batch_leaves_the_network_as_it_was(attacker, corpus):
    before = attacker.embed(corpus.audio(0))
    attacker.embed_many([corpus.audio(row) for row in (0, 9)])
    assert attacker.embed(corpus.audio(0)).tolist() == before.tolist()
    with pytest.raises(VoicePrivacyError, match=r"an utterance of 2 windows .* more than 2"):
        _batches.together(attacker._network.encoder, torch.zeros(2, 9, 16), torch.tensor([9, 2]))
    assert attacker.embed(corpus.audio(0)).tolist() == before.tolist()


def test_embedding_is_that_of_the_network_in_evaluation(attacker):
    wave = sound(1001, 3, 0.8)
    encoder = attacker._network.encoder.eval()
    with torch.no_grad():
        features = attacker._network.features(torch.from_numpy(wave)[None])
        expected = encoder(features)[0, 0].numpy()
    assert attacker.embed(wave).tolist() == expected.tolist()


def test_threads_are_given_back(attacker):
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        attacker.embed(sound(1001, 3, 0.8).astype(np.float32))
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


def test_the_challenge_s_normalisation_undoes_level_and_padding(corpus, attacker, tmp_path):
    normalising = train(corpus, None, replace(TINY, peak_normalise=True), tmp_path)
    wave = sound(1001, 3, 0.8)
    # So faint that the floor of the logarithm shows.
    padded = np.pad(wave * np.float32(1e-5), (700, 300))
    assert np.allclose(normalising.embed(wave), normalising.embed(padded), atol=1e-4)
    assert not np.allclose(attacker.embed(wave), attacker.embed(padded), atol=1e-3)
    assert normalising.name != attacker.name


def test_the_shortest_utterance_is_embedded_and_shorter_ones_refused(attacker):
    # Kernels of five windows reflect two windows at each end, which takes three of 20 ms.
    shortest = attacker._network.shortest
    assert shortest == 640
    wave = sound(1001, 3, 1.0)
    assert np.isfinite(attacker.embed(wave[:shortest])).all()
    with pytest.raises(VoicePrivacyError, match=r"of 0\.040 s, .* at least 0\.040 s"):
        attacker.embed(wave[: shortest - 1])


@pytest.mark.parametrize("peak", [True, False])
def test_silence_has_no_embedding(attacker, peak, monkeypatch):
    monkeypatch.setattr(attacker, "settings", replace(TINY, peak_normalise=peak))
    with pytest.raises(VoicePrivacyError, match=r"of 1\.000 s, with peak 0, has no embedding"):
        attacker.embed(np.zeros(16_000, np.float32))


def test_a_trained_attacker_is_loaded_with_its_name(attacker, corpus, tmp_path):
    train(corpus, None, TINY, tmp_path / "same")
    again = load_attacker(tmp_path / "same")
    assert again.name == attacker.name
    assert again.speakers == [str(s) for s in range(1000, 1006)]
    assert again.settings == TINY
    wave = corpus.audio(3)
    assert again.embed(wave).tolist() == attacker.embed(wave).tolist()
    other = train(corpus, None, replace(TINY, seed=1), tmp_path / "other")
    assert other.name != attacker.name


def test_it_travels_as_the_path_of_its_folder(attacker, corpus):
    assert len(pickle.dumps(attacker)) < 1000
    there = pickle.loads(pickle.dumps(attacker))
    assert there.name == attacker.name
    voice = corpus.audio(0)
    assert there.embed(voice).tobytes() == attacker.embed(voice).tobytes()


def test_it_tells_what_its_training_came_to(attacker):
    log = attacker.log
    assert log["step"].tolist() == [4, 8, 12]
    assert attacker.steps == 12
    assert attacker.dev_loss == log["dev_loss"].min()
    assert attacker.best_step in (4, 8, 12)
    assert attacker.accuracy == log["train_accuracy"].iloc[-1]


def test_it_learns_to_tell_speakers_apart(corpus, tmp_path):
    longer = replace(TINY, max_steps=120, evaluate_every=30, learning_rate=0.02)
    log = train(corpus, None, longer, tmp_path).log
    assert log["train_accuracy"].iloc[-1] > 0.6  # one of six would be .17
    assert log["dev_accuracy"].iloc[-1] > 0.5
    assert log["dev_loss"].iloc[-1] < log["dev_loss"].iloc[0]


# -- what is refused ---------------------------------------------------------------------------


def test_a_folder_without_attacker_is_told(tmp_path):
    with pytest.raises(VoicePrivacyError, match=r"best\.pt: no such file"):
        load_attacker(tmp_path)
    (tmp_path / "best.pt").write_bytes(b"PK\x03\x04 and nothing else")
    with pytest.raises(VoicePrivacyError, match=r"best\.pt is damaged"):
        load_attacker(tmp_path)


def test_a_file_cannot_run_code(tmp_path):
    import pickle

    class Evil:
        def __reduce__(self):
            return (open, (str(tmp_path / "owned"), "w"))

    torch.save({"settings": Evil()}, tmp_path / "best.pt", pickle_module=pickle)
    with pytest.raises(VoicePrivacyError, match=r"best\.pt is damaged or no attacker"):
        load_attacker(tmp_path)
    assert not (tmp_path / "owned").exists()


def test_a_missing_device_is_told(corpus, tmp_path):
    if torch.cuda.is_available():
        pytest.skip("this machine has a GPU")
    with pytest.raises(VoicePrivacyError, match=r"device 'cuda' cannot be used here \(.*cpu"):
        train(corpus, None, TINY, tmp_path, device="cuda")
    with pytest.raises(VoicePrivacyError, match=r"device 'gpu' cannot be used here"):
        train(corpus, None, TINY, tmp_path, device="gpu")


@pytest.mark.parametrize("package", ["torch", "speechbrain", "torchaudio"])
def test_a_missing_package_is_named_with_its_extra(package, monkeypatch):
    for name in [name for name in sys.modules if name.partition(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    message = f"needs the package {package}; install the extras with: pip install .*speech,attack"
    for call in (lambda: load_attacker("x"), lambda: train(None, None, TINY, "x")):
        with pytest.raises(VoicePrivacyError, match=message):
            call()


def test_a_speechbrain_that_does_not_fit_is_told(monkeypatch):
    def broken():
        raise AttributeError("module 'torchaudio' has no attribute 'list_audio_backends'")

    monkeypatch.setattr(_speechbrain, "import_torchaudio", broken)
    with pytest.raises(VoicePrivacyError, match=r"does not work .*speechbrain \d.*list_audio_back"):
        _speechbrain.speechbrain()


def test_importing_attackers_needs_no_torch():
    code = "import sys, voiceprivacy.attackers; print('torch' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"


def test_words_are_needed_before_anything_is_trained(corpus, tmp_path):
    settings = replace(TINY, augmentation=Augmentation("sr"))
    with pytest.raises(VoicePrivacyError, match=r"strategy sr rearranges words"):
        train(corpus, None, settings, tmp_path)
    with pytest.raises(VoicePrivacyError, match=r"encoder="):
        train(corpus, words(corpus), settings, tmp_path)
