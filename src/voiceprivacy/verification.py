"""Speaker verification as the VoicePrivacy Attacker Challenge scores it, with intervals.

A speaker's enrolment is the plain mean of the embeddings of their enrolment utterances, as the
extractor gave them; a trial's score is the cosine of an enrolment and a trial utterance. There is
one EER a subset and gender; female and male are averaged first, then the subsets (dev and test).
"""

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from zipfile import BadZipFile

import numpy as np
import pandas as pd

from voiceprivacy._cells import Cell
from voiceprivacy._speaker_bootstrap import Estimate, mean_eer, paired_difference
from voiceprivacy._trials import checked_trials, gender_of, same_sex_trials, speaker_means
from voiceprivacy.eer import CONVENTION
from voiceprivacy.embeddings import Embeddings
from voiceprivacy.errors import VoicePrivacyError, listed
from voiceprivacy.files import written_whole

__all__ = [
    "CONDITIONS",
    "Cell",
    "Estimate",
    "Verification",
    "joined",
    "mean_eer",
    "paired_difference",
    "read_verification",
    "same_sex_trials",
    "verify",
    "write_verification",
]

# How the VoicePrivacy Challenge abbreviates which sides are anonymized.
CONDITIONS = {
    "oo": "original enrolment, original trials",
    "oa": "original enrolment, anonymized trials",
    "ao": "anonymized enrolment, original trials",
    "aa": "anonymized enrolment, anonymized trials",
}
ARRAYS = ("enrolment", "utterances", "speakers", "scores", "tested")
LOST = ["subset", "speaker", "utterance", "line", "reason"]


@dataclass(frozen=True, eq=False)
class Verification:
    """The scores of one attacker on one or several subsets.

    Parameters
    ----------
    cells
        One a subset and gender.
    condition
        Which sides are anonymized: ``"oo"``, ``"oa"``, ``"ao"`` or ``"aa"``.
    lost
        Trials that could not be scored: ``subset``, ``speaker``, ``utterance``, ``line`` of the
        trial list, ``reason``.
    """

    cells: tuple[Cell, ...]
    condition: str
    lost: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=LOST, dtype=str))

    @property
    def eer(self) -> float:
        """EER averaged over genders, then over subsets; a fraction."""
        return float(self.shares @ [cell.eer for cell in self.cells])

    @property
    def shares(self) -> np.ndarray:
        """Each cell's part in the average, (cells,): genders count alike, and so do subsets."""
        subsets = [cell.subset for cell in self.cells]
        return np.array([1 / len(set(subsets)) / subsets.count(subset) for subset in subsets])

    @property
    def lost_share(self) -> float:
        """Share of the trials asked for that could not be scored."""
        scored = sum(int(cell.tested.sum()) for cell in self.cells)
        return len(self.lost) / (scored + len(self.lost))

    def table(self) -> pd.DataFrame:
        """Return one row a cell: condition, subset, gender, targets, nontargets, EER (fraction)."""
        rows = [
            (
                f"{self.condition}: {CONDITIONS[self.condition]}",
                cell.subset,
                cell.gender,
                int(cell.target.sum()),
                int(cell.tested.sum() - cell.target.sum()),
                cell.eer,
            )
            for cell in self.cells
        ]
        columns = ["condition", "subset", "gender", "targets", "nontargets", "EER (fraction)"]
        return pd.DataFrame(rows, columns=columns)

    def select(self, *, subset: str | None = None, gender: str | None = None) -> "Verification":
        """Return the cells of one subset, one gender, or both.

        Raises
        ------
        VoicePrivacyError
            If there are none.
        """
        cells = tuple(
            cell
            for cell in self.cells
            if subset in (None, cell.subset) and gender in (None, cell.gender)
        )
        if not cells:
            there = [(cell.subset, cell.gender) for cell in self.cells]
            raise VoicePrivacyError(f"no scores of {(subset, gender)}; there are {listed(there)}.")
        lost = self.lost if subset is None else self.lost[self.lost["subset"] == subset]
        return replace(self, cells=cells, lost=lost)

    def interval(
        self, *, confidence: float = 0.95, replicates: int = 1000, seed: int = 0
    ) -> Estimate:
        """Return `eer` with its interval, resampling speakers; see `mean_eer`."""
        return mean_eer([self], confidence=confidence, replicates=replicates, seed=seed)


