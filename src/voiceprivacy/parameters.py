"""A notebook's parameters: read from its parameters cell, and checked before a run.

papermill runs the defaults, with a mere warning, when a name is mistyped, and its command line
turns the speaker ``0084`` into the number 84. Here the notebook's own declarations decide.
"""

import ast
import difflib
import io
import os
import tokenize
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, get_origin

from voiceprivacy.errors import VoicePrivacyError, listed
from voiceprivacy.kinds import conforms, declared_kind, kind_name, read_as

_EXAMPLES = {
    bool: "true or false",
    dict: "'{OA: 1, LSOA: 2}'",
    float: "a number such as 0.5",
    int: "a whole number such as 12",
    list: "a list in brackets such as '[1, 2]'",
}


@dataclass(frozen=True)
class Parameter:
    """One line of a notebook's parameters cell.

    Attributes
    ----------
    name
        The variable.
    kind
        Its annotation, or the type of its default: ``int``, ``list[str]``, ...;
        ``typing.Any`` where the notebook says neither.
    default
        The default as it is written.
    comment
        The comment behind it.
    """

    name: str
    kind: Any
    default: str
    comment: str


def read_notebook(path: str | os.PathLike):
    """Return the notebook at `path` as an nbformat node.

    Raises
    ------
    VoicePrivacyError
        If the file is missing or is no notebook, or nbformat is not installed.
    """
    try:
        import nbformat
    except ImportError:
        raise VoicePrivacyError(
            "notebooks need the extra 'book' of this package: pip install 'voiceprivacy[book]'"
        ) from None
    try:
        return nbformat.read(os.fspath(path), as_version=4)
    except OSError as error:
        raise VoicePrivacyError(f"{path}: {error.strerror or error}") from None
    except Exception as error:  # nbformat has several kinds of its own, and lets JSON's through
        reason = str(error).splitlines()[0][:200]
        raise VoicePrivacyError(f"{path} is not a Jupyter notebook: {reason}") from None


def parameters_cells(notebook) -> list:
    """Return the code cells that carry the tag ``parameters``."""
    return [
        cell
        for cell in notebook.cells
        if cell.cell_type == "code" and "parameters" in cell.metadata.get("tags", [])
    ]


def declared_parameters(notebook) -> dict[str, Parameter]:
    """Return the parameters that a notebook declares, by name, in their order.

    Parameters
    ----------
    notebook
        What `read_notebook` returns. The first cell tagged ``parameters`` counts, as in papermill.

    Raises
    ------
    VoicePrivacyError
        If that cell is not Python.

    Examples
    --------
    >>> from nbformat.v4 import new_code_cell, new_notebook
    >>> cell = new_code_cell("speaker = '0084'  # who", metadata={"tags": ["parameters"]})
    >>> declared_parameters(new_notebook(cells=[cell]))["speaker"]
    Parameter(name='speaker', kind=<class 'str'>, default="'0084'", comment='who')
    """
    source = next((cell.source for cell in parameters_cells(notebook)), "")
    try:
        statements = ast.parse(source).body
    except SyntaxError as error:
        raise VoicePrivacyError(
            f"the parameters cell is not plain Python: line {error.lineno}: {error.msg}"
        ) from None
    comments = _comments(source)
    found = {}
    for statement in statements:
        for name in assigned_names(statement):
            lines = range(statement.lineno, statement.end_lineno + 1)
            found[name] = Parameter(
                name,
                declared_kind(getattr(statement, "annotation", None), statement.value),
                ast.unparse(statement.value),
                " ".join(comments[line] for line in lines if line in comments),
            )
    return found


def assigned_names(statement: ast.stmt) -> list[str]:
    """Return the names that a statement ``name = value`` or ``name: kind = value`` sets."""
    match statement:
        case ast.Assign(targets=targets):
            return [target.id for target in targets if isinstance(target, ast.Name)]
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr()):
            return [name]
    return []


def checked(
    values: Mapping[str, Any], declared: Mapping[str, Parameter], where: str
) -> dict[str, Any]:
    """Return `values` if a notebook with the `declared` parameters takes them.

    Parameters
    ----------
    values
        Python values by parameter name. A whole number is taken where a float is declared.
    declared
        What `declared_parameters` returns.
    where
        The notebook's name, for the messages.

    Raises
    ------
    VoicePrivacyError
        If a name is unknown (the closest known one is suggested) or a value is not of the
        declared kind.

    Examples
    --------
    >>> declared = {"n_targets": Parameter("n_targets", int, "495", "")}
    >>> checked({"n_target": 9}, declared, "si_table1")
    Traceback (most recent call last):
    voiceprivacy.errors.VoicePrivacyError: si_table1 has no parameter 'n_target'; \
did you mean 'n_targets'? It has: n_targets
    """
    for name, value in values.items():
        if name not in declared:
            raise VoicePrivacyError(_unknown(name, declared, where))
        if not conforms(value, declared[name].kind):
            raise VoicePrivacyError(_wrong(declared[name], value, where))
    return dict(values)


def from_text(
    pairs: Iterable[tuple[str, str]], declared: Mapping[str, Parameter], where: str
) -> dict[str, Any]:
    """Turn ``name value`` texts, as typed on a command line, into the declared kinds.

    What is declared as text, or not declared, stays the text that it is. Lists and dictionaries
    are written as in YAML or JSON.

    Raises
    ------
    VoicePrivacyError
        As `checked`, and if a name is given twice.

    Examples
    --------
    >>> declared = {"speaker": Parameter("speaker", str, "''", ""),
    ...             "sizes": Parameter("sizes", list[int], "[30]", "")}
    >>> from_text([("speaker", "0084"), ("sizes", "[30, 100]")], declared, "demo")
    {'speaker': '0084', 'sizes': [30, 100]}
    """
    pairs = list(pairs)
    names = [name for name, _ in pairs]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise VoicePrivacyError(f"parameter given more than once: {listed(twice)}")
    kinds = {name: declared[name].kind if name in declared else Any for name in names}
    return checked({name: read_as(text, kinds[name]) for name, text in pairs}, declared, where)


def _comments(source: str) -> dict[int, str]:
    """The comments of a cell by their line number, without the hash."""
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return {
        token.start[0]: token.string.lstrip("# ")
        for token in tokens
        if token.type == tokenize.COMMENT
    }


def _unknown(name: str, declared: Mapping[str, Parameter], where: str) -> str:
    if not declared:
        return f"{where} has no parameter {name!r}: none of its cells is tagged 'parameters'"
    close = difflib.get_close_matches(name, declared, n=1)
    hint = f"; did you mean {close[0]!r}?" if close else "."
    return f"{where} has no parameter {name!r}{hint} It has: {', '.join(declared)}"


def _wrong(parameter: Parameter, value: Any, where: str) -> str:
    kind = parameter.kind
    message = (
        f"{where}: parameter {parameter.name!r} is declared as {kind_name(kind)} "
        f"(default {parameter.default}), but got {value!r}, a {type(value).__name__}."
    )
    if kind is str:
        return f"{message} Identifiers are text: write it in quotes."
    example = _EXAMPLES.get(get_origin(kind) or kind)
    return f"{message} Give {example}." if example else message
