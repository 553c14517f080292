"""Each remark appears when it should, and only then."""

import re

import numpy as np
import pandas as pd
import pytest

from voiceprivacy.cautions import cautions
from voiceprivacy.embeddings import Embeddings
from voiceprivacy.singling_out import isolate


def evaluated(utterances=5, n_speakers=120, towns=3, few=0, strangers=0, sizes=(10,), **options):
    """Evaluate random voices; `few` speakers have two utterances, `strangers` have no row."""
    counts = np.full(n_speakers, utterances)
    counts[:few] = 2
    ids = np.array([f"s{i:03d}" for i in range(n_speakers)])
    rng = np.random.default_rng(0)

    def said(kind, counts):
        speakers = np.repeat(ids, counts)
        names = [f"{kind}{i}" for i in range(len(speakers))]
        return Embeddings(names, speakers, rng.normal(size=(len(speakers), 4)))

    table = pd.DataFrame({"town": (np.arange(n_speakers) % towns).astype(str)}, index=ids)
    side = table.iloc[strangers:]
    enrolled = np.ones(n_speakers, int)
    return isolate(
        said("a", counts), said("b", enrolled), sizes=sizes, targets="all",
        side_information=side, missing="unknown", draws=2, splits=1, **options,
    )  # fmt: skip


def test_nothing_is_remarked_where_nothing_is_odd():
    assert cautions(evaluated()) == []


@pytest.mark.parametrize(
    ("odd", "remark"),
    [
        (
            {"few": 7, "min_conversations": 5},
            "7 of 120 speakers of .* few.*7 enrolled ones among",
        ),
        ({"strangers": 4}, "4 of 120 speakers have no side information"),
        ({"n_speakers": 60}, "only 60 targets"),
        ({"few": 7}, "unequal numbers of calibration conversations"),
        ({"n_calibration": 2}, "With 2 calibration conversations"),
        ({"sizes": (10, 120)}, "N = 120 are all eligible speakers: there the 2 draws"),
        ({"towns": 120, "sizes": (2, 9)}, "'town' most targets are alone.*N = 2, 9:"),
    ],
)
def test_each_oddity_is_remarked_once(odd, remark):
    (found,) = cautions(evaluated(**odd))
    assert re.search(remark, found)


def test_enrolled_speakers_who_are_not_in_the_pool_are_remarked():
    rng = np.random.default_rng(0)
    ids = np.array([f"s{i:03d}" for i in range(120)])
    speakers = np.repeat(ids, 4)
    pool = Embeddings([f"a{i}" for i in range(480)], speakers, rng.normal(size=(480, 4)))
    known = Embeddings([f"b{i}" for i in range(120)], ids, rng.normal(size=(120, 4)))
    few = pool.select(pool.speakers > "s004")
    remarks = cautions(isolate(few, known, sizes=[10], targets="all"))
    assert remarks[0].startswith("5 enrolled speakers are not in the pool")
