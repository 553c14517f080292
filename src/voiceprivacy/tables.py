"""One look for every table of results in a notebook."""

import html
import zlib

import pandas as pd
from pandas.api.types import is_float_dtype, is_integer_dtype

from voiceprivacy.evidence import checked_evidence


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
    return style.set_table_attributes('class="dataframe"')


def _with_intervals(table: pd.DataFrame, decimals: int) -> pd.DataFrame:
    """Join each column's interval to its value."""
    shown = table.copy()
    for name in table:
        ends = [f"{name}_low", f"{name}_high"]
        if set(ends) <= set(table):
            numbers = table[[name, *ends]].to_numpy()
            shown[name] = [
                f"{value:.{decimals}f} ({low:.{decimals}f} to {high:.{decimals}f})"
                for value, low, high in numbers
            ]
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
