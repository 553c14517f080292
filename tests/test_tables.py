"""What a table shows, and that it shows the same each time."""

import pandas as pd
import pytest

from voiceprivacy.errors import VoicePrivacyError
from voiceprivacy.evidence import evidence_of
from voiceprivacy.tables import show_table, with_interval

TABLE = pd.DataFrame(
    {
        "level": ["A&B", "OA"],
        "N": [30, 12800],
        "block": [30.0, 1234.5678],
        "observed": [0.4, 0.5],
        "observed_low": [0.35, 0.45],
        "observed_high": [0.45, 0.55],
    },
    index=[7, 8],
)


def test_numbers_intervals_and_text_are_laid_out():
    page = show_table(TABLE, evidence_of("simulated")).to_html()
    for text in ("12,800", "1,234.568", "0.500 (0.450 to 0.550)", "A&amp;B", "simulated embed"):
        assert text in page
    assert "observed_low" not in page
    assert ">7<" not in page


def test_a_part_of_an_interval_stays_a_column():
    assert "observed_low" in show_table(TABLE.drop(columns="observed_high")).to_html()


def test_the_table_itself_is_left_alone_and_gives_the_same_page_again():
    before = TABLE.copy()
    assert show_table(TABLE).to_html() == show_table(TABLE).to_html()
    pd.testing.assert_frame_equal(TABLE, before)


def test_labels_are_not_typed_by_hand():
    with pytest.raises(VoicePrivacyError, match="no evidence label"):
        show_table(TABLE, "measured")


def test_values_keep_their_rows_and_decimals():
    table = pd.DataFrame({"x": [1.0, -0.00049], "x_low": [0.5, -1], "x_high": [2, 0]}, index=[7, 3])
    words = with_interval(table, "x", precision=2)
    assert words.loc[7] == "1.00 (0.50 to 2.00)"
    assert words.loc[3] == "-0.00 (-1.00 to 0.00)"
    assert with_interval(table, "x", precision=1, sign=True).loc[7] == "+1.0 (+0.5 to +2.0)"


def test_no_rows_give_no_words():
    assert with_interval(pd.DataFrame({"x": [], "x_low": [], "x_high": []}), "x").empty


def test_a_value_that_is_not_there_is_shown_as_nothing():
    table = pd.DataFrame({"x": [1.0, float("nan")]})
    table["x_low"] = table["x_high"] = table["x"]
    assert with_interval(table, "x", precision=1).tolist() == ["1.0 (1.0 to 1.0)", ""]
