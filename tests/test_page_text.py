"""Markdown for generated pages, and pages that change only with their text."""

import sys

from conftest import ROOT
from markdown_it import MarkdownIt

sys.path.insert(0, str(ROOT / "workflow"))
from page_text import code, plain, table, write_page

AWKWARD = r"a|b < c_d_e * f* [g] {h} <i> $j$ ~k~ `l` \m #n"


def test_text_is_shown_as_it_is():
    shown = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    html = shown.render(table(["x", "y"], [[plain(AWKWARD), "z"]]))
    text = AWKWARD.replace("<", "&lt;").replace(">", "&gt;")
    assert f"<td>{text}</td>\n<td>z</td>" in html
    assert "<td>one line</td>" in shown.render(table(["x"], [[plain("one\nline")]]))


def test_code_in_a_cell_keeps_its_bars_and_ticks():
    shown = MarkdownIt("commonmark").enable("table")
    for text in ("int | None", "a`b", "'x'"):
        assert f"<code>{text}</code>" in shown.render(table(["x"], [[code(text)]]))


def test_a_page_that_says_the_same_is_left_alone(tmp_path):
    path = tmp_path / "deep" / "page.md"
    write_page(path, "≈ 1")
    before = path.stat().st_mtime_ns
    write_page(path, "≈ 1")
    assert path.stat().st_mtime_ns == before
    write_page(path, "≈ 2")
    assert path.read_text(encoding="utf-8") == "≈ 2"
