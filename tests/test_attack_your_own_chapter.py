"""What book/attack_your_own.md names exists: commands, options, files and Python."""

import ast
import importlib
import re

import pytest
from conftest import ROOT

TEXT = (ROOT / "book" / "attack_your_own.md").read_text(encoding="utf-8")
LINES = re.findall(r"^voiceprivacy (\w+) ((?:.*\\\n)*.*)$", TEXT, re.M)
PYTHON = re.findall(r"```python\n(.*?)```", TEXT, re.S)


def options(command):
    module = importlib.import_module(f"voiceprivacy.cli.{command}")
    return {name for parameter in module.command.params for name in parameter.opts}


@pytest.mark.parametrize(("command", "rest"), LINES)
def test_every_command_has_the_options_it_is_called_with(command, rest):
    assert set(re.findall(r"--[a-z]+", rest)) <= options(command)


def test_there_are_commands_to_check():
    assert {command for command, _ in LINES} == {"anonymize", "attack", "augment", "segment"}


def test_every_file_that_is_named_is_there():
    named = re.findall(r"`(config/[\w/.]+)`", TEXT)
    assert len(named) == 2
    assert all((ROOT / name).exists() for name in named)


@pytest.mark.parametrize("code", PYTHON)
def test_what_the_python_imports_is_there(code):
    imports = [node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.ImportFrom)]
    assert imports
    for node in imports:
        module = importlib.import_module(node.module)
        assert all(hasattr(module, alias.name) for alias in node.names)
