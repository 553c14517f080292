"""Who can be confused with a target: the random evaluation sets and the compatible blocks."""

from dataclasses import dataclass

import numpy as np

from voiceprivacy.randomness import stream


@dataclass(frozen=True)
class Candidates:
    """The evaluation sets S_N of every target and, within them, its nested blocks.

    Parameters
    ----------
    speakers
        Ids of the evaluation speakers, shape (S,).
    own
        Place of each target among them, shape (T,).
    codes
        Side information by number, shape (S, columns); see `voiceprivacy.side_information`.
    largest
        The largest N asked for.
    draws
        Number of random sets.
    known_fractions
        Fractions of speakers whose side information is disclosed.
    always_known
        Whether the targets' own is disclosed at any fraction.
    seed
        Seed of the sets and of whose side information is disclosed.
    """

    speakers: np.ndarray
    own: np.ndarray
    codes: np.ndarray
    largest: int
    draws: int
    known_fractions: tuple[float, ...]
    always_known: bool
    seed: int

    def order(self, target: int) -> np.ndarray:
        """Speakers in the order in which they join S_N, the target first, (draws, largest).

        S_30 is the first 30 of them, S_100 the first 100: the sets nest. A target's order
        depends on its id, the seed and the speakers, not on the other targets.
        """
        own = self.own[target]
        order = np.empty((self.draws, self.largest), np.int32)
        order[:, 0] = own
        for draw in range(self.draws):
            rng = stream(self.seed, "speakers", draw, str(self.speakers[own]))
            others = rng.permutation(len(self.speakers) - 1)[: self.largest - 1]
            order[draw, 1:] = others + (others >= own)
        return order

    def disclosed(self, fraction: float) -> np.ndarray:
        """Whose side information is disclosed, (draws, S); a smaller fraction's are a subset."""
        chance = [
            stream(self.seed, "disclosed", draw).random(len(self.speakers))
            for draw in range(self.draws)
        ]
        return np.array(chance) < fraction

    def target_known(self) -> np.ndarray:
        """Whether each target's own side information is disclosed, (fractions, T, draws)."""
        known = np.array([self.disclosed(f)[:, self.own].T for f in self.known_fractions])
        anything = (self.codes[self.own] >= 0).any(axis=1)
        return (known | self.always_known) & anything[:, None]
