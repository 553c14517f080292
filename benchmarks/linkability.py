"""Linkability: against the authors' package on the same scores, and at the paper's size.

Everything is timed in one run, side by side; the figures to quote are the ratios.
"""

import resource
import time
import tracemalloc
from fractions import Fraction
from math import comb

import numpy as np
from legal_eval.io import ScoreMatrix
from legal_eval.metrics.linkability import count_beaters
from legal_eval.metrics.linkability import linkability as theirs

from voiceprivacy.conversation_trials import draw_trials
from voiceprivacy.linkability import default_sizes, linkability, linked
from voiceprivacy.linkability_scores import count_better, linkability_of_scores
from voiceprivacy.simulation import preset, simulate, simulated_speakers

ENROLLED, TESTED, DRAWS = 22_024, 4_949, 5
SIZES = default_sizes(ENROLLED)


def seconds(function, repeats=1):
    """Shortest wall time of a call, and its last result."""
    best = np.inf
    for _ in range(repeats):
        begin = time.perf_counter()
        result = function()
        best = min(best, time.perf_counter() - begin)
    return best, result


def mebibytes(function):
    """The most memory that a call takes beside what was there before."""
    tracemalloc.start()
    function()
    peak = tracemalloc.get_traced_memory()[1] / 2**20
    tracemalloc.stop()
    return peak


def at_the_papers_size(attacker="informed"):
    """Time five draws with intervals, from embeddings."""
    speakers = simulated_speakers()
    tested = np.random.default_rng(0).choice(speakers["speaker"], TESTED, replace=False)
    enrolment, test = simulate(preset(attacker), speakers, targets=tested, utterances_b=10)
    drawing, trials = seconds(lambda: draw_trials(test, enrolment, draws=DRAWS))
    counting, found = seconds(lambda: linkability(trials))
    summing, table = seconds(found.summary)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    whole = drawing + counting + summing
    print(
        f"{ENROLLED:,} enrolled, {TESTED:,} tested, {DRAWS} draws, {len(table)} sizes with "
        f"intervals: {whole:.1f} s (trials {drawing:.1f} s, scores and counts {counting:.1f} s, "
        f"summary {summing:.1f} s); peak memory {peak:.2f} GiB"
    )


def against_the_authors_package():
    """Time the counts and exact means of all sizes, on one matrix of scores."""
    rng = np.random.default_rng(0)
    own = np.sort(rng.choice(ENROLLED, TESTED, replace=False))
    scores = rng.standard_normal((ENROLLED, TESTED), dtype=np.float32)
    scores[own, np.arange(TESTED)] += 2
    names = np.char.add("s", np.char.zfill(np.arange(ENROLLED).astype(str), 5))
    matrix = ScoreMatrix(scores, names.tolist(), names[own].tolist(), {})

    def reference():
        counts = count_beaters(matrix)
        rates = [theirs(matrix, n, estimator="exact", beaters=counts)[0] for n in SIZES.tolist()]
        return counts, np.array(rates)

    def ours():
        counts = count_better(scores, own)[0]
        table = linked(ENROLLED - 1, SIZES - 1, int(counts.max()))
        return counts, table[counts].mean(axis=0)

    ours()  # compiled by now
    (slow, expected), (fast, found) = seconds(reference, 5), seconds(ours, 5)
    much, little = mebibytes(reference), mebibytes(ours)
    assert (found[0] == expected[0]).all()
    print(
        f"counts and exact means at {len(SIZES)} sizes: authors' package {slow:.3f} s and "
        f"{much:.0f} MiB, here {fast:.3f} s and {little:.0f} MiB: {slow / fast:.1f} times faster, "
        f"{little / much:.2f} times the memory"
    )
    whole, result = seconds(lambda: linkability_of_scores(scores, names, names[own]).summary())
    assert (result["observed"] == found[1]).all()
    print(f"the same with intervals, which the package has not: {whole:.2f} s")
    compared(found, expected[1])


def compared(found, expected):
    """Print how far both are from each other, and from whole-number arithmetic."""
    counts, rates = found
    print(f"largest difference to the authors' package {np.abs(rates - expected).max():.1e}")
    for n in (120, 10_020, ENROLLED - 4):
        exact, column = exact_mean(counts, n), np.searchsorted(SIZES, n)
        here, there = abs(rates[column] - exact), abs(expected[column] - exact)
        print(f"N' = {n:,}: off by {here:.1e} here, {there:.1e} there")


def exact_mean(counts, n):
    """Mean of C(others - m, n - 1) / C(others, n - 1) over the counts m, in whole numbers."""
    ways = every = comb(ENROLLED - 1, n - 1)
    linked_ways = 0
    for m, often in enumerate(np.bincount(counts).tolist()):
        linked_ways += ways * often
        others = ENROLLED - 1 - m
        ways = ways * max(others - (n - 1), 0) // max(others, 1)
    return float(Fraction(linked_ways, every * len(counts)))


def main():
    at_the_papers_size()  # first: its peak memory is the process's
    against_the_authors_package()


if __name__ == "__main__":
    main()
