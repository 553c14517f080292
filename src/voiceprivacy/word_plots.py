"""Figures of words in time, in the look of `voiceprivacy.plotting`."""

from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import MultipleLocator

from voiceprivacy._audio import RATE
from voiceprivacy._words import Segmentation
from voiceprivacy.plotting import GREY
from voiceprivacy.styles import Style, styles

FIXED = {"true words": Style("black", "o", "-"), "equal parts": Style(GREY, "", "-")}
CHARACTERS = 80  # of text that fit side by side into a panel, in the size used here


def timeline(
    ax: Axes, samples: np.ndarray, words: Mapping[str, Segmentation], utterance: str
) -> None:
    """Draw an utterance's waveform, and below it a row of bars for everyone who found words.

    Parameters
    ----------
    ax
        Where to draw.
    samples
        The utterance, at 16 kHz.
    words
        By the name that stands beside the row. Rows that know nothing of the utterance stay
        empty; true words are black.
    """
    duration = len(samples) / RATE
    scaled = 0.42 * samples / (np.abs(samples).max() or 1)
    ax.plot(np.arange(len(samples)) / RATE, scaled, color=GREY, linewidth=0.4)
    colors = {name: style.color for name, style in recogniser_styles(words).items()}
    for row, (name, found) in enumerate(words.items(), 1):
        if utterance not in found.utterances:
            continue
        bars = found.spans(utterance) / RATE
        look = {"facecolor": colors[name], "edgecolor": colors[name], "alpha": 0.3}
        ax.broken_barh([(a, b - a) for a, b in bars], (-row - 0.35, 0.7), **look)
        for (start, end), word in zip(bars, found.words(utterance), strict=True):
            if len(word) <= CHARACTERS * (end - start) / duration:
                ax.text((start + end) / 2, -row, word, ha="center", va="center", fontsize=7)
    ax.set_yticks([0, *(-np.arange(len(words)) - 1)], ["sound", *words])
    ax.set_ylim(-len(words) - 0.6, 0.6)
    ax.set_xlim(0, duration)
    ax.set_axisbelow(True)
    ax.grid(visible=False, axis="y")


def tolerance_curves(
    ax: Axes, curves: Mapping[str, pd.Series], *, marked: float | None = None
) -> None:
    """Draw how well starts of words agree, by how far apart they may be.

    Parameters
    ----------
    ax
        Where to draw.
    curves
        `voiceprivacy.boundaries.f_by_tolerance`, by the name of who found the words.
    marked
        A tolerance to mark by a line, in seconds.
    """
    for name, style in recogniser_styles(curves).items():
        look = {"color": style.color, "linestyle": style.linestyle, "label": name}
        ax.plot(curves[name].index, curves[name], **look)
    if marked is not None:
        ax.axvline(marked, color=GREY, linewidth=0.8, linestyle=":")
    ax.set_ylim(0, 1.02)
    ax.set_xlim(0, max(curve.index.max() for curve in curves.values()))
    ax.xaxis.set_major_locator(MultipleLocator(0.05))
    ax.set_xlabel("Starts may be apart (s)")
    ax.set_ylabel("F of starts")


def recogniser_styles(names: Iterable[str]) -> dict[str, Style]:
    """Return the style of everyone who found words: true words black, equal parts grey.

    Examples
    --------
    >>> recogniser_styles(["equal parts", "Whisper"])["equal parts"].linestyle
    '-'
    """
    names = list(names)
    return styles(name for name in names if name not in FIXED) | {
        name: FIXED[name] for name in names if name in FIXED
    }
