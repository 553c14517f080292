"""The shipped default: Rutland's published figures down to LSOAs, output areas modelled inside."""

from collections.abc import Callable

import numpy as np
import pandas as pd

from voiceprivacy.apportionment import largest_remainder
from voiceprivacy.census.ages import regroup
from voiceprivacy.census.areas import ATTRIBUTION, OutputAreas
from voiceprivacy.census.households import SIZES
from voiceprivacy.census.labels import Range
from voiceprivacy.census.population import ADULT_COLUMNS, fit_margins
from voiceprivacy.paths import shipped
from voiceprivacy.randomness import stream

SMALLEST = 100
"""Residents that an output area has at least (Census 2021 output area thresholds, ONS)."""


def default_output_areas() -> OutputAreas:
    """Return the shipped output areas: Rutland's in size and number, but modelled.

    Real are the 5 MSOAs and 26 LSOAs with their residents, households, residents of 16 and over,
    sexes and age bands, and the district's sex by single year of age and household sizes. The
    128 output areas are made by `model_output_areas`; their codes (``E01013788-01``) are no ONS
    codes. Inside an LSOA every output area has the same composition.

    Returns
    -------
    OutputAreas
        128 areas with 34,295 adults.

    Examples
    --------
    >>> areas = default_output_areas()
    >>> areas.lookup.loc["E01013788-01"].tolist()
    ['E01013788', 'E02002863', 'E06000017']
    >>> round(areas.adults.to_numpy().sum())
    34295
    """
    modelled = _read("output_areas").set_index("OA")
    lookup = modelled[["LSOA", "MSOA", "LAD"]]
    composition = _composition(_read("lsoas").set_index("LSOA"), _read("sex_by_age"))
    grown = modelled["residents_16_plus"].to_numpy()[:, None]
    adults = pd.DataFrame(
        grown * composition.loc[lookup["LSOA"]].to_numpy(),
        index=modelled.index,
        columns=ADULT_COLUMNS,
    )
    households = modelled[["households_1", "households_2", "households_3_plus"]]
    large = modelled["people_3_plus"] / modelled["households_3_plus"]
    return OutputAreas(lookup, adults, households.set_axis(SIZES, axis=1), _PROVENANCE, large)


_PROVENANCE = (
    "Census 2021, Rutland: LSOA and MSOA figures published (TS001, TS008, TS041, an ONS custom "
    "dataset of ages), district sex by age TS009 and household sizes TS017; the 128 output areas "
    "inside the LSOAs are modelled and their codes are not official. " + ATTRIBUTION
)


def model_output_areas(
    lsoas: pd.DataFrame,
    household_sizes: pd.Series,
    *,
    speakers: int = 22024,
    size_biased_mean: float = 213.0,
    seed: int = 2021,
) -> pd.DataFrame:
    """Divide LSOAs into output areas whose sizes vary as much as real ones do.

    Parameters
    ----------
    lsoas
        Published figures, index ``LSOA``; columns ``MSOA``, ``LAD``, ``output_areas`` (how many),
        ``residents``, ``residents_16_plus``, ``in_households`` (people) and ``households``.
    household_sizes
        The district's households by size, index ``"1"`` to ``"7"``, ``"8+"``.
    speakers, size_biased_mean
        The spread to reach: dealt to the areas in proportion to adults, this many speakers meet
        on average this many speakers of their own area, themselves included. 213 is what the
        assignment published with the side-information paper has.
    seed
        Seed of the sizes.

    Returns
    -------
    pandas.DataFrame
        One row an output area: ``OA``, ``LSOA``, ``MSOA``, ``LAD``, ``residents_16_plus``,
        ``households_1``, ``households_2``, ``households_3_plus``, ``people_3_plus``; whole
        numbers whose sums over an LSOA are its adults and its households.

    Notes
    -----
    An area has the adults of 100 residents plus a log-normal share of the LSOA's other adults.
    Sizes with coefficient of variation c over k areas have the size-biased mean
    ``speakers / k * (1 + c ** 2)``, which fixes the log-normal's spread. Households are divided
    in proportion to adults. Their sizes in an LSOA are the district's, tilted exponentially to
    the LSOA's people per household.

    Examples
    --------
    >>> lsoas = pd.DataFrame(
    ...     {"MSOA": "M", "LAD": "D", "output_areas": 3, "residents": 900, "in_households": 880,
    ...      "residents_16_plus": 700, "households": 400}, index=pd.Index(["L"], name="LSOA"))
    >>> sizes = pd.Series({"1": 30, "2": 40, "3": 20, "4": 10})
    >>> areas = model_output_areas(lsoas, sizes, speakers=700, size_biased_mean=260)
    >>> int(areas.residents_16_plus.sum()), round(float((areas.residents_16_plus**2).sum() / 700))
    (700, 260)
    """
    count = lsoas["output_areas"].to_numpy()
    inside = np.repeat(np.arange(len(lsoas)), count)
    draws = stream(seed, "modelled output areas").standard_normal(len(inside))
    wanted = size_biased_mean * len(inside) / speakers - 1

    def excess(spread: float) -> float:
        sizes = _sizes(lsoas, inside, draws, spread)
        return (sizes.std() / sizes.mean()) ** 2 - wanted

    sizes = _sizes(lsoas, inside, draws, _root(excess, 0.0, 5.0))
    parts = [
        _divide(lsoas.iloc[at], str(lsoas.index[at]), household_sizes, sizes[inside == at])
        for at in range(len(lsoas))
    ]
    return pd.concat(parts, ignore_index=True)


