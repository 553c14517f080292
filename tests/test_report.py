"""The report: whole in one file, right in its words, and safe whatever ids say."""

import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from browsing import complaints, outside_requests
from click.testing import CliRunner

from voiceprivacy.cli import main
from voiceprivacy.embeddings import Embeddings
from voiceprivacy.errors import VoicePrivacyError
from voiceprivacy.examples import write_example
from voiceprivacy.granularity import Tolerance, advise, finest
from voiceprivacy.report import examine, render
from voiceprivacy.report_words import exposure_words
from voiceprivacy.singling_out import isolate

ODD = '<script>alert("1")</script>'
FAST = {"draws": 2, "splits": 2}


class Page(HTMLParser):
    """Tags, their attributes, and the text."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.words = [], []
        self.feed(html)
        self.text = " ".join(" ".join(self.words).split())

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_data(self, data):
        self.words.append(data)


def voices(kind, people, n=4, noise=0.5):
    """Utterances of voices that do not depend on the kind."""
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(len(people), 8))
    rng = np.random.default_rng(len(kind))
    matrix = np.repeat(centres, n, axis=0) + noise * rng.normal(size=(len(people) * n, 8))
    ids = [f"{name}-{kind}{k}" for name in people for k in range(n)]
    return Embeddings(ids, np.repeat(people, n), matrix)


@pytest.fixture(scope="module")
def people():
    return [f"p{k:02d}" for k in range(40)]


@pytest.fixture(scope="module")
def table(people):
    towns = np.array(["north", "south"])[np.arange(40) % 2]
    return pd.DataFrame({"town": towns, "house": people}, index=people)


@pytest.fixture(scope="module")
def findings(people, table):
    return examine(voices("t", people), voices("ee", people), table, **FAST, corpus="simulated")


def test_everything_is_in_one_page(findings):
    html = render(findings)
    page = Page(html)
    for section in (
        "In plain words", "What was measured", "The voice alone", "With what else is known",
        "Blocks", "What may be released", "Who is exposed most", "Parameters and versions",
        "What to keep in mind",
    ):  # fmt: skip
        assert section in page.text
    assert "Evidence: simulated embeddings" in page.text
    images = [attributes for tag, attributes in page.tags if tag == "img"]
    assert len(images) == 2
    assert all(image["alt"] for image in images)
    places = [a.get("src", "") + a.get("href", "") for _, a in page.tags]
    assert all(place.startswith("data:") for place in places if place)
    assert not re.search(r"https?://|@import|url\(", html)
    assert not {"script", "link", "iframe"} & {tag for tag, _ in page.tags}


def test_a_browser_has_nothing_to_complain_of(findings, browser, tmp_path):
    page = tmp_path / "report.html"
    page.write_text(render(findings), encoding="utf-8")
    browser.get(page.as_uri())
    assert outside_requests(browser) == []
    assert complaints(browser) == []
    drawn = "return [...document.images].map(image => image.naturalWidth)"
    assert min(browser.execute_script(drawn)) > 100


def test_a_printed_report_is_no_wider_than_its_paper(findings, browser, tmp_path):
    page = tmp_path / "report.html"
    page.write_text(render(findings), encoding="utf-8")
    browser.get(page.as_uri())
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    try:
        browser.set_window_size(718, 1047)  # A4 at 96 dots an inch, less margins of 1 cm
        width = browser.execute_script("return document.documentElement.scrollWidth")
        assert width <= browser.execute_script("return window.innerWidth") == 718
    finally:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


def test_the_words_are_the_numbers(findings):
    page = Page(render(findings))
    summary = findings.isolation.summary()
    row = summary[(summary["level"] == "town") & (summary["n_speakers"] == 40)].iloc[0]
    assert f"who also knows “town” isolates {100 * row['observed']:.0f} (" in page.text
    assert f"{row['block_size']:,.1f} speakers left on average" in page.text
    linked = findings.metrics.query("metric == 'linkability' and n_speakers == 40").iloc[0]
    assert f"the right one {100 * linked['observed']:.0f} (" in page.text


def test_the_voice_alone_is_measured_once(findings):
    alone = findings.metrics.query("metric == 'singling out'")
    same = findings.isolation.summary().query("level == 'signal only'")
    assert alone["observed"].tolist() == same["observed"].tolist()


def test_useless_voices_are_not_called_dangerous(people):
    found = examine(
        voices("t", people, noise=1e6), voices("ee", people, noise=1e6), **FAST, targets="all"
    )
    text = Page(render(found)).text
    assert "That cannot be told from the" in text
    assert "times of 100; that cannot be told from chance." in text
    assert "Evidence: speech: embeddings as given" in text
    assert "With what else is known" not in text


def test_ids_and_columns_are_only_text(people):
    odd = [f"{ODD}{name}" for name in people]
    table = pd.DataFrame({f"{ODD}&town{'x' * 80}": ["a", ODD] * 20, "ü ß": odd}, index=odd)
    found = examine(voices("t", odd), voices("ee", odd), table, **FAST)
    html = render(found)
    assert "<script" not in html
    assert ODD in Page(html).text


def test_speakers_who_lack_something_are_told(people, table):
    pool = voices("t", people)
    few = pool.select(np.r_[0:120, 121, 125])  # two speakers with one utterance
    found = examine(few, voices("ee", people), table.iloc[:38], missing="unknown", **FAST)
    text = Page(render(found)).text
    assert "2 of 32 speakers of the pool have too few utterances" in text
    assert "no test speech" in text


def test_advice_follows_the_tolerances(findings):
    rows = findings.advice.set_index("level")
    assert rows.loc["house", "advice"] == "withhold"
    assert rows.loc["house", "small_blocks"] == 1
    assert "100.0% of targets" in rows.loc["house", "why"]
    loose = advise(findings.isolation, Tolerance(1.0, 1, 1.0))
    assert loose["advice"].tolist() == ["may be released"] * 3
    assert finest(loose) == "house"
    tight = advise(findings.isolation, Tolerance(0.0, 10, 0.05))
    assert tight["advice"].iloc[0] == "withhold"
    assert finest(tight) is None


def test_an_interval_across_the_limit_cannot_be_told(findings):
    row = findings.advice.set_index("level").loc["town"]
    middle = Tolerance(float(row["contribution"]), 2, 1.0)
    advice = advise(findings.isolation, middle).set_index("level")
    assert advice.loc["town", "advice"] == "cannot tell"


def test_what_has_no_interval_cannot_be_told(people, table):
    """A single target leaves every interval open."""
    held = voices("ee", people).select(np.arange(4))
    found = examine(voices("t", people), held, table, tolerance=Tolerance(0.5, 1, 1.0), **FAST)
    assert found.advice["advice"].tolist() == ["cannot tell"] * 3
    assert "nothing can be cleared for release" in Page(render(found)).text


def test_a_coarser_level_that_fails_stops_the_finer_ones():
    advice = pd.DataFrame(
        {"level": ["a", "b", "c"], "advice": ["may be released", "withhold", "may be released"]}
    )
    assert finest(advice) == "a"


@pytest.mark.parametrize("numbers", [(-0.1, 10, 0.05), (0.05, 0, 0.05), (0.05, 10, 5)])
def test_tolerances_out_of_range_are_refused(numbers):
    with pytest.raises(VoicePrivacyError, match="expected fractions, and a block of 1 or more"):
        Tolerance(*numbers)


def test_exposure_by_hand(people):
    found = isolate(voices("t", people, noise=0), voices("ee", people, noise=0), sizes=[40],
                    targets="all", **FAST)  # fmt: skip
    assert "signal only: 100.0% of the targets" in exposure_words(found)[0]
    assert "the most exposed tenth bears 10% of all isolation" in exposure_words(found)[0]


def test_the_command_writes_a_page_and_keeps_it(tmp_path):
    example = write_example(tmp_path / "data", 60)
    out = tmp_path / "report.html"
    arguments = [
        "report", str(example.pool), str(example.enrolment), "--out", str(out), "--draws", "1",
        "--splits", "2", "--side-information", str(example.side_information),
        "--columns", "town,occupation", "--corpus", "simulated",
    ]  # fmt: skip
    done = CliRunner().invoke(main, arguments)
    assert done.exit_code == 0, done.output
    assert "Evidence: simulated embeddings" in Page(out.read_text()).text
    again = CliRunner().invoke(main, arguments)
    assert again.exit_code == 2
    assert "is already there" in again.output
    assert CliRunner().invoke(main, [*arguments, "--overwrite"]).exit_code == 0
    own = [*arguments[:3], "--out", str(example.pool), "--overwrite"]
    assert "read for the report" in CliRunner().invoke(main, own).output
    assert example.pool.stat().st_size > 10_000
    folder = CliRunner().invoke(main, ["report", str(tmp_path), "--out", str(tmp_path / "x.html")])
    assert folder.exit_code == 2
    assert "expected a folder with one file pool.* and one enrolment.*" in folder.output


def test_a_folder_of_both_files_will_do(tmp_path):
    write_example(tmp_path, 30)
    arguments = ["report", str(tmp_path), "--out", str(tmp_path / "r.html"), "--splits", "2"]
    done = CliRunner().invoke(main, arguments)
    assert done.exit_code == 0, done.output
