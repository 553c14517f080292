"""The attacker: ECAPA-TDNN, trained from scratch on anonymized speech (SegReConcat paper).

`train` learns to tell the speakers of anonymized speech apart; what it returns embeds speech as
any `voiceprivacy.extractors.Extractor` does. Network, loss and masks are SpeechBrain's.
"""

import hashlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from voiceprivacy._audio import RATE
from voiceprivacy._checkpoints import BEST, LOG, read_state
from voiceprivacy._network import Network
from voiceprivacy._processes import processes, usable_device
from voiceprivacy._remade import Remade
from voiceprivacy._speechbrain import speechbrain, torch_threads
from voiceprivacy._training import Training
from voiceprivacy._training_data import Material
from voiceprivacy.attacker_rows import CONTROL_ROWS, row, rows
from voiceprivacy.attacker_settings import (
    AttackerSettings,
    Augmentation,
    read_settings,
    settings_from,
    write_settings,
)
from voiceprivacy.corpora import Corpus
from voiceprivacy.errors import VoicePrivacyError
from voiceprivacy.segmentation import Segmentation
from voiceprivacy.segreconcat import Encoder

__all__ = [
    "CONTROL_ROWS",
    "Attacker",
    "AttackerSettings",
    "Augmentation",
    "load_attacker",
    "read_settings",
    "row",
    "rows",
    "train",
    "write_settings",
]


class Attacker(Remade):
    """A trained attacker, which embeds utterances; an `Extractor`.

    Parameters
    ----------
    folder
        What it was trained in.
    device
        Where it runs.

    Attributes
    ----------
    name
        Changes with the weights and with whatever else changes embeddings.
    dimension
        Numbers in one embedding.
    settings
        How it was trained.
    speakers
        Whom it was trained on.
    log
        One row an evaluation: ``step``, ``epoch``, ``learning_rate``, and since the evaluation
        before ``train_loss`` and ``train_accuracy`` (share of crops whose speaker is named
        rightly), ``dev_loss``, ``dev_accuracy``.

    Notes
    -----
    Embeddings are not normalised, and utterances are embedded whole. The VoicePrivacy
    Challenge brings it to -30 LUFS, then to peak 1, and cuts exact zeros at both ends; the first of
    these has no effect and is left out (`AttackerSettings.peak_normalise`).
    """

    def __init__(self, folder: str | os.PathLike, device: str = "cpu"):
        speechbrain()  # says what is missing before anything is read
        best = Path(folder, BEST)
        state = read_state(best)
        self.settings = settings_from(state["settings"], best)
        self.speakers = state["speakers"]
        self.log = pd.read_csv(Path(folder, LOG))
        self.dimension = self.settings.embedding
        self._network = Network(self.settings, len(self.speakers), usable_device(device))
        self._network.load(state)
        self._network.train(False)
        self.name = f"ecapa-{self._digest(state['encoder'])}"

    def _digest(self, weights: Mapping) -> str:
        own = (self.settings.hop_ms, self.settings.peak_normalise)
        digest = hashlib.sha256(repr(own).encode())
        for name, values in weights.items():
            digest.update(name.encode() + values.cpu().numpy().tobytes())
        return digest.hexdigest()[:16]

    @property
    def steps(self) -> int:
        """Steps of training."""
        return int(self.log["step"].iloc[-1])

    @property
    def best_step(self) -> int:
        """The step with the lowest development loss, whose weights these are."""
        return int(self.log["step"][self.log["dev_loss"].idxmin()])

    @property
    def dev_loss(self) -> float:
        """The lowest development loss."""
        return float(self.log["dev_loss"].min())

    @property
    def accuracy(self) -> float:
        """Share of training crops whose speaker was named rightly, before the last evaluation."""
        return float(self.log["train_accuracy"].iloc[-1])

    def embed(self, waveform: np.ndarray) -> np.ndarray:
        """Embed one utterance, float32 mono 16 kHz, as (d,).

        Raises
        ------
        VoicePrivacyError
            If it is too short for the network, or silent.
        """
        with torch_threads(1):
            return self._network.embed(self._usable(waveform))

    def embed_many(self, waveforms: Sequence[np.ndarray]) -> np.ndarray:
        """Embed utterances, each as `embed` would, as (n, d).

        Utterances of nearly the same length are embedded together. A result differs from that of
        `embed` by rounding alone, below 1e-5 of its largest number, whatever its neighbours are.
        """
        with torch_threads(1):
            return self._network.embed_many([self._usable(waveform) for waveform in waveforms])

    def _usable(self, waveform: np.ndarray) -> np.ndarray:
        """The utterance as the network is given it."""
        if self.settings.peak_normalise:
            waveform = _at_peak(waveform)
        shortest = self._network.shortest
        if len(waveform) < shortest or not np.any(waveform):
            raise VoicePrivacyError(
                f"an utterance of {len(waveform) / RATE:.3f} s, with peak "
                f"{np.abs(waveform).max(initial=0):.3g}, has no embedding; expected sound of at "
                f"least {shortest / RATE:.3f} s."
            )
        return waveform


