"""The shipped default: published down to LSOAs, modelled below, the same bytes every time."""

import numpy as np
import pandas as pd
import pytest

from voiceprivacy.apportionment import largest_remainder
from voiceprivacy.census import default_output_areas, model_output_areas
from voiceprivacy.census.codes import level_of
from voiceprivacy.paths import shipped

FOLDER = shipped("data", "census_rutland_default")


def shipped_table(name, index):
    return pd.read_csv(FOLDER / f"{name}.csv", index_col=index, dtype={index: str})


LSOAS = shipped_table("lsoas", "LSOA")
MSOAS = shipped_table("msoas", "MSOA")
SIZES = shipped_table("household_sizes", "size")["households"]


class TestPublishedFigures:
    """Census 2021 figures of Rutland: TS001, TS041, TS007, TS009, TS017."""

    def test_msoas(self):
        assert MSOAS["residents"].tolist() == [8950, 8281, 7870, 7479, 8471]
        assert MSOAS["households"].tolist() == [2875, 3553, 3502, 3200, 3564]
        assert MSOAS["residents_16_plus"].tolist() == [7648, 6780, 6583, 6232, 7042]
        assert MSOAS["output_areas"].tolist() == [25, 26, 26, 23, 28]

    def test_lsoas(self):
        columns = ["residents", "households", "residents_16_plus"]
        assert LSOAS.loc["E01013788", columns].tolist() == [3648, 1085, 2999]
        assert LSOAS.loc["E01035106", columns].tolist() == [1260, 652, 1118]
        assert LSOAS.loc["E01013808", columns].tolist() == [1614, 745, 1305]
        assert len(LSOAS) == 26
        assert LSOAS["output_areas"].sum() == 128

    def test_lsoas_add_up_to_their_msoas_but_for_disclosure_control(self):
        sums = LSOAS.groupby("MSOA")[["residents", "households", "residents_16_plus"]].sum()
        np.testing.assert_allclose(sums, MSOAS.loc[sums.index, sums.columns], rtol=0.003)
        ages = LSOAS.filter(like="age_")
        assert (ages.sum(axis=1) - LSOAS["residents"]).abs().max() <= 5
        assert (ages.iloc[:, 1:].sum(axis=1) == LSOAS["residents_16_plus"]).all()

    def test_district(self):
        people = shipped_table("sex_by_age", "age")
        assert len(people) == 91
        assert people.sum().tolist() == [19979, 21072]
        assert people.iloc[18:].sum().tolist() == [16197, 16768]
        assert people.iloc[20:].sum().tolist() == [15845, 16294]
        assert SIZES.tolist() == [4780, 6817, 2351, 2005, 588, 129, 34, 10]

    def test_official_extracts(self, shared_data):
        folder = shared_data("census2021_rutland")
        for table, column, mine in (("ts001", 3, "residents"), ("ts041", 3, "households")):
            for level, shipped_figures in (("lsoa", LSOAS), ("msoa", MSOAS)):
                official = pd.read_csv(folder / f"census2021-{table}-{level}.csv")
                official = official.set_index("geography code").iloc[:, column - 1]
                assert official.to_dict() == shipped_figures[mine].to_dict()


