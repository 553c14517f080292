"""Pretrained encoders: loaded from SpeechBrain's own format, and nothing run that they name."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from attacker_speech import sound

from voiceprivacy import _batches
from voiceprivacy._speechbrain import speechbrain
from voiceprivacy.errors import VoicePrivacyError
from voiceprivacy.extractors import Extractor
from voiceprivacy.models import SpeechBrainExtractor, find_model

torch = pytest.importorskip("torch", reason="the speech extra is not installed")
if importlib.util.find_spec("speechbrain") is None:
    pytest.skip("the attack extra is not installed", allow_module_level=True)

# Written as SpeechBrain's own recipe writes it: the weights' home is the hub, not this folder.
HYPERPARAMS = """\
pretrained_path: somebody/on-the-hub
n_mels: 16
width: 8
compute_features: !new:speechbrain.lobes.features.Fbank
    n_mels: !ref <n_mels>
mean_var_norm: !new:speechbrain.processing.features.InputNormalization
    norm_type: sentence
    std_norm: False
embedding_model: !new:speechbrain.lobes.models.ECAPA_TDNN.ECAPA_TDNN
    input_size: !ref <n_mels>
    channels: [8, 8, 8, 24]
    kernel_sizes: [5, 3, 3, 1]
    dilations: [1, 2, 3, 1]
    groups: [1, 1, 1, 1]
    attention_channels: !ref <width>
    res2net_scale: 2
    se_channels: !ref <width>
    lin_neurons: 6
classifier: !new:speechbrain.lobes.models.ECAPA_TDNN.Classifier
    input_size: 6
    out_neurons: 3
label_encoder: !new:speechbrain.dataio.encoder.CategoricalEncoder
modules:
    compute_features: !ref <compute_features>
    mean_var_norm: !ref <mean_var_norm>
    embedding_model: !ref <embedding_model>
    classifier: !ref <classifier>
pretrainer: !new:speechbrain.utils.parameter_transfer.Pretrainer
    loadables:
        embedding_model: !ref <embedding_model>
        classifier: !ref <classifier>
        label_encoder: !ref <label_encoder>
    paths:
        embedding_model: !ref <pretrained_path>/embedding_model.ckpt
        classifier: !ref <pretrained_path>/classifier.ckpt
        label_encoder: !ref <pretrained_path>/label_encoder.txt
