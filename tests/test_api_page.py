"""The reference by module says what the package says of itself."""

import sys
from importlib import import_module

import pytest
from conftest import ROOT

sys.path.insert(0, str(ROOT / "book"))
from write_api import described, modules, page


def test_the_page_is_up_to_date():
    written = (ROOT / "book" / "api.md").read_text(encoding="utf-8")
    assert written == page(), "run: python book/write_api.py"


def test_every_module_says_what_it_is_for():
    summaries = {name: described(path)[0] for name, path in modules().items()}
    assert len(summaries) > 100
    assert [name for name, summary in summaries.items() if not summary.endswith(".")] == []


@pytest.mark.parametrize("name", ["reference", "segreconcat", "simulation", "census"])
def test_the_names_can_be_imported(name):
    module = import_module(f"voiceprivacy.{name}")
    names = described(modules()[name])[1]
    assert names
    assert [one for one in names if not hasattr(module, one)] == []
