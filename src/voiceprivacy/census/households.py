"""Households of each output area by size, and whether tables agree on what they count."""

import numpy as np
import pandas as pd

from voiceprivacy.census.compositions import sizes_of_compositions
from voiceprivacy.census.folder import Folder
from voiceprivacy.census.tables import Table
from voiceprivacy.errors import VoicePrivacyError, listed

SIZES = ["1", "2", "3+"]
"""Columns of `OutputAreas.households`."""

MEAN_LARGE = 19105 / 5117
"""People in a household of three or more: Rutland, TS017 of Census 2021, 8 or more taken as 8."""

_TOLERANCE = 0.02


def households_by_size(
    folder: Folder, lookup: pd.DataFrame
) -> tuple[pd.DataFrame, pd.Series, list[str]]:
    """Return households by size, people per household of 3 and over, and how they were found.

    TS017 (household size) is preferred; in an open last category, such as "8 or more people", a
    household is taken to have the fewest people. TS003 (household composition) is used as
    `sizes_of_compositions` says.

    Raises
    ------
    VoicePrivacyError
        If neither table is there for output areas, TS003 lacks categories, or the table counts
        people instead of households.
    """
    table = folder.find("household size", "OA") or folder.find("household composition", "OA")
    if table is None:
        _refuse_people(folder)
        table = folder.need("household size", "OA")
    counts, total = table.rows(lookup.index)
    _check_counts_households(folder, lookup, table, total)
    if table.topic == "household composition":
        sizes, large, said = _from_compositions(table, counts)
    else:
        sizes, large, said = _from_sizes(table, counts)
    frame = pd.DataFrame(sizes, index=lookup.index, columns=SIZES)
    return frame, pd.Series(large, index=lookup.index), [said]


def _from_sizes(table: Table, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray, str]:
    people = np.array([size.low for size in table.categories], dtype=float)
    if not {1, 2, 3} <= set(people):
        raise VoicePrivacyError(
            f"{table.name} has the household sizes {listed(map(str, table.categories))}; columns "
            "for 1 and 2 people and one that begins at 3 are needed."
        )
    large = people >= 3
    classes = (people == 1, people == 2, large)
    sizes = np.column_stack([counts[:, columns].sum(axis=1) for columns in classes])
    if (people == 3).sum() == large.sum():
        mean = np.full(len(counts), MEAN_LARGE)
    else:
        mean = np.divide(
            counts[:, large] @ people[large],
            sizes[:, 2],
            out=np.full(len(counts), MEAN_LARGE),
            where=sizes[:, 2] > 0,
        )
    return sizes, mean, f"Households by size from {table.name}."


def _from_compositions(table: Table, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray, str]:
    if lacking := set(range(1, 15)) - set(table.categories):
        raise VoicePrivacyError(
            f"{table.name} lacks the household compositions number {listed(sorted(lacking), 14)} "
            "of TS003's 14; broad types alone do not tell household sizes. Use TS017 (household "
            "size)."
        )
    said = (
        f"Households by size estimated from compositions ({table.name}): one-person households "
        "counted, two and three or more partly by shares of England and Wales."
    )
    return sizes_of_compositions(counts), np.full(len(counts), MEAN_LARGE), said


def _refuse_people(folder: Folder) -> None:
    people = [
        table.name for table in folder.tables if table.topic == "people by household composition"
    ]
    if people:
        raise VoicePrivacyError(
            f"{listed(people)} counts people by household composition and age (RM057), not "
            "households, so it gives no household sizes: use TS017 (household size) for output "
            "areas."
        )


def _check_counts_households(
    folder: Folder, lookup: pd.DataFrame, table: Table, total: np.ndarray
) -> None:
    residents = folder.find("residents", "OA") or folder.find("sex", "OA")
    if residents is None:
        return
    people = residents.rows(lookup.index)[1].sum()
    # Districts of England and Wales have 0.3 to 0.6 households a resident.
    if total.sum() > 0.8 * people:
        raise VoicePrivacyError(
            f"{table.name} counts {total.sum():,.0f} and {residents.name} {people:,.0f} residents: "
            "the first counts people, not households. Download the table of households."
        )


def agreement(folder: Folder, lookup: pd.DataFrame) -> list[str]:
    """Compare the totals of tables that count the same, and say by how much they differ.

    Counts are changed a little in every table separately (cell key perturbation), so totals
    are not expected to be equal: a district may differ by 2 %, or by 5 if that is more.

    Raises
    ------
    VoicePrivacyError
        If two tables differ by more, and so cannot be of the same areas and units.
    """
    said = []
    for first, second in (
        ("residents", "sex"),
        ("residents", "age"),
        ("household size", "households"),
        ("household composition", "households"),
    ):
        one, other = folder.find(first, "OA"), folder.find(second, "OA")
        if one is None or other is None:
            continue
        mine, theirs = one.rows(lookup.index)[1], other.rows(lookup.index)[1]
        difference = abs(mine.sum() - theirs.sum())
        if difference > max(5, _TOLERANCE * max(mine.sum(), theirs.sum())):
            raise VoicePrivacyError(
                f"{one.name} has {mine.sum():,.0f} {first} in these areas and {other.name} "
                f"{theirs.sum():,.0f}: disclosure control changes totals by less than 2 %, so one "
                "of the files is of other areas, another census or another unit."
            )
        said.append(
            f"{other.name} differs from {one.name} by {difference:,.0f} in all and by at most "
            f"{np.abs(mine - theirs).max():.0f} in an area (disclosure control)."
        )
    return said
