"""The speakers of vectors that come without them: Kaldi's ``spk2utt`` or ``utt2spk``."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from voiceprivacy._embedding_formats.vectors import Arrays
from voiceprivacy._spk2utt import read_spk2utt, utf8_lines
from voiceprivacy._wav_scp import read_utt2spk
from voiceprivacy.errors import VoicePrivacyError, listed

TABLES = ("spk2utt", "utt2spk")
# What reads its speakers from the tables of its folder.
SHARERS = (".h5", ".hdf5", ".ark")


def joined(folder: Path, ids: Sequence[str], matrix: np.ndarray, table: Path | None) -> Arrays:
    """Join vectors and speakers, in the order of the table.

    The table in the folder of the vectors must name the same utterances. One that lies elsewhere,
    `table`, may be that of a larger corpus.
    """
    row_of = {name: row for row, name in enumerate(ids)}
    if len(row_of) < len(ids):
        twice = [name for name, count in Counter(ids).items() if count > 1]
        raise VoicePrivacyError(f"{len(twice)} utterances appear twice: {listed(twice)}.")
    source = table or _beside(folder)
    speaker_of = _speaker_of(source)
    if table:
        speaker_of = {name: s for name, s in speaker_of.items() if name in row_of}
    _refuse_differences(row_of, speaker_of, source.name)
    rows = [row_of[name] for name in speaker_of]
    speakers = np.array(list(speaker_of.values()), dtype=str)
    return np.array(list(speaker_of), dtype=str), speakers, matrix[rows]


def _beside(folder: Path) -> Path:
    found = [folder / name for name in TABLES if (folder / name).is_file()]
    if not found:
        raise VoicePrivacyError(
            f"{folder / 'spk2utt'} is missing; expected a text file with one line a speaker: the "
            "speaker, then the ids of its utterances. An utt2spk (utterance, speaker) will do, and "
            "so does a table elsewhere, when named (--speakers)."
        )
    return found[0]


def _speaker_of(table: Path) -> dict[str, str]:
    """The speaker of every utterance; the table's name tells which kind it is."""
    return read_spk2utt(table) if "spk2utt" in table.name else read_utt2spk(table)


def _refuse_differences(row_of: dict[str, int], speaker_of: dict[str, str], name: str) -> None:
    faults = [
        f"{len(lost)} utterances {what} ({listed(lost)})"
        for lost, what in [
            ([u for u in speaker_of if u not in row_of], f"of {name} have no vector"),
            ([u for u in row_of if u not in speaker_of], f"with a vector are not in {name}"),
        ]
        if lost
    ]
    if faults:
        raise VoicePrivacyError(
            f"vectors and {name} do not belong together: {' and '.join(faults)}; "
            "write both from one list of utterances."
        )


def refuse_blanks(utterances: np.ndarray, speakers: np.ndarray) -> None:
    """Refuse ids that cannot stand in a table."""
    blank = [i for i in (*utterances.tolist(), *speakers.tolist()) if i.split() != [i]]
    if blank:
        raise VoicePrivacyError(
            f"ids with blanks cannot stand in spk2utt: {listed(blank)}; write .npz or .parquet."
        )


def refuse_shared_folder(path: Path, spk2utt: str) -> None:
    """Refuse to change the speakers of other files in the folder, embeddings or speech."""
    others = sorted(
        p.name
        for p in path.parent.glob("[!.]*")
        if (p.suffix in SHARERS or p.name == "wav.scp") and p.name != path.name
    )
    table = path.parent / "spk2utt"
    kept = "\n".join(utf8_lines(table)) if table.is_file() else ""
    if others and kept != spk2utt:
        raise VoicePrivacyError(
            f"the folder already holds {listed(others)}, and one folder has one spk2utt; "
            "write into a folder of its own."
        )
