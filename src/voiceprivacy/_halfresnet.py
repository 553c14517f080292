"""SIDEKIT's half ResNet-34, rebuilt from its public description, with its names of weights.

Layers, sizes and names are those of deep-privacy/sidekit on GitHub: ``sidekit/nnet``, files
``xvector.py`` (model ``halfresnet34``), ``res_net.py``, ``pooling.py`` and ``preprocessor.py``.
"""

from collections import OrderedDict

import torch
from torch import nn

from voiceprivacy._speechbrain import import_torchaudio

RATE, HOP, MELS, EMPHASIS, FLOOR = 16_000, 160, 80, 0.97, 1e-6
STAGES = ((32, 3, 1), (64, 4, 2), (128, 6, 2), (256, 3, 2))  # channels, blocks, first stride
SQUEEZE, ATTENTION = 16, 128


class HalfResNet34(nn.Module):
    """Waveforms to embeddings of unit norm.

    Parameters
    ----------
    embedding_size
        Numbers in an embedding.
    stages
        Channels, blocks and stride of each stage of the ResNet.
    """

    def __init__(self, embedding_size: int = 256, stages=STAGES):
        super().__init__()
        self.preprocessor = _Preprocessor()
        self.sequence_network = _ResNet(stages)
        bands = MELS
        for _, _, stride in stages:
            bands = (bands - 1) // stride + 1
        rows = stages[-1][0] * bands  # 2,560
        self.stat_pooling = _AttentivePooling(rows)
        self.before_speaker_embedding = nn.Sequential(
            OrderedDict(
                lin_be=nn.Linear(2 * rows, embedding_size, bias=False),
                bn_be=nn.BatchNorm1d(embedding_size),
            )
        )

    def forward(self, waveforms):
        """Embed (batch, samples) at 16 kHz as (batch, d)."""
        pooled = self.stat_pooling(self.sequence_network(self.preprocessor(waveforms)))
        return nn.functional.normalize(self.before_speaker_embedding(pooled))


class _Preprocessor(nn.Module):
    """Log mel energies, (batch, 80, windows), each band of an utterance at mean 0, variance 1."""

    def __init__(self):
        super().__init__()
        transforms = import_torchaudio().transforms
        self.PreEmphasis = nn.Module()
        self.PreEmphasis.register_buffer("flipped_filter", torch.tensor([[[-EMPHASIS, 1.0]]]))
        self.MelSpec = transforms.MelSpectrogram(
            RATE, n_fft=1024, win_length=400, hop_length=HOP, f_min=90.0, f_max=7600.0, n_mels=MELS
        )

    def forward(self, waveforms):
        padded = nn.functional.pad(waveforms[:, None], (1, 0), mode="reflect")
        sharp = nn.functional.conv1d(padded, self.PreEmphasis.flipped_filter)[:, 0]
        return nn.functional.instance_norm(torch.log(self.MelSpec(sharp) + FLOOR))


class _ResNet(nn.Module):
    """From (batch, mels, windows) to (batch, channels, windows, mels), both halved thrice."""

    def __init__(self, stages):
        super().__init__()
        channels = stages[0][0]
        self.conv1 = nn.Conv2d(1, channels, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(channels)
        self.depth = len(stages)
        for number, (wider, blocks, stride) in enumerate(stages, 1):
            steps = [stride] + [1] * (blocks - 1)
            widths = [channels] + [wider] * (blocks - 1)
            made = [_Block(width, wider, step) for width, step in zip(widths, steps, strict=True)]
            self.add_module(f"layer{number}", nn.Sequential(*made))
            channels = wider

    def forward(self, features):
        x = features.transpose(1, 2)[:, None]
        x = nn.functional.relu(self.bn1(self.conv1(x)))
        for number in range(1, self.depth + 1):
            x = getattr(self, f"layer{number}")(x)
        return x


class _Block(nn.Module):
    """Two convolutions of 3 by 3, squeeze and excitation, and a way around them."""

    def __init__(self, channels: int, wider: int, stride: int):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, wider, 3, stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(wider)
        self.conv2 = nn.Conv2d(wider, wider, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(wider)
        self.se = _SqueezeExcitation(wider)
        self.shortcut = nn.Sequential()
        if stride != 1 or channels != wider:
            around = nn.Conv2d(channels, wider, 1, stride, bias=False)
            self.shortcut = nn.Sequential(around, nn.BatchNorm2d(wider))

    def forward(self, x):
        inner = nn.functional.relu(self.bn1(self.conv1(x)))
        inner = self.se(self.bn2(self.conv2(inner)))
        return nn.functional.relu(inner + self.shortcut(x))


class _SqueezeExcitation(nn.Module):
    """Weigh channels by what their means say."""

    def __init__(self, channels: int):
        super().__init__()
        few = channels // SQUEEZE
        self.fc = nn.Sequential(
            nn.Linear(channels, few, bias=False), nn.ReLU(),
            nn.Linear(few, channels, bias=False), nn.Sigmoid(),
        )  # fmt: skip

    def forward(self, x):
        return x * self.fc(x.mean(dim=(2, 3)))[:, :, None, None]


class _AttentivePooling(nn.Module):
    """Weighted mean and deviation over time, weights seeing each row's mean and deviation too."""

    def __init__(self, rows: int):
        super().__init__()
        self.attention = nn.Sequential(
            nn.Conv1d(3 * rows, ATTENTION, 1), nn.ReLU(), nn.BatchNorm1d(ATTENTION), nn.Tanh(),
            nn.Conv1d(ATTENTION, rows, 1), nn.Softmax(dim=2),
        )  # fmt: skip

    def forward(self, x):
        x = x.transpose(2, 3).flatten(1, 2)  # (batch, channels of each band, windows)
        seen = torch.cat([x.mean(dim=2), x.std(dim=2)], dim=1)
        weights = self.attention(torch.cat([x, seen[:, :, None].expand(-1, -1, x.shape[2])], 1))
        mean = (x * weights).sum(dim=2)
        deviation = ((x.square() * weights).sum(dim=2) - mean.square()).clamp(min=1e-9).sqrt()
        return torch.cat([mean, deviation], dim=1)
