"""Keep a run's results: python workflow/keep_results.py PROFILE (called by `make keep`).

Copies build/PROFILE/results into data/reference_runs/PROFILE and notes for every file its date,
the commit it was computed at and the machine, in data/reference_runs/PROFILE.json.
"""

import json
import platform
import shutil
import sys
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from provenance import commit, machine

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("numpy", "torch", "speechbrain")


def where(root: Path) -> dict[str, str]:
    """The commit, and in a few words the machine with the versions that matter."""
    versions = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    python = f"Python {platform.python_version()}"
    return {"commit": commit(root), "machine": f"{machine()}, {python}, {versions}"}


def keep(root: Path, profile: str) -> list[str]:
    """Copy all tables of a profile's results; return their paths below the results folder."""
    results, kept = root / "build" / profile / "results", root / "data" / "reference_runs"
    tables = sorted(path.relative_to(results).as_posix() for path in results.rglob("*.csv"))
    note = kept / f"{profile}.json"
    notes = json.loads(note.read_text(encoding="utf-8")) if note.exists() else {}
    computed = where(root)
    for table in tables:
        source, copy = results / table, kept / profile / table
        if copy.exists() and copy.read_bytes() == source.read_bytes():
            continue
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, copy)
        date = datetime.fromtimestamp(source.stat().st_mtime, UTC).date().isoformat()
        notes[table] = {"date": date, **computed}
    if tables:
        note.write_text(json.dumps(notes, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    return tables


if __name__ == "__main__":
    tables = keep(ROOT, sys.argv[1])
    if not tables:
        sys.exit(f"Error: build/{sys.argv[1]}/results holds no tables; run the notebooks first.")
    print(f"{len(tables)} tables are in data/reference_runs/{sys.argv[1]}.")
