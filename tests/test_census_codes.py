"""Codes that match no area are explained, never guessed at."""

import pytest

from voiceprivacy.census import explain_codes
from voiceprivacy.census.codes import level_of


@pytest.mark.parametrize(
    ("code", "level"),
    [
        ("E00069547", "OA"),
        ("W00010265", "OA"),
        ("E01013788", "LSOA"),
        ("E02002863", "MSOA"),
        ("E06000017", "LAD"),
        ("E09000001", "LAD"),
        ("W06000015", "LAD"),
        ("E05012634", None),
        ("E10000018", None),
        ("S12000036", None),
        ("e06000017", None),
        ("E06000017 ", None),
        ("E01013788-01", None),
        ("", None),
    ],
)
def test_level_of(code, level):
    assert level_of(code) == level


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("E07000097", "district code abolished before the census, now E07000242"),
        ("E07000152", "now E06000061"),
        ("E06000065", "newer than the census tables, which have E07000163 to E07000169"),
        ("E08000039", "newer than the census tables, which have E08000019"),
        ("E06000061", "district code not among these areas"),
        ("E01003296", "LSOA code of 2011, it seems, or of 2021 outside"),
        ("E01033768", "LSOA code of 2011, it seems"),
        ("E01033769", "LSOA code of 2021 outside these areas"),
        ("E00176774", "OA code of 2011, it seems"),
        ("E00187388", "OA code of 2021"),
        ("W02000424", "MSOA code of 2021"),
        ("e06000001 ", "in the wrong case or with blanks"),
        ("X99999999", "code of no known kind"),
        ("E05012634", "code of another kind of area (a ward"),
        ("S12000036", "code of Scotland, which has its own census"),
        ("N09000003", "code of Northern Ireland"),
        ("Rutland", "code missing, a name in its place"),
        ("E0600017", "code of no known kind"),
        ("", "code missing, the cell blank"),
        (None, "code missing, the cell blank"),
        (float("nan"), "code missing, the cell blank"),
    ],
)
def test_each_kind_is_named(code, said):
    assert said in explain_codes([code])
    assert explain_codes([code]).startswith("1 ")


def test_kinds_are_counted_most_frequent_first():
    text = explain_codes(["S12000036", *(f"E0100000{n}" for n in range(7))])
    assert text.startswith("7 LSOA codes of 2011, it seems")
    assert "and 2 more" in text
    assert text.endswith("1 code of Scotland, which has its own census ('S12000036')")


def test_no_codes_no_words():
    assert explain_codes([]) == ""
