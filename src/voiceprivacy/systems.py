"""Anonymization systems as an evaluation is given them: a name, an object, a command, a folder."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd

from voiceprivacy._anonymizer import BaseAnonymizer
from voiceprivacy.anonymizers import ANONYMIZERS, by_name, settings
from voiceprivacy.corpora import REPORT_COLUMNS, Corpus, read_folder
from voiceprivacy.errors import VoicePrivacyError
from voiceprivacy.external import CommandAnonymizer

NONE = "none"
COMMAND = "command:"
EXTERNAL = {
    "baseline_b1": "B1 of the VoicePrivacy Challenge 2022 needs Kaldi and its recipe",
    "baseline_b2": "B2 of the VoicePrivacy Challenge is 'mcadams' here",
}
# Names of the framework's documentation for what is called otherwise here.
RENAMED = {"random_seed": "seed"}


@dataclass(frozen=True)
class AnonymizedFolder:
    """Speech that was anonymized elsewhere: a folder with the same file names.

    Parameters
    ----------
    path
        ``speaker/utterance.wav`` or LibriSpeech names, as the original speech has them; or one
        such folder for each part, named like the original's.
    """

    path: Path

    @property
    def name(self) -> str:
        return self.path.name

    def of(self, corpus: Corpus) -> Corpus:
        """Return the anonymized speech of a corpus; what is missing stands in `skipped`."""
        place = self.path / corpus.name
        made = read_folder(place if place.is_dir() else self.path).table
        keys = (made["speaker"] + "/" + made["path"].map(lambda p: Path(p).stem)).tolist()
        paths = dict(zip(keys, made["path"], strict=True))
        own = corpus.table["speaker"] + "/" + corpus.table["path"].map(lambda p: Path(p).stem)
        found = own.map(paths)
        lost = corpus.table[found.isna()]
        report = lost[["utterance", "path"]].assign(
            reason="not anonymized", detail=f"no such file below {self.path}"
        )
        kept = corpus.table.assign(path=found, start=np.nan, end=np.nan)[found.notna()]
        if not len(kept):
            raise VoicePrivacyError(
                f"{self.path} has none of the {len(lost)} utterances of {corpus.name}; it has "
                f"{keys[:2]}, the speech {own.tolist()[:2]}."
            )
        skipped = pd.concat([corpus.skipped, report[REPORT_COLUMNS]], ignore_index=True)
        return replace(corpus, table=kept.reset_index(drop=True), skipped=skipped)


System = BaseAnonymizer | AnonymizedFolder | None


def find_system(
    system: object, parameters: Mapping[str, object] | None = None, seed: int = 0
) -> System:
    """Return the anonymization system that is meant.

    Parameters
    ----------
    system
        ``None`` or ``"none"``: the speech is anonymized already. A name of
        `voiceprivacy.anonymizers.ANONYMIZERS`; an object of a class of `BaseAnonymizer`;
        ``"command: PROGRAM {input} {output}"``; or a folder of anonymized speech.
    parameters
        Of a named system; ``random_seed`` is its seed.
    seed
        If `parameters` name none.

    Raises
    ------
    VoicePrivacyError
        If it is none of these, or has no such parameter.

    Examples
    --------
    >>> find_system("mcadams", {"random_seed": 42}).seed
    42
    >>> find_system("none") is None
    True
    """
    parameters = {RENAMED.get(key, key): value for key, value in (parameters or {}).items()}
    if isinstance(system, str) and system in ANONYMIZERS:
        return by_name(system, **_known(system, {"seed": seed} | parameters))
    if parameters and not (set(parameters) == {"seed"}):
        raise VoicePrivacyError(
            f"parameters {', '.join(parameters)} are for a named system; {system!r} has none."
        )
    if system is None or system == NONE:
        return None
    if isinstance(system, BaseAnonymizer):
        return system
    if isinstance(system, str) and system.startswith(COMMAND):
        return CommandAnonymizer(system.removeprefix(COMMAND).strip())
    if isinstance(system, str | os.PathLike) and Path(system).is_dir():
        return AnonymizedFolder(Path(system))
    raise VoicePrivacyError(_unknown(system))


def _known(name: str, parameters: dict[str, object]) -> dict[str, object]:
    """The parameters, if the system has them."""
    known = settings(name)
    strange = [key for key in parameters if key not in known]
    if strange:
        raise VoicePrivacyError(
            f"system {name!r} has no parameter {', '.join(strange)}; it has: {', '.join(known)} "
            "(candidate_count is for systems that choose among a pool of speakers)."
        )
    return parameters


def _unknown(system: object) -> str:
    if system in EXTERNAL:
        return (
            f"{system!r} is not part of this package: {EXTERNAL[system]}. Run it, and give the "
            "folder of its output in the place of the name."
        )
    return (
        f"anonymization system {system!r}: expected none, one of {', '.join(ANONYMIZERS)}, an "
        "object of a class of BaseAnonymizer, 'command: PROGRAM {input} {output}', or a folder of "
        "anonymized speech."
    )
