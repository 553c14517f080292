"""What geography alone decides: block sizes, and the reference and chance level they imply.

How many of N random speakers share a target's side information needs no voice: n' - 1 is
hypergeometric. Means over all random sets and all targets are therefore exact.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy.special import gammaln
from scipy.stats import norm

from voiceprivacy.errors import VoicePrivacyError, listed
from voiceprivacy.reference import chance_level, conditional_reference
from voiceprivacy.singling_out import SIGNAL_ONLY

_QUANTITIES = ("block_size", "reference", "chance")


def expected_blocks(
    side_information: pd.DataFrame,
    sizes: Sequence[int],
    *,
    by: str | None = None,
    targets: int = 495,
    draws: int = 5,
    confidence: float = 0.95,
) -> pd.DataFrame:
    """Return the mean block size of every nested level, and what it alone gives.

    Parameters
    ----------
    side_information
        Indexed by speaker, columns from coarse to fine, no value missing.
    sizes
        Evaluation set sizes N, each between 1 and the number of speakers.
    by
        Split the targets by their own value in this column.
    targets, draws
        The size of the study that `low` and `high` are for.
    confidence
        Its probability of a mean between them.

    Returns
    -------
    pandas.DataFrame
        As from `Isolation.summary`: a row for each group, level and size, with the exact means of
        ``block_size`` (n'), ``reference`` (P_ref) and ``chance`` (P_0 at M = 9) over targets drawn
        evenly from the speakers. ``_low`` and ``_high`` are where a study of `targets` random
        targets and `draws` sets for each has its own mean, in normal approximation.

    Raises
    ------
    VoicePrivacyError
        If a value is missing, a size cannot be drawn, or there is no column `by`.

    Examples
    --------
    >>> towns = pd.DataFrame({"town": ["x", "x", "y"]}, index=["a", "b", "c"])
    >>> expected_blocks(towns, [3])[["level", "block_size", "reference"]].round(3).values.tolist()
    [['signal only', 3.0, 0.444], ['town', 1.667, 0.667]]
    """
    _check(side_information, sizes, by)
    sharing = _sharing(side_information)
    if by is None:
        return _summarised(sharing, sizes, targets, draws, confidence)
    tables = []
    for value in sorted(side_information[by].unique()):
        own = (side_information[by] == value).to_numpy()
        count = max(1, round(targets * own.mean()))
        table = _summarised(sharing, sizes, count, draws, confidence, own)
        table.insert(1, by, value)
        tables.append(table)
    return pd.concat(tables, ignore_index=True)


def _check(table: pd.DataFrame, sizes: Sequence[int], by: str | None) -> None:
    if unknown := [name for name in table if (table[name].isna() | (table[name] == "")).any()]:
        raise VoicePrivacyError(
            f"columns {listed(unknown)} have missing values, whose blocks depend on chance; "
            "evaluate them with isolate()."
        )
    if wrong := [size for size in sizes if not 1 <= size <= len(table)]:
        raise VoicePrivacyError(
            f"N = {listed(wrong)} cannot be drawn from {len(table)} speakers; expected 1 to that."
        )
    if by is not None and by not in table:
        raise VoicePrivacyError(f"by is {by!r}; expected one of {listed(table)}.")


def _sharing(table: pd.DataFrame) -> dict[str, np.ndarray]:
    """How many speakers share each one's values, itself among them, level by level."""
    columns = list(table.columns)
    sharing = {SIGNAL_ONLY: np.full(len(table), len(table))}
    for j, name in enumerate(columns, start=1):
        sharing[name] = table.groupby(columns[:j])[name].transform("size").to_numpy()
    return sharing


def _summarised(sharing, sizes, targets, draws, confidence, own=slice(None)) -> pd.DataFrame:
    """Means over the targets in `own`, and the spread of a study's."""
    total = len(next(iter(sharing.values())))
    block = np.arange(1, total + 1)
    values = np.stack([block, conditional_reference(block), chance_level(block)])
    factorials = gammaln(np.arange(total + 1) + 1.0)
    reach = norm.ppf((1 + confidence) / 2)
    rows = []
    for size in sizes:
        for level, people in sharing.items():
            shared, count = np.unique(people[own], return_counts=True)
            moments = [_moments(values, factorials, m, size) for m in shared]
            mean, within = np.moveaxis(moments, 1, 0)
            overall = np.average(mean, axis=0, weights=count)
            between = np.average((mean - overall) ** 2, axis=0, weights=count)
            inside = np.average(within, axis=0, weights=count) / draws
            half = reach * np.sqrt((between + inside) / targets)
            row = {"level": level, "n_speakers": size, "targets": targets}
            for name, centre, width in zip(_QUANTITIES, overall, half, strict=True):
                row |= {name: centre, f"{name}_low": centre - width, f"{name}_high": centre + width}
            rows.append(row)
    return pd.DataFrame(rows)


def _moments(
    values: np.ndarray, factorials: np.ndarray, sharing: int, size: int
) -> tuple[np.ndarray, np.ndarray]:
    """Mean and variance of `values` at n', of which row 0 is n' itself from 1 to all speakers.

    The target is in the set; of the others, `sharing` - 1 are alike and `size` - 1 are drawn.
    """
    others = values.shape[1] - 1
    alike = np.arange(max(0, size - 1 - (others - sharing + 1)), min(sharing, size))

    def choices(n, k):  # log of n over k, from a table since there are millions of them
        return factorials[n] - factorials[k] - factorials[n - k]

    log = choices(sharing - 1, alike) + choices(others - sharing + 1, size - 1 - alike)
    chance = np.exp(log - choices(others, size - 1))
    possible = values[:, alike]
    mean = possible @ chance
    return mean, (possible - mean[:, None]) ** 2 @ chance
