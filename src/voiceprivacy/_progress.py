"""Progress: bars that appear only where one would wait; other packages' bars kept quiet."""

import warnings
from collections.abc import Iterable
from typing import Any

from tqdm import tqdm

DELAY = 2.0
"""Seconds of silence before a bar appears: files are read without a word where that is quick."""


def slow_bar(items: Iterable[Any] | None = None, **settings: Any) -> tqdm:
    """Return a bar that shows itself on a terminal, after `DELAY` seconds, and goes when done.

    Reading has no ``progress`` argument: nobody chooses to read, and a log wants no bar.
    """
    # disable=None: tqdm's own rule for "only on a terminal".
    return tqdm(items, delay=DELAY, disable=None, leave=False, unit_scale=True, **settings)


def quiet_bars() -> None:
    """Import tqdm's bar for notebooks before others do: it warns once, at its first import."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "IProgress not found")
        import tqdm.auto  # noqa: F401
