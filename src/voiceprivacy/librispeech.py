"""LibriSpeech as its archives unpack: a folder for each subset, reader and chapter.

::

    LibriSpeech/SPEAKERS.TXT
    LibriSpeech/dev-clean/84/121123/84-121123-0000.flac
    LibriSpeech/dev-clean/84/121123/84-121123.trans.txt

(Panayotov et al., 2015; OpenSLR 12.) Files may have been converted to wav, ogg or mp3.
"""

import os
from collections.abc import Collection, Iterable
from dataclasses import replace
from pathlib import Path

import pandas as pd

from voiceprivacy._spk2utt import utf8_lines
from voiceprivacy.corpora import LIBRISPEECH_NAME, REPORT_COLUMNS, Corpus, read_folder
from voiceprivacy.errors import VoicePrivacyError, listed
from voiceprivacy.speakers import checked_speakers

__all__ = [
    "is_librispeech",
    "librispeech_speakers",
    "librispeech_transcripts",
    "read_librispeech",
    "speakers_file",
]

SPEAKERS = "SPEAKERS.TXT"
FORM = "<subset>/<reader>/<chapter>/<reader>-<chapter>-<utterance>.flac"


def is_librispeech(root: str | os.PathLike) -> bool:
    """Return whether a folder holds subsets of LibriSpeech, or is one.

    Examples
    --------
    >>> import tempfile
    >>> root = Path(tempfile.mkdtemp())
    >>> (root / "dev-clean" / "84" / "121123").mkdir(parents=True)
    >>> is_librispeech(root), is_librispeech(root / "dev-clean"), is_librispeech(root / "none")
    (True, True, False)
    """
    return bool(_folders(Path(root)))


def read_librispeech(root: str | os.PathLike, subsets: Collection[str] | None = None) -> Corpus:
    """Read LibriSpeech, all of it that is there or some subsets.

    Parameters
    ----------
    root
        The folder ``LibriSpeech``, the one that holds it, or one that is a subset.
    subsets
        Names such as ``"dev-clean"``; by default all that are there.

    Returns
    -------
    Corpus
        Utterances sorted by id; the speaker is the reader. Files elsewhere than their names say,
        and transcripts without sound, are in `Corpus.skipped`. `Corpus.notes` has utterances
        without transcript and readers that ``SPEAKERS.TXT`` lacks, whose gender is unknown.

    Raises
    ------
    VoicePrivacyError
        If there is no such subset, or one has no usable speech.

    Examples
    --------
    >>> import tempfile, numpy, soundfile
    >>> chapter = Path(tempfile.mkdtemp()) / "dev-clean" / "84" / "121123"
    >>> chapter.mkdir(parents=True)
    >>> soundfile.write(chapter / "84-121123-0000.flac", numpy.zeros(16000), 16000)
    >>> read_librispeech(chapter.parents[2]).table[["utterance", "speaker"]].values.tolist()
    [['84-121123-0000', '84']]
    """
    folders = _chosen(Path(root), subsets)
    parts = [_placed(read_folder(folder)) for folder in folders.values()]
    table = pd.concat([part.table for part in parts]).sort_values("utterance", kind="stable")
    texts, places = _transcripts(folders.values())
    corpus = Corpus(f"LibriSpeech, {', '.join(folders)}", table)
    skipped = [part.skipped for part in parts] + [_unheard(table, texts, places)]
    notes = [part.notes for part in parts] + [_unwritten(table, texts), _unknown(folders)]
    return replace(corpus, skipped=_stacked(skipped), notes=_stacked(notes))


