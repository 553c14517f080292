"""One look for every figure: styles of `voiceprivacy.styles`, an evidence label, words for it."""

import base64
import io
from collections.abc import Iterator

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from voiceprivacy.errors import VoicePrivacyError, listed
from voiceprivacy.evidence import evidence_words
from voiceprivacy.pictures import RESOLUTION, checked_alt, few_colours, image_element
from voiceprivacy.styles import ATTACKERS, LEVELS, METHODS, Style, styles

GREY = "0.45"
PIXELS_PER_INCH = 96
_EVIDENCE = "evidence"
_TICK_RATIO = 1.6

_LOOK = {
    "figure.constrained_layout.use": True,
    "figure.dpi": PIXELS_PER_INCH,
    "axes.grid": True,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "grid.color": "0.9",
    "legend.frameon": False,
    "lines.linewidth": 1.6,
    "lines.markersize": 5.5,
    "font.size": 10,
}
_AXIS_NAMES = {
    "observed": "Isolation probability",
    "reference": "Conditional reference",
    "chance": "Chance level",
    "contribution": "Contribution of the voice",
    "block_size": "Compatible speakers (mean)",
}


def use_style() -> None:
    """Give the figures that follow the book's look.

    Examples
    --------
    >>> use_style()
    >>> plt.rcParams["legend.frameon"]
    False
    """
    plt.rcParams.update(_LOOK)


def with_household_levels(
    summary: pd.DataFrame, by_household: pd.DataFrame, column: str = "HH"
) -> pd.DataFrame:
    """Return a summary whose household level is split by class: OA+HH1, OA+HH2, OA+HH3+.

    Parameters
    ----------
    summary
        ``isolation.summary()``.
    by_household
        ``isolation.summary(by=column)`` of the same evaluation.
    column
        The side-information column with the household class, the finest level.
    """
    split = by_household[by_household["level"] == column]
    split = split.assign(level="OA+" + split[column].astype(str)).drop(columns=column)
    return pd.concat([summary[summary["level"] != column], split], ignore_index=True)


def panels(rows: int, columns: int = 1, *, height: float = 4.2) -> tuple[Figure, np.ndarray]:
    """Return a figure of panels with common axes, and room for `legend_beside`.

    Parameters
    ----------
    rows, columns
        How many panels; the array of axes has this shape, one row or column included.
    height
        Height of a panel in inches.

    Examples
    --------
    >>> panels(1, 2)[1].shape
    (1, 2)
    """
    size = (1.8 + 4.5 * columns, 0.5 + height * rows)
    shared = {"sharex": True, "sharey": True, "squeeze": False}
    return plt.subplots(rows, columns, figsize=size, **shared)


def isolation_curves(
    ax: Axes, summary: pd.DataFrame, *, value: str = "observed", by: str = "level"
) -> None:
    """Draw one curve by N for each value of `by`, with its interval as a band.

    Parameters
    ----------
    ax
        Where to draw.
    summary
        ``isolation.summary()`` or a table like it: ``n_speakers``, `value`, `by`, and
        ``<value>_low`` and ``<value>_high`` for the band if there is one.
    value
        The column to draw: ``"observed"``, ``"contribution"``, ``"reference"``...
    by
        The column that tells curves apart; each value of it has one row for each N.

    Raises
    ------
    VoicePrivacyError
        If a column is missing, or a curve has two values at one N.
    """
    for name, style, rows in _curves(summary, value, by):
        ax.plot(rows["n_speakers"], rows[value], label=str(name), **style._asdict())
        if {f"{value}_low", f"{value}_high"} <= set(rows):
            ends = (rows[f"{value}_low"], rows[f"{value}_high"])
            ax.fill_between(rows["n_speakers"], *ends, color=style.color, alpha=0.15, linewidth=0)
    _axis_by_speakers(ax, summary["n_speakers"], _AXIS_NAMES.get(value, value))


def reference_curves(
    ax: Axes, summary: pd.DataFrame, *, value: str = "reference", by: str = "level"
) -> None:
    """Draw what isolation reaches without a voice, as thin dotted lines in the curves' colours.

    Parameters are those of `isolation_curves`; `value` may be ``"chance"``. One grey entry names
    them all in the legend.
    """
    for _, style, rows in _curves(summary, value, by):
        ax.plot(rows["n_speakers"], rows[value], color=style.color, linestyle=":", linewidth=1)
    ax.plot([], [], color=GREY, linestyle=":", linewidth=1, label=_AXIS_NAMES[value].lower())


