"""The book's Sphinx extension that ends each executed notebook's page with how to run it again.

What it says is taken from the executed notebook: its tagged parameters cell, and the values that
papermill notes it was run with. It is added while Sphinx reads the page; the file stays as it is.
"""

import shlex
import zlib
from pathlib import Path
from typing import Any

import nbformat
import yaml
from nbformat.v4 import new_markdown_cell

from voiceprivacy.kinds import kind_name
from voiceprivacy.parameters import Parameter, declared_parameters

EXECUTED = "book/_executed/"
SET_BY_THE_WORKFLOW = "output_folder"
SECTION = """\
`````{{dropdown}} Run it again
With the values of this run; change them, or leave them out for the defaults:

```bash
{own_line}
```

The same with papermill, in a clone of the repository:

```bash
{papermill_line}
```

{binder}{parameters}

More ways, grids of parameters among them: [](../run_again.md).
`````
"""
BINDER = """\
Or in the browser, on [Binder](https://mybinder.org/v2/gh/{repository}/main?urlpath=lab/tree/{path}).

"""


def section(name: str, notebook: nbformat.NotebookNode, repository: str | None = None) -> str:
    """Return the section, in Markdown, for an executed notebook.

    `repository` is ``owner/name`` on GitHub, or None where Binder could not find the notebook.
    """
    declared = declared_parameters(notebook)
    given = given_values(notebook)
    chosen = {key: value for key, value in given.items() if key != SET_BY_THE_WORKFLOW}
    path = f"notebooks/{name}.ipynb"
    return SECTION.format(
        own_line=own_line(name, chosen),
        papermill_line=papermill_line(path, chosen),
        binder=BINDER.format(repository=repository, path=path) if repository else "",
        parameters=parameters_table(declared, given),
    )


def given_values(notebook: nbformat.NotebookNode) -> dict[str, Any]:
    """The parameters that papermill notes the notebook was given, in the order it declares them."""
    noted = notebook.metadata.get("papermill", {}).get("parameters", {})
    return {name: noted[name] for name in declared_parameters(notebook) if name in noted}


def own_line(name: str, values: dict[str, Any]) -> str:
    """The call of our command line.

    >>> own_line("si_table1", {"draws": 1, "sizes": [30, 400], "speaker": "0084"})
    "voiceprivacy run si_table1 -p draws 1 -p sizes '[30, 400]' -p speaker 0084"
    """
    texts = {key: value if isinstance(value, str) else flow(value) for key, value in values.items()}
    pairs = [f"-p {key} {shlex.quote(text)}" for key, text in texts.items()]
    return " ".join(["voiceprivacy run", name, *pairs])


def papermill_line(path: str, values: dict[str, Any]) -> str:
    """The call of papermill; all values at once, because `-p` takes no lists.

    >>> papermill_line("notebooks/a.ipynb", {"draws": 1, "speaker": "84"})
    'papermill notebooks/a.ipynb out.ipynb -y \\'{draws: 1, speaker: "84"}\\''
    """
    line = f"papermill {path} out.ipynb"
    return f"{line} -y {shlex.quote(flow(values))}" if values else line


def flow(value: Any) -> str:
    """Write a value as YAML on one line, with double quotes, which a shell's single ones enclose.

    >>> flow({"x": 1e-05, "y": [True, None, "1"]})
    '{x: 1.0e-05, y: [true, null, "1"]}'
    """
    in_list = yaml.dump(
        [value], Dumper=_DoubleQuotes, default_flow_style=True, sort_keys=False,
        width=float("inf"), allow_unicode=True,
    )  # fmt: skip
    return in_list.strip()[1:-1]


class _DoubleQuotes(yaml.SafeDumper):
    """Quotes a text, where it has to, with double quotes."""

    def choose_scalar_style(self):
        style = super().choose_scalar_style()
        return '"' if style == "'" else style


def parameters_table(declared: dict[str, Parameter], given: dict[str, Any]) -> str:
    """The parameters: name, type, default, value in this run, comment."""
    if not declared:
        return "It has no parameters."
    lines = ["| parameter | type | default | in this run | what it is |", "|---|---|---|---|---|"]
    for parameter in declared.values():
        value = repr(given[parameter.name]) if parameter.name in given else parameter.default
        cells = [parameter.name, kind_name(parameter.kind), parameter.default, value]
        comment = parameter.comment.replace("|", "\\|")
        lines.append(f"| {' | '.join(map(_code, cells))} | {comment} |")
    return "\n".join(lines)


def _code(text: str) -> str:
    """Text as code in a cell."""
    return "`` " + text.replace("|", "\\|") + " ``"


def add_section(app, docname: str, source: list[str]) -> None:
    """Add the section to the page of an executed notebook, as its last cell."""
    if not docname.startswith(EXECUTED):
        return
    options = app.config.html_theme_options
    page = options.get("repository_url") if options.get("use_repository_button") else None
    repository = page.removeprefix("https://github.com/") if page else None
    notebook = nbformat.reads(source[0], as_version=4)
    text = section(docname.removeprefix(EXECUTED), notebook, repository)
    notebook.cells.append(new_markdown_cell(text, id="run-again"))
    source[0] = nbformat.writes(notebook)


def setup(app) -> dict:
    """Connect to Sphinx, which reads all pages again when this file has changed."""
    app.connect("source-read", add_section)
    return {
        "parallel_read_safe": True,
        "parallel_write_safe": True,
        "env_version": zlib.crc32(Path(__file__).read_bytes()),
    }
