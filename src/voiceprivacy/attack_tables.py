"""Tables of attack runs: equal error rates in per cent, with intervals, row against row.

A run is one attacker, trained on one anonymization system with one row's augmentation under one
seed. Intervals resample speakers and, where there are several, training seeds; with one seed they
know nothing of the chance in training, which moves results as much.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
import pandas as pd

from voiceprivacy.attacks import AttackRun
from voiceprivacy.errors import VoicePrivacyError, listed
from voiceprivacy.published import published
from voiceprivacy.verification import Estimate, mean_eer, paired_difference

BASELINE = "no augmentation"
PLAIN = (BASELINE, "SpecAug")
REARRANGED = ("RR+concatenation", "RR+concatenation+SpecAug")
VISIBLE = {
    "lower": "yes",
    "higher": "no, the other way round",
    "cannot be told apart": "cannot be told",
}

Groups = Mapping[tuple[str, str], Sequence[AttackRun]]


def grouped(runs: Sequence[AttackRun]) -> dict[tuple[str, str], list[AttackRun]]:
    """Return the runs of each system and row, in the order of their seeds."""
    groups: dict[tuple[str, str], list[AttackRun]] = {}
    for run in sorted(runs, key=lambda run: run.seed):
        groups.setdefault((run.system, run.row), []).append(run)
    wanted = list(dict.fromkeys((run.system, run.row) for run in runs))
    return {key: groups[key] for key in wanted}


def summary(runs: Sequence[AttackRun], baseline: str = BASELINE) -> pd.DataFrame:
    """Return one line a system and row.

    Parameters
    ----------
    runs
        Of any systems, rows and seeds.
    baseline
        The row that others of their system are compared with, in pairs on the same trials and
        seeds.

    Returns
    -------
    pandas.DataFrame
        ``system``, ``row``, ``seeds``, ``steps`` (mean, as are ``best step``, ``dev loss`` and
        ``accuracy``), ``eer``, ``eer_low``, ``eer_high`` in per cent, and ``difference`` (to the
        baseline's, in points) with its ends; NaN for the baseline itself and where it was not run.
    """
    groups = grouped(runs)
    rows = []
    for (system, row), own in groups.items():
        base = groups.get((system, baseline), [])
        against = _difference(own, base) if row != baseline else None
        rows.append(
            {
                "system": system,
                "row": row,
                "seeds": len(own),
                "steps": round(np.mean([run.steps for run in own])),
                "best step": round(np.mean([run.best_step for run in own])),
                "dev loss": np.mean([run.dev_loss for run in own]),
                "accuracy": np.mean([run.accuracy for run in own]),
                **_named("eer", mean_eer([run.verification for run in own])),
                **_named("difference", against),
            }
        )
    return pd.DataFrame(rows)


def difference(runs: Sequence[AttackRun], first: tuple[str, str], second: tuple[str, str]):
    """Return EER of `first` minus EER of `second`, each (system, row), in points.

    Only seeds that both have are used.

    Returns
    -------
    Estimate
        In points of per cent.

    Raises
    ------
    VoicePrivacyError
        If one of the two was not run, or they have no seed in common.
    """
    groups = grouped(runs)
    if absent := [key for key in (first, second) if key not in groups]:
        raise VoicePrivacyError(f"no runs of {listed(absent)}; there are {listed(groups, 30)}.")
    estimate = _difference(groups[first], groups[second])
    if estimate is None:
        raise VoicePrivacyError(f"{first} and {second} were run under no common seed.")
    return Estimate(*(100 * value for value in estimate))


def cells(runs: Sequence[AttackRun]) -> pd.DataFrame:
    """Return EERs by subset and gender in per cent, averaged over seeds, as in Table 2.

    Returns
    -------
    pandas.DataFrame
        ``system``, ``row``, then one column a subset and gender (``"dev female"``), the subset's
        average (``"dev"``) and ``"average"``.
    """
    rows = []
    for (system, row), own in grouped(runs).items():
        tables = [run.verification.table() for run in own]
        rates = 100 * pd.concat(tables).groupby(["subset", "gender"])["EER (fraction)"].mean()
        found = {"system": system, "row": row}
        for subset, rate in rates.groupby(level="subset"):
            found |= {f"{subset} {gender}": value for (_, gender), value in rate.items()}
            found[subset] = rate.mean()
        found["average"] = 100 * np.mean([run.verification.eer for run in own])
        rows.append(found)
    return pd.DataFrame(rows)


def as_reported(runs: Sequence[AttackRun]) -> pd.DataFrame:
    """Return Table 2 as the paper reports it: the baseline, and the better of two SegReConcats.

    Returns
    -------
    pandas.DataFrame
        The columns of `cells`, two lines a system; the second is the row of `REARRANGED` with the
        lower average.

    Notes
    -----
    The trials that choose are those that are reported, which favours SegReConcat.
    """
    table = cells(runs)
    lines = []
    for _, own in table.groupby("system", sort=False):
        rearranged = own[own["row"].isin(REARRANGED)]
        lines += [own[own["row"] == BASELINE], rearranged.nsmallest(1, "average")]
    return pd.concat(lines, ignore_index=True)


def chosen_on_dev(runs: Sequence[AttackRun]) -> pd.DataFrame:
    """Return the EER on test of what had the lower EER on dev, without and with SegReConcat.

    Returns
    -------
    pandas.DataFrame
        One line a system: ``system``, ``plain`` and ``SegReConcat`` (the rows chosen among `PLAIN`
        and `REARRANGED`), their ``... on test`` in per cent, and ``difference``.
    """
    lines = []
    for system, own in cells(runs).groupby("system", sort=False):
        plain, rearranged = (
            own[own["row"].isin(among)].nsmallest(1, "dev").iloc[0] for among in (PLAIN, REARRANGED)
        )
        points = rearranged["test"] - plain["test"]
        lines.append(
            (system, plain["row"], plain["test"], rearranged["row"], rearranged["test"], points)
        )
    columns = ["system", "plain", "plain on test", "SegReConcat", "SegReConcat on test"]
    return pd.DataFrame(lines, columns=[*columns, "difference"])


def every_run(runs: Sequence[AttackRun]) -> pd.DataFrame:
    """Return one line a run: system, row, seed, steps, best step, dev loss, accuracy, EER (%)."""
    return pd.DataFrame(
        {
            "system": [run.system for run in runs],
            "row": [run.row for run in runs],
            "seed": [run.seed for run in runs],
            "steps": [run.steps for run in runs],
            "best step": [run.best_step for run in runs],
            "dev loss": [run.dev_loss for run in runs],
            "accuracy": [run.accuracy for run in runs],
            "eer": [100 * run.verification.eer for run in runs],
        }
    )


def orderings(runs: Sequence[AttackRun], system: str) -> pd.DataFrame:
    """Return what the runs say of the orders that the paper reads from its Table 1.

    Parameters
    ----------
    runs
        Among them those of `system`, in for the paper's T8-5.

    Returns
    -------
    pandas.DataFrame
        One line a pair of neighbours in a printed order: ``item``, ``lower`` and ``higher`` (rows,
        as the paper orders their EERs), ``difference`` (lower minus higher, in points) with its
        ends, and ``visible``: ``"yes"``, ``"no, the other way round"`` or ``"cannot be told"``.
        Pairs that were not run are left out.
    """
    printed = published("SRC").query("kind == 'ordering' and system == 'T8-5'")
    run = {row for own, row in grouped(runs) if own == system}
    lines = []
    for item, order in printed[["item", "printed"]].itertuples(index=False):
        terms = [term.replace(" + ", "+") for term in order.split(" < ")]
        for lower, higher in pairwise(terms):
            if {lower, higher} <= run:
                found = difference(runs, (system, lower), (system, higher))
                lines.append((item, lower, higher, *found[:3], VISIBLE[in_words(found)]))
    ends = ["difference", "difference_low", "difference_high"]
    return pd.DataFrame(lines, columns=["item", "lower", "higher", *ends, "visible"])


def trained(table: pd.DataFrame, enough: float = 0.9) -> str:
    """Say how far the attackers of a `summary` were trained, in two sentences.

    The EER of a row whose training accuracy stayed below `enough` says how fast it learns as much
    as how far it gets.

    Examples
    --------
    >>> table = pd.DataFrame(
    ...     {"system": "s", "row": ["RR", "SpecAug"], "accuracy": [0.99, 0.6],
    ...      "steps": [200, 200], "best step": [150, 200]}
    ... )
    >>> trained(table)
    'The development loss was lowest after 150 to 200 of 200 steps (means over seeds). Still \
learning when training ended (accuracy below 90 %): s, SpecAug.'
    """
    behind = table[table["accuracy"] < enough]
    names = [", ".join(pair) for pair in zip(behind["system"], behind["row"], strict=True)]
    best = table["best step"]
    return (
        f"The development loss was lowest after {best.min():,} to {best.max():,} of "
        f"{table['steps'].max():,} steps (means over seeds). Still learning when training ended "
        f"(accuracy below {100 * enough:g} %): {'; '.join(names) or 'none'}."
    )


def told_apart(table: pd.DataFrame) -> str:
    """Say how many comparisons of SegReConcat with the baseline can be told from nothing.

    Parameters
    ----------
    table
        A `summary`.

    Returns
    -------
    str
        A sentence on how many are lower, higher or neither, and what `trained` says.
    """
    own = table[table["row"].isin(REARRANGED)]
    lower, higher = (own["difference_high"] < 0).sum(), (own["difference_low"] > 0).sum()
    return (
        f"Of {len(own)} comparisons of SegReConcat with the baseline, {lower} have their interval "
        f"below zero, {higher} above, and {len(own) - lower - higher} cannot be told apart. "
        f"{trained(table)}"
    )


def in_words(estimate: Estimate) -> str:
    """Say whether a difference of EERs can be told from nothing.

    Examples
    --------
    >>> in_words(Estimate(-2.0, -3.1, -0.9, 0.5)), in_words(Estimate(1.0, -0.5, 2.5, 0.7))
    ('lower', 'cannot be told apart')
    """
    if estimate.high < 0:
        return "lower"
    return "higher" if estimate.low > 0 else "cannot be told apart"


def _difference(own: Sequence[AttackRun], base: Sequence[AttackRun]) -> Estimate | None:
    """Paired over the seeds that both have."""
    by_seed = {run.seed: run.verification for run in base}
    pairs = [(run.verification, by_seed[run.seed]) for run in own if run.seed in by_seed]
    return paired_difference(*map(list, zip(*pairs, strict=True))) if pairs else None


def _named(name: str, estimate: Estimate | None) -> dict[str, float]:
    """An estimate and its ends in per cent, as columns."""
    value, low, high, _ = estimate or (np.nan,) * 4
    return {name: 100 * value, f"{name}_low": 100 * low, f"{name}_high": 100 * high}
