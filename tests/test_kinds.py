"""Kinds of parameter values: what is declared, what conforms, what text becomes."""

import ast
from typing import Any

import pytest

from voiceprivacy.kinds import conforms, declared_kind, kind_name, read_as


def kind_of(line):
    statement = ast.parse(line).body[0]
    return declared_kind(getattr(statement, "annotation", None), statement.value)


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("x: int = 3", int),
        ("x: float = 3", float),
        ("x = 3", int),
        ("x = True", bool),
        ("x = -2.5", float),
        ("x = '0084'", str),
        ("x: list[int] = [30]", list[int]),
        ("x: list[float] = [1, 2]", list[float]),
        ("x: dict[str, float] = {}", dict[str, float]),
        ("x: int | None = None", int | None),
        ("x: list = ['OA', 'LSOA']", list[str]),
        ("x = [1, 2.5]", list[float]),
        ("x = [1, 'a']", list[Any]),
        ("x = {'OA': 1}", dict[str, int]),
        ("x: list = []", list),
        ("x = None", Any),
        ("x = range(3)", Any),
        ("x: Path = None", Any),
        ("x: list[int, str] = None", Any),
    ],
)
def test_a_kind_comes_from_the_annotation_and_else_from_the_default(line, kind):
    assert kind_of(line) == kind


@pytest.mark.parametrize(
    ("value", "kind", "expected"),
    [
        (3, int, True),
        (3, float, True),
        (3.0, int, False),
        (True, int, False),
        (True, float, False),
        (True, bool, True),
        (1, bool, False),
        (84, str, False),
        (["a"], list[str], True),
        (["a", 84], list[str], False),
        ([[1], [2]], list[list[int]], True),
        ({"d": 1.2}, dict[str, float], True),
        ({1: 1.2}, dict[str, float], False),
        ("[1]", list[int], False),
        (None, int | None, True),
        (None, int, False),
        (object(), Any, True),
    ],
)
def test_conforms(value, kind, expected):
    assert conforms(value, kind) is expected


@pytest.mark.parametrize(
    "text", ["0084", "1089_134686", "1e5", "None", "0012", "no", "true", "[a", ""]
)
def test_identifiers_stay_the_text_they_are(text):
    assert read_as(text, str) == text
    assert read_as(text, Any) == text
    assert read_as(text, str | None) == text


def test_identifiers_in_lists_and_dictionaries_stay_text():
    assert read_as("[0084, 1e5, no, NA]", list[str]) == ["0084", "1e5", "no", "NA"]
    assert read_as("{0084: 3}", dict[str, int]) == {"0084": 3}


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("0084", int, 84),
        ("-3", int, -3),
        ("1e5", float, 1e5),
        ("false", bool, False),
        ("True", bool, True),
        ("[30, 100]", list[int], [30, 100]),
        ('["OA", "LSOA"]', list[str], ["OA", "LSOA"]),
        ("[]", list[int], []),
        ("{d: 1, w: .5}", dict[str, float], {"d": 1.0, "w": 0.5}),
        ("null", int | None, None),
        ("7", int | None, 7),
    ],
)
def test_text_becomes_the_declared_kind(text, kind, value):
    result = read_as(text, kind)
    assert result == value
    assert type(result) is type(value)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("1e5", int),
        ("1_000", int),
        ("yes", bool),
        ("30, 100", list[int]),
        ("[1, x]", list[int]),
        ("[1", list[int]),
        ("", int),
        ("one", float),
    ],
)
def test_what_cannot_be_read_stays_text(text, kind):
    assert read_as(text, kind) == text


def test_names_of_kinds():
    assert [kind_name(kind) for kind in (int, dict[str, float], int | None, Any)] == [
        "int",
        "dict[str, float]",
        "int | None",
        "any",
    ]
