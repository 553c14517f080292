"""Figures of an utterance's words before and after rearrangement."""

import itertools
from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from scipy.stats import rankdata

from voiceprivacy._audio import RATE
from voiceprivacy.plotting import GREY

CHARACTERS = 100  # that fit above an utterance on a page, in the size used here
WINDOW, HOP = 400, 80  # 25 ms and 5 ms


def place_colors(n_words: int) -> list[tuple[float, ...]]:
    """Return a colour for each place in an utterance, dark for the first, lighter for later ones.

    Examples
    --------
    >>> len(place_colors(3))
    3
    """
    return [tuple(color) for color in plt.get_cmap("plasma")(np.linspace(0, 0.82, n_words))]


def waveform(
    ax: Axes,
    samples: np.ndarray,
    pieces: tuple[int, np.ndarray],
    order: Sequence[int],
    *,
    texts: Sequence[str] = (),
    at: int = 0,
) -> None:
    """Draw words one after the other, each in the colour and with the number of its first place.

    Parameters
    ----------
    ax
        Where to draw; sounds can follow one another on the same axes.
    samples
        The utterance as it was spoken.
    pieces
        Its lead, drawn first and grey, and its words, (k, 2), from
        `voiceprivacy.segreconcat.pieces`.
    order
        Which word comes first, second, ...
    texts
        The words themselves, which stand above where there is room, instead of numbers.
    at
        Sample at which the drawing begins.
    """
    lead, words = pieces
    colors = place_colors(len(words))
    _draw(ax, at, samples[:lead], GREY)
    begin, whole = at + lead, at + lead + np.diff(words).sum()
    for k in order:
        start, end = words[k].tolist()
        seconds = begin / RATE, (begin + end - start) / RATE
        _draw(ax, begin, samples[start:end], colors[k])
        ax.axvspan(*seconds, color=colors[k], alpha=0.1, linewidth=0)
        fits = k < len(texts) and 0 < len(texts[k]) <= CHARACTERS * (end - start) / whole
        ax.text(
            np.mean(seconds), 1.02, texts[k] if fits else str(k + 1), fontsize=8,
            ha="center", va="bottom", transform=ax.get_xaxis_transform(),
        )  # fmt: skip
        begin += end - start
    ax.margins(x=0)
    ax.set_yticks([])
    ax.grid(visible=False)


def spectrogram(ax: Axes, samples: np.ndarray) -> None:
    """Draw a spectrogram, darker where louder, 60 dB deep."""
    windows = np.lib.stride_tricks.sliding_window_view(samples, WINDOW)[::HOP]
    power = np.abs(np.fft.rfft(windows * np.hanning(WINDOW))) ** 2
    decibels = 10 * np.log10(np.maximum(power, 1e-12))
    top = decibels.max()
    first, last = WINDOW / 2 / RATE, (len(windows) * HOP + WINDOW / 2) / RATE
    ax.imshow(
        decibels.T, origin="lower", aspect="auto", cmap="Greys", vmin=top - 60, vmax=top,
        extent=(first, last, 0, RATE / 2000), interpolation="none",
    )  # fmt: skip
    ax.margins(x=0)
    ax.set_ylabel("kHz")
    ax.grid(visible=False)


def similarity_matrix(
    ax: Axes, similarity: np.ndarray, order: Sequence[int], texts: Sequence[str]
) -> None:
    """Draw how similar words are, and the steps of a chain through them.

    Parameters
    ----------
    ax
        Where to draw.
    similarity
        Between all pairs of words, (k, k). Pairs are the darker the higher they rank among all
        pairs; the diagonal is left out.
    order
        The chain; its step from one word to the next is numbered in the row of the first and the
        column of the second.
    texts
        The words.
    """
    ranks = _ranks(similarity)
    ax.imshow(ranks, cmap="Blues", vmin=0, vmax=1.15, interpolation="none")
    for step, (k, following) in enumerate(itertools.pairwise(order), 1):
        color = "white" if ranks[k, following] > 0.6 else "black"
        ax.text(following, k, str(step), ha="center", va="center", fontsize=8, color=color)
        ax.add_patch(
            plt.Rectangle((following - 0.5, k - 0.5), 1, 1, fill=False, edgecolor="black", lw=1.2)
        )
    names = [f"{text} {k}".strip() for k, text in enumerate(texts, 1)]
    ax.set_xticks(range(len(names)), names, rotation=90, fontsize=8)
    ax.set_yticks(range(len(names)), names, fontsize=8)
    ax.grid(visible=False)


def _ranks(similarity: np.ndarray) -> np.ndarray:
    """Every pair's rank among all pairs, from 0 to 1; NaN on the diagonal."""
    pairs = ~np.eye(len(similarity), dtype=bool)
    ranks = np.full(similarity.shape, np.nan)
    ranks[pairs] = (rankdata(similarity[pairs]) - 1) / max(1, pairs.sum() - 1)
    return ranks


def _draw(ax: Axes, begin: int, samples: np.ndarray, color: object) -> None:
    """Draw the outline of some samples, in few points."""
    step = 32  # 2 ms
    blocks = samples[: len(samples) // step * step].reshape(-1, step)
    seconds = (begin + step * np.arange(len(blocks))) / RATE
    ax.fill_between(
        seconds, blocks.min(axis=1), blocks.max(axis=1), color=to_rgba(color), linewidth=0.3
    )