def _sizes(lsoas: pd.DataFrame, inside: np.ndarray, draws: np.ndarray, spread: float) -> np.ndarray:
    """Adults of each output area, not yet whole numbers."""
    adults = lsoas["residents_16_plus"].to_numpy(dtype=float)
    least = SMALLEST * adults / lsoas["residents"].to_numpy()
    weights = np.exp(spread * draws)
    shares = weights / np.bincount(inside, weights)[inside]
    rest = adults - least * lsoas["output_areas"].to_numpy()
    return least[inside] + shares * rest[inside]


def _root(function: Callable[[float], float], low: float, high: float) -> float:
    """Where an increasing function is 0, by bisection: the same digits on every machine."""
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if function(middle) < 0 else (low, middle)
    return low


def _divide(
    lsoa: pd.Series, code: str, household_sizes: pd.Series, sizes: np.ndarray
) -> pd.DataFrame:
    """One LSOA's output areas, in whole numbers."""
    adults = largest_remainder(int(lsoa["residents_16_plus"]), sizes)
    people = np.array([int(size.rstrip("+")) for size in household_sizes.index])
    shares = _tilted(household_sizes.to_numpy(), people, lsoa["in_households"] / lsoa["households"])
    classes = [people == 1, people == 2, people >= 3]
    totals = largest_remainder(
        int(lsoa["households"]), np.array([shares[at].sum() for at in classes])
    )
    one, two, more = (largest_remainder(total, adults) for total in totals)
    mean_of_more = shares[classes[2]] @ people[classes[2]] / shares[classes[2]].sum()
    return pd.DataFrame(
        {
            "OA": [f"{code}-{number:02d}" for number in range(1, len(sizes) + 1)],
            "LSOA": code,
            "MSOA": lsoa["MSOA"],
            "LAD": lsoa["LAD"],
            "residents_16_plus": adults,
            "households_1": one,
            "households_2": two,
            "households_3_plus": more,
            "people_3_plus": largest_remainder(round(mean_of_more * totals[2]), more),
        }
    )


def _tilted(counts: np.ndarray, people: np.ndarray, mean: float) -> np.ndarray:
    """Return the shares proportional to ``counts * exp(tilt * people)`` that have the mean."""

    def shares(tilt: float) -> np.ndarray:
        weights = counts * np.exp(tilt * (people - people.mean()))
        return weights / weights.sum()

    return shares(_root(lambda tilt: shares(tilt) @ people - mean, -5.0, 5.0))


def _composition(lsoas: pd.DataFrame, sex_by_age: pd.DataFrame) -> pd.DataFrame:
    """Shares of each LSOA's adults by sex and age: the district's, fitted to its own margins."""
    years = sex_by_age[["female", "male"]].to_numpy(dtype=float).T
    single = [_ages(age) for age in sex_by_age["age"]]
    seed = np.stack([regroup(single, sex, sex, "sex_by_age.csv") for sex in years])
    columns = [name for name in lsoas if name.startswith("age_")]
    bands = [_ages(name) for name in columns]
    ages = regroup(bands, lsoas[columns].to_numpy(dtype=float), years.sum(axis=0), "lsoas.csv")
    sexes = lsoas[["female", "male"]].to_numpy(dtype=float)
    sexes *= (ages.sum(axis=1) / sexes.sum(axis=1))[:, None]
    fitted = fit_margins(np.broadcast_to(seed, (len(lsoas), *seed.shape)), sexes, ages)
    grown = fitted[:, :, 1:].reshape(len(lsoas), -1)
    return pd.DataFrame(grown / grown.sum(axis=1, keepdims=True), lsoas.index, ADULT_COLUMNS)


def _ages(name: str) -> Range:
    """The ages of ``"age_16_24"``, ``"age_65_plus"``, ``"7"`` or ``"90+"``."""
    low, *high = name.removeprefix("age_").replace("+", "_plus").split("_")
    last = high[0] if high else low
    return Range(int(low), np.inf if last == "plus" else int(last))


def _read(name: str) -> pd.DataFrame:
    path = shipped("data", f"census_rutland_default/{name}.csv")
    return pd.read_csv(path, dtype={"age": str, "size": str})
