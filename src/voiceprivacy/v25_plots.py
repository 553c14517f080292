"""V25's nine panels: three metrics by conversation length, and what is left between two sources."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from voiceprivacy.measures import EER, LINKABILITY, METRICS, SINGLING_OUT
from voiceprivacy.plotting import GREY, legend_beside
from voiceprivacy.styles import ATTACKERS, styles

NAMES = {SINGLING_OUT: "Singling out", LINKABILITY: "Linkability", EER: "1 - EER"}


def nine_panels(published: pd.DataFrame, measured: pd.DataFrame | None = None) -> Figure:
    """Draw every metric (rows) at every conversation length (columns), a curve an attacker.

    Parameters
    ----------
    published
        Curves: ``metric``, ``attacker``, ``conversation_length``, ``n``, ``value``; hollow grey.
    measured
        Over them, in colour with intervals: ``metric``, ``attacker``, ``conversation_length``,
        ``n_speakers``, ``observed``, ``observed_low``, ``observed_high``.
    """
    lengths = sorted(published["conversation_length"].unique())
    fig, axes = plt.subplots(
        len(METRICS), len(lengths), figsize=(3.3 * len(lengths) + 1.6, 8.4), sharex=True,
        sharey="row", squeeze=False,
    )  # fmt: skip
    for metric, row in zip(METRICS, axes, strict=True):
        for length, ax in zip(lengths, row, strict=True):
            for attacker in ATTACKERS:
                _published(ax, _at(published, metric, attacker, length), metric, attacker)
                if measured is not None:
                    _measured(ax, _at(measured, metric, attacker, length), metric, attacker)
            ax.set_xscale("log")
            if metric == METRICS[0]:
                ax.set_title(f"L = {length}")
            if metric == METRICS[-1]:
                ax.set_xlabel("Speakers (log)")
        row[0].set_ylabel(NAMES[metric])
    legend_beside(fig)
    return fig


def residual_panels(table: pd.DataFrame) -> Figure:
    """Draw simulated minus published by number of speakers, a panel a metric.

    Parameters
    ----------
    table
        From `voiceprivacy.v25_study.beside_published`.
    """
    fig, axes = plt.subplots(1, len(METRICS), figsize=(11.5, 3.6), sharey=True)
    lengths = sorted(table["conversation_length"].unique())
    for metric, ax in zip(METRICS, axes, strict=True):
        for (attacker, length), own in table[table["metric"] == metric].groupby(
            ["attacker", "conversation_length"], sort=False
        ):
            style = ATTACKERS[attacker]
            ax.plot(own["n_speakers"], own["residual"], color=style.color, marker=style.marker,
                    linestyle="", fillstyle=("none", "left", "full")[lengths.index(length)],
                    label=f"{attacker}, L = {length}")  # fmt: skip
        ax.axhline(0, color=GREY, linewidth=1)
        ax.set_xscale("log")
        ax.set_title(NAMES[metric].replace("1 - ", ""))
        ax.set_xlabel("Speakers (log)")
    axes[0].set_ylabel("Simulated minus published")
    legend_beside(fig)
    return fig


def attacker_panels(table: pd.DataFrame) -> Figure:
    """Draw what each attacker found among the most speakers, a panel a metric.

    Parameters
    ----------
    table
        Of `voiceprivacy.evaluation.EvaluationResults`; the shortest conversations are hollow.
    """
    table = table[table["n_speakers"] == table["n_speakers"].max()]
    looks = styles(table["attacker"].unique())
    lengths = sorted(table["conversation_length"].unique())
    fig, axes = plt.subplots(1, len(METRICS), figsize=(9.5, 0.6 * len(looks) + 1.2), sharey=True)
    for metric, ax in zip(METRICS, axes, strict=True):
        for row in table[table["metric"] == metric].itertuples():
            look, step = looks[row.attacker], lengths.index(row.conversation_length)
            y = -list(looks).index(row.attacker) - 0.22 * step
            ends = [[row.observed - row.observed_low], [row.observed_high - row.observed]]
            ax.errorbar(row.observed, y, xerr=np.clip(ends, 0, None), color=look.color, capsize=3,
                        marker=look.marker, fillstyle="full" if step else "none")  # fmt: skip
            ax.plot(row.chance, y, "|", color=GREY, markersize=12)
        ax.set_title(NAMES[metric].replace("1 - ", ""))
        ax.set_xlim(0, 1)
        ax.set_xlabel("Error rate" if metric == EER else "Probability")
    axes[0].set_yticks([-k - 0.1 for k in range(len(looks))], looks)
    for length, fill in zip(lengths, ("none", *["full"] * len(lengths)), strict=False):
        axes[0].plot([], [], "o", color="0.2", fillstyle=fill, label=f"L = {length}")
    axes[0].plot([], [], "|", color=GREY, markersize=12, label="chance")
    legend_beside(fig)
    return fig


def _at(table: pd.DataFrame, metric: str, attacker: str, length: int) -> pd.DataFrame:
    own = table["metric"] == metric
    own &= (table["attacker"] == attacker) & (table["conversation_length"] == length)
    return table[own]


def _published(ax, rows: pd.DataFrame, metric: str, attacker: str) -> None:
    value = 1 - rows["value"] if metric == EER else rows["value"]
    ax.plot(rows["n"], value, color=GREY, linewidth=1, linestyle=ATTACKERS[attacker].linestyle,
            marker=ATTACKERS[attacker].marker, markerfacecolor="none", markersize=5,
            markevery=max(1, len(rows) // 8), label=f"{attacker}, published")  # fmt: skip


def _measured(ax, rows: pd.DataFrame, metric: str, attacker: str) -> None:
    if not len(rows):
        return
    style = ATTACKERS[attacker]
    ends = [rows["observed_low"], rows["observed_high"]]
    value = rows["observed"]
    if metric == EER:
        value, ends = 1 - value, [1 - end for end in reversed(ends)]
    ax.plot(rows["n_speakers"], value, label=attacker, **style._asdict())
    ax.fill_between(rows["n_speakers"], *ends, color=style.color, alpha=0.15, linewidth=0)
