"""A small made-up district, written in every layout that census tables come in."""

import csv
import io
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

DISTRICT = "E06000017"
OAS = ["E00069547", "E00069548", "E00187388", "E00172628"]
LSOAS = ["E01013787", "E01013787", "E01013788", "E01013788"]
MSOA = "E02002867"

Label = tuple[str, str]
"""A variable and one of its categories, as official files spell them."""


def people() -> np.ndarray:
    """Residents by output area, sex (female, male) and single year of age (90 is 90 and over)."""
    rng = np.random.default_rng(7)
    older = np.linspace(3, 0.3, 91)
    mean = np.stack([np.stack([older * scale, older * other]) for scale, other in SHAPES])
    mean[2, 1, 25:45] *= 6  # a barracks
    mean[3, 0, 85:] *= 5  # a care home
    return rng.poisson(mean).astype(float)


SHAPES = [(1.0, 1.0), (1.4, 1.2), (0.8, 1.5), (1.1, 0.9)]
HOUSEHOLDS = np.array(
    # 0, 1, 2, ... 7, 8 or more people
    [
        [0, 51, 58, 21, 16, 7, 0, 0, 1],
        [0, 58, 70, 30, 22, 2, 2, 1, 0],
        [0, 30, 41, 8, 10, 4, 1, 0, 0],
        [0, 23, 55, 10, 12, 3, 1, 1, 0],
    ],
    dtype=float,
)
COMPOSITIONS = (np.arange(56.0) % 9 + 1).reshape(4, 14)


def year_label(age: int) -> str:
    return "Aged 90 years and over" if age == 90 else _years(age, age)


def _years(low: int, high: int) -> str:
    if low == high:
        return {0: "Aged under 1 year", 1: "Aged 1 year"}.get(low, f"Aged {low} years")
    if low == 0:
        return f"Aged {high} years and under"
    return f"Aged {low} years and over" if high >= 90 else f"Aged {low} to {high} years"


FIVE_YEARS = [(low, low + 4) for low in range(0, 85, 5)] + [(85, 90)]
CENSUS_BANDS = [(0, 4), (5, 9), (10, 15), (16, 19), (20, 24), (25, 34), (35, 49), (50, 64)]
CENSUS_BANDS += [(65, 74), (75, 84), (85, 90)]
SIZE_LABELS = ["0 people in household", "1 person in household"]
SIZE_LABELS += [f"{n} people in household" for n in range(2, 8)]
SIZE_LABELS += ["8 or more people in household"]
COMPOSITION_LABELS = {
    "One person household": [1, 2],
    "One person household: Aged 66 years and over": [1],
    "One person household: Other": [2],
    "Single family household": list(range(3, 13)),
    "Single family household: All aged 66 years and over": [3],
    "Single family household: Married or civil partnership couple": [4, 5, 6],
    "Single family household: Married or civil partnership couple: No children": [4],
    "Single family household: Married or civil partnership couple: Dependent children": [5],
    "Single family household: Married or civil partnership couple: All children non-dependent": [6],
    "Single family household: Cohabiting couple family": [7, 8, 9],
    "Single family household: Cohabiting couple family: No children": [7],
    "Single family household: Cohabiting couple family: With dependent children": [8],
    "Single family household: Cohabiting couple family: All children non-dependent": [9],
    "Single family household: Lone parent family": [10, 11],
    "Single family household: Lone parent family: With dependent children": [10],
    "Single family household: Lone parent family: All children non-dependent": [11],
    "Single family household: Other single family household": [12],
    "Single family household: Other single family household: Other family composition": [12],
    "Other household types": [13, 14],
    "Other household types: With dependent children": [13],
    "Other household types: Other, including all full-time students and all aged 66 years "
    "and over": [14],
}
SUBTOTALS = {_years(*band) for band in CENSUS_BANDS} | {
    label
    for label in COMPOSITION_LABELS
    if any(other.startswith(f"{label}:") for other in COMPOSITION_LABELS)
}


