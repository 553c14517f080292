"""The file of an assignment: which area and household every speaker was given."""

import os
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd

from voiceprivacy.errors import VoicePrivacyError, listed
from voiceprivacy.files import refuse_to_overwrite, written_whole
from voiceprivacy.households import household_class
from voiceprivacy.speakers import checked_speakers, read_text, text_table

LEVELS = ("OA", "LSOA", "MSOA", "LAD")
_AUTHORS_COLUMNS = ("spk_id", "gender", "household_id", "hh_size", "OA", "LSOA", "MSOA")
COLUMNS = (*_AUTHORS_COLUMNS, "LAD", "HH")


def write_geolocation(
    table: pd.DataFrame, path: str | os.PathLike, *, overwrite: bool = False
) -> None:
    """Write an assignment as CSV, in the layout of the paper's `geolocation.csv`.

    Raises
    ------
    VoicePrivacyError
        If `path` exists and `overwrite` is false.
    """
    refuse_to_overwrite(path, overwrite)
    with written_whole(path) as temporary:
        table.to_csv(temporary, index=False, lineterminator="\n", encoding="utf-8")


def read_geolocation(path: str | os.PathLike) -> pd.DataFrame:
    """Read an assignment: one of `write_geolocation`, or the paper's published file.

    Parameters
    ----------
    path
        CSV with the columns of the published `geolocation.csv`: `spk_id`, `gender`,
        `household_id`, `hh_size`, `OA`, `LSOA`, `MSOA`. Where `LAD` is absent it is ``""``;
        `HH` follows from `hh_size`.

    Returns
    -------
    pandas.DataFrame
        Columns as from `voiceprivacy.assignment.assign`; rows in the file's order, ids as text.

    Raises
    ------
    VoicePrivacyError
        If the file is missing, a column is missing, a speaker repeats or has no area, a size is
        not a whole number from 1 up, or an area lies in two larger ones.
    """
    path = Path(path)
    table = text_table(read_text(path), str(path), line_breaks=True)
    missing = [name for name in _AUTHORS_COLUMNS if name not in table]
    if missing:
        raise VoicePrivacyError(
            f"{path} lacks columns {listed(missing, 9)}; expected {', '.join(_AUTHORS_COLUMNS)}."
        )
    speakers = checked_speakers(
        table.rename(columns={"spk_id": "speaker"}), ("gender",), source=str(path), first_row=2
    )
    table = table.assign(gender=speakers["gender"], hh_size=_sizes(table["hh_size"], path))
    table["HH"] = household_class(table["hh_size"])
    table = table if "LAD" in table else table.assign(LAD="")
    _check_nesting(table, path)
    return table[list(COLUMNS)]


def _sizes(words: pd.Series, path: Path) -> pd.Series:
    wrong = words[~words.str.fullmatch(r"[1-9]\d{0,8}")]
    if len(wrong):
        raise VoicePrivacyError(
            f"{path}: hh_size is not a whole number from 1 up in {len(wrong)} rows, such as "
            f"row {wrong.index[0] + 2}: {wrong.iloc[0]!r}. It counts the speakers of a household."
        )
    return words.astype(np.int64)


def _check_nesting(table: pd.DataFrame, path: Path) -> None:
    """Every speaker has an area, and every area lies in one larger area."""
    blank = table.index[(table[["OA", "LSOA", "MSOA"]] == "").any(axis=1)]
    if len(blank):
        raise VoicePrivacyError(f"{path}: no OA, LSOA or MSOA code in row {listed(blank + 2)}.")
    for fine, coarse in pairwise(LEVELS):
        parents = table[[fine, coarse]].drop_duplicates()[fine]
        if (split := parents[parents.duplicated()].unique()).size:
            raise VoicePrivacyError(
                f"{path}: {fine} {listed(split.tolist())} lies in more than one {coarse}; "
                "areas must nest."
            )
