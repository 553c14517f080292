"""Things made by name: which there are, which parameters they have, and of which kind."""

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from voiceprivacy.errors import VoicePrivacyError, listed
from voiceprivacy.kinds import conforms, kind_name


def made(
    registry: Mapping[str, Callable[..., Any]], name: str, parameters: Mapping[str, object]
) -> Any:
    """Return what a name stands for, with some of its parameters set."""
    if name not in registry:
        raise VoicePrivacyError(
            f"there is no anonymizer {name!r}; there are: {', '.join(registry)}."
        )
    defaults = settings(registry[name])
    unknown = [parameter for parameter in parameters if parameter not in defaults]
    if unknown:
        raise VoicePrivacyError(
            f"anonymizer {name!r} has no parameter {listed(unknown)}; it has: "
            f"{', '.join(defaults)}."
        )
    for parameter, value in parameters.items():
        kind = type(defaults[parameter])
        if not conforms(value, kind):
            raise VoicePrivacyError(
                f"anonymizer {name!r} takes no {parameter}={value!r}; expected {kind_name(kind)}, "
                f"such as {defaults[parameter]!r}."
            )
    return registry[name](**parameters)


def settings(make: Callable[..., Any]) -> dict[str, object]:
    """Return the parameters of what makes a thing, and their defaults."""
    parameters = inspect.signature(make).parameters.values()
    return {parameter.name: parameter.default for parameter in parameters}


def about(make: Callable[..., Any]) -> str:
    """Return in one line what a thing is."""
    return (make.func if isinstance(make, partial) else make).__doc__.partition("\n")[0]
