"""What book/bring_your_own.md names exists: options and columns."""

import re

from conftest import ROOT
from test_cautions import evaluated

from voiceprivacy.cli import embeddings, isolate

TEXT = (ROOT / "book" / "bring_your_own.md").read_text(encoding="utf-8")


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
