"""Side information: what is disclosed with the voices, as an ordered list of columns.

A table has one row a speaker (its index) and columns from coarse to fine. Level j of the
evaluation discloses columns 1 to j together; two speakers share a level when they agree in all
of them. An unknown value (missing or blank) rules nobody out.
"""

import os
from pathlib import Path

import numpy as np
import pandas as pd

from voiceprivacy.errors import VoicePrivacyError, listed
from voiceprivacy.speakers import read_text, text_table

UNKNOWN = -1


def read_side_information(
    path: str | os.PathLike, columns: list[str] | None = None, speaker: str | None = None
) -> pd.DataFrame:
    """Read a CSV or TSV table of quasi-identifiers; every value stays text.

    Parameters
    ----------
    path
        A file with a heading row. Commas, or tabs when the name ends in ``.tsv``. Between commas,
        quoted values may hold separators.
    columns
        The columns to keep, coarse to fine; all but the speaker column by default.
    speaker
        The column of speaker ids; by default ``speaker``, ``spk_id`` or the first column.

    Returns
    -------
    pandas.DataFrame
        Indexed by speaker id; blanks are missing values.

    Raises
    ------
    VoicePrivacyError
        If the file is absent or ragged, a column is missing, or a speaker id is blank or repeated.
    """
    separator = "\t" if str(path).endswith(".tsv") else ","
    table = text_table(read_text(Path(path)), str(path), separator).map(str.strip)
    heading = table.columns.tolist()
    key = speaker or next((name for name in ("speaker", "spk_id") if name in heading), heading[0])
    columns = columns if columns is not None else [name for name in heading if name != key]
    _refuse_repeated(columns, f"{path}: asked for column")
    if key in columns:
        raise VoicePrivacyError(f"{path}: {key!r} holds the speaker ids; disclose other columns.")
    absent = [name for name in [key, *columns] if name not in heading]
    if absent:
        raise VoicePrivacyError(
            f"{path} has no column {listed(absent)}; its columns are {listed(heading, 20)}. "
            "Values are separated by commas, in a .tsv file by tabs."
        )
    blank = (np.flatnonzero(table[key] == "") + 2).tolist()
    if blank:
        raise VoicePrivacyError(
            f"{path}, column {key!r}: no speaker id in row {listed(blank)}; give every row one."
        )
    _refuse_repeated(table[key], f"{path}, column {key!r}: speaker")
    return table.astype(object).set_index(key)[columns].replace("", None).rename_axis("speaker")


def encode(
    table: pd.DataFrame, speakers: np.ndarray, *, missing: str = "error"
) -> tuple[np.ndarray, int]:
    """Number the values of each column for these speakers.

    Parameters
    ----------
    table
        Indexed by speaker id, columns coarse to fine.
    speakers
        The speakers to look up, shape (S,).
    missing
        ``"error"``: a speaker without a row is refused. ``"unknown"``: it has no known value.

    Returns
    -------
    codes
        Shape (S, columns), int32; `UNKNOWN` where there is no value.
    absent
        How many of `speakers` have no row.

    Examples
    --------
    >>> t = pd.DataFrame({"town": ["x", "y", ""]}, index=["a", "b", "c"])
    >>> codes, absent = encode(t, np.array(["c", "b", "a"]))
    >>> codes[:, 0].tolist(), absent
    ([-1, 1, 0], 0)
    """
    if missing not in ("error", "unknown"):
        raise VoicePrivacyError(f"missing is {missing!r}; expected 'error' or 'unknown'.")
    _refuse_repeated(table.index, "side information: speaker")
    row = pd.Index(table.index.astype(str)).get_indexer(pd.Index(speakers.astype(str)))
    absent = speakers[row < 0]
    if len(absent) and missing == "error":
        raise VoicePrivacyError(
            f"The side information lacks {len(absent)} of {len(speakers)} speakers: "
            f"{listed(absent.tolist())}. Add their rows, or keep them as unknown "
            "(missing='unknown', --missing unknown)."
        )
    codes = np.full((len(speakers), table.shape[1]), UNKNOWN, np.int32)
    for j, name in enumerate(table.columns):
        value = table[name].where(table[name].notna() & (table[name].astype(str) != ""))
        codes[row >= 0, j] = pd.factorize(value, sort=True)[0][row[row >= 0]]
    return codes, len(absent)


def _refuse_repeated(names, what: str) -> None:
    names = pd.Index(names)
    repeated = names[names.duplicated()].unique().tolist()
    if repeated:
        raise VoicePrivacyError(f"{what} {listed(repeated)} appears more than once.")
