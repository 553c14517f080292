"""A small made-up data set in the formats that one's own may have."""

import os
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from voiceprivacy.embeddings import write_embeddings
from voiceprivacy.files import written_whole
from voiceprivacy.randomness import stream
from voiceprivacy.simulation import PRESETS, simulate

TOWNS = {"Alderford": 0.4, "Brackwater": 0.3, "Cold Hinton": 0.2, "Dunmarsh": 0.1}
DISTRICTS = ("North", "South", "Harbour", 'St Mary, "Old Town"', "Station")
OCCUPATIONS = {
    "student": 0.2, "office": 0.2, "sales": 0.15, "care": 0.12, "craft": 0.12, "teaching": 0.1,
    "transport": 0.07, "": 0.03, "fishing": 0.01,
}  # fmt: skip


class Example(NamedTuple):
    """Where an example's files are."""

    pool: Path
    """npz: ten released utterances of every speaker."""
    enrolment: Path
    """parquet: ten utterances of every speaker that the attacker holds."""
    side_information: Path
    """CSV: town, district and occupation of every speaker."""
    hdf5: Path
    """The enrolment once more, in SIDEKIT's format; ``spk2utt`` lies beside it."""


def write_example(folder: str | os.PathLike, n_speakers: int = 400, *, seed: int = 0) -> Example:
    """Write simulated embeddings and a table of quasi-identifiers.

    Parameters
    ----------
    folder
        Where the files go; those of an earlier example are replaced.
    n_speakers
        Speakers ``0001``, ``0002``... with voices as the informed attacker hears them.
    seed
        Seed of voices and table.

    Examples
    --------
    >>> import tempfile
    >>> write_example(tempfile.mkdtemp(), n_speakers=3).side_information.name
    'people.csv'
    """
    folder = Path(folder)
    example = Example(
        folder / "pool.npz",
        folder / "enrolment.parquet",
        folder / "people.csv",
        folder / "hdf5" / "enrolment.h5",
    )
    people = _people(n_speakers, seed)
    pool, enrolment = simulate(
        PRESETS["informed"], people[["speaker"]], targets=people["speaker"], seed=seed
    )
    write_embeddings(pool, example.pool)
    write_embeddings(enrolment, example.enrolment)
    write_embeddings(enrolment, example.hdf5)
    with written_whole(example.side_information) as temporary:
        people.to_csv(temporary, index=False, lineterminator="\n")
    return example


def _people(n: int, seed: int) -> pd.DataFrame:
    """Speakers and their quasi-identifiers; a blank occupation is an unknown one."""
    rng = stream(seed, "quasi-identifiers")
    columns = {
        "town": rng.choice(list(TOWNS), n, p=list(TOWNS.values())),
        "district": np.array(DISTRICTS)[rng.integers(len(DISTRICTS), size=n)],
        "occupation": rng.choice(list(OCCUPATIONS), n, p=list(OCCUPATIONS.values())),
    }
    return pd.DataFrame({"speaker": [f"{i:04d}" for i in range(1, n + 1)], **columns})
