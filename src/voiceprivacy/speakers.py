"""The table of speakers: read from a file, checked, with one spelling of gender and age."""

import csv
import io
import os
from collections.abc import Collection
from pathlib import Path

import numpy as np
import pandas as pd

from voiceprivacy.errors import VoicePrivacyError, listed

AGES = (
    *("teens", "twenties", "thirties", "forties", "fifties"),
    *("sixties", "seventies", "eighties", "nineties"),
)  # Common Voice's age groups
GENDERS = ("female", "male")
_NAMED = {",": "commas", "\t": "tabs", ";": "semicolons"}

_HEADINGS = {
    "speaker": ("speaker", "spk_id", "speaker_id", "client_id"),
    "gender": ("gender", "sex"),
    "age": ("age", "age_group"),
}
# Census tables know two sexes: any other answer constrains nothing, like no answer.
_UNKNOWN = ("", "o", "u", "unknown", "other", "non-binary", "do_not_wish_to_say")
_WORDS = {
    "gender": {
        **dict.fromkeys(("female", "f", "woman", "feminine", "female_feminine"), "female"),
        **dict.fromkeys(("male", "m", "man", "masculine", "male_masculine"), "male"),
        **dict.fromkeys((*_UNKNOWN, "intersex", "transgender"), ""),
    },
    "age": {**{word: word for word in AGES}, "fourties": "forties", "": "", "unknown": ""},
}


def read_speakers(
    path: str | os.PathLike, required: Collection[str] = ("gender", "age")
) -> pd.DataFrame:
    """Read speakers from a CSV or TSV file, or from a Kaldi ``spk2gender`` file.

    Parameters
    ----------
    path
        A file with a heading row (comma or tab) and one row a speaker: columns `speaker` (or
        `spk_id`, `speaker_id`, `client_id`), `gender` (or `sex`) and `age`; or, without any
        comma or tab in the first line or when named ``spk2gender``, Kaldi's lines of
        ``speaker f`` or ``speaker m``, whose ages are then unknown.
    required
        Which of `gender` and `age` the file must have; the other is unknown if absent.

    Returns
    -------
    pandas.DataFrame
        As from `checked_speakers`. Ids are kept as text: ``0012``, ``NA``, ``12e5``.

    Raises
    ------
    VoicePrivacyError
        If the file is missing or malformed, or `checked_speakers` refuses its content.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "speakers.csv"
    >>> _ = path.write_text("client_id,age,gender\\n0012,fourties,f\\nNA,,male_masculine\\n")
    >>> read_speakers(path).to_dict("list")
    {'speaker': ['0012', 'NA'], 'gender': ['female', 'male'], 'age': ['forties', '']}
    """
    path = Path(path)
    text = read_text(path)
    first, *others = text.splitlines()
    if path.name.endswith("spk2gender") or not {",", "\t", ";"} & set(first):
        return checked_speakers(_kaldi([first, *others], path), source=str(path))
    table = text_table(text, str(path), "\t" if "\t" in first else ",")
    table = table.rename(columns=_canonical_headings(table.columns))
    return checked_speakers(table, required, source=str(path), first_row=2)


def _kaldi(lines: list[str], path: Path) -> pd.DataFrame:
    fields = [line.split() for line in lines]
    wrong = [number for number, words in enumerate(fields, start=1) if len(words) != 2]
    if wrong:
        raise VoicePrivacyError(
            f"{path}: expected `speaker f` or `speaker m` on every line (a Kaldi spk2gender file), "
            f"or a heading row with commas or tabs; not so on line {listed(wrong)}."
        )
    return pd.DataFrame(fields, columns=["speaker", "gender"], dtype=str).assign(age="")


def read_text(path: Path) -> str:
    """Read a text file as it is; refuse one that is absent, empty or not UTF-8."""
    if not path.is_file():
        raise VoicePrivacyError(f"there is no file {path}.")
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise VoicePrivacyError(f"{path} is not UTF-8 text ({error}); save it as UTF-8.") from None
    if not text.strip():
        raise VoicePrivacyError(f"{path} is empty; expected one row a speaker.")
    return text


