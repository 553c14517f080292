"""SpeechBrain's ``hyperparams.yaml``, read without running what it should not name.

Such a file is HyperPyYAML: its tags make any Python object and call any function. Here it may make
objects of SpeechBrain's and torch.nn's own classes, and nothing else. A name alone does not tell:
``speechbrain.core.os.system`` begins with ``speechbrain.`` too.
"""

import inspect
import pydoc
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from voiceprivacy.errors import VoicePrivacyError

PACKAGES = ("speechbrain.", "torch.nn.")
# What makes plain values and refers to other lines.
PLAIN = {"!ref", "!copy", "!tuple", "!PLACEHOLDER"} | {
    f"tag:yaml.org,2002:{kind}"
    for kind in ("map", "seq", "str", "int", "float", "bool", "null", "timestamp", "merge")
}


def read_hyperparams(path: Path, trust: bool) -> Mapping[str, Any]:
    """Return what a file describes, made.

    Parameters
    ----------
    path
        The file.
    trust
        Do whatever it says, if that is not what it should.

    Raises
    ------
    VoicePrivacyError
        If it cannot be read, or names anything but SpeechBrain's and torch.nn's classes.
    """
    from hyperpyyaml import load_hyperpyyaml, resolve_references

    text = _text(path)
    if not trust:
        _check(text, path)
    try:
        resolved = resolve_references(text).getvalue()
    except (ValueError, OSError) as error:
        raise VoicePrivacyError(f"{path} cannot be read by SpeechBrain: {error}.") from error
    if not trust:
        _check(resolved, path)  # for references can make tags
    made = load_hyperpyyaml(resolved)
    if not isinstance(made, Mapping):
        raise VoicePrivacyError(f"{path}: expected lines of the form key: value.")
    return made


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise VoicePrivacyError(f"{path} cannot be read: {error}.") from error


def _check(text: str, path: Path) -> None:
    """Refuse a file that does more than make objects of known classes."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        root = YAML().compose(text)
    except YAMLError as error:
        raise VoicePrivacyError(f"{path} is no YAML: {' '.join(str(error).split())}.") from error
    for tag, line in _tags(root, set()):
        if tag not in PLAIN and not _known_class(tag):
            raise VoicePrivacyError(
                f"{path}, line {line}: {tag} would run code that is neither a class of "
                "SpeechBrain nor of torch.nn. Read the file; if you trust it and whoever wrote it, "
                "load it with SpeechBrainExtractor(folder, trust=True)."
            )


def _tags(node, seen: set[int]) -> Iterator[tuple[str, int]]:
    """All tags below a node, with their lines."""
    if node is None or id(node) in seen:
        return
    seen.add(id(node))
    yield str(node.tag), node.start_mark.line + 1
    for value in node.value if isinstance(node.value, list) else []:
        for inner in value if isinstance(value, tuple) else (value,):
            yield from _tags(inner, seen)


def _known_class(tag: str) -> bool:
    """Whether a tag makes or names a class that SpeechBrain or torch.nn defines."""
    kind, _, name = tag.partition(":")
    if kind not in ("!new", "!name") or not name.startswith(PACKAGES):
        return False
    try:
        found = pydoc.locate(name)
    except pydoc.ErrorDuringImport:
        return False
    return inspect.isclass(found) and f"{found.__module__}.".startswith(PACKAGES)
