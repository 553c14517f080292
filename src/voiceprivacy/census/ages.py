"""Ages: from census bands to Common Voice's decades, with children apart."""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from voiceprivacy.census.labels import Range
from voiceprivacy.errors import VoicePrivacyError, listed

AGES: Mapping[str, Range] = {
    "teens": Range(16, 19),
    "twenties": Range(20, 29),
    "thirties": Range(30, 39),
    "forties": Range(40, 49),
    "fifties": Range(50, 59),
    "sixties": Range(60, 69),
    "seventies": Range(70, 79),
    "eighties": Range(80, 89),
    "nineties": Range(90, math.inf),
}
"""Common Voice's age words as census years of age.

The words are the speakers' own and have no stated limits. ``teens`` begins at 16 here, because
census adults do: a speaker of 13 to 15 is placed as if 16 to 19. ``nineties`` has no upper
limit, because census tables end at "90 years and over".
"""

GROUPS: tuple[Range, ...] = (Range(0, 15), *AGES.values())
"""Children, then the nine ages of adults: the ten groups that a population is fitted in."""

LAST_YEAR = 90
"""Single years of age are 0 to 89, then 90 and over."""


def years_of(bands: Sequence[Range], counts: np.ndarray) -> np.ndarray | None:
    """Return counts by single year of age, shape (..., 91), or None if any band is wider.

    Examples
    --------
    >>> years_of([Range(0, 4), Range(5, math.inf)], np.ones(2)) is None
    True
    """
    closed = [band for band in bands if band.low < LAST_YEAR]
    if any(band.low != band.high for band in closed) or len(closed) < LAST_YEAR:
        return None
    first = [at for at, band in enumerate(bands) if band.low < LAST_YEAR]
    rest = [at for at, band in enumerate(bands) if band.low >= LAST_YEAR]
    return np.concatenate(
        [counts[..., first], counts[..., rest].sum(axis=-1, keepdims=True)], axis=-1
    )


def regroup(
    bands: Sequence[Range], counts: np.ndarray, years: np.ndarray | None, name: str
) -> np.ndarray:
    """Turn counts by age band into counts by the ten `GROUPS`.

    A band that crosses a limit between groups, such as 15 to 19 or 85 and over, is split in the
    proportions of the district's single years of age.

    Parameters
    ----------
    bands
        The table's bands, which follow on each other.
    counts
        People, shape (..., bands).
    years
        People of the district by single year, shape (91,); None if not known.
    name
        The table, for messages.

    Returns
    -------
    numpy.ndarray
        Shape (..., 10), with the sums of `counts`.

    Raises
    ------
    VoicePrivacyError
        If a band must be split and `years` is None.

    Examples
    --------
    >>> bands = [Range(0, 14), Range(15, 19), Range(20, math.inf)]
    >>> years = np.r_[np.ones(20), np.zeros(70), 1]
    >>> regroup(bands, np.array([30.0, 10.0, 5.0]), years, "ages")[:3].tolist()
    [32.0, 8.0, 0.0]
    """
    crossing = [band for band in bands if not any(group.holds(band) for group in GROUPS)]
    if crossing and years is None:
        raise VoicePrivacyError(
            f"{name}: the ages {listed(map(str, crossing))} must be split into decades, and no "
            "table here has the district's single years of age: add TS009 for the district "
            "(census2021-ts009-ltla.csv in census2021-ts009.zip) or TS007."
        )
    weights = np.ones(LAST_YEAR + 1) if years is None else years
    return counts @ np.array([_shares(band, weights) for band in bands])


def _shares(band: Range, years: np.ndarray) -> np.ndarray:
    """Return how a band falls into the groups, shape (10,), summing to 1."""
    ages = np.arange(LAST_YEAR + 1)
    inside = np.where((ages >= min(band.low, LAST_YEAR)) & (ages <= band.high), years, 0.0)
    if inside.sum() == 0:
        inside = ((ages >= min(band.low, LAST_YEAR)) & (ages <= band.high)).astype(float)
    parts = [inside[(ages >= group.low) & (ages <= group.high)].sum() for group in GROUPS]
    return np.array(parts) / inside.sum()
