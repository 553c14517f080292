"""Every command that computes, on 1, 2 and 4 threads or workers: the results' bytes are the same.

`tests/test_killed.py` compares bytes after a run was killed and went on; `tests/test_scoring.py`
and `tests/test_extractors.py` compare batch sizes.
"""

import os
import subprocess
import sys

import pytest
from every_command import CALLS, line, options, write_inputs
from test_siblings import results

pytestmark = pytest.mark.slow
MAIN = [sys.executable, "-c", "from voiceprivacy.cli import main; main()"]
COMPUTING = [
    "anonymize", "assign", "attack", "augment", "evaluate", "isolate", "report", "segment",
    "simulate",
]  # fmt: skip
POOLS = ("OMP", "OPENBLAS", "MKL", "NUMBA")


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    root = tmp_path_factory.mktemp("inputs")
    write_inputs(root)
    return root


def ran(name, inputs, out, threads):
    """What a command writes when it may use so many threads, and workers where it takes them."""
    pools = {f"{pool}_NUM_THREADS": str(threads) for pool in POOLS}
    # Not `attack --threads`, which is said to change the last digits of what is learned.
    more = ["--workers", str(threads)] if "workers" in options(name) else []
    call = [*MAIN, *line(name, inputs, out), *more]
    done = subprocess.run(call, env=os.environ | pools, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return results(out)


@pytest.mark.parametrize("name", COMPUTING)
def test_threads_and_workers_change_no_byte(name, inputs, tmp_path):
    one, two, four = (ran(name, inputs, tmp_path / str(n) / "out", n) for n in (1, 2, 4))
    assert one
    for other in (two, four):
        assert other.keys() == one.keys()
        assert {path for path in one if other[path] != one[path]} == set()


def test_nothing_that_computes_is_forgotten():
    told = {"census fetch", "census show", "corpus check", "download census", "run",
            "download librispeech", "embeddings convert", "embeddings show"}  # fmt: skip
    assert set(COMPUTING) | told == set(CALLS)
