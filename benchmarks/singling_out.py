"""Singling out: against the authors' package, against its own matrix products, by N and by pool.

Everything is timed in one run, side by side; the figures to quote are the ratios.
"""

import resource
import time
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from legal_eval.metrics.singling_out import ConversationScores, singling_out

from voiceprivacy import _isolation_kernel as kernel
from voiceprivacy.candidates import Candidates
from voiceprivacy.conversations import by_speaker, conversation_embeddings, draw_conversations
from voiceprivacy.embeddings import Embeddings
from voiceprivacy.randomness import stream
from voiceprivacy.singling_out import isolate

SPEAKERS, UTTERANCES, TARGETS = 22_024, 10, 495
SIZES = [30, 100, 200, 400, 800, 1600, 3200, 6400, 12_800, 22_024]
OUT = Path("build/bench")


def seconds(function, repeats=1):
    """Shortest wall time of a call, and its last result."""
    best = np.inf
    for _ in range(repeats):
        begin = time.perf_counter()
        result = function()
        best = min(best, time.perf_counter() - begin)
    return best, result


def corpus(n_speakers, n_utterances, kind, dimension):
    rng = np.random.default_rng([n_speakers, ord(kind)])
    speakers = np.repeat(np.char.add("s", np.arange(n_speakers).astype(str)), n_utterances)
    utterances = np.char.add(np.char.add(speakers, kind), np.arange(len(speakers)).astype(str))
    matrix = rng.standard_normal((len(speakers), dimension), dtype=np.float32)
    return Embeddings(utterances, speakers, matrix)


def geography(n_speakers):
    """LAD, MSOA, LSOA, OA and household class with the sizes of the papers' district."""
    rng = np.random.default_rng(0)
    area = rng.integers(128, size=n_speakers)
    columns = {"LAD": area * 0, "MSOA": area // 26, "LSOA": area // 5, "OA": area}
    columns["HH"] = rng.choice(3, p=[0.155, 0.653, 0.192], size=n_speakers)
    index = np.char.add("s", np.arange(n_speakers).astype(str))
    return pd.DataFrame(columns, index=index).astype(str)


def against_the_authors_package(n=12_800, targets=8, draws=5, splits=10):
    """Time one evaluation at N = n on the same scores, in both implementations."""
    rng = np.random.default_rng(0)
    start = np.arange(0, SPEAKERS * UTTERANCES + 1, UTTERANCES)
    scores = rng.standard_normal((targets, start[-1]), dtype=np.float32)
    names = [f"s{i}" for i in range(SPEAKERS)]
    block = scores.reshape(targets, SPEAKERS, UTTERANCES)
    cuts = [(9 * i, 9 * i + 9) for i in range(SPEAKERS)]
    calibration = np.ascontiguousarray(block[:, :, 1:].reshape(targets, -1))
    data = ConversationScores(names[:targets], names, block[:, :, 0].copy(), calibration, cuts)
    theirs, _ = seconds(lambda: singling_out(data, n, n_runs=draws))

    candidates = Candidates(np.array(names), np.arange(targets), None, n, draws, (1.0,), False, 0)
    depth, column = np.zeros((targets, SPEAKERS), np.uint8), np.arange(start[-1])
    ranks = np.full(targets, UTTERANCES - 1)
    nobody = np.zeros((0, 0), bool), np.zeros((targets, draws), bool)
    out = [np.empty((targets, draws, 1, 1), kind) for kind in (bool, float)]

    def ours():
        orders = np.array([candidates.order(t) for t in range(targets)])
        for _ in range(splits):
            highest = kernel.highest_scores(scores, column, start)
            kernel.stream(
                scores, column, start, highest, orders, depth, *nobody, np.array([n]), ranks, *out
            )

    ours()
    mine, _ = seconds(ours, repeats=7)
    theirs, mine = theirs / (targets * draws), mine / (targets * draws * splits)
    print(f"one evaluation at N = {n}: authors' package {theirs * 1e3:.2f} ms, "
          f"here {mine * 1e3:.4f} ms: {theirs / mine:.0f} times faster")  # fmt: skip


def against_its_matrix_products(dimension=256):
    """Time one (attacker, L) in full, and its matrix products alone."""
    pool, enrolment = corpus(SPEAKERS, UTTERANCES, "a", dimension), corpus(4_949, 1, "b", dimension)
    rows = by_speaker(pool)
    probes = np.ascontiguousarray(rows.matrix[:TARGETS])
    plan = draw_conversations(rows.start, 1, stream(0, "split", 0))
    vectors = conversation_embeddings(rows.matrix, plan)
    products = 10 * seconds(lambda: probes @ vectors.T, repeats=5)[0]
    isolate(pool, enrolment, sizes=[30], targets=4, draws=1, splits=1)  # compiled by now
    whole, result = seconds(
        lambda: isolate(pool, enrolment, sizes=SIZES, side_information=geography(SPEAKERS))
    )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"{result.isolated.size:,} evaluations ({dimension} dimensions): {whole:.1f} s, "
          f"matrix products alone {products:.1f} s: {whole / products:.2f} times; "
          f"peak memory {peak:.2f} GiB")  # fmt: skip


def by_size(dimension=64):
    """Time the whole protocol by the largest N and by the size of the pool."""
    rows = []
    enrolment = corpus(1_000, 1, "b", dimension)
    for n_pool in (2_000, 5_500, 11_000, SPEAKERS):
        pool = corpus(n_pool, UTTERANCES, "a", dimension)
        for n in [n for n in (1_600, 5_500, 11_000, SPEAKERS) if n <= n_pool]:
            call = lambda: isolate(pool, enrolment, sizes=[n], side_information=geography(n_pool))  # noqa: B023, E731
            rows.append((n_pool, n, seconds(call)[0]))
    table = pd.DataFrame(rows, columns=["pool", "N", "seconds"])
    figure, axes = plt.subplots(figsize=(6, 4))
    for (n_pool, part), marker in zip(table.groupby("pool"), "osD^", strict=True):
        axes.plot(part.N, part.seconds, marker=marker, label=f"{n_pool:,} speakers in the pool")
    axes.set(xlabel="Largest evaluation set N (speakers)", ylabel="Time of the whole protocol (s)")
    axes.legend()
    OUT.mkdir(parents=True, exist_ok=True)
    figure.savefig(OUT / "singling_out.png", dpi=150)
    print(table.to_string(index=False, float_format="%.2f"))


def main():
    against_its_matrix_products()  # first: its peak memory is the process's
    against_the_authors_package()
    by_size()


if __name__ == "__main__":
    main()
