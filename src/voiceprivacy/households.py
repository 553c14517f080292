"""Households of speakers inside an output area: class quotas and household sizes.

The class of a speaker is the number of *speakers* who share the household, so quotas must be
whole households: an even number of people in twos, and none or at least three in larger ones.
"""

from itertools import product

import numpy as np
import pandas as pd

from voiceprivacy.census import OutputAreas
from voiceprivacy.randomness import stream

CLASSES = ("HH1", "HH2", "HH3+")
RULES = ("census", "published_shares", "as_published")
SIZES = ("1", "2", "3+")

# Counted in the side-information paper's published geolocation.csv: speakers of each class by
# MSOA, and its 963 households of 3, 4, ... 7 speakers. Inside an MSOA every area holds the
# MSOA's shares.
PUBLISHED_SPEAKERS = {
    "E02002863": (725, 3404, 826),
    "E02002864": (713, 2884, 817),
    "E02002865": (628, 2604, 954),
    "E02002866": (672, 2676, 725),
    "E02002867": (678, 2822, 896),
}
PUBLISHED_LARGER = {3: 316, 4: 256, 5: 188, 6: 115, 7: 88}


def household_class(size: pd.Series) -> pd.Series:
    """Return the class of each household size: HH1, HH2, or HH3+ from three up.

    Examples
    --------
    >>> household_class(pd.Series([1, 2, 3, 7])).tolist()
    ['HH1', 'HH2', 'HH3+', 'HH3+']
    """
    return size.clip(upper=3).map(dict(enumerate(CLASSES, start=1))).astype(str)


def class_shares(areas: OutputAreas, rule: str = "census") -> pd.DataFrame:
    """Return the share of people in each household class, one row an output area.

    Parameters
    ----------
    areas
        Output areas; households are weighted by the people who live in them.
    rule
        ``"census"``: the area's own shares (its MSOA's, then all areas', where it has no
        household). Otherwise its MSOA's shares in the side-information paper's published file,
        for the five MSOAs of Rutland; the MSOA's census shares elsewhere.

    Returns
    -------
    pandas.DataFrame
        Index OA, columns HH1, HH2, HH3+; every row sums to 1.
    """
    people = areas.persons_in_households[list(SIZES)].set_axis(list(CLASSES), axis=1)
    msoa = areas.lookup["MSOA"].reindex(people.index)
    in_msoa = people.groupby(msoa).transform("sum")
    everywhere = people * 0 + people.sum()
    evenly = people * 0 + 1
    if rule != "census":
        published = pd.DataFrame.from_dict(PUBLISHED_SPEAKERS, "index", columns=list(CLASSES))
        people = published.reindex(msoa).set_axis(people.index).fillna(in_msoa)
    for coarser in (in_msoa, everywhere, evenly):
        people = people.where(people.sum(axis=1) > 0, coarser)
    return people.div(people.sum(axis=1), axis=0)


def class_quotas(speakers: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Return the speakers of each area in each class: whole households, nearest to the shares.

    Among the triples that fill whole households, the one at the least squared distance from
    `speakers` x `shares` is taken. Each class is then less than one speaker off its exact share
    where that of HH3+ is 0 or at least 3, and less than 2.5 elsewhere.

    Parameters
    ----------
    speakers
        Shape (n,), speakers of each area.
    shares
        Shape (n, 3), shares of classes HH1, HH2 and HH3+; rows sum to 1.

    Returns
    -------
    numpy.ndarray
        Shape (n, 3), int64, rows sum to `speakers`; column 1 even, column 2 never 1 or 2.

    Examples
    --------
    >>> class_quotas(np.array([10, 2]), np.array([[0.13, 0.36, 0.51], [0.13, 0.36, 0.51]]))
    array([[1, 4, 5],
           [0, 2, 0]])
    """
    exact = speakers[:, None] * shares
    twos = 2 * np.floor(exact[:, 1] / 2)
    larger = np.floor(exact[:, 2])
    best, least = np.zeros_like(exact), np.full(len(exact), np.inf)
    for two, large in product((-2, 0, 2), (-2, -1, 0, 1, 2)):
        quotas = np.column_stack(
            [speakers - twos - two - larger - large, twos + two, larger + large]
        )
        whole = (quotas >= 0).all(axis=1) & ~np.isin(quotas[:, 2], (1, 2))
        distance = np.where(whole, np.square(quotas - exact).sum(axis=1), np.inf)
        better = distance < least - 1e-9
        best[better], least[better] = quotas[better], distance[better]
    return best.astype(np.int64)


def household_sizes(
    quotas: np.ndarray, mean_larger: np.ndarray, rule: str, seed: int
) -> list[np.ndarray]:
    """Return the sizes of each area's households: ones, then twos, then larger by falling size.

    Parameters
    ----------
    quotas
        Shape (n, 3), from `class_quotas`.
    mean_larger
        Shape (n,), mean size of the area's census households of three people and more.
    rule
        ``"census"``: larger households as equal in size as can be, as many as their census mean
        gives. Otherwise sizes of 3 to 7 drawn as often as in the published file.
    seed
        Seed of those draws.
    """
    random = stream(seed, "larger households")
    sizes = []
    for (ones, twos, people), mean in zip(quotas, mean_larger, strict=True):
        larger = _drawn_sizes(people, random) if rule != "census" else _even_sizes(people, mean)
        sizes.append(np.concatenate([np.repeat([1, 2], [ones, twos // 2]), larger]))
    return sizes


def mean_larger_size(areas: OutputAreas) -> pd.Series:
    """Return the mean size of each area's households of three people and more."""
    people, number = areas.persons_in_households["3+"], areas.households["3+"]
    overall = people.sum() / number.sum() if number.sum() > 0 else 3.0
    return (people / number).fillna(overall)


def _even_sizes(people: int, mean: float) -> np.ndarray:
    if people == 0:
        return np.empty(0, dtype=np.int64)
    number = int(np.clip(round(people / mean), 1, people // 3))
    return people // number + (np.arange(number) < people % number)


def _drawn_sizes(people: int, random: np.random.Generator) -> np.ndarray:
    sizes, weights = np.array(list(PUBLISHED_LARGER)), np.array(list(PUBLISHED_LARGER.values()))
    drawn = []
    while people:
        left = people - sizes
        # What is left must be nothing, or enough for another household.
        cumulative = np.cumsum(weights * ((left == 0) | (left >= 3)))
        pick = np.searchsorted(cumulative, random.random() * cumulative[-1], side="right")
        drawn.append(sizes[pick])
        people -= sizes[pick]
    return np.sort(np.array(drawn, dtype=np.int64))[::-1]
