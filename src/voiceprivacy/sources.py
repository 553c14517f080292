"""A fingerprint of the code that a result depends on."""

import ast
import hashlib
from functools import cache
from importlib.util import find_spec
from pathlib import Path

PACKAGE = "voiceprivacy"


@cache
def source_digest(module: str) -> str:
    """Return a digest of a module of this package and of all that it imports from it.

    Imports inside functions count too. Finished work that is kept under this digest is done
    again when any of that code changes, and only then.

    Parameters
    ----------
    module
        Such as ``"voiceprivacy.attacks"``.

    Examples
    --------
    >>> source_digest("voiceprivacy.files") == source_digest("voiceprivacy.errors")
    False
    """
    digest = hashlib.sha256()
    for name, path in sorted(_reached(module).items()):
        digest.update(name.encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def _reached(module: str) -> dict[str, Path]:
    """The module and what it imports, directly or not, with their files."""
    found: dict[str, Path] = {}
    todo = [module]
    while todo:
        name = todo.pop()
        path = None if name in found else _file(name)
        if path is not None:
            found[name] = path
            todo += _imported(path)
    return found


def _file(name: str) -> Path | None:
    """A module's file; None if there is no such module, as for a function that is imported."""
    try:
        spec = find_spec(name)
    except ModuleNotFoundError:
        return None
    return Path(spec.origin) if spec and spec.origin else None


def _imported(path: Path) -> list[str]:
    """Everything of this package that a file imports, by names that may be modules."""
    names = []
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return [name for name in names if name.partition(".")[0] == PACKAGE]
