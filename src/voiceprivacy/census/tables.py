"""Census tables by what they count, with leaves told from subtotals and totals."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from voiceprivacy.census.codes import LEVELS, explain_codes
from voiceprivacy.census.compositions import composition_of
from voiceprivacy.census.labels import TOTAL, Category, Range
from voiceprivacy.census.layouts import Wide, mentioned_table
from voiceprivacy.errors import VoicePrivacyError, listed

_MARITAL = "marital and civil partnership status"
_TOPICS = {
    ("residence type",): "residents",
    (_MARITAL,): "residents aged 16 and over",
    ("sex",): "sex",
    ("age",): "age",
    ("age", "sex"): "sex by age",
    ("household size",): "household size",
    ("household composition",): "household composition",
    ("age", "household composition"): "people by household composition",
    ("number of households",): "households",
}
_SINGLE_TOTALS = {
    "TS001": "residents",
    "TS002": "residents aged 16 and over",
    "TS041": "households",
}
_HOUSEHOLDS = ("household size", "household composition", "households")


@dataclass(frozen=True)
class Table:
    """Counts of leaf categories: `counts` has shape (areas, categories), `total` (areas,).

    `categories` holds "female" and "male", ranges of ages or sizes, pairs of sex and age range,
    or the numbers 1 to 14 of household compositions; it is empty where only totals matter.
    """

    name: str
    topic: str
    level: str
    codes: pd.Index
    categories: list
    counts: np.ndarray
    total: np.ndarray

    def rows(self, codes: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Return counts and totals in the order of `codes` (areas may repeat).

        Raises
        ------
        VoicePrivacyError
            If the table lacks some of the areas; what it has instead is explained.
        """
        at = self.codes.get_indexer(codes)
        if (at < 0).any():
            wanted = pd.Index(codes).unique()
            lacking = wanted[~wanted.isin(self.codes)]
            others = self.codes[~self.codes.isin(wanted)]
            instead = f" Instead it has: {explain_codes(others)}." if len(others) else ""
            raise VoicePrivacyError(
                f"{self.name} lacks {len(lacking)} of the lookup's {len(wanted)} "
                f"{LEVELS[self.level]}: {listed(lacking)}.{instead} Download the table for the "
                "whole district (a custom dataset leaves out areas that ONS judges disclosive), "
                "or name the one district you want."
            )
        return self.counts[at], self.total[at]


def read_table(wide: Wide) -> Table | None:
    """Return what a file counts, or None if it is no topic that we use.

    Raises
    ------
    VoicePrivacyError
        If categories are missing, overlap in a way that is no subtotal, or the file says that it
        counts households where people are expected or the reverse.
    """
    variables = tuple(sorted({name for cell in wide.cells for name, _ in cell}))
    if variables:
        topic = _TOPICS.get(variables)
    else:
        topic = _SINGLE_TOTALS.get(mentioned_table(f"{wide.about} {wide.name}") or "")
    if topic is None:
        return None
    _check_level(wide)
    _check_unit(wide, topic)
    categories, columns = _leaves(wide, topic)
    counts = wide.counts[:, columns]
    totals = [at for at, cell in enumerate(wide.cells) if all(found == TOTAL for _, found in cell)]
    total = wide.counts[:, totals[0]] if totals else _sum_of_leaves(wide, counts)
    return Table(wide.name, topic, wide.level, wide.codes, categories, counts, total)


def _check_level(wide: Wide) -> None:
    if mentioned_table(wide.name) == "TS009" and wide.level != "LAD":
        raise VoicePrivacyError(
            f"{wide.name} has codes of {LEVELS[wide.level]}, but TS009 (sex by single year of age) "
            "is published for districts and larger areas only. Sex by age is in RM200 for LSOAs "
            "and MSOAs; output areas have sex in TS008 and age in TS007A."
        )


