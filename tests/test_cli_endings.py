"""How commands end, all of them: one message, status 2, earlier results whole, no traceback."""

import os
import resource
import signal
import subprocess
import sys
import time

import click
import nbformat
import pytest
from click.testing import CliRunner
from every_command import (
    CALLS,
    NO_ONE,
    READING,
    WRITING,
    command,
    leaves,
    line,
    options,
    write_inputs,
)

from voiceprivacy import cli
from voiceprivacy.errors import VoicePrivacyError


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    """What commands read, in a folder with blanks and letters that are not Latin."""
    root = tmp_path_factory.mktemp("my (é) 語 files")
    write_inputs(root)
    return root


def invoke(arguments):
    return CliRunner().invoke(cli.main, arguments)


def assert_told(done, status=2):
    """One message, no traceback, and nothing that ended the program by itself."""
    assert done.exit_code == status, done.output
    assert done.stderr.count("Error: ") == 1, done.output
    assert "Traceback" not in done.output
    assert isinstance(done.exception, SystemExit)


def test_every_command_is_tried():
    assert list(leaves()) == sorted(CALLS)


@pytest.mark.parametrize("name", READING)
def test_a_path_that_is_not_there(name, inputs, tmp_path):
    done = invoke(line(name, tmp_path / "nowhere", tmp_path / "out"))
    assert_told(done)
    assert "nowhere" in done.stderr


@pytest.mark.parametrize("name", CALLS)
def test_an_option_without_its_value(name, inputs, tmp_path):
    flags = [p for p in command(name).params if isinstance(p, click.Option) and not p.is_flag]
    done = invoke([*line(name, inputs, tmp_path / "out"), flags[0].opts[-1]])
    assert_told(done)
    assert "requires an argument" in done.stderr or "requires 2 arguments" in done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", WRITING)
def test_an_output_below_a_file(name, inputs, tmp_path):
    (tmp_path / "file").write_text("mine")
    assert_told(invoke(line(name, inputs, tmp_path / "file" / "out")))
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.parametrize("name", WRITING)
def test_an_output_that_is_a_file_or_a_folder_of_other_things(name, inputs, tmp_path):
    """Where a folder is written a file is in the way, and where a file is written a folder."""
    kept = {}
    for suffix in ("", ".parquet", ".ipynb"):
        folder = tmp_path / f"folder{suffix}"
        folder.mkdir()
        kept[folder / "mine.txt"] = kept[tmp_path / f"file{suffix}"] = "mine"
    for path, text in kept.items():
        path.write_text(text)
    told = [invoke(line(name, inputs, tmp_path / kind)) for kind in ("file", "folder")]
    wrong = [done for done in told if done.exit_code != 0]
    assert wrong
    for done in wrong:
        assert_told(done)
    assert {path: path.read_text() for path in kept} == kept


@pytest.fixture
def unwritable(tmp_path):
    """A folder that nothing can be written into; for root, one of the kernel's."""
    folder = tmp_path / "locked"
    folder.mkdir(mode=0o500)
    if os.access(folder, os.W_OK):
        folder = "/sys"
        if os.name != "posix" or not os.path.isdir(folder):
            pytest.skip("may write anywhere")
    return folder


@pytest.mark.parametrize("name", WRITING)
def test_an_output_where_nothing_can_be_written(name, inputs, unwritable):
    assert_told(invoke(line(name, inputs, f"{unwritable}/out")))


