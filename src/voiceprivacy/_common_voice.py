"""The tables of a Common Voice release, one row a clip."""

import os
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from voiceprivacy._tsv import read_tsv
from voiceprivacy.errors import VoicePrivacyError, listed

SPLITS = ("validated", "other", "train", "dev", "test")
"""The tables that are read, and their precedence: a clip belongs to the first that has it."""


def is_common_voice(folder: Path) -> bool:
    """Whether a folder is that of a language, or holds such folders, which `language_folder` tells.

    Other folders named ``clips`` are a speaker's.
    """
    places = [*folder.glob("clips"), *folder.glob("*/clips")]
    return any(place.is_dir() and any(place.parent.glob("*.tsv")) for place in places)


def language_folder(folder: str | os.PathLike) -> Path:
    folder = Path(folder)
    if not folder.is_dir():
        raise VoicePrivacyError(f"{folder}: no such folder of Common Voice.")
    if not any(folder.glob("*.tsv")):
        inner = sorted({table.parent.name for table in folder.glob("*/*.tsv")})
        hint = f" Its folders {listed(inner)} have some: name one." if inner else ""
        raise VoicePrivacyError(
            f"{folder} has no tables such as validated.tsv; expected the folder of one language of "
            f"a Common Voice release, such as cv-corpus-11.0-2022-09-21/en.{hint}"
        )
    return folder


def release_name(folder: Path) -> str:
    """Release and language."""
    language = folder.resolve()
    release = language.parent.name
    return f"{release}/{language.name}" if release.startswith("cv-corpus") else language.name


def all_rows(folder: Path, splits: Sequence[str] | None, columns: Sequence[str]) -> pd.DataFrame:
    """All rows of the tables, in order of precedence."""
    if splits is None:
        splits = [split for split in SPLITS if (folder / f"{split}.tsv").is_file()]
    if not len(splits) or isinstance(splits, str):
        raise VoicePrivacyError(
            f"{folder}: splits={splits!r}; expected a list of tables that it has, without .tsv, or "
            f"nothing for those of {listed(SPLITS)}."
        )
    # A category keeps the table's name once, not once a row.
    split_type = pd.CategoricalDtype(list(dict.fromkeys(splits)))
    parts = []
    for split in split_type.categories:
        path = folder / f"{split}.tsv"
        rows = read_tsv(path, ("client_id", "path", *columns))
        _refuse_unnamed(rows, path)
        utterances = rows.pop("path").str.replace(r".*[\\/]", "", regex=True)
        rows.insert(0, "utterance", utterances.str.removesuffix(".mp3"))
        parts.append(rows.assign(split=pd.Series(split, rows.index, dtype=split_type)))
    rows = pd.concat(parts, ignore_index=True).rename(columns={"client_id": "speaker"})
    if rows.empty:
        raise VoicePrivacyError(f"{folder}: the tables {listed(splits)} have no rows.")
    return rows


def _refuse_unnamed(rows: pd.DataFrame, path: Path) -> None:
    unnamed = rows["line"][(rows["client_id"] == "") | (rows["path"] == "")].tolist()
    if unnamed:
        raise VoicePrivacyError(
            f"{path}: {len(unnamed)} rows lack client_id or path: line {listed(unnamed)}. "
            "Expected both in every row; fetch or unpack the file anew."
        )
