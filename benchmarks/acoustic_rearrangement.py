"""Acoustic rearrangement (AR) of one utterance: here, and with librosa as the authors do it.

Everything is timed in one run, side by side, on one thread; the figures to quote are the ratios.
"""

import os

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

import itertools
import time
import warnings

import librosa
import numpy as np

from voiceprivacy._dtw import acoustic_distances, mfccs
from voiceprivacy.segreconcat import order_acoustic

WORDS, SECONDS, RATE = 30, 9.0, 16_000
FRAMES = 100


def shortest(function, repeats):
    """Shortest wall time of a call, in seconds, after one to warm up."""
    function()
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        function()
        times.append(time.perf_counter() - begin)
    return min(times)


def utterance():
    """Tones in noise, and words of the lengths that speech has (around 0.3 s)."""
    rng = np.random.default_rng(0)
    lengths = rng.lognormal(0, 0.5, WORDS)
    cuts = np.round(np.cumsum([0, *lengths]) / lengths.sum() * SECONDS * RATE).astype(int)
    samples = 0.01 * rng.standard_normal(cuts[-1])
    words = np.column_stack([cuts[:-1], cuts[1:]])
    for start, end in words:
        samples[start:end] += np.sin(np.arange(end - start) * rng.uniform(0.05, 1.5))
    return samples.astype(np.float32), words


def padded(matrix):
    """A word's MFCCs, padded with zeros or cut to 100 frames."""
    return librosa.util.fix_length(matrix, size=FRAMES, axis=1)


def of_all_ordered_pairs(matrices):
    """Total costs by librosa, each pair in both directions, without tracing paths back."""
    return np.array(
        [
            librosa.sequence.dtw(a, b, metric="euclidean", backtrack=False)[-1, -1]
            for a, b in itertools.permutations(matrices, 2)
        ]
    )


def main():
    warnings.simplefilter("ignore")  # librosa warns of words shorter than its window
    samples, words = utterance()
    by_librosa = [librosa.feature.mfcc(y=samples[a:b], sr=RATE, n_mfcc=13) for a, b in words]
    at_100 = [padded(matrix) for matrix in by_librosa]

    authors = shortest(lambda: of_all_ordered_pairs(at_100), 3)
    unpadded = shortest(lambda: of_all_ordered_pairs(by_librosa), 3)
    ours = shortest(lambda: acoustic_distances(by_librosa), 50)
    expected = of_all_ordered_pairs(by_librosa)
    apart = np.abs(acoustic_distances(by_librosa)[~np.eye(WORDS, dtype=bool)] - expected).max()
    print(
        f"distances of {WORDS} words ({SECONDS:g} s): librosa, all ordered pairs, {FRAMES} frames "
        f"{authors * 1e3:.1f} ms, unpadded {unpadded * 1e3:.1f} ms; here {ours * 1e3:.3f} ms: "
        f"{authors / ours:.0f} and {unpadded / ours:.0f} times faster"
    )
    print(f"  largest difference to librosa unpadded: {apart:.1e}")

    def theirs():
        of_all_ordered_pairs(
            [padded(librosa.feature.mfcc(y=samples[a:b], sr=RATE, n_mfcc=13)) for a, b in words]
        )

    features = shortest(lambda: mfccs(samples, words), 20)
    whole, by_hand = shortest(lambda: order_acoustic(samples, words), 20), shortest(theirs, 3)
    print(
        f"all of AR with MFCCs: librosa {by_hand * 1e3:.1f} ms, here {whole * 1e3:.2f} ms "
        f"({features * 1e3:.2f} ms of it MFCCs): {by_hand / whole:.0f} times faster"
    )


if __name__ == "__main__":
    main()
