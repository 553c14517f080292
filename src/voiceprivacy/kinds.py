"""Kinds of parameter values: what an annotation names, what a default shows, how text becomes one.

A kind is a Python type: ``int``, ``list[str]``, ``float | None``, ...; ``typing.Any`` means that
nothing is known.
"""

import ast
import re
from collections.abc import Iterable
from types import NoneType, UnionType
from typing import Any, get_args, get_origin

import yaml

_NAMED = {
    "bool": bool,
    "dict": dict,
    "float": float,
    "int": int,
    "list": list,
    "None": NoneType,
    "str": str,
}


def declared_kind(annotation: ast.expr | None, default: ast.expr) -> Any:
    """Return the kind that an annotation names, made more exact by the default where it says less.

    Examples
    --------
    >>> statement = ast.parse("sizes: list = [30, 100]").body[0]
    >>> declared_kind(statement.annotation, statement.value)
    list[int]
    """
    named = _named_kind(annotation) if annotation is not None else Any
    try:
        shown = _kind_of(ast.literal_eval(default))
    except ValueError:
        return named
    return shown if named is Any or named is get_origin(shown) else named


def kind_name(kind: Any) -> str:
    """Return a kind as one writes it.

    Examples
    --------
    >>> kind_name(int), kind_name(list[int])
    ('int', 'list[int]')
    """
    if kind is Any:
        return "any"
    return str(kind) if get_args(kind) else kind.__name__


def conforms(value: Any, kind: Any) -> bool:
    """Tell whether a value is of a kind. A whole number is a float too; a truth value is no number.

    Examples
    --------
    >>> conforms(3, float), conforms(True, int), conforms(["0084", 84], list[str])
    (True, False, False)
    """
    inner = get_args(kind)
    if kind is Any:
        return True
    if isinstance(kind, UnionType):
        return any(conforms(value, one) for one in inner)
    if get_origin(kind) is list:
        return isinstance(value, list) and all(conforms(part, inner[0]) for part in value)
    if get_origin(kind) is dict:
        return isinstance(value, dict) and all(
            conforms(part, one)
            for pair in value.items()
            for part, one in zip(pair, inner, strict=True)
        )
    if isinstance(value, bool):
        return kind is bool
    return isinstance(value, (int, float) if kind is float else kind)


def read_as(text: str, kind: Any) -> Any:
    """Read a typed value as `kind`; leave it the text that it is where that fails.

    Examples
    --------
    >>> read_as("0084", str), read_as("[0084, 1e5]", list[str]), read_as("0084", int)
    ('0084', ['0084', '1e5'], 84)
    >>> read_as("many", int)
    'many'
    """
    if kind is Any or kind is str or (isinstance(kind, UnionType) and str in get_args(kind)):
        return text
    try:
        # BaseLoader leaves every scalar as it is written: 0012 is not taken for an octal ten.
        value = _shaped(yaml.load(text, Loader=yaml.BaseLoader), kind)
    except (yaml.YAMLError, RecursionError):
        return text
    return value if conforms(value, kind) else text


def _named_kind(node: ast.expr) -> Any:
    match node:
        case ast.Name(id=name):
            return _NAMED.get(name, Any)
        case ast.Constant(value=None):
            return NoneType
        case ast.Subscript(value=ast.Name(id="list" | "dict" as name), slice=inner):
            parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
            if len(parts) == {"list": 1, "dict": 2}[name]:
                return _NAMED[name][tuple(_named_kind(part) for part in parts)]
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            kinds = _named_kind(left), _named_kind(right)
            return Any if Any in kinds else kinds[0] | kinds[1]
    return Any


def _kind_of(value: Any) -> Any:
    """The kind of a default: that of its elements too, where they agree."""
    if isinstance(value, list) and value:
        return list[_common(value)]
    if isinstance(value, dict) and value:
        return dict[_common(value), _common(value.values())]
    return Any if value is None else type(value)


def _common(values: Iterable[Any]) -> Any:
    kinds = {_kind_of(value) for value in values}
    if kinds == {int, float}:
        return float
    return kinds.pop() if len(kinds) == 1 else Any


def _shaped(node: Any, kind: Any) -> Any:
    inner = get_args(kind)
    if isinstance(kind, UnionType):
        shaped = (_shaped(node, one) for one in inner)
        return next((value for value in shaped if conforms(value, kind)), node)
    if get_origin(kind) is list and isinstance(node, list):
        return [_shaped(part, inner[0]) for part in node]
    if get_origin(kind) is dict and isinstance(node, dict):
        return {_shaped(key, inner[0]): _shaped(value, inner[1]) for key, value in node.items()}
    return _scalar(node, kind) if isinstance(node, str) else node


def _scalar(text: str, kind: Any) -> Any:
    if kind is bool:
        return {"true": True, "false": False}.get(text.lower(), text)
    if kind is NoneType:
        return None if text.lower() in {"none", "null"} else text
    if kind is int and re.fullmatch(r"[+-]?\d+", text):
        return int(text)
    if kind is float:
        try:
            return float(text)
        except ValueError:
            return text
    return text
