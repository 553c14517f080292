"""Live figures on a built page, in a browser, from disk."""

import gzip

import pytest
from browsing import chromium, complaints, outside_requests
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select, WebDriverWait
from small_books import build_small_book
from test_interactive_charts import PUBLISHED, SUMMARY, pairs

from voiceprivacy.evidence import evidence_of
from voiceprivacy.interactive import live
from voiceprivacy.interactive_charts import isolation_explorer, linkability_explorer
from voiceprivacy.interactive_formulas import reference_explorer, threshold_explorer

SIMULATED, CALCULATION = evidence_of("simulated"), evidence_of("calculation")
CHARTS = {
    "isolation": (isolation_explorer(SUMMARY, PUBLISHED), SIMULATED),
    "linkability": (linkability_explorer(pairs(), pairs(0.9)), SIMULATED),
    "reference": (reference_explorer(), CALCULATION),
    "threshold": (threshold_explorer(), CALCULATION),
}
SELECTS = [
    ("isolation", "attacker", 1),
    ("isolation", "L", 1),
    ("isolation", "assignment", 1),
    ("isolation", "granularity", 1),
    ("linkability", "n", 1),
    ("threshold", "N", 5),
]
SLIDERS = [("reference", "n"), ("threshold", "theta"), ("threshold", "d")]


@pytest.fixture(scope="module")
def book(tmp_path_factory):
    """The folder of a built book whose second page has every chart."""
    cells = [new_markdown_cell("# Figures")]
    for name, (chart, label) in CHARTS.items():
        shown = live(chart, label, name=name, alt=f"The {name} chart.")._repr_mimebundle_()
        outputs = [new_output("execute_result", shown, execution_count=1)]
        cells.append(new_code_cell("live()", outputs=outputs, execution_count=1))
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    notebook = new_notebook(cells=cells, metadata={"kernelspec": kernel})
    return build_small_book(tmp_path_factory.mktemp("live"), notebook) / "_build" / "html"


@pytest.fixture
def page(book):
    return book / "book" / "_executed" / "si_small.html"


def opened(browser, page, address=""):
    """Open the page afresh at an address, and wait until its figures are drawn."""
    browser.get("about:blank")
    browser.get(page.as_uri() + address)
    drawn = "return document.querySelectorAll('.live-figure svg.marks').length"
    WebDriverWait(browser, 20).until(lambda b: b.execute_script(drawn) == len(CHARTS))
    return browser


def figure(browser, name):
    return browser.find_element(By.CSS_SELECTOR, f".live-figure[data-name={name}]")


def control(browser, name, parameter):
    return figure(browser, name).find_element(By.NAME, parameter)


def curves(browser, name):
    """What a figure draws: outlines, places, colours and words, in any order."""
    marks = "arguments[0].querySelectorAll('svg.marks path, svg.marks text')"
    parts = "['d', 'transform', 'fill', 'stroke'].map((key) => mark.getAttribute(key))"
    script = f"return [...{marks}].map((mark) => {parts} + mark.textContent).sort()"
    return browser.execute_script(script, figure(browser, name))


def changed(browser, name, before):
    WebDriverWait(browser, 5).until(lambda _: curves(browser, name) != before)


def address_has(browser, text):
    WebDriverWait(browser, 5).until(lambda b: text in b.current_url)


def test_nothing_is_asked_of_the_network_and_nothing_is_complained_of(browser, page):
    opened(browser, page)
    assert outside_requests(browser) == []
    assert complaints(browser) == []


@pytest.mark.parametrize(("name", "parameter", "choice"), SELECTS)
def test_each_select_changes_its_curves_and_the_address(browser, page, name, parameter, choice):
    before = curves(opened(browser, page), name)
    others = {other: curves(browser, other) for other in CHARTS if other != name}
    select = Select(control(browser, name, parameter))
    select.select_by_index(choice)
    changed(browser, name, before)
    address_has(browser, f"#{name}.{parameter}=")
    assert others == {other: curves(browser, other) for other in others}
    select.select_by_index(0)
    WebDriverWait(browser, 5).until(lambda b: "#" not in b.current_url)
    assert curves(browser, name) == before


