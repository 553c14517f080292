"""What a folder of speech is, by what lies in it, and all of it read as far as it can be."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from voiceprivacy._challenge import TRAIN, Subset
from voiceprivacy._common_voice import is_common_voice
from voiceprivacy.corpora import Corpus, read_folder
from voiceprivacy.errors import VoicePrivacyError
from voiceprivacy.kaldi import genders, is_kaldi, read_kaldi
from voiceprivacy.librispeech import (
    is_librispeech,
    librispeech_speakers,
    read_librispeech,
    speakers_file,
)
from voiceprivacy.vpac import vpac
from voiceprivacy.vpc import read_vpc, vpc_suffixes

Subsets = dict[str, Subset]
Others = dict[str, Corpus | None]


@dataclass
class Found:
    """What a folder is, its corpora by name, its speakers' genders, and what could not be read.

    ``notes`` are sentences on what its speakers say of themselves.
    """

    kind: str
    corpora: dict[str, Corpus] = field(default_factory=dict)
    genders: dict[str, str] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def recognised(path: Path) -> Found:
    """Read a folder of speech of whatever kind; utterances that are not whole are left out.

    Raises
    ------
    VoicePrivacyError
        If there is no such folder, or nothing of it can be read.
    """
    if not path.is_dir():
        raise VoicePrivacyError(f"{path}: no such folder of speech.")
    found = next(read for fits, read in KINDS if fits(path))(path)
    if not found.corpora:
        raise VoicePrivacyError(
            f"{path} is a {found.kind}, but nothing of it can be read: "
            f"{' '.join(found.failures.values())}"
        )
    return found


def _common_voice(path: Path) -> Found:
    from voiceprivacy.common_voice import common_voice_speakers, read_common_voice

    corpus, speakers = read_common_voice(path), common_voice_speakers(path)
    return Found(
        "Common Voice folder",
        {corpus.name: corpus},
        _by_speaker(speakers),
        notes=speakers.attrs["notes"],
    )


def _kaldi(path: Path) -> Found:
    corpus = read_kaldi(path, missing="drop")
    return Found("Kaldi directory", {corpus.name: corpus}, genders(path).to_dict())


def _librispeech(path: Path) -> Found:
    corpus = read_librispeech(path)
    # Without a table of readers, the corpus's own notes say so.
    told = _by_speaker(librispeech_speakers(path)) if speakers_file(path) else {}
    return Found("LibriSpeech folder", {corpus.name: corpus}, told)


def _folder(path: Path) -> Found:
    corpus = read_folder(path)
    return Found("folder of sound files", {corpus.name: corpus})


def _vpc_data(path: Path) -> Path:
    """The folder with the sets: this one, or the one of a recipe."""
    return path if vpc_suffixes(path) else path / "data"


def _vpc(path: Path) -> Found:
    data = _vpc_data(path)

    def read(suffix: str) -> tuple[Subsets, Others]:
        tree = read_vpc(data, suffix, missing="drop")
        return tree.subsets, {TRAIN: tree.train, **tree.emotion}

    ends = {suffix: suffix for suffix in vpc_suffixes(data)}
    return _read_each("VoicePrivacy Challenge tree", ends, read, [data])


def _vpac_systems(path: Path) -> list[str]:
    return [data.parent.name for data in sorted(path.glob("*/data")) if vpc_suffixes(data)]


def _vpac(path: Path) -> Found:
    def read(system: str) -> tuple[Subsets, Others]:
        tree = vpac(path, system, missing="drop")
        return tree.subsets, {TRAIN: tree.train}

    ends = {system: f"_{system}" for system in _vpac_systems(path)}
    places = [path / system / "data" for system in ends]
    return _read_each("VoicePrivacy Attacker Challenge tree", ends, read, places)


KINDS: list[tuple[Callable[[Path], object], Callable[[Path], Found]]] = [
    (is_kaldi, _kaldi),
    (is_common_voice, _common_voice),
    (_vpac_systems, _vpac),
    (lambda path: vpc_suffixes(_vpc_data(path)), _vpc),
    (is_librispeech, _librispeech),
    (lambda path: True, _folder),
]


def _read_each(
    kind: str,
    ends: dict[str, str],
    read: Callable[[str], tuple[Subsets, Others]],
    places: Iterable[Path],
) -> Found:
    """Read all systems, noting those that cannot be, and the genders that any set tells."""
    found = Found(kind)
    for place in places:
        for table in sorted(place.glob("*/spk2gender")):
            found.genders |= genders(table.parent).to_dict()
    for name, end in ends.items():
        try:
            subsets, others = read(name)
        except VoicePrivacyError as error:
            found.failures[name or "original"] = str(error)
            continue
        found.corpora |= {f"{key}{end}": part for key, part in others.items() if part is not None}
        for key, subset in subsets.items():
            found.corpora[f"libri_{key}_enrolls{end}"] = subset.enrolment
            found.corpora[f"libri_{key}_trials{end}"] = subset.trials
            found.genders |= subset.genders
    return found


def _by_speaker(speakers: pd.DataFrame) -> dict[str, str]:
    return dict(zip(speakers["speaker"], speakers["gender"], strict=True))
