"""SIDEKIT's checkpoints: every weight finds its place, and nothing of a file runs."""

import hashlib
import importlib.util
import pickle

import numpy as np
import pytest
from attacker_speech import sound

from voiceprivacy.errors import VoicePrivacyError
from voiceprivacy.extractors import Extractor
from voiceprivacy.models import find_model
from voiceprivacy.sidekit import SidekitExtractor

torch = pytest.importorskip("torch", reason="the speech extra is not installed")
if importlib.util.find_spec("speechbrain") is None:
    pytest.skip("the attack extra is not installed", allow_module_level=True)

from voiceprivacy import _halfresnet  # noqa: E402  (torch is there)

# A ResNet as SIDEKIT's in all but size.
FULL = _halfresnet.HalfResNet34
STAGES = ((16, 1, 1), (16, 2, 2), (32, 1, 2), (32, 1, 2))


def weights(size=8):
    """Names and shapes written from the description of the network, values at random."""
    shapes = {
        "preprocessor.PreEmphasis.flipped_filter": (1, 1, 2),
        "preprocessor.MelSpec.spectrogram.window": (400,),
        "preprocessor.MelSpec.mel_scale.fb": (513, 80),
        "sequence_network.conv1.weight": (16, 1, 3, 3),
        **norm("sequence_network.bn1", 16),
        "stat_pooling.attention.0.weight": (128, 3 * 32 * 10, 1),
        "stat_pooling.attention.0.bias": (128,),
        **norm("stat_pooling.attention.2", 128),
        "stat_pooling.attention.4.weight": (32 * 10, 128, 1),
        "stat_pooling.attention.4.bias": (32 * 10,),
        "before_speaker_embedding.lin_be.weight": (size, 2 * 32 * 10),
        **norm("before_speaker_embedding.bn_be", size),
        "after_speaker_embedding.weight": (5, size),
    }
    channels = 16
    for stage, (wider, blocks, stride) in enumerate(STAGES, 1):
        for block in range(blocks):
            place = f"sequence_network.layer{stage}.{block}"
            shapes[f"{place}.conv1.weight"] = (wider, channels, 3, 3)
            shapes[f"{place}.conv2.weight"] = (wider, wider, 3, 3)
            shapes[f"{place}.se.fc.0.weight"] = (wider // 16, wider)
            shapes[f"{place}.se.fc.2.weight"] = (wider, wider // 16)
            shapes |= norm(f"{place}.bn1", wider) | norm(f"{place}.bn2", wider)
            if block == 0 and (stride > 1 or channels != wider):
                shapes[f"{place}.shortcut.0.weight"] = (wider, channels, 1, 1)
                shapes |= norm(f"{place}.shortcut.1", wider)
            channels = wider
    generator = torch.Generator().manual_seed(0)
    made = {n: torch.rand(s, generator=generator) * 0.1 + 0.01 for n, s in shapes.items()}
    made |= {name: torch.tensor(7) for name in made if name.endswith("num_batches_tracked")}
    front = FULL(8, STAGES).state_dict()
    made |= {name: front[name] for name in made if name.startswith("preprocessor.")}
    return made


def norm(place, size):
    parts = dict.fromkeys(("weight", "bias", "running_mean", "running_var"), (size,))
    return {
        f"{place}.{part}": shape for part, shape in (parts | {"num_batches_tracked": ()}).items()
    }


@pytest.fixture
def small(monkeypatch):
    """The network in the size of `STAGES`."""
    monkeypatch.setattr(_halfresnet, "HalfResNet34", lambda size: FULL(size, STAGES))


def saved(path, **changes):
    checkpoint = {
        "epoch": 71,
        "speaker_number": 5,
        "model_archi": {
            "model_type": "halfresnet34",
            "loss": {"type": "aam", "aam_margin": 0.2, "aam_s": 30},
            "embedding_size": 8,
        },
        "model_state_dict": weights(),
    }
    torch.save(checkpoint | changes, path)
    return path


# -- the network -------------------------------------------------------------------------------


def test_the_full_network_has_the_sizes_of_its_description():
    """256 channels of 10 bands: 2,560 rows, seen thrice; 5,120 statistics; 256 numbers."""
    state = _halfresnet.HalfResNet34().state_dict()
    assert state["stat_pooling.attention.0.weight"].shape == (128, 7680, 1)
    assert state["before_speaker_embedding.lin_be.weight"].shape == (256, 5120)
    assert "before_speaker_embedding.lin_be.bias" not in state
    assert "sequence_network.layer1.0.shortcut.0.weight" not in state
    for stage, (channels, blocks) in enumerate([(32, 3), (64, 4), (128, 6), (256, 3)], 1):
        last = f"sequence_network.layer{stage}.{blocks - 1}"
        assert state[f"{last}.conv2.weight"].shape == (channels, channels, 3, 3)
        assert f"sequence_network.layer{stage}.{blocks}.conv1.weight" not in state


def test_features_are_log_mel_energies_of_what_pre_emphasis_leaves():
    wave = sound(1000, 0, 0.5).astype(np.float64)
    found = _halfresnet._Preprocessor()(torch.from_numpy(wave).float()[None])[0].numpy()
    sharp = wave - 0.97 * np.concatenate([wave[1:2], wave[:-1]])
    mirrored = np.pad(sharp, 512, mode="reflect")
    window = np.zeros(1024)
    window[312:712] = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(400) / 400)
    frames = np.stack([mirrored[k : k + 1024] * window for k in range(0, len(wave) + 1, 160)])
    power = np.abs(np.fft.rfft(frames)) ** 2
    mels = 2595 * np.log10(1 + np.array([90, 7600]) / 700)
    corners = 700 * (10 ** (np.linspace(*mels, 82) / 2595) - 1)
    hertz = np.linspace(0, 8000, 513)
    energies = np.stack(
        [power @ np.interp(hertz, corners[k : k + 3], [0, 1, 0], 0, 0) for k in range(80)]
    )
    logs = np.log(energies + 1e-6)
    expected = (logs - logs.mean(axis=1, keepdims=True)) / np.sqrt(
        logs.var(axis=1, keepdims=True) + 1e-5
    )
    np.testing.assert_allclose(found, expected, atol=2e-3)


def test_pooling_weighs_time_by_what_it_sees():
    """Where all windows weigh the same, it is their mean and deviation."""
    pooling = _halfresnet._AttentivePooling(6).eval()
    torch.nn.init.zeros_(pooling.attention[4].weight)
    x = torch.rand(2, 3, 7, 2, generator=torch.Generator().manual_seed(0))  # channels, time, bands
    with torch.no_grad():
        found = pooling(x)
    rows = x.permute(0, 1, 3, 2).reshape(2, 6, 7)
    expected = torch.cat([rows.mean(2), rows.std(2, unbiased=False)], dim=1)
    assert torch.allclose(found, expected, atol=1e-5)


def test_a_block_adds_what_it_was_given():
    block = _halfresnet._Block(16, 16, 1).eval()
    torch.nn.init.zeros_(block.bn2.weight)
    x = torch.rand(1, 16, 5, 4)
    with torch.no_grad():
        assert torch.allclose(block(x), x)
        assert _halfresnet._Block(16, 32, 2).eval()(x).shape == (1, 32, 3, 2)


# -- the extractor -----------------------------------------------------------------------------


def test_a_checkpoint_s_weights_all_find_their_place(small, tmp_path):
    model = find_model("sidekit", saved(tmp_path / "model.pt"))()
    assert isinstance(model, Extractor)
    assert model.dimension == 8
    own = model._network.state_dict()
    expected = {n: v for n, v in weights().items() if not n.startswith("after_speaker")}
    assert set(own) == set(expected)
    assert all(torch.equal(own[name], expected[name]) for name in own)


def test_embeddings_have_unit_norm_and_depend_on_their_utterance_alone(small, tmp_path):
    model = SidekitExtractor(saved(tmp_path / "model.pt"))
    waves = [sound(1000, 0, 0.6), sound(1001, 1, 1.1)]
    together = model.embed_many(waves)
    assert together.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(together, axis=1), 1, atol=1e-5)
    assert together.tolist() == [model.embed(wave).tolist() for wave in waves]
    assert not np.allclose(together[0], together[1], atol=1e-4)
    assert model.embed_many([]).shape == (0, 8)


