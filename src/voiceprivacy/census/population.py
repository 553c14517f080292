"""Adults of each output area by sex and age, fitted to the tables that there are."""

import numpy as np
import pandas as pd

from voiceprivacy.census.ages import AGES, regroup, years_of
from voiceprivacy.census.codes import LEVELS
from voiceprivacy.census.folder import Folder
from voiceprivacy.census.labels import Range
from voiceprivacy.census.tables import Table

ADULT_COLUMNS = pd.MultiIndex.from_product([["female", "male"], AGES], names=["gender", "age"])
"""Columns of `OutputAreas.adults`."""


def fit_margins(
    seed: np.ndarray, sexes: np.ndarray, ages: np.ndarray, tolerance: float = 1e-9
) -> np.ndarray:
    """Fit each area's table of sex by age to its margins by iterative proportional fitting.

    Parameters
    ----------
    seed
        Non-negative, shape (areas, 2, groups). Cells of 0 stay 0 unless a margin needs them:
        they start at a millionth of their area's total.
    sexes
        People by sex, shape (areas, 2).
    ages
        People by age group, shape (areas, groups); or by child and adult, shape (areas, 2), the
        first group being the children. Sums are those of `sexes`.
    tolerance
        Greatest remaining error of `sexes`, as a share of an area's total. `ages` are met exactly.

    Returns
    -------
    numpy.ndarray
        Shape (areas, 2, groups).

    Notes
    -----
    Deming and Stephan (1940), Annals of Mathematical Statistics 11, 427-444. Margins come from
    tables that were perturbed separately, so a solution may not exist cell for cell; the fit
    then stops after 1,000 rounds at the nearest it reaches.

    Examples
    --------
    >>> fit_margins(np.ones((1, 2, 2)), np.array([[30.0, 70.0]]), np.array([[20.0, 80.0]]))[0]
    array([[ 6., 24.],
           [14., 56.]])
    """
    totals = sexes.sum(axis=1)
    fitted = np.maximum(seed, 1e-6 * seed.sum(axis=(1, 2), keepdims=True))
    member = np.zeros((seed.shape[2], ages.shape[1]))
    member[np.arange(seed.shape[2]), np.minimum(np.arange(seed.shape[2]), ages.shape[1] - 1)] = 1
    for _ in range(1000):
        fitted = fitted * _ratio(sexes, fitted.sum(axis=2))[:, :, None]
        fitted = fitted * (_ratio(ages, fitted.sum(axis=1) @ member) @ member.T)[:, None, :]
        error = np.abs(fitted.sum(axis=2) - sexes).max(axis=1)
        if (error <= tolerance * totals).all():
            break
    return fitted


def _ratio(wanted: np.ndarray, present: np.ndarray) -> np.ndarray:
    return np.divide(wanted, present, out=np.zeros_like(present), where=present > 0)