def verify(
    enrolment: Embeddings,
    trial: Embeddings,
    trials: pd.DataFrame,
    genders: Mapping[str, str],
    *,
    subset: str = "test",
    condition: str = "aa",
    missing: str = "error",
) -> Verification:
    """Score trials: mean enrolment embedding against trial embedding, by cosine.

    Parameters
    ----------
    enrolment, trial
        Embeddings of both sides, in their raw lengths: utterances weigh in a speaker's mean by
        their norms, as in the VoicePrivacy Challenge.
    trials
        ``speaker`` (enrolled), ``utterance`` (trial), ``target`` (bool), from `same_sex_trials`
        or `voiceprivacy.kaldi.read_trials`.
    genders
        Speaker to ``"female"`` or ``"male"``, a mapping or series; a trial counts under the gender
        of its enrolled speaker.
    subset
        What results call this set of trials.
    condition
        Which sides are anonymized, a key of `CONDITIONS`: the rows of a table are told apart by it.
    missing
        What to do with trials whose speaker or utterance has no embedding: ``"error"``, or
        ``"drop"`` to score the others and list these in `Verification.lost`.

    Raises
    ------
    VoicePrivacyError
        If trials lack embeddings, are listed twice, contradict the speakers of the utterances or
        are all of one kind, if a gender is not known, or if both sides do not fit together.
    """
    if condition not in CONDITIONS:
        raise VoicePrivacyError(
            f"condition {condition!r}; expected one of {', '.join(CONDITIONS)} "
            f"({'; '.join(CONDITIONS.values())})."
        )
    trials, lost = checked_trials(trials, enrolment, trial, missing)
    enrolled, means = speaker_means(enrolment)
    order = np.argsort(trial.utterances, kind="stable")
    trial = trial.select(order)
    tested = np.zeros((len(enrolled), len(trial)), bool)
    tested[
        pd.Index(enrolled).get_indexer(trials["speaker"]),
        pd.Index(trial.utterances).get_indexer(trials["utterance"]),
    ] = True
    scores = (_unit(means) @ _unit(trial.matrix).T).astype(np.float32)
    used = np.flatnonzero(tested.any(axis=1))
    gender = gender_of(enrolled[used], genders)
    cells = tuple(
        _cell(subset, one, enrolled, trial, scores, tested, used[gender == one])
        for one in np.unique(gender).tolist()
    )
    return Verification(cells, condition, lost.assign(subset=subset)[LOST])


def joined(parts: Iterable[Verification]) -> Verification:
    """Put the subsets of one attacker together, such as dev and test.

    Raises
    ------
    VoicePrivacyError
        If a subset occurs twice, or conditions differ.
    """
    parts = list(parts)
    names = [(cell.subset, cell.gender) for part in parts for cell in part.cells]
    conditions = {part.condition for part in parts}
    if len(set(names)) < len(names) or len(conditions) != 1:
        raise VoicePrivacyError(
            f"cannot put together {listed(names)} under {listed(sorted(conditions))}; expected "
            "each subset once, all under one condition."
        )
    lost = pd.concat([part.lost for part in parts], ignore_index=True)
    return Verification(sum((part.cells for part in parts), ()), conditions.pop(), lost)


def write_verification(verification: Verification, path: str | os.PathLike) -> None:
    """Write the scores as an npz file, with the EER's convention in words."""
    notes = {
        "convention": CONVENTION,
        "condition": verification.condition,
        "cells": [(cell.subset, cell.gender) for cell in verification.cells],
        "lost": verification.lost[LOST].to_numpy(str).tolist(),
    }
    arrays = {
        f"{number}_{key}": getattr(cell, key)
        for number, cell in enumerate(verification.cells)
        for key in ARRAYS
    }
    with written_whole(path) as temporary, temporary.open("wb") as file:
        np.savez_compressed(file, notes=np.array(json.dumps(notes)), **arrays)


def read_verification(path: str | os.PathLike) -> Verification:
    """Read what `write_verification` wrote.

    Raises
    ------
    VoicePrivacyError
        If the file is missing, damaged or something else.
    """
    path = Path(path)
    if not path.is_file():
        raise VoicePrivacyError(f"{path}: no such file of verification scores.")
    try:
        with np.load(path, allow_pickle=False) as file:
            notes = json.loads(str(file["notes"]))
            cells = tuple(
                Cell(subset, gender, *(file[f"{number}_{key}"] for key in ARRAYS))
                for number, (subset, gender) in enumerate(notes["cells"])
            )
        lost = pd.DataFrame(notes["lost"], columns=LOST, dtype=str)
        return Verification(cells, notes["condition"], lost)
    except (OSError, ValueError, KeyError, TypeError, EOFError, BadZipFile) as error:
        raise VoicePrivacyError(
            f"{path} holds no verification scores, or is damaged ({error}); score again."
        ) from error


def _cell(subset, gender, enrolled, trial, scores, tested, rows) -> Cell:
    """The rows of one gender and the utterances that they are tried with."""
    columns = np.flatnonzero(tested[rows].any(axis=0))
    cell = Cell(
        subset,
        gender,
        enrolled[rows],
        trial.utterances[columns],
        trial.speakers[columns],
        scores[np.ix_(rows, columns)],
        tested[np.ix_(rows, columns)],
    )
    targets, trials = int(cell.target.sum()), int(cell.tested.sum())
    if targets in (0, trials):
        raise VoicePrivacyError(
            f"{subset}, {gender}: {targets} target and {trials - targets} nontarget trials; an EER "
            "needs some of each kind."
        )
    return cell


def _unit(vectors: np.ndarray) -> np.ndarray:
    vectors = vectors.astype(float)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
