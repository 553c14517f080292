"""The layouts of census tables, each turned into one row an area and one column a category."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from voiceprivacy.census.codes import explain_codes, level_of
from voiceprivacy.census.labels import Category, category, heading, mentioned, tidy, variable_named
from voiceprivacy.census.sheets import Sheet
from voiceprivacy.errors import VoicePrivacyError, listed

Cell = tuple[tuple[str, Category], ...]
"""What a column counts: sorted pairs of variable and category."""

TABLES = ("TS001", "TS002", "TS003", "TS007", "TS007A", "TS008", "TS009", "TS017", "TS041")
"""The Census 2021 tables that are used here."""

# Columns beside the counts: dates, names of areas, and the percentages of a query export.
_ASIDE = re.compile(r"date|geography|.*output area.*|.*local authorit.*|[a-z]+\d\dnmw?|%")


@dataclass(frozen=True)
class Wide:
    """Counts of one file, shape (areas, cells), with the areas' level and the cells' labels."""

    name: str
    about: str
    level: str
    codes: pd.Index
    cells: list[Cell]
    labels: list[str]
    counts: np.ndarray


def read_wide(sheet: Sheet) -> Wide | None:
    """Return the counts of a sheet, or None if it is no table that we use.

    Recognised by heading: Nomis bulk files, Nomis query exports (with or without percentages
    beside the counts), Nomis API answers and ONS custom datasets.

    Raises
    ------
    VoicePrivacyError
        If a table that we use has a column that is not understood, text or a fraction in a
        count, a repeated or missing cell, codes of two levels, or fewer rows than announced.
    """
    names = [tidy(name) for name in sheet.heading]
    if "geography_code" in names and "obs_value" in names:
        return _api_answer(sheet, names)
    if names[-1] in ("observation", "count") and names[0].endswith(" code"):
        return _custom_dataset(sheet)
    return _wide_file(sheet, names)


def mentioned_table(text: str) -> str | None:
    """Return the census table that a file name or title names.

    Examples
    --------
    >>> mentioned_table("census2021-ts007a-oa.csv")
    'TS007A'
    """
    found = re.search(r"(?<![A-Z])(TS\d{3}[A-D]?|RM\d{3})(?![0-9A-Z])", text.upper())
    return found[1] if found else None


def _wide_file(sheet: Sheet, names: list[str]) -> Wide | None:
    """Nomis bulk file or query export; other people's files if every heading is understood."""
    code_at, official = _code_column(names)
    if code_at is None:
        return None
    columns = [at for at, name in enumerate(names) if at != code_at and not _ASIDE.fullmatch(name)]
    labels = [sheet.heading[at] for at in columns]
    cells = [_cell(label) for label in labels]
    if official:
        _refuse_renamed(
            sheet, [one for one, cell in zip(labels, cells, strict=True) if cell is None]
        )
    if None in cells or not cells:
        return None
    _refuse_repeated(sheet, labels, cells)
    codes = [re.split(r"\s*:\s", row[code_at])[0] for row in sheet.rows]
    counts = [[row[at] for at in columns] for row in sheet.rows]
    return _checked(sheet, codes, cells, labels, counts)


def _refuse_renamed(sheet: Sheet, unknown: list[str]) -> None:
    used = mentioned_table(f"{sheet.name} {sheet.about}") in TABLES
    if unknown and (used or any(mentioned(label) for label in unknown)):
        raise VoicePrivacyError(
            f"{sheet.name}: column {listed(unknown)} is not a heading of this census table. "
            "Renamed columns are not guessed: restore the official headings."
        )


def _refuse_repeated(sheet: Sheet, labels: list[str], cells: list[Cell]) -> None:
    repeated = [one for one, cell in zip(labels, cells, strict=True) if cells.count(cell) > 1]
    if repeated:
        raise VoicePrivacyError(
            f"{sheet.name}: columns {listed(repeated)} say the same. Export one measure (Value) "
            "of each category."
        )


def _code_column(names: list[str]) -> tuple[int | None, bool]:
    """Return where the area codes stand, and whether that heading is the publisher's own."""
    for at, name in enumerate(names):
        if name in ("geography code", "mnemonic"):
            return at, True
    if re.match(r"20\d\d (super )?output area", names[0]):
        return 0, True
    form = re.compile(r"(oa|lsoa|msoa|lad)\d\dcd")
    return next((at for at, name in enumerate(names) if form.fullmatch(name)), None), False


def _cell(label: str) -> Cell | None:
    # A query export of a single total has the census year as its only heading.
    meaning = {} if re.fullmatch(r"20\d\d", label) else heading(label)
    return None if meaning is None else tuple(sorted(meaning.items()))


def _api_answer(sheet: Sheet, names: list[str]) -> Wide | None:
    variables = {
        variable_named(name): at for at, name in enumerate(names) if name.endswith("_name")
    }
    variables.pop(None, None)
    numbered = [name for name in names if variable_named(name) not in {None, *variables}]
    if numbered:
        raise VoicePrivacyError(
            f"{sheet.name}: categories are given by number only; "
            f"download again with {listed(f'{name}_name' for name in numbered)} in select."
        )
    if not variables and mentioned_table(sheet.name) != "TS041":
        return None
    _check_announced(sheet, names)
    rows = sheet.rows
    if "measures_name" in names:
        measure = names.index("measures_name")
        rows = [row for row in rows if tidy(row[measure]) == "value"]
    return _long_file(
        sheet, rows, names.index("geography_code"), names.index("obs_value"), variables
    )


