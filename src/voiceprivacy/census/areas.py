"""`OutputAreas`, and its making from a folder of official tables."""

import os
from dataclasses import dataclass

import numpy as np
import pandas as pd

from voiceprivacy.census.folder import read_folder
from voiceprivacy.census.households import MEAN_LARGE, SIZES, agreement, households_by_size
from voiceprivacy.census.lookup import of_district
from voiceprivacy.census.population import ADULT_COLUMNS, fit_adults
from voiceprivacy.errors import VoicePrivacyError, listed

ATTRIBUTION = (
    "Adapted from data from the Office for National Statistics licensed under the Open Government "
    "Licence v.3.0. "
    "Contains OS data © Crown copyright and database right 2023."
)
"""What a publication of these figures must say."""


@dataclass(frozen=True)
class OutputAreas:
    """Census output areas: where they lie, and who and how many live in them.

    Attributes
    ----------
    lookup
        Index ``OA``; columns ``LSOA``, ``MSOA``, ``LAD``: the codes of the areas around it.
    adults
        People of 16 and over, same index; columns ``(gender, age)`` with gender ``female`` or
        ``male`` and age one of Common Voice's words (`ages.AGES` has their census years).
        Expected numbers, not whole ones.
    households
        Households of 1, 2 and 3 or more people, same index; columns ``"1"``, ``"2"``, ``"3+"``.
    provenance
        Which tables these are from, and whether official or modelled.
    large_household_size
        Mean number of people in a household of 3 or more, one number or one for each area.

    Examples
    --------
    >>> from voiceprivacy.census import default_output_areas
    >>> areas = default_output_areas()
    >>> len(areas), areas.lookup["LSOA"].nunique(), areas.lookup["MSOA"].nunique()
    (128, 26, 5)
    """

    lookup: pd.DataFrame
    adults: pd.DataFrame
    households: pd.DataFrame
    provenance: str = ""
    large_household_size: pd.Series | float = MEAN_LARGE

    def __post_init__(self) -> None:
        _check_columns("lookup", self.lookup, ["LSOA", "MSOA", "LAD"])
        _check_columns("adults", self.adults, list(ADULT_COLUMNS))
        _check_columns("households", self.households, SIZES)
        if self.lookup.index.has_duplicates:
            again = self.lookup.index[self.lookup.index.duplicated()]
            raise VoicePrivacyError(f"output area {listed(again)} is there twice.")
        for name, table in (("adults", self.adults), ("households", self.households)):
            if not self.lookup.index.equals(table.index):
                raise VoicePrivacyError(
                    f"{name} must have the output areas of the lookup in the same order."
                )
            values = table.to_numpy(dtype=float)
            if not (np.isfinite(values).all() and (values >= 0).all()):
                bad = table.index[~(np.isfinite(values) & (values >= 0)).all(axis=1)]
                raise VoicePrivacyError(
                    f"{name} must be finite and not negative; see output area {listed(bad)}."
                )

    def __len__(self) -> int:
        return len(self.lookup)

    @property
    def persons_in_households(self) -> pd.DataFrame:
        """People living in households of each size, same shape as `households`."""
        people = self.households.astype(float)
        people["2"] *= 2
        people["3+"] *= self.large_household_size
        return people

    def summary(self) -> pd.DataFrame:
        """Return areas, adults, their share of women, and households, one row a district.

        Examples
        --------
        >>> from voiceprivacy.census import default_output_areas
        >>> default_output_areas().summary().loc["E06000017", ["OA", "LSOA", "adults"]].tolist()
        [128.0, 26.0, 34295.0]
        """
        district = self.lookup["LAD"]
        counts = self.lookup.groupby("LAD").nunique()[["LSOA", "MSOA"]]
        counts.insert(0, "OA", district.value_counts())
        adults = self.adults.sum(axis=1).groupby(district).sum()
        counts["adults"] = adults.round(1)
        counts["female"] = (
            self.adults["female"].sum(axis=1).groupby(district).sum() / adults
        ).round(3)
        return counts.join(self.households.groupby(district).sum().add_prefix("households of "))


def _check_columns(name: str, table: pd.DataFrame, columns: list) -> None:
    if list(table.columns) != columns:
        raise VoicePrivacyError(
            f"{name} must have the columns {listed(columns, 18)}, not {listed(table.columns, 18)}."
        )


def read_output_areas(folder: str | os.PathLike, district: str | None = None) -> OutputAreas:
    """Read official Census 2021 tables of England and Wales into `OutputAreas`.

    Files are recognised by their headings: Nomis bulk files (or their ZIPs), Nomis query exports,
    Nomis API answers, ONS custom datasets and the ONS lookup. Other files are left alone.

    Parameters
    ----------
    folder
        Folder with the lookup (output areas to LSOAs, MSOAs and districts) and tables. Needed for
        output areas: TS008 (sex), TS017 or TS003 (households), TS001 (residents); for the
        district: TS009 (sex by single year of age). Used if there: TS002 (residents of 16 and
        over), TS007A (age), RM200 (sex by age of LSOAs or MSOAs), TS041 (a check).
    district
        Code of the one district wanted, such as ``"E06000017"``; None for all of the lookup.

    Returns
    -------
    OutputAreas
        In the order of the lookup.

    Raises
    ------
    VoicePrivacyError
        If a table is missing, faulty, of another level or unit, or lacks areas of the lookup.

    Notes
    -----
    The number of adults of an area is its residents of 16 and over in TS002; without TS002, its
    residents times the share of 16 and over in the ages around it. Every other table is used as
    shares, because disclosure control changes each one separately. Totals of tables that count
    the same may differ by 2 % in a district; `OutputAreas.provenance` says by how much they do.
    """
    files = read_folder(folder)
    lookup = of_district(files.lookup, district)
    adults, said_adults = fit_adults(files, lookup)
    households, large, said_households = households_by_size(files, lookup)
    said = [
        f"Census 2021, official tables for {len(lookup)} output areas ({files.vintage}).",
        *said_adults,
        *said_households,
        *agreement(files, lookup),
        ATTRIBUTION,
    ]
    return OutputAreas(lookup, adults, households, " ".join(said), large)
