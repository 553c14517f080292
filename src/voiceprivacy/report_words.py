"""Sentences of a report, made from its numbers."""

import numpy as np
import pandas as pd

from voiceprivacy.granularity import finest
from voiceprivacy.isolation import Isolation
from voiceprivacy.singling_out import SIGNAL_ONLY

# True of every report.
LIMITS = (
    "This is one attacker: one extractor, one kind of enrolment. Another one may find more; a "
    "low figure is no proof of anonymity.",
    "What was said, and what else is known of the speakers, was not looked at unless it stands "
    "above.",
    "Isolation falls with the number of speakers. What holds for this crowd does not hold for a "
    "smaller one.",
)
ALWAYS = 0.95


def reading(isolation: Isolation, metrics: pd.DataFrame, advice: pd.DataFrame) -> list[str]:
    """Say what the numbers mean.

    Returns
    -------
    list of str
        The voice alone against chance, what each level adds, linkability, and the advice.
    """
    summary = isolation.summary()
    at = summary[summary["n_speakers"] == isolation.sizes.max()]
    rows = at.set_index("level")
    lines = [_alone(rows.loc[SIGNAL_ONLY], isolation)]
    lines += [_also(rows.loc[level], level) for level in isolation.levels[1:]]
    lines += _linking(metrics)
    if len(isolation.levels) > 1:
        best = finest(advice)
        lines.append(
            "By these tolerances nothing can be cleared for release, not even the voices alone."
            if best is None
            else "By these tolerances the voices may be released, with nothing else."
            if best == SIGNAL_ONLY
            else f"By these tolerances the finest level that may be released is “{best}”."
        )
    return lines


def exposure_words(isolation: Isolation) -> list[str]:
    """Say how unevenly isolation falls on the targets.

    Returns
    -------
    list of str
        One sentence a level, and one on what it means.
    """
    lines = []
    at = int(np.argmax(isolation.sizes))
    known = int(np.argmax(isolation.known_fractions))
    rates = isolation.isolated[known, ..., at, :].mean(axis=(1, 2))  # (T, J)
    for level, own in zip(isolation.levels, rates.T, strict=True):
        top = np.sort(own)[::-1][: max(1, round(len(own) / 10))]
        share = top.sum() / own.sum() if own.sum() else 0.0
        lines.append(
            f"{level}: {(own >= ALWAYS).mean():.1%} of the targets are isolated in at least "
            f"{ALWAYS:.0%} of the evaluations; the most exposed tenth bears {share:.0%} of all "
            "isolation."
        )
    return [*lines, "A mean can be low while a few people are found almost always."]


def interval(value: float, low: float, high: float, *, sign: bool = False) -> str:
    """A number with its interval.

    Examples
    --------
    >>> interval(0.5, 0.4, 0.6), interval(0.1, -0.1, 0.3, sign=True)
    ('0.500 (0.400 to 0.600)', '+0.100 (-0.100 to +0.300)')
    """
    form = "+.3f" if sign else ".3f"
    return f"{value:{form}} ({low:{form}} to {high:{form}})"


def _alone(row: pd.Series, isolation: Isolation) -> str:
    n = f"{isolation.sizes.max():,}"
    told = (
        f"Among {n} speakers, an attacker who has the voice alone isolates {_hundred(row)} of 100 "
        "people looked for"
    )
    chance = row["chance"]
    if pd.isna(chance):
        return f"{told}; a useless attacker would isolate about {100 * row['reference']:.0f}."
    if row["observed_low"] > chance:
        return f"{told}: more than the {100 * chance:.0f} that a useless attacker would."
    return (
        f"{told}. That cannot be told from the {100 * chance:.0f} that a useless attacker would "
        "isolate."
    )


def _also(row: pd.Series, level: str) -> str:
    told = (
        f"An attacker who also knows “{level}” isolates {_hundred(row)} of 100, among "
        f"{row['block_size']:,.1f} speakers left on average"
    )
    if row["gain_low"] > 0:
        return f"{told}: {100 * row['gain']:.0f} more than with the voice alone."
    if row["gain_high"] < 0:
        return f"{told}: {-100 * row['gain']:.0f} fewer than with the voice alone."
    return f"{told}: whether that is more than with the voice alone cannot be told."


def _linking(metrics: pd.DataFrame) -> list[str]:
    rows = metrics[metrics["metric"] == "linkability"]
    if not len(rows):
        return []
    row = rows.loc[rows["n_speakers"].idxmax()]
    told = (
        f"Given a recording and {row['n_speakers']:,} enrolled speakers, the attacker picks the "
        f"right one {_hundred(row)} times of 100"
    )
    if not row["observed_low"] > row["chance"]:
        return [f"{told}; that cannot be told from chance."]
    times = row["observed"] / row["chance"]
    return [f"{told}, {times:,.0f} times as often as by chance."]


def _hundred(row: pd.Series) -> str:
    """Of 100, with the interval."""
    value, low, high = (100 * row[f"observed{end}"] for end in ("", "_low", "_high"))
    return f"{value:.0f} ({low:.0f} to {high:.0f})"
