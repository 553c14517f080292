"""Speech that was anonymized elsewhere, found by its names."""

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd

from voiceprivacy._anonymizer import BaseAnonymizer
from voiceprivacy._challenge import UTTERANCES
from voiceprivacy.anonymize import anonymized
from voiceprivacy.corpora import REPORT_COLUMNS, Corpus, read_folder
from voiceprivacy.errors import VoicePrivacyError, listed
from voiceprivacy.kaldi import is_kaldi, recordings
from voiceprivacy.vpac import set_folder
from voiceprivacy.vpc import EXPECTED, vpc_suffixes

# Handed out by the organisers of the attacker challenge.
VPAC_SYSTEMS = ("B3", "B4", "B5", "T8-5", "T10-2", "T12-5", "T25-1")


@dataclass(frozen=True)
class Copied(BaseAnonymizer):
    """Speech as it is, and where it came from."""

    source: str

    def anonymize(self, samples):
        return samples


@dataclass(frozen=True)
class Precomputed:
    """Anonymized speech that is there already.

    Parameters
    ----------
    path
        Any of these, and for the first three also a folder with one of them for each part of the
        data, named like the part: a folder ``speaker/utterance.wav``; LibriSpeech's file names; a
        Kaldi directory; the data tree of a VoicePrivacy Challenge (``<set><suffix>/wav``); the
        folder of the VoicePrivacy Attacker Challenge's systems, with `system`.
    suffix
        Of a tree with several anonymized copies, such as ``"_sttts"``.
    system
        Of the attacker challenge: ``B3``, ``B4``, ``B5``, ``T8-5``, ``T10-2``, ``T12-5`` or
        ``T25-1``.

    Raises
    ------
    VoicePrivacyError
        If there is no such folder or system, or it is not told which of several copies is meant.
    """

    path: Path
    suffix: str = ""
    system: str = ""

    def __post_init__(self):
        object.__setattr__(self, "path", Path(self.path))
        if not self.path.is_dir():
            raise VoicePrivacyError(f"{self.path}: no such folder of anonymized speech.")
        if self.system and not (self.path / self.system / "data").is_dir():
            there = sorted(place.parent.name for place in self.path.glob("*/data"))
            raise VoicePrivacyError(
                f"{self.path / self.system / 'data'}: no such folder; systems in {self.path}: "
                f"{listed(there, 10) or 'none'}. The organisers of the attacker challenge hand "
                "out the data."
            )
        copies = [suffix for suffix in vpc_suffixes(self.path) if suffix]
        if not self.system and (self.suffix or len(copies) > 1) and self.suffix not in copies:
            raise VoicePrivacyError(
                f"{self.path} has no copy of the suffix {self.suffix!r}; set suffix to one of "
                f"{listed(copies, 10) or 'none'}."
            )
        if copies and not self.system:
            object.__setattr__(self, "suffix", self.suffix or copies[0])

    @property
    def name(self) -> str:
        """What tables and files call it."""
        return self.system or self.suffix.strip("_") or self.path.name

    def of(self, corpus: Corpus, *_, **__) -> Corpus:
        """Return the anonymized speech of a corpus; what is missing stands in `skipped`.

        Raises
        ------
        VoicePrivacyError
            If nothing of the corpus is there.
        """
        paths = self._paths(corpus.name)
        table = corpus.table
        found = pd.Series([_first(paths, *row) for row in _names(table)], index=table.index)
        same = found.map(os.path.abspath, na_action="ignore") == table["path"].map(os.path.abspath)
        details = {True: "it is the original's own file", False: f"no such file in {self.path}"}
        usable = found.notna() & ~same
        if not usable.any():
            raise VoicePrivacyError(
                f"{self.path} has none of the {len(table)} utterances of {corpus.name} "
                f"({details[bool(same.any())]}); it has {list(paths)[:2]}, the speech "
                f"{[names[0] for names in _names(table)][:2]}."
            )
        report = table.loc[~usable, ["utterance", "path"]].assign(
            reason="not anonymized", detail=same[~usable].map(details)
        )
        return replace(
            corpus,
            table=table.assign(path=found, start=np.nan, end=np.nan)[usable],
            skipped=pd.concat([corpus.skipped, report[REPORT_COLUMNS]], ignore_index=True),
        )

    def copied(self, corpus: Corpus, out: str | os.PathLike, **how) -> Corpus:
        """Copy the anonymized speech of a corpus into a folder, as `anonymized` writes it."""
        source = Copied(f"{self.path.resolve()} {self.system}{self.suffix}")
        return anonymized(self.of(corpus), source, out, **how)

    def _paths(self, part: str) -> dict[str, str]:
        """All files, by speaker and name, or where ids are told or names differ, by these."""
        if self.system:
            data = self.path / self.system / "data"
            sets = [set_folder(data, name, self.system) for name in UTTERANCES]
            return _of_sets([place for place in sets if place], data.parent.parent)
        if self.suffix:
            sets = [self.path / f"{name}{self.suffix}" for name in EXPECTED]
            there = [place for place in sets if place.is_dir()]
            return _of_sets(there, self.path.resolve().parent)
        own = self.path / part
        place = own if own.is_dir() else self.path
        if is_kaldi(place):
            return _of_sets([place], Path.cwd())
        made = read_folder(place).table
        keys = made["speaker"] + "/" + made["path"].map(lambda path: Path(path).stem)
        return dict(zip(keys, made["path"], strict=True))


def _of_sets(folders: list[Path], base: Path) -> dict[str, str]:
    """The sound of Kaldi directories by utterance, where it is there."""
    paths: dict[str, str] = {}
    for folder in folders:
        sounds, lost, _ = recordings(folder, base)
        paths |= {u: sound.place for u, sound in sounds.items() if u not in lost}
    return paths


def _names(table: pd.DataFrame) -> Iterator[tuple[str, ...]]:
    """What each utterance may be called elsewhere, by its file or its id."""
    for row in table[["utterance", "speaker", "path"]].itertuples(index=False):
        names = Path(row.path).stem, row.utterance.rpartition("/")[2]
        yield *(f"{row.speaker}/{name}" for name in names), names[1], names[0]


def _first(paths: dict[str, str], *names: str) -> str | None:
    return next((paths[name] for name in names if name in paths), None)
