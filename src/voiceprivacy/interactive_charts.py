"""Live charts of results: pure functions of tables, for `voiceprivacy.interactive.live`.

The name of a select or slider stands in the page's address, and in Vega's expressions.
"""

import altair as alt
import numpy as np
import pandas as pd

from voiceprivacy._vega import (
    GREY,
    HOLLOW,
    ONE_ROW,
    WIDTH,
    checked_columns,
    log_axis,
    looks,
    select,
)
from voiceprivacy.errors import VoicePrivacyError
from voiceprivacy.measures import EER, LINKABILITY
from voiceprivacy.styles import ATTACKERS, LEVELS, styles

ALL = "all"
DECIMALS = 5  # more would only make the page heavier
# A column that a select filters by, the select's name and the word before it.
SELECTS = {
    "attacker": ("attacker", "Attacker"),
    "conversation_length": ("L", "Conversation length L"),
    "variant": ("assignment", "Assignment"),
}
_CURVE = ["level", "n_speakers", "observed", "observed_low", "observed_high", "reference"]


def isolation_explorer(
    summary: pd.DataFrame, published: pd.DataFrame | None = None
) -> alt.LayerChart:
    """Draw isolation by N, with a select for each setting and one for the granularity.

    Parameters
    ----------
    summary
        ``isolation.summary()``, one or several below each other: ``level``, ``n_speakers``,
        ``observed`` with ``_low`` and ``_high``, ``reference``, and any of ``attacker``,
        ``conversation_length`` and ``variant`` (of the assignment), which become selects.
    published
        Rows of `voiceprivacy.published.published`, drawn hollow and grey.

    Raises
    ------
    VoicePrivacyError
        If a column is missing, or a curve has two values at one N.
    """
    checked_columns(summary, _CURVE)
    settings = [column for column in SELECTS if column in summary]
    data = summary[[*settings, *_CURVE]].round(DECIMALS)
    _check_curves(data, [*settings, "level"])
    known = [level for level in LEVELS if level in set(data["level"])]
    levels = list(dict.fromkeys([*known, *data["level"]]))
    look = looks("level", styles(levels), "Granularity")
    layers = _isolation_layers(_chosen(data, settings), data, look)
    if published is not None and len(published):
        layers.append(_published_layer(published, settings, look["shape"]))
    selects = [select(*SELECTS[name], data[name].unique().tolist()) for name in settings]
    return alt.layer(*layers).add_params(
        *selects, select("granularity", "Granularity", [ALL, *levels])
    )


def paired_metrics(table: pd.DataFrame) -> pd.DataFrame:
    """Return linkability beside the EER of the same attacker, length and number of speakers.

    Parameters
    ----------
    table
        ``metric``, ``attacker``, ``conversation_length``, ``n``, ``value``, such as
        `voiceprivacy.published.v25_curves` with the package's own names of metrics.

    Returns
    -------
    pandas.DataFrame
        ``attacker``, ``conversation_length``, ``n`` (N'), ``eer``, ``linkability``; those N' of
        linkability that lie within the EER's. The EER, which moves by two hundredths over all
        of them, is interpolated in log N where it was not measured.

    Examples
    --------
    >>> rows = [("EER", 10, 0.1), ("EER", 1000, 0.2), ("linkability", 100, 0.4)]
    >>> table = pd.DataFrame(rows, columns=["metric", "n", "value"])
    >>> paired_metrics(table.assign(attacker="original", conversation_length=1))[["n", "eer"]]
         n   eer
    0  100  0.15
    """
    keys = ["attacker", "conversation_length"]
    pairs = [
        _paired(own).assign(**dict(zip(keys, names, strict=True)))
        for names, own in table.groupby(keys, sort=False)
    ]
    return pd.concat(pairs, ignore_index=True)[[*keys, "n", "eer", "linkability"]]


