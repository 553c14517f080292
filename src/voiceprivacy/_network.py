"""The attacker's network: features, ECAPA-TDNN and a classifier of the training speakers."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from voiceprivacy._audio import RATE
from voiceprivacy._batches import by_length, frames_at_once, together
from voiceprivacy._speechbrain import speechbrain
from voiceprivacy.attacker_settings import AttackerSettings

WINDOW_MS, N_FFT = 25, 400


class Network:
    """Features, encoder, classifier and loss, all of them SpeechBrain's, on one device.

    Parameters
    ----------
    settings
        Sizes, loss and masks.
    n_speakers
        Classes of the classifier.
    device
        Such as ``"cpu"`` or ``"cuda:0"``.
    weights
        Seed of the first weights.
    """

    def __init__(self, settings: AttackerSettings, n_speakers: int, device, weights: int = 0):
        library = speechbrain()
        import torch

        self.torch, self.device, self.settings = torch, device, settings
        # The generator is global; what others draw from it shall not notice.
        with torch.random.fork_rng():
            torch.manual_seed(weights)
            self.encoder = library.ECAPA_TDNN(
                settings.mels,
                lin_neurons=settings.embedding,
                channels=list(settings.channels),
                kernel_sizes=list(settings.kernel_sizes),
                dilations=list(settings.dilations),
                attention_channels=settings.attention_channels,
                res2net_scale=settings.res2net_scale,
                se_channels=settings.se_channels,
            ).to(device)
            self.classifier = library.Classifier(
                settings.embedding, lin_neurons=settings.embedding, out_neurons=n_speakers
            ).to(device)
        self._fbank = library.Fbank(
            sample_rate=RATE,
            n_fft=N_FFT,
            n_mels=settings.mels,
            win_length=WINDOW_MS,
            hop_length=settings.hop_ms,
        ).to(device)
        margin = library.AdditiveAngularMargin(settings.margin, settings.scale)
        self._loss = library.LogSoftmaxWrapper(margin)
        low, high = settings.masks
        self._masks = [
            library.SpectrogramDrop(*length, low, high, dim=dimension)
            for length, dimension in ((settings.time_mask, 1), (settings.frequency_mask, 2))
        ]

    @property
    def parameters(self) -> list:
        """All trained weights."""
        return [*self.encoder.parameters(), *self.classifier.parameters()]

    @property
    def shortest(self) -> int:
        """Samples below which an utterance has too few windows to be embedded.

        Every convolution reflects what it sees at its ends, which takes more windows than it
        reflects.
        """
        reach = zip(self.settings.kernel_sizes, self.settings.dilations, strict=True)
        padding = max((kernel - 1) * dilation // 2 for kernel, dilation in reach)
        return padding * self._hop

    def features(self, waves):
        """Log mel energies, each utterance's mean subtracted: (batch, windows, mels).

        The same as SpeechBrain's ``Fbank`` and ``InputNormalization`` by sentence without its
        scaling, at half the cost: the squares are summed along an inner axis there.
        """
        with self.torch.no_grad():
            mel = self._fbank.compute_fbanks(self._power(waves))
            return mel - mel.mean(dim=1, keepdim=True)

    def _power(self, waves):
        spectrum = self._fbank.compute_STFT(waves)
        return spectrum[..., 0].square() + spectrum[..., 1].square()

    def masked(self, features, seed: int):
        """The features with bands and stretches masked at random (SpecAugment)."""
        with self.torch.random.fork_rng():
            self.torch.manual_seed(seed)
            for drop in self._masks:
                features = drop(features)
        return features

    def loss(self, features, labels, encoder=None, classifier=None):
        """The loss of a batch, and how many of its speakers are named rightly.

        `encoder` and `classifier` stand in for the network's own when several processes share
        the work.
        """
        cosines = (classifier or self.classifier)((encoder or self.encoder)(features))
        right = (cosines.detach().squeeze(1).argmax(dim=1) == labels).sum()
        return self._loss(cosines, labels[:, None]), right

    def embed(self, wave: np.ndarray) -> np.ndarray:
        """One utterance's embedding, (d,); the network must not be training."""
        with self.torch.inference_mode():
            waves = self.torch.from_numpy(np.ascontiguousarray(wave, np.float32))
            features = self.features(waves[None].to(self.device))
            return self.encoder(features)[0, 0].cpu().numpy()

    def embed_many(self, waves: Sequence[np.ndarray]) -> np.ndarray:
        """Utterances' embeddings, (n, d), each as `embed` gives it but for rounding."""
        vectors = np.empty((len(waves), self.settings.embedding), np.float32)
        most = frames_at_once(self.encoder, self.device) * self._hop
        with self.torch.inference_mode():
            for rows in by_length(waves, most):
                vectors[rows] = self._embed_batch([waves[row] for row in rows]).cpu().numpy()
        return vectors

    def _embed_batch(self, waves: list[np.ndarray]):
        tensors = [self.torch.from_numpy(np.ascontiguousarray(w, np.float32)) for w in waves]
        powers = [self._power(wave[None].to(self.device))[0] for wave in tensors]
        counts = self.torch.tensor([len(power) for power in powers], device=self.device)
        # Padding is silent here, and not before: windows across an end could be the loudest, from
        # which 80 dB are counted down.
        mel = self._fbank.compute_fbanks(self.torch.nn.utils.rnn.pad_sequence(powers, True))
        windows = self.torch.arange(mel.shape[1], device=self.device)
        inside = (windows < counts[:, None])[..., None]
        mean = (mel * inside).sum(dim=1, keepdim=True) / counts[:, None, None]
        return together(self.encoder, mel - mean, counts)

    @property
    def _hop(self) -> int:
        """Samples from one window to the next."""
        return self.settings.hop_ms * RATE // 1000

    def train(self, training: bool) -> None:
        """Let batch normalisation learn from batches, or use what it has learned."""
        self.encoder.train(training)
        self.classifier.train(training)

    def state(self) -> dict[str, Any]:
        """All weights, by part."""
        return {"encoder": self.encoder.state_dict(), "classifier": self.classifier.state_dict()}

    def load(self, state: dict[str, Any]) -> None:
        """Take over weights of `state`."""
        self.encoder.load_state_dict(state["encoder"])
        self.classifier.load_state_dict(state["classifier"])
