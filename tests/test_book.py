"""The book: its table of contents, its pages read from disk, and what it asks the network for."""

import re
import shutil
import sys
import time
from html import unescape

import nbformat
import pytest
import yaml
from browsing import complaints, open_page, outside_requests
from conftest import ROOT
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from small_books import CHAPTERS, build_small_book

sys.path.insert(0, str(ROOT / "workflow"))
from build_book import (
    BookError,
    check_built,
    check_jupyter_book,
    check_pages,
    make_book,
    pages,
    place_executed,
)
from print_book import BROWSERS, print_book

OUTSIDE = re.compile(
    r'<(?:script|img|link|iframe|source)\b[^>]*\b(?:src|href)="(?:https?:)?//[^"]*'
)
DELIVERY_NETWORKS = ("cdn.jsdelivr", "cdnjs.", "unpkg.com", "googleapis", "gstatic")


def executed_notebook():
    """What papermill leaves behind: a notebook with parameters, a figure and a formula."""
    figure = new_output("display_data", {"image/png": PNG, "text/plain": "<Figure>"})
    cells = [
        new_markdown_cell("# Isolation\n\nBlocks of $N$ speakers: $(1 - 1/N)^{N-1}$."),
        new_code_cell("n: int = 9  # how many", metadata={"tags": ["parameters"]}),
        new_code_cell("plot()", outputs=[figure], execution_count=1),
    ]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    given = {"parameters": {"n": 4}, "duration": 2.0, "start_time": "2026-12-01T05:21:01"}
    return new_notebook(cells=cells, metadata={"kernelspec": kernel, "papermill": given})


PNG = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJg"
    "gg=="
)


@pytest.fixture(scope="session")
def small_book(tmp_path_factory):
    """A small book with our configuration, built by our own script."""
    return build_small_book(tmp_path_factory.mktemp("small book"), executed_notebook())


@pytest.fixture(params=["small", pytest.param("whole", marks=pytest.mark.slow)])
def html(request):
    """The folder of built pages: of the small book, and of the real one if it was built."""
    if request.param == "small":
        return request.getfixturevalue("small_book") / "_build" / "html"
    built = ROOT / "_build" / "html"
    if not (built / "index.html").exists():
        pytest.skip("the book is not built: make book PROFILE=smoke")
    return built


def toc_pages(root):
    return list(pages(yaml.safe_load((root / "_toc.yml").read_text())))


# The built pages.


def test_every_page_of_the_table_of_contents_is_built(html):
    root = html.parents[1]
    assert check_built(root, toc_pages(root)) == html / "index.html"


def test_no_page_loads_anything_from_outside(html):
    for page in html.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        assert OUTSIDE.findall(text) == [], page
        assert not [host for host in DELIVERY_NETWORKS if host in text], page


def test_no_executed_copy_holds_an_error_or_an_output_without_a_still_form(html):
    for path in (html.parents[1] / "book" / "_executed").glob("*.ipynb"):
        notebook = nbformat.read(path, as_version=4)
        outputs = [out for cell in notebook.cells for out in cell.get("outputs", [])]
        assert not [out for out in outputs if out.output_type == "error"], path
        shown = [out.data for out in outputs if "data" in out]
        assert all({"text/html", "text/plain", "image/png"} & set(data) for data in shown), path
        assert not [data for data in shown if "application/vnd.jupyter.widget-view+json" in data]


def test_buttons_lead_to_the_source_of_an_executed_notebook(small_book):
    text = (small_book / "_build/html/book/_executed/si_small.html").read_text()
    assert "mybinder.org/v2/gh/ours/vp/main?urlpath=lab/tree/notebooks/si_small.ipynb" in text
    github = [link for link in re.findall(r'href="([^"]+)"', text) if "github.com" in link]
    assert not [link for link in github + re.findall('mybinder[^"]+', text) if "_executed" in link]
    (download,) = re.findall(r'href="([^"]+_sources/[^"]+)"', text)
    assert (small_book / "_build/html/book/_executed" / download).is_file()


def test_a_clone_from_elsewhere_has_no_dead_buttons(small_book, tmp_path):
    root = tmp_path / "clone"
    shutil.copytree(small_book, root, ignore=shutil.ignore_patterns("_build", ".git"))
    text = make_book(root, "smoke").parent.joinpath("book", "intro.html").read_text()
    assert "github.com" not in text
    assert "mybinder" not in text


def test_an_executed_notebooks_page_ends_with_how_to_run_it_again(small_book):
    text = (small_book / "_build/html/book/_executed/si_small.html").read_text()
    section = text[text.index("<details") :]
    plain = unescape(re.sub(r"<[^>]+>", "", section))
    assert "Run it again" in plain
    assert "voiceprivacy run si_small -p n 4" in plain
    assert "papermill notebooks/si_small.ipynb out.ipynb -y '{n: 4}'" in plain
    assert re.search(r"n\s+int\s+9\s+4\s+how many", plain)
    assert "<details" not in (small_book / "_build/html/book/intro.html").read_text()


def test_binder_opens_a_file_that_exists(small_book):
    text = (small_book / "_build/html/book/_executed/si_small.html").read_text()
    opened = re.findall(r"mybinder\.org/v2/gh/ours/vp/main\?urlpath=lab/tree/([^\"&]+)", text)
    assert len(opened) == 2  # the rocket, and the section at the end
    assert all((small_book / path).is_file() for path in opened)


