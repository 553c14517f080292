"""Extractors as an evaluation is given them: a name, a trained model's folder, or an object."""

import hashlib
import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from voiceprivacy._audio import RATE
from voiceprivacy._batches import by_length, frames_at_once, together
from voiceprivacy._pretrained import HUB_NAME, HYPERPARAMS, load_modules, pretrained_folder
from voiceprivacy._processes import usable_device
from voiceprivacy._remade import Remade
from voiceprivacy._speechbrain import speechbrain, torch_threads
from voiceprivacy.errors import VoicePrivacyError
from voiceprivacy.extractors import Extractor, ResemblyzerExtractor

HOP = 160  # samples from one window to the next, in SpeechBrain's usual features

NAMES = ("resemblyzer", "ecapa_tdnn", "sidekit")


def find_model(
    model: str | Extractor, path: str | os.PathLike = "", device: str = "cpu"
) -> Callable[[], Extractor]:
    """Return what loads the extractor that is meant, so that bad names are told at once.

    Parameters
    ----------
    model
        ``"resemblyzer"``, whose weights come with its package; ``"ecapa_tdnn"``;
        ``"sidekit"``; the name of a SpeechBrain model on the Hugging Face hub, such as
        ``"speechbrain/spkrec-ecapa-voxceleb"``; or an object.
    path
        For ``"ecapa_tdnn"``: a folder in which `voiceprivacy.attackers.train` has trained, or one
        of a pretrained SpeechBrain model (with ``hyperparams.yaml``). For ``"sidekit"``: a
        checkpoint, see `voiceprivacy.sidekit.SidekitExtractor`.
    device
        Where a named model runs; Resemblyzer, which is small, runs on the CPU always.

    Raises
    ------
    VoicePrivacyError
        If there is no such model, or a path is missing or of no use.

    Examples
    --------
    >>> find_model("xvector")
    Traceback (most recent call last):
    voiceprivacy.errors.VoicePrivacyError: speaker embedding model 'xvector'; expected one of \
resemblyzer, ecapa_tdnn, sidekit, a name on the Hugging Face hub (owner/model), or an object with \
name, dimension, embed and embed_many.
    """
    if not isinstance(model, str) and isinstance(model, Extractor):
        return lambda: model
    named = isinstance(model, str) and HUB_NAME.fullmatch(model)
    if model not in NAMES and not named:
        raise VoicePrivacyError(
            f"speaker embedding model {model!r}; expected one of {', '.join(NAMES)}, a name on the "
            "Hugging Face hub (owner/model), or an object with name, dimension, embed and "
            "embed_many."
        )
    if model == "sidekit":
        return _sidekit(path, device)
    if model != "ecapa_tdnn":
        if path:
            raise VoicePrivacyError(f"{model} has its own weights and no use for {path}.")
        return partial(SpeechBrainExtractor, model, device) if named else ResemblyzerExtractor
    return _ecapa(Path(path) if path else None, device)


def _ecapa(path: Path | None, device: str) -> Callable[[], Extractor]:
    if path is None:
        raise VoicePrivacyError(
            "ecapa_tdnn needs extractor_path, the folder of a trained model; train one with "
            "`voiceprivacy attack`, or download a pretrained one of SpeechBrain."
        )
    if (path / "best.pt").is_file():
        from voiceprivacy.attackers import load_attacker

        return partial(load_attacker, path, device)
    if (path / "hyperparams.yaml").is_file():
        return partial(SpeechBrainExtractor, path, device)
    raise VoicePrivacyError(
        f"{path} is no trained model: expected a folder with best.pt (trained here) or with "
        "hyperparams.yaml (pretrained, SpeechBrain)."
    )


def _sidekit(path: str | os.PathLike, device: str) -> Callable[[], Extractor]:
    if not path:
        raise VoicePrivacyError("sidekit needs extractor_path, the file of a checkpoint.")
    from voiceprivacy.sidekit import SidekitExtractor

    return partial(SidekitExtractor, path, device)


