"""YAML files of settings: read, and checked against the fields of a dataclass."""

import difflib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import yaml

from voiceprivacy.errors import VoicePrivacyError
from voiceprivacy.kinds import conforms, kind_name, read_as

# What yaml raises of a text besides its own error: of 0x_, !!bool x, !!timestamp x, [[[[...
YAML_ERRORS = (
    yaml.YAMLError, ValueError, KeyError, TypeError, AttributeError, RecursionError
)  # fmt: skip
Rule = tuple[Callable[[Any], bool], str]


def read_yaml(path: Path) -> dict[str, Any]:
    """Return the keys and values of a YAML file."""
    try:
        values = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise VoicePrivacyError(f"{path}: {error.strerror}; expected a YAML file.") from None
    except YAML_ERRORS as error:
        raise VoicePrivacyError(f"{path} is no YAML: {' '.join(str(error).split())}.") from None
    if not isinstance(values, dict):
        raise VoicePrivacyError(f"{path}: expected lines of the form key: value.")
    return values


def nearest(name: object, known: Iterable[str]) -> str:
    """A hint at what may have been meant; empty if nothing is near.

    Examples
    --------
    >>> nearest("chanels", ["channels", "seed"]), nearest("x", ["channels", "seed"])
    (' (did you mean channels?)', '')
    """
    close = difflib.get_close_matches(str(name), list(known), 1)
    return f" (did you mean {close[0]}?)" if close else ""


def known_fields(values: object, kind: type, prefix: str = "") -> dict[str, Any]:
    """Return values by the names of a dataclass's fields, or refuse a name that is none of them.

    A number such as 1e-8, which YAML takes for text, becomes one.
    """
    if not isinstance(values, Mapping):
        raise VoicePrivacyError(f"{prefix.rstrip('.')}: {values!r}; expected keys with values.")
    kinds = {one.name: one.type for one in fields(kind)}
    for key in values:
        if key not in kinds:
            raise VoicePrivacyError(f"no setting {prefix}{key}{nearest(key, kinds)}.")
    return {
        key: read_as(value, float) if kinds[key] is float and isinstance(value, str) else value
        for key, value in values.items()
    }


def check_fields(instance: object, rules: Mapping[str, Rule]) -> None:
    """Refuse a field whose value is not of its kind, or breaks its rule."""
    for one in fields(instance):
        value = getattr(instance, one.name)
        if not conforms(value, one.type):
            raise VoicePrivacyError(f"{one.name}: {value!r}; expected {kind_name(one.type)}.")
        holds, wanted = rules.get(one.name, (lambda _: True, ""))
        if value is not None and not holds(value):
            raise VoicePrivacyError(f"{one.name}: {value!r}; expected {wanted}.")
