"""Keep a run's results: python workflow/keep_results.py PROFILE (called by `make keep`).

Copies build/PROFILE/results into data/reference_runs/PROFILE and notes for every file its date,
the commit it was computed at and the machine, in data/reference_runs/PROFILE.json.
"""

import json
import os
import platform
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("numpy", "torch", "speechbrain")


def machine() -> str:
    """The processor, its cores and the versions that matter, in a few words."""
    model = platform.processor() or platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next(line.split(": ")[1] for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    versions = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"{cores} cores of {model}, Python {platform.python_version()}, {versions}"


def commit(root: Path) -> str:
    """The commit that is checked out, marked if tracked files differ from it."""

    def git(*arguments: str) -> str:
        return subprocess.run(
            ["git", *arguments], cwd=root, capture_output=True, text=True, check=True
        ).stdout.strip()

    changed = git("status", "--porcelain", "--untracked-files=no", "--", "src", "notebooks")
    return git("rev-parse", "--short", "HEAD") + (" with changes" if changed else "")


def keep(root: Path, profile: str) -> list[str]:
    """Copy all tables of a profile's results; return their paths below the results folder."""
    results, kept = root / "build" / profile / "results", root / "data" / "reference_runs"
    tables = sorted(path.relative_to(results).as_posix() for path in results.rglob("*.csv"))
    note = kept / f"{profile}.json"
    notes = json.loads(note.read_text(encoding="utf-8")) if note.exists() else {}
    where = {"commit": commit(root), "machine": machine()}
    for table in tables:
        source, copy = results / table, kept / profile / table
        if copy.exists() and copy.read_bytes() == source.read_bytes():
            continue
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, copy)
        date = datetime.fromtimestamp(source.stat().st_mtime, UTC).date().isoformat()
        notes[table] = {"date": date, **where}
    if tables:
        note.write_text(json.dumps(notes, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    return tables


if __name__ == "__main__":
    tables = keep(ROOT, sys.argv[1])
    if not tables:
        sys.exit(f"Error: build/{sys.argv[1]}/results holds no tables; run the notebooks first.")
    print(f"{len(tables)} tables are in data/reference_runs/{sys.argv[1]}.")
