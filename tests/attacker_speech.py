"""Noise with a colour for each speaker, its words, and an attacker small enough to train on it."""

import itertools

import numpy as np
import soundfile
from vpac_tree import RATE, voice

from voiceprivacy._training import Training
from voiceprivacy._words import word_table
from voiceprivacy.attackers import AttackerSettings
from voiceprivacy.corpora import Corpus, read_folder
from voiceprivacy.segmentation import Segmentation

TINY = AttackerSettings(
    channels=[8, 8, 16],
    kernel_sizes=[5, 3, 1],
    dilations=[1, 2, 1],
    attention_channels=8,
    res2net_scale=2,
    se_channels=8,
    embedding=8,
    mels=16,
    hop_ms=20,
    crop_seconds=0.5,
    short="repeat",
    batch_size=8,
    max_steps=12,
    max_epochs=None,
    evaluate_every=4,
    patience=None,
    schedule="one_cycle",
    frequency_mask=[1, 3],
    time_mask=[1, 3],
    peak_normalise=False,
)


def sound(speaker: int, utterance: int, seconds: float) -> np.ndarray:
    """A voice that comes and goes in white noise: what never changes is normalised away."""
    steady = voice(speaker, utterance, seconds)
    on = np.arange(len(steady)) * 8 // RATE % 2
    noise = np.random.default_rng([utterance, speaker]).normal(0, 0.01, len(steady))
    return (on * steady + noise).astype(np.float32)


def speech(folder, speakers=6, utterances=5, seconds=1.2) -> Corpus:
    for s, u in itertools.product(range(1000, 1000 + speakers), range(utterances)):
        path = folder / str(s) / f"{s}-1-{u:04d}.wav"
        path.parent.mkdir(parents=True, exist_ok=True)
        soundfile.write(path, sound(s, u, seconds + 0.1 * u), RATE)
    return read_folder(folder)


def words(corpus: Corpus, n=4, ends=0.9) -> Segmentation:
    """`n` words an utterance with pauses between them; the first utterance has one word only."""
    rows = []
    for row, utterance in enumerate(corpus.table["utterance"]):
        limits = np.linspace(800, len(corpus.audio(row)), n + 1).astype(int)
        spans = [(a, a + int(ends * (b - a))) for a, b in itertools.pairwise(limits.tolist())]
        rows += [(utterance, "word", *span) for span in spans[: 1 if row == 0 else n]]
    return Segmentation("test", word_table(rows))


def interrupted_after(steps, monkeypatch):
    """Let training fail in the step after so many, as a killed process would."""
    learn, done = Training._learn, []

    def failing(self, *arguments):
        if len(done) == steps:
            raise KeyboardInterrupt
        done.append(1)
        return learn(self, *arguments)

    monkeypatch.setattr(Training, "_learn", failing)
    return done


def with_dev_losses(monkeypatch, losses):
    values = iter(losses)
    monkeypatch.setattr(Training, "_development", lambda self: (next(values), 0.5))