class SpeechBrainExtractor(Remade):
    """A pretrained speaker encoder of SpeechBrain.

    Parameters
    ----------
    model
        A folder with ``hyperparams.yaml`` and the weights that it names, which is used where it
        lies, without network; or a name on the Hugging Face hub such as
        ``"speechbrain/spkrec-ecapa-voxceleb"``, which is fetched once, to the hub's own cache.
    device
        Where it runs.
    trust
        ``hyperparams.yaml`` can name any code to be run. Without trust it is loaded only if it
        names nothing but classes of SpeechBrain and of torch.nn.

    Attributes
    ----------
    name
        Changes with the weights and with ``hyperparams.yaml``.
    dimension
        Numbers in one embedding.

    Raises
    ------
    VoicePrivacyError
        If SpeechBrain or the device is missing, the hub cannot be reached, or the folder cannot be
        loaded or is not trusted.

    Notes
    -----
    As SpeechBrain's ``encode_batch`` without its ``normalize``. Utterances are embedded on one CPU
    thread, an ECAPA-TDNN's together where that is faster, and weights are read with torch's
    ``weights_only``, trusted or not.
    """

    def __init__(self, model: str | os.PathLike, device: str = "cpu", *, trust: bool = False):
        speechbrain()  # says what is missing before anything is read
        import torch

        self._torch, self._device = torch, usable_device(device)
        folder = pretrained_folder(model)
        modules = [module.to(self._device).eval() for module in load_modules(folder, trust)]
        self._features, self._normalise, self._encoder = modules
        self.dimension = len(self.embed(np.ones(RATE, np.float32)))
        name = str(model) if HUB_NAME.fullmatch(str(model)) else folder.resolve().name
        self.name = f"speechbrain-{name.replace('/', '-')}-{self._digest(folder)}"

    def embed(self, waveform: np.ndarray) -> np.ndarray:
        """Embed one utterance, float32 mono 16 kHz, as (d,).

        Raises
        ------
        VoicePrivacyError
            If it is too short for the network.
        """
        with torch_threads(1), self._torch.inference_mode():
            features = self._heard(waveform)
            whole = self._torch.ones(1, device=self._device)
            try:
                return self._encoder(features[None], whole)[0, 0].cpu().numpy()
            except RuntimeError as error:
                raise _too_short(waveform, str(error)) from error

    def embed_many(self, waveforms: Sequence[np.ndarray]) -> np.ndarray:
        """Embed utterances, each as `embed` would but for rounding (1e-5), as (n, d)."""
        from speechbrain.lobes.models.ECAPA_TDNN import ECAPA_TDNN

        if type(self._encoder) is not ECAPA_TDNN:
            vectors = [self.embed(waveform) for waveform in waveforms]
            return np.array(vectors, np.float32).reshape(-1, self.dimension)
        vectors = np.empty((len(waveforms), self.dimension), np.float32)
        most = frames_at_once(self._encoder, self._device) * HOP
        with torch_threads(1), self._torch.inference_mode():
            for rows in by_length(waveforms, most):
                vectors[rows] = self._embed_batch([waveforms[row] for row in rows])
        return vectors

    def _embed_batch(self, waveforms: list[np.ndarray]) -> np.ndarray:
        features = [self._heard(waveform) for waveform in waveforms]
        counts = self._torch.tensor([len(one) for one in features], device=self._device)
        padded = self._torch.nn.utils.rnn.pad_sequence(features, batch_first=True)
        try:
            return together(self._encoder, padded, counts).cpu().numpy()
        except VoicePrivacyError as error:
            raise _too_short(min(waveforms, key=len), str(error)) from error

    def _heard(self, waveform: np.ndarray):
        """One utterance's features, normalised, (windows, features)."""
        if not len(waveform):
            raise _too_short(waveform, "it is empty")
        signal = self._torch.from_numpy(np.ascontiguousarray(waveform, np.float32))[None]
        features = self._features(signal.to(self._device))
        return self._normalise(features, self._torch.ones(1, device=self._device))[0]

    def _digest(self, folder: Path) -> str:
        """Of all that embeddings depend on."""
        digest = hashlib.sha256((folder / HYPERPARAMS).read_bytes())
        for module in (self._normalise, self._encoder):
            for name, values in module.state_dict().items():
                digest.update(name.encode() + values.cpu().numpy().tobytes())
        return digest.hexdigest()[:16]


def _too_short(waveform: np.ndarray, reason: str) -> VoicePrivacyError:
    return VoicePrivacyError(
        f"an utterance of {len(waveform) / RATE:.3f} s cannot be embedded ({reason}); leave short "
        "ones out with voiceprivacy.corpora.checked(corpus), which reports them."
    )
