"""Fixtures shared by the tests."""

import os
from pathlib import Path

import pytest
from browsing import chromium

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def shared_data():
    """Return a function that finds a folder of real test data, or skips the test with a reason.

    The folder lies beside the clone (`../shared/data`) or where VOICEPRIVACY_TEST_DATA says;
    real speech and census files are never part of the repository.
    """
    root = Path(os.environ.get("VOICEPRIVACY_TEST_DATA", ROOT.parent / "shared" / "data"))

    def find(name: str) -> Path:
        path = root / name
        if not path.exists():
            pytest.skip(f"real test data not here: {path}")
        return path

    return find


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    """A headless Chromium, see `browsing.chromium`."""
    with chromium(tmp_path_factory.mktemp("chromium")) as driver:
        yield driver
