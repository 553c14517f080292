"""A notebook's declared parameters, and the check of given ones."""

import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from voiceprivacy.errors import VoicePrivacyError
from voiceprivacy.parameters import checked, declared_parameters, from_text, read_notebook


def notebook(source, tag="parameters"):
    cells = [new_markdown_cell("# Title"), new_code_cell(source, metadata={"tags": [tag]})]
    return new_notebook(cells=cells)


SOURCE = """\
# How many
n_targets: int = 495  # targets a draw
speaker = "0084"
levels: list[str] = [  # coarse to fine
    "MSOA",
    "OA",
]
share = 0.5; seed = 0
"""


@pytest.fixture
def declared():
    return declared_parameters(notebook(SOURCE))


def test_declarations_keep_their_order_kinds_defaults_and_comments(declared):
    assert [(p.name, p.kind, p.default, p.comment) for p in declared.values()] == [
        ("n_targets", int, "495", "targets a draw"),
        ("speaker", str, "'0084'", ""),
        ("levels", list[str], "['MSOA', 'OA']", "coarse to fine"),
        ("share", float, "0.5", ""),
        ("seed", int, "0", ""),
    ]


def test_a_notebook_without_the_tag_declares_nothing():
    assert declared_parameters(notebook("n = 1", tag="other")) == {}


def test_the_first_tagged_cell_counts():
    book = notebook("n = 1")
    book.cells += notebook("m = 1").cells
    assert list(declared_parameters(book)) == ["n"]


def test_other_statements_declare_nothing():
    assert list(declared_parameters(notebook("import os\nn = 1\nn.x = 2\nm: int\n"))) == ["n"]


def test_a_magic_in_the_parameters_cell_is_refused():
    with pytest.raises(VoicePrivacyError, match="not plain Python: line 2"):
        declared_parameters(notebook("n = 1\n%matplotlib inline"))


def test_right_values_pass_unchanged(declared):
    values = {"n_targets": 3, "share": 1, "levels": ["OA"]}
    assert checked(values, declared, "x") == values


def test_an_unknown_name_is_refused_with_the_closest_one(declared):
    with pytest.raises(VoicePrivacyError, match=r"si has no parameter 'n_target'; did you mean"):
        checked({"n_target": 3}, declared, "si")
    with pytest.raises(VoicePrivacyError, match=r"has no parameter 'zzz'\. It has: n_targets, "):
        checked({"zzz": 3}, declared, "si")


def test_a_notebook_without_parameters_says_so():
    with pytest.raises(VoicePrivacyError, match="none of its cells is tagged 'parameters'"):
        checked({"n": 3}, {}, "si")


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("speaker", 84, "'speaker' is declared as str .*got 84, a int.*in quotes"),
        ("n_targets", 3.5, "'n_targets' is declared as int .*default 495.*a whole number"),
        ("levels", "OA", r"declared as list\[str\].*a list in brackets"),
        ("n_targets", True, "got True, a bool"),
    ],
)
def test_a_wrong_kind_is_refused_with_what_to_give(declared, name, value, message):
    with pytest.raises(VoicePrivacyError, match=message):
        checked({name: value}, declared, "si")


def test_text_is_taken_as_declared(declared):
    pairs = [("speaker", "0084"), ("n_targets", "30"), ("levels", "[OA]"), ("share", "1e-1")]
    assert from_text(pairs, declared, "si") == {
        "speaker": "0084",
        "n_targets": 30,
        "levels": ["OA"],
        "share": 0.1,
    }


def test_text_of_a_wrong_kind_or_a_repeated_name_is_refused(declared):
    with pytest.raises(VoicePrivacyError, match="got 'many'"):
        from_text([("n_targets", "many")], declared, "si")
    with pytest.raises(VoicePrivacyError, match="more than once: 'seed'"):
        from_text([("seed", "1"), ("seed", "2")], declared, "si")


@pytest.mark.parametrize("content", ["", "no notebook", "{}", '{"cells": 3, "nbformat": 4}'])
def test_a_file_that_is_no_notebook_is_refused(tmp_path, content):
    path = tmp_path / "x.ipynb"
    path.write_text(content)
    with pytest.raises(VoicePrivacyError, match=r"x\.ipynb is not a Jupyter notebook"):
        read_notebook(path)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(VoicePrivacyError, match=r"gone\.ipynb: No such file"):
        read_notebook(tmp_path / "gone.ipynb")
