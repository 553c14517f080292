"""How near an assignment is to its census targets, beside what whole numbers alone allow."""

from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import chi2

from voiceprivacy.apportionment import largest_remainder, rounded_table
from voiceprivacy.assignment import cell_targets
from voiceprivacy.census import OutputAreas
from voiceprivacy.errors import VoicePrivacyError, listed
from voiceprivacy.households import CLASSES, class_shares
from voiceprivacy.speakers import checked_speakers

_DIGITS = 8  # of a measure; targets are fitted to 9


class _Margin(NamedTuple):
    """Speakers by area and class: the real-valued target, the assignment, the nearest whole."""

    name: str
    target: np.ndarray
    observed: np.ndarray
    rounded: np.ndarray
    degrees: int


def fidelity(table: pd.DataFrame, areas: OutputAreas, speakers: pd.DataFrame) -> pd.DataFrame:
    """Measure an assignment against the census, margin by margin.

    Parameters
    ----------
    table
        From `voiceprivacy.assignment.assign` or `read_geolocation`.
    areas
        The output areas it was made from (or should be measured against).
    speakers
        The speakers of `table`, with gender and age.

    Returns
    -------
    pandas.DataFrame
        One row a margin and measure, columns `margin`, `measure`, `observed`, `rounding`, and
        for G also `df` and `p_value`. Margins: ``OA``, ``gender by OA``, ``age by OA``,
        ``gender and age by OA``, ``household class by OA``. Measures, with x the speakers of a
        cell, t its target and n all speakers:

        - ``total variation``: half the sum of abs(x - t) / n, from 0 to 1;
        - ``standardised absolute error``: the sum of abs(x - t) / n [1]_, twice the former since
          x and t have the same sum (both names are in use);
        - ``G``: 2 times the sum of x ln(x / t); infinite if x > 0 where t = 0.

    Raises
    ------
    VoicePrivacyError
        If `table` has an area that `areas` lacks, or the two lists of speakers differ.

    Notes
    -----
    Targets are real numbers. ``OA``: speakers in proportion to adults. Gender and age: the
    sums of `cell_targets` under both constraints, so that all four variants of the assignment
    are measured against the same census composition (an assignment by gender alone is therefore
    off by more than rounding: it ignores that areas differ in age). Speakers of unknown gender
    or age count as a class of their own. ``household class by OA``: the area's speakers times
    its own census shares of people, whatever rule made the table.

    `rounding` is the same measure for the margin's target rounded *on its own* to the nearest
    whole numbers with the same margins: what would be left if nothing but rounding stood between
    target and assignment. An assignment that meets a finer margin cannot meet each coarser one
    as closely as that, and whole households cost more than whole speakers.

    The p-value is the chi-square upper tail with (areas - 1)(classes - 1) degrees of freedom
    (areas - 1 for ``OA``; areas x (classes - 1) for household classes, whose totals are free).
    Quotas lie far closer to their targets than random draws would: values near 1 are expected.

    References
    ----------
    .. [1] Voas and Williamson (2001), "Evaluating goodness-of-fit measures for synthetic
       microdata", Geographical and Environmental Modelling 5(2).

    Examples
    --------
    >>> from voiceprivacy.assignment import assign
    >>> from voiceprivacy.census import default_output_areas
    >>> areas = default_output_areas()
    >>> who = pd.DataFrame({"speaker": [f"{i:04d}" for i in range(900)], "gender": "f", "age": ""})
    >>> report = fidelity(assign(who, areas), areas, who).set_index(["margin", "measure"])
    >>> observed, rounding = report.loc[("OA", "total variation"), ["observed", "rounding"]]
    >>> bool(observed == rounding < 0.05)
    True
    """
    people = _matched(table, areas, checked_speakers(speakers))
    cells = cell_targets(people, areas)
    margins = [
        _totals(people, areas, cells),
        *(_composition(people, cells, by) for by in (["gender"], ["age"], ["gender", "age"])),
        _household_classes(people, areas, cells.index),
    ]
    return pd.DataFrame([row for margin in margins for row in _measures(margin)])


