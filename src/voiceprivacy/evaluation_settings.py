"""The YAML configuration of an evaluation, as the framework's documentation gives it (V25)."""

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from voiceprivacy._audio import RATE
from voiceprivacy._yaml import YAML_ERRORS, nearest
from voiceprivacy.attack_models import attack_model
from voiceprivacy.errors import VoicePrivacyError
from voiceprivacy.kinds import conforms, kind_name
from voiceprivacy.systems import PATHS

KEYS = {
    "evaluation": {
        "conversation_lengths": list[int],
        "speaker_counts": list[int],
        "num_runs": int,
        "num_folds": int,
    },
    "anonymization": {"system": str, "parameters": dict, "similar_system": str},
    "speaker_embedding": {
        "model": str,
        "extractor_path": str,
        "sample_rate": int,
        "frame_length": float,
        "frame_shift": float,
    },
    "attack_models": list[str],
    "data": {"test": str, "enrollment": str, "calibration": str, "training": str},
    "attacker_settings": str,
    "device": str,
    "seed": int,
}


@dataclass(frozen=True)
class EvaluationSettings:
    """A configuration, read and checked.

    Parameters
    ----------
    data
        Paths of ``test`` and ``enrollment``, and of ``calibration`` and ``training`` if given.
    arguments
        Everything else, by the names of `voiceprivacy.evaluation.run_evaluation`.
    """

    data: dict[str, Path]
    arguments: dict[str, Any] = field(default_factory=dict)


def read_evaluation_settings(path: str | os.PathLike) -> EvaluationSettings:
    """Read a configuration.

    Parameters
    ----------
    path
        A YAML file; paths in it are relative to its folder. Data that it does not name are looked
        for in ``data/test``, ``data/enrollment`` and, if it is there, ``data/calibration``.

    Raises
    ------
    VoicePrivacyError
        If it cannot be read, a key is unknown or a value is of a wrong kind; the message names the
        line.
    """
    path = Path(path)
    values = _checked(path, _root(path))
    chosen = {
        name: value
        for section in ("evaluation", "anonymization")
        for name, value in values.get(section, {}).items()
    }
    chosen |= {name: values[name] for name in ("attack_models", "device", "seed") if name in values}
    if "system" in chosen:
        chosen["anonymization_system"] = _place(path, chosen.pop("system"))
    if "parameters" in chosen:
        own = chosen["parameters"]
        chosen["parameters"] = own | {
            key: _place(path, own[key]) for key in PATHS if isinstance(own.get(key), str)
        }
    if "similar_system" in chosen:
        chosen["similar_system"] = _place(path, chosen["similar_system"])
    if "attacker_settings" in values:
        own = values["attacker_settings"]
        beside = path.parent / own
        chosen["attacker_settings"] = str(beside) if os.path.isfile(beside) else own
    embedding = values.get("speaker_embedding", {})
    if "model" in embedding:
        chosen["speaker_embedding_model"] = embedding["model"]
    if embedding.get("extractor_path"):
        chosen["extractor_path"] = path.parent / embedding["extractor_path"]
    return EvaluationSettings(_data(path, values.get("data", {})), chosen)


def _root(path: Path) -> yaml.MappingNode:
    """The file as nodes, which know their lines."""
    try:
        node = yaml.compose(path.read_text(encoding="utf-8"), Loader=yaml.SafeLoader)
    except OSError as error:
        raise VoicePrivacyError(f"{path}: {error.strerror}; expected a YAML file.") from None
    except YAML_ERRORS as error:
        raise VoicePrivacyError(f"{path} is no YAML: {' '.join(str(error).split())}.") from None
    if node is None:
        return yaml.MappingNode("tag:yaml.org,2002:map", [])
    if not isinstance(node, yaml.MappingNode):
        raise VoicePrivacyError(f"{path}: expected the sections {', '.join(KEYS)}.")
    return node


def _checked(path: Path, root: yaml.MappingNode) -> dict[str, Any]:
    """All values, each of the kind that its key has."""
    values: dict[str, Any] = {}
    for name, node, kind in _entries(path, root, KEYS):
        if isinstance(kind, dict):
            if not isinstance(node, yaml.MappingNode):
                raise _fault(path, node, f"{name}: expected the keys {', '.join(kind)}")
            values[name] = {
                key: _value(path, own, f"{name}.{key}", wanted)
                for key, own, wanted in _entries(path, node, kind, f"{name}.")
            }
        else:
            values[name] = _value(path, node, name, kind)
    return values


def _entries(path: Path, mapping: yaml.MappingNode, known: dict, prefix: str = ""):
    """Yield each key with its node and kind, each once."""
    seen = set()
    for key, node in mapping.value:
        name = key.value if isinstance(key, yaml.ScalarNode) else "a list or mapping"
        if name not in known:
            hint = nearest(name, known)
            raise _fault(path, key, f"no setting {prefix}{name}{hint}; there are: "
                         f"{', '.join(known)}")  # fmt: skip
        if name in seen:
            raise _fault(path, key, f"{prefix}{name} stands here a second time")
        seen.add(name)
        yield name, node, known[name]


def _value(path: Path, node: yaml.Node, name: str, kind: type) -> Any:
    try:
        value = yaml.SafeLoader("").construct_object(node, deep=True)
    except YAML_ERRORS:
        raise _fault(path, node, f"{name}: no plain value; expected {kind_name(kind)}") from None
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if not conforms(value, kind):
        raise _fault(path, node, f"{name}: {value!r}; expected {kind_name(kind)}")
    if fault := _out_of_range(name, value):
        raise _fault(path, node, f"{name}: {value!r}; {fault}")
    return value


def _out_of_range(name: str, value: Any) -> str:
    """What is wrong with a value of the right kind; empty if nothing is."""
    key = name.rpartition(".")[2]
    if key in ("conversation_lengths", "speaker_counts") and not all(n > 0 for n in value):
        return "expected numbers from 1 up"
    if key in ("num_runs", "num_folds") and value < 1:
        return "expected 1 or more"
    if key == "sample_rate" and value != RATE:
        return f"speech is brought to {RATE} Hz, whatever files hold; leave it at that"
    if key in ("frame_length", "frame_shift") and not 0 < value < 1:
        return "expected seconds, such as 0.025; a trained model brings its own"
    if key == "seed" and value < 0:
        return "expected 0 or more"
    if key == "parameters" and not all(isinstance(own, str) for own in value):
        return "expected names before the values"
    if key == "attack_models":
        return _no_attack_model(value)
    return ""


def _no_attack_model(names: list[str]) -> str:
    try:
        for name in names:
            attack_model(name)
    except VoicePrivacyError as error:
        return str(error).rstrip(".")
    return ""


def _fault(path: Path, node: yaml.Node, what: str) -> VoicePrivacyError:
    return VoicePrivacyError(f"{path}, line {node.start_mark.line + 1}: {what}.")


def _place(path: Path, system: str) -> str:
    """A folder beside the configuration, or what was given."""
    beside = path.parent / system
    return str(beside) if os.path.isdir(beside) else system


def _data(path: Path, named: dict[str, str]) -> dict[str, Path]:
    data = {name: path.parent / place for name, place in named.items()}
    for name in ("test", "enrollment"):
        data.setdefault(name, path.parent / "data" / name)
    calibration = path.parent / "data" / "calibration"
    if calibration.is_dir():
        data.setdefault("calibration", calibration)
    return data
