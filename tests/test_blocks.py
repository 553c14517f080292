"""Block sizes from counts alone, against enumeration, closed forms and drawn sets."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import hypergeom

from voiceprivacy.blocks import expected_blocks
from voiceprivacy.candidates import Candidates
from voiceprivacy.errors import VoicePrivacyError
from voiceprivacy.reference import chance_level, conditional_reference
from voiceprivacy.side_information import encode


def geography(areas, classes="uvw"):
    """One speaker for each letter of `areas`, classes in turn."""
    table = pd.DataFrame({"OA": list(areas)}, index=[f"s{i:04d}" for i in range(len(areas))])
    return table.assign(HH=[classes[i % len(classes)] for i in range(len(areas))])


def test_means_and_spread_equal_enumeration():
    table = geography("aaabbc")[["OA"]]
    found = expected_blocks(table, [4], targets=7, draws=2).set_index("level").loc["OA"]
    values = {}
    for target, own in enumerate(table["OA"]):
        others = [i for i in range(6) if i != target]
        values[target] = np.array(
            [1 + sum(table["OA"].iloc[i] == own for i in s) for s in combinations(others, 3)]
        )
    for name, level in (
        ("block_size", lambda n: n.astype(float)),
        ("reference", conditional_reference),
        ("chance", chance_level),
    ):
        each = [level(n) for n in values.values()]
        means = np.array([v.mean() for v in each])
        variance = means.var() + np.mean([v.var() for v in each]) / 2
        half = 1.959964 * np.sqrt(variance / 7)
        assert found[name] == pytest.approx(means.mean(), rel=1e-9)
        assert found[f"{name}_low"] == pytest.approx(means.mean() - half, rel=1e-6)
        assert found[f"{name}_high"] == pytest.approx(means.mean() + half, rel=1e-6)


def test_levels_nest_and_groups_average_their_own_targets():
    table = geography("aaaabbbbbc", classes="uuv")
    split = expected_blocks(table, [10], by="HH").set_index(["HH", "level"])["block_size"]
    cells = table.groupby(["OA", "HH"])["HH"].transform("size")
    for value in "uv":
        of = (table["HH"] == value).to_numpy()
        assert split[value, "HH"] == pytest.approx(cells[of].mean())
        assert split[value, "OA"] == pytest.approx(
            table.groupby("OA").OA.transform("size")[of].mean()
        )
        assert split[value, "signal only"] == pytest.approx(10)


def test_the_papers_scale_agrees_with_closed_form_and_library():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"OA": rng.integers(128, size=22024).astype(str)}).rename(str)
    sharing = table.groupby("OA")["OA"].transform("size").to_numpy()
    found = expected_blocks(table, [30, 12800, 22024]).set_index(["level", "n_speakers"])
    block, (members, count) = (
        np.arange(1, sharing.max() + 1),
        np.unique(sharing, return_counts=True),
    )
    for size in (30, 12800, 22024):
        row = found.loc["OA", size]
        assert row.block_size == pytest.approx(1 + (size - 1) * (sharing.mean() - 1) / 22023)
        chance = hypergeom.pmf(block - 1, 22023, members[:, None] - 1, size - 1)
        for name, level in (("reference", conditional_reference), ("chance", chance_level)):
            mean = np.average(chance @ level(block), weights=count)
            assert row[name] == pytest.approx(mean, rel=1e-7)


def test_a_study_of_drawn_sets_falls_into_its_range():
    table = geography("aabbbccccddddd" * 20)[["OA"]]
    expected = (
        expected_blocks(table, [60], targets=len(table), draws=4).set_index("level").loc["OA"]
    )
    codes, _ = encode(table, table.index.to_numpy())
    sets = Candidates(
        speakers=table.index.to_numpy(),
        own=np.arange(len(table)),
        codes=codes,
        largest=60,
        draws=4,
        known_fractions=(1.0,),
        always_known=False,
        seed=1,
    )
    area = codes[:, 0]
    blocks = [(area[sets.order(t)] == area[t]).sum(axis=1).mean() for t in range(len(table))]
    assert expected.block_size_low < np.mean(blocks) < expected.block_size_high


@pytest.mark.parametrize(
    ("table", "sizes", "by", "message"),
    [
        (geography("aab").replace("b", None), [2], None, "columns 'OA' have missing values"),
        (geography("aab").replace("u", ""), [2], None, "columns 'HH' have missing values"),
        (geography("aab"), [2, 4], None, "N = 4 cannot be drawn from 3 speakers"),
        (geography("aab"), [2], "town", "by is 'town'; expected one of 'OA', 'HH'"),
    ],
)
def test_bad_input_is_refused(table, sizes, by, message):
    with pytest.raises(VoicePrivacyError, match=message):
        expected_blocks(table, sizes, by=by)
