"""Mozilla Common Voice: clips, speakers, and what the age words mean in years.

A release of one language is a folder such as ``cv-corpus-11.0-2022-09-21/en`` with ``clips/`` full
of mp3 files and tables such as ``validated.tsv``. Columns were added, renamed and moved between
releases, so they are found by name. Sentences hold stray quotes, so quotes mean nothing
(`voiceprivacy._tsv`).
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd

from voiceprivacy._common_voice import SPLITS, all_rows, language_folder, release_name
from voiceprivacy.census.ages import AGES
from voiceprivacy.census.labels import Range
from voiceprivacy.corpora import COLUMNS, REPORT_COLUMNS, Corpus
from voiceprivacy.errors import VoicePrivacyError, listed
from voiceprivacy.speakers import checked_speakers, our_words

__all__ = [
    "AGE_YEARS",
    "SPLITS",
    "age_years",
    "common_voice_rows",
    "common_voice_speakers",
    "read_common_voice",
]

AGE_YEARS: Mapping[str, Range] = {**AGES, "teens": Range(13, 19)}
"""Common Voice's age words as inclusive years of age, children of 13 to 15 among them.

Releases hold words alone; the years follow from them. The upper limit of ``teens`` is unclear: the
site's form offers "< 19" and, for ``twenties``, "19 - 29" (``AGES`` in Common Voice's source), so
speakers of 19 may stand under either word; the word's own meaning is kept here, which leaves no
gap. ``nineties`` ("> 89" in the form) has no upper limit. `voiceprivacy.census.ages.AGES`, by which
speakers get areas, begins ``teens`` at 16, because census adults do.
"""


def read_common_voice(
    folder: str | os.PathLike, splits: Sequence[str] | None = None, *, name: str = ""
) -> Corpus:
    """Read a release of Common Voice without opening any clip.

    Parameters
    ----------
    folder
        The folder of a language, with ``clips/`` and the tables.
    splits
        Tables to read, without ``.tsv``; all must be there. A clip belongs to the first that has
        it. By default those of `SPLITS` that are there.
    name
        What figures call the corpus; by default the release and the language.

    Returns
    -------
    Corpus
        Utterances sorted by id. The id is the clip's name without suffix, the speaker is
        ``client_id``. `Corpus.skipped` has the clips that are not in ``clips/`` and the lines that
        repeat a clip of the same table; `Corpus.notes` the clips that a later line gives to
        another speaker.

    Raises
    ------
    VoicePrivacyError
        If a table is missing or damaged (with its line), or if not one clip is there.

    Notes
    -----
    The order of `SPLITS` is that of the subset builder published with the legally validated
    metrics (its ``build_common_voice_subsets.py``), which however lets quotes merge rows. Clips of
    ``invalidated`` are only read when named.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> (folder / "clips").mkdir()
    >>> (folder / "clips" / "cv_1.mp3").touch()
    >>> _ = (folder / "other.tsv").write_text('path\\tclient_id\\tsentence\\ncv_1\\tann\\t"Hi\\n')
    >>> read_common_voice(folder).table[["utterance", "speaker"]].to_dict("list")
    {'utterance': ['cv_1'], 'speaker': ['ann']}
    """
    folder = language_folder(folder)
    rows = all_rows(folder, splits, ())
    first = rows.drop_duplicates("utterance")
    clips = _clips(folder, first["utterance"])
    found = clips["found"].to_numpy()
    _refuse_silent(folder, first["utterance"], found)
    table = first.assign(path=clips["path"], start=np.nan, end=np.nan)[COLUMNS][found]
    return Corpus(
        name or release_name(folder),
        table.sort_values("utterance", kind="stable"),
        pd.concat(
            [_missing(first[~found], clips["path"][~found]), _repeated(rows)], ignore_index=True
        ),
        _two_speakers(rows, first),
    )


def common_voice_rows(
    folder: str | os.PathLike,
    splits: Sequence[str] | None = None,
    columns: Sequence[str] = ("sentence",),
) -> pd.DataFrame:
    """Return one row a clip of the tables, whether the clip is there or not.

    Parameters
    ----------
    folder, splits
        As in `read_common_voice`.
    columns
        Which columns of the tables to add, as the text that they hold.

    Returns
    -------
    pandas.DataFrame
        ``utterance``, ``speaker``, the named columns, and the ``split`` and ``line`` (from 2) that
        each comes from, in the order of the tables.

    Raises
    ------
    VoicePrivacyError
        If a table is missing or damaged, or lacks a column.
    """
    rows = all_rows(language_folder(folder), splits, columns)
    return rows.drop_duplicates("utterance").reset_index(drop=True)


def common_voice_speakers(
    folder: str | os.PathLike, splits: Sequence[str] | None = None
) -> pd.DataFrame:
    """Return what the speakers of a release say of themselves.

    Parameters
    ----------
    folder, splits
        As in `read_common_voice`; clips need not be there.

    Returns
    -------
    pandas.DataFrame
        ``speaker``, ``gender`` and ``age`` as from `speakers.checked_speakers`, and ``raw_gender``
        and ``raw_age``, the release's own words (several, the most frequent first, with ``|``
        between), sorted by speaker. ``attrs["notes"]`` is a list of sentences that count the
        speakers who say several things and the words that are not known.

    Raises
    ------
    VoicePrivacyError
        If a table is missing or damaged, or lacks ``gender`` or ``age``.

    Notes
    -----
    A speaker has what most of the rows say that say anything, each clip counted once; with as many
    rows for something else, it is unknown. Answers that are neither female nor male, and words
    that are not known, count as answers but come out as unknown: nobody is dropped for them.
    """
    rows = common_voice_rows(folder, splits, ("gender", "age"))
    speakers = pd.DataFrame({"speaker": sorted(rows["speaker"].unique())}, dtype=str)
    raw, notes = {}, []
    for name in ("gender", "age"):
        words, notes_of = _most_said(rows, name)
        words = words.reindex(speakers["speaker"], fill_value="")
        speakers[name], raw[f"raw_{name}"] = words["word"].to_numpy(), words["raw"].to_numpy()
        notes += notes_of
    checked = checked_speakers(speakers, source=str(folder)).assign(**raw)
    checked.attrs["notes"] = notes
    return checked


def age_years(words: Iterable[str], years: Mapping[str, Range] = AGE_YEARS) -> pd.DataFrame:
    """Return the years of age that age words stand for.

    Parameters
    ----------
    words
        Age words in any usual spelling, shape (n,).
    years
        The years of every word, for instance ``{**AGE_YEARS, "teens": Range(16, 19)}``.

    Returns
    -------
    pandas.DataFrame
        ``low`` and ``high``, both inclusive, shape (n, 2); NaN where the age is unknown.

    Raises
    ------
    VoicePrivacyError
        If the years have a gap or overlap.

    Examples
    --------
    >>> age_years(["fourties", "nineties", "19"]).to_numpy().tolist()
    [[40.0, 49.0], [90.0, inf], [nan, nan]]
    """
    _refuse_gaps(years)
    known = our_words(pd.Series(list(words), dtype=object), "age")
    limits = [years.get(word, (np.nan, np.nan)) for word in known]
    return pd.DataFrame(limits, columns=["low", "high"], dtype=float)


def _clips(folder: Path, utterances: pd.Series) -> pd.DataFrame:
    """Where each clip lies, and whether it is there."""
    clips = folder / "clips"
    names = utterances + ".mp3"
    # One listing: asking the disk for each of a million files takes many times longer.
    there = set(os.listdir(clips)) if clips.is_dir() else set()
    found = [name in there for name in names]
    return pd.DataFrame({"path": f"{clips}{os.sep}" + names, "found": found})


def _refuse_silent(folder: Path, utterances: pd.Series, found: np.ndarray) -> None:
    if not found.any():
        raise VoicePrivacyError(
            f"{folder}: none of {len(found):,} clips is in {folder / 'clips'}; expected files such "
            f"as {utterances.iloc[0]}.mp3. Unpack the release's clips there."
        )


def _missing(rows: pd.DataFrame, paths: pd.Series) -> pd.DataFrame:
    return _report(rows, paths, "no clip", _place(rows) + ": not in clips/")


def _repeated(rows: pd.DataFrame) -> pd.DataFrame:
    """Lines whose clip the same table has already."""
    again = rows[rows.duplicated(["utterance", "split"])]
    return _report(again, again["utterance"] + ".mp3", "listed twice", _place(again))


def _two_speakers(rows: pd.DataFrame, first: pd.DataFrame) -> pd.DataFrame:
    """Clips that a later line gives to another speaker."""
    later = rows.drop(first.index)
    kept = later["utterance"].map(first.set_index("utterance")["speaker"])
    other = later[later["speaker"] != kept]
    detail = _place(other) + ": speaker " + other["speaker"] + ", kept " + kept[other.index]
    return _report(other, other["utterance"] + ".mp3", "two speakers", detail)


def _place(rows: pd.DataFrame) -> pd.Series:
    return rows["split"].astype(str) + ".tsv, line " + rows["line"].astype(str)


def _report(rows: pd.DataFrame, path: pd.Series, reason: str, detail: pd.Series) -> pd.DataFrame:
    report = rows[["utterance"]].assign(path=path, reason=reason, detail=detail)
    return report[REPORT_COLUMNS].astype(str).reset_index(drop=True)


def _most_said(rows: pd.DataFrame, name: str) -> tuple[pd.DataFrame, list[str]]:
    """Each speaker's word by most rows and the raw words, for those who say any; and notes."""
    said = rows[rows[name].str.strip() != ""]
    counts = said.groupby(["speaker", name]).size().rename("rows").reset_index()
    ours = our_words(counts[name], name)
    counts["word"] = np.where(ours == None, "", ours)  # noqa: E711 - compared cell by cell
    counts = counts.sort_values(["speaker", "rows", name], ascending=[True, False, True])
    votes = counts.groupby(["speaker", "word"])["rows"].sum().reset_index()
    best = votes[votes["rows"] == votes.groupby("speaker")["rows"].transform("max")]
    tied = best["speaker"].duplicated(keep=False)
    words = pd.DataFrame({"raw": counts.groupby("speaker")[name].agg("|".join)})
    words["word"] = best[~tied].set_index("speaker")["word"]
    several = votes["speaker"][votes["speaker"].duplicated()].nunique()
    unknown = counts[ours[counts.index] == None].groupby(name)["rows"].sum()  # noqa: E711
    notes = _notes(name, several, best["speaker"][tied].nunique(), unknown)
    return words.fillna({"word": ""}), notes


def _notes(name: str, several: int, tied: int, unknown: pd.Series) -> list[str]:
    notes = []
    if several:
        notes.append(
            f"{several:,} speakers say more than one {name}: {several - tied:,} have that of most "
            f"rows, {tied:,} with no such one are unknown."
        )
    if len(unknown):
        told = listed([f"{word} ({n:,})" for word, n in unknown.items()])
        notes.append(f"{unknown.sum():,} rows have no known word for {name}, so unknown: {told}.")
    return notes


def _refuse_gaps(years: Mapping[str, Range]) -> None:
    ranges = sorted(years.items(), key=lambda item: item[1])
    for (word, (low, high)), (after, (start, _)) in pairwise(ranges):
        if not low <= high or start != high + 1:
            raise VoicePrivacyError(
                f"ages {word} ({low} to {high}) and {after} (from {start}) leave a gap or overlap; "
                "expected inclusive years that follow each other."
            )
