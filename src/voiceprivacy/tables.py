"""One look for every table of results in a notebook, and values with intervals as text."""

import html
import os
import zlib
from pathlib import Path

import pandas as pd
from pandas.api.types import is_float_dtype, is_integer_dtype

from voiceprivacy.evidence import checked_evidence
from voiceprivacy.files import written_whole


def show_table(table: pd.DataFrame, *evidence: str, decimals: int = 3):
    """Lay a table out for a page: no index, few decimals, intervals behind their values.

    Parameters
    ----------
    table
        Any columns. A column that has its ``_low`` and ``_high`` beside it becomes one with both
        in parentheses. Whole numbers get commas between thousands.
    *evidence
        Labels from `voiceprivacy.evidence.evidence_of`; they stand in the caption.
    decimals
        Decimals of all other numbers.

    Returns
    -------
    pandas.io.formats.style.Styler
        Static HTML, the same for the same table.

    Raises
    ------
    VoicePrivacyError
        If a label was typed by hand.

    Examples
    --------
    >>> table = pd.DataFrame({"N": [1600], "x": [0.5], "x_low": [0.4], "x_high": [0.65]})
    >>> print(show_table(table, decimals=2).to_string(delimiter=" "), end="")
    N x
    1,600 0.50 (0.40 to 0.65)
    """
    labels = [checked_evidence(label) for label in dict.fromkeys(evidence)]
    shown = _with_intervals(table, decimals)
    style = shown.style.hide(axis="index").format(_formats(shown, decimals), escape="html")
    if labels:
        style.set_caption(f"Evidence: {html.escape('; '.join(labels))}")
    # An id from the content instead of a random one: equal from run to run.
    style.set_uuid(f"{zlib.crc32(shown.to_csv().encode()):08x}")
    style.set_table_styles([{"selector": "th, td", "props": "padding: 0.15em 0.7em"}])
    return style.set_table_attributes('class="dataframe"')


def with_interval(
    table: pd.DataFrame, name: str, *, precision: int = 3, sign: bool = False
) -> pd.Series:
    """Return each value with its interval, as text; nothing where there is no value.

    Parameters
    ----------
    table
        Columns `name`, ``<name>_low`` and ``<name>_high``, as in the summaries of isolation.
    name
        Such as ``"observed"``.
    precision
        Decimals.
    sign
        Whether positive numbers carry a plus, as differences should.

    Examples
    --------
    >>> gains = pd.DataFrame({"gain": [0.02], "gain_low": [-0.001], "gain_high": [0.0415]})
    >>> with_interval(gains, "gain", sign=True).tolist()
    ['+0.020 (-0.001 to +0.042)']
    """
    form = f"{'+' if sign else ''}.{precision}f"
    rows = table[[name, f"{name}_low", f"{name}_high"]].itertuples(index=False)
    words = [
        "" if pd.isna(value) else f"{value:{form}} ({low:{form}} to {high:{form}})"
        for value, low, high in rows
    ]
    return pd.Series(words, index=table.index, name=name, dtype=str)


def write_table(table: pd.DataFrame, folder: str | os.PathLike, name: str) -> Path:
    """Write a table of results to ``tables/<name>.csv`` in `folder`, whole; return its path.

    An empty `folder` means ``build/adhoc/results`` below the current one. Comparisons with a
    paper lie in the folder itself, see `voiceprivacy.comparison.write_comparison`.

    Examples
    --------
    >>> import tempfile
    >>> write_table(pd.DataFrame({"eer": [1.5]}), tempfile.mkdtemp(), "rows").read_text()
    'eer\\n1.5\\n'
    """
    path = Path(folder or "build/adhoc/results", "tables", f"{name}.csv")
    with written_whole(path) as temporary:
        table.to_csv(temporary, index=False, lineterminator="\n")
    return path


def _with_intervals(table: pd.DataFrame, decimals: int) -> pd.DataFrame:
    """Join each column's interval to its value."""
    shown = table.copy()
    for name in table:
        ends = [f"{name}_low", f"{name}_high"]
        if set(ends) <= set(table):
            shown[name] = with_interval(table, name, precision=decimals)
            shown = shown.drop(columns=ends)
    return shown


def _formats(table: pd.DataFrame, decimals: int) -> dict[str, str]:
    """How the numbers of each column are written."""
    formats = {}
    for name, column in table.items():
        if is_integer_dtype(column):
            formats[name] = "{:,}"
        elif is_float_dtype(column):
            formats[name] = f"{{:,.{decimals}f}}"
    return formats