class TestModelledAreas:
    def test_the_shipped_file_is_made_again_byte_for_byte(self, tmp_path):
        model_output_areas(LSOAS, SIZES).to_csv(
            tmp_path / "again.csv", index=False, lineterminator="\n"
        )
        assert (tmp_path / "again.csv").read_bytes() == (FOLDER / "output_areas.csv").read_bytes()

    def test_sums_are_the_lsoas_own(self):
        areas = model_output_areas(LSOAS, SIZES)
        households = areas.filter(like="households_").sum(axis=1).groupby(areas["LSOA"]).sum()
        adults = areas.groupby("LSOA")["residents_16_plus"].sum()
        assert households.to_dict() == LSOAS["households"].to_dict()
        assert adults.to_dict() == LSOAS["residents_16_plus"].to_dict()
        assert areas.groupby("LSOA").size().to_dict() == LSOAS["output_areas"].to_dict()

    def test_people_per_household_are_the_lsoas_own(self):
        areas = model_output_areas(LSOAS, SIZES)
        people = areas["households_1"] + 2 * areas["households_2"] + areas["people_3_plus"]
        np.testing.assert_allclose(
            people.groupby(areas["LSOA"]).sum(), LSOAS["in_households"].sort_index(), rtol=0.002
        )
        assert (areas["people_3_plus"] >= 3 * areas["households_3_plus"]).all()

    def test_size_biased_mean_of_22024_speakers(self):
        areas = default_output_areas()
        quotas = largest_remainder(22024, areas.adults.sum(axis=1).to_numpy())
        assert (quotas**2).sum() / 22024 == pytest.approx(213, abs=0.5)
        assert quotas.std() / quotas.mean() == pytest.approx(
            np.sqrt(213 * 128 / 22024 - 1), abs=2e-3
        )

    def test_no_area_is_below_the_threshold_of_100_residents(self):
        areas = model_output_areas(LSOAS, SIZES)
        share = (LSOAS["residents_16_plus"] / LSOAS["residents"]).loc[areas["LSOA"]].to_numpy()
        assert (areas["residents_16_plus"] + 1 >= 100 * share).all()

    def test_the_seed_changes_the_sizes_only(self):
        one, other = model_output_areas(LSOAS, SIZES), model_output_areas(LSOAS, SIZES, seed=1)
        assert one["OA"].equals(other["OA"])
        assert not one["residents_16_plus"].equals(other["residents_16_plus"])

    def test_codes_are_not_official(self):
        areas = default_output_areas()
        assert all(level_of(code) is None for code in areas.lookup.index)
        assert all(level_of(code) == "LSOA" for code in areas.lookup["LSOA"])


class TestDefault:
    def test_shape_and_nesting(self):
        areas = default_output_areas()
        assert len(areas) == 128
        assert areas.lookup.nunique().tolist() == [26, 5, 1]
        assert areas.adults.to_numpy().sum() == pytest.approx(34295)

    def test_sexes_and_ages_are_the_districts(self):
        adults = default_output_areas().adults
        people = shipped_table("sex_by_age", "age")
        teens, rest = people.iloc[16:20].sum(), people.iloc[20:].sum()
        assert adults["female"]["teens"].sum() == pytest.approx(teens["female"], rel=0.03)
        assert adults["male"]["teens"].sum() == pytest.approx(teens["male"], rel=0.03)
        for sex in ("female", "male"):
            assert adults[sex].drop(columns="teens").to_numpy().sum() == pytest.approx(
                rest[sex], rel=0.005
            )

    def test_lsoas_differ_as_published(self):
        areas = default_output_areas()
        women = areas.adults["female"].sum(axis=1) / areas.adults.sum(axis=1)
        by_lsoa = women.groupby(areas.lookup["LSOA"]).agg(["min", "max"])
        np.testing.assert_allclose(by_lsoa["min"], by_lsoa["max"])
        # The barracks' LSOA has 29 % women, as published for all ages.
        assert by_lsoa["min"].idxmin() == "E01013790"
        assert by_lsoa["min"].min() == pytest.approx(0.293, abs=0.01)

    def test_household_classes_are_near_the_districts(self):
        areas = default_output_areas()
        people = areas.persons_in_households.sum()
        np.testing.assert_allclose(people / people.sum(), [0.127, 0.363, 0.509], atol=0.003)

    def test_provenance_says_what_is_modelled(self):
        said = default_output_areas().provenance
        assert "modelled" in said
        assert (
            "Adapted from data from the Office for National Statistics licensed under the Open "
            "Government Licence v.3.0" in said
        )