"""


def pretrained(folder: Path, seed=0) -> Path:
    """A model as it comes from the hub, with weights that no new network would have."""
    library = speechbrain()
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        encoder = library.ECAPA_TDNN(
            16, lin_neurons=6, channels=[8, 8, 8, 24], kernel_sizes=[5, 3, 3, 1],
            dilations=[1, 2, 3, 1], groups=[1] * 4, attention_channels=8, res2net_scale=2,
            se_channels=8,
        )  # fmt: skip
        for name, values in encoder.state_dict().items():
            if name.endswith(("running_mean", "running_var", "bias")):
                values.copy_(torch.rand_like(values) + 0.5)
        classifier = library.Classifier(6, out_neurons=3)
    folder.mkdir(parents=True)
    (folder / "hyperparams.yaml").write_text(HYPERPARAMS)
    torch.save(encoder.state_dict(), folder / "embedding_model.ckpt")
    torch.save(classifier.state_dict(), folder / "classifier.ckpt")
    labels = "'a' => 0\n'b' => 1\n'c' => 2\n================\n'starting_index' => 0\n"
    (folder / "label_encoder.txt").write_text(labels)
    return folder


@pytest.fixture
def folder(tmp_path):
    return pretrained(tmp_path / "models" / "ecapa")


@pytest.fixture
def voices():
    lengths = (1.0, 0.4, 1.3, 0.9, 0.55)
    return [sound(1000 + k, k, seconds) for k, seconds in enumerate(lengths)]


# -- embeddings --------------------------------------------------------------------------------


def test_embeddings_are_those_of_speechbrain_with_the_weights_of_the_folder(folder, voices):
    library = speechbrain()
    from speechbrain.processing.features import InputNormalization

    encoder = library.ECAPA_TDNN(
        16, lin_neurons=6, channels=[8, 8, 8, 24], kernel_sizes=[5, 3, 3, 1],
        dilations=[1, 2, 3, 1], groups=[1] * 4, attention_channels=8, res2net_scale=2,
        se_channels=8,
    ).eval()  # fmt: skip
    encoder.load_state_dict(torch.load(folder / "embedding_model.ckpt", weights_only=True))
    normalise = InputNormalization(norm_type="sentence", std_norm=False)
    model = SpeechBrainExtractor(folder)
    assert isinstance(model, Extractor)
    assert model.dimension == 6
    for voice in voices:
        features = library.Fbank(n_mels=16)(torch.from_numpy(voice)[None])
        with torch.no_grad():
            expected = encoder(normalise(features, torch.ones(1)), torch.ones(1))[0, 0]
        np.testing.assert_allclose(model.embed(voice), expected.numpy(), rtol=1e-5)


def test_an_embedding_depends_on_its_utterance_alone(folder, voices, monkeypatch):
    """Case 38."""
    model = SpeechBrainExtractor(folder)
    alone = np.array([model.embed(voice) for voice in voices])
    for most in (1, 24 * 200, 24 * 10_000):  # one at a time, some, all together
        monkeypatch.setattr(_batches, "ON_CPU", most)
        for order in ([0, 1, 2, 3, 4], [3, 1, 4, 0, 2]):
            together = model.embed_many([voices[row] for row in order])
            np.testing.assert_allclose(together, alone[order], atol=1e-5 * np.abs(alone).max())
    assert model.embed_many([]).shape == (0, 6)


def test_another_network_than_ecapa_is_asked_for_one_utterance_at_a_time(folder, voices):
    model = SpeechBrainExtractor(folder)

    class Mean(torch.nn.Module):
        def forward(self, features, lengths):
            assert features.shape[0] == 1
            return features.mean(dim=1, keepdim=True)[..., :6]

    model._encoder = Mean()
    alone = [model.embed(voice) for voice in voices]
    assert model.embed_many(voices).tolist() == np.array(alone).tolist()


def test_the_name_changes_with_the_weights_and_the_settings(folder, tmp_path):
    name = SpeechBrainExtractor(folder).name
    assert name.startswith("speechbrain-ecapa-")
    assert SpeechBrainExtractor(pretrained(tmp_path / "copy" / "ecapa")).name == name
    other = SpeechBrainExtractor(pretrained(tmp_path / "other" / "ecapa", seed=1))
    assert other.name != name
    text = HYPERPARAMS.replace("std_norm: False", "std_norm: True")
    (folder / "hyperparams.yaml").write_text(text)
    assert SpeechBrainExtractor(folder).name != name


def test_too_short_an_utterance_is_told(folder):
    model = SpeechBrainExtractor(folder)
    message = r"an utterance of 0\.020 s cannot be embedded .*leave short ones out"
    with pytest.raises(VoicePrivacyError, match=message):
        model.embed(np.ones(320, np.float32))
    with pytest.raises(VoicePrivacyError, match=message):
        model.embed_many([np.ones(16_000, np.float32), np.ones(320, np.float32)])
    with pytest.raises(VoicePrivacyError, match="it is empty"):
        model.embed(np.ones(0, np.float32))


def test_a_device_that_is_not_there_is_told(folder):
    with pytest.raises(VoicePrivacyError, match="device 'gpu' cannot be used here"):
        SpeechBrainExtractor(folder, "gpu")


# -- where it is found -------------------------------------------------------------------------


def test_a_folder_is_used_where_it_lies(folder, tmp_path, monkeypatch):
    """Case 10: No network, no links, nothing new in the folder or where the program runs."""

    def refused(*_, **__):
        raise OSError(1314, "a required privilege is not held by the client")

    monkeypatch.setattr(os, "symlink", refused)
    monkeypatch.setattr(Path, "symlink_to", refused)
    monkeypatch.setattr("huggingface_hub.hf_hub_download", refused)
    monkeypatch.setattr("huggingface_hub.snapshot_download", refused)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    before = {file: file.stat().st_mtime_ns for file in folder.iterdir()}
    find_model("ecapa_tdnn", folder)()
    assert {file: file.stat().st_mtime_ns for file in folder.iterdir()} == before
    assert not list((tmp_path / "here").iterdir())


def test_a_model_of_the_hub_is_fetched_by_its_name(folder, monkeypatch):
    asked = []
    monkeypatch.setattr(
        "huggingface_hub.snapshot_download", lambda name, **_: asked.append(name) or str(folder)
    )
    model = find_model("speechbrain/spkrec-ecapa-voxceleb")()
    assert asked == ["speechbrain/spkrec-ecapa-voxceleb"]
    assert model.name.startswith("speechbrain-speechbrain-spkrec-ecapa-voxceleb-")


def test_a_hub_out_of_reach_is_one_line_with_the_way_out(monkeypatch):
    def unreachable(*_, **__):
        raise ConnectionError("no route to host.\nand much more")

    monkeypatch.setattr("huggingface_hub.snapshot_download", unreachable)
    message = r"^a/model is no folder here, .* \(no route to host\)\. .* path of its folder\.$"
    with pytest.raises(VoicePrivacyError, match=message):
        SpeechBrainExtractor("a/model")


def test_what_is_missing_from_a_folder_is_told(folder, tmp_path):
    with pytest.raises(VoicePrivacyError, match=r"is no pretrained model: it has no hyperparams"):
        SpeechBrainExtractor(tmp_path)
    (folder / "classifier.ckpt").unlink()
    (folder / "label_encoder.txt").unlink()
    assert SpeechBrainExtractor(folder).dimension == 6  # needs neither of them
    (folder / "embedding_model.ckpt").unlink()
    with pytest.raises(VoicePrivacyError, match=r"embedding_model\.ckpt: no such file"):
        SpeechBrainExtractor(folder)


# -- beside other versions of packages ---------------------------------------------------------

DRIFTED = """
import sys
from pathlib import Path
import huggingface_hub
from voiceprivacy._speechbrain import import_torchaudio

