"""Extractors as an evaluation is given them: a name, a trained model's folder, or an object."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from voiceprivacy.errors import VoicePrivacyError
from voiceprivacy.extractors import Extractor, ResemblyzerExtractor

NAMES = ("resemblyzer", "ecapa_tdnn")


def find_model(model: str | Extractor, path: str | os.PathLike = "") -> Callable[[], Extractor]:
    """Return what loads the extractor that is meant, so that bad names are told at once.

    Parameters
    ----------
    model
        ``"resemblyzer"``, whose weights come with its package; ``"ecapa_tdnn"``; or an object.
    path
        For ``"ecapa_tdnn"``: a folder in which `voiceprivacy.attackers.train` has trained, or one
        of a pretrained SpeechBrain model (with ``hyperparams.yaml``).

    Raises
    ------
    VoicePrivacyError
        If there is no such model, or a path is missing or of no use.

    Examples
    --------
    >>> find_model("xvector")
    Traceback (most recent call last):
    voiceprivacy.errors.VoicePrivacyError: speaker embedding model 'xvector'; expected one of \
resemblyzer, ecapa_tdnn, or an object with name, dimension, embed and embed_many.
    """
    if not isinstance(model, str) and isinstance(model, Extractor):
        return lambda: model
    if model not in NAMES:
        raise VoicePrivacyError(
            f"speaker embedding model {model!r}; expected one of {', '.join(NAMES)}, or an object "
            "with name, dimension, embed and embed_many."
        )
    if model == "resemblyzer":
        if path:
            raise VoicePrivacyError(f"resemblyzer has its own weights and no use for {path}.")
        return ResemblyzerExtractor
    return _ecapa(Path(path) if path else None)


def _ecapa(path: Path | None) -> Callable[[], Extractor]:
    if path is None:
        raise VoicePrivacyError(
            "ecapa_tdnn needs extractor_path, the folder of a trained model; train one with "
            "`voiceprivacy attack`, or download a pretrained one of SpeechBrain."
        )
    if (path / "best.pt").is_file():
        from voiceprivacy.attackers import load_attacker

        return lambda: load_attacker(path)
    if (path / "hyperparams.yaml").is_file():
        return lambda: SpeechBrainExtractor(path)
    raise VoicePrivacyError(
        f"{path} is no trained model: expected a folder with best.pt (trained here) or with "
        "hyperparams.yaml (pretrained, SpeechBrain)."
    )


class SpeechBrainExtractor:
    """A pretrained speaker encoder of SpeechBrain, from a folder on this machine.

    Parameters
    ----------
    folder
        With ``hyperparams.yaml`` and the checkpoints that it names.

    Raises
    ------
    VoicePrivacyError
        If SpeechBrain is missing, or the folder cannot be loaded.
    """

    def __init__(self, folder: str | os.PathLike):
        from voiceprivacy._speechbrain import speechbrain

        speechbrain()
        import torch
        from speechbrain.inference.speaker import EncoderClassifier
        from speechbrain.utils.fetching import LocalStrategy

        self._torch = torch
        try:
            # Files are used where they lie: links need rights that some systems do not give.
            self._model = EncoderClassifier.from_hparams(
                source=str(folder), savedir=str(folder), local_strategy=LocalStrategy.NO_LINK
            )
        except (OSError, ValueError, KeyError, AttributeError, RuntimeError) as error:
            raise VoicePrivacyError(f"{folder} cannot be loaded by SpeechBrain: {error}") from error
        self.dimension = len(self.embed(np.ones(16_000, np.float32)))
        self.name = f"speechbrain-{Path(folder).resolve().name}"

    def embed(self, waveform: np.ndarray) -> np.ndarray:
        """Embed one utterance, float32 mono 16 kHz, as (d,)."""
        with self._torch.inference_mode():
            signal = self._torch.from_numpy(np.asarray(waveform, np.float32))[None]
            return self._model.encode_batch(signal)[0, 0].numpy()

    def embed_many(self, waveforms: Sequence[np.ndarray]) -> np.ndarray:
        """Embed utterances, each alone, as (n, d)."""
        return np.array([self.embed(waveform) for waveform in waveforms])
