"""How many times faster than real time McAdams anonymizes, on one core.

    python benchmarks/mcadams.py [FOLDER]

Without a folder of speech, noise stands in for it: time hardly depends on what is said. Time is
that of the processor, so other work on the machine matters little; files are not timed.
"""

import sys
import time

import numpy as np
from threadpoolctl import threadpool_limits

from voiceprivacy.anonymizers import by_name
from voiceprivacy.corpora import read_folder

RATE, UTTERANCES, ROUNDS = 16_000, 40, 3


def waveforms(folder):
    if folder:
        corpus = read_folder(folder)
        return [corpus.audio(row) for row in range(min(UTTERANCES, len(corpus)))]
    rng = np.random.default_rng(0)
    return [rng.normal(0, 0.1, 12 * RATE).astype(np.float32) for _ in range(UTTERANCES)]


def spent(anonymizer, speech):
    begin = time.process_time()
    for samples in speech:
        anonymizer(samples, speaker="someone")
    return time.process_time() - begin


def main(folder=None):
    speech = waveforms(folder)
    seconds = sum(map(len, speech)) / RATE
    print(f"{len(speech)} utterances, {seconds:.0f} s of {'speech' if folder else 'noise'}")
    for name in ("mcadams-speaker", "baseline_b2-speaker"):
        anonymizer = by_name(name)
        anonymizer(speech[0][:RATE])  # compiled before it is timed
        best = min(spent(anonymizer, speech) for _ in range(ROUNDS))
        print(f"  {name:<20} {seconds / best:6.0f} times faster than real time "
              f"(real-time factor {best / seconds:.5f})")  # fmt: skip


if __name__ == "__main__":
    with threadpool_limits(limits=1):
        main(*sys.argv[1:])