torchaudio = import_torchaudio()
for gone in ("list_audio_backends", "get_audio_backend", "set_audio_backend", "load", "info"):
    vars(torchaudio).pop(gone, None)

def hf_hub_download(*args, use_auth_token=None, **kwargs):
    raise TypeError("hf_hub_download() got an unexpected keyword argument 'use_auth_token'")

huggingface_hub.hf_hub_download = hf_hub_download
from voiceprivacy.models import SpeechBrainExtractor
print(SpeechBrainExtractor(Path(sys.argv[1])).dimension)
"""

RELOADED = """
import sys
from IPython.core.interactiveshell import InteractiveShell

shell = InteractiveShell.instance(colors="NoColor")
for cell in (
    "%load_ext autoreload",
    "%autoreload 2",
    "from voiceprivacy.models import SpeechBrainExtractor",
    f"model = SpeechBrainExtractor({sys.argv[1]!r})",
    "print(model.dimension)",
):
    shell.run_cell(cell).raise_error()
"""


def run_apart(code, folder):
    """Run code on a model's folder in a fresh interpreter; return what it prints."""
    arguments = [sys.executable, "-W", "error::UserWarning:IPython", "-c", code, str(folder)]
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_model_is_loaded_beside_libraries_that_dropped_what_others_call(folder):
    """Case 05: newer torchaudio has no backends, newer huggingface_hub no use_auth_token."""
    assert run_apart(DRIFTED, folder) == "6\n"


def test_one_library_that_does_not_fit_stops_no_other(folder, monkeypatch):
    """Case 44."""

    class Broken:
        def find_spec(self, name, *_):
            if name == "resemblyzer":
                raise AttributeError("module 'numpy' has no attribute 'bool'")

    monkeypatch.delitem(sys.modules, "resemblyzer", raising=False)
    monkeypatch.setattr(sys, "meta_path", [Broken(), *sys.meta_path])
    assert find_model("ecapa_tdnn", folder)().dimension == 6
    with pytest.raises(VoicePrivacyError, match="Resemblyzer does not work with the packages"):
        find_model("resemblyzer")()


