"""A colour, marker and line for each level, attacker and method, the same in the whole book.

Colours stay apart for colour-blind readers, and markers and lines stay apart without colour.
"""

from collections.abc import Iterable
from typing import NamedTuple


class Style(NamedTuple):
    """How one curve is drawn."""

    color: str
    marker: str
    linestyle: object


_BLACK, _NAVY, _BLUE, _GREEN = "#111111", "#0a2f78", "#0f66ad", "#12937a"
_WINE, _BRICK, _PINK, _OCHRE = "#8c1038", "#c04c1c", "#c37fb4", "#bd8420"
_LONG, _SPARSE, _DASH_DOTS = (0, (8, 2)), (0, (2, 3)), (0, (6, 1, 1, 1, 1, 1))

LEVELS = {
    "signal only": Style(_BLACK, "o", "-"),
    "MSOA": Style(_NAVY, "s", "--"),
    "LSOA": Style(_BLUE, "^", "-."),
    "OA": Style(_GREEN, "D", ":"),
    "OA+HH1": Style(_WINE, "v", _LONG),
    "OA+HH2": Style(_BRICK, "P", _SPARSE),
    "OA+HH3+": Style(_PINK, "X", _DASH_DOTS),
}
ATTACKERS = {
    "original": Style(_BLACK, "o", "-"),
    "informed": Style(_WINE, "s", "--"),
    "semi-informed": Style(_BLUE, "^", "-."),
    "ignorant": Style(_OCHRE, "D", ":"),
}
# Not of the papers' four.
OTHER_ATTACKERS = {"lazy-informed": Style(_GREEN, "v", _LONG)}
METHODS = {
    "no augmentation": Style(_BLACK, "o", "-"),
    "SpecAug": Style(_PINK, "s", "--"),
    "RR": Style(_NAVY, "^", "-."),
    "AR": Style(_BRICK, "D", ":"),
    "SR": Style(_GREEN, "v", _LONG),
}
_SPARE_COLORS = (_BLUE, _BRICK, _GREEN, _WINE, _NAVY, _PINK, _OCHRE)
_SPARE_MARKERS = ("<", ">", "p", "h", "*", "d", "8", "H")
_SPARE_LINES = ("--", "-.", ":", _LONG, _SPARSE, _DASH_DOTS, "-")


def styles(names: Iterable[object]) -> dict[object, Style]:
    """Return a style for each name: its own in the whole book, or else the next spare one.

    Parameters
    ----------
    names
        Levels, attackers, methods (`LEVELS`, `ATTACKERS`, `METHODS`) or names of your own,
        such as a quasi-identifier's column.

    Examples
    --------
    >>> styles(["signal only", "occupation"])["signal only"].marker
    'o'
    """
    fixed = LEVELS | ATTACKERS | OTHER_ATTACKERS | METHODS
    names = list(dict.fromkeys(names))
    spare = [name for name in names if name not in fixed]
    return {name: fixed[name] if name in fixed else _spare(spare.index(name)) for name in names}


def _spare(place: int) -> Style:
    """The style of a name that has none of its own; different lengths keep combinations apart."""
    return Style(
        _SPARE_COLORS[place % len(_SPARE_COLORS)],
        _SPARE_MARKERS[place % len(_SPARE_MARKERS)],
        _SPARE_LINES[place % len(_SPARE_LINES)],
    )
