"""Anonymization systems as an evaluation is given them: a name, an object, a command, a folder."""

import os
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from voiceprivacy import _registry
from voiceprivacy._anonymizer import BaseAnonymizer
from voiceprivacy.anonymizers import ANONYMIZERS
from voiceprivacy.errors import VoicePrivacyError
from voiceprivacy.external import CommandAnonymizer
from voiceprivacy.external_systems import ExternalSystem
from voiceprivacy.precomputed import VPAC_SYSTEMS, Precomputed
from voiceprivacy.recipes import RECIPES

NONE = "none"
COMMAND = "command:"
# Names of the framework's documentation for what is called otherwise here.
RENAMED = {"random_seed": "seed"}
# Parameters that are paths.
PATHS = ("path", "recipe", "root", "tables")


def precomputed(path: str = "", suffix: str = "") -> Precomputed:
    """Speech anonymized elsewhere: a folder, a Kaldi directory, or a challenge's data tree."""
    if not path:
        raise VoicePrivacyError("precomputed: set path to the folder of anonymized speech.")
    return Precomputed(Path(path), suffix)


def vpac_system(system: str, root: str = "") -> Precomputed:
    """A system of the VoicePrivacy Attacker Challenge, from the organisers' data (not run here)."""
    if not root:
        raise VoicePrivacyError(
            f"vpac-{system}: set root to the folder of the attacker challenge's data, "
            f"<root>/{system}/data; its organisers hand them out."
        )
    return Precomputed(Path(root), system=system)


SYSTEMS: dict[str, Callable[..., object]] = {
    **ANONYMIZERS,
    **RECIPES,
    "precomputed": precomputed,
    **{f"vpac-{system}": partial(vpac_system, system) for system in VPAC_SYSTEMS},
}
"""What makes the system of each name."""

System = BaseAnonymizer | ExternalSystem | Precomputed | None


def find_system(
    system: object, parameters: Mapping[str, object] | None = None, seed: int = 0
) -> System:
    """Return the anonymization system that is meant.

    Parameters
    ----------
    system
        ``None`` or ``"none"``: the speech is anonymized already. A name of `SYSTEMS`; an object of
        a class of `BaseAnonymizer`, an `ExternalSystem` or a `Precomputed`;
        ``"command: PROGRAM {input} {output}"``, called for every file; or a folder of anonymized
        speech.
    parameters
        Of a named system; ``random_seed`` is its seed.
    seed
        If `parameters` name none.

    Raises
    ------
    VoicePrivacyError
        If it is none of these, or has no such parameter.

    Examples
    --------
    >>> find_system("mcadams", {"random_seed": 42}).seed
    42
    >>> find_system("none") is None
    True
    """
    parameters = {RENAMED.get(key, key): value for key, value in (parameters or {}).items()}
    if isinstance(system, str) and system in SYSTEMS:
        known = settings(system)
        own = {"seed": seed} if "seed" in known else {}
        return _registry.made(SYSTEMS, system, own | _known(system, known, parameters))
    if parameters and not (set(parameters) == {"seed"}):
        raise VoicePrivacyError(
            f"parameters {', '.join(parameters)} are for a named system; {system!r} has none."
        )
    if system is None or system == NONE:
        return None
    if isinstance(system, BaseAnonymizer | ExternalSystem | Precomputed):
        return system
    if isinstance(system, str) and system.startswith(COMMAND):
        return CommandAnonymizer(system.removeprefix(COMMAND).strip())
    if isinstance(system, str | os.PathLike) and Path(system).is_dir():
        return Precomputed(Path(system))
    raise VoicePrivacyError(
        f"anonymization system {system!r}: expected none, one of {', '.join(SYSTEMS)}, an object "
        "of a class of BaseAnonymizer, 'command: PROGRAM {input} {output}', or a folder of "
        "anonymized speech."
    )


def settings(name: str) -> dict[str, object]:
    """Return the parameters of a system and their defaults; none if there is no such system.

    Examples
    --------
    >>> settings("vpac-T8-5")
    {'root': ''}
    """
    return _registry.settings(SYSTEMS[name]) if name in SYSTEMS else {}


def _known(
    name: str, known: Mapping[str, object], parameters: dict[str, object]
) -> dict[str, object]:
    """The parameters, if the system has them."""
    strange = [key for key in parameters if key not in known]
    if strange:
        raise VoicePrivacyError(
            f"system {name!r} has no parameter {', '.join(strange)}; it has: {', '.join(known)} "
            "(candidate_count is for systems that choose among a pool of speakers)."
        )
    return parameters
