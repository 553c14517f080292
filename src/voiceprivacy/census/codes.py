"""The nine-character codes of census areas: which level, which vintage, and why one is unknown."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping

from voiceprivacy.errors import listed

LEVELS: Mapping[str, str] = {
    "OA": "output areas",
    "LSOA": "lower layer super output areas",
    "MSOA": "middle layer super output areas",
    "LAD": "local authority districts",
}
"""The four nested levels, fine to coarse, and their names in messages."""

_PATTERNS = {
    "OA": re.compile(r"[EW]00\d{6}"),
    "LSOA": re.compile(r"[EW]01\d{6}"),
    "MSOA": re.compile(r"[EW]02\d{6}"),
    "LAD": re.compile(r"(E0[6-9]|W06)\d{6}"),
}
_ANY_CODE = re.compile(r"[A-Z]\d{8}")

# The highest numbers given out for the 2011 census (ONS Code History Database): a higher
# number can only be a 2021 area, a lower one may be either.
_LAST_OF_2011 = {"E00": 176774, "W00": 10265, "E01": 33768, "W01": 1958, "E02": 6934, "W02": 423}

# Districts that the 2021 tables (districts of 2022) do not have: ONS Code History Database.
_ABOLISHED = {
    "E06000061": "E07000150 E07000152 E07000153 E07000156",
    "E06000062": "E07000151 E07000154 E07000155",
    "E06000060": "E07000004 E07000005 E07000006 E07000007",
    "E06000059": "E07000049 E07000050 E07000051 E07000052 E07000053",
    "E06000058": "E06000028 E06000029 E07000048",
    "E07000246": "E07000190 E07000191",
    "E07000245": "E07000201 E07000204",
    "E07000244": "E07000205 E07000206",
    "E07000243": "E07000101",
    "E07000242": "E07000097",
    "E07000241": "E07000104",
    "E07000240": "E07000100",
    "E06000057": "E06000048",
    "E08000037": "E08000020",
}
_SUCCESSOR = {old: new for new, olds in _ABOLISHED.items() for old in olds.split()}
_LATER = {
    "E06000063": "E07000026, E07000028 and E07000029",
    "E06000064": "E07000027, E07000030 and E07000031",
    "E06000065": "E07000163 to E07000169",
    "E06000066": "E07000187 to E07000189 and E07000246",
    "E08000038": "E08000016",
    "E08000039": "E08000019",
}


def level_of(code: str) -> str | None:
    """Return ``"OA"``, ``"LSOA"``, ``"MSOA"`` or ``"LAD"``, or None for any other text.

    Examples
    --------
    >>> level_of("E00069547"), level_of("W06000015"), level_of("Rutland")
    ('OA', 'LAD', None)
    """
    return next((level for level, form in _PATTERNS.items() if form.fullmatch(code)), None)


def explain_codes(codes: Iterable[object]) -> str:
    """Say what codes that match no area of a lookup seem to be, with counts and examples.

    Parameters
    ----------
    codes
        The unmatched codes, as read.

    Returns
    -------
    str
        One clause a kind, most frequent first; empty if there are no codes.

    Examples
    --------
    >>> print(explain_codes(["E07000097", "S12000036", "e06000017 "]))
    1 district code abolished before the census, now E07000242 ('E07000097'); 1 code of \
Scotland, which has its own census ('S12000036'); 1 code in the wrong case or with blanks \
(tables have capitals and no blanks) ('e06000017 ')
    """
    kinds: dict[str, list[object]] = {}
    for code in codes:
        kinds.setdefault(_kind(code), []).append(code)
    ordered = sorted(kinds.items(), key=lambda kind: -len(kind[1]))
    return "; ".join(
        f"{len(found)} {kind if len(found) == 1 else _plural(kind)} ({listed(found)})"
        for kind, found in ordered
    )


def doubtful_codes(values: Iterable[str]) -> list[str]:
    """Return the values that are no areas of Census 2021 at the level of most, every time.

    Nothing is returned unless most of the values have the form of codes.

    Examples
    --------
    >>> doubtful_codes(["E06000001", "E06000001", "e06000001", "E07000097", "E01003296"])
    ['e06000001', 'E07000097', 'E01003296']
    >>> doubtful_codes(["Leeds", "York", "E06000001"])
    []
    """
    values = list(values)
    codes = [value for value in values if _ANY_CODE.fullmatch(value.strip().upper())]
    levels = Counter(filter(None, map(level_of, codes)))
    if 2 * len(codes) <= len(values) or not levels:
        return []
    (usual, _), *_ = levels.most_common()
    gone = {*_SUCCESSOR, *_LATER}
    return [value for value in values if level_of(value) != usual or value in gone]


def _plural(kind: str) -> str:
    return kind.replace("code", "codes", 1)


def _kind(code: object) -> str:
    text = "" if code is None or code != code else str(code)
    tidy = text.strip().upper()
    if not tidy:
        return "code missing, the cell blank"
    if tidy != text and _ANY_CODE.fullmatch(tidy):
        return "code in the wrong case or with blanks (tables have capitals and no blanks)"
    if not _ANY_CODE.fullmatch(text):
        named = not re.search(r"\d", text)
        return "code missing, a name in its place" if named else "code of no known kind"
    return _kind_of_code(text)


def _kind_of_code(code: str) -> str:
    if code[0] in "SN":
        country = "Scotland" if code[0] == "S" else "Northern Ireland"
        return f"code of {country}, which has its own census"
    if code in _SUCCESSOR:
        return f"district code abolished before the census, now {_SUCCESSOR[code]}"
    if code in _LATER:
        return f"district code newer than the census tables, which have {_LATER[code]}"
    if code[0] not in "EWK":
        return "code of no known kind"
    level = level_of(code)
    if level is None:
        return "code of another kind of area (a ward, region or country, say)"
    if level == "LAD":
        return "district code not among these areas"
    if int(code[3:]) > _LAST_OF_2011[code[:3]]:
        return f"{level} code of 2021 outside these areas"
    return f"{level} code of 2011, it seems, or of 2021 outside these areas"
