"""Equal error rates side by side: python benchmarks/eer.py

The two rules here against the authors' package (convex hull) and SpeechBrain, on the same arrays.
SpeechBrain compares about two thresholds a score with every score, so that its time grows with the
square of their number: it is run on 20,000.
"""

import sys
import time
import tracemalloc
import warnings

import numpy as np
import torch
from legal_eval import rocch_eer as their_rocch

from voiceprivacy.eer import rocch_eer, speechbrain_eer

TARGETS = 5000
FEW = 20_000  # scores that SpeechBrain is given
MOST = 1_000_000  # scores up to which memory is traced


def speechbrain():
    """SpeechBrain's own function."""
    from voiceprivacy._speechbrain import speechbrain as imported

    imported()
    from speechbrain.utils.metric_stats import EER

    return EER


def timed(function, *arrays):
    """Result and seconds."""
    start = time.perf_counter()
    value = function(*arrays)
    return value, time.perf_counter() - start


def peak(function, *arrays):
    """The most memory that Python and NumPy take, in MiB; tracing slows a loop, so apart."""
    tracemalloc.start()
    function(*arrays)
    most = tracemalloc.get_traced_memory()[1] / 2**20
    tracemalloc.stop()
    return most


def compare(name, ours, theirs, arrays, their_arrays=None):
    """Print both, and their ratios."""
    their_arrays = their_arrays or arrays
    value, seconds = min((timed(ours, *arrays) for _ in range(3)), key=lambda run: run[1])
    other, their_seconds = timed(theirs, *their_arrays)
    told = f"  {name}: here {seconds:.4f} s, there {their_seconds:.2f} s"
    told += f": {their_seconds / seconds:,.0f} times faster; difference {abs(value - other):.1e}"
    if len(arrays[1]) <= MOST:
        told += f"; memory {peak(theirs, *their_arrays) / peak(ours, *arrays):.1f} times less"
    print(told, flush=True)


def main() -> None:
    rng = np.random.default_rng(0)
    warm = rng.normal(size=10)
    rocch_eer(warm, warm), speechbrain_eer(warm, warm)
    own = speechbrain()
    for n in [int(n) for n in sys.argv[1:]] or [FEW, 1_000_000, 10_000_000]:
        targets = rng.normal(2, 1, TARGETS).astype(np.float32)
        nontargets = rng.normal(0, 1, n - TARGETS).astype(np.float32)
        print(f"{n:,} scores, {TARGETS:,} of them targets")
        compare("convex hull", rocch_eer, their_rocch, (targets, nontargets))
        if n <= FEW:
            tensors = tuple(torch.from_numpy(scores) for scores in (targets, nontargets))
            compare("SpeechBrain's rule", speechbrain_eer, lambda *t: float(own(*t)[0]),
                    (targets, nontargets), tensors)  # fmt: skip
        else:
            _, seconds = timed(speechbrain_eer, targets, nontargets)
            print(f"  SpeechBrain's rule: here {seconds:.3f} s; there not run")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
