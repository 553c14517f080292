"""Where and with what something was computed: commit, machine, versions."""

import os
import platform
import re
import subprocess
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path


def commit(root: Path) -> str:
    """The commit that is checked out, marked if tracked files differ from it."""

    def git(*arguments: str) -> str:
        return subprocess.run(
            ["git", *arguments], cwd=root, capture_output=True, text=True, check=True
        ).stdout.strip()

    try:
        changed = git("status", "--porcelain", "--untracked-files=no", "--", "src", "notebooks")
        return git("rev-parse", "--short", "HEAD") + (" with changes" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"  # no clone, but a copy of the files


def machine() -> str:
    """The processor and its cores, in a few words."""
    model = platform.processor() or platform.machine()
    with suppress(OSError, StopIteration):
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next(line.split(": ")[1] for line in lines if line.startswith("model name"))
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"{cores} cores of {model}"


def packages() -> dict[str, str]:
    """The installed versions of what this package and its extras ask for, by name."""
    found = {}
    for name in sorted({re.match(r"[\w.-]+", line)[0] for line in requires("voiceprivacy")}):
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


def provenance(root: Path) -> dict:
    """All of it, as it is noted in an executed notebook."""
    return {
        "commit": commit(root),
        "machine": machine(),
        "python": platform.python_version(),
        "packages": packages(),
    }