def load_attacker(folder: str | os.PathLike, device: str = "cpu") -> Attacker:
    """Return the best attacker of a folder that `train` has trained in.

    Raises
    ------
    VoicePrivacyError
        If there is none, or a package that it needs is missing.
    """
    return Attacker(folder, device)


def train(
    corpus: Corpus,
    words: Segmentation | None,
    settings: AttackerSettings,
    folder: str | os.PathLike,
    *,
    device: str = "cpu",
    threads: int = 1,
    workers: int = 0,
    encoder: Encoder | None = None,
    orders: Mapping[str, np.ndarray] | None = None,
    progress: bool = False,
) -> Attacker:
    """Train an attacker, or go on with one that was interrupted.

    Parameters
    ----------
    corpus
        Anonymized speech of the training speakers.
    words
        Its words; only strategies that rearrange need them.
    settings
        Everything else that the result depends on.
    folder
        Where checkpoints and ``log.csv`` are kept. A finished training is not done again; an
        interrupted one goes on from its last evaluation, to the same weights.
    device
        ``"cpu"``, ``"cuda"``, ``"cuda:1"``, ...
    threads
        Threads of torch on a CPU. Results are the same for the same number of them.
    workers
        Processes that read and augment speech while the network learns; results do not depend
        on them.
    encoder
        What strategy ``"sr"`` compares words by, see `SegReConcat`.
    orders
        Orders of ``"ar"`` and ``"sr"`` that are known already, such as those of another seed.
    progress
        Show bars on stderr.

    Returns
    -------
    Attacker
        With the weights of the lowest development loss.

    Raises
    ------
    VoicePrivacyError
        If a package or the device is missing, there is too little speech, the folder belongs to
        another training, or the loss is no longer a number.

    Notes
    -----
    As in the VoicePrivacy Challenge 2024, a row is a random crop from anywhere in an utterance as
    trained, and an utterance has as many rows as full crops fit into it. Differences: the
    development utterances are drawn for each speaker, with the seed; they are heard in fixed
    crops, augmented as the row's offline files would be, without masks; silent pieces are not
    sought out; an epoch's last, incomplete batch is left out. Under ``torchrun`` every process
    takes its part of each batch, and batch normalisation sees that part alone, so results differ
    from those of one process.
    """
    speechbrain()  # says what is missing before anything is read
    folder = Path(folder)
    with torch_threads(threads), processes(device) as group:
        if settings.batch_size % group.world:
            raise VoicePrivacyError(
                f"batch_size: {settings.batch_size} cannot be shared by {group.world} processes; "
                "expected a multiple."
            )
        material = Material(corpus, words, settings, encoder, orders or {})
        parts = material.claim(folder)
        training = Training(material, folder, group, workers)
        if not training.stopped:
            if group.rank == 0:
                material.prepare(parts, progress)
            group.told(None)
            if group.rank:
                material.prepare(parts)
            training.run(progress and group.rank == 0)
        group.told(None)
    return Attacker(folder, device)


def _at_peak(waveform: np.ndarray) -> np.ndarray:
    """The utterance without exact zeros at its ends, at peak 1; as it is if it is silent."""
    sound = np.flatnonzero(waveform)
    if not len(sound):
        return waveform
    inner = waveform[sound[0] : sound[-1] + 1]
    return inner / np.abs(inner).max()
