"""The rules that every notebook keeps, and that the rules see what breaks them."""

import ast
import re
import sys
from typing import Any, get_args

import nbformat
import pytest
import yaml
from conftest import ROOT
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from papermill import inspect_notebook

from voiceprivacy.errors import VoicePrivacyError
from voiceprivacy.parameters import (
    assigned_names,
    checked,
    declared_parameters,
    parameters_cells,
    read_notebook,
)

sys.path.insert(0, str(ROOT / "workflow"))
from build_book import pages
from grid import PROFILES, read_grid

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
every_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def code_cells(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def faults(path):
    """Yield what a notebook does against the rules of CONTRIBUTING.md."""
    notebook = read_notebook(path)
    kernel = notebook.metadata.get("kernelspec", {})
    if (kernel.get("name"), kernel.get("language")) != ("python3", "python"):
        yield "its kernelspec is not python3 with the language python"
    yield from title_faults(notebook)
    if any(cell.outputs or cell.execution_count for cell in code_cells(notebook)):
        yield "its outputs are not stripped"
    if len(parameters_cells(notebook)) != 1:
        yield "it needs exactly one cell tagged parameters"
    else:
        yield from parameter_faults(notebook)
        if list(inspect_notebook(path)) != list(declared_parameters(notebook)):
            yield "papermill reads other parameters (no | in annotations, no second = in a line)"
    for cell in code_cells(notebook):
        if is_plumbing(cell) and "hide-input" not in cell.metadata.get("tags", []):
            yield f"a cell needs the tag hide-input: {cell.source.splitlines()[0]} ..."
    yield from code_faults("\n".join(cell.source for cell in code_cells(notebook)))


def is_plumbing(cell):
    """Whether a reader of the book can do without a cell: imports, drawing, the comparison."""
    return re.search(r"^(import|from) |plt\.subplots\(|write_comparison\(", cell.source, re.M)


def title_faults(notebook):
    """Yield faults of the headings: the book's list of pages shows the first of the top level."""
    markdown = [cell.source for cell in notebook.cells if cell.cell_type == "markdown"]
    titles = [line for cell in markdown for line in cell.splitlines() if line.startswith("# ")]
    if not notebook.cells[0].source.startswith("# ") or len(titles) != 1:
        yield "it needs one title, `# ...`, as its first line, and `## ...` below it"


def parameter_faults(notebook):
    """Yield faults of the parameters cell."""
    (cell,) = parameters_cells(notebook)
    for statement in ast.parse(cell.source).body:
        if len(assigned_names(statement)) != 1 or not is_literal(statement.value):
            yield f"its parameters cell has more than literals: {ast.unparse(statement)}"
    declared = declared_parameters(notebook)
    for parameter in declared.values():
        if is_vague(parameter.kind):
            yield f"parameter {parameter.name} needs an annotation such as int or list[str]"
        if not parameter.comment and parameter.name != "output_folder":
            yield f"parameter {parameter.name} needs a comment"
    if "output_folder" not in declared or declared["output_folder"].default != "''":
        yield 'it needs the parameter output_folder: str = ""'


def is_literal(node):
    try:
        ast.literal_eval(node)
    except ValueError:
        return False
    return True


def is_vague(kind):
    return kind in (Any, list, dict) or any(map(is_vague, get_args(kind)))


def is_short_anonymizer(node):
    """Whether a class is a reader's own anonymizer, which a page may show how to write."""
    bases = [base.id for base in node.bases if isinstance(base, ast.Name)]
    return bases == ["BaseAnonymizer"] and node.end_lineno - node.lineno < 10


def code_faults(source):
    """Yield faults of the code as a whole."""
    lines = [line for line in source.splitlines() if line.strip() and line.strip()[0] != "#"]
    if len(lines) > 150:
        yield f"it has {len(lines)} lines of code, more than 150: move some into the package"
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ClassDef) and not is_short_anonymizer(node):
            yield f"it defines the class {node.name}: move it into the package"
        if isinstance(node, ast.FunctionDef) and node.end_lineno - node.lineno >= 10:
            yield f"its function {node.name} is long: move it into the package"
    for word in ("tqdm.auto", "tqdm.notebook", "ipywidgets"):
        if word in source:
            yield f"{word} makes the built page ask the network; use plain tqdm"