def fit_adults(folder: Folder, lookup: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """Return adults by sex and age for every output area, and the sentences that say how.

    Each area's residents are fitted as sex by ten age groups (children and nine ages of adults).
    The seed is sex by age of the smallest area around it that has such a table, moved to the ages
    of a smaller area if a table has them. The margins are the area's own sexes (TS008) and its
    children and adults (TS001 less TS002) or ages (TS007A). Then the children are dropped.

    Raises
    ------
    VoicePrivacyError
        If a table that is needed is missing, or lacks areas of `lookup`.
    """
    joint = folder.need("sex by age", *LEVELS)
    finer = list(LEVELS)[: list(LEVELS).index(joint.level)]
    ages = folder.find("age", *finer)
    parts = [
        _fit_district(folder, joint, ages, areas) for _, areas in lookup.groupby("LAD", sort=False)
    ]
    return pd.concat(parts).loc[lookup.index], _said(folder, joint, ages)


def _fit_district(
    folder: Folder, joint: Table, ages: Table | None, lookup: pd.DataFrame
) -> pd.DataFrame:
    years = _single_years(folder, lookup)
    people = np.stack([_grouped(joint, lookup, years, sex) for sex in ("female", "male")], axis=1)
    around = people.sum(axis=1) if ages is None else _grouped(ages, lookup, years)
    children, adults = _children_and_adults(folder, lookup, around)
    if joint.level != "OA":
        seed = people * _ratio(around, people.sum(axis=1))[:, None, :]
        sexes = _shares(folder.need("sex", "OA").rows(lookup.index)[0])
        by_age = adults[:, None]
        if ages is not None and ages.level == "OA":
            by_age = by_age * _shares(around[:, 1:])
        people = fit_margins(
            seed, (children + adults)[:, None] * sexes, np.column_stack([children, by_age])
        )
    grown = _shares(people[:, :, 1:].reshape(len(lookup), -1))
    return pd.DataFrame(adults[:, None] * grown, index=lookup.index, columns=ADULT_COLUMNS)


def _shares(counts: np.ndarray) -> np.ndarray:
    return _ratio(counts, np.broadcast_to(counts.sum(axis=1, keepdims=True), counts.shape))


def _around(table: Table, lookup: pd.DataFrame) -> pd.Index:
    """The area of the table's level around each output area."""
    return lookup.index if table.level == "OA" else pd.Index(lookup[table.level])


def _of_sex(table: Table, sex: str) -> tuple[list[int], list[Range]]:
    """Columns and bands of one sex, or of everybody in a table without sexes."""
    if table.topic == "age":
        return list(range(len(table.categories))), table.categories
    found = [(at, band) for at, (one, band) in enumerate(table.categories) if one == sex]
    return [at for at, _ in found], [band for _, band in found]


def _grouped(
    table: Table, lookup: pd.DataFrame, years: dict[str, np.ndarray], sex: str = "all"
) -> np.ndarray:
    """Counts by age group around each output area, shape (areas, 10)."""
    columns, bands = _of_sex(table, sex)
    counts = table.rows(_around(table, lookup))[0][:, columns]
    return regroup(bands, counts, years.get(sex), table.name)


def _single_years(folder: Folder, lookup: pd.DataFrame) -> dict[str, np.ndarray]:
    """The district's people by single year of age, of each sex and of all; empty if not known."""
    for topic in ("sex by age", "age"):
        for table in folder.tables:
            places = _around(table, lookup).unique()
            if table.topic != topic or not places.isin(table.codes).all():
                continue
            people = table.rows(places)[0].sum(axis=0)
            female, male = (
                years_of(bands, people[columns])
                for columns, bands in (_of_sex(table, sex) for sex in ("female", "male"))
            )
            if female is not None:
                return {"female": female, "male": male, "all": female + male}
    return {}


def _children_and_adults(
    folder: Folder, lookup: pd.DataFrame, groups: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Residents under 16, and of 16 and over, of each output area."""
    residents = _residents(folder).rows(lookup.index)[1]
    over_16 = folder.find("residents aged 16 and over", "OA")
    if over_16 is None:
        adults = residents * _shares(groups)[:, 1:].sum(axis=1)
    else:
        adults = over_16.rows(lookup.index)[1]
    return np.maximum(residents - adults, 0), adults


def _residents(folder: Folder) -> Table:
    for topic in ("residents", "sex", "age", "sex by age"):
        if table := folder.find(topic, "OA"):
            return table
    return folder.need("residents", "OA")


def _said(folder: Folder, joint: Table, ages: Table | None) -> list[str]:
    over_16 = folder.find("residents aged 16 and over", "OA")
    total = (
        f"Adults are residents of 16 and over of {over_16.name}"
        if over_16
        else f"Adults are the residents of {_residents(folder).name} times the share of 16 and over"
    )
    if joint.level == "OA":
        return [f"{total}; sex by age from {joint.name}."]
    by_age = f"sex by age of {LEVELS[joint.level]} ({joint.name})"
    if ages is None:
        by_age += ", no table having ages of smaller areas"
    else:
        by_age += f" moved to the ages of {LEVELS[ages.level]} ({ages.name})"
    sexes = folder.need("sex", "OA").name
    return [f"{total}; sexes from {sexes}; {by_age}, by iterative proportional fitting."]