def text_table(
    text: str, source: str, separator: str = ",", *, line_breaks: bool = False
) -> pd.DataFrame:
    """Return the rows of delimited text under its heading, every cell as the text that it is.

    Quotes mean something between commas alone. A row is a line, unless quoted cells may hold
    `line_breaks`; then a stray quote can join rows.

    Raises
    ------
    VoicePrivacyError
        If there is no row, a quote is left open, two columns have one name, a row has more or
        fewer cells than the heading, or cells are separated by something else.
    """
    _refuse_other_separator(text.split("\n", 1)[0], source, separator)
    rows = _rows_by_line(text, source, separator, line_breaks)
    if not rows:
        raise VoicePrivacyError(f"{source} is empty; expected a heading and one row a speaker.")
    heading = next(iter(rows.values()))
    if twice := {name for name in heading if heading.count(name) > 1}:
        raise VoicePrivacyError(f"{source} has more than one column {listed(sorted(twice))}.")
    wrong = [line for line, row in rows.items() if len(row) != len(heading)]
    if wrong:
        raise VoicePrivacyError(
            f"{source} is not a table: line {listed(wrong)} has more or fewer cells than the "
            f"heading's {len(heading)}. Cells with a separator in them need quotes."
        )
    return pd.DataFrame(list(rows.values())[1:], columns=heading, dtype=str)


def _refuse_other_separator(heading: str, source: str, separator: str) -> None:
    """Spreadsheets save semicolons where a comma is the decimal sign; guessing errs."""
    other = next((mark for mark in "\t;," if mark in heading and mark != separator), None)
    if separator not in heading and other:
        raise VoicePrivacyError(
            f"{source}, line 1: {_NAMED[other]} stand between the cells; expected "
            f"{_NAMED[separator]}. Save the table with {_NAMED[separator]} "
            "(commas in a .csv, tabs in a .tsv file)."
        )


def _rows_by_line(
    text: str, source: str, separator: str, line_breaks: bool
) -> dict[int, list[str]]:
    """The cells of every row that is not blank, by the number of its first line."""
    quoting = csv.QUOTE_NONE if separator == "\t" else csv.QUOTE_MINIMAL
    lines = csv.reader(
        io.StringIO(text, newline=""), delimiter=separator, quoting=quoting, strict=True
    )
    rows, first = {}, 1
    try:
        for row in lines:
            if lines.line_num > first and not line_breaks:
                raise csv.Error(f"a quote is open until line {lines.line_num}")
            rows |= {first: row} if row else {}
            first = lines.line_num + 1
    except csv.Error as error:
        raise VoicePrivacyError(
            f"{source} is not a table: line {first}: {error}. Expected a row a line; a quote "
            "within quotes is written twice."
        ) from None
    return rows


def _canonical_headings(found: pd.Index) -> dict[str, str]:
    """Rename, for each column we want, the first of its known headings that is there."""
    spelled = {heading.strip().lower(): heading for heading in found}
    return {
        spelled[known]: name
        for name, headings in _HEADINGS.items()
        for known in [next((heading for heading in headings if heading in spelled), None)]
        if known
    }


