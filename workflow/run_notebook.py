"""Run one notebook of the grid (called by the Snakefile), with a line at its start and end."""

import os
import sys
import time
from pathlib import Path

from voiceprivacy.errors import VoicePrivacyError
from voiceprivacy.runner import run_notebook

job = snakemake  # noqa: F821  (Snakemake puts it there)
THREAD_LIMITS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


def say(text: str) -> None:
    """Print one line at once, with the time."""
    print(f"{time.strftime('%H:%M:%S')}  {job.rule}: {text}", file=sys.stderr, flush=True)


def run() -> None:
    """Run the notebook, and see that the results it promises are there."""
    for name in THREAD_LIMITS:  # so that notebooks side by side do not take each other's cores
        os.environ[name] = str(job.threads)
    folder = Path(job.params.output_folder)
    folder.mkdir(parents=True, exist_ok=True)
    values = {**job.params["values"], "output_folder": str(folder)}
    run_notebook(job.input.notebook, job.output.notebook, values)
    missing = [name for name in job.output.results if not Path(name).exists()]
    if missing:
        raise VoicePrivacyError(f"it ran, but did not write {', '.join(missing)}")


say("started")
start = time.monotonic()
try:
    run()
except VoicePrivacyError as error:
    say(f"FAILED\n{error}")
    sys.exit(1)
say(f"finished in {time.monotonic() - start:.0f} s")
