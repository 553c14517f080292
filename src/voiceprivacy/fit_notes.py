"""Remarks for a comparison: which printed numbers the simulated voices were fitted to."""

from collections.abc import Iterable

import pandas as pd

from voiceprivacy.evidence import evidence_of
from voiceprivacy.published import item_row
from voiceprivacy.simulation import fitted_and_predicted
from voiceprivacy.singling_out import SIGNAL_ONLY
from voiceprivacy.study import ATTACKERS

# A contribution is the observed isolation less what the block sizes alone give.
_OF_VOICES = ("observed", "contribution")
_REMARKS = {"fitted": "the simulation was fitted to it", "predicted": "the fit did not see it"}


def fit_notes(items: Iterable[str], evidence: str) -> dict[str, str]:
    """Say of each number of the side-information paper whether the simulation was fitted to it.

    Parameters
    ----------
    items
        Names from ``published("SI")``.
    evidence
        What the reproduced numbers rest on.

    Returns
    -------
    dict
        From item to remark, for `compare(notes=...)`. Empty for real speech. Items that need no
        voices, bounds and orderings have no remark.

    Examples
    --------
    >>> fit_notes(["semi_L1_N12800_OA_contribution", "N30_OA_block"], evidence_of("simulated"))
    {'semi_L1_N12800_OA_contribution': 'the simulation was fitted to it'}
    """
    if evidence != evidence_of("simulated"):
        return {}
    rows = {item: item_row("SI", item) for item in items}
    return {
        item: _REMARKS[_status(row)]
        for item, row in rows.items()
        if row["kind"] == "number" and row["attacker"] and row["quantity"] in _OF_VOICES
    }


def _status(printed: pd.Series) -> str:
    """Whether the fit of this attacker's model saw the observed isolation behind a number."""
    level = "" if printed["level"] == SIGNAL_ONLY else printed["level"]
    seen = fitted_and_predicted().query("status == 'fitted' and metric == 'singling out'")
    same = (
        (seen["preset"] == ATTACKERS[printed["attacker"]])
        & (seen["conversation_length"] == printed["conversation_length"])
        & (seen["n"] == printed["n_speakers"])
        & (seen["level"] == level)
    )
    return "fitted" if same.any() else "predicted"
