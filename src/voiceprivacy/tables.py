"""Numbers as text for the tables that people read."""

import pandas as pd


def with_interval(
    table: pd.DataFrame, name: str, *, precision: int = 3, sign: bool = False
) -> pd.Series:
    """Return each value with its interval, as text.

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
    words = [f"{value:{form}} ({low:{form}} to {high:{form}})" for value, low, high in rows]
    return pd.Series(words, index=table.index, name=name, dtype=str)