def librispeech_speakers(root: str | os.PathLike) -> pd.DataFrame:
    """Return LibriSpeech's readers, by its file ``SPEAKERS.TXT``.

    Parameters
    ----------
    root
        As of `read_librispeech`; the file stands in the folder ``LibriSpeech``.

    Returns
    -------
    pandas.DataFrame
        As from `voiceprivacy.speakers.checked_speakers`, `age` always unknown, and columns
        ``subset`` and ``minutes`` (of speech; NaN where the file does not say). First the readers
        of the file, of whatever subset, then those that only have a folder here, whose gender is
        unknown.

    Raises
    ------
    VoicePrivacyError
        If the file is missing, or lines are no reader, sex and subset.

    Notes
    -----
    Fields stand between bars with any blanks, lines that begin with ``;`` are comments. The last
    field, the name, may hold bars itself; the minutes before it may be lacking.

    Examples
    --------
    >>> import tempfile
    >>> root = Path(tempfile.mkdtemp())
    >>> (root / "dev-clean" / "84" / "121123").mkdir(parents=True)
    >>> (root / "dev-clean" / "85" / "121124").mkdir(parents=True)
    >>> _ = (root / "SPEAKERS.TXT").write_text("; a comment\\n84 | F | dev-clean | 8.02 | A | B\\n")
    >>> librispeech_speakers(root)
      speaker  gender age     subset  minutes
    0      84  female      dev-clean     8.02
    1      85              dev-clean      NaN
    """
    folders = _chosen(Path(root), None)
    path = _speakers_file(folders)
    if path is None:
        raise VoicePrivacyError(
            f"{root}: no {SPEAKERS} here or beside the subsets; copy it from any archive of "
            "LibriSpeech."
        )
    known = _read_speakers(path)
    listed_already = {row[0] for row in known}
    others = {
        reader: (reader, "", subset, float("nan"))
        for subset, folder in folders.items()
        for reader in sorted(_readers(folder) - listed_already)
    }
    table = pd.DataFrame(
        [*known, *others.values()], columns=["speaker", "gender", "subset", "minutes"]
    )
    checked = checked_speakers(table, ["gender"], source=str(path))
    return checked.assign(subset=table["subset"], minutes=table["minutes"])


def speakers_file(root: str | os.PathLike) -> Path | None:
    """Return where ``SPEAKERS.TXT`` is, or None if there is none."""
    return _speakers_file(_folders(Path(root)))


def librispeech_transcripts(
    root: str | os.PathLike, subsets: Collection[str] | None = None
) -> dict[str, str]:
    """Return what is said in every utterance, from the files ``<reader>-<chapter>.trans.txt``.

    Raises
    ------
    VoicePrivacyError
        If there is no such subset, or an utterance has two transcripts.
    """
    return _transcripts(_chosen(Path(root), subsets).values())[0]


def _folders(root: Path) -> dict[str, Path]:
    """The subsets below a folder, or the folder itself, by name."""
    if (root / "LibriSpeech").is_dir():
        root = root / "LibriSpeech"
    if not root.is_dir():
        return {}
    places = [root.resolve()] if _is_subset(root) else filter(_is_subset, sorted(root.iterdir()))
    return {place.name: place for place in places}


def _is_subset(folder: Path) -> bool:
    """Whether a folder holds readers' folders, and they chapters'."""
    return folder.is_dir() and any(
        chapter.name.isdecimal() and chapter.is_dir()
        for reader in _readers(folder)
        for chapter in (folder / reader).iterdir()
    )


def _readers(folder: Path) -> set[str]:
    return {place.name for place in folder.iterdir() if place.name.isdecimal() and place.is_dir()}


def _chosen(root: Path, subsets: Collection[str] | None) -> dict[str, Path]:
    """The subsets to read, all of them there."""
    found = _folders(root)
    if not found:
        raise VoicePrivacyError(f"{root} holds no subset of LibriSpeech; expected {FORM}.")
    if isinstance(subsets, str):
        raise VoicePrivacyError(f"subsets={subsets!r}; expected a list, such as [{subsets!r}].")
    names = list(found) if subsets is None else list(subsets)
    absent = [name for name in names if name not in found]
    if absent or not names:
        raise VoicePrivacyError(
            f"{root} holds no subset {listed(absent) or 'of an empty list'}; there: "
            f"{listed(found, 10)}."
        )
    return {name: found[name] for name in names}


