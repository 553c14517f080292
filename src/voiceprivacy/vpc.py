"""The data trees of the VoicePrivacy Challenges 2022, 2024 and 2026, and their privacy score.

One folder, ``data``, holds a Kaldi directory for each set: ``libri_<subset>_enrolls`` and
``libri_<subset>_trials_{f,m}`` for dev and test, ``train-clean-360``, ``IEMOCAP_dev`` and
``IEMOCAP_test``; and beside each, for every anonymization system, one of the same name with the
system's suffix (``_mcadams``, ``_sttts``, ``_nac``, ``_asrbn_...``; in 2022 ``_anon``), with its
sound in ``wav/``.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd

from voiceprivacy._challenge import (
    SUBSETS,
    TRAIN,
    UTTERANCES,
    Subset,
    counted,
    enrolment_set,
    named,
    put_together,
    trial_sets,
)
from voiceprivacy._eer_table import eer_table
from voiceprivacy._wav_scp import read_wav_scp
from voiceprivacy.corpora import Corpus
from voiceprivacy.errors import VoicePrivacyError, listed
from voiceprivacy.extractors import Extractor, extract
from voiceprivacy.kaldi import is_kaldi, read_kaldi
from voiceprivacy.verification import Verification, joined, verify
from voiceprivacy.vpac import VpacSystem

__all__ = [
    "VpcData", "eer_table", "evaluate_vpc", "from_vpac", "read_vpc", "verify_vpc", "vpc_suffixes",
]  # fmt: skip

EMOTION = {"IEMOCAP_dev": 2_746, "IEMOCAP_test": 2_785}
EXPECTED = UTTERANCES | EMOTION
SET = re.compile(f"({'|'.join(map(re.escape, EXPECTED))})(_.+)?")


@dataclass(frozen=True, eq=False)
class VpcData:
    """The original data of a challenge, or one system's anonymized copy.

    Parameters
    ----------
    name
        What figures call it; begins with "part of" if sets lack utterances.
    suffix
        The system's suffix, empty for the original data.
    subsets
        ``"dev"`` and ``"test"``, those that are there.
    train
        ``train-clean-360``, or None.
    emotion
        ``IEMOCAP_dev`` and ``IEMOCAP_test``, those that are there.
    counts
        ``utterances`` found and ``expected``, one row a set that is there.
    """

    name: str
    suffix: str
    subsets: dict[str, Subset]
    train: Corpus | None
    emotion: dict[str, Corpus]
    counts: pd.DataFrame


def vpc_suffixes(data: str | os.PathLike) -> list[str]:
    """Return the suffixes of the systems in a data tree, the empty one for original data.

    Examples
    --------
    >>> import tempfile
    >>> data = Path(tempfile.mkdtemp())
    >>> for name in ("libri_dev_enrolls", "libri_dev_enrolls_mcadams", "libri_dev_asr_mcadams"):
    ...     (data / name / "wav").mkdir(parents=True)
    >>> vpc_suffixes(data)
    ['', '_mcadams']
    """
    data = Path(data)
    names = [place.name for place in data.iterdir() if _is_set(place)] if data.is_dir() else []
    return sorted({SET.fullmatch(name)[2] or "" for name in names})


def read_vpc(
    data: str | os.PathLike,
    suffix: str = "",
    *,
    base: str | os.PathLike | None = None,
    missing: str = "error",
) -> VpcData:
    """Read the original data of a challenge, or one system's anonymized copy.

    Parameters
    ----------
    data
        The folder with one Kaldi directory a set.
    suffix
        What the names of the anonymized sets end in, such as ``"_mcadams"``.
    base
        Where relative paths of ``wav.scp`` start; by default the folder that holds `data`, where
        the challenges' recipes are run.
    missing
        As in `voiceprivacy.kaldi.read_kaldi`.

    Returns
    -------
    VpcData
        With the sets that are there; a subset is there with all of its three sets or not at all.

    Raises
    ------
    VoicePrivacyError
        If there is no set of that suffix, a subset lacks sets or a list of trials, a set is not
        sound, a speaker's gender contradicts the list in which the speaker stands, or an
        anonymized set names files of the original one.

    Notes
    -----
    As in the recipe of 2024, lists of trials are always those of the original sets, tables that an
    anonymized set lacks are those of the original one, and the name of a trial set tells the
    gender; where there is a ``spk2gender``, it must agree. Unlike it, a ``wav.scp`` is replaced by
    what lies in ``wav/`` only if there is none or none of its files exists, and sets with ``asr``
    in their suffix are checked like all others. All utterances of an enrolment set count; the
    table ``enrolls`` (read in 2022 for PLDA) is not looked at. Of 2026, the lists of
    ``libri_<subset>_trials_mixed`` are not read.
    """
    data = Path(data)
    base = data.resolve().parent if base is None else Path(base)
    places = _places(data, suffix)
    lists = {name: data / name / "trials" for s in SUBSETS for name in trial_sets(s).values()}
    _refuse_missing(data, suffix, places, lists)
    sets = {name: _read(base, missing, *folders) for name, folders in places.items()}
    counts = counted(sets, EXPECTED)
    name = named(f"VoicePrivacy Challenge, {suffix.strip('_') or 'original'}", counts)
    sets = {key: replace(corpus, name=name) for key, corpus in sets.items()}
    there = [subset for subset in SUBSETS if enrolment_set(subset) in sets]
    subsets = {subset: put_together(subset, sets, lists, places) for subset in there}
    emotion = {key: sets[key] for key in EMOTION if key in sets}
    return VpcData(name, suffix, subsets, sets.get(TRAIN), emotion, counts)


def from_vpac(tree: VpacSystem, system: str) -> VpcData:
    """Return a system of the attacker challenge, to be scored like one of the other challenges."""
    return VpcData(tree.name, f"_{system}", tree.subsets, tree.train, {}, tree.counts)


def verify_vpc(
    data: VpcData,
    extractor: Extractor,
    *,
    enrolment: VpcData | None = None,
    store: str | os.PathLike | None = None,
    missing: str = "error",
    progress: bool = False,
) -> Verification:
    """Score all trials: the mean embedding of a speaker's enrolment against a trial, by cosine.

    Parameters
    ----------
    data
        Whose trials are scored, and, unless `enrolment` is given, whose enrolments.
    extractor
        The attacker: original speech trained it (lazy-informed), or speech of the same system
        (semi-informed).
    enrolment
        Other data to enrol from: the original ones for an ignorant attacker.
    store, progress
        See `voiceprivacy.extractors.extract`.
    missing
        See `voiceprivacy.verification.verify`.

    Raises
    ------
    VoicePrivacyError
        If there is no subset to score or to enrol from, or the two sides are of two systems.
    """
    enrolment = data if enrolment is None else enrolment
    condition = _condition(enrolment, data)
    absent = [subset for subset in data.subsets if subset not in enrolment.subsets]
    if absent or not data.subsets:
        raise VoicePrivacyError(
            f"nothing to score {data.name} with: {listed(absent) or 'dev and test'} lacking in "
            f"{enrolment.name}; expected libri_<subset>_enrolls and libri_<subset>_trials_{{f,m}}."
        )
    parts = []
    for name, subset in data.subsets.items():
        sides = [
            extract(side, extractor, store=store, progress=progress)
            for side in (enrolment.subsets[name].enrolment, subset.trials)
        ]
        how = {"subset": name, "condition": condition, "missing": missing}
        parts.append(verify(*sides, subset.trial_list, subset.genders, **how))
    return joined(parts)


def evaluate_vpc(data: VpcData, extractor: Extractor, **how) -> pd.DataFrame:
    """Return the EERs of an attacker on a challenge's data, by subset, gender and rule.

    Parameters
    ----------
    data, extractor, how
        As of `verify_vpc`, which also gives the scores.

    Returns
    -------
    pandas.DataFrame
        As of `eer_table`.

    Notes
    -----
    The challenge of 2024 first brings every utterance to -30 LUFS and a peak of 1 and strips zeros
    at both ends; here what happens to the waveform is the extractor's own matter.
    """
    return eer_table(verify_vpc(data, extractor, **how))


def _is_set(place: Path) -> bool:
    """Whether a folder is a set, rather than a subset of LibriSpeech that has the same name."""
    named = SET.fullmatch(place.name) is not None
    return named and place.is_dir() and (is_kaldi(place) or (place / "wav").is_dir())


def _places(data: Path, suffix: str) -> dict[str, list[Path]]:
    """The directories of each set that is there: its own and, of a copy, the original one."""
    ends = [suffix, ""] if suffix else [""]
    return {
        name: [data / f"{name}{end}" for end in ends]
        for name in EXPECTED
        if _is_set(data / f"{name}{suffix}")
    }


def _refuse_missing(
    data: Path, suffix: str, places: Mapping[str, list[Path]], lists: Mapping[str, Path]
) -> None:
    """Name everything that is not there in one message."""
    if not places:
        there = vpc_suffixes(data)
        raise VoicePrivacyError(
            f"{data} has no set of the suffix {suffix!r}, such as libri_dev_enrolls{suffix}; "
            f"suffixes there: {listed(there, 10) or 'none'}."
        )
    lacking = []
    for subset in SUBSETS:
        names = [enrolment_set(subset), *trial_sets(subset).values()]
        if any(name in places for name in names):
            lacking += [f"{name}{suffix}" for name in names if name not in places]
            wanted = [lists[name] for name in names[1:] if name in places]
            lacking += [str(path.relative_to(data)) for path in wanted if not path.is_file()]
    if lacking:
        raise VoicePrivacyError(
            f"{data} lacks {listed(lacking, 10)}. A subset needs enrolls, trials_f and trials_m; "
            "lists of trials are read from the original sets."
        )


def _read(base: Path, missing: str, own: Path, original: Path | None = None) -> Corpus:
    """One set; what a copy says must not be the original's sound."""
    corpus = read_kaldi(own, base, like=original, missing=missing)
    if original is None:
        return corpus
    scp, inside = original / "wav.scp", os.path.abspath(original) + os.sep
    sounds = read_wav_scp(scp, base).values() if scp.is_file() else ()
    theirs = {os.path.abspath(sound.path) for sound in sounds if not sound.fault}
    paths = corpus.table["path"].map(os.path.abspath)
    same = corpus.table["utterance"][paths.isin(theirs) | paths.str.startswith(inside)]
    if len(same):
        raise VoicePrivacyError(
            f"{own / 'wav.scp'} names the original's sound for {len(same)} utterances "
            f"({listed(same)}), so that they are not anonymized; remove it, and it is rebuilt from "
            f"{own / 'wav'}."
        )
    return corpus


def _condition(enrolment: VpcData, trials: VpcData) -> str:
    """Which sides are anonymized, by one system."""
    suffixes = {part.suffix for part in (enrolment, trials)} - {""}
    if len(suffixes) > 1:
        raise VoicePrivacyError(
            f"enrolment {enrolment.suffix!r} and trials {trials.suffix!r} are of two systems; "
            "expected one system's, or original ones."
        )
    return "".join("a" if part.suffix else "o" for part in (enrolment, trials))
