"""The data of the VoicePrivacy Attacker Challenge 2024, as its organisers hand them out.

One folder a system, ``<root>/<system>/data``, holds seven Kaldi directories of anonymized
LibriSpeech, each with its sound in ``wav/``: ``train-clean-360_<system>`` to train the attacker
on, and for dev and test ``libri_<subset>_enrolls_<system>`` and
``libri_<subset>_trials_{f,m}_<system>``. The suffix may be absent.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd

from voiceprivacy._challenge import (
    EVALUATED,
    SUBSETS,
    TRAIN,
    UTTERANCES,
    Subset,
    counted,
    named,
    put_together,
)
from voiceprivacy.corpora import Corpus, read_folder
from voiceprivacy.errors import VoicePrivacyError, listed
from voiceprivacy.evidence import PAPER_CORPUS
from voiceprivacy.kaldi import read_kaldi

__all__ = ["SUBSETS", "Subset", "VpacSystem", "vpac"]


@dataclass(frozen=True, eq=False)
class VpacSystem:
    """One anonymization system's data: what to train on, and ``"dev"`` and ``"test"``.

    `name` is the evidence's: it begins with "VoicePrivacy Attacker Challenge 2024" only if every
    set has (nearly) all of its utterances, and else says that it is a part of it. `counts` has one
    row a set: ``utterances`` found and ``expected``.
    """

    name: str
    train: Corpus
    subsets: dict[str, Subset]
    counts: pd.DataFrame


def vpac(
    root: str | os.PathLike,
    system: str,
    *,
    originals: str | os.PathLike | None = None,
    missing: str = "error",
) -> VpacSystem:
    """Read the data of one anonymization system.

    Parameters
    ----------
    root
        The folder with one folder a system.
    system
        The system's folder: ``B3``, ``B4``, ``B5``, ``T8-5``, ``T10-2``, ``T12-5`` or ``T25-1``.
    originals
        The challenge's original data, ``<originals>/libri_dev_trials_f`` and so on, for trial
        lists that the system's own folders lack; by default ``<root>/data``.
    missing
        As in `voiceprivacy.kaldi.read_kaldi`: whether utterances that not all tables name stop
        the run or are left out and reported.

    Returns
    -------
    VpacSystem

    Raises
    ------
    VoicePrivacyError
        If sets or trial lists are missing (one message names all), if a set is not sound, or if a
        speaker's gender contradicts the list in which the speaker stands.

    Notes
    -----
    Speakers come from ``utt2spk``, else from the names ``<speaker>-<chapter>-<utterance>``. Genders
    come from the trial sets' names, as in the challenge's own scoring, and must agree with
    ``spk2gender`` where there is one.
    """
    data = Path(root) / system / "data"
    folders = {name: set_folder(data, name, system) for name in UTTERANCES}
    places = [Path(root) / "data" if originals is None else Path(originals)]
    lists = {n: _list(folders[n], places[0] / n) for n in EVALUATED if "_trials_" in n}
    _refuse_missing(data, folders, lists, places[0])
    sets = {name: _read(folder, missing) for name, folder in folders.items()}
    counts = counted(sets, UTTERANCES)
    name = named(f"{PAPER_CORPUS['SRC']}, {system}", counts)
    sets = {key: replace(corpus, name=name) for key, corpus in sets.items()}
    places = {name: [folder] for name, folder in folders.items()}
    subsets = {subset: put_together(subset, sets, lists, places) for subset in SUBSETS}
    return VpacSystem(name, sets[TRAIN], subsets, counts)


def set_folder(data: Path, name: str, system: str) -> Path | None:
    """Return the directory of a set, with or without the system's name."""
    # The training set of B4 is handed out under another name.
    other = f"libri360_anon_{system}" if name == TRAIN else name
    places = [data / place for place in (f"{name}_{system}", name, other)]
    return next((place for place in places if place.is_dir()), None)


def _list(folder: Path | None, original: Path) -> Path | None:
    """A set's trial list, its own or the original one."""
    places = [place / "trials" for place in (folder, original) if place]
    return next((place for place in places if place.is_file()), None)


def _refuse_missing(
    data: Path,
    folders: Mapping[str, Path | None],
    lists: Mapping[str, Path | None],
    originals: Path,
) -> None:
    """Name everything that is not there in one message."""
    if not data.is_dir():
        above = data.parent.parent
        there = sorted(f.parent.name for f in above.glob("*/data")) if above.is_dir() else []
        raise VoicePrivacyError(
            f"{data}: no such folder; systems in {above}: {listed(there, 10) or 'none'}."
        )
    sets = [name for name, folder in folders.items() if folder is None]
    unlisted = [name for name, path in lists.items() if path is None and folders[name]]
    told = []
    if sets:
        there = sorted(folder.name for folder in data.iterdir() if folder.is_dir())
        told.append(f"sets {listed(sets, 7)} (there: {listed(there, 10) or 'none'})")
    if unlisted:
        told.append(f"the file trials of {listed(unlisted)} (also not in {originals})")
    if told:
        raise VoicePrivacyError(
            f"{data} lacks {' and '.join(told)}. Expected <set>_{data.parent.name} or <set>; name "
            "folders so, and give originals= for trial lists."
        )


def _read(folder: Path, missing: str) -> Corpus:
    """One set, by its tables or, where it has none, by the names of its files."""
    if any((folder / table).is_file() for table in ("utt2spk", "spk2utt")):
        return read_kaldi(folder, missing=missing)
    return read_folder(folder / "wav" if (folder / "wav").is_dir() else folder)
