"""Figures of a report, as elements of its page."""

import matplotlib
import numpy as np
import pandas as pd

from voiceprivacy.isolation import Isolation
from voiceprivacy.plotting import (
    as_image,
    isolation_curves,
    label_evidence,
    legend_beside,
    reference_curves,
    use_style,
)
from voiceprivacy.styles import styles


def isolation_figure(summary: pd.DataFrame, evidence: str) -> str:
    """Draw isolation by number of speakers, with everything known, a curve a level."""
    figure, axes = _panel()
    summary = summary[summary["known_fraction"] == summary["known_fraction"].max()]
    summary = summary.assign(level=summary["level"].map(_short))
    isolation_curves(axes, summary)
    reference_curves(axes, summary)
    legend_beside(figure)
    label_evidence(figure, evidence)
    return as_image(
        figure,
        alt="Isolation probability by number of speakers: one curve with its interval for each "
        "level of what is known, and dotted what is reached without a voice.",
    )[0]


def blocks_figure(isolation: Isolation, evidence: str) -> str:
    """Draw the share of targets in blocks up to each size, a curve a level."""
    figure, axes = _panel()
    known = int(np.argmax(isolation.known_fractions))
    blocks = isolation.block[known, :, :, int(np.argmax(isolation.sizes))].mean(axis=1)  # (T, J)
    looks = styles(isolation.levels)
    for level, sizes in zip(isolation.levels[1:], blocks.T[1:], strict=True):
        ordered, look = np.sort(sizes), looks[level]
        share = np.arange(1, len(ordered) + 1) / len(ordered)
        axes.step(ordered, 100 * share, where="post", color=look.color,
                  linestyle=look.linestyle, label=_short(level))  # fmt: skip
    axes.set_xscale("log")
    axes.set_xlabel("Speakers who share a target's values (log)")
    axes.set_ylabel("Targets in blocks up to that size (%)")
    axes.set_ylim(0, 100)
    legend_beside(figure)
    label_evidence(figure, evidence)
    return as_image(
        figure,
        alt="Share of targets, in per cent, by the largest number of speakers who share their "
        "values: one rising step curve for each level.",
    )[0]


def _short(level: str) -> str:
    """A name that leaves room for the curves."""
    return level if len(level) <= 30 else f"{level[:29]}…"


def _panel():
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    use_style()
    return plt.subplots(figsize=(7, 4))
