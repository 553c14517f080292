"""A folder of census files as one lookup and the tables in it."""

import os
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd

from voiceprivacy.census.codes import LEVELS
from voiceprivacy.census.layouts import read_wide
from voiceprivacy.census.lookup import is_lookup, read_lookup
from voiceprivacy.census.sheets import sheets_in
from voiceprivacy.census.tables import Table, read_table
from voiceprivacy.errors import VoicePrivacyError, listed

_WHERE = {
    "sex": "TS008 (sex) has it: census2021-ts008-oa.csv in the Nomis bulk file "
    "census2021-ts008.zip. TS009 (sex by single year of age) stops at districts, and RM200 "
    "(the same at lower levels) at LSOAs",
    "sex by age": "TS009 (sex by single year of age) has it for districts: "
    "census2021-ts009-ltla.csv in census2021-ts009.zip; RM200 has it for LSOAs and MSOAs",
    "household size": "TS017 (household size) has it: census2021-ts017-oa.csv in "
    "census2021-ts017.zip; TS003 (household composition) tells it in part",
    "residents": "TS001 (residents) has it: census2021-ts001-oa.csv in census2021-ts001.zip",
}


@dataclass(frozen=True)
class Folder:
    """What was recognised in a folder: the lookup, its vintage, the tables, and the rest."""

    path: Path
    lookup: pd.DataFrame
    vintage: str
    tables: list[Table]
    ignored: list[str]

    def find(self, topic: str, *levels: str) -> Table | None:
        """Return the most detailed table of a topic at the first of `levels` that has one."""
        for level in levels:
            found = [table for table in self.tables if (table.topic, table.level) == (topic, level)]
            if found:
                return max(found, key=lambda table: len(table.categories))
        return None

    def need(self, topic: str, *levels: str) -> Table:
        """Return the table of a topic, or say which census table has it.

        Raises
        ------
        VoicePrivacyError
            If there is none; tables of the topic at other levels are named.
        """
        table = self.find(topic, *levels)
        if table is not None:
            return table
        elsewhere = [
            f"{other.name} ({LEVELS[other.level]})" for other in self.tables if other.topic == topic
        ]
        found = f" There it is only in {listed(elsewhere)}." if elsewhere else ""
        raise VoicePrivacyError(
            f"{self.path}: no table of {topic} for {LEVELS[levels[0]]}.{found} {_WHERE[topic]}. "
            f"Tables read: {listed([table.name for table in self.tables], 20)}; files not "
            f"recognised: {listed(self.ignored, 20) or 'none'}."
        )


def read_folder(path: str | os.PathLike) -> Folder:
    """Read every CSV file (and bulk ZIP) of a folder, each recognised by its heading.

    Raises
    ------
    VoicePrivacyError
        If there is no folder, no lookup or more than one, or a file is faulty.
    """
    path = Path(path)
    if not path.is_dir():
        raise VoicePrivacyError(f"{path} is no folder of census tables.")
    lookups, tables, ignored = [], [], []
    for name, read in sheets_in(path):
        sheet = read()
        if is_lookup(sheet):
            lookups.append(sheet)
        elif (wide := read_wide(sheet)) and (table := read_table(wide)):
            tables.append(table)
        else:
            ignored.append(name)
    if len(lookups) != 1:
        found = listed(sheet.name for sheet in lookups) or "none"
        raise VoicePrivacyError(
            f"{path}: one lookup from output areas to LSOAs, MSOAs and districts is needed, found "
            f"{found}. The ONS Open Geography Portal has it (OA21CD, LSOA21CD, MSOA21CD, LAD22CD); "
            "`voiceprivacy census fetch` downloads it."
        )
    lookup, vintage = read_lookup(lookups[0])
    return Folder(path, lookup, vintage, _joined(tables), ignored)


def _joined(tables: list[Table]) -> list[Table]:
    """Join files that hold the same table for different areas, such as one file a region."""
    joined: list[Table] = []
    for table in tables:
        position = next((at for at, other in enumerate(joined) if _same_kind(table, other)), None)
        if position is None:
            joined.append(table)
        else:
            joined[position] = _join(joined[position], table)
    return joined


def _same_kind(one: Table, other: Table) -> bool:
    return (one.topic, one.level, one.categories) == (other.topic, other.level, other.categories)


def _join(one: Table, other: Table) -> Table:
    shared = one.codes.intersection(other.codes)
    if len(shared):
        mine, theirs = one.rows(shared), other.rows(shared)
        if not all(map(np.array_equal, mine, theirs)):
            raise VoicePrivacyError(
                f"{one.name} and {other.name} both count {one.topic} for {listed(shared)}, and "
                "differently: keep one of them."
            )
    new = ~other.codes.isin(shared)
    return replace(
        one,
        name=f"{one.name} and {other.name}",
        codes=one.codes.append(other.codes[new]),
        counts=np.concatenate([one.counts, other.counts[new]]),
        total=np.concatenate([one.total, other.total[new]]),
    )
