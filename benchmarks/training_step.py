"""One step of the attacker's training: what SegReConcat on the fly costs, and the full network.

Everything is timed in one run, side by side, on one thread; the figures to quote are the shares.
"""

import itertools
import os
import tempfile
import time
from dataclasses import replace
from pathlib import Path

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import numpy as np
import soundfile
import torch
from torch.utils.data import default_collate

from voiceprivacy._processes import Alone
from voiceprivacy._sampling import batches
from voiceprivacy._training import Training
from voiceprivacy._training_data import Material
from voiceprivacy._words import word_table
from voiceprivacy.attackers import Augmentation, read_settings
from voiceprivacy.corpora import read_folder
from voiceprivacy.segmentation import Segmentation

RATE, SPEAKERS, UTTERANCES, SECONDS, WORDS = 16_000, 16, 6, 4, 11
STEPS = 30
PAPER_BATCH = 32


def speech(folder):
    """Noise in the place of speech, with words of equal length, without pauses between them."""
    rng = np.random.default_rng(0)
    words = []
    starts = np.linspace(1600, SECONDS * RATE, WORDS + 1).astype(int)
    for s in range(SPEAKERS):
        for u in range(UTTERANCES):
            path = Path(folder, str(s), f"{s}-1-{u:04d}.wav")
            path.parent.mkdir(exist_ok=True)
            soundfile.write(path, rng.normal(0, 0.1, SECONDS * RATE), RATE)
            words += [(path.stem, "", *span) for span in itertools.pairwise(starts.tolist())]
    return read_folder(folder), Segmentation("bench", word_table(words))


def training(folder, settings):
    corpus, words = speech(folder)
    material = Material(corpus, words, settings)
    material.speech.keep()
    return Training(material, Path(folder), Alone(torch.device("cpu")), 0)


def seconds(function, *arguments):
    begin = time.process_time()
    result = function(*arguments)
    return time.process_time() - begin, result


def in_a_small_step():
    """Time steps of the small configuration, and what of them makes the augmented crops."""
    settings = replace(read_settings("small").for_row("RR+concatenation"), max_steps=STEPS + 5)
    with tempfile.TemporaryDirectory() as folder:
        run = training(folder, settings)
        plain = Material(run.speech.corpus, None, replace(settings, augmentation=Augmentation()))
        plain.speech.keep()
        own = run.network.encoder, run.network.classifier
        run.network.train(True)
        times = []
        for step, draws in enumerate(batches(run.rows.train, settings.batch_size, 0), 1):
            run.step = step
            augmented, crops = seconds(lambda: [run.speech[draw] for draw in draws])  # noqa: B023
            bare, _ = seconds(lambda: [plain.speech[draw] for draw in draws])  # noqa: B023
            features, _ = seconds(run.network.features, default_collate(crops)[0])
            learned, _ = seconds(run._learn, *default_collate(crops), *own)
            times.append((augmented, bare, features, learned))
            if step == run.last_step:
                break
    augmented, bare, features, learned = np.median(times[5:], axis=0) * 1e3
    step = augmented + learned
    print(f"a step of the small configuration, {settings.batch_size} crops of "
          f"{settings.crop_seconds:g} s, one thread: {step:.1f} ms")  # fmt: skip
    print(f"  crops of utterances as they are  {bare:6.2f} ms  {bare / step:6.1%}\n"
          f"  RR + concatenation on top        {augmented - bare:6.2f} ms  "
          f"{(augmented - bare) / step:6.1%}\n"
          f"  features                         {features:6.2f} ms  {features / step:6.1%}\n"
          f"  network, loss and optimiser      {learned - features:6.2f} ms  "
          f"{(learned - features) / step:6.1%}")  # fmt: skip


def full_step():
    """Time a step of the paper's network on part of its batch."""
    settings = replace(read_settings("paper").for_row("RR+concatenation"), batch_size=PAPER_BATCH)
    with tempfile.TemporaryDirectory() as folder:
        run = training(folder, settings)
        run.network.train(True)
        run.step = 1
        draws = next(batches(run.rows.train, PAPER_BATCH, 0))
        crops = default_collate([run.speech[draw] for draw in draws])
        spent, _ = seconds(run._learn, *crops, run.network.encoder, run.network.classifier)
    whole = read_settings("paper").batch_size
    print(f"a step of the paper's configuration on {PAPER_BATCH} of {whole} crops, one thread: "
          f"{spent:.1f} s, so all {whole} about {spent * whole / PAPER_BATCH:.0f} s")  # fmt: skip


def main():
    torch.set_num_threads(1)
    in_a_small_step()
    full_step()


if __name__ == "__main__":
    main()
