"""What the data trees of the VoicePrivacy Challenges share: their sets, and both subsets."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd

from voiceprivacy.corpora import Corpus
from voiceprivacy.errors import VoicePrivacyError, listed
from voiceprivacy.kaldi import GENDERS, genders, read_trials

# Utterances of each set, as the VoicePrivacy Challenge 2024 defines them.
UTTERANCES = {
    "train-clean-360": 104_014,
    "libri_dev_enrolls": 343,
    "libri_dev_trials_f": 1_018,
    "libri_dev_trials_m": 960,
    "libri_test_enrolls": 438,
    "libri_test_trials_f": 734,
    "libri_test_trials_m": 762,
}
TRAIN, *EVALUATED = UTTERANCES
SUBSETS = ("dev", "test")
# A system may lose a few utterances; a tree with less than this share is not the challenge's data.
WHOLE = 0.99


@dataclass(frozen=True, eq=False)
class Subset:
    """What one subset is evaluated on.

    Parameters
    ----------
    enrolment, trials
        The utterances of both sides; trials of women and men together.
    trial_list
        ``speaker``, ``utterance``, ``target``, ``line`` (with its file); None stands for every
        same-sex trial, `voiceprivacy.verification.same_sex_trials`.
    genders
        Speaker to ``"female"`` or ``"male"``.
    """

    enrolment: Corpus
    trials: Corpus
    trial_list: pd.DataFrame | None
    genders: dict[str, str]


def enrolment_set(subset: str) -> str:
    """Return the name of the set that enrols speakers."""
    return f"libri_{subset}_enrolls"


def trial_sets(subset: str) -> dict[str, str]:
    """Return the names of the sets that are tried, by their letter of gender."""
    return {letter: f"libri_{subset}_trials_{letter}" for letter in "fm"}


def counted(sets: Mapping[str, Corpus], expected: Mapping[str, int]) -> pd.DataFrame:
    """Return the utterances found and expected, one row a set."""
    found = {name: len(corpus) for name, corpus in sets.items()}
    return pd.DataFrame({"utterances": found, "expected": {name: expected[name] for name in sets}})


def named(name: str, counts: pd.DataFrame) -> str:
    """Return the data's name, which says if they are only a part."""
    part = (counts["utterances"] < WHOLE * counts["expected"]).any()
    return f"part of the {name}" if part else name


def put_together(
    subset: str,
    sets: Mapping[str, Corpus],
    lists: Mapping[str, Path],
    places: Mapping[str, Iterable[Path]],
) -> Subset:
    """Return dev or test: both sides, the list of trials, and who is female and male.

    Parameters
    ----------
    subset
        ``"dev"`` or ``"test"``.
    sets, lists
        The corpus of each set, and the file with each list of trials.
    places
        Each set's directories, whose ``spk2gender`` must agree with the names of the trial sets.
    """
    sides = trial_sets(subset)
    parts, gender = [], {}
    for letter, name in sides.items():
        trials = read_trials(lists[name])
        parts.append(trials.assign(line=[f"{name}/trials:{line}" for line in trials["line"]]))
        _note_gender(gender, [*sets[name].table["speaker"], *trials["speaker"]], letter, name)
    for name in (enrolment_set(subset), *sides.values()):
        for place in places[name]:
            _note_told(gender, place, f"{name}/spk2gender")
    both = _both(*(sets[name] for name in sides.values()))
    pairs = pd.concat(parts, ignore_index=True)
    return Subset(sets[enrolment_set(subset)], both, pairs, gender)


def _both(female: Corpus, male: Corpus) -> Corpus:
    """Two corpora in one."""
    return replace(
        female,
        table=pd.concat([female.table, male.table]),
        skipped=pd.concat([female.skipped, male.skipped], ignore_index=True),
        notes=pd.concat([female.notes, male.notes], ignore_index=True),
    )


def _note_told(gender: dict[str, str], folder: Path, where: str) -> None:
    """Add what a directory's spk2gender tells, if it has one."""
    if (folder / "spk2gender").is_file():
        told = genders(folder)
        for letter in "fm":
            _note_gender(gender, told.index[told == GENDERS[letter]], letter, where)


def _note_gender(
    gender: dict[str, str], speakers: Collection[str], letter: str, where: str
) -> None:
    """Add speakers of one gender, refusing those known under the other."""
    other = sorted({s for s in speakers if gender.get(s, GENDERS[letter]) != GENDERS[letter]})
    if other:
        raise VoicePrivacyError(
            f"{where} has {len(other)} speakers as {GENDERS[letter]} that another set has as the "
            f"other gender: {listed(other)}."
        )
    gender.update(dict.fromkeys(speakers, GENDERS[letter]))
