"""Which granularity of side information may be released with anonymized voices.

Two things can go wrong when a level such as the district is released: it helps the attacker's voice
comparison to isolate people, and some are alone, or nearly, in their block before any voice is
heard. A level passes if both stay within what is tolerated.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from voiceprivacy.errors import VoicePrivacyError
from voiceprivacy.intervals import cluster_standard_error, wilson_of
from voiceprivacy.isolation import Isolation

RELEASE, WITHHOLD, UNSURE = "may be released", "withhold", "cannot tell"


@dataclass(frozen=True)
class Tolerance:
    """What is tolerated.

    Parameters
    ----------
    contribution
        Largest isolation beyond the conditional reference (Delta_iso); a fraction.
    smallest_block
        Blocks of fewer speakers than this count as small, k.
    share
        Largest share of targets in small blocks.

    Raises
    ------
    VoicePrivacyError
        If a number is out of range.
    """

    contribution: float = 0.05
    smallest_block: int = 10
    share: float = 0.05

    def __post_init__(self):
        if not (0 <= self.contribution <= 1 and 0 <= self.share <= 1 and self.smallest_block >= 1):
            raise VoicePrivacyError(
                f"tolerated contribution {self.contribution}, share {self.share} of targets in "
                f"blocks below {self.smallest_block}; expected fractions, and a block of 1 or more."
            )


def advise(
    isolation: Isolation, tolerance: Tolerance | None = None, *, confidence: float = 0.95
) -> pd.DataFrame:
    """Judge every level at the largest number of speakers, all side information being known.

    Parameters
    ----------
    isolation
        With side information, columns from coarse to fine.
    tolerance
        By default contributions up to 0.05, and 5 % of targets in blocks of fewer than ten.
    confidence
        Of the intervals.

    Returns
    -------
    pandas.DataFrame
        One row a level: ``level``, ``n_speakers``, ``observed`` isolation and its ``chance``
        level, ``contribution`` with ``_low`` and ``_high``, ``small_blocks`` (share of targets in
        blocks below k) with ``_low`` and ``_high``, ``advice`` and ``why``. The signal alone
        is judged by its contribution too.

    Notes
    -----
    A level may be released if both intervals lie within the tolerance, is withheld if one lies
    beyond, and cannot be told otherwise. In blocks of one the voice adds nothing, so that a small
    contribution alone does not make a fine level harmless.

    Examples
    --------
    >>> from voiceprivacy.embeddings import Embeddings
    >>> from voiceprivacy.singling_out import isolate
    >>> people = [f"{k:02d}" for k in range(40)]
    >>> def spoken(kind):
    ...     vectors = np.random.default_rng(len(kind)).normal(size=(160, 4))
    ...     return Embeddings([f"{kind}{i}" for i in range(160)], np.repeat(people, 4), vectors)
    >>> towns = pd.DataFrame({"town": ["x", "y"] * 20, "street": people}, index=people)
    >>> found = isolate(
    ...     spoken("a"), spoken("bb"), sizes=[40], targets="all", side_information=towns
    ... )
    >>> advise(found)[["level", "advice"]].values.tolist()[1:]
    [['town', 'cannot tell'], ['street', 'withhold']]
    """
    tolerance = tolerance or Tolerance()
    known = max(isolation.known_fractions)
    table = isolation.summary(confidence=confidence)
    at = (table["known_fraction"] == known) & (table["n_speakers"] == isolation.sizes.max())
    rows = [
        _judged(row, small, tolerance)
        for row, small in zip(
            table[at].to_dict("records"), _small(isolation, tolerance, confidence), strict=True
        )
    ]
    return pd.DataFrame(rows)


def finest(advice: pd.DataFrame) -> str | None:
    """Return the finest level of an advice up to which all may be released; None if none may."""
    passed = (advice["advice"] == RELEASE).cumprod().astype(bool)
    return None if not passed.any() else str(advice["level"][passed].iloc[-1])


def _small(isolation: Isolation, tolerance: Tolerance, confidence: float) -> np.ndarray:
    """Share of targets in small blocks with its ends, (levels, 3)."""
    known = int(np.argmax(isolation.known_fractions))
    block = isolation.block[known, :, :, int(np.argmax(isolation.sizes))]  # (T, D, J)
    small = (block < tolerance.smallest_block).mean(axis=1)
    share, error = small.mean(axis=0), cluster_standard_error(small)
    ends = np.array(wilson_of(share, error, len(small), confidence))
    ends[:, 0] = share[0]  # everybody shares nothing: that block is the whole set
    return np.stack([share, *ends], axis=1)


def _judged(row: dict, small: np.ndarray, tolerance: Tolerance) -> dict:
    """One level's numbers, advice and reason."""
    ends = row["contribution_low"], row["contribution_high"]
    limits = {
        f"isolation beyond the reference, {row['contribution']:+.3f} ({ends[0]:+.3f} to "
        f"{ends[1]:+.3f}), against {tolerance.contribution:g} tolerated": (
            *ends, tolerance.contribution,
        ),
        f"{small[0]:.1%} of targets ({small[1]:.1%} to {small[2]:.1%}) in blocks of fewer than "
        f"{tolerance.smallest_block}, against {tolerance.share:.1%} tolerated": (
            small[1], small[2], tolerance.share,
        ),
    }  # fmt: skip
    beyond = [why for why, (low, _, limit) in limits.items() if low > limit]
    unsure = [why for why, (low, high, limit) in limits.items() if not high <= limit]
    advice = WITHHOLD if beyond else UNSURE if unsure else RELEASE
    return {
        "level": row["level"],
        "n_speakers": row["n_speakers"],
        "observed": row["observed"],
        "chance": row["chance"],
        "contribution": row["contribution"],
        "contribution_low": ends[0],
        "contribution_high": ends[1],
        "small_blocks": small[0],
        "small_blocks_low": small[1],
        "small_blocks_high": small[2],
        "advice": advice,
        "why": "; ".join(beyond or unsure or limits),
    }