def test_the_scoreboard_is_built_and_links_to_the_page_of_each_number(small_book):
    text = (small_book / "_build/html/book/_generated/scoreboard.html").read_text()
    (row,) = re.findall(r"<tr[^>]*>(?:(?!</tr>).)*0\.587 \(0\.580.*?</tr>", text, re.DOTALL)
    assert "matches" in row
    assert 'href="../_executed/si_small.html"' in row


def test_a_second_build_finds_nothing_to_do(small_book):
    watched = [*small_book.glob("book/_*ed/*"), *small_book.glob("_build/html/**/*.html")]
    before = {path: path.stat().st_mtime_ns for path in watched}
    assert len(before) > 2 * len(CHAPTERS)
    start = time.monotonic()
    make_book(small_book, "smoke")
    assert time.monotonic() - start < 60
    pages = [path for path in before if path.parent.name != "html"]
    assert [path for path in pages if path.stat().st_mtime_ns != before[path]] == []


# In a browser, from disk.


def test_every_page_opens_from_disk_without_the_network(html, browser):
    root = html.parents[1]
    for name in ["index", *toc_pages(root)]:
        open_page(browser, html / f"{name}.html")
        assert outside_requests(browser) == [], name
        assert complaints(browser) == [], name


def test_formulas_are_drawn_in_their_own_font(small_book, browser):
    open_page(browser, small_book / "_build/html/book/intro.html")
    loaded = "[...document.fonts].filter(font => font.status == 'loaded')"
    families = f"return document.fonts.ready.then(() => {loaded}.map(font => font.family))"
    assert any("MJXTEX" in family for family in browser.execute_script(families))


def test_a_phone_shows_no_page_wider_than_itself(html, browser):
    browser.set_window_size(500, 900)  # the narrowest that Chromium makes a window
    for name in toc_pages(html.parents[1]):
        open_page(browser, html / f"{name}.html")
        width = browser.execute_script("return document.documentElement.scrollWidth")
        assert width <= browser.execute_script("return window.innerWidth"), name


# On paper.


@pytest.mark.skipif(not any(map(shutil.which, BROWSERS)), reason="needs Chromium")
def test_a_page_is_printed_whole(small_book):
    pypdf = pytest.importorskip("pypdf", reason="the book extra is not installed")
    printed = pypdf.PdfReader(print_book(small_book, "si_small"))
    assert [entry.title for entry in printed.outline] == ["Isolation"]
    text = " ".join("".join(page.extract_text() for page in printed.pages).split())
    assert "how many" in text
    assert "Blocks of" in text


def test_what_cannot_be_printed_is_told(small_book, tmp_path, monkeypatch):
    with pytest.raises(BookError, match=r"no page 'si_smal'; there are: intro, si_small, scoreb"):
        print_book(small_book, "si_smal")
    with pytest.raises(BookError, match="not built: make book"):
        print_book(tmp_path)
    monkeypatch.setattr("shutil.which", lambda name: None)
    with pytest.raises(BookError, match="no Chromium to print with; install one of chromium"):
        print_book(small_book, "si_small")


# Before and after the build.


@pytest.mark.parametrize("found", ["2.1.2", "0.15.1"])
def test_another_major_version_of_jupyter_book_is_refused(found):
    with pytest.raises(BookError, match=f">=1,<2, but {found} is installed"):
        check_jupyter_book(found)


def test_pages_come_from_parts_chapters_and_sections():
    toc = {
        "root": "a",
        "chapters": [{"file": "b", "sections": [{"file": "c"}, {"url": "https://x"}]}],
        "parts": [{"caption": "P", "chapters": [{"file": "d"}]}],
    }
    assert list(pages(toc)) == ["a", "d", "b", "c"]


def test_faults_of_the_table_of_contents_are_named_by_entry(tmp_path):
    with pytest.raises(BookError, match="the entry `root`"):
        list(pages({"format": "jb-book"}))
    with pytest.raises(BookError, match="lists 'book/gone', but there is no such file"):
        check_pages(tmp_path, ["book/gone"])
    with pytest.raises(BookError, match="write / between folders"):
        check_pages(tmp_path, ["book\\intro"])
    with pytest.raises(BookError, match=r"not in config/profiles\.yaml"):
        check_pages(tmp_path, ["book/_executed/gone"])


def test_a_page_that_was_not_built_is_named(tmp_path):
    (tmp_path / "_build" / "html").mkdir(parents=True)
    with pytest.raises(BookError, match=r"without index\.html"):
        check_built(tmp_path, ["book/intro"])


def test_the_executed_copies_are_those_of_one_profile(tmp_path):
    for profile in ("smoke", "book"):
        (tmp_path / "build" / profile / "notebooks").mkdir(parents=True)
        (tmp_path / "build" / profile / "notebooks" / "a.ipynb").write_text(profile)
    copy = tmp_path / "book" / "_executed" / "a.ipynb"
    place_executed(tmp_path, ["a"], "smoke")
    before = copy.stat().st_mtime_ns
    place_executed(tmp_path, ["a"], "smoke")
    assert copy.stat().st_mtime_ns == before
    place_executed(tmp_path, ["a"], "book")
    assert copy.read_text() == "book"
    with pytest.raises(BookError, match="b has not been run under book: make book PROFILE=book"):
        place_executed(tmp_path, ["b"], "book")
    assert not copy.exists()


def test_a_warning_stops_the_build(small_book, tmp_path, capfd):
    root = tmp_path / "faulty"
    shutil.copytree(small_book, root, ignore=shutil.ignore_patterns("_build"))
    (root / "book" / "intro.md").write_text("# A book\n\n[](gone.md)\n")
    with pytest.raises(BookError, match="the warnings above name the pages"):
        make_book(root, "smoke")
    assert "gone.md" in "".join(capfd.readouterr())