@pytest.mark.parametrize(("name", "parameter"), SLIDERS)
def test_each_slider_is_moved_by_the_keyboard(browser, page, name, parameter):
    before = curves(opened(browser, page), name)
    control(browser, name, parameter).send_keys(*[Keys.ARROW_RIGHT] * 4)
    changed(browser, name, before)
    address_has(browser, f"#{name}.{parameter}=")


def test_the_controls_come_one_after_another_by_the_tab_key(browser, page):
    opened(browser, page)
    control(browser, "isolation", "attacker").send_keys("")
    names = []
    for _ in range(3):
        browser.switch_to.active_element.send_keys(Keys.TAB)
        names.append(browser.switch_to.active_element.get_attribute("name"))
    assert names == ["L", "assignment", "granularity"]


def test_what_was_chosen_is_restored_from_the_address(browser, page):
    chosen = "#isolation.attacker=ignorant&isolation.assignment=OA%2Bage&reference.n=17"
    before = curves(opened(browser, page), "isolation")
    opened(browser, page, chosen)
    assert control(browser, "isolation", "attacker").get_attribute("value") == "ignorant"
    assert control(browser, "isolation", "assignment").get_attribute("value") == "OA+age"
    assert "n = 17: reference 0.3791" in figure(browser, "reference").text
    assert curves(browser, "isolation") != before
    # A link to another state within the open page.
    browser.execute_script("location.hash = 'reference.n=2'")
    WebDriverWait(browser, 5).until(lambda b: "n = 2: ref" in figure(b, "reference").text)
    assert curves(browser, "isolation") == before


@pytest.mark.parametrize("state", ["L=7", "attacker=<img src=x>", "nothing=1", "granularity="])
def test_what_no_control_offers_is_not_taken_from_the_address(browser, page, state):
    before = curves(opened(browser, page), "isolation")
    assert curves(opened(browser, page, f"#isolation.{state}"), "isolation") == before
    opened(browser, page, "#reference.n=1e9&threshold.theta=")
    assert "n = 5: reference 0.4096" in figure(browser, "reference").text
    assert complaints(browser) == []


def test_the_words_for_the_figure_stay_when_it_is_live(browser, page):
    opened(browser, page)
    drawn = figure(browser, "isolation").find_element(By.CSS_SELECTOR, "[aria-label]")
    assert drawn.get_attribute("role") == "graphics-document"
    assert drawn.get_attribute("aria-label") == "The isolation chart."


def test_in_dark_mode_the_figure_keeps_a_white_card(browser, page):
    opened(browser, page)
    browser.execute_script("document.documentElement.dataset.theme = 'dark'")
    card = figure(browser, "isolation")
    assert card.value_of_css_property("background-color") == "rgba(255, 255, 255, 1)"
    label = card.find_element(By.TAG_NAME, "label")
    assert label.value_of_css_property("color") == "rgba(34, 34, 34, 1)"
    browser.execute_script("document.documentElement.dataset.theme = 'light'")


def test_without_scripts_the_pictures_stay(page, tmp_path):
    with chromium(tmp_path, "blink-settings=scriptEnabled=false") as still:
        still.get(page.as_uri())
        images = still.find_elements(By.CSS_SELECTOR, ".live-figure img")
        assert [i.get_attribute("alt") for i in images] == [f"The {n} chart." for n in CHARTS]
        assert all(image.is_displayed() and image.size["width"] > 300 for image in images)
        assert not still.find_elements(By.CSS_SELECTOR, ".live-figure svg")


def test_a_page_without_a_figure_loads_nothing_for_them(book, page):
    plain = (book / "book" / "intro.html").read_text()
    assert "vega" not in plain
    assert "live-figures" not in plain
    assert page.read_text().count("vendor/vega") == 1


def test_pages_and_bundle_keep_their_weight(book, page):
    (bundle,) = (book / "_static" / "vendor").glob("vega-*.js")
    assert len(gzip.compress(bundle.read_bytes())) < 320_000
    assert len(gzip.compress(page.read_bytes())) < 150_000
