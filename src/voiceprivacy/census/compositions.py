"""Household composition (TS003): its 14 categories, and the sizes they can and cannot tell."""

import numpy as np

from voiceprivacy.census.labels import tidy
from voiceprivacy.errors import VoicePrivacyError

_ENDINGS = {
    1: "one person household: aged 66 years and over",
    2: "one person household: other",
    3: "single family household: all aged 66 years and over",
    4: "married or civil partnership couple: no children",
    5: "married or civil partnership couple: dependent children",
    6: "married or civil partnership couple: all children non dependent",
    7: "cohabiting couple family: no children",
    8: "cohabiting couple family: with dependent children",
    9: "cohabiting couple family: all children non dependent",
    10: "lone parent family: with dependent children",
    11: "lone parent family: all children non dependent",
    12: "other family composition",
    13: "other household types: with dependent children",
    14: "other household types: other, including all full time students and all aged 66 years"
    " and over",
}
_SUBTOTALS = (
    "one person household",
    "single family household",
    "single family household: married or civil partnership couple",
    "single family household: cohabiting couple family",
    "single family household: lone parent family",
    "single family household: other single family household",
    "other household types",
    "other household types: other related household",
)

# Households of exactly two people among those of more than one, England and Wales, Census 2021
# (ONS custom dataset, household composition by household size). None of 5, 6, 8 and 9, a couple
# with children; all of 4 and 7, a couple alone.
_OF_TWO = {
    3: 2281461 / 2283290,
    4: 1.0,
    5: 0.0,
    6: 0.0,
    7: 1.0,
    8: 0.0,
    9: 0.0,
    10: 726534 / 1719354,
    11: 833249 / 1037386,
    12: 156018 / 191874,
    13: 4744 / 656422,
    14: 300128 / 1031969,
}


def composition_of(label: str, name: str) -> int | None:
    """Return the number of a composition in TS003, or None for a subtotal.

    The bulk files, the Nomis API and ONS custom datasets word some categories differently.

    Examples
    --------
    >>> composition_of("Single-family household: Lone parent family", "ts003.csv")
    >>> composition_of("One-person household: Other", "ts003.csv")
    2
    """
    text = tidy(label)
    for number, ending in _ENDINGS.items():
        if text.endswith(ending):
            return number
    if text in _SUBTOTALS:
        return None
    raise VoicePrivacyError(f"{name}: {label!r} is no household composition of TS003.")


def sizes_of_compositions(counts: np.ndarray) -> np.ndarray:
    """Return households of 1, 2 and 3 or more people from the 14 compositions.

    Parameters
    ----------
    counts
        Households, shape (areas, 14), in the order of TS003.

    Returns
    -------
    numpy.ndarray
        Shape (areas, 3); rows keep their sums.

    Notes
    -----
    Only one-person households are counted; couples alone are exactly two people, couples with
    children at least three. Lone parents, families of older people and other households are
    split between 2 and 3 or more by their shares in England and Wales, so an area's own split
    of these is lost. TS017 counts sizes and is always preferred.

    Examples
    --------
    >>> sizes_of_compositions(np.eye(14)[[0, 3, 4, 9]]).round(3).tolist()
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.423, 0.577]]
    """
    of_two = np.array([_OF_TWO.get(number, 0.0) for number in range(1, 15)])
    alone = np.isin(np.arange(1, 15), (1, 2))
    shares = np.column_stack([alone, of_two, ~alone * (1 - of_two)])
    return counts @ shares
