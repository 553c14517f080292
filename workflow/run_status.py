"""The status page: how each notebook's run went, when, on what and with which versions."""

import json
from collections.abc import Iterable
from pathlib import Path

import pandas as pd
from page_text import notebook_link, plain, table

HEAD = """\
# Status of the runs

{finished} of {all} notebooks finished under the profile `{profile}`; their run times add up to
{time}. Each executed notebook carries what is shown here; `make book` runs again what has changed
in content and leaves the rest ([](../run_again.md)).

{runs}
"""
RUN_ON = """\
## Run on{number}

{machine}, Python {python}{which}.

{packages}
"""
UNKNOWN = "not recorded"


def run_status(notebooks: Path, names: Iterable[str]) -> pd.DataFrame:
    """One row a notebook: its outcome, and what its executed copy in `notebooks` notes.

    Outcomes: *finished*; *failed*, where only the partial copy of a run is there; *not run*.
    """
    return pd.DataFrame([{"notebook": name, **_status(notebooks, name)} for name in names])


def _status(notebooks: Path, name: str) -> dict:
    copies = {"finished": f"{name}.ipynb", "failed": f"{name}.partial.ipynb"}
    for outcome, file in copies.items():
        if (notebooks / file).exists():
            metadata = json.loads((notebooks / file).read_text(encoding="utf-8"))["metadata"]
            return {"outcome": outcome, **_noted(metadata)}
    return {"outcome": "not run", **_noted({})}


def _noted(metadata: dict) -> dict:
    """Papermill's times and our own note of where it was run; blanks where there is none."""
    times, own = metadata.get("papermill", {}), metadata.get("voiceprivacy", {})
    return {
        "seconds": float("nan") if times.get("duration") is None else times["duration"],
        "date": (times.get("start_time") or "")[:16].replace("T", " "),
        "commit": own.get("commit", ""),
        "machine": own.get("machine", ""),
        "python": own.get("python", ""),
        "packages": json.dumps(own.get("packages", {})),
    }


def page(notebooks: Path, names: Iterable[str], profile: str) -> str:
    """Return the page as Markdown."""
    rows = run_status(notebooks, names)
    runs = table(
        ["notebook", "outcome", "run time in s", "started (UTC)", "commit"],
        [
            [
                notebook_link(row.notebook) if row.outcome == "finished" else plain(row.notebook),
                row.outcome,
                "" if pd.isna(row.seconds) else f"{row.seconds:.0f}",
                row.date,
                row.commit,
            ]
            for row in rows.itertuples()
        ],
    )
    finished = int((rows["outcome"] == "finished").sum())
    head = HEAD.format(
        finished=finished, all=len(rows), profile=profile, time=_minutes(rows["seconds"].sum()),
        runs=runs,
    )  # fmt: skip
    return "\n".join([head, *_run_on(rows[rows["outcome"] != "not run"])])


def _minutes(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} minutes"


def _run_on(rows: pd.DataFrame) -> list[str]:
    """A section for each machine and set of versions; mostly there is one."""
    groups = list(rows.groupby(["machine", "python", "packages"], sort=False))
    return [
        RUN_ON.format(
            number=f", {number}" if len(groups) > 1 else "",
            machine=plain(machine) or f"Machine {UNKNOWN}",
            python=python or UNKNOWN,
            which=": " + ", ".join(map(plain, own["notebook"])) if len(groups) > 1 else "",
            packages=_versions(json.loads(packages)),
        )
        for number, ((machine, python, packages), own) in enumerate(groups, start=1)
    ]


def _versions(packages: dict[str, str]) -> str:
    if not packages:
        return f"Versions of packages: {UNKNOWN}."
    return table(["package", "version"], [[plain(name), v] for name, v in packages.items()])
