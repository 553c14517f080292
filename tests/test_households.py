import numpy as np
import pandas as pd
import pytest
from plain_assignment import small_areas

from voiceprivacy.households import (
    PUBLISHED_LARGER,
    PUBLISHED_SPEAKERS,
    RULES,
    class_quotas,
    class_shares,
    household_class,
    household_sizes,
    mean_larger_size,
)


def areas_with(households, larger=3.5):
    return small_areas({("female", "teens"): [1.0] * len(households)}, households, larger)


class TestShares:
    def test_people_not_households(self):
        # 10 alone, 10 pairs, 2 households of five people: 10, 20 and 10 people.
        shares = class_shares(areas_with([[10, 10, 2]], larger=5.0))
        assert shares.loc["A0"].tolist() == [0.25, 0.5, 0.25]

    def test_without_households_the_msoa_stands_in_then_all_areas(self):
        # A0 to A3 are one MSOA, A4 to A7 another, A8 a third without any household.
        homes = [[0, 0, 0], [2, 1, 0], [2, 1, 0], [0, 0, 0], *[[0, 1, 0]] * 4, [0, 0, 0]]
        shares = class_shares(areas_with(homes))
        assert shares.loc["A0"].tolist() == [0.5, 0.5, 0.0]
        assert shares.loc["A8"].tolist() == pytest.approx([4 / 16, 12 / 16, 0])
        assert (shares.sum(axis=1) == 1).all()

    def test_no_household_anywhere(self):
        assert class_shares(areas_with([[0, 0, 0]])).loc["A0"].tolist() == pytest.approx(
            [1 / 3] * 3
        )

    def test_published_rule_uses_the_msoa(self):
        shares = class_shares(areas_with([[4, 0, 0], [0, 2, 0]]), "as_published")
        assert (shares == [0.5, 0.5, 0.0]).all(axis=None)

    def test_published_rule_has_the_files_own_shares_in_its_five_msoas(self):
        areas = areas_with([[4, 0, 0]])
        areas.lookup["MSOA"] = "E02002863"
        shares = class_shares(areas, "as_published").loc["A0"]
        assert shares.tolist() == pytest.approx([725 / 4955, 3404 / 4955, 826 / 4955])
        assert sum(map(sum, PUBLISHED_SPEAKERS.values())) == 22024

    def test_mean_size_of_larger_households(self):
        sizes = mean_larger_size(
            areas_with([[1, 1, 4], [1, 1, 0]], larger=pd.Series([3.25, 9.0], ["A0", "A1"]))
        )
        assert sizes.tolist() == [3.25, 3.25]
        assert mean_larger_size(areas_with([[1, 1, 0]])).tolist() == [3.0]


class TestQuotas:
    @pytest.mark.parametrize("spread", [0.15, 0.5, 2.0])
    def test_no_other_whole_households_are_nearer(self, spread):
        rng = np.random.default_rng(0)
        counts = rng.integers(0, 14, 1500)
        shares = rng.dirichlet([spread] * 3, 1500)
        shares[::3, 0] = 0.0
        shares = (shares + 1e-12) / (shares + 1e-12).sum(axis=1, keepdims=True)
        quotas = class_quotas(counts, shares)
        for count, share, found in zip(counts, shares, quotas, strict=True):
            exact = count * share
            least = min(
                np.square([count - two - large, two, large] - exact).sum()
                for two in range(0, count + 1, 2)
                for large in [0, *range(3, count - two + 1)]
            )
            assert np.square(found - exact).sum() == pytest.approx(least)

    def test_bounds_and_whole_households(self):
        rng = np.random.default_rng(3)
        counts, shares = rng.integers(0, 400, 5000), rng.dirichlet([1, 2, 1], 5000)
        quotas = class_quotas(counts, shares)
        error = np.abs(quotas - counts[:, None] * shares)
        roomy = counts * shares[:, 2] >= 3
        assert (quotas >= 0).all()
        assert (quotas.sum(axis=1) == counts).all()
        assert (quotas[:, 1] % 2 == 0).all()
        assert not np.isin(quotas[:, 2], (1, 2)).any()
        assert error[roomy].max() < 1
        assert error.max() < 2.5

    def test_a_single_speaker_lives_alone(self):
        assert class_quotas(np.array([1]), np.array([[0.1, 0.4, 0.5]])).tolist() == [[1, 0, 0]]


class TestSizes:
    def test_classes(self):
        assert household_class(pd.Series([3, 1, 2, 8])).tolist() == ["HH3+", "HH1", "HH2", "HH3+"]

    def test_census_rule_by_hand(self):
        # 14 people at 4.5 to a household: three households; 3 people are one household.
        sizes = household_sizes(np.array([[2, 4, 14], [0, 0, 3]]), [4.5, 4.5], "census", 0)
        assert sizes[0].tolist() == [1, 1, 2, 2, 5, 5, 4]
        assert sizes[1].tolist() == [3]

    @pytest.mark.parametrize("rule", RULES)
    @pytest.mark.parametrize("people", [0, *range(3, 40)])
    def test_larger_households_hold_everybody(self, rule, people):
        (sizes,) = household_sizes(np.array([[0, 0, people]]), [3.4], rule, 1)
        assert sizes.sum() == people
        assert (sizes >= 3).all()
        assert (np.diff(sizes) <= 0).all()

    def test_published_sizes_are_as_frequent_as_in_the_file(self):
        (sizes,) = household_sizes(np.array([[0, 0, 40000]]), [3.4], "as_published", 1)
        expected = np.array(list(PUBLISHED_LARGER.values())) / 963
        observed = np.bincount(sizes, minlength=8)[3:] / len(sizes)
        np.testing.assert_allclose(observed, expected, atol=0.02)

    def test_seed_decides_the_published_sizes(self):
        quotas = np.array([[0, 0, 60]])
        first, again, other = (
            household_sizes(quotas, [3.4], "as_published", seed)[0].tolist() for seed in (1, 1, 2)
        )
        assert first == again != other
