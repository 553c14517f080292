"""`voiceprivacy run`: one notebook, with parameters of your own."""

import difflib
import sys
from pathlib import Path

import click

from voiceprivacy.errors import VoicePrivacyError, listed
from voiceprivacy.kinds import kind_name
from voiceprivacy.parameters import declared_parameters, from_text, read_notebook
from voiceprivacy.paths import shipped
from voiceprivacy.runner import run_notebook


@click.command()
@click.argument("notebook", required=False)
@click.option(
    "-p",
    "--parameter",
    "pairs",
    nargs=2,
    multiple=True,
    metavar="NAME VALUE",
    help="Set a parameter; repeat for more. Lists as '[30, 100]'.",
)
@click.option(
    "-o",
    "--out",
    type=click.Path(path_type=Path),
    help="The executed copy.  [default: build/adhoc/notebooks/NAME.ipynb]",
)
@click.option("--help-parameters", is_flag=True, help="Show the notebook's parameters and stop.")
@click.option("--list", "list_shipped", is_flag=True, help="List the shipped notebooks and stop.")
def command(notebook, pairs, out, help_parameters, list_shipped):
    """Run NOTEBOOK, a path or the bare name of a shipped notebook.

    A mistyped parameter name is refused, and a value is taken as the kind that the notebook
    declares: the speaker 0084 stays text.
    """
    if list_shipped:
        click.echo(_shipped_table())
        return
    if notebook is None:
        raise click.UsageError("Give a NOTEBOOK, or --list to see the shipped ones.")
    path = _found(notebook)
    declared = declared_parameters(read_notebook(path))
    if help_parameters:
        click.echo(_parameters_table(path, declared))
        return
    values = from_text(pairs, declared, path.stem)
    out = out or Path("build", "adhoc", "notebooks", path.name)
    run_notebook(path, out, values, progress=sys.stderr.isatty())
    click.echo(f"Executed notebook: {out.resolve()}")


def _shipped_notebooks() -> dict[str, Path]:
    return {path.stem: path for path in sorted(shipped("notebooks").glob("*.ipynb"))}


def _found(notebook: str) -> Path:
    """The path that NOTEBOOK means: a file first, then a shipped notebook's name."""
    path = Path(notebook)
    if path.is_file():
        return path
    available = _shipped_notebooks()
    if notebook.removesuffix(".ipynb") in available:
        return available[notebook.removesuffix(".ipynb")]
    close = difflib.get_close_matches(path.stem, available, n=1)
    hint = f"did you mean {close[0]!r}? " if close else ""
    raise VoicePrivacyError(
        f"no notebook {notebook!r}: neither a file nor a shipped notebook; {hint}"
        f"shipped: {listed(available, limit=20) or 'none'}"
    )


def _shipped_table() -> str:
    titles = {name: _title(path) for name, path in _shipped_notebooks().items()}
    width = max(map(len, titles), default=0)
    return "\n".join(f"{name:{width}}  {title}" for name, title in titles.items())


def _title(path: Path) -> str:
    """The notebook's first heading."""
    lines = (line for cell in read_notebook(path).cells for line in cell.source.splitlines())
    return next((line.lstrip("# ") for line in lines if line.startswith("# ")), "")


def _parameters_table(path: Path, declared) -> str:
    """Name, kind, default and comment of each parameter, in columns."""
    rows = [(p.name, kind_name(p.kind), p.default, p.comment) for p in declared.values()]
    widths = [max((len(row[column]) for row in rows), default=0) for column in range(3)]
    lines = [
        "  ".join([*(f"{text:{width}}" for text, width in zip(row, widths, strict=False)), row[3]])
        for row in rows
    ]
    return "\n".join([f"Parameters of {path}:", *(f"  {line.rstrip()}" for line in lines)])
