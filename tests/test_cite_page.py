"""The page on citing shows one whole entry of references.bib a block, and the software as it is."""

import re
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[1]
ENTRIES = (ROOT / "book" / "references.bib").read_text(encoding="utf-8")


def shown():
    """Yield the text of every block as Sphinx cuts it: from one line to the line before another."""
    page = (ROOT / "book" / "cite.md").read_text(encoding="utf-8")
    for start, end in re.findall(r':start-at: "(.*)"\n:end-before: "(.*)"', page):
        first = ENTRIES.index(start)
        yield ENTRIES[first : ENTRIES.index(end, first)]


def test_every_block_is_one_whole_entry():
    blocks = list(shown())
    keys = [re.findall(r"^@\w+\{(\w+),", block, re.M) for block in blocks]
    assert keys == [["sideinformation"], ["segreconcat"], ["vauquier2025legally"], ["voiceprivacy"]]
    assert all(block.strip().endswith("}") for block in blocks)


def test_the_software_is_the_one_of_citation_cff():
    said = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    *_, software = shown()
    assert f"{{{said['title']}}}" in software
    assert f"{{{said['version']}}}" in software
    assert said["authors"][0]["name"] in software
