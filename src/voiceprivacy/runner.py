"""Run one notebook with checked parameters; keep what it did when it fails.

The Snakemake workflow and `voiceprivacy run` both come here. Beyond papermill: parameters are
checked (`parameters.py`), the kernel is always Python 3 whatever the notebook names, kernels that
run side by side cannot take each other's ports, braces in a path mean braces, and a finished
notebook is never replaced by half of one.
"""

import json
import logging
import os
import re
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from voiceprivacy.errors import VoicePrivacyError, listed
from voiceprivacy.parameters import checked, declared_parameters, read_notebook


def run_notebook(
    notebook: str | os.PathLike,
    output: str | os.PathLike,
    parameters: Mapping[str, Any] | None = None,
    *,
    progress: bool = False,
) -> Path:
    """Execute a notebook and write the executed copy.

    The notebook runs in the current folder, whichever that is.

    Parameters
    ----------
    notebook
        The notebook's path.
    output
        Where the executed copy goes, a path ending in ``.ipynb``. Missing folders are made. While
        the notebook runs, the copy is ``NAME.partial.ipynb`` beside it.
    parameters
        Values for the variables of the cell tagged ``parameters``.
    progress
        Show a bar, one step a cell, on stderr.

    Returns
    -------
    Path
        `output`.

    Raises
    ------
    VoicePrivacyError
        If a parameter is unknown or of the wrong kind, a path cannot be used, there is no Python
        kernel, or a cell fails. The partial copy is kept when a cell fails, and the message
        names it.
    """
    notebook, output = Path(notebook), Path(output)
    document = read_notebook(notebook)
    values = checked(parameters or {}, declared_parameters(document), notebook.stem)
    _check_output(notebook, output)
    partial = output.with_name(f"{output.stem}.partial.ipynb")
    _execute(notebook, partial, values, progress)
    partial.replace(output)
    return output


def _check_output(notebook: Path, output: Path) -> None:
    """Refuse an output path that would not give a notebook, or would destroy the source."""
    if output.suffix != ".ipynb":
        raise VoicePrivacyError(f"the executed copy is a notebook: {output} must end in .ipynb")
    if output.resolve() == notebook.resolve():
        raise VoicePrivacyError(
            f"{output} is the notebook itself; give another path for the executed copy"
        )
    if output.is_dir():
        raise VoicePrivacyError(f"{output} is a folder; give the path of a file")
    if output.exists() and not _is_executed_copy(output):
        raise VoicePrivacyError(
            f"{output} is there already and is no executed copy; give another path, or delete it"
        )
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise VoicePrivacyError(
            f"cannot make the folder {output.parent}: {error.strerror}: {error.filename}"
        ) from None


def _is_executed_copy(path: Path) -> bool:
    """Whether papermill wrote the file, so that running again may replace it."""
    try:
        return "papermill" in json.loads(path.read_text(encoding="utf-8"))["metadata"]
    except (ValueError, KeyError, TypeError):
        return False


def _execute(notebook: Path, partial: Path, values: dict[str, Any], progress: bool) -> None:
    import papermill
    from jupyter_client.kernelspec import KernelSpecManager, NoSuchKernel
    from nbclient.exceptions import DeadKernelError

    try:
        with _kernel_options() as options:
            papermill.execute_notebook(
                _literal(notebook),
                _literal(partial),
                parameters=values,
                kernel_name="python3",
                language="python",
                progress_bar=progress,
                # An interrupted kernel would show the traceback of its own end.
                extra_arguments=["--log-level=CRITICAL"],
                **options,
            )
    except NoSuchKernel:
        installed = listed(sorted(KernelSpecManager().find_kernel_specs())) or "none"
        raise VoicePrivacyError(
            f"no Python kernel to run {notebook} with (installed kernels: {installed}). "
            f"Install it: {sys.executable} -m pip install ipykernel"
        ) from None
    except papermill.PapermillExecutionError as error:
        raise VoicePrivacyError(_failure(notebook, partial, error)) from None
    except DeadKernelError:
        raise VoicePrivacyError(
            f"{notebook}: the kernel died, as it does when memory runs out, in the cell\n"
            f"  {_last_started(partial)}\n"
            f"The run so far: {partial}"
        ) from None


@contextmanager
def _kernel_options() -> Iterator[dict[str, Any]]:
    """Yield papermill options that give the kernel private sockets where there are such.

    Ports can be taken by another kernel between choosing and opening them; and sockets in the
    working folder, as IPC has them by default, are shared by all kernels started there.
    """
    import zmq
    from traitlets.config import Config

    # `checked` has already refused what papermill would only warn of.
    logging.getLogger("papermill").setLevel(logging.ERROR)
    if not zmq.has("ipc"):
        yield {}
        return
    with tempfile.TemporaryDirectory(prefix="nb-") as sockets:
        manager = {"transport": "ipc", "ip": f"{sockets}/k"}
        yield {"config": Config({"KernelManager": manager})}


def _literal(path: Path) -> str:
    """A path as papermill takes it, which formats it as a template."""
    return str(path).replace("{", "{{").replace("}", "}}")


def _failure(notebook: Path, partial: Path, error) -> str:
    """Say in five lines which cell failed and with what, instead of forty of traceback."""
    plain = re.sub(r"\x1b\[[0-9;]*m", "", "\n".join(error.traceback or []))
    marked = re.search(r"^-+> *\d+ (.*)$", plain, re.MULTILINE)
    line = marked[1] if marked else error.source.partition("\n")[0]
    reason = str(error.evalue).partition("\n")[0]
    return (
        f"{notebook}: cell In [{error.exec_count}] failed.\n"
        f"  {line.strip()}\n"
        f"  {error.ename}: {reason}\n"
        f"The run so far: {partial}"
    )


def _last_started(partial: Path) -> str:
    """The first line of the last code cell that papermill started, as its partial copy tells.

    Papermill's own mark is written before a cell is sent off. The kernel's times (``execution`` in
    a cell's metadata) come back by message, which a kernel that dies at once never sends.
    """
    code = [cell for cell in read_notebook(partial).cells if cell.cell_type == "code"]
    started = [cell.source for cell in code if cell.metadata["papermill"]["start_time"]]
    return started[-1].partition("\n")[0] if started else "(before the first cell)"