def _placed(corpus: Corpus) -> Corpus:
    """The files that lie where their names say; the others are skipped."""
    right = [
        bool(LIBRISPEECH_NAME.fullmatch(path.stem))
        and path.stem.split("-")[:2] == [path.parent.parent.name, path.parent.name]
        for path in map(Path, corpus.table["path"])
    ]
    wrong = corpus.table[[not one for one in right]]
    skipped = wrong.assign(reason="misplaced", detail=f"expected {FORM}")
    if len(wrong) == len(corpus):
        raise VoicePrivacyError(
            f"no file of {corpus.name} lies where its name says: {listed(wrong['path'], 3)}; "
            f"expected {FORM}."
        )
    return replace(corpus.select(right), skipped=_stacked([corpus.skipped, skipped]))


def _transcripts(folders: Iterable[Path]) -> tuple[dict[str, str], dict[str, Path]]:
    """What is said in each utterance, and in which file that stands."""
    texts: dict[str, str] = {}
    places: dict[str, Path] = {}
    for path in (path for folder in folders for path in sorted(folder.glob("*/*/*.trans.txt"))):
        for number, line in enumerate(utf8_lines(path), 1):
            utterance, _, text = line.strip().partition(" ")
            if utterance in texts:
                raise VoicePrivacyError(
                    f"{path}, line {number}: {utterance} has a transcript already, in "
                    f"{places[utterance]}; keep one."
                )
            if utterance:
                texts[utterance], places[utterance] = text.strip(), path
    return texts, places


def _unheard(table: pd.DataFrame, texts: dict[str, str], places: dict[str, Path]) -> pd.DataFrame:
    """Transcripts without sound."""
    absent = sorted(set(texts) - set(table["utterance"]))
    rows = [(u, str(places[u]), "no sound", "has a transcript, but no sound file") for u in absent]
    return pd.DataFrame(rows, columns=REPORT_COLUMNS, dtype=str)


def _unwritten(table: pd.DataFrame, texts: dict[str, str]) -> pd.DataFrame:
    """Sound without transcript."""
    rows = table[~table["utterance"].isin(list(texts))]
    return rows.assign(reason="no transcript", detail="not in its chapter's trans.txt")


def _unknown(folders: dict[str, Path]) -> pd.DataFrame:
    """Readers whose gender no file tells."""
    path = _speakers_file(folders)
    known = {row[0] for row in _read_speakers(path)} if path else set()
    detail = f"not in {path}" if path else f"there is no {SPEAKERS}"
    rows = [
        ("", str(folder / reader), "unknown gender", f"reader {reader}: {detail}")
        for folder in folders.values()
        for reader in sorted(_readers(folder) - known)
    ]
    return pd.DataFrame(rows, columns=REPORT_COLUMNS, dtype=str)


def _stacked(reports: list[pd.DataFrame]) -> pd.DataFrame:
    return pd.concat([report[REPORT_COLUMNS] for report in reports], ignore_index=True)


def _speakers_file(folders: dict[str, Path]) -> Path | None:
    """SPEAKERS.TXT, beside the subsets or, by mistake, in one."""
    places = [place for folder in folders.values() for place in (folder.parent, folder)]
    return next((place / SPEAKERS for place in places if (place / SPEAKERS).is_file()), None)


def _read_speakers(path: Path) -> list[tuple[str, str, str, float]]:
    """Reader, sex, subset and minutes of every line."""
    rows, wrong = [], []
    for number, line in enumerate(utf8_lines(path), 1):
        if not line.strip() or line.lstrip().startswith(";"):
            continue
        reader, *fields = (field.strip() for field in line.split("|"))
        if not reader.isdecimal() or len(fields) < 2 or fields[0].upper() not in ("F", "M"):
            wrong.append(f"line {number}: {line.strip()}")
        else:
            rows.append((reader, fields[0], fields[1], _minutes(fields[2:3])))
    if wrong:
        raise VoicePrivacyError(
            f"{path}: {len(wrong)} lines are no reader | F or M | subset | minutes | name: "
            f"{listed(wrong, 3)}; mend them, or put ; before them."
        )
    return rows


def _minutes(fields: list[str]) -> float:
    """The minutes, where the field after the subset is a number."""
    try:
        return float("".join(fields))
    except ValueError:
        return float("nan")
