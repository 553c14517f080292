"""Run one notebook of the grid (called by the Snakefile), with a line at its start and end."""

import argparse
import json
import os
import sys
import time
from pathlib import Path

import nbformat
from provenance import provenance

from voiceprivacy.errors import VoicePrivacyError
from voiceprivacy.files import written_whole
from voiceprivacy.parameters import read_notebook
from voiceprivacy.runner import run_notebook

THREAD_LIMITS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


def arguments() -> argparse.Namespace:
    """Read the command line that the Snakefile writes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name")
    parser.add_argument("notebook")
    parser.add_argument("output")
    parser.add_argument("threads")
    parser.add_argument("output_folder")
    parser.add_argument("values", type=json.loads, help="the parameters, as JSON")
    parser.add_argument("results", nargs="*", help="files that the notebook promises to write")
    return parser.parse_args()


def say(name: str, text: str) -> None:
    """Print one line at once, with the time."""
    print(f"{time.strftime('%H:%M:%S')}  {name}: {text}", file=sys.stderr, flush=True)


def run(job: argparse.Namespace) -> None:
    """Run the notebook, and see that the results it promises are there."""
    for name in THREAD_LIMITS:  # so that notebooks side by side do not take each other's cores
        os.environ[name] = job.threads
    Path(job.output_folder).mkdir(parents=True, exist_ok=True)
    run_notebook(job.notebook, job.output, {**job.values, "output_folder": job.output_folder})
    if missing := [name for name in job.results if not Path(name).exists()]:
        raise VoicePrivacyError(f"it ran, but did not write {', '.join(missing)}")
    sign(Path(job.output))


def sign(executed: Path) -> None:
    """Note in an executed notebook where and with what it was run, for the status page."""
    notebook = read_notebook(executed)
    notebook.metadata["voiceprivacy"] = provenance(Path.cwd())
    with written_whole(executed) as temporary:
        nbformat.write(notebook, temporary)


def main() -> None:
    """Run, and tell how it went."""
    job = arguments()
    say(job.name, "started")
    start = time.monotonic()
    try:
        run(job)
    except VoicePrivacyError as error:
        say(job.name, f"FAILED\n{error}")
        sys.exit(1)
    say(job.name, f"finished in {time.monotonic() - start:.0f} s")


if __name__ == "__main__":
    main()