@cache
def tables() -> dict[str, pd.DataFrame]:
    """The official tables of the district: index area codes, columns tuples of `Label`."""
    lived = people()
    both = lived.sum(axis=1)
    made = {
        "ts001": {
            (("Residence type", "Total"),): both.sum(axis=1),
            (("Residence type", "Lives in a household"),): both.sum(axis=1) - 5,
            (("Residence type", "Lives in a communal establishment"),): np.full(4, 5.0),
        },
        "ts002": {
            ((_MARITAL, "Total"),): both[:, 16:].sum(axis=1),
            ((_MARITAL, "Married or in a registered civil partnership"),): both[:, 50:].sum(axis=1),
            ((_MARITAL, "Married or in a registered civil partnership: Married"),): both[
                :, 50:
            ].sum(axis=1),
            ((_MARITAL, "Never married and never registered a civil partnership"),): both[
                :, 16:50
            ].sum(axis=1),
        },
        "ts007a": {(("Age", "Total"),): both.sum(axis=1)}
        | {(("Age", _years(*band)),): _band(both, band) for band in FIVE_YEARS},
        "ts008": {
            (("Sex", "All persons"),): both.sum(axis=1),
            (("Sex", "Female"),): lived[:, 0].sum(axis=1),
            (("Sex", "Male"),): lived[:, 1].sum(axis=1),
        },
        "ts017": {
            (("Household size", "Total"),): HOUSEHOLDS.sum(axis=1),
            **{
                (("Household size", label),): HOUSEHOLDS[:, at]
                for at, label in enumerate(SIZE_LABELS)
            },
        },
        "ts003": {(("Household composition", "Total"),): COMPOSITIONS.sum(axis=1)}
        | {
            (("Household composition", label),): COMPOSITIONS[:, np.array(parts) - 1].sum(axis=1)
            for label, parts in COMPOSITION_LABELS.items()
        },
        "ts041": {(("Number of households", "Number of households"),): HOUSEHOLDS.sum(axis=1) + 1},
    }
    official = {name: _frame(columns, OAS) for name, columns in made.items()}
    official["ts009"] = sex_by_age(lived.sum(axis=0, keepdims=True), [DISTRICT])
    official["rm200"] = sex_by_age(
        np.stack([lived[:2].sum(axis=0), lived[2:].sum(axis=0)]), ["E01013787", "E01013788"]
    )
    return official


def _frame(columns: dict[tuple[Label, ...], np.ndarray], codes: list[str]) -> pd.DataFrame:
    counts = np.column_stack(list(columns.values())).astype(int)
    return pd.DataFrame(counts, codes, pd.Index(list(columns), tupleize_cols=False))


_MARITAL = "Marital and civil partnership status"


def _band(counts: np.ndarray, band: tuple[int, int]) -> np.ndarray:
    return counts[..., band[0] : band[1] + 1].sum(axis=-1)


def sex_by_age(lived: np.ndarray, codes: list[str]) -> pd.DataFrame:
    """The columns of TS009 and RM200, totals, bands and single years together, for any areas."""
    columns = {}
    of_sex = {"All persons": lived.sum(axis=1), "Female": lived[:, 0], "Male": lived[:, 1]}
    for sex, counts in of_sex.items():
        columns[("Sex", sex), ("Age", "Total")] = counts.sum(axis=1)
        for band in CENSUS_BANDS:
            columns[("Sex", sex), ("Age", _years(*band))] = _band(counts, band)
        for age in range(91):
            columns[("Sex", sex), ("Age", year_label(age))] = counts[:, age]
    return _frame(columns, codes)


