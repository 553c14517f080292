"""One table of error rates: each subset and gender, and their averages, by both rules."""

import pandas as pd

from voiceprivacy.eer import rocch_eer
from voiceprivacy.verification import Verification

COUNTS = ["targets", "nontargets"]
RULES = ["EER (SpeechBrain)", "EER (ROCCH)"]


def eer_table(verification: Verification) -> pd.DataFrame:
    """Return the EERs of each subset and gender and their averages, by both rules.

    Parameters
    ----------
    verification
        Scores of one attacker.

    Returns
    -------
    pandas.DataFrame
        ``condition``, ``subset``, ``gender``, ``targets`` and ``nontargets`` (trials), and two EERs
        as fractions: SpeechBrain's, which the challenges report, and the one on the ROC's convex
        hull (`voiceprivacy.eer`). Below the genders of a subset stands their average, and last, as
        subset ``average``, the average of the subsets' averages.
    """
    cells = pd.DataFrame(
        [
            (
                cell.subset,
                cell.gender,
                int(cell.target.sum()),
                int(cell.tested.sum() - cell.target.sum()),
                cell.eer,
                rocch_eer(cell.scores[cell.target], cell.scores[cell.tested & ~cell.target]),
            )
            for cell in verification.cells
        ],
        columns=["subset", "gender", *COUNTS, *RULES],
    )
    averages = {
        subset: _averaged(own, subset) for subset, own in cells.groupby("subset", sort=False)
    }
    parts = [
        part
        for subset, own in cells.groupby("subset", sort=False)
        for part in (own, averages[subset])
    ]
    table = pd.concat([*parts, _averaged(pd.concat(averages.values()), "average")])
    table.insert(0, "condition", verification.condition)
    return table.reset_index(drop=True)


def _averaged(rows: pd.DataFrame, subset: str) -> pd.DataFrame:
    """One row: trials in all, and the mean of each EER."""
    values = rows[COUNTS].sum().to_dict() | rows[RULES].mean().to_dict()
    return pd.DataFrame([{"subset": subset, "gender": "average", **values}])
