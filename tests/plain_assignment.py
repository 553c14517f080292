"""The assignment's arithmetic, spelled out with loops and fractions: slow, obvious, for tests."""

from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pandas as pd

from voiceprivacy.census import OutputAreas
from voiceprivacy.speakers import AGES

COLUMNS = pd.MultiIndex.from_tuples(
    [(gender, age) for gender in ("female", "male") for age in AGES], names=["gender", "age"]
)


def small_areas(adults, households=None, larger=3.5) -> OutputAreas:
    """Output areas A0, A1, ... two to an LSOA, four to an MSOA, of {(gender, age): adults}."""
    adults = pd.DataFrame(adults, dtype=float)
    codes = pd.Index([f"A{k}" for k in range(len(adults))], name="OA", dtype=str)
    adults = adults.set_axis(codes).reindex(columns=COLUMNS, fill_value=0.0)
    lookup = pd.DataFrame(
        {
            "LSOA": [f"L{k // 2}" for k in range(len(codes))],
            "MSOA": [f"M{k // 4}" for k in range(len(codes))],
            "LAD": "D",
        },
        index=codes,
        dtype=str,
    )
    if households is None:
        households = np.tile([13.0, 18.0, 15.0], (len(codes), 1))
    homes = pd.DataFrame(households, index=codes, columns=["1", "2", "3+"], dtype=float)
    return OutputAreas(lookup, adults, homes, "made for a test", larger)


def random_areas(count: int, rng: np.random.Generator, *, zeros: float = 0.0) -> OutputAreas:
    """Output areas with random whole numbers of adults and households."""
    people = rng.integers(1, 40, (count, len(COLUMNS))) * (rng.random((count, 18)) >= zeros)
    people[0, :] += 1
    return small_areas(
        pd.DataFrame(people, columns=COLUMNS), rng.integers(0, 60, (count, 3)).astype(float)
    )


def random_speakers(count: int, rng: np.random.Generator, unknown: float = 0.1) -> pd.DataFrame:
    """Speakers s000000, ... in random order, as unevenly aged as a crowd-sourced corpus."""
    genders = rng.choice(["female", "male", ""], count, p=[0.25, 0.75 - unknown, unknown])
    weights = np.array([6, 24, 15, 10, 7, 5, 3, 2, 1]) / 73
    ages = rng.choice([*AGES, ""], count, p=[*(weights * (1 - unknown)), unknown])
    ids = [f"s{k:06d}" for k in rng.permutation(count)]
    return pd.DataFrame({"speaker": ids, "gender": genders, "age": ages})


def shares_by_largest_remainder(total: int, weights) -> list[int]:
    """Hamilton's rule in exact arithmetic."""
    exact = [Fraction(total) * Fraction(w) / sum(map(Fraction, weights)) for w in weights]
    whole = [share.numerator // share.denominator for share in exact]
    by_remainder = sorted(range(len(exact)), key=lambda k: (whole[k] - exact[k], k))
    for k in by_remainder[: total - sum(whole)]:
        whole[k] += 1
    return whole


def fit(start, rows, columns, passes=500) -> list[list[float]]:
    """Iterative proportional fitting, one cell at a time."""
    table = [[float(cell) for cell in row] for row in start]
    for _ in range(passes):
        for i, row in enumerate(table):
            total = sum(row)
            for j in range(len(row)):
                row[j] *= rows[i] / total if total else 0.0
        for j in range(len(columns)):
            total = sum(row[j] for row in table)
            for row in table:
                row[j] *= columns[j] / total if total else 0.0
    return table


def nearest_rounding_distance(table, rows, columns) -> float:
    """Least squared distance of any floor-or-ceiling table with these margins, by trying all."""
    floors = np.floor(table + 1e-9)
    choices = []
    for i, row in enumerate(table):
        fractional = [j for j in range(len(row)) if row[j] - floors[i][j] > 1e-9]
        choices.append(list(combinations(fractional, int(rows[i] - floors[i].sum()))))
    least = np.inf
    for choice in product(*choices):
        whole = floors.copy()
        for i, raised in enumerate(choice):
            whole[i, list(raised)] += 1
        if (whole.sum(axis=0) == columns).all():
            least = min(least, float(((whole - table) ** 2).sum()))
    return least


def cell_targets(speakers: pd.DataFrame, areas: OutputAreas) -> dict[tuple[str, str, str], float]:
    """Targets {(area, gender, age): speakers} under both constraints, from first principles."""
    codes = sorted(areas.lookup.index)
    quotas = shares_by_largest_remainder(
        len(speakers), [int(areas.adults.loc[code].sum()) for code in codes]
    )
    cells = sorted(set(zip(speakers["gender"], speakers["age"], strict=True)))
    counts = [
        sum((g, a) == cell for g, a in zip(speakers["gender"], speakers["age"], strict=True))
        for cell in cells
    ]
    start = [
        [
            sum(
                people
                for (gender, age), people in areas.adults.loc[code].items()
                if gender == (g or gender) and age == (a or age)
            )
            for g, a in cells
        ]
        for code in codes
    ]
    table = fit(start, quotas, counts)
    return {
        (code, *cell): table[i][j] for i, code in enumerate(codes) for j, cell in enumerate(cells)
    }
