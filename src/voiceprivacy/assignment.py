"""Semi-synthetic geography: census areas and households dealt to the speakers of a corpus.

Quotas of the output areas, cell targets, dealing, households: the four steps of section III-B
of "The Impact of Side Information on Voice Privacy". No step looks at the voice.
"""

from collections.abc import Collection

import numpy as np
import pandas as pd

from voiceprivacy.apportionment import fitted_table, largest_remainder, rounded_table
from voiceprivacy.census import OutputAreas
from voiceprivacy.errors import VoicePrivacyError, listed
from voiceprivacy.geolocation import COLUMNS, read_geolocation, write_geolocation
from voiceprivacy.households import (
    RULES,
    class_quotas,
    class_shares,
    household_class,
    household_sizes,
    mean_larger_size,
)
from voiceprivacy.randomness import stream
from voiceprivacy.speakers import checked_speakers

CONSTRAINTS = ("gender", "age")

__all__ = ["CONSTRAINTS", "assign", "cell_targets", "read_geolocation", "write_geolocation"]


def assign(
    speakers: pd.DataFrame,
    areas: OutputAreas,
    *,
    constraints: Collection[str] = CONSTRAINTS,
    households: str = "census",
    seed: int = 0,
) -> pd.DataFrame:
    """Give every speaker an output area, with its LSOA, MSOA and LAD, and a household in it.

    Parameters
    ----------
    speakers
        One row a speaker: `speaker`, `gender`, `age` (see `checked_speakers`).
    areas
        Output areas with their adults and households.
    constraints
        Which of ``"gender"`` and ``"age"`` the areas' census composition constrains; none of
        them: areas get their number of speakers only.
    households
        ``"census"``: classes by the area's own shares of people, members at random.
        ``"as_published"``: the rule behind the paper's published file. Classes by the MSOA's
        shares in it, and members not at random: an area's women first, into single households,
        then pairs, then larger ones, the men after them. ``"published_shares"``: those shares,
        but members at random.
    seed
        Non-negative. The same seed gives the same table whatever the order of the rows.

    Returns
    -------
    pandas.DataFrame
        One row a speaker, by area and household: `spk_id`, `gender`, `household_id`
        (``<OA>_HH000001``, ...), `hh_size` (speakers in the household), `OA`, `LSOA`, `MSOA`,
        `LAD` and `HH` (HH1, HH2 or HH3+, from `hh_size`).

    Raises
    ------
    VoicePrivacyError
        If the speakers are refused, no area has adults, or an option is not known.

    See Also
    --------
    cell_targets : how many speakers of each gender and age an area should have.

    Notes
    -----
    The paper asks for areas to match the census "in distribution" and leaves the procedure to
    its repository. Here every quota and cell is a rounded target, so that nothing about how
    many speakers an area gets is left to chance; the seed decides only who they are (and, under
    the published shares, the sizes of households above two).

    The class of a household is the number of speakers in it, so its quotas are whole
    households: see `voiceprivacy.households.class_quotas`. The published file departs from the
    text: its areas were filled by gender alone, its class shares are not the census's (65 % of
    its speakers are in pairs), and its women are in small households and its men in large ones.
    ``"as_published"`` takes over the shares and the order, ``"published_shares"`` the shares only,
    so that the effect of each can be measured.

    Examples
    --------
    >>> from voiceprivacy.census import default_output_areas
    >>> who = pd.DataFrame({"speaker": [f"{i:04d}" for i in range(500)], "gender": "f", "age": ""})
    >>> assigned = assign(who, default_output_areas(), seed=1)
    >>> len(assigned), assigned["OA"].nunique(), assigned["LAD"].unique().tolist()
    (500, 128, ['E06000017'])
    """
    constraints = _known_constraints(constraints)
    if households not in RULES:
        raise VoicePrivacyError(f"no household rule {households!r}; there are {listed(RULES)}.")
    required = {*constraints, "gender"} if households == "as_published" else constraints
    speakers = checked_speakers(speakers, required)
    # Sorted, so that neither the order of the speakers nor that of the areas matters.
    speakers = speakers.sort_values("speaker", ignore_index=True)
    targets = cell_targets(speakers, areas, constraints)
    area = _dealt(_cells(speakers, constraints), targets, seed)
    table = _housed(speakers, area, areas, households, seed)
    return table.join(areas.lookup[["LSOA", "MSOA", "LAD"]], on="OA")[list(COLUMNS)]


def _known_constraints(constraints: Collection[str]) -> tuple[str, ...]:
    if isinstance(constraints, str) or not set(constraints) <= set(CONSTRAINTS):
        raise VoicePrivacyError(
            f"constraints are {constraints!r}; expected a tuple with any of {listed(CONSTRAINTS)}, "
            "or () for none."
        )
    return tuple(name for name in CONSTRAINTS if name in constraints)


