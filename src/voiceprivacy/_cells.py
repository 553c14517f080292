"""The scores of one subset and gender, the unit that has an EER of its own."""

from dataclasses import dataclass

import numpy as np

from voiceprivacy.eer import resampled_eers
from voiceprivacy.randomness import stream


@dataclass(frozen=True, eq=False)
class Cell:
    """The scores of one subset and gender: enrolled speakers by trial utterances.

    Parameters
    ----------
    subset, gender
        Which cell it is; the gender is that of the enrolled speakers.
    enrolment
        Enrolled speakers, sorted, (m,).
    utterances, speakers
        Trial utterances, sorted, and who speaks them, (n,).
    scores
        Cosines, (m, n) float32.
    tested
        Which of them are trials, (m, n) bool.
    """

    subset: str
    gender: str
    enrolment: np.ndarray
    utterances: np.ndarray
    speakers: np.ndarray
    scores: np.ndarray
    tested: np.ndarray

    @property
    def target(self) -> np.ndarray:
        """Which trials are of one speaker, (m, n) bool."""
        return self.tested & (self.enrolment[:, None] == self.speakers)

    @property
    def people(self) -> np.ndarray:
        """Everybody in the cell, enrolled or not, sorted."""
        return np.union1d(self.enrolment, self.speakers)

    def eers(self, weights: np.ndarray) -> np.ndarray:
        """Return the EER of every resample of `people`, weights of shape (resamples, people)."""
        row, column = np.nonzero(self.tested)
        scores, target = self.scores[row, column], self.target[row, column]
        order = np.argsort(scores, kind="stable")
        last = np.append(np.diff(scores[order]) > 0, True)
        row = np.searchsorted(self.people, self.enrolment)[row[order]]
        column = np.searchsorted(self.people, self.speakers)[column[order]]
        return resampled_eers(row, column, target[order], last, weights.astype(np.int64))

    @property
    def eer(self) -> float:
        """The cell's EER, a fraction."""
        return float(self.eers(np.ones((1, len(self.people))))[0])

    def resamples(self, replicates: int, seed: int) -> np.ndarray:
        """How often each of `people` is drawn, (replicates, people); the same for every system."""
        n = len(self.people)
        rng = stream(seed, "speakers", self.subset, self.gender)
        return rng.multinomial(n, np.full(n, 1 / n), size=replicates)
