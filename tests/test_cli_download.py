"""`voiceprivacy download` from servers on this machine."""

import pytest
from census_files import DISTRICT
from click.testing import CliRunner
from file_server import Fault, serving
from test_census_fetch import server as census_server  # noqa: F401
from test_librispeech_downloads import FILES, contents, serve

from voiceprivacy.cli import main


@pytest.fixture
def server(monkeypatch):
    with serving() as running:
        for subset in ("dev-clean", "dev-other"):
            serve(running, subset, monkeypatch)
        yield running


def run(server, out, *words):
    where = ["--out", str(out), "--mirror", f"{server.url}/r/12", "--attempts", "1"]
    return CliRunner().invoke(main, ["download", "librispeech", *words, *where])


def test_subsets_are_downloaded_and_named(server, tmp_path):
    done = run(server, tmp_path, "dev-clean", "dev-other")
    assert done.exit_code == 0, done.output
    root = tmp_path / "LibriSpeech"
    assert done.stdout.split() == [f"{root / 'dev-clean'}", f"{root / 'dev-other'}"]
    assert len(contents(tmp_path)) == 5


def test_the_archive_is_kept_if_asked(server, tmp_path):
    assert run(server, tmp_path, "dev-clean", "--keep-archive").exit_code == 0
    assert contents(tmp_path) == [*FILES, "dev-clean.tar.gz"]


@pytest.mark.parametrize("words", [(), ("dev",)])
def test_subsets_that_are_none(server, tmp_path, words):
    done = run(server, tmp_path, *words)
    assert done.exit_code == 2
    assert "dev" in done.output
    assert not server.asked


def test_faults_are_one_line(server, tmp_path):
    server.faults = [Fault(status=404)]
    done = run(server, tmp_path, "dev-clean")
    assert done.exit_code == 2
    assert done.output.splitlines()[-1].startswith(f"Error: {server.url}/r/12/dev-clean.tar.gz was")
    assert "Traceback" not in done.output


def test_census_is_the_same_as_census_fetch(census_server, tmp_path):  # noqa: F811
    addresses = [f"--{name.replace('_', '-')}={url}" for name, url in census_server.urls.items()]
    command = ["download", "census", DISTRICT, "--out", str(tmp_path), *addresses]
    done = CliRunner().invoke(main, command)
    assert done.exit_code == 0, done.output
    assert f"{tmp_path}: 4 output areas of {DISTRICT}." in done.output
    assert len(list(tmp_path.glob("*.csv"))) == 7
