"""Figures with selects and sliders that need no network, and are a still picture without scripts.

A figure is a Vega-Lite chart. On a page of the book it is its PNG with the chart beside it as data;
`book/_static/live-figures.js` draws the chart over the picture from the book's own files.
"""

import base64
import io
import json
from dataclasses import dataclass, field

import altair
import vl_convert

from voiceprivacy.errors import VoicePrivacyError
from voiceprivacy.evidence import evidence_words
from voiceprivacy.pictures import RESOLUTION, checked_alt, few_colours, image_element

CLASS = "live-figure"  # what the book's script looks for
VEGALITE = ".".join(altair.SCHEMA_VERSION.removeprefix("v").split(".")[:2])
MIME = f"application/vnd.vegalite.v{VEGALITE.partition('.')[0]}+json"
_LOOK = {
    "view": {"stroke": None},
    "axis": {"gridColor": "#e6e6e6", "labelFontSize": 12, "titleFontSize": 13},
    "axisX": {"titleFontWeight": "normal"},
    "axisY": {"titleFontWeight": "normal"},
    "legend": {"labelFontSize": 12, "titleFontSize": 12, "symbolSize": 80, "symbolOpacity": 1},
    "text": {"fontSize": 13},
}


@dataclass(frozen=True)
class LiveFigure:
    """One figure in every form that a viewer may take.

    Parameters
    ----------
    name
        Its name within its page, in the page's address.
    alt
        What it shows, in words.
    spec
        The Vega-Lite chart, for JupyterLab.
    png
        The chart as it stands at first, for GitHub and print.
    """

    name: str
    alt: str
    spec: dict = field(repr=False)
    png: bytes = field(repr=False)

    @property
    def html(self) -> str:
        """The picture, and the chart as data that no browser runs."""
        # Inside a script element only "<" can end it or open a comment.
        spec = json.dumps(self.spec, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
        return (
            f'<div class="{CLASS}" data-name="{self.name}">{image_element(self.png, self.alt)}'
            f'<script type="application/json">{spec}</script></div>'
        )

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict[str, object]:
        return {
            "text/html": self.html,
            MIME: self.spec,
            "image/png": base64.b64encode(self.png).decode(),
            "text/plain": self.alt,
        }


def live(chart: altair.TopLevelMixin, *labels: str, name: str, alt: str) -> LiveFigure:
    """Return a chart as a figure that a notebook shows when it is a cell's last expression.

    Parameters
    ----------
    chart
        From `voiceprivacy.interactive_charts` or `voiceprivacy.interactive_formulas`.
    *labels
        Labels from `voiceprivacy.evidence.evidence_of`, in the order of their weight.
    name
        A word for the page's address, where what a reader chose is kept: ``#name.L=3``.
    alt
        What it shows, in a sentence or two, for readers who do not see it.

    Raises
    ------
    VoicePrivacyError
        If there is no text or no label, a label was typed by hand, or the name is no word.

    Examples
    --------
    >>> from voiceprivacy.evidence import evidence_of
    >>> from voiceprivacy.interactive_formulas import reference_explorer
    >>> live(reference_explorer(), evidence_of("calculation"), name="reference", alt="A curve.")
    LiveFigure(name='reference', alt='A curve.')
    """
    if not name.isidentifier():
        raise VoicePrivacyError(f"name={name!r}: expected letters, digits and _, as in isolation.")
    words = checked_alt(alt)
    evidence = {
        "text": evidence_words(labels),
        "orient": "bottom",
        "anchor": "start",
        "color": "#4d4d4d",
        "fontSize": 11,
        "fontWeight": "normal",
        "offset": 12,
    }
    spec = chart.to_dict() | {"title": evidence, "description": words}
    spec["config"] = spec.get("config", {}) | _LOOK
    png = vl_convert.vegalite_to_png(spec, vl_version=VEGALITE, scale=RESOLUTION)
    return LiveFigure(name, words, spec, few_colours(io.BytesIO(png)))