def test_a_notebook_that_reloads_modules_goes_on_after_a_model_is_loaded(folder):
    """Case 05: %autoreload asks SpeechBrain's lazy modules for their files, which imported them."""
    pytest.importorskip("IPython", reason="the book extra is not installed")
    assert run_apart(RELOADED, folder) == "6\n"


# -- what is not run ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "line",
    [
        "x: !apply:os.system [touch owned]",
        "x: !new:subprocess.Popen [[touch, owned]]",
        "x: !name:os.system",
        "x: !module:os",
        "x: !applyref:os.system [touch owned]",
        "x: !!python/object/apply:os.system [touch owned]",
        "x: !<!apply:os.system> [touch owned]",
        "x: !include:other.yaml",
        "x: !new:speechbrainly.Thing",
        "x: !new:speechbrain.core.os.system",
        "x: !apply:speechbrain.core.os.system [touch owned]",
        "x: !apply:speechbrain.utils.superpowers.run_shell [touch owned]",
        "x: !new:speechbrain.utils.fetching.pathlib.Path [owned]",
        "x: [1, {y: [!apply:os.system [touch owned]]}]",
        "x: !new:torch.hub.load [a, b]",
        "x: !ref <embedding_model.__class__>",
    ],
)
def test_a_file_that_names_other_code_is_refused_before_anything_runs(
    line, folder, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    (folder / "hyperparams.yaml").write_text(HYPERPARAMS + line + "\n")
    with pytest.raises(VoicePrivacyError, match=r"hyperparams\.yaml, line \d+: .*trust=True"):
        SpeechBrainExtractor(folder)
    assert not (tmp_path / "owned").exists()


def test_a_tag_in_a_directive_is_seen(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = "%TAG !e! !apply:os.\n---\n" + HYPERPARAMS + "x: !e!system [touch owned]\n"
    (folder / "hyperparams.yaml").write_text(text)
    with pytest.raises(VoicePrivacyError, match=r"hyperparams\.yaml"):
        SpeechBrainExtractor(folder)
    assert not (tmp_path / "owned").exists()


def test_a_trusted_file_may_name_what_it_wants(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = HYPERPARAMS + "x: !apply:os.mkdir [owned]\n"
    (folder / "hyperparams.yaml").write_text(text)
    assert SpeechBrainExtractor(folder, trust=True).dimension == 6
    assert (tmp_path / "owned").is_dir()


def test_weights_that_are_more_than_weights_are_refused(folder, tmp_path):
    """Case 44."""

    class Evil:
        def __reduce__(self):
            return (open, (str(tmp_path / "owned"), "w"))

    torch.save({"x": Evil()}, folder / "embedding_model.ckpt")
    for trust in (False, True):
        with pytest.raises(VoicePrivacyError, match=r"embedding_model\.ckpt holds no weights, or"):
            SpeechBrainExtractor(folder, trust=trust)
    assert not (tmp_path / "owned").exists()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("modules:", "parts:", "cannot be loaded by SpeechBrain: 'modules'"),
        ("n_mels: 16", "n_mels: [", "is no YAML"),
        ("n_mels: 16", "n_mels: !PLACEHOLDER", "cannot be read by SpeechBrain"),
        ("lin_neurons: 6", "lin_neurons: 7", "cannot be loaded by SpeechBrain: .*size mismatch"),
        ("        embedding_model: !ref <embedding_model>\n", "", "loads no weights of embedding"),
    ],
)
def test_a_file_that_does_not_fit_is_told(old, new, message, folder):
    assert old in HYPERPARAMS
    (folder / "hyperparams.yaml").write_text(HYPERPARAMS.replace(old, new))
    with pytest.raises(VoicePrivacyError, match=message):
        SpeechBrainExtractor(folder)