@every_notebook
def test_the_notebook_keeps_the_rules(path):
    assert list(faults(path)) == []


@every_notebook
def test_the_notebook_is_in_the_book(path):
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text())
    assert f"book/_executed/{path.stem}" in list(pages(toc))


@every_notebook
@pytest.mark.parametrize("profile", PROFILES)
def test_the_notebook_takes_its_parameters_under_every_profile(path, profile):
    runs = {run.name: run for run in read_grid(ROOT / "config" / "profiles.yaml", profile)}
    assert path.stem in runs, "it needs an entry in config/profiles.yaml"
    declared = declared_parameters(read_notebook(path))
    assert checked(runs[path.stem].parameters, declared, path.stem) is not None
    assert "output_folder" not in runs[path.stem].parameters, "the workflow sets it"


# The rules themselves, on a notebook made for it.

GOOD = (
    'n: int = 3  # how many\nlevels: list[str] = ["OA"]  # coarse to fine\noutput_folder: str = ""'
)


def notebook(parameters=GOOD, code="print(n)", kernel="python3"):
    cells = [
        new_markdown_cell("# Title"),
        new_code_cell(parameters, metadata={"tags": ["parameters"]}),
        new_code_cell(code),
    ]
    kernelspec = {"name": kernel, "display_name": "x", "language": "python"}
    return new_notebook(cells=cells, metadata={"kernelspec": kernelspec})


def executed():
    book = notebook()
    book.cells[-1].outputs = [new_output("stream", text="3")]
    return book


def titled(text):
    book = notebook()
    book.cells[0].source = text
    return book


def tagged(times):
    book = notebook()
    tags = {"tags": ["parameters"]}
    book.cells[1:2] = [new_code_cell("n = 1", metadata=tags) for _ in range(times)]
    return book


@pytest.fixture
def written(tmp_path):
    def write(book):
        nbformat.write(book, tmp_path / "x.ipynb")
        return tmp_path / "x.ipynb"

    return write


def test_a_good_notebook_has_no_faults(written):
    assert list(faults(written(notebook()))) == []


@pytest.mark.parametrize(
    ("bad", "fault"),
    [
        (notebook(kernel="conda-env-foo-py"), "kernelspec"),
        (executed(), "not stripped"),
        (titled("Title"), "needs one title"),
        (titled("# Title\n# Another"), "needs one title"),
        (tagged(times=0), "exactly one"),
        (tagged(times=2), "exactly one"),
        (notebook(GOOD + "\nm: int = 2 * n  # no"), "more than literals"),
        (notebook(GOOD + "\nimport os"), "more than literals"),
        (notebook(GOOD + "\na = b = 1  # no"), "more than literals"),
        (notebook(GOOD + "\nm = None  # what"), "needs an annotation"),
        (notebook(GOOD + "\nm: list = []  # what"), "needs an annotation"),
        (notebook(GOOD + "\nm: int = 1"), "needs a comment"),
        (notebook(GOOD + "\nm: int | None = None  # no"), "papermill reads other"),
        (notebook("n: int = 3  # how many"), "output_folder"),
        (notebook(code="x = 1\n" * 150), "more than 150"),
        (notebook(code="class A:\n    pass"), "the class A"),
        (notebook(code="class A(BaseAnonymizer):\n" + "    x = 1\n" * 10), "the class A"),
        (notebook(code="def f():\n" + "    x = 1\n" * 10), "function f is long"),
        (notebook(code="fig, ax = plt.subplots()"), "hide-input"),
        (notebook(code="from tqdm.auto import tqdm"), "tqdm.auto"),
    ],
)
def test_each_rule_sees_what_breaks_it(written, bad, fault):
    assert any(fault in found for found in faults(written(bad)))


def test_a_parameter_that_the_notebook_does_not_have_is_seen():
    with pytest.raises(VoicePrivacyError, match="did you mean 'levels'"):
        checked({"level": ["OA"]}, declared_parameters(notebook()), "x")
