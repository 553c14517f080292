"""The grid of runs: reads and checks config/profiles.yaml for the Snakefile and the book."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

PROFILES = ("smoke", "book", "full", "paper")
KEYS = {"results", "whole_machine", "parameters"}


class GridError(ValueError):
    """A fault in config/profiles.yaml; the message names the entry."""


@dataclass(frozen=True)
class Run:
    """One notebook under one profile."""

    name: str
    parameters: dict[str, Any]
    results: list[str]
    whole_machine: bool


def read_grid(path: Path, profile: str) -> list[Run]:
    """Return the runs of one profile, in the order of the file.

    Raises
    ------
    GridError
        If the profile is unknown, an entry is incomplete or holds what it should not, or its
        notebook is missing.
    """
    if profile not in PROFILES:
        raise GridError(f"no profile {profile!r}; there are: {', '.join(PROFILES)}")
    entries = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
    runs = [_run(name, entry, profile, path) for name, entry in entries.items()]
    notebooks = path.parent.parent / "notebooks"
    if missing := [run.name for run in runs if not (notebooks / f"{run.name}.ipynb").exists()]:
        raise GridError(f"{path}: there is no notebooks/{missing[0]}.ipynb")
    return runs


def _run(name: str, entry: Any, profile: str, path: Path) -> Run:
    if not isinstance(entry, dict) or not isinstance(entry.get("parameters"), dict):
        raise GridError(f"{path}: {name}: needs 'parameters' with one line a profile")
    if unknown := sorted(set(entry) - KEYS):
        raise GridError(f"{path}: {name}: unknown key {unknown[0]!r}; known: {sorted(KEYS)}")
    given = entry["parameters"]
    if set(given) != set(PROFILES) or not all(isinstance(one, dict) for one in given.values()):
        raise GridError(
            f"{path}: {name}: 'parameters' needs exactly the profiles {', '.join(PROFILES)}, "
            "each with {} or {name: value, ...}"
        )
    return Run(name, given[profile], entry.get("results", []), entry.get("whole_machine", False))
