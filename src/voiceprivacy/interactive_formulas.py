"""Live charts that follow from a formula in the reader's browser; they carry no data."""

import altair as alt

from voiceprivacy._vega import GREY, ONE_ROW, WIDTH, log_axis, looks, select, slider, words
from voiceprivacy.styles import ATTACKERS, LEVELS

_BLUE = LEVELS["LSOA"].color
_SIZES = [2, 10, 30, 100, 1000, 10_000]


def reference_explorer(largest: int = 200) -> alt.HConcatChart:
    """Draw P_ref(n), and how many of n block members match, with a slider for n.

    Each of n members matches independently with probability 1/n (SI, Sec. III-C): k of them with
    probability C(n, k) (1/n)^k (1 - 1/n)^(n-k), of which P_ref(n) is k = 1, and 1/(e k!) the limit.

    Parameters
    ----------
    largest
        The largest block size n.
    """
    n = slider("n", "Block size n", 5, (1, largest, 1))
    return alt.hconcat(_reference_curve(largest), _number_of_matches()).add_params(n)


def threshold_explorer(distance: float = 2.0) -> alt.VConcatChart:
    """Draw right and wrong speakers' scores, and what a threshold makes of them.

    Right scores are Gaussian around d, wrong ones around 0, both with standard deviation 1. Of N
    speakers, one of them the right one, those whose score lies above the threshold match.

    Parameters
    ----------
    distance
        Where the slider of d stands at first, 0 to 5.
    """
    controls = [
        slider("theta", "Threshold θ", 1.0, (-3, 7, 0.05)),
        slider("d", "Distance d of right scores", distance, (0, 5, 0.1)),
        select("N", "Speakers N", [100, *(size for size in _SIZES if size != 100)]),
    ]
    chart = alt.vconcat(_densities(), _rates(), _told(), spacing=8)
    return chart.resolve_scale(color="independent", strokeDash="independent").add_params(*controls)


def _reference(n: str) -> str:
    """P_ref as a Vega expression; 0 to the power of 0 is 1 there too."""
    return f"pow(1 - 1 / {n}, {n} - 1)"


def _reference_curve(largest: int) -> alt.LayerChart:
    x = log_axis("block", "Block size n (log)", [1, 2, 5, 10, 20, 50, 100, 200])
    y = alt.Y("reference:Q", title="Conditional reference", scale=alt.Scale(domain=[0, 1]))
    curve = alt.Chart(alt.sequence(1, largest + 1, as_="block"), width=320, height=260)
    curve = curve.transform_calculate(reference=_reference("datum.block")).encode(x=x, y=y)
    limit = alt.Chart(ONE_ROW).transform_calculate(limit="exp(-1)")
    here = _reference("n")
    return alt.layer(
        limit.mark_rule(strokeDash=[5, 3], color=GREY).encode(y="limit:Q"),
        curve.mark_line(strokeWidth=WIDTH, color=_BLUE),
        curve.transform_filter("datum.block === n").mark_point(
            filled=True, size=110, opacity=1, color=_BLUE
        ),
        words(
            f"['n = ' + n + ': reference ' + format({here}, '.4f'), "
            f"format({here} - exp(-1), '.4f') + ' above 1/e']",
            x=130,
            y=30,
        ),
        words("['1/e, the limit of large blocks']", x=6, y=170, color=GREY),
    )


def _number_of_matches() -> alt.LayerChart:
    ways = [
        "1",
        "n",
        "n*(n-1)",
        "n*(n-1)*(n-2)",
        "n*(n-1)*(n-2)*(n-3)",
        "n*(n-1)*(n-2)*(n-3)*(n-4)",
    ]
    factorials = "[1, 1, 2, 6, 24, 120][datum.k]"
    chart = alt.Chart(alt.sequence(0, 6, as_="k"), width=230, height=260).transform_calculate(
        probability=f"datum.k > n ? 0 : [{', '.join(ways)}][datum.k] / {factorials} "
        "* pow(1 / n, datum.k) * pow(1 - 1 / n, n - datum.k)",
        limit=f"exp(-1) / {factorials}",
    )
    chart = chart.encode(x=alt.X("k:O", title="Members who match", axis=alt.Axis(labelAngle=0)))
    y = alt.Y("probability:Q", title="Probability", scale=alt.Scale(domain=[0, 1]))
    color = alt.condition("datum.k === 1", alt.value(_BLUE), alt.value("#dddddd"))
    return alt.layer(
        chart.mark_bar(stroke="#333333", width=26).encode(y=y, color=color),
        chart.mark_tick(color="black", thickness=2, width=32).encode(y="limit:Q"),
        words("['dark: exactly one matches', 'ticks: large blocks']", x=66, y=4),
    )


