"""`voiceprivacy run`."""

import nbformat
import pytest
from click.testing import CliRunner
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from voiceprivacy import cli
from voiceprivacy.cli import run as run_command


@pytest.fixture
def shipped(tmp_path, monkeypatch):
    """A folder of shipped notebooks with one small notebook, and an empty working folder."""
    book = new_notebook(
        cells=[
            new_markdown_cell("Made by hand.\n\n# A small notebook"),
            new_code_cell(
                "speaker: str = '0084'  # who\nsizes: list[int] = [30]  # N",
                metadata={"tags": ["parameters"]},
            ),
            new_code_cell("print(repr(speaker), sizes)"),
        ]
    )
    folder = tmp_path / "shipped"
    folder.mkdir()
    nbformat.write(book, folder / "si_small.ipynb")
    monkeypatch.setattr(run_command, "shipped", lambda name: folder)
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    return folder


def run(*arguments):
    return CliRunner().invoke(cli.main, ["run", *arguments])


def output_of(path):
    return nbformat.read(path, as_version=4).cells[-1].outputs[0].text


def test_a_shipped_notebook_runs_by_its_name_with_text_kept_as_text(shipped, tmp_path):
    result = run("si_small", "-p", "speaker", "1e5", "-p", "sizes", "[30, 100]")
    assert result.exit_code == 0, result.output
    out = tmp_path / "work" / "build" / "adhoc" / "notebooks" / "si_small.ipynb"
    assert result.output == f"Executed notebook: {out}\n"
    assert output_of(out) == "'1e5' [30, 100]\n"


def test_a_path_runs_too_and_out_says_where_to(shipped, tmp_path):
    result = run(str(shipped / "si_small.ipynb"), "--out", "new folder/x.ipynb")
    assert result.exit_code == 0, result.output
    assert output_of(tmp_path / "work" / "new folder" / "x.ipynb") == "'0084' [30]\n"


def test_the_list_shows_names_and_titles(shipped):
    assert run("--list").output == "si_small  A small notebook\n"


def test_help_parameters_shows_kind_default_and_comment(shipped):
    lines = run("si_small", "--help-parameters").output.splitlines()
    assert lines[1:] == [
        "  speaker  str        '0084'  who",
        "  sizes    list[int]  [30]    N",
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["si_small", "-p", "size", "[3]"], "did you mean 'sizes'?"),
        (["si_small", "-p", "sizes", "3"], "declared as list[int]"),
        (["si_smal"], "no notebook 'si_smal': neither a file nor a shipped notebook; did you mean"),
        (["si_small", "--out", "x.html"], "must end in .ipynb"),
    ],
)
def test_bad_input_is_one_message_and_nothing_is_made(shipped, tmp_path, arguments, message):
    result = run(*arguments)
    assert result.exit_code == 2
    assert message in result.output
    assert len(result.output.splitlines()) == 1
    assert list((tmp_path / "work").iterdir()) == []


def test_no_notebook_is_a_usage_error(shipped):
    result = run()
    assert result.exit_code == 2
    assert "--list" in result.output
