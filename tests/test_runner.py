"""Running one notebook: parameters, paths, kernels, failures."""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook

from voiceprivacy.errors import VoicePrivacyError
from voiceprivacy.runner import _last_started, run_notebook

KERNEL = {"name": "python3", "display_name": "Python 3", "language": "python"}


def write(path, *cells, parameters="speaker: str = ''\nn: int = 1", kernel=KERNEL):
    """Write a small notebook with a parameters cell and the given code cells."""
    first = new_code_cell(parameters, metadata={"tags": ["parameters"]})
    book = new_notebook(cells=[first, *map(new_code_cell, cells)])
    if kernel:
        book.metadata.kernelspec = kernel
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(book, path)
    return path


def printed(path):
    """What the cells of an executed notebook printed."""
    cells = nbformat.read(path, as_version=4).cells
    return "".join(out.get("text", "") for cell in cells for out in cell.get("outputs", []))


def test_identifiers_and_numbers_arrive_as_declared(tmp_path):
    notebook = write(tmp_path / "a.ipynb", "print(repr(speaker), n)")
    out = run_notebook(notebook, tmp_path / "out.ipynb", {"speaker": "0084", "n": 3})
    assert printed(out) == "'0084' 3\n"


def test_a_wrong_parameter_stops_before_anything_runs(tmp_path):
    notebook = write(tmp_path / "a.ipynb", "print(n)")
    with pytest.raises(VoicePrivacyError, match="a has no parameter 'm'"):
        run_notebook(notebook, tmp_path / "new" / "out.ipynb", {"m": 3})
    assert not (tmp_path / "new").exists()


def test_blanks_accents_braces_and_a_missing_folder_are_fine(tmp_path):
    notebook = write(tmp_path / "in {n} é.ipynb", "print(n)")
    out = run_notebook(notebook, tmp_path / "a b" / "out {x} é.ipynb", {"n": 3})
    assert out.name == "out {x} é.ipynb"
    assert printed(out) == "3\n"
    assert [path.name for path in out.parent.iterdir()] == [out.name]


def test_the_notebook_runs_in_the_current_folder_whichever_that_is(tmp_path, monkeypatch):
    notebook = write(tmp_path / "books" / "a.ipynb", "import os; print(os.getcwd())")
    for folder in (tmp_path, tmp_path / "books", Path("/")):
        monkeypatch.chdir(folder)
        out = run_notebook(os.path.relpath(notebook), tmp_path / "out.ipynb")
        assert printed(out) == f"{folder}\n"


@pytest.mark.parametrize(
    "kernel", [None, {"name": "conda-env-foo-py", "display_name": "foo", "language": "python"}]
)
def test_the_kernel_is_python_whatever_the_notebook_names(tmp_path, kernel):
    notebook = write(tmp_path / "a.ipynb", "print(n)", kernel=kernel)
    assert printed(run_notebook(notebook, tmp_path / "out.ipynb", {"n": 2})) == "2\n"


def test_a_missing_kernel_is_named_with_the_installed_ones_and_the_command(tmp_path, monkeypatch):
    from jupyter_client.kernelspec import KernelSpecManager, NoSuchKernel

    def none_such(self, name):
        raise NoSuchKernel(name)

    monkeypatch.setattr(KernelSpecManager, "get_kernel_spec", none_such)
    monkeypatch.setattr(KernelSpecManager, "find_kernel_specs", lambda self: {"ir": "/r"})
    notebook = write(tmp_path / "a.ipynb")
    with pytest.raises(VoicePrivacyError, match=r"installed kernels: 'ir'.*pip install ipykernel"):
        run_notebook(notebook, tmp_path / "out.ipynb")


def test_a_failing_cell_is_told_in_few_lines_and_the_run_so_far_is_kept(tmp_path):
    notebook = write(
        tmp_path / "a.ipynb", "print('before')", "table = {}\ntable['OA']  # here", "print('after')"
    )
    out = tmp_path / "out.ipynb"
    former = '{"metadata": {"papermill": {}}, "cells": ["a former good run"]}'
    out.write_text(former)
    with pytest.raises(VoicePrivacyError) as caught:
        run_notebook(notebook, out)
    partial = tmp_path / "out.partial.ipynb"
    assert str(caught.value).splitlines() == [
        f"{notebook}: cell In [3] failed.",
        "  table['OA']  # here",
        "  KeyError: 'OA'",
        f"The run so far: {partial}",
    ]
    assert printed(partial) == "before\n"
    assert out.read_text() == former


def test_a_kernel_that_dies_is_told_and_the_run_so_far_is_kept(tmp_path):
    notebook = write(tmp_path / "a.ipynb", "print('before')", "import os; os._exit(1)")
    with pytest.raises(VoicePrivacyError, match=r"the kernel died[^\n]*\n  import os"):
        run_notebook(notebook, tmp_path / "out.ipynb")
    assert printed(tmp_path / "out.partial.ipynb") == "before\n"


def test_a_kernel_that_died_before_it_answered_is_laid_to_the_cell_that_was_sent(tmp_path):
    """Its own times never came back; papermill's mark is there."""
    notebook = write(tmp_path / "a.ipynb", "print('before')", "import os; os._exit(1)", "'after'")
    document = nbformat.read(notebook, as_version=4)
    for cell, start in zip(document.cells[-3:], ("12:00", "12:01", None), strict=True):
        cell.metadata["papermill"] = {"start_time": start}
    for cell in document.cells[:-3]:
        cell.metadata["papermill"] = {"start_time": "11:59"}
    document.cells[-3].metadata["execution"] = {"shell.execute_reply": "12:00"}
    nbformat.write(document, notebook)
    assert _last_started(notebook) == "import os; os._exit(1)"


def test_an_output_that_is_the_notebook_or_no_notebook_is_refused(tmp_path):
    notebook = write(tmp_path / "a.ipynb")
    before = notebook.read_bytes()
    with pytest.raises(VoicePrivacyError, match="the notebook itself"):
        run_notebook(notebook, tmp_path / "." / "a.ipynb")
    with pytest.raises(VoicePrivacyError, match=r"must end in \.ipynb"):
        run_notebook(notebook, tmp_path / "out.html")
    (tmp_path / "folder.ipynb").mkdir()
    with pytest.raises(VoicePrivacyError, match="is a folder"):
        run_notebook(notebook, tmp_path / "folder.ipynb")
    with pytest.raises(VoicePrivacyError, match="cannot make the folder"):
        run_notebook(notebook, notebook / "out.ipynb")
    assert notebook.read_bytes() == before


def test_notebooks_side_by_side_do_not_meet(tmp_path):
    notebook = write(tmp_path / "a.ipynb", "print(n)")
    outs = [tmp_path / f"{n}.ipynb" for n in range(4)]
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda n: run_notebook(notebook, outs[n], {"n": n}), range(4)))
    assert [printed(out) for out in outs] == ["0\n", "1\n", "2\n", "3\n"]


def test_only_an_executed_copy_is_replaced(tmp_path):
    notebook = write(tmp_path / "a.ipynb", "print(n)")
    mine = write(tmp_path / "mine.ipynb", "print('by hand')")
    before = mine.read_bytes()
    with pytest.raises(VoicePrivacyError, match="is there already and is no executed copy"):
        run_notebook(notebook, mine)
    assert mine.read_bytes() == before
    out = run_notebook(notebook, tmp_path / "out.ipynb")
    assert printed(run_notebook(notebook, out, {"n": 2})) == "2\n"
