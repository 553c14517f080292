"""Writing Kaldi data directories."""

import os
from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from voiceprivacy._audio import audio_packages
from voiceprivacy._spk2utt import spk2utt_text
from voiceprivacy._wav_scp import read_table
from voiceprivacy.corpora import Corpus
from voiceprivacy.errors import VoicePrivacyError, listed
from voiceprivacy.files import written_whole

# What is taken over line by line, by the id that a line begins with.
OF_UTTERANCES = ("text", "utt2emo", "enrolls")
OF_SPEAKERS = ("spk2gender", "spk2fold")
LETTERS = {"female": "f", "male": "m"}


def write_kaldi(
    folder: str | os.PathLike,
    corpus: Corpus,
    *,
    genders: Mapping[str, str] | None = None,
    like: str | os.PathLike | None = None,
) -> None:
    """Write a Kaldi data directory for a corpus of whole files, the same bytes in any order.

    Parameters
    ----------
    folder
        Where ``wav.scp``, ``utt2spk``, ``spk2utt`` and ``utt2dur`` (seconds, from the files
        themselves) are written, sorted by id as Kaldi sorts.
    corpus
        The utterances; paths are written as they stand in its table.
    genders
        Speaker to ``"female"`` or ``"male"``, for ``spk2gender``; others are left out.
    like
        A Kaldi directory of the same utterances: its ``text``, ``spk2gender``, ``utt2emo``,
        ``spk2fold`` and ``enrolls`` are taken over for the utterances and speakers of `corpus`,
        its ``trials`` as they are.

    Raises
    ------
    VoicePrivacyError
        If an id holds blanks, if utterances are pieces of files, or if a file is not sound.
    """
    folder, table = Path(folder), corpus.table
    _check_writable(table)
    paths = dict(zip(table["utterance"], table["path"], strict=True))
    speakers = dict(zip(table["utterance"], table["speaker"], strict=True))
    people = set(table["speaker"])
    files = _carried(Path(like), set(speakers), people) if like else {}
    if genders is not None:
        told = {s: genders.get(s, "") for s in people}
        files["spk2gender"] = _lines({s: LETTERS[g] for s, g in told.items() if g in LETTERS})
    files |= {
        "wav.scp": _lines(paths),
        "utt2spk": _lines(speakers),
        "spk2utt": spk2utt_text(table["utterance"].to_numpy(), table["speaker"].to_numpy()),
        "utt2dur": _lines({u: str(round(_seconds(path), 6)) for u, path in paths.items()}),
    }
    for file, text in files.items():
        with written_whole(folder / file) as temporary:
            temporary.write_text(text, encoding="utf-8", newline="\n")


def _lines(table: Mapping[str, str]) -> str:
    """A table as text, sorted as the C locale sorts: by code points, as UTF-8 bytes."""
    return "".join(f"{key} {table[key]}".rstrip() + "\n" for key in sorted(table))


def _carried(like: Path, utterances: set[str], speakers: set[str]) -> dict[str, str]:
    """The tables to take over, for these utterances and speakers."""
    files = {}
    for names, ids in ((OF_UTTERANCES, utterances), (OF_SPEAKERS, speakers)):
        for name in filter(lambda name: (like / name).is_file(), names):
            table = read_table(like / name)
            files[name] = _lines({key: row.value for key, row in table.items() if key in ids})
    if (like / "trials").is_file():
        files["trials"] = (like / "trials").read_text(encoding="utf-8")
    return files


def _seconds(path: str) -> float:
    """How long a sound file is, by its header."""
    soundfile, _ = audio_packages()
    try:
        info = soundfile.info(path)
    except (OSError, RuntimeError) as error:
        raise VoicePrivacyError(f"{path} cannot be decoded ({error}).") from error
    return info.frames / info.samplerate


def _check_writable(table: pd.DataFrame) -> None:
    ids = pd.concat([table["utterance"], table["speaker"]]).unique()
    blank = [name for name in ids if name.split() != [name]]
    if blank:
        raise VoicePrivacyError(f"ids with blanks cannot stand in Kaldi's tables: {listed(blank)}.")
    pieces = table["utterance"][table["start"].notna() | table["end"].notna()]
    if len(pieces):
        raise VoicePrivacyError(
            f"{len(pieces)} utterances are pieces of files: {listed(pieces)}; write each into a "
            "file of its own first."
        )
