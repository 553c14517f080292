"""The ONS lookup from output areas to LSOAs, MSOAs and districts, in its editions."""

import re

import pandas as pd

from voiceprivacy.census.codes import LEVELS, explain_codes, level_of
from voiceprivacy.census.sheets import Sheet
from voiceprivacy.errors import VoicePrivacyError, listed


def is_lookup(sheet: Sheet) -> bool:
    """Whether a sheet relates output areas to other areas by code, of whatever vintage.

    Examples
    --------
    >>> is_lookup(Sheet("lookup.csv", ["oa21cd", "lsoa21cd", "lad22cd"], [], []))
    True
    """
    levels = {level for level, _ in map(_code_heading, sheet.heading) if level}
    return "OA" in levels and len(levels) > 1


def read_lookup(sheet: Sheet) -> tuple[pd.DataFrame, str]:
    """Return the lookup and its vintage.

    Returns
    -------
    lookup : pandas.DataFrame
        Index ``OA``, columns ``LSOA``, ``MSOA``, ``LAD``; one row an output area.
    vintage : str
        The headings of the output areas and districts, such as ``"OA21CD, LAD22CD"``.

    Raises
    ------
    VoicePrivacyError
        If a level has no column of codes or two, the output areas are not those of 2021, a cell
        is no code of its level, an output area is repeated, or the areas do not nest.
    """
    columns = {level: _column_of(sheet, level) for level in LEVELS}
    if sheet.heading[columns["OA"]].upper() != "OA21CD":
        raise VoicePrivacyError(
            f"{sheet.name} looks up {sheet.heading[columns['OA']]}, but the tables of Census 2021 "
            "have the output areas of 2021: get the lookup with OA21CD from the ONS Open Geography "
            "Portal, or run `voiceprivacy census fetch`."
        )
    frame = pd.DataFrame(
        {level: [row[at] for row in sheet.rows] for level, at in columns.items()}, dtype=str
    )
    for level in LEVELS:
        _check_codes(sheet, columns[level], frame[level], level)
    if (again := frame["OA"].duplicated()).any():
        at = int(again.idxmax())
        raise VoicePrivacyError(
            f"{sheet.name}, line {sheet.lines[at]}: output area {frame['OA'][at]!r} is there "
            "twice. An exact-fit lookup has one row an output area (a postcode file has many)."
        )
    _check_nesting(sheet.name, frame)
    vintage = f"{sheet.heading[columns['OA']]}, {sheet.heading[columns['LAD']]}".upper()
    return frame.set_index("OA"), vintage


def of_district(lookup: pd.DataFrame, district: str | None) -> pd.DataFrame:
    """Return the rows of one district, or all rows if `district` is None.

    Raises
    ------
    VoicePrivacyError
        If the lookup has no such district.
    """
    if district is None:
        return lookup
    rows = lookup[lookup["LAD"] == district]
    if rows.empty:
        raise VoicePrivacyError(
            f"the lookup has no district {district!r}: {explain_codes([district])}. "
            f"It has {listed(sorted(lookup['LAD'].unique()))}."
        )
    return rows


def _code_heading(name: str) -> tuple[str | None, str]:
    found = re.fullmatch(r"(OA|LSOA|MSOA|LAD)(\d\d)?CD", name.strip().upper())
    return (found[1], found[2] or "") if found else (None, "")


def _column_of(sheet: Sheet, level: str) -> int:
    found = [at for at, name in enumerate(sheet.heading) if _code_heading(name)[0] == level]
    if len(found) == 1:
        return found[0]
    names = listed(sheet.heading[at] for at in found)
    if found:
        raise VoicePrivacyError(
            f"{sheet.name} has {len(found)} columns of {LEVELS[level]} ({names}), and it cannot "
            "be guessed which one you want: delete the others from the file."
        )
    raise VoicePrivacyError(
        f"{sheet.name} has no column of codes for {LEVELS[level]} (a heading such as {level}21CD; "
        f"its headings are {listed(sheet.heading, 12)}). Names are not used in place of codes."
    )


def _check_codes(sheet: Sheet, column: int, codes: pd.Series, level: str) -> None:
    wrong = codes[[level_of(code) != level for code in codes]]
    if len(wrong):
        raise VoicePrivacyError(
            f"{sheet.name}, line {sheet.lines[wrong.index[0]]}: column {sheet.heading[column]} "
            f"has {len(wrong)} cells that are no code of {LEVELS[level]} of England and Wales: "
            f"{explain_codes(wrong.unique())}."
        )


def _check_nesting(name: str, frame: pd.DataFrame) -> None:
    for inner, outer in (("LSOA", "MSOA"), ("MSOA", "LAD")):
        pairs = frame[[inner, outer]].drop_duplicates()
        if (split := pairs[inner].duplicated()).any():
            raise VoicePrivacyError(
                f"{name}: {listed(pairs[inner][split])} lies in more than one area of "
                f"{LEVELS[outer]}; an exact-fit lookup nests."
            )