def linkability_explorer(published: pd.DataFrame, measured: pd.DataFrame) -> alt.LayerChart:
    """Draw linkability against the EER, a curve by conversation length, with a select for N'.

    Parameters
    ----------
    published, measured
        From `paired_metrics`; the published ones hollow and grey. The N' to choose from are those
        of either.
    """
    sizes = sorted({*published["n"].tolist(), *measured["n"].tolist()})
    tables = pd.concat([published, measured])
    look = looks("attacker", ATTACKERS, "Attacker")
    span = alt.Scale(domain=[0, float(np.ceil(21 * tables["eer"].max()) / 20)])
    x = alt.X("eer:Q", title="Equal error rate", axis=alt.Axis(format="%"), scale=span)
    y = alt.Y("linkability:Q", title="Linkability (probability)", scale=alt.Scale(domain=[0, 1]))
    known, ours = (_at_size(table).encode(x=x, y=y) for table in (published, measured))
    lengths = known.transform_calculate(length="'L = ' + datum.conversation_length")
    chance = alt.Chart(ONE_ROW).transform_calculate(chance="1 / n").encode(y="chance:Q")
    return alt.layer(
        chance.mark_rule(color=GREY, strokeDash=[1, 3]),
        known.mark_line(color=GREY, strokeWidth=1).encode(strokeDash=look["strokeDash"]),
        known.mark_point(**HOLLOW).encode(shape=look["shape"]),
        lengths.mark_text(dx=8, align="left", fontSize=11).encode(text="length:N"),
        ours.mark_line(strokeWidth=WIDTH).encode(
            strokeDash=look["strokeDash"], color=look["color"]
        ),
        ours.mark_point(filled=True, size=70, opacity=1).encode(
            shape=look["shape"], color=look["color"]
        ),
    ).add_params(select("n", "Candidates N'", sizes, [f"{size:,}" for size in sizes]))


def _paired(own: pd.DataFrame) -> pd.DataFrame:
    """The two metrics of one attacker at one length."""
    eer = own[own["metric"] == EER].sort_values("n")
    linked = own[(own["metric"] == LINKABILITY) & own["n"].between(eer["n"].min(), eer["n"].max())]
    rates = np.interp(*(np.log(part["n"].astype(float)) for part in (linked, eer)), eer["value"])
    return pd.DataFrame({"n": linked["n"], "eer": rates, "linkability": linked["value"]})


def _at_size(table: pd.DataFrame) -> alt.Chart:
    """The rows of the chosen N', joined from short conversations to long ones."""
    chart = alt.Chart(table.round(DECIMALS), width=480, height=340)
    chart = chart.transform_filter("datum.n === n")
    return chart.encode(order="conversation_length:Q", tooltip=_PAIR)


def _check_curves(data: pd.DataFrame, curve: list[str]) -> None:
    twice = data[data.duplicated([*curve, "n_speakers"])]
    if len(twice):
        first = twice.iloc[0]
        raise VoicePrivacyError(
            f"curve {' / '.join(str(first[name]) for name in curve)} has several values at N = "
            f"{first['n_speakers']}; keep the column that tells them apart, or choose one."
        )


def _chosen(table: pd.DataFrame, settings: list[str]) -> alt.Chart:
    """What the selects leave of a table."""
    chart = alt.Chart(table, width=500, height=320)
    for name in settings:
        if name in table:
            chart = chart.transform_filter(f"datum.{name} === {SELECTS[name][0]}")
    return chart.transform_filter(f"granularity === '{ALL}' || datum.level === granularity")


def _isolation_layers(chart: alt.Chart, data: pd.DataFrame, look: dict) -> list[alt.Chart]:
    """Bands, dotted references, curves and their points."""
    floor = float(np.floor(10 * data[["observed_low", "reference"]].min().min()) / 10)
    scale = alt.Scale(domain=[floor, 1], clamp=True)
    observed, low, reference = (
        alt.Y(f"{name}:Q", title="Isolation probability", scale=scale)
        for name in ("observed", "observed_low", "reference")
    )
    ticks = sorted(data["n_speakers"].unique().tolist())
    chart = chart.encode(
        x=log_axis("n_speakers", "Number of speakers N (log)", ticks), color=look["color"]
    )
    tooltip = [
        alt.Tooltip("level:N", title="granularity"),
        alt.Tooltip("n_speakers:Q", title="N", format=","),
        *(alt.Tooltip(f"{name}:Q", format=".3f") for name in _CURVE[2:]),
    ]
    return [
        chart.mark_area(opacity=0.15).encode(y=low, y2="observed_high:Q"),
        chart.mark_line(strokeWidth=1, strokeDash=[1, 3]).encode(y=reference),
        chart.mark_line(strokeWidth=WIDTH).encode(y=observed, strokeDash=look["strokeDash"]),
        chart.mark_point(filled=True, size=60, opacity=1).encode(
            y=observed, shape=look["shape"], tooltip=tooltip
        ),
    ]


def _published_layer(published: pd.DataFrame, settings: list[str], shape: alt.Shape) -> alt.Chart:
    columns = [*(name for name in settings if name in published), "level", "n_speakers", "value"]
    chart = _chosen(published[columns].dropna(), settings).mark_point(**HOLLOW)
    return chart.encode(x="n_speakers:Q", y="value:Q", shape=shape)


_PAIR = [
    alt.Tooltip("attacker:N"),
    alt.Tooltip("conversation_length:Q", title="L"),
    alt.Tooltip("n:Q", title="N'", format=","),
    alt.Tooltip("eer:Q", title="EER", format=".1%"),
    alt.Tooltip("linkability:Q", format=".3f"),
]