def _check_unit(wide: Wide, topic: str) -> None:
    about = wide.about.lower()
    says = {unit for unit in ("persons", "households") if f"units : {unit}" in _squeezed(about)}
    unit = "households" if topic in _HOUSEHOLDS else "persons"
    if says and unit not in says:
        raise VoicePrivacyError(
            f"{wide.name} counts {says.pop()} by its Units line, but {topic} is needed in {unit}: "
            "download the table whose population is that."
        )


def _squeezed(text: str) -> str:
    return " ".join(text.split())


def _leaves(wide: Wide, topic: str) -> tuple[list, list[int]]:
    """Return the leaf categories of a topic and the columns that hold them."""
    cells = [dict(cell) for cell in wide.cells]
    if topic == "sex":
        return _sexes(wide, cells)
    if topic in ("age", "household size"):
        return _tiling(wide, {cell[topic]: at for at, cell in enumerate(cells) if topic in cell})
    if topic == "sex by age":
        return _sexes_by_age(wide, cells)
    if topic == "household composition":
        return _compositions(wide, cells)
    return [], []


def _sexes(wide: Wide, cells: list[dict[str, Category]]) -> tuple[list, list[int]]:
    found = {cell.get("sex"): at for at, cell in enumerate(cells)}
    if lacking := {"female", "male"} - set(found):
        raise VoicePrivacyError(f"{wide.name} has no column for {listed(sorted(lacking))}.")
    return ["female", "male"], [found["female"], found["male"]]


def _sexes_by_age(wide: Wide, cells: list[dict[str, Category]]) -> tuple[list, list[int]]:
    categories, columns = [], []
    for sex in ("female", "male"):
        ages = {cell["age"]: at for at, cell in enumerate(cells) if cell.get("sex") == sex}
        if not ages:
            raise VoicePrivacyError(f"{wide.name} has no column for {sex!r}.")
        leaves, at = _tiling(wide, ages)
        categories += [(sex, age) for age in leaves]
        columns += at
    return categories, columns


def _tiling(wide: Wide, columns: dict[Category, int]) -> tuple[list[Range], list[int]]:
    """Return the narrowest ranges, which must follow each other without gap up to "or more"."""
    ranges = sorted(found for found in columns if found != TOTAL)
    leaves = [
        one for one in ranges if not any(one.holds(other) for other in ranges if other != one)
    ]
    expected = leaves[0].low if leaves else 0
    for leaf in leaves:
        if leaf.low != expected:
            gap = "overlaps the one before it" if leaf.low < expected else "does not follow on"
            raise VoicePrivacyError(
                f"{wide.name}: the column {wide.labels[columns[leaf]]!r} {gap} "
                f"({expected} was expected next). Subtotals are told from leaves, but a missing "
                "or a mixed classification is not repaired: download the whole table."
            )
        expected = leaf.high + 1
    if expected != math.inf or leaves[0].low > 1:
        raise VoicePrivacyError(
            f"{wide.name}: its columns cover {leaves[0].low if leaves else 'nothing'} to "
            f"{expected - 1:g} only; the first or the last category is missing. Download the whole "
            "table."
        )
    return leaves, [columns[leaf] for leaf in leaves]


def _compositions(wide: Wide, cells: list[dict[str, Category]]) -> tuple[list, list[int]]:
    numbers = {
        composition_of(cell["household composition"], wide.name): at
        for at, cell in enumerate(cells)
        if cell.get("household composition", TOTAL) != TOTAL
    }
    numbers.pop(None, None)  # subtotals
    return sorted(numbers), [numbers[number] for number in sorted(numbers)]


def _sum_of_leaves(wide: Wide, counts: np.ndarray) -> np.ndarray:
    if counts.size:
        return counts.sum(axis=1)
    paths = [str(cell[0][1]) if cell else "" for cell in wide.cells]
    leaves = [
        at
        for at, path in enumerate(paths)
        if not any(other.startswith(f"{path}:") for other in paths)
    ]
    return wide.counts[:, leaves].sum(axis=1)