def test_it_travels_as_the_path_of_its_checkpoint(small, tmp_path):
    model = SidekitExtractor(saved(tmp_path / "model.pt"))
    assert len(pickle.dumps(model)) < 1000
    assert pickle.loads(pickle.dumps(model)).name == model.name


def test_the_name_changes_with_the_weights(small, tmp_path):
    name = SidekitExtractor(saved(tmp_path / "a.pt")).name
    assert SidekitExtractor(saved(tmp_path / "b.pt", epoch=72)).name == name
    other = weights()
    other["before_speaker_embedding.lin_be.weight"] += 0.1
    assert SidekitExtractor(saved(tmp_path / "c.pt", model_state_dict=other)).name != name


def test_the_shortest_utterance_is_embedded_and_shorter_ones_refused(small, tmp_path):
    model = SidekitExtractor(saved(tmp_path / "model.pt"))
    wave = sound(1000, 0, 0.5)
    assert np.isfinite(model.embed(wave[:1280])).all()
    for nothing in (wave[:1279], np.zeros(16_000, np.float32)):
        with pytest.raises(VoicePrivacyError, match=r"has no embedding; .* at least 0\.080 s"):
            model.embed(nothing)


# -- what is refused ---------------------------------------------------------------------------


class Evil:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (open, (str(self.path), "w"))


