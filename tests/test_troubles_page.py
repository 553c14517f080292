"""What book/troubles.md quotes is what the package says."""

import ast
import re

import pytest
import yaml
from conftest import ROOT
from every_command import command, leaves

from voiceprivacy.cli._ending import FAULT, INTERRUPTED, USER

TEXT = (ROOT / "book" / "troubles.md").read_text(encoding="utf-8")
MESSAGES = re.findall(r"^\| `([^`]*)` \|", TEXT, re.M)
GAP = "…"
SIDES = {"name": "pool", "other_name": "enrolment"}


def filled(value, known):
    """A part of an f-string: itself, what is known to be put in, or a gap."""
    if isinstance(value, ast.Constant):
        return str(value.value)
    return known.get(ast.unparse(value.value), GAP)


def texts(node):
    """The texts in a module, each whole as it is told, with a gap for what is put in."""
    for part in ast.walk(node):
        if isinstance(part, ast.JoinedStr):
            for known in ({}, SIDES):
                yield "".join(filled(value, known) for value in part.values)
        elif isinstance(part, ast.Constant) and isinstance(part.value, str):
            yield part.value


@pytest.fixture(scope="module")
def source():
    files = (ROOT / "src").rglob("*.py")
    return "\n".join(text for file in files for text in texts(ast.parse(file.read_text("utf-8"))))


def parts(message):
    """What is fixed in a message: between gaps, numbers, examples in quotes, and punctuation."""
    found = re.split(r"…|\d+(?![A-Za-z])|(?<!\w)'[^']*'|[:(),.;<>/]", message)
    return [part.strip() for part in found if len(part.split()) > 1]


@pytest.mark.parametrize("message", MESSAGES)
def test_every_message_is_one_of_the_package(message, source):
    words = parts(message)
    assert words
    assert [part for part in words if part.casefold() not in source.casefold()] == []


def test_the_page_is_in_the_book_and_has_a_table_for_each_group():
    assert "book/troubles" in (ROOT / "_toc.yml").read_text("utf-8")
    assert yaml.safe_load((ROOT / "_toc.yml").read_text("utf-8"))
    groups = re.split(r"^## ", TEXT, flags=re.M)[1:]
    assert len(groups) > 8
    assert [g.splitlines()[0] for g in groups if "| message | what to do |" not in g] == []
    assert len(MESSAGES) == len(set(MESSAGES)) > 60


def test_the_statuses_are_those_of_the_commands():
    told = [int(n) for n in re.findall(r"^\| (\d+) \|", TEXT, re.M)]
    assert told == [0, USER, FAULT, INTERRUPTED]


def test_every_option_and_command_exists():
    options = {o for name in leaves() for p in command(name).params for o in p.opts}
    named = set(re.findall(r"(?<![\w-])--[a-z]+(?:-[a-z]+)*", TEXT)) - {"--debug", "--version"}
    assert named <= options
    called = set(re.findall(r"`voiceprivacy ([a-z]+)", TEXT))
    assert called <= {name.split()[0] for name in leaves()}