def _matched(table: pd.DataFrame, areas: OutputAreas, speakers: pd.DataFrame) -> pd.DataFrame:
    """Return the speakers with their area and household class."""
    strange = sorted(set(table["OA"]) - set(areas.lookup.index))
    if strange:
        raise VoicePrivacyError(
            f"the assignment has {len(strange)} output areas that the census tables lack: "
            f"{listed(strange)}. Measure it against the areas it was made from."
        )
    lone = sorted(set(table["spk_id"]) ^ set(speakers["speaker"]))
    if lone:
        raise VoicePrivacyError(
            f"{len(lone)} speakers are in only one of the assignment and the speakers table: "
            f"{listed(lone)}. Both must list the same speakers."
        )
    where = table.set_index("spk_id")[["OA", "HH"]]
    return speakers.join(where, on="speaker")


def _totals(people: pd.DataFrame, areas: OutputAreas, cells: pd.DataFrame) -> _Margin:
    adults = areas.adults.sum(axis=1).reindex(cells.index).to_numpy(dtype=float)
    target = adults / adults.sum() * len(people)
    rounded = largest_remainder(len(people), adults)
    observed = _counts(people["OA"], cells.index)
    return _Margin("OA", target, observed, rounded, np.count_nonzero(adults) - 1)


def _composition(people: pd.DataFrame, cells: pd.DataFrame, by: list[str]) -> _Margin:
    target = cells.T.groupby(level=by).sum().T
    value = pd.MultiIndex.from_frame(people[by]) if len(by) > 1 else people[by[0]]
    observed = _counts(people["OA"], cells.index, value, target.columns)
    quotas = np.rint(cells.sum(axis=1)).astype(np.int64)
    rounded = rounded_table(target.to_numpy(), quotas, observed.sum(axis=0))
    degrees = (np.count_nonzero(quotas) - 1) * (target.shape[1] - 1)
    return _Margin(f"{' and '.join(by)} by OA", target.to_numpy(), observed, rounded, degrees)


def _household_classes(people: pd.DataFrame, areas: OutputAreas, codes: pd.Index) -> _Margin:
    observed = _counts(people["OA"], codes, people["HH"], pd.Index(CLASSES))
    shares = class_shares(areas).reindex(codes).to_numpy()
    homes = observed.sum(axis=1)
    rounded = np.stack([largest_remainder(*row) for row in zip(homes, shares, strict=True)])
    degrees = np.count_nonzero(homes) * (len(CLASSES) - 1)
    return _Margin("household class by OA", homes[:, None] * shares, observed, rounded, degrees)


def _counts(
    area: pd.Series, codes: pd.Index, value: pd.Index | pd.Series = None, classes: pd.Index = None
) -> np.ndarray:
    """Count speakers by area, or by area and class."""
    row = codes.get_indexer(area)
    if classes is None:
        return np.bincount(row, minlength=len(codes))
    cell = row * len(classes) + classes.get_indexer(value)
    return np.bincount(cell, minlength=len(codes) * len(classes)).reshape(len(codes), -1)


def _measures(margin: _Margin) -> list[dict[str, object]]:
    measures = {
        "total variation": lambda whole: 0.5 * _absolute_error(whole, margin.target),
        "standardised absolute error": lambda whole: _absolute_error(whole, margin.target),
        "G": lambda whole: _g(whole, margin.target),
    }
    rows = [
        {
            "margin": margin.name,
            "measure": name,
            "observed": measure(margin.observed),
            "rounding": measure(margin.rounded),
        }
        for name, measure in measures.items()
    ]
    tail = chi2.sf(rows[-1]["observed"], margin.degrees) if margin.degrees else np.nan
    rows[-1] |= {"df": margin.degrees, "p_value": tail}
    return rows


def _absolute_error(whole: np.ndarray, target: np.ndarray) -> float:
    return round(float(np.abs(whole - target).sum() / target.sum()), _DIGITS)


def _g(whole: np.ndarray, target: np.ndarray) -> float:
    """Twice the log-likelihood ratio of the counts against their targets."""
    there = whole > 0
    with np.errstate(divide="ignore"):
        terms = whole[there] * np.log(whole[there] / target[there])
    return max(round(float(2 * terms.sum()), _DIGITS), 0.0)