def test_a_checkpoint_that_is_more_than_weights_needs_its_checksum(small, tmp_path):
    """Case 44."""
    path = saved(tmp_path / "model.pt", options=Evil(tmp_path / "owned"))
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    with pytest.raises(VoicePrivacyError, match=rf"more than weights .*{digest}.*sha256=theirs"):
        SidekitExtractor(path)
    with pytest.raises(VoicePrivacyError, match=rf"SHA-256 {digest}, expected 0123"):
        SidekitExtractor(path, sha256="0123")
    assert not (tmp_path / "owned").exists()
    assert SidekitExtractor(path, sha256=digest.upper()).dimension == 8
    assert (tmp_path / "owned").exists()


def without(name):
    return {n: v for n, v in weights().items() if n != name}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model_archi": {"model_type": "xvector"}}, "the network 'xvector'; only halfresnet34"),
        (
            {"model_state_dict": without("sequence_network.bn1.bias")},
            r"does not fit halfresnet34 .*sequence_network\.bn1\.bias \(missing\)",
        ),
        ({"model_state_dict": weights(9)}, r"lin_be\.weight \(shape torch\.Size\(\[9, 640\]\)\)"),
        ({"model_state_dict": weights() | {"x.y": torch.ones(1)}}, r"x\.y \(unknown\)"),
    ],
)
def test_a_network_that_does_not_fit_is_told(changes, message, small, tmp_path):
    with pytest.raises(VoicePrivacyError, match=message):
        SidekitExtractor(saved(tmp_path / "model.pt", **changes))


def test_what_is_no_checkpoint_is_told(tmp_path):
    with pytest.raises(VoicePrivacyError, match=r"none\.pt: No such file"):
        SidekitExtractor(tmp_path / "none.pt")
    (tmp_path / "half.pt").write_bytes(b"PK\x03\x04 and nothing else")
    with pytest.raises(VoicePrivacyError, match=r"half\.pt is damaged"):
        SidekitExtractor(tmp_path / "half.pt")
    torch.save({"a": 1}, tmp_path / "other.pt")
    with pytest.raises(VoicePrivacyError, match=r"other\.pt is no checkpoint of SIDEKIT"):
        SidekitExtractor(tmp_path / "other.pt")
    with pytest.raises(VoicePrivacyError, match="sidekit needs extractor_path"):
        find_model("sidekit")
