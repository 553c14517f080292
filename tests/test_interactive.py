"""The forms of one live figure: what each viewer gets, and what is refused."""

import base64
import json
import re

import altair as alt
import pandas as pd
import pytest

from voiceprivacy.errors import VoicePrivacyError
from voiceprivacy.evidence import evidence_of
from voiceprivacy.interactive import MIME, live

SIMULATED, PUBLISHED = evidence_of("simulated"), evidence_of("published")
NASTY = '</script><script>alert(1)</script><!-- "&"'


def chart(label="a"):
    table = pd.DataFrame({"x": [1, 2], "y": [3, 4], "label": label})
    return alt.Chart(table).mark_line().encode(x="x", y="y", color="label")


def shown(label="a", alt="Two\n points.", name="points"):
    return live(chart(label), SIMULATED, PUBLISHED, name=name, alt=alt)


def chart_inside(html):
    (data,) = re.findall(r'<script type="application/json">(.*?)</script>', html, re.DOTALL)
    return json.loads(data)


def test_one_figure_has_a_form_for_every_viewer():
    bundle = shown()._repr_mimebundle_()
    assert set(bundle) == {
        "text/html",
        "application/vnd.vegalite.v6+json",
        "image/png",
        "text/plain",
    }
    assert base64.b64decode(bundle["image/png"]).startswith(b"\x89PNG")
    assert bundle["image/png"] in bundle["text/html"]
    assert chart_inside(bundle["text/html"]) == bundle[MIME]


def test_the_words_for_it_are_in_every_form():
    bundle = shown(alt='Falls with "N"\n & stays > 1/e.')._repr_mimebundle_()
    words = 'Falls with "N" & stays > 1/e.'
    assert bundle["text/plain"] == bundle[MIME]["description"] == words
    assert 'alt="Falls with &quot;N&quot; &amp; stays &gt; 1/e."' in bundle["text/html"]


def test_the_evidence_stands_below_the_chart():
    title = shown().spec["title"]
    assert title["text"] == "Evidence: simulated embeddings; hollow grey: published"
    assert title["orient"] == "bottom"


def test_no_text_in_the_data_ends_the_script_that_carries_it():
    html = shown(NASTY, alt=NASTY).html
    assert html.count("</script>") == 1
    assert "<!--" not in html
    assert NASTY in json.dumps(chart_inside(html), ensure_ascii=False).replace('\\"', '"')


def test_the_same_chart_gives_the_same_figure():
    assert shown().html == shown().html


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"alt": " \n"}, "say in a sentence"),
        ({"name": "my figure"}, "expected letters, digits"),
        ({"name": 'x"onload='}, "expected letters, digits"),
    ],
)
def test_a_figure_without_words_or_name_is_refused(arguments, message):
    with pytest.raises(VoicePrivacyError, match=message):
        shown(**arguments)


def test_a_figure_without_evidence_is_refused():
    with pytest.raises(VoicePrivacyError, match="needs a label"):
        live(chart(), name="a", alt="A.")
    with pytest.raises(VoicePrivacyError, match="no evidence label"):
        live(chart(), "typed by hand", name="a", alt="A.")
