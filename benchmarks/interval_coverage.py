"""How often 95 % intervals cover the truth: python benchmarks/interval_coverage.py [CORPORA]

Every corpus has speakers of its own, drawn from one model. The truth of singling out and of
linkability is the mean over all corpora, as their estimates are unbiased; that of the EER is its
value on a corpus of many speakers.
"""

import sys
import warnings

import numpy as np
import pandas as pd
from tqdm import tqdm

from voiceprivacy.conversation_eer import conversation_eer
from voiceprivacy.conversation_trials import draw_trials
from voiceprivacy.eer import OrientationWarning
from voiceprivacy.linkability import linkability
from voiceprivacy.simulation import preset, simulate
from voiceprivacy.singling_out import isolate

CORPORA = int(sys.argv[1]) if len(sys.argv) > 1 else 500
SPEAKERS, TESTED, SIZES, LARGE = 150, 60, [20, 100], 4000
ATTACKERS, LENGTHS = ("informed", "ignorant"), (1, 3)
CELL = ["metric", "conversation_length", "n_speakers"]


def corpus(attacker: str, seed: int, speakers: int = SPEAKERS, tested: int = TESTED):
    """Pool and enrolment of new speakers; the tested ones are in both."""
    people = pd.DataFrame({"speaker": [f"{seed}-{i:05d}" for i in range(speakers)]})
    return simulate(
        preset(attacker), people, targets=people["speaker"][:tested], utterances_b=10, seed=seed
    )


def measured(attacker: str, seed: int) -> pd.DataFrame:
    """Every metric on one corpus."""
    pool, targets = corpus(attacker, seed)
    single = isolate(pool, targets, sizes=SIZES, targets="all", seed=seed)
    tables = {"singling out": [single.summary().query("level == 'signal only'")]}
    for length in LENGTHS:
        trials = draw_trials(targets, pool, length=length, draws=3, seed=seed)
        tables.setdefault("linkability", []).append(linkability(trials, SIZES).summary())
        rates = conversation_eer(trials, seed=seed).summary(SIZES[-1:])
        tables.setdefault("EER", []).append(rates)
    return pd.concat(t.assign(metric=name) for name, found in tables.items() for t in found)


def eer_of_many(attacker: str, length: int) -> float:
    """EER among many speakers."""
    pool, targets = corpus(attacker, 10**6, LARGE, LARGE)
    trials = draw_trials(targets, pool, length=length, draws=3)
    return conversation_eer(trials).summary([SIZES[-1]])["observed"][0]


def covered(attacker: str) -> pd.DataFrame:
    """Share of the intervals that hold the truth, and how wide they are."""
    seeds = tqdm(range(CORPORA), desc=attacker, unit="corpus")
    found = pd.concat(measured(attacker, seed) for seed in seeds)
    truth = found.groupby(CELL)["observed"].mean()
    for length in LENGTHS:
        truth["EER", length, SIZES[-1]] = eer_of_many(attacker, length)
    found = found.join(truth.rename("truth"), on=CELL)
    low, high = found["observed_low"], found["observed_high"]
    inside = (low <= found["truth"]) & (found["truth"] <= high)
    kept = found.assign(coverage=inside, width=high - low)
    return kept.groupby(CELL)[["truth", "coverage", "width"]].mean().assign(attacker=attacker)


if __name__ == "__main__":
    warnings.simplefilter("ignore", OrientationWarning)
    table = pd.concat(covered(attacker) for attacker in ATTACKERS)
    print(f"{CORPORA} corpora of {SPEAKERS} speakers, {TESTED} of them tested; nominal 0.95")
    print(table.round(4).to_string())
    spread = np.sqrt(0.95 * 0.05 / CORPORA)
    print(f"A true coverage of 0.95 is seen as 0.95 give or take {2 * spread:.3f}.")
