"""What to keep in mind when reading an evaluation, in sentences."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from voiceprivacy.census.ages import AGES
from voiceprivacy.census.codes import doubtful_codes, explain_codes
from voiceprivacy.errors import listed
from voiceprivacy.isolation import Isolation

FEW_TARGETS = 100
FEW_CALIBRATIONS = 3


def cautions(isolation: Isolation) -> list[str]:
    """Return remarks on an evaluation: who is missing, and which numbers say less than they seem.

    Parameters
    ----------
    isolation
        What `voiceprivacy.singling_out.isolate` returned.

    Returns
    -------
    list of str
        One remark each, none if there is nothing to remark.

    Examples
    --------
    >>> from voiceprivacy.embeddings import Embeddings
    >>> from voiceprivacy.singling_out import isolate
    >>> speakers = np.repeat(["a", "b", "c"], 3)
    >>> def said(kind, seed):
    ...     vectors = np.random.default_rng(seed).normal(size=(9, 4))
    ...     return Embeddings([f"{kind}{i}" for i in range(9)], speakers, vectors)
    >>> remarks = cautions(isolate(said("a", 0), said("b", 1), sizes=[2], targets="all"))
    >>> remarks[0]
    'There are only 3 targets: intervals are wide, and targets unlike them are not spoken for.'
    """
    return [*_missing(isolation), *_calibration(isolation), *_sets(isolation), *_alone(isolation)]


def about_ages(table: pd.DataFrame) -> list[str]:
    """Return what the age words in a table's columns stand for, a sentence a column of them.

    Parameters
    ----------
    table
        Side information or speakers, one row a speaker; columns of anything else are passed over.

    Examples
    --------
    >>> about_ages(pd.DataFrame({"age": ["fourties", "teens", ""], "town": ["x", "y", "z"]}))
    ["Years in 'age': teens are 16 to 19, forties are 40 to 49."]
    """
    return [
        f"Years in {str(column)!r}: "
        + ", ".join(f"{word} are {years}" for word, years in AGES.items() if word in words)
        + "."
        for column in table
        if (words := _ages(table[column])) and words <= set(AGES)
    ]


def about_codes(table: pd.DataFrame) -> list[str]:
    """Return what is odd about census codes in a table's columns, a sentence a column.

    Examples
    --------
    >>> print(*about_codes(pd.DataFrame({"LAD": ["E06000017", "E06000017", "S12000036"]})))
    1 of 3 codes in 'LAD' are none of Census 2021 of England and Wales at that level: 1 code of \
Scotland, which has its own census ('S12000036'). Each counts as an area of its own; mend them, \
or leave the cells blank: unknown.
    """
    known = {str(column): table[column].dropna().astype(str) for column in table}
    return [
        f"{len(odd):,} of {len(known[column]):,} codes in {column!r} are none of Census 2021 of "
        f"England and Wales at that level: {explain_codes(odd)}. Each counts as an area of its "
        "own; mend them, or leave the cells blank: unknown."
        for column, values in known.items()
        if (odd := doubtful_codes(values[values != ""]))
    ]


def _ages(values: pd.Series) -> set[str]:
    """The words of a column, spelt as ours."""
    words = values.dropna().astype(str).str.strip().str.lower().replace("fourties", "forties")
    return set(words) - {"", "unknown"}


def _missing(isolation: Isolation) -> Iterator[str]:
    """Speakers who do not take part, or not with everything."""
    counts = isolation.counts
    if counts["left_out"]:
        yield (
            f"{counts['left_out']:,} of {counts['left_out'] + counts['eligible']:,} speakers of "
            "the pool have too few utterances and were left out, "
            f"{counts['enrolled_left_out']:,} enrolled ones among them: "
            f"{_names(isolation, 'left_out')}."
        )
    if counts["without_side_information"]:
        yield (
            f"{counts['without_side_information']:,} of {counts['eligible']:,} speakers have no "
            "side information: they cannot be ruled out, and count as compatible with everybody."
        )
    if counts["enrolled_not_in_pool"]:
        yield (
            f"{counts['enrolled_not_in_pool']:,} enrolled speakers are not in the pool and are no "
            "targets; check that both name speakers alike: "
            f"{_names(isolation, 'enrolled_not_in_pool')}."
        )
    if len(isolation.targets) < FEW_TARGETS:
        yield (
            f"There are only {len(isolation.targets)} targets: intervals are wide, and targets "
            "unlike them are not spoken for."
        )


def _names(isolation: Isolation, which: str) -> str:
    return listed(isolation.absent[which].tolist(), 3)


def _calibration(isolation: Isolation) -> Iterator[str]:
    """Thresholds that miss, or miss unevenly."""
    most = isolation.n_calibration.max()
    if not isolation.equal_calibration:
        # The threshold of a target is the M-th highest of all calibration scores, M being its own.
        yield (
            "Speakers have unequal numbers of calibration conversations. A threshold is set for "
            "one expected match if all have as many; who has few gets a higher one, and the chance "
            "level is not known. Raise min_conversations, or lower n_calibration, to make them "
            "equal."
        )
    if most < FEW_CALIBRATIONS:
        yield (
            f"With {most} calibration conversations a speaker the threshold is rough: a useless "
            "attacker stays well below the reference. Compare with the chance level."
        )


def _sets(isolation: Isolation) -> Iterator[str]:
    """Draws that are one set."""
    draws = isolation.block.shape[2]
    if draws > 1 and isolation.counts["eligible"] in isolation.sizes:
        yield (
            f"N = {isolation.counts['eligible']:,} are all eligible speakers: there the {draws} "
            "draws are one and the same set."
        )


def _alone(isolation: Isolation) -> Iterator[str]:
    """Levels at which the side information does it."""
    known = int(np.argmax(isolation.known_fractions))
    alone = (isolation.block[known] == 1).mean(axis=(0, 1))  # (sizes, levels)
    for level, share in zip(isolation.levels, alone.T, strict=True):
        sizes = isolation.sizes[share > 0.5].tolist()
        if sizes:
            yield (
                f"At level {level!r} most targets are alone in their block at N = {listed(sizes)}: "
                "the side information singles them out, and the voice can add little."
            )
