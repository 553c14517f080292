"""What an attacker meets of one anonymization system: speech to train on, its words, and trials.

`spoken` makes all of it on the spot, from a synthetic corpus and a shipped anonymizer; the
VoicePrivacy Attacker Challenge's own data are read by `voiceprivacy.vpac`.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd

from voiceprivacy._words import word_table
from voiceprivacy.anonymize import UTTERANCES, anonymized
from voiceprivacy.anonymizers import by_name
from voiceprivacy.corpora import Corpus
from voiceprivacy.errors import VoicePrivacyError
from voiceprivacy.segmentation import Segmentation, read_timestamps, true_words
from voiceprivacy.synthetic import speak
from voiceprivacy.vpac import SUBSETS, Subset, VpacSystem, vpac


@dataclass(frozen=True, eq=False)
class AttackData:
    """One anonymization system as its attacker meets it; all speech is anonymized.

    Parameters
    ----------
    system
        The anonymization system.
    training
        Speech of other speakers than those of the subsets.
    words
        The words of the training speech.
    subsets
        Speakers that the attacker has not trained on, ``"dev"`` and ``"test"``.
    """

    system: str
    training: Corpus
    words: Segmentation
    subsets: Mapping[str, Subset]


def spoken(
    folder: str | os.PathLike,
    system: str,
    *,
    n_training: int = 24,
    n_evaluation: int = 20,
    n_utterances: int = 10,
    n_enrolment: int = 3,
    seed: int = 0,
    workers: int = 1,
    progress: bool = False,
) -> AttackData:
    """Make a synthetic corpus and anonymize it; what is there already is read.

    Parameters
    ----------
    folder
        Where the corpus and its anonymized copies are kept, below a folder for its size and seed.
    system
        One of `voiceprivacy.anonymizers.ANONYMIZERS`.
    n_training
        Speakers to train on, half of them female.
    n_evaluation
        Speakers of each subset, dev and test, half of them female; 4 or more.
    n_utterances
        Utterances of each speaker.
    n_enrolment
        How many of these enrol a speaker of a subset; the others are trials.
    seed
        Of the voices, the sentences and the anonymizer.
    workers
        Threads that anonymize.
    progress
        Show bars on stderr.

    Raises
    ------
    VoicePrivacyError
        If the numbers leave nothing to train on or to try, or a package is missing.
    """
    if n_training < 2 or n_evaluation < 4 or not 0 < n_enrolment < n_utterances:
        raise VoicePrivacyError(
            f"{n_training} training speakers, {n_evaluation} a subset, {n_enrolment} of "
            f"{n_utterances} utterances to enrol; expected at least 2 and 4 speakers, and "
            "utterances left to try."
        )
    n_speakers = n_training + len(SUBSETS) * n_evaluation
    folder = Path(folder, f"{n_speakers}x{n_utterances}-seed{seed}")
    original = speak(folder / "original", n_speakers, n_utterances, seed=seed, progress=progress)
    place = folder / system
    speech = anonymized(
        original, by_name(system, seed=seed), place, workers=workers, progress=progress
    )
    speakers = pd.read_csv(folder / "original" / "speakers.csv", dtype=str)
    subsets = {
        name: _subset(speech, speakers[first : first + n_evaluation], n_enrolment)
        for name, first in zip(SUBSETS, range(n_training, n_speakers, n_evaluation), strict=True)
    }
    return AttackData(
        system,
        speech.select(speech.table["speaker"].isin(speakers["speaker"][:n_training])),
        _words(folder / "original", place),
        subsets,
    )


def vpac_data(root: str | os.PathLike, system: str, timestamps: str | os.PathLike) -> AttackData:
    """Read the VoicePrivacy Attacker Challenge's data of one system, and its words.

    Parameters
    ----------
    root
        The folder with one folder a system, see `voiceprivacy.vpac.vpac`.
    system
        The system's folder, such as ``"T8-5"``.
    timestamps
        The training speech's word times, see `voiceprivacy.segmentation.read_timestamps`;
        ``voiceprivacy segment`` finds them.
    """
    data = without_words(system, vpac(root, system))
    return replace(data, words=read_timestamps(timestamps, data.training))


def without_words(system: str, tree: VpacSystem) -> AttackData:
    """Return a system's data for an attacker who rearranges nothing and needs no words."""
    words = Segmentation("none", word_table([]))
    return AttackData(system, tree.train, words, tree.subsets)


def _subset(speech: Corpus, speakers: pd.DataFrame, n_enrolment: int) -> Subset:
    """Some speakers' utterances: the first of each enrol, the others are tried."""
    own = speech.select(speech.table["speaker"].isin(speakers["speaker"]))
    enrols = own.table.groupby("speaker").cumcount() < n_enrolment
    genders = dict(zip(speakers["speaker"], speakers["gender"], strict=True))
    return Subset(own.select(enrols), own.select(~enrols), None, genders)


def _words(original: Path, place: Path) -> Segmentation:
    """The true words, where the anonymizer has put them."""
    made = pd.read_csv(place / UTTERANCES, dtype={"utterance": str}).set_index("utterance")
    return true_words(original).scaled(made["time_factor"], made["samples"])
