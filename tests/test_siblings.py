"""Every command on inputs that are damaged, and on inputs that only look odd.

`tests/test_cli_endings.py` tries what is written, from a folder with blanks and letters that are
not Latin. `tests/test_properties_readers.py` damages what the readers read.
"""

import shutil

import pytest
from click.testing import CliRunner
from every_command import CALLS, READING, line, write_inputs

from voiceprivacy import cli

DAMAGES = {
    "empty": lambda content: b"",
    "cut": lambda content: content[: len(content) // 2],
    "noise": lambda content: bytes(range(256)),
}
TEXT_DAMAGES = {
    "UTF-16": lambda content: content.decode().encode("utf-16"),
    "Latin-1": lambda content: content + "# é\n".encode("latin-1"),
    "semicolons": lambda content: content.replace(b",", b";"),
    "twice": lambda content: content + content.splitlines(True)[-1],
}
ODD = {
    "CRLF": lambda content: content.replace(b"\n", b"\r\n"),
    "BOM": lambda content: b"\xef\xbb\xbf" + content,
}
# A sound's heading may promise more than came, as where it was written into a pipe: what is there
# is taken. Of a census folder, files that are no census tables are left alone.
TAKEN = {("speech", "cut"), ("test", "cut"), ("enrollment", "cut"), ("brief", "cut"),
         ("census", "semicolons")}  # fmt: skip
SUFFIXES = {"census": ".csv"}


def parts(name):
    """The inputs of a command's call."""
    return [word.removeprefix("IN/") for word in CALLS[name].split() if word.startswith("IN/")]


def is_text(part):
    return SUFFIXES.get(part, part).endswith((".csv", ".yaml", ".ipynb"))


BROKEN = [
    (name, part, kind)
    for name in READING
    for part in parts(name)
    for kind in [*DAMAGES, *(TEXT_DAMAGES if is_text(part) else ())]
    if (part, kind) not in TAKEN
]
READABLE = [
    (name, part, kind)
    for name in READING
    for part in parts(name)
    for kind in ODD
    if is_text(part) and (part, kind) != ("small.ipynb", "BOM")  # which is no JSON
]


@pytest.fixture(scope="module")
def originals(tmp_path_factory):
    root = tmp_path_factory.mktemp("originals")
    write_inputs(root)
    return root


@pytest.fixture
def inputs(originals, tmp_path):
    return shutil.copytree(originals, tmp_path / "in")


def changed(folder, part, change):
    """Change an input, of a folder the first file, and return that file."""
    place = folder / part
    inside = sorted(path for path in place.rglob("*") if path.is_file())
    file = inside[0] if inside else place
    file.write_bytes(change(file.read_bytes()))
    return file


def invoke(name, inputs, out):
    return CliRunner().invoke(cli.main, line(name, inputs, out))


@pytest.mark.parametrize(("name", "part", "kind"), BROKEN)
def test_a_damaged_input_is_told(name, part, kind, inputs, tmp_path):
    file = changed(inputs, part, (DAMAGES | TEXT_DAMAGES)[kind])
    done = invoke(name, inputs, tmp_path / "out")
    assert done.exception is None or isinstance(done.exception, SystemExit)
    assert "Traceback" not in done.output
    if (name, part) == ("attack", "speech"):  # one utterance less to learn from
        assert done.exit_code == 0
        assert "Left out of" in done.stderr
        assert "1 unreadable" in done.stderr
        return
    assert done.exit_code == (1 if name == "corpus check" else 2), done.output
    assert done.stderr.count("Error: ") == 1, done.output
    # Where the trouble is: the file, or what it should have held.
    words = (file.name, file.stem, inputs.name + "/" + part, "side information", "data/test")
    listed = (tmp_path / "out").read_text() if name == "corpus check" else ""
    assert any(word in done.stderr + listed for word in words), done.stderr


def results(out):
    """Every file that was written, but what differs from run to run: times, a notebook's ids."""
    files = [path for path in out.parent.rglob("out*/**/*") if path.is_file()]
    files += [path for path in out.parent.glob("out*") if path.is_file()]
    passing = {"evaluation_work", "attacker", "attack.json", "run.json", "train.jsonl"}
    return {
        path.relative_to(out.parent).as_posix(): path.read_bytes()
        for path in files
        if not passing & set(path.parts) and path.suffix not in (".ipynb", ".png", ".html")
    }


@pytest.fixture(scope="module")
def plain(originals, tmp_path_factory):
    """The results of a command on its inputs as they are, made once."""
    made = {}

    def of(name, inputs):
        if name not in made:
            out = tmp_path_factory.mktemp("plain") / "out"
            done = invoke(name, inputs, out)
            assert done.exit_code == 0, done.output
            made[name] = results(out)
        return made[name]

    return of


@pytest.mark.parametrize(("name", "part", "kind"), READABLE)
def test_line_ends_and_byte_order_marks_change_nothing(name, part, kind, inputs, plain, tmp_path):
    expected = plain(name, inputs)
    changed(inputs, part, ODD[kind])
    done = invoke(name, inputs, tmp_path / "out")
    assert done.exit_code == 0, done.output
    found = results(tmp_path / "out")
    assert found.keys() == expected.keys()
    assert {name for name in found if found[name] != expected[name]} == set()
