"""The section that ends an executed notebook's page: its lines run what was run."""

import shlex
import sys

import pytest
import yaml
from click.testing import CliRunner
from conftest import ROOT
from markdown_it import MarkdownIt
from nbformat.v4 import new_code_cell, new_notebook
from papermill.cli import NoDatesSafeLoader, papermill

from voiceprivacy.kinds import kind_name
from voiceprivacy.parameters import declared_parameters, from_text, read_notebook

sys.path.insert(0, str(ROOT / "workflow"))
sys.path.insert(0, str(ROOT / "book" / "_ext"))
from grid import PROFILES, read_grid
from run_again import given_values, own_line, papermill_line, parameters_table, section

GRID = ROOT / "config" / "profiles.yaml"
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
every_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
AWKWARD = {
    "speaker": "0084",
    "empty": "",
    "quoted": 'it\'s "so"',
    "small": 1e-05,
    "shares": {"OA": 0.5, "1": 1},
    "names": ["no augmentation", "0084", "a, b", "true", "it's"],
    "flag": True,
    "nothing": None,
}
DECLARED = """\
speaker: str = ""  # who
empty: str = "x"  # e
quoted: str = ""  # q
small: float = 1.0  # s
shares: dict[str, float] = {}  # f
names: list[str] = []  # n
flag: bool = False  # b
nothing: int = 1  # kept at None below
"""


def executed(source, **given):
    cell = new_code_cell(source, metadata={"tags": ["parameters"]})
    return new_notebook(cells=[cell], metadata={"papermill": {"parameters": given}})


def values_of(line, declared):
    """What our own command line makes of a line's parameters."""
    words = shlex.split(line)[3:]
    assert words[::3] == ["-p"] * (len(words) // 3)
    return from_text(zip(words[1::3], words[2::3], strict=True), declared, "x")


def papermill_values(line, monkeypatch):
    """What papermill's command line would run a notebook with."""
    seen = {}
    monkeypatch.setattr("papermill.cli.execute_notebook", lambda **call: seen.update(call))
    result = CliRunner().invoke(papermill, shlex.split(line)[1:], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return seen["parameters"]


@every_notebook
def test_both_lines_give_the_values_of_the_run(path):
    declared = declared_parameters(read_notebook(path))
    for profile in PROFILES:
        (run,) = (run for run in read_grid(GRID, profile) if run.name == path.stem)
        assert values_of(own_line(path.stem, run.parameters), declared) == run.parameters
        words = shlex.split(papermill_line(f"notebooks/{path.name}", run.parameters))
        assert words[:3] == ["papermill", f"notebooks/{path.name}", "out.ipynb"]
        given = yaml.load(words[4], Loader=NoDatesSafeLoader) if words[3:] else {}
        assert given == run.parameters


def test_awkward_values_survive_both_command_lines(monkeypatch):
    assert papermill_values(papermill_line("a.ipynb", AWKWARD), monkeypatch) == AWKWARD
    declared = declared_parameters(executed(DECLARED.replace("nothing: int = 1", "nothing = None")))
    found = values_of(own_line("a", AWKWARD), declared)
    assert found.pop("nothing") == "null"  # of no declared kind: stays text
    assert found == {name: value for name, value in AWKWARD.items() if name != "nothing"}


def cells_of(text):
    html = MarkdownIt("commonmark").enable("table").render(text)
    assert html.startswith("<table>")
    rows = html.split("<tbody>")[1].split("<tr>")[1:]
    return [[cell.split("</td>")[0] for cell in row.split("<td>")[1:]] for row in rows]


def escaped(text):
    for character, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;")):
        text = text.replace(character, entity)
    return text


@every_notebook
def test_the_table_has_each_parameter_as_declared(path):
    declared = declared_parameters(read_notebook(path))
    rows = cells_of(parameters_table(declared, {}))
    assert len(rows) == len(declared)
    for cells, one in zip(rows, declared.values(), strict=True):
        wanted = [one.name, kind_name(one.kind), one.default, one.default]
        assert cells[:4] == [f"<code>{escaped(text)}</code>" for text in wanted]
    plain = [one.comment for one in declared.values() if one.comment.isalnum()]
    assert [cells[4] for cells in rows if cells[4].isalnum()] == plain


def test_the_table_shows_what_the_run_was_given():
    notebook = executed("n: int = 9  # how many | which\nx: str = 'a|b'  # x", n=4, gone=1)
    assert given_values(notebook) == {"n": 4}
    rows = cells_of(parameters_table(declared_parameters(notebook), given_values(notebook)))
    assert rows[0] == [*(f"<code>{t}</code>" for t in ("n", "int", "9", "4")), "how many | which"]
    assert rows[1][3] == "<code>'a|b'</code>"


def test_the_section_leaves_out_the_workflows_own_folder_and_binder_without_github():
    notebook = executed("n: int = 9  # n\noutput_folder: str = ''", n=4, output_folder="build/x")
    text = section("a", notebook)
    assert "voiceprivacy run a -p n 4\n" in text
    assert "-y '{n: 4}'\n" in text
    assert "`` 'build/x' ``" in text
    assert "mybinder" not in text
    assert "gh/o/r/main?urlpath=lab/tree/notebooks/a.ipynb" in section("a", notebook, "o/r")


def test_a_notebook_without_parameters_says_so():
    text = section("a", new_notebook(cells=[new_code_cell("1")]))
    assert "voiceprivacy run a\n" in text
    assert "papermill notebooks/a.ipynb out.ipynb\n" in text
    assert "It has no parameters." in text