def cell_targets(
    speakers: pd.DataFrame, areas: OutputAreas, constraints: Collection[str] = CONSTRAINTS
) -> pd.DataFrame:
    """Return how many speakers of each gender and age group each area should have.

    The areas' quotas are proportional to their adults, by largest remainder. Their census
    composition is then fitted to both margins: the quotas, and the corpus's own number of
    speakers in each cell.

    Parameters
    ----------
    speakers
        From `checked_speakers`.
    areas
        Output areas with their adults.
    constraints
        Which of ``"gender"`` and ``"age"`` count; the other is ``""`` in every cell.

    Returns
    -------
    pandas.DataFrame
        Real numbers of speakers. Index OA, in order of code, every area; columns (gender, age),
        the cells that the corpus has. Rows sum to the quotas, columns to the corpus's counts.

    Notes
    -----
    A speaker of unknown gender or age belongs to a cell with ``""`` there, whose census
    composition is the sum over what is not known: with neither known they are in proportion to
    the adults. A cell that the census has nowhere, such as teens where adults start at 20,
    follows all ages of its gender (or all adults).
    """
    adults = areas.adults.sort_index()
    if not adults.to_numpy().sum() > 0:
        raise VoicePrivacyError(
            f"none of the {len(adults)} output areas has adults, so speakers cannot be shared "
            "among them in proportion; check the table of adults by sex and age."
        )
    quotas = largest_remainder(len(speakers), adults.sum(axis=1).to_numpy())
    counts = _cells(speakers, constraints).value_counts().sort_index()
    start = np.column_stack([_census_cell(adults, *cell) for cell in counts.index])
    fitted = fitted_table(start, quotas, counts.to_numpy())
    return pd.DataFrame(fitted, index=adults.index, columns=counts.index)


def _cells(speakers: pd.DataFrame, constraints: Collection[str]) -> pd.DataFrame:
    """Gender and age of each speaker as far as they are constrained, else empty."""
    return pd.DataFrame(
        {name: speakers[name] if name in constraints else "" for name in CONSTRAINTS},
        index=speakers.index,
        dtype=str,
    )


def _census_cell(adults: pd.DataFrame, gender: str, age: str) -> np.ndarray:
    """Adults of each area who may be of this gender and age."""
    people = adults.to_numpy(dtype=float)
    genders, ages = (adults.columns.get_level_values(level) for level in (0, 1))
    of_gender = (genders == gender) | (gender == "")
    # An unknown age, like one that the census lacks, leaves every age of the gender.
    for compatible in (of_gender & (ages == age), of_gender):
        if people[:, compatible].any():
            return people[:, compatible].sum(axis=1)
    return people.sum(axis=1)


def _dealt(cells: pd.DataFrame, targets: pd.DataFrame, seed: int) -> np.ndarray:
    """Deal each cell's speakers, shuffled, to the areas; return the row of everyone's area."""
    cell = targets.columns.get_indexer(pd.MultiIndex.from_frame(cells))
    quotas = np.rint(targets.sum(axis=1)).astype(np.int64)
    dealt = rounded_table(targets.to_numpy(), quotas, np.bincount(cell))
    shuffled = np.lexsort((stream(seed, "deal").random(len(cell)), cell))
    area = np.empty(len(cell), dtype=np.int64)
    area[shuffled] = np.repeat(np.tile(np.arange(len(dealt)), dealt.shape[1]), dealt.T.ravel())
    return area


def _housed(
    speakers: pd.DataFrame, area: np.ndarray, areas: OutputAreas, rule: str, seed: int
) -> pd.DataFrame:
    """Fill each area's households with its speakers."""
    shares = class_shares(areas, rule).sort_index()
    codes = shares.index.to_numpy(dtype=str)
    quotas = class_quotas(np.bincount(area, minlength=len(codes)), shares.to_numpy())
    sizes = household_sizes(quotas, mean_larger_size(areas).reindex(codes), rule, seed)
    number = [f"_HH{k:06d}" for households in sizes for k in range(1, len(households) + 1)]
    home = np.repeat(codes, [len(households) for households in sizes])
    size = np.concatenate(sizes)

    turn = speakers["gender"].map({"female": 0, "male": 1, "": 2}) if rule == "as_published" else 0
    turn = np.broadcast_to(turn, len(area))
    order = np.lexsort((stream(seed, "household members").random(len(area)), turn, area))
    table = pd.DataFrame(
        {
            "spk_id": speakers["speaker"].to_numpy()[order],
            "gender": speakers["gender"].to_numpy()[order],
            "household_id": np.repeat(home + np.array(number, dtype=str), size),
            "hh_size": np.repeat(size, size),
            "OA": np.repeat(home, size),
        }
    )
    return table.assign(HH=household_class(table["hh_size"]))
