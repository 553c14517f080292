"""The fingerprint of code: what it reaches, and that a change anywhere there changes it."""

import sys

import pytest

from voiceprivacy import sources
from voiceprivacy.sources import _reached, source_digest


def test_everything_of_the_package_that_is_imported_is_reached():
    reached = set(_reached("voiceprivacy.vpac"))
    assert {"voiceprivacy._audio", "voiceprivacy.corpora", "voiceprivacy.kaldi"} <= reached
    assert "voiceprivacy.plotting" not in reached
    assert not any(name.startswith("numpy") for name in reached)


@pytest.fixture
def package(tmp_path, monkeypatch):
    folder = tmp_path / "pack"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "first.py").write_text("def go():\n    from pack import second\n")
    (folder / "second.py").write_text("from pack.third import x\n")
    (folder / "third.py").write_text("x = 1\n")
    (folder / "apart.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sources, "PACKAGE", "pack")
    yield folder
    for name in [name for name in sys.modules if name.partition(".")[0] == "pack"]:
        del sys.modules[name]


def digest():
    return source_digest.__wrapped__("pack.first")


def test_a_change_in_what_is_imported_changes_the_digest_and_no_other_does(package):
    before = digest()
    (package / "apart.py").write_text("changed = 1\n")
    assert digest() == before
    (package / "third.py").write_text("x = 2\n")
    assert digest() != before
