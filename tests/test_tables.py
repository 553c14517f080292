"""Numbers as text."""

import pandas as pd

from voiceprivacy.tables import with_interval


def test_values_keep_their_rows_and_decimals():
    table = pd.DataFrame({"x": [1.0, -0.00049], "x_low": [0.5, -1], "x_high": [2, 0]}, index=[7, 3])
    words = with_interval(table, "x", precision=2)
    assert words.loc[7] == "1.00 (0.50 to 2.00)"
    assert words.loc[3] == "-0.00 (-1.00 to 0.00)"
    assert with_interval(table, "x", precision=1, sign=True).loc[7] == "+1.0 (+0.5 to +2.0)"


def test_no_rows_give_no_words():
    assert with_interval(pd.DataFrame({"x": [], "x_low": [], "x_high": []}), "x").empty
