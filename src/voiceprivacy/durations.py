"""How long utterances are: from a table where there is one, else from the files' headers."""

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
from tqdm import tqdm

from voiceprivacy._audio import RATE, audio_packages
from voiceprivacy._tsv import read_tsv
from voiceprivacy.corpora import REPORT_COLUMNS, Corpus
from voiceprivacy.errors import VoicePrivacyError, listed
from voiceprivacy.files import written_whole

TABLE = "clip_durations.tsv"
CLIP, MILLISECONDS = "clip", "duration[ms]"
# Headers read between two savings: a minute or so of work.
BATCH = 20_000


def utterance_durations(
    corpus: Corpus,
    folder: str | os.PathLike | None = None,
    *,
    keep: str | os.PathLike | None = None,
    progress: bool = False,
) -> tuple[Corpus, pd.Series]:
    """Return how long each utterance of a corpus of whole files is, in seconds.

    Parameters
    ----------
    corpus
        Utterances, each a whole file.
    folder
        A Common Voice release, whose ``clip_durations.tsv`` (columns ``clip`` and
        ``duration[ms]``; since about release 13) is used if it is there. Utterances that it lacks
        are measured.
    keep
        A file where measured durations are kept, so that an interrupted run goes on: those that it
        has are not measured again. It has the same columns and ``rate``, in Hz.
    progress
        Show a bar on stderr.

    Returns
    -------
    corpus : Corpus
        The same without the files whose header cannot be read or announces no sound, which stand
        in `Corpus.skipped`. Measured files below 16 kHz stand in `Corpus.notes`.
    seconds : pandas.Series
        By utterance, in whole milliseconds as in that table, shape (n,).

    Raises
    ------
    VoicePrivacyError
        If a table is damaged, utterances are pieces of files, or no utterance is left.

    Notes
    -----
    The header of an mp3 file may announce a little more than is decoded.
    """
    _refuse_pieces(corpus)
    table = corpus.table.set_index("utterance")
    known = [_known(path, columns) for path, columns in _tables(folder, keep) if path.is_file()]
    found = pd.concat([*known, _found([])])
    found = found[~found.index.duplicated()].reindex(table.index)
    unknown = found["fault"].isna()
    measured = _measured(table["path"][unknown], found[~unknown], keep, progress)
    found = found.fillna(measured)
    sound = (found["fault"] == "").to_numpy()
    if not sound.any():
        told = listed(found["fault"].tolist(), 3)
        raise VoicePrivacyError(f"{corpus.name}: the duration of no utterance is known: {told}.")
    low = sound & (found["rate"] < RATE).to_numpy()
    rates = [f"{rate:.0f} Hz; 16 kHz expected" for rate in found["rate"][low]]
    left = replace(
        corpus,
        table=corpus.table[sound],
        skipped=_more(corpus.skipped, table[~sound], "unreadable", found["fault"][~sound]),
        notes=_more(corpus.notes, table[low], "low rate", rates),
    )
    return left, (found["ms"][sound] / 1000).rename("seconds")


def _tables(
    folder: str | os.PathLike | None, keep: str | os.PathLike | None
) -> list[tuple[Path, list[str]]]:
    """The tables of durations, the release's before our own, and their columns."""
    tables = [(Path(folder) / TABLE, [CLIP, MILLISECONDS])] if folder is not None else []
    return tables + ([(Path(keep), [CLIP, MILLISECONDS, "rate"])] if keep is not None else [])


def _known(path: Path, columns: list[str]) -> pd.DataFrame:
    """What a table says, by utterance."""
    rows = read_tsv(path, columns)
    numbers = rows[columns[1:]].apply(pd.to_numeric, errors="coerce")
    wrong = rows["line"][~(numbers >= 0).all(axis=1)].tolist()
    if wrong:
        raise VoicePrivacyError(
            f"{path}: {len(wrong)} rows whose {' or '.join(columns[1:])} is no number: line "
            f"{listed(wrong)}. Mend or delete the file; utterances that it lacks are measured."
        )
    numbers.index = pd.Index(rows[CLIP].str.removesuffix(".mp3"), name="utterance")
    # A table without rows would stay text, and make text of all.
    return numbers.astype(float).rename(columns={MILLISECONDS: "ms"}).assign(fault="")


def _measured(
    paths: pd.Series, known: pd.DataFrame, keep: str | os.PathLike | None, progress: bool
) -> pd.DataFrame:
    """What headers say, by utterance; saved now and then, and when interrupted."""
    if paths.empty:
        return _found([])
    rows = []
    try:
        for utterance, path in tqdm(paths.items(), total=len(paths), disable=not progress):
            rows.append((utterance, *_header(path)))
            if keep is not None and len(rows) % BATCH == 0:
                _save(Path(keep), known, _found(rows))
    finally:
        if keep is not None:
            _save(Path(keep), known, _found(rows))
    return _found(rows)


def _found(rows: list[tuple[str, float, float, str]]) -> pd.DataFrame:
    table = pd.DataFrame(rows, columns=["utterance", "ms", "rate", "fault"])
    return table.astype({"ms": float, "rate": float}).set_index("utterance")


def _header(path: str) -> tuple[float, float, str]:
    """Milliseconds, samples a second, and why there are none."""
    soundfile, _ = audio_packages()
    try:
        info = soundfile.info(path)
    except (OSError, RuntimeError) as error:
        return np.nan, np.nan, str(error)
    milliseconds = round(1000 * info.frames / info.samplerate)
    return milliseconds, info.samplerate, "" if info.frames else "holds no samples"


def _save(path: Path, known: pd.DataFrame, measured: pd.DataFrame) -> None:
    """Keep what was measured, now or before; the release's own rows have no rate."""
    rows = pd.concat([known[known["rate"].notna()], measured[measured["fault"] == ""]])
    rows = rows[["ms", "rate"]].round().astype("int64").rename_axis(CLIP)
    with written_whole(path) as temporary:
        text = rows.rename(columns={"ms": MILLISECONDS})
        text.to_csv(temporary, sep="\t", lineterminator="\n", quoting=3, quotechar=None)


def _more(report: pd.DataFrame, rows: pd.DataFrame, reason: str, detail: Sequence[str]):
    """A report with more rows."""
    more = rows.reset_index().assign(reason=reason, detail=list(detail))
    return pd.concat([report, more[REPORT_COLUMNS].astype(str)], ignore_index=True)


def _refuse_pieces(corpus: Corpus) -> None:
    pieces = corpus.table["utterance"][corpus.table[["start", "end"]].notna().any(axis=1)]
    if len(pieces):
        raise VoicePrivacyError(
            f"{corpus.name}: {len(pieces)} utterances are pieces of files: {listed(pieces)}; "
            "expected whole files. The table's start and end have their durations."
        )