def checked_speakers(
    speakers: pd.DataFrame,
    required: Collection[str] = ("gender", "age"),
    *,
    source: str = "the speakers table",
    first_row: int = 1,
) -> pd.DataFrame:
    """Return the table with columns `speaker`, `gender`, `age` in the package's own spelling.

    Parameters
    ----------
    speakers
        One row a speaker. `gender`: any usual spelling of female or male; `age`: Common Voice's
        words (``fourties`` too). Empty, missing or another answer means unknown.
    required
        Which of `gender` and `age` must be there as columns; the other is unknown if absent.
    source, first_row
        What an error message calls the table, and the number of its first row.

    Returns
    -------
    pandas.DataFrame
        Columns `speaker` (unique text), `gender` (``"female"``, ``"male"``, ``""``) and `age`
        (a word of `AGES`, or ``""``), in the order given, index 0, 1, ...

    Raises
    ------
    VoicePrivacyError
        If a column is missing, an id is empty, not text or repeated, or a word is not known.

    Examples
    --------
    >>> table = pd.DataFrame({"speaker": ["a", "b"], "gender": ["F", None], "age": ["teens", ""]})
    >>> checked_speakers(table).to_dict("list")
    {'speaker': ['a', 'b'], 'gender': ['female', ''], 'age': ['teens', '']}
    """
    missing = [name for name in ("speaker", *required) if name not in speakers]
    if missing:
        hint = "" if "speaker" in missing else (
            " Its cells may stay empty where nothing is known; in an assignment of areas, leave it "
            "out of the constraints to do without."
        )  # fmt: skip
        raise VoicePrivacyError(
            f"{source} has no column {listed(missing)}; its columns are "
            f"{listed(speakers.columns, 10)}. Name a column so.{hint}"
        )
    columns = {"speaker": _checked_ids(speakers["speaker"], source, first_row)}
    for name in ("gender", "age"):
        given = speakers[name] if name in speakers else pd.Series("", index=speakers.index)
        columns[name] = _known_words(given, name, source, first_row)
    return pd.DataFrame(columns, dtype=str)


def _checked_ids(given: pd.Series, source: str, first_row: int) -> list[str]:
    ids = given.tolist()
    if not ids:
        raise VoicePrivacyError(f"{source} has no rows; expected one row a speaker.")
    missing = given.isna().tolist()
    empty = [row for row, i in enumerate(ids) if missing[row] or not str(i).strip()]
    if empty:
        rows = listed(row + first_row for row in empty)
        raise VoicePrivacyError(f"{source} has an empty speaker id in row {rows}.")
    numbers = [i for i in ids if not isinstance(i, str)]
    if numbers:
        raise VoicePrivacyError(
            f"{source} has speaker ids that are not text: {listed(numbers)}. As numbers, ids like "
            "0012 and 12e5 are lost: read the column as text (pandas: dtype=str)."
        )
    if repeated := given[given.duplicated()].unique().tolist():
        raise VoicePrivacyError(
            f"{source} has {len(repeated)} speaker ids on more than one row: "
            f"{listed(repeated)}. Expected one row a speaker."
        )
    return ids


def _known_words(given: pd.Series, name: str, source: str, first_row: int) -> np.ndarray:
    found = our_words(given, name)
    if (wrong := np.flatnonzero(found == None)).size:  # noqa: E711 - compared cell by cell
        offenders = [f"row {row + first_row}: {given.iloc[row]!r}" for row in wrong[:5]]
        raise VoicePrivacyError(
            f"{source} has {len(wrong)} rows whose {name} is not a known word "
            f"({', '.join(offenders)}). Expected one of "
            f"{listed([word for word in _WORDS[name] if word], 40)}, or nothing if unknown."
        )
    return found


def our_words(given: pd.Series, name: str) -> np.ndarray:
    """Return genders or ages in the package's own spelling.

    Parameters
    ----------
    given
        Words in any usual spelling, shape (n,).
    name
        ``"gender"`` or ``"age"``.

    Returns
    -------
    array
        Text of shape (n,): ``""`` where nothing or an answer outside our words is said, None where
        the word is not known.

    Examples
    --------
    >>> our_words(pd.Series(["female_feminine", "transgender", None, "blue"]), "gender").tolist()
    ['female', '', '', None]
    """
    codes, words = pd.factorize(given)
    known = [_WORDS[name].get(str(word).strip().lower()) for word in words]
    # A missing cell has the code -1, which finds the last word: unknown.
    return np.array([*known, ""], dtype=object)[codes]
