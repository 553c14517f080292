"""Text for the book's generated pages: Markdown tables, and files that change only with it."""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from voiceprivacy.files import written_whole

SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~$])")


def plain(text: str) -> str:
    r"""Write text so that Markdown shows it as it is, on one line.

    >>> plain("a|b < c_d")
    'a\\|b \\< c\\_d'
    """
    return SPECIAL.sub(r"\\\1", " ".join(str(text).split()))


def code(text: str) -> str:
    """Write text as code in a cell of a table.

    >>> code("a|b")
    '`a\\\\|b`'
    """
    one_line = " ".join(str(text).split()).replace("|", "\\|")
    return f"`` {one_line} ``" if "`" in one_line else f"`{one_line}`"


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Write a Markdown table; its cells are Markdown already.

    >>> print(table(["a", "b"], [["1", ""]]))
    | a | b |
    |---|---|
    | 1 |  |
    """
    lines = [header, ["---"] * len(header), *rows]
    written = ["| " + " | ".join(line) + " |" for line in lines]
    written[1] = written[1].replace(" ", "")
    return "\n".join(written)


def notebook_link(name: str) -> str:
    """Link from a generated page to that of an executed notebook.

    >>> notebook_link("si_table1")
    '[si\\\\_table1](../_executed/si_table1.ipynb)'
    """
    return f"[{plain(name)}](../_executed/{name}.ipynb)"


def write_page(path: Path, text: str) -> None:
    """Write a page, unless it says this already: Sphinx builds again what was touched."""
    if path.exists() and path.read_text(encoding="utf-8") == text:
        return
    with written_whole(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