def _scores() -> alt.Chart:
    chart = alt.Chart(alt.sequence(-4, 8.01, 0.05, as_="score"), width=480, height=170)
    title = "Score, or threshold (standard deviations of a speaker's scores)"
    return chart.encode(x=alt.X("score:Q", title=title, scale=alt.Scale(domain=[-4, 8])))


def _densities() -> alt.LayerChart:
    kinds = {"wrong": ATTACKERS["ignorant"], "right": ATTACKERS["semi-informed"]}
    look = looks("kind", kinds, "Speaker")
    chart = _scores().transform_calculate(
        wrong="densityNormal(datum.score, 0, 1)", right="densityNormal(datum.score, d, 1)"
    )
    chart = chart.transform_fold([*kinds], as_=["kind", "density"])
    chart = chart.encode(y=alt.Y("density:Q", title="Density"), color=look["color"])
    errors = "datum.kind === 'wrong' ? datum.score >= theta : datum.score <= theta"
    return alt.layer(
        chart.transform_filter(errors)
        .mark_area(opacity=0.35)
        .encode(y=alt.Y("density:Q").stack(None)),
        chart.mark_line(strokeWidth=WIDTH).encode(strokeDash=look["strokeDash"]),
        *_rules(),
        _thresholds(chosen=True).mark_text(align="right", dx=-4, y=24).encode(text="name:N"),
        _thresholds(chosen=False).mark_text(align="left", dx=4, y=6).encode(text="name:N"),
    )


def _rates() -> alt.LayerChart:
    kinds = {
        "false accepts": ATTACKERS["ignorant"],
        "false rejects": ATTACKERS["semi-informed"],
        "exactly one match": ATTACKERS["informed"],
    }
    look = looks("rate", kinds, "Probability of")
    found = (_ACCEPTS.format("datum.score"), _REJECTS.format("datum.score"))
    values = dict(zip(kinds, (*found, _one(*found)), strict=True))
    chart = (
        _scores().transform_calculate(**values).transform_fold([*kinds], ["rate", "probability"])
    )
    y = alt.Y("probability:Q", title="Probability", scale=alt.Scale(domain=[0, 1]))
    return alt.layer(
        chart.mark_line(strokeWidth=WIDTH).encode(
            y=y, color=look["color"], strokeDash=look["strokeDash"]
        ),
        *_rules(),
    )


_ACCEPTS = "(1 - cumulativeNormal({}, 0, 1))"
_REJECTS = "cumulativeNormal({}, d, 1)"


def _one(accepts: str, rejects: str) -> str:
    """Exactly one of N matches: the right speaker alone, or a wrong one alone."""
    right = f"(1 - {rejects}) * pow(1 - {accepts}, N - 1)"
    return f"{right} + {rejects} * (N - 1) * {accepts} * pow(1 - {accepts}, N - 2)"


def _thresholds(*, chosen: bool) -> alt.Chart:
    """The chosen threshold, or that of the EER and that which one wrong speaker of N exceeds."""
    rows = [{"name": name} for name in (["θ"] if chosen else ["EER", "1 of N"])]
    places = "{'θ': theta, 'EER': d / 2, '1 of N': quantileNormal(1 - 1 / N)}[datum.name]"
    chart = alt.Chart(alt.InlineData(values=rows)).transform_calculate(at=places)
    return chart.encode(x="at:Q")


def _rules() -> list[alt.Chart]:
    others = _thresholds(chosen=False).mark_rule(strokeDash=[4, 3], color=GREY)
    return [_thresholds(chosen=True).mark_rule(strokeWidth=2), others]


def _told() -> alt.Chart:
    """The numbers at the chosen threshold, in words."""
    accepts, rejects = _ACCEPTS.format("theta"), _REJECTS.format("theta")
    return words(
        f"['False accepts ' + format({accepts}, '.1%') + ', false rejects ' + "
        f"format({rejects}, '.1%') + '; equal error rate ' + "
        "format(cumulativeNormal(-d / 2, 0, 1), '.1%') + ' at θ = ' + format(d / 2, '.2f'),"
        f"'Matches expected among N = ' + format(N, ',') + ': ' + format(1 - {rejects}, '.2f') + "
        f"' right and ' + format((N - 1) * {accepts}, ',.2f') + ' wrong; exactly one: ' + "
        f"format({_one(accepts, rejects)}, '.3f')]",
        x=0,
        y=0,
    ).properties(width=480, height=40)