def lookup() -> pd.DataFrame:
    rows = {"OA21CD": OAS, "LSOA21CD": LSOAS, "LSOA21NM": ["Rutland 005A"] * 4}
    rows |= {"LSOA21NMW": [""] * 4, "MSOA21CD": [MSOA] * 4, "MSOA21NM": ["Rutland 005"] * 4}
    rows |= {"LAD22CD": [DISTRICT] * 4, "LAD22NM": ["Rutland"] * 4, "LAD22NMW": [""] * 4}
    return pd.DataFrame(rows | {"ObjectId": range(1, 5)})


def bulk(table: pd.DataFrame, *, measures: bool = True) -> str:
    """A Nomis bulk file; TS007A has no "measures: Value"."""
    end = "; measures: Value" if measures else ""
    heading = ["date", "geography", "geography code"]
    heading += ["; ".join(": ".join(label) for label in column) + end for column in table.columns]
    return _csv([heading] + [["2021", code, code, *row] for code, row in _rows(table)])


def query(table: pd.DataFrame, title: str, *, percent: bool = False, units: str = "Persons") -> str:
    """A Nomis query export: title lines, heading, blank line, data, notes."""
    heading = ["2021 output area", "mnemonic"]
    for column in table.columns:
        heading += [column[0][1], "%"] if percent else [column[0][1]]
    rows = [
        [code, code, *(cell for value in row for cell in ([value, "12.5"] if percent else [value]))]
        for code, row in _rows(table)
    ]
    top = [[title], ["ONS Crown Copyright Reserved [from Nomis on 3 May 2024]"]]
    top += [["Population :", "All"], ["Units      :", units], ["Date       :", "2021"], []]
    note = "In order to protect against disclosure of personal information, counts are changed."
    return _csv([*top, heading, [], *rows, [], [note], []])


def api(table: pd.DataFrame, dimensions: list[str]) -> str:
    """An answer of the Nomis API: one row a count, codes and names of every category."""
    heading = ["GEOGRAPHY_CODE", "GEOGRAPHY_NAME"]
    for dimension in dimensions:
        heading += [dimension.upper(), f"{dimension.upper()}_NAME"]
    rows = []
    for code, values in _rows(table):
        for at, (column, value) in enumerate(zip(table.columns, values, strict=True)):
            named = [cell for _, label in column for cell in (at, label)] if dimensions else []
            rows.append([code, code, *named, value])
    body = [[*row, len(rows)] for row in rows]
    return _csv([[*heading, "OBS_VALUE", "RECORD_COUNT"], *body])


def custom(table: pd.DataFrame, area: str = "Output Areas") -> str:
    """An ONS custom dataset: pairs of code and label, leaves only, "does not apply" rows."""
    variables = [variable for variable, _ in table.columns[0]]
    heading = [f"{area} Code", area]
    for name in variables:
        heading += [f"{name} (9 categories) Code", f"{name} (9 categories)"]
    rows = []
    for code, values in _rows(table):
        rows.append([code, code, *["-8", "Does not apply"] * len(variables), 0])
        for at, (column, value) in enumerate(zip(table.columns, values, strict=True)):
            if not any(label in {"Total", "All persons", *SUBTOTALS} for _, label in column):
                rows.append([code, code, *(c for _, label in column for c in (at, label)), value])
    return _csv([[*heading, "Observation"], *rows])


def write_district(folder: Path, *names: str) -> Path:
    """Write the lookup and the named tables as bulk files; all that are usual if none is named."""
    names = names or ("ts001", "ts002", "ts007a", "ts008", "ts009", "ts017")
    folder.mkdir(parents=True, exist_ok=True)
    lookup().to_csv(folder / "lookup.csv", index=False, encoding="utf-8-sig")
    level = {"ts009": "ltla", "rm200": "lsoa"}
    for name in names:
        text = bulk(tables()[name], measures=name != "ts007a")
        (folder / f"census2021-{name}-{level.get(name, 'oa')}.csv").write_text(text)
    return folder


def _rows(table: pd.DataFrame):
    return zip(table.index, table.to_numpy().tolist(), strict=True)


def _csv(rows: list[list]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\r\n").writerows(rows)
    return text.getvalue()
