"""The grid of notebooks. `make book` runs it; or: snakemake --profile workflow/profiles/smoke

One rule a notebook, made from config/profiles.yaml. A run is repeated when its notebook, its
parameters, the package, the shipped data or the way it is run has changed in content.
"""

import json
import sys
from pathlib import Path

from workflow.grid import GridError, read_grid


workdir: workflow.basedir


PROFILE = config.get("profile", "book")
BUILD = f"build/{PROFILE}"
PYTHON = sys.executable
SCRIPT = "workflow/run_notebook.py"

try:
    RUNS = read_grid(Path("config/profiles.yaml"), PROFILE)
except GridError as error:
    raise SystemExit(f"Error: {error}")  # shown even when Snakemake itself is quiet

# The command line is left out: no notebook goes through it.
PACKAGE = sorted(
    str(path) for path in Path("src/voiceprivacy").rglob("*.py") if path.parent.name != "cli"
)
DATA = sorted(str(path) for path in Path("data").rglob("*") if path.is_file())


rule all:
    input:
        [f"{BUILD}/notebooks/{run.name}.ipynb" for run in RUNS],


for run in RUNS:

    rule:
        name:
            run.name
        input:
            PACKAGE,
            DATA,
            SCRIPT,
            notebook=f"notebooks/{run.name}.ipynb",
        output:
            notebook=f"{BUILD}/notebooks/{run.name}.ipynb",
            results=[f"{BUILD}/results/{name}" for name in run.results],
        params:
            # A function, because Snakemake takes the braces of a plain text for wildcards.
            values=lambda wildcards, values=run.parameters: json.dumps(values, default=str),
            output_folder=f"{BUILD}/results",
        threads: (workflow.cores or 1) if run.whole_machine else 1
        # Not `script:`, which cannot call a Python whose path has a blank.
        shell:
            "{PYTHON:q} {SCRIPT} {rule} {input.notebook:q} {output.notebook:q} {threads}"
            " {params.output_folder:q} {params.values:q} {output.results:q}"