def _check_announced(sheet: Sheet, names: list[str]) -> None:
    if "record_count" not in names:
        return
    announced = sheet.rows[0][names.index("record_count")]
    if announced != str(len(sheet.rows)):
        raise VoicePrivacyError(
            f"{sheet.name} holds {len(sheet.rows)} rows, but its RECORD_COUNT says {announced}: "
            "Nomis answers with at most 25,000 rows. Download the rest with RecordOffset, or use "
            "`voiceprivacy census fetch`."
        )


def _custom_dataset(sheet: Sheet) -> Wide | None:
    """ONS custom dataset: pairs of code and label, area first, then the observation."""
    pairs = range(2, len(sheet.heading) - 1, 2)
    variables = {
        variable_named(re.sub(r" Code$", "", sheet.heading[at], flags=re.I)): at + 1 for at in pairs
    }
    if None in variables or not variables:
        return None
    # Code -8 is "does not apply": people or homes outside the table's population.
    rows = [row for row in sheet.rows if all(row[at] != "-8" for at in pairs)]
    return _long_file(sheet, rows, 0, len(sheet.heading) - 1, variables)


def _long_file(
    sheet: Sheet, rows: list[list[str]], code_at: int, value_at: int, variables: dict[str, int]
) -> Wide | None:
    """One row a count: area, a label for each variable, value."""
    keys = [tuple(row[at] for at in variables.values()) for row in rows]
    number = {key: position for position, key in enumerate(dict.fromkeys(keys))}
    long = pd.Series(
        [row[value_at] for row in rows],
        index=pd.MultiIndex.from_arrays(
            [[row[code_at] for row in rows], [number[k] for k in keys]]
        ),
        dtype=object,
    )
    labels = ["; ".join(key) for key in number]
    if long.index.has_duplicates:
        code, position = long.index[long.index.duplicated()][0]
        raise VoicePrivacyError(f"{sheet.name}: area {code!r} has {labels[position]!r} twice.")
    counts = long.unstack(sort=False)[range(len(labels))]
    if counts.isna().to_numpy().any():
        raise VoicePrivacyError(
            f"{sheet.name}: area {listed(counts.index[counts.isna().any(axis=1)])} lacks some "
            "categories. A missing cell is not 0: the download was probably cut; download it again."
        )
    cells = [_long_cell(sheet, variables, key) for key in number]
    return _checked(sheet, list(counts.index), cells, labels, counts.to_numpy())


def _long_cell(sheet: Sheet, variables: dict[str, int], key: tuple[str, ...]) -> Cell:
    if not variables:
        return (("number of households", "total"),)
    meaning = {name: category(name, label) for name, label in zip(variables, key, strict=True)}
    for label, (name, found) in zip(key, meaning.items(), strict=True):
        if found is None:
            raise VoicePrivacyError(f"{sheet.name}: {label!r} is no known category of {name}.")
    return tuple(sorted(meaning.items()))


def _checked(
    sheet: Sheet, codes: list[str], cells: list[Cell], labels: list[str], counts: Sequence
) -> Wide | None:
    index = pd.Index(codes)
    if index.has_duplicates:
        again = index[index.duplicated()].unique()
        raise VoicePrivacyError(f"{sheet.name}: area {listed(again)} is there twice.")
    levels = [level_of(code) for code in codes]
    found = {level for level in levels if level}
    others = [code for code, level in zip(codes, levels, strict=True) if level is None]
    if not found or (others and all(re.fullmatch(r"[EWK]\d{8}", code) for code in others)):
        return None  # counties, regions, countries, wards
    if others:
        raise VoicePrivacyError(
            f"{sheet.name}: not every area has a code: {explain_codes(others)}."
        )
    if len(found) > 1:
        raise VoicePrivacyError(
            f"{sheet.name} mixes areas of the levels {listed(sorted(found))}: keep each level in "
            "its own file."
        )
    numbers = _numbers(sheet.name, codes, np.array(counts, dtype=object))
    return Wide(sheet.name, sheet.about, levels[0], index, cells, labels, numbers)


def _numbers(name: str, codes: list[str], counts: np.ndarray) -> np.ndarray:
    flat = pd.to_numeric(pd.Series(counts.ravel()), errors="coerce").to_numpy(dtype=float)
    numbers = flat.reshape(counts.shape)
    bad = ~(np.isfinite(numbers) & (numbers >= 0) & (numbers == np.floor(numbers)))
    if bad.any():
        row, column = np.argwhere(bad)[0]
        found = counts[row, column]
        hint = "It looks like a percentage: export the measure Value. " if "." in found else ""
        raise VoicePrivacyError(
            f"{name}: area {codes[row]!r} has {found!r} where a count is expected. {hint}"
            "A count is a whole number, and a missing one is not 0."
        )
    return numbers
