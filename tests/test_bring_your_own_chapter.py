"""What book/bring_your_own.md names exists: options, columns, and the words of messages."""

import re

import pytest
from conftest import ROOT
from test_cautions import evaluated

from voiceprivacy.cli import embeddings, isolate

TEXT = (ROOT / "book" / "bring_your_own.md").read_text(encoding="utf-8")
SOURCE = "".join(path.read_text("utf-8") for path in (ROOT / "src").rglob("*.py"))


def test_every_option_exists():
    commands = [isolate.command, *embeddings.command.commands.values()]
    options = {name for one in commands for parameter in one.params for name in parameter.opts}
    named = set(re.findall(r"--[a-z]+(?:-[a-z]+)*", TEXT))
    assert len(named) > 10
    assert named <= options


def test_every_column_exists():
    table = TEXT.split("| column | meaning |")[1].split("\n\n")[0]
    columns = set(re.findall(r"`([a-z_]+)`", "\n".join(re.findall(r"^\|[^|]*", table, re.M))))
    assert {"observed", "chance", "evaluations"} < columns
    assert columns <= set(evaluated().summary().columns)


def messages():
    table = TEXT.split("| message | what to do |")[1]
    return re.findall(r"^\| `([^`]*)` \|", table, re.M)


@pytest.mark.parametrize("message", messages())
def test_the_words_of_every_message_are_those_of_the_package(message):
    # The parts between numbers, names and omissions; source strings are broken over lines.
    source = re.sub(r'"\s*f?"', "", SOURCE)
    source = source.replace("{name}", "pool").replace("{other_name}", "enrolment")
    parts = re.split(r"…|\d+|(?<!\w)'[^']*'|[:(),.;]", message)
    words = [part.strip() for part in parts if len(part.split()) > 2]
    assert words
    assert [part for part in words if part not in source] == []
