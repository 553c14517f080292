"""SIDEKIT's x-vectors: the half ResNet-34 of the VoicePrivacy Challenge 2022 and of PSO.

The network is rebuilt here, see `voiceprivacy._halfresnet`; the package ``sidekit`` is not needed.
"""

import hashlib
import os
import pickle
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from voiceprivacy._audio import RATE
from voiceprivacy._processes import usable_device
from voiceprivacy._remade import Remade
from voiceprivacy._speechbrain import speechbrain, torch_threads
from voiceprivacy.errors import VoicePrivacyError, listed

MODEL, WEIGHTS, CLASSIFIER = "halfresnet34", "model_state_dict", "after_speaker_embedding."
# Nine windows of features: strides leave two, and fewer have no deviation.
SHORTEST = 8 * 160


class SidekitExtractor(Remade):
    """The speaker encoder of a SIDEKIT checkpoint.

    Parameters
    ----------
    checkpoint
        A file with ``model_archi`` (``model_type`` ``halfresnet34``), ``speaker_number`` and
        ``model_state_dict``, such as ``best_halp_clr_adam_aam0.2_30_b256_vox12.pt_epoch71`` of
        the package's release 0.1 on GitHub (deep-privacy/sidekit).
    device
        Where it runs.
    sha256
        Checksum that the file must have. A checkpoint that holds more than weights and plain
        values runs code when it is read, and is read only if this is given.

    Attributes
    ----------
    name
        Changes with the weights.
    dimension
        Numbers in one embedding, 256 unless the checkpoint says otherwise.

    Raises
    ------
    VoicePrivacyError
        If a package or the device is missing, or the checkpoint cannot be used or is not trusted.

    Notes
    -----
    Embeddings have unit norm. Utterances are embedded whole, one at a time, on one CPU thread: the
    network sees padding. Layers and names of weights were taken from the public sources and every
    weight must fit; no published checkpoint was compared with the package's own embeddings.
    """

    def __init__(self, checkpoint: str | os.PathLike, device: str = "cpu", *, sha256: str = ""):
        speechbrain()  # says what is missing, and makes torchaudio work without CUDA
        import torch

        from voiceprivacy._halfresnet import HalfResNet34

        path = Path(checkpoint)
        self._torch, self._device = torch, usable_device(device)
        self.dimension, weights = _described(_read(path, sha256), path)
        network = HalfResNet34(self.dimension)
        _load(network, weights, path)
        self._network = network.to(self._device).eval()
        digest = hashlib.sha256()
        for name, values in network.state_dict().items():
            digest.update(name.encode() + values.cpu().numpy().tobytes())
        self.name = f"sidekit-{digest.hexdigest()[:16]}"

    def embed(self, waveform: np.ndarray) -> np.ndarray:
        """Embed one utterance, float32 mono 16 kHz, as (d,).

        Raises
        ------
        VoicePrivacyError
            If it is too short for the network, or silent.
        """
        if len(waveform) < SHORTEST or not np.any(waveform):
            raise VoicePrivacyError(
                f"an utterance of {len(waveform) / RATE:.3f} s, with peak "
                f"{np.abs(waveform).max(initial=0):.3g}, has no embedding; expected sound of at "
                f"least {SHORTEST / RATE:.3f} s."
            )
        with torch_threads(1), self._torch.inference_mode():
            signal = self._torch.from_numpy(np.ascontiguousarray(waveform, np.float32))
            return self._network(signal[None].to(self._device))[0].cpu().numpy()

    def embed_many(self, waveforms: Sequence[np.ndarray]) -> np.ndarray:
        """Embed utterances, each alone, as (n, d)."""
        vectors = [self.embed(waveform) for waveform in waveforms]
        return np.array(vectors, np.float32).reshape(-1, self.dimension)


def _read(path: Path, sha256: str) -> object:
    """What a checkpoint holds, without running anything of it unless its checksum is known."""
    import torch

    try:
        found = hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise VoicePrivacyError(
            f"{path}: {error.strerror}; expected a checkpoint of SIDEKIT."
        ) from error
    if sha256 and sha256.lower() != found:
        raise VoicePrivacyError(
            f"{path} has the SHA-256 {found}, expected {sha256}; it is damaged or another file."
        )
    try:
        return torch.load(path, map_location="cpu", weights_only=not sha256)
    except (RuntimeError, pickle.UnpicklingError, EOFError, ValueError, KeyError,
            AttributeError, ImportError) as error:  # fmt: skip
        reason = str(error).strip().partition("\n")[0]
        raise VoicePrivacyError(
            f"{path} is damaged, or holds more than weights and plain values ({reason}). Reading "
            f"more can run code. If you trust whoever made it, compare its SHA-256, {found}, with "
            "theirs and load it with SidekitExtractor(path, sha256=theirs)."
        ) from error


def _described(checkpoint: object, path: Path) -> tuple[int, dict[str, Any]]:
    """Numbers in an embedding, and the weights of what embeds."""
    if not isinstance(checkpoint, Mapping) or not {"model_archi", WEIGHTS} <= set(checkpoint):
        raise VoicePrivacyError(
            f"{path} is no checkpoint of SIDEKIT: expected model_archi and {WEIGHTS}."
        )
    archi = checkpoint["model_archi"]
    kind = archi.get("model_type") if isinstance(archi, Mapping) else archi
    if kind != MODEL:
        raise VoicePrivacyError(f"{path} holds the network {kind!r}; only {MODEL} is known here.")
    size = archi.get("embedding_size", 256) if isinstance(archi, Mapping) else 256
    weights = {
        name: values
        for name, values in checkpoint[WEIGHTS].items()
        if not name.startswith(CLASSIFIER)
    }
    return int(size), weights


def _load(network, weights: dict[str, Any], path: Path) -> None:
    """Give a network its weights; each must be there, have its shape, and be used."""
    own = network.state_dict()
    wrong = [
        f"{name} (missing)" if name not in weights else f"{name} (shape {weights[name].shape})"
        for name in own
        if name not in weights or weights[name].shape != own[name].shape
    ] + [f"{name} (unknown)" for name in weights if name not in own]
    if wrong:
        raise VoicePrivacyError(
            f"{path} does not fit {MODEL} as it is known here: {listed(wrong)}. Its embeddings "
            "would not be those of SIDEKIT; extract them there, and read them as embeddings."
        )
    network.load_state_dict(weights)
