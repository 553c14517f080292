"""Equal error rates side by side: python benchmarks/eer.py

The two rules here against the authors' package (convex hull) and SpeechBrain, on the same arrays.
SpeechBrain compares every score with about two thresholds for each different one, so that its time
grows with the square of their number: beyond 20,000 it is given scores of two decimals, of which a
thousand or so differ.
"""

import ctypes
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import torch
from legal_eval import rocch_eer as their_rocch

from voiceprivacy.eer import rocch_eer, speechbrain_eer

TARGETS = 5000
FEW = 20_000  # scores that SpeechBrain is given as they are


def speechbrain():
    """SpeechBrain's own function."""
    from voiceprivacy._speechbrain import speechbrain as imported

    imported()
    from speechbrain.utils.metric_stats import EER

    return EER


def timed(function, *arrays):
    """Result, seconds, and MiB of memory taken at the most (Linux with glibc)."""
    status, before = Path("/proc/self/status"), 0
    if status.exists():
        ctypes.CDLL(None).malloc_trim(0)  # so that memory that was freed is not taken unseen
        Path("/proc/self/clear_refs").write_text("5")  # forgets the highest size so far
        before = size_of("VmRSS", status)
    start = time.perf_counter()
    value = function(*arrays)
    seconds = time.perf_counter() - start
    return value, seconds, size_of("VmHWM", status) - before if before else 0


def size_of(what, status):
    """This process's size in MiB, as the kernel tells it."""
    lines = status.read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(what)) / 2**10


def compare(name, ours, theirs, arrays, their_arrays=None):
    """Print both, and their ratios."""
    runs = [timed(ours, *arrays) for _ in range(3)]
    value, seconds = runs[0][0], min(run[1] for run in runs)
    other, their_seconds, their_peak = timed(theirs, *(their_arrays or arrays))
    told = f"  {name}: here {seconds:.4f} s, there {their_seconds:.2f} s"
    told += f": {their_seconds / seconds:,.0f} times faster; difference {abs(value - other):.1e}"
    if len(arrays[1]) > FEW:  # smaller arrays fit into memory that is held already
        told += f"; memory here {runs[0][2]:.0f} MiB, there {their_peak:.0f}"
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
        if n > FEW:
            targets, nontargets = (scores.round(2) for scores in (targets, nontargets))
            different = len(np.unique(np.concatenate([targets, nontargets])))
            print(f"  for SpeechBrain's rule rounded: {different:,} different scores")
        tensors = tuple(torch.from_numpy(scores) for scores in (targets, nontargets))
        compare("SpeechBrain's rule", speechbrain_eer, lambda *t: float(own(*t)[0]),
                (targets, nontargets), tensors)  # fmt: skip


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