def published_points(
    ax: Axes,
    points: pd.DataFrame,
    *,
    by: str = "level",
    x: str = "n_speakers",
    y: str = "value",
) -> None:
    """Draw a paper's numbers, hollow and grey, each with the marker of its curve.

    Parameters
    ----------
    ax
        Where to draw.
    points
        Rows of `voiceprivacy.published.published` that belong on this panel; those without an
        `x` or a `y` are passed over.
    by
        The column that tells curves apart.
    x, y
        The columns of the coordinates.
    """
    points = points.dropna(subset=[x, y])
    look = {"linestyle": "", "markerfacecolor": "white", "markeredgecolor": GREY, "zorder": 4}
    for name, style in styles(points[by]).items():
        rows = points[points[by] == name]
        ax.plot(rows[x], rows[y], marker=style.marker, markersize=8, markeredgewidth=1.5, **look)
    if len(points):
        ax.plot([], [], marker="o", markeredgewidth=1.5, label="published", **look)


def legend_beside(fig: Figure) -> None:
    """Draw one legend for all panels, beside them, where it covers no curve."""
    entries = {}
    for ax in fig.axes:
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    fig.legend(entries.values(), entries.keys(), loc="outside right upper")


def label_evidence(fig: Figure, *labels: str) -> None:
    """Write below a figure what it rests on.

    Parameters
    ----------
    fig
        The figure.
    *labels
        Labels from `voiceprivacy.evidence.evidence_of`, in the order of their weight.

    Raises
    ------
    VoicePrivacyError
        If a label was typed by hand, or there is none.
    """
    text = evidence_words(labels).replace("$", r"\$")  # no formulas in names
    fig.text(0.01, -0.01, text, va="top", color="0.3", fontsize=8, gid=_EVIDENCE)


def show(fig: Figure, *, alt: str) -> None:
    """Display a figure with a text for readers who do not see it, and close it.

    Parameters
    ----------
    fig
        The figure, labelled by `label_evidence`.
    alt
        What it shows, in a sentence or two.

    Raises
    ------
    VoicePrivacyError
        If the text is empty, the figure has no evidence label, or IPython is missing.
    """
    try:
        from IPython.display import display
    except ImportError as error:
        raise VoicePrivacyError(
            "figures are shown in a notebook, and IPython is not installed; "
            "install the extra: pip install 'voiceprivacy[book]'."
        ) from error
    image, data = as_image(fig, alt=alt)
    # HTML carries the text in the book; viewers that refuse HTML take the image.
    display({"text/html": image, "image/png": data, "text/plain": checked_alt(alt)}, raw=True)


def as_image(fig: Figure, *, alt: str) -> tuple[str, str]:
    """Return a figure as an HTML element that holds it, and its PNG in base 64; close it.

    Parameters and errors are those of `show`.
    """
    alt = checked_alt(alt)
    if all(text.get_gid() != _EVIDENCE for text in fig.texts):
        raise VoicePrivacyError("the figure carries no evidence label; call label_evidence first.")
    drawn = io.BytesIO()
    fig.savefig(drawn, format="png", dpi=PIXELS_PER_INCH * RESOLUTION, bbox_inches="tight")
    plt.close(fig)
    png = few_colours(drawn)
    return image_element(png, alt), base64.b64encode(png).decode()


def _curves(
    summary: pd.DataFrame, value: str, by: str
) -> Iterator[tuple[object, Style, pd.DataFrame]]:
    """Yield each curve's name, style and rows, known names in the book's order."""
    if absent := [name for name in (by, "n_speakers", value) if name not in summary]:
        raise VoicePrivacyError(
            f"nothing to draw: the summary lacks {listed(absent)}; it has {listed(summary, 30)}."
        )
    places = {name: place for place, name in enumerate((*LEVELS, *ATTACKERS, *METHODS))}
    names = sorted(dict.fromkeys(summary[by]), key=lambda name: places.get(name, len(places)))
    for name, style in styles(names).items():
        rows = summary[summary[by] == name].sort_values("n_speakers")
        if repeated := rows["n_speakers"][rows["n_speakers"].duplicated()].tolist():
            raise VoicePrivacyError(
                f"curve {name!r} has several values at N = {listed(repeated)}; choose one "
                "attacker, conversation length and known fraction first."
            )
        yield name, style, rows


def _axis_by_speakers(ax: Axes, sizes: pd.Series, name: str) -> None:
    """A logarithmic axis with a tick at every N whose label does not run into the one before."""
    earlier = ax.get_xticks() if ax.get_xscale() == "log" else []  # of curves on the same axis
    ticks = []
    for size in np.union1d(sizes, earlier):
        if not ticks or size > _TICK_RATIO * ticks[-1]:
            ticks.append(size)
    ax.set_xscale("log")
    ax.set_xticks(ticks, [f"{size:,.0f}" for size in ticks], rotation=45, ha="right")
    ax.set_xticks([], minor=True)
    ax.set_xlabel("Number of speakers N (log)")
    ax.set_ylabel(name)
