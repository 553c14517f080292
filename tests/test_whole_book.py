"""The built book as its readers meet it: what each page weighs, where it leads, what moves on it.

`.ci/run` builds the book and then runs this; `tests/test_book.py` looks at the same pages from disk
without a network, and on a phone.
"""

import gzip
import re
from pathlib import Path
from urllib.parse import unquote, urlparse

import pytest
from browsing import complaints, open_page, outside_requests
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import Select, WebDriverWait

soup = pytest.importorskip("bs4", reason="the book extra is not installed").BeautifulSoup
HTML = Path(__file__).parents[1] / "_build" / "html"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not (HTML / "index.html").exists(), reason="the book is not built"),
]
MEGABYTE = 1_000_000


@pytest.fixture(scope="module")
def pages():
    return {
        path: soup(path.read_text(encoding="utf-8"), "html.parser")
        for path in sorted(HTML.rglob("*.html"))
    }


def own_files(path, page):
    """What a page alone needs: its pictures. Scripts and styles are shared by all."""
    places = (path.parent / unquote(img["src"]) for img in page.select("img[src]:not([src^=data])"))
    return {place.resolve() for place in places if "_images" in place.parts}


def test_no_page_weighs_more_than_a_megabyte_without_its_sound(pages):
    for path, page in pages.items():
        text = re.sub(r'data:audio/[^"]*', "", path.read_text(encoding="utf-8"))
        # Pictures are compressed already.
        pictures = sum(file.stat().st_size for file in own_files(path, page))
        assert len(gzip.compress(text.encode())) + pictures < MEGABYTE, path.name


def test_every_link_in_the_book_leads_somewhere(pages):
    places = {path.resolve(): page for path, page in pages.items()}
    ids = {path: {tag["id"] for tag in page.find_all(id=True)} for path, page in places.items()}
    dead = set()
    for path, page in places.items():
        for link in page.find_all("a", href=True):
            address = urlparse(link["href"])
            if address.scheme or address.netloc:
                continue
            place = (path.parent / unquote(address.path)).resolve() if address.path else path
            anchor = unquote(address.fragment)
            if not place.exists() or (anchor and place in ids and anchor not in ids[place]):
                dead.add((path.name, link["href"]))
    assert not dead


def test_every_picture_is_told_in_words(pages):
    for path, page in pages.items():
        for image in page.find_all("img"):
            words = image.get("alt", "")
            assert len(words.split()) >= 3, (path.name, image.get("src", "")[:80])
        for figure in page.select(".live-figure"):
            assert figure.find("img") or figure.get("aria-label"), path.name


def test_every_select_changes_what_its_figure_draws(pages, browser):
    tried = 0
    for path in (path for path, page in pages.items() if page.select(".live-figure")):
        open_page(browser, path)
        drawn = "return document.querySelectorAll('.live-figure svg.marks').length"
        WebDriverWait(browser, 20).until(lambda b, drawn=drawn: b.execute_script(drawn))
        for figure in browser.find_elements(By.CSS_SELECTOR, ".live-figure"):
            for choice in figure.find_elements(By.TAG_NAME, "select"):
                select, before = Select(choice), drawing(browser, figure)
                chosen = select.first_selected_option.text
                others = [o.text for o in select.options if o.text != chosen]
                if not others:  # a small profile may have run one value alone
                    continue
                select.select_by_visible_text(others[-1])
                where = f"{path.name}: {choice.get_attribute('name')} = {others[-1]}"
                WebDriverWait(browser, 5).until(
                    lambda b, f=figure, before=before: drawing(b, f) != before, where
                )
                select.select_by_visible_text(chosen)
                tried += 1
        assert complaints(browser) == [], path.name
    assert tried >= 5


def drawing(browser, figure):
    marks = "arguments[0].querySelectorAll('svg.marks path, svg.marks text')"
    return browser.execute_script(
        f"return [...{marks}].map((m) => m.getAttribute('d') + m.textContent).join('|')", figure
    )


def test_every_player_plays(pages, browser):
    playing = """
        const [sound, done] = arguments;
        sound.muted = true;
        sound.addEventListener('timeupdate', () => sound.currentTime > 0 && done('plays'));
        sound.play().catch((error) => done(String(error)));
    """
    browser.set_script_timeout(10)
    tried = 0
    for path in (path for path, page in pages.items() if page.find("audio")):
        open_page(browser, path)
        browser.find_element(
            By.CSS_SELECTOR, "article h1"
        ).click()  # browsers play nothing before that
        for sound in browser.find_elements(By.TAG_NAME, "audio"):
            assert browser.execute_async_script(playing, sound) == "plays", path.name
            browser.execute_script("arguments[0].pause()", sound)
            tried += 1
    assert tried >= 5


@pytest.mark.parametrize("word", ["linkability", "household", "SegReConcat"])
def test_the_search_finds_a_word_without_a_network(browser, word):
    browser.get(f"{(HTML / 'search.html').as_uri()}?q={word}")
    found = "#search-results ul.search li a"
    wait = WebDriverWait(browser, 20)
    wait.until(lambda b: b.find_elements(By.CSS_SELECTOR, found), "the search found nothing")
    assert outside_requests(browser) == []
    assert complaints(browser) == []