@pytest.fixture
def full_disk():
    """Let no file grow beyond a size, as on a full disk, for whichever library writes it."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)

    def within(size, call, *arguments):
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
        try:
            return call(*arguments)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)

    return within


@pytest.mark.parametrize("name", WRITING)
def test_a_full_disk(name, inputs, tmp_path, full_disk):
    done = full_disk(0, invoke, line(name, inputs, tmp_path / "out"))
    assert_told(done)
    assert not [p for p in tmp_path.rglob(".*") if p.is_file()]
    assert list(tmp_path.glob("out.ipynb")) == []


@pytest.mark.parametrize("name", WRITING)
def test_a_disk_that_becomes_full(name, inputs, tmp_path, full_disk):
    """Small files are written, and then a large one is not: sound, weights, a figure."""
    done = full_disk(3000, invoke, line(name, inputs, tmp_path / "out"))
    if done.exit_code != 0:
        assert_told(done)


@pytest.mark.parametrize("name", [name for name in WRITING if "overwrite" in options(name)])
def test_earlier_results_are_whole_after_a_full_disk(name, inputs, tmp_path, full_disk):
    arguments = line(name, inputs, tmp_path / "out")
    first = invoke(arguments)
    assert first.exit_code == 0, first.output
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    # What an evaluation worked with is made anew; its results are what has to stay.
    made = {path: path.read_bytes() for path in files if "evaluation_work" not in path.parts}
    assert_told(full_disk(0, invoke, [*arguments, "--overwrite"]))
    assert {path: path.read_bytes() for path in made} == made


@pytest.mark.parametrize("name", CALLS)
def test_a_home_that_cannot_be_written(name, inputs, tmp_path, monkeypatch):
    """Nothing is written outside OUT: with no home the command ends as it does with one."""
    monkeypatch.setenv("HOME", "/proc/none")
    for variable in [name for name in os.environ if name.startswith("XDG_")]:
        monkeypatch.delenv(variable)
    done = invoke(line(name, inputs, tmp_path / "out"))
    if NO_ONE in CALLS[name]:
        assert_told(done)
    else:
        assert done.exit_code == 0, done.output


FAILURES = {
    "input": (VoicePrivacyError("line 3: no"), 2, "Error: line 3: no\n"),
    "file": (
        PermissionError(13, "Permission denied", "a b.csv"),
        2,
        "Error: Permission denied: a b.csv; name a path that you may read or write\n",
    ),
    "disk": (OSError(28, "No space left on device"), 2, "Error: No space left on device; free"),
    "words": (OSError("no\nfile"), 2, "Error: no file\n"),
    "memory": (MemoryError(), 2, "Error: not enough memory; ask for less"),
    "array": (MemoryError("Unable to allocate 9 GiB"), 2, "(Unable to allocate 9 GiB)"),
    "fault": (KeyError("x"), 1, "Error: unexpected KeyError: 'x'. This is a fault of voiceprivacy"),
    "stop": (KeyboardInterrupt(), 130, "Interrupted. What was finished is kept"),
}


@pytest.fixture
def failing(monkeypatch):
    """Make the command `census show` fail."""

    def fail(error):
        def raising(**_):
            raise error

        monkeypatch.setattr(command("census show"), "callback", raising)
        return error

    return fail


@pytest.mark.parametrize(("error", "status", "told"), FAILURES.values(), ids=FAILURES)
def test_each_kind_of_end(failing, error, status, told):
    failing(error)
    done = invoke(["census", "show"])
    assert done.exit_code == status
    assert told in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("error", [VoicePrivacyError("bad"), KeyError("x"), click.UsageError("no")])
def test_debug_shows_where_and_ends_alike(failing, error):
    failing(error)
    plain, told = invoke(["census", "show"]), invoke(["--debug", "census", "show"])
    assert told.exit_code == plain.exit_code
    assert "Traceback (most recent call last)" in told.stderr
    assert "in raising" in told.stderr
    assert told.stderr.endswith(plain.stderr)


def test_a_fault_says_how_to_see_more(failing):
    failing(ZeroDivisionError("division by zero"))
    assert "voiceprivacy --debug COMMAND" in invoke(["census", "show"]).stderr


def process(*arguments, **options):
    call = [sys.executable, "-c", "from voiceprivacy.cli import main; main()", *arguments]
    return subprocess.Popen(
        call, stderr=subprocess.PIPE, text=True, preexec_fn=heed_interrupts, **options
    )


def heed_interrupts():
    """What runs in a shell's background ignores Ctrl-C, and so would its children."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def test_ctrl_c_ends_with_130_and_a_short_message(inputs, tmp_path):
    """As the terminal does it: to a notebook that waits, whose kernel goes too."""
    cell = nbformat.v4.new_code_cell("open('begun', 'w').close()\nimport time\ntime.sleep(60)")
    nbformat.write(nbformat.v4.new_notebook(cells=[cell]), tmp_path / "long.ipynb")
    running = process("run", "long.ipynb", "--out", "out.ipynb", cwd=tmp_path)
    until = time.monotonic() + 60
    while not (tmp_path / "begun").exists() and time.monotonic() < until:
        time.sleep(0.05)
    running.send_signal(signal.SIGINT)
    _, told = running.communicate(timeout=60)
    assert running.returncode == 130
    assert told.splitlines()[-1].startswith("Interrupted. What was finished is kept")
    assert "Traceback" not in told
    assert not (tmp_path / "out.ipynb").exists()


def test_a_reader_that_leaves_is_no_error():
    running = process("--help", stdout=subprocess.PIPE)
    running.stdout.close()
    running.wait(timeout=60)
    assert running.stderr.read() == ""
