"""Resemblyzer's speaker encoder, whose weights come with its package."""

import itertools
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version

import numpy as np

from voiceprivacy._progress import quiet_bars
from voiceprivacy._remade import Remade
from voiceprivacy.errors import VoicePrivacyError

INSTALL = 'pip install "voiceprivacy[speech]" && pip install --no-deps Resemblyzer==0.1.4'


class ResemblyzerExtractor(Remade):
    """The speaker encoder of Resemblyzer 0.1.4, whose weights ship in its package.

    An LSTM trained with the generalised end-to-end loss (Wan et al., 2018) on LibriSpeech,
    VoxCeleb1 and VoxCeleb2; 256 non-negative numbers of unit norm. As in the package, loudness is
    raised to -30 dBFS, long pauses are cut, and the mean of windows of 1.6 s is normalised.

    Raises
    ------
    VoicePrivacyError
        If the packages it needs are missing, or do not work together.

    Notes
    -----
    Where voice detection finds no speech at all the whole utterance is embedded; the package
    itself would embed an empty one. All runs on one thread: on cores that other work
    shares, more threads were many times slower.
    """

    dimension = 256
    BATCH = 32

    def __init__(self):
        # Read by OpenMP when torch loads it: waiting threads must not spin on a shared core.
        os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
        self._torch, self._package = _resemblyzer()
        self._encoder = self._package.VoiceEncoder("cpu", verbose=False)
        self.name = f"resemblyzer-{_version('Resemblyzer')}"

    def embed(self, waveform: np.ndarray) -> np.ndarray:
        """Embed one utterance, float32 mono 16 kHz, as (256,)."""
        return self.embed_many([waveform])[0]

    def embed_many(self, waveforms: Sequence[np.ndarray]) -> np.ndarray:
        """Embed utterances, each as `embed` would, as (n, 256).

        Raises
        ------
        VoicePrivacyError
            If an utterance is empty or digital silence.
        """
        if not len(waveforms):
            return np.empty((0, self.dimension), np.float32)
        with _one_thread(self._torch):
            windows = [self._windows(waveform) for waveform in waveforms]
            vectors = self._forward(np.concatenate(windows))
        start = np.cumsum([0, *(len(w) for w in windows)])
        means = np.array([vectors[a:b].mean(axis=0) for a, b in itertools.pairwise(start)])
        return means / np.linalg.norm(means, axis=1, keepdims=True)

    def _windows(self, waveform: np.ndarray) -> np.ndarray:
        """Mel spectra of overlapping windows, (windows, 160 frames, 40 mels)."""
        speech = self._speech(waveform)
        of_samples, of_frames = self._encoder.compute_partial_slices(len(speech), 1.3, 0.75)
        padded = np.pad(speech, (0, max(0, of_samples[-1].stop - len(speech))))
        mel = self._package.wav_to_mel_spectrogram(padded)
        return np.array([mel[frames] for frames in of_frames])

    def _speech(self, waveform: np.ndarray) -> np.ndarray:
        """The utterance at -30 dBFS or more, without long pauses."""
        if not np.any(waveform):
            raise VoicePrivacyError("an empty or silent utterance has no embedding.")
        waveform = np.asarray(waveform, np.float32)
        loud = self._package.normalize_volume(waveform, -30, increase_only=True)
        speech = self._package.trim_long_silences(np.clip(loud, -1, 1))
        return speech if len(speech) else loud

    def _forward(self, windows: np.ndarray) -> np.ndarray:
        """Embed windows, in batches of one size."""
        # A batch of another size may round differently; a fixed one keeps a window's embedding
        # the same whatever else is in the batch.
        filled = -len(windows) % self.BATCH
        full = np.pad(windows, ((0, filled), (0, 0), (0, 0)))
        with self._torch.inference_mode():
            batches = [
                self._encoder(self._torch.from_numpy(full[i : i + self.BATCH])).numpy()
                for i in range(0, len(full), self.BATCH)
            ]
        return np.concatenate(batches)[: len(windows)]


@contextmanager
def _one_thread(torch) -> Iterator[None]:
    """Let torch and the matrix products of numpy use one thread, and give the others back."""
    from threadpoolctl import threadpool_limits

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with threadpool_limits(limits=1):
            yield
    finally:
        torch.set_num_threads(before)


def _resemblyzer():
    """Import torch and Resemblyzer, or say what is missing or does not fit."""
    quiet_bars()  # librosa's
    try:
        import resemblyzer
        import torch
    except ImportError as error:
        raise VoicePrivacyError(
            f"the Resemblyzer extractor needs the package {error.name or error}; "
            f"install with: {INSTALL}"
        ) from error
    except (AttributeError, TypeError) as error:
        found = ", ".join(
            f"{name} {_version(name)}" for name in ("Resemblyzer", "librosa", "numpy", "scipy")
        )
        raise VoicePrivacyError(
            f"Resemblyzer does not work with the packages here ({found}): {error}. "
            f"Expected Resemblyzer 0.1.4 and librosa 0.10 or later; install with: {INSTALL}"
        ) from error
    return torch, resemblyzer


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
