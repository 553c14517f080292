"""Parts of the live charts: the book's looks as Vega-Lite encodings, selects, sliders, axes."""

from collections.abc import Iterable, Mapping, Sequence

import altair as alt
import matplotlib as mpl
import pandas as pd
from matplotlib.markers import MarkerStyle
from matplotlib.path import Path

from voiceprivacy.errors import VoicePrivacyError, listed
from voiceprivacy.styles import Style

GREY = "#737373"
WIDTH = 1.8
HOLLOW = {"filled": False, "size": 90, "strokeWidth": 1.5, "color": GREY, "opacity": 1}
ONE_ROW = alt.InlineData(values=[{}])
_SVG = {Path.MOVETO: "M", Path.LINETO: "L", Path.CURVE3: "Q", Path.CURVE4: "C"}
_DASHES = {"--": "dashed", "-.": "dashdot", ":": "dotted"}


def looks(column: str, styles: Mapping[str, Style], title: str | None) -> dict[str, object]:
    """Return `color`, `shape` and `strokeDash` by `column`, in one legend, as matplotlib draws."""
    ranges = {
        "color": (alt.Color, [style.color for style in styles.values()]),
        "shape": (alt.Shape, [_shape(style.marker) for style in styles.values()]),
        "strokeDash": (alt.StrokeDash, [_dash(style.linestyle) for style in styles.values()]),
    }
    return {
        name: channel(
            f"{column}:N", title=title, scale=alt.Scale(domain=list(styles), range=list(values))
        )
        for name, (channel, values) in ranges.items()
    }


def select(
    name: str, label: str, options: Sequence[object], labels: Sequence[str] | None = None
) -> alt.Parameter:
    """Return a select, at its first option."""
    bind = alt.binding_select(options=list(options), labels=labels or [], name=f"{label} ")
    return alt.param(name=name, value=options[0], bind=bind)


def slider(name: str, label: str, value: float, ends: tuple[float, float, float]) -> alt.Parameter:
    """Return a slider that stands at `value`; `ends` are its least, its greatest and its step."""
    low, high, step = ends
    bind = alt.binding_range(min=low, max=high, step=step, name=f"{label} ")
    return alt.param(name=name, value=value, bind=bind)


def log_axis(column: str, title: str, ticks: Iterable[float]) -> alt.X:
    """Return a logarithmic x axis with these ticks; labels that would overlap are left out."""
    axis = alt.Axis(values=list(ticks), format=",", labelOverlap="greedy", labelAngle=-45)
    return alt.X(f"{column}:Q", title=title, axis=axis, scale=alt.Scale(type="log", nice=False))


def words(lines: str, *, x: int, y: int, color: str = "black") -> alt.Chart:
    """Return lines of text, a Vega expression, at a place in pixels."""
    look = {"align": "left", "baseline": "top", "lineHeight": 18, "color": color}
    return alt.Chart(ONE_ROW).mark_text(x=x, y=y, text=alt.ExprRef(lines), **look)


def checked_columns(table: pd.DataFrame, names: Iterable[str]) -> None:
    """Refuse a table that lacks a column."""
    if absent := [name for name in names if name not in table]:
        raise VoicePrivacyError(
            f"nothing to draw: the table lacks {listed(absent)}; it has {listed(table, 30)}."
        )


def _shape(marker: str) -> str:
    """The outline of a matplotlib marker as an SVG path, y downwards, about 2 wide."""
    style = MarkerStyle(marker)
    outline = style.get_path().transformed(style.get_transform())
    parts = []
    for points, code in outline.iter_segments(simplify=False):
        if code == Path.CLOSEPOLY:
            parts.append("Z")
        else:
            pairs = 2 * points.reshape(-1, 2) * (1, -1)
            parts.append(_SVG[code] + " ".join(f"{x:.3g},{y:.3g}" for x, y in pairs))
    return "".join(parts)


def _dash(linestyle: object) -> list[float]:
    """A matplotlib line style as lengths of dashes and gaps in pixels; none for a solid line."""
    if linestyle == "-":
        return []
    lengths = (
        mpl.rcParams[f"lines.{_DASHES[linestyle]}_pattern"]
        if isinstance(linestyle, str)
        else linestyle[1]
    )
    return [round(WIDTH * length, 1) for length in lengths]
