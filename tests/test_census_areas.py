"""From tables to output areas: what is kept exactly, what is estimated, what is refused."""

import numpy as np
import pandas as pd
import pytest
from census_files import (
    COMPOSITIONS,
    DISTRICT,
    HOUSEHOLDS,
    LSOAS,
    MSOA,
    OAS,
    SUBTOTALS,
    api,
    bulk,
    custom,
    lookup,
    people,
    query,
    sex_by_age,
    tables,
    write_district,
)
from click.testing import CliRunner

from voiceprivacy.census import OutputAreas, default_output_areas, read_output_areas
from voiceprivacy.census.ages import AGES, GROUPS, regroup, years_of
from voiceprivacy.census.households import MEAN_LARGE
from voiceprivacy.census.labels import Range
from voiceprivacy.census.population import ADULT_COLUMNS, fit_margins
from voiceprivacy.cli import main
from voiceprivacy.errors import VoicePrivacyError


def by_decade(lived):
    """True adults by sex and age of the made-up district, shape (areas, 18)."""
    ages = np.arange(91)
    parts = [lived[..., (ages >= low) & (ages <= high)].sum(axis=-1) for low, high in AGES.values()]
    return np.stack(parts, axis=-1).reshape(len(lived), -1)


def total_variation(one, other):
    return np.abs(one / one.sum(axis=1, keepdims=True) - other / other.sum(axis=1, keepdims=True))


class TestAges:
    def test_groups_cover_every_age_once(self):
        for age in range(130):
            assert sum(group.low <= age <= group.high for group in GROUPS) == 1

    def test_bands_inside_groups_need_no_single_years(self):
        bands = [Range(0, 15), Range(16, 19), Range(20, 29), Range(30, np.inf)]
        with pytest.raises(VoicePrivacyError, match=r"'30 and over' must be split.*TS009"):
            regroup(bands, np.ones(4), None, "ages.csv")
        counts = regroup([*bands[:3], *GROUPS[3:]], np.arange(1.0, 11), None, "ages.csv")
        assert counts.tolist() == list(range(1, 11))

    def test_a_band_is_split_as_the_single_years_are(self):
        years = np.zeros(91)
        years[15], years[16:20], years[85:90], years[90] = 2, 1, 1, 5
        counts = regroup([Range(15, 19), Range(85, np.inf)], np.array([12.0, 20.0]), years, "t")
        assert counts.tolist() == [4, 8, 0, 0, 0, 0, 0, 0, 10, 10]

    def test_an_empty_band_is_split_evenly(self):
        counts = regroup([Range(15, 19)], np.array([5.0]), np.zeros(91), "t")
        assert counts[:2].tolist() == [1, 4]

    def test_single_years_to_100_end_at_90(self):
        years = [Range(age, age) for age in range(100)] + [Range(100, np.inf)]
        assert years_of(years, np.ones(101)).tolist() == [1] * 90 + [11]
        assert years_of([Range(0, 4), Range(5, 89), Range(90, np.inf)], np.ones(3)) is None


class TestFitMargins:
    def test_both_margins_and_the_odds_ratios_of_the_seed(self):
        seed = np.array([[[10.0, 20, 30], [5, 40, 10]]])
        sexes, ages = np.array([[60.0, 40]]), np.array([[25.0, 50, 25]])
        fitted = fit_margins(seed, sexes, ages)
        np.testing.assert_allclose(fitted.sum(axis=2), sexes, atol=1e-6)
        np.testing.assert_allclose(fitted.sum(axis=1), ages, atol=1e-9)
        odds = fitted[0, 0] * fitted[0, 1, ::-1][::-1] ** -1.0
        np.testing.assert_allclose(odds / odds[0], (seed[0, 0] / seed[0, 1]) / 2.0, rtol=1e-6)

    def test_two_margins_are_children_and_adults(self):
        seed = np.array([[[10.0, 20, 30], [5, 40, 10]]])
        fitted = fit_margins(seed, np.array([[50.0, 50]]), np.array([[20.0, 80]]))
        assert fitted[0, :, 0].sum() == pytest.approx(20)
        assert fitted[0, :, 1:].sum() == pytest.approx(80)
        # Inside the adults of a sex the seed's ages stay.
        assert fitted[0, 0, 2] / fitted[0, 0, 1] == pytest.approx(30 / 20)

    def test_a_cell_that_the_seed_lacks_but_the_margins_need(self):
        fitted = fit_margins(
            np.array([[[0.0, 10], [0, 10]]]), np.array([[5.0, 5]]), np.array([[4.0, 6]])
        )
        np.testing.assert_allclose(fitted[0], [[2, 3], [2, 3]], rtol=1e-5)

    def test_an_area_without_women(self):
        fitted = fit_margins(np.ones((1, 2, 2)), np.array([[0.0, 9]]), np.array([[4.0, 5]]))
        np.testing.assert_allclose(fitted[0], [[0, 0], [4, 5]])


class TestAdults:
    def test_totals_are_residents_of_16_and_over(self, tmp_path):
        areas = read_output_areas(write_district(tmp_path))
        assert list(areas.lookup.index) == OAS
        assert areas.lookup["LSOA"].tolist() == LSOAS
        assert set(areas.lookup["MSOA"]) == {MSOA}
        np.testing.assert_allclose(areas.adults.sum(axis=1), by_decade(people()).sum(axis=1))

    def test_without_ts002_the_share_of_adults_comes_from_the_ages(self, tmp_path):
        areas = read_output_areas(
            write_district(tmp_path, "ts001", "ts007a", "ts008", "ts009", "ts017")
        )
        np.testing.assert_allclose(
            areas.adults.sum(axis=1), by_decade(people()).sum(axis=1), rtol=0.02
        )
        assert "times the share of 16 and over" in areas.provenance

    @pytest.mark.parametrize("single_years", ["ts009", "rm200"])
    def test_the_band_of_15_to_19_is_split_as_in_the_district(self, tmp_path, single_years):
        names = ("ts001", "ts007a", "ts008", single_years, "ts017")
        areas = read_output_areas(write_district(tmp_path, *names))
        lived = people().sum(axis=1)
        share = lived[:, 16:20].sum() / lived[:, 15:20].sum()
        adults = lived[:, 20:].sum(axis=1) + share * lived[:, 15:20].sum(axis=1)
        np.testing.assert_allclose(areas.adults.sum(axis=1), adults)

    def test_without_ts001_the_residents_are_those_of_ts008(self, tmp_path):
        areas = read_output_areas(write_district(tmp_path, "ts007a", "ts008", "ts009", "ts017"))
        assert "residents of census2021-ts008-oa.csv times" in areas.provenance

    def test_sexes_and_ages_of_the_area_are_met(self, tmp_path):
        areas = read_output_areas(write_district(tmp_path))
        true = by_decade(people()).reshape(4, 2, 9)
        fitted = areas.adults.to_numpy().reshape(4, 2, 9)
        # Decades inside TS007A's bands are exact; teens and over 80 are split by the district.
        np.testing.assert_allclose(fitted.sum(axis=1)[:, 1:7], true.sum(axis=1)[:, 1:7], rtol=0.02)
        # TS008 counts children too, whose sexes only the seed tells.
        np.testing.assert_allclose(fitted.sum(axis=2), true.sum(axis=2), rtol=0.1)

    def test_ages_of_the_area_come_nearer_than_the_district(self, tmp_path):
        base = ("ts001", "ts002", "ts008", "ts009", "ts017")
        district = read_output_areas(write_district(tmp_path / "district", *base))
        area = read_output_areas(write_district(tmp_path / "area", *base, "ts007a"))
        assert "no table having ages of smaller areas" in district.provenance
        assert self.distance(area.adults) < 0.7 * self.distance(district.adults)

    def test_rm200_brings_the_lsoas_nearer(self, tmp_path):
        base = ("ts001", "ts002", "ts008", "ts009", "ts017")
        district = read_output_areas(write_district(tmp_path / "district", *base))
        lsoa = read_output_areas(write_district(tmp_path / "lsoa", *base, "rm200"))
        assert "(census2021-rm200-lsoa.csv)" in lsoa.provenance
        assert self.distance(lsoa.adults, LSOAS) < 0.3 * self.distance(district.adults, LSOAS)

    def test_ages_of_larger_areas_do_not_move_the_seed(self, tmp_path):
        base = ("ts001", "ts002", "ts008", "ts009", "ts017", "rm200")
        plain = read_output_areas(write_district(tmp_path, *base))
        msoa = (tables()["ts007a"].groupby([MSOA] * 4).sum() ** 1.1).astype(int)
        (tmp_path / "ages.csv").write_text(bulk(msoa, measures=False))
        areas = read_output_areas(tmp_path)
        assert "no table having ages of smaller areas" in areas.provenance
        pd.testing.assert_frame_equal(areas.adults, plain.adults)

    def distance(self, adults, areas=OAS):
        true = pd.DataFrame(by_decade(people())).groupby(areas).sum().to_numpy()
        return total_variation(adults.groupby(areas).sum().to_numpy(), true).sum()

    def test_sex_by_age_of_output_areas_is_taken_as_it_is(self, tmp_path):
        write_district(tmp_path, "ts001", "ts002", "ts017")
        (tmp_path / "custom.csv").write_text(custom(sex_by_age(people(), OAS)))
        areas = read_output_areas(tmp_path)
        np.testing.assert_allclose(areas.adults.to_numpy(), by_decade(people()))

    def test_ages_of_lsoas_move_the_seed(self, tmp_path):
        write_district(tmp_path, "ts001", "ts002", "ts008", "ts009", "ts017")
        lsoas = tables()["ts007a"].groupby(LSOAS).sum()
        (tmp_path / "ages.csv").write_text(bulk(lsoas, measures=False))
        areas = read_output_areas(tmp_path)
        assert "moved to the ages of lower layer super output areas (ages.csv)" in areas.provenance
        bare = read_output_areas(
            write_district(tmp_path / "bare", "ts001", "ts002", "ts008", "ts009", "ts017")
        )
        assert self.distance(areas.adults) < self.distance(bare.adults)

    def test_more_adults_than_residents_after_disclosure_control(self, tmp_path):
        write_district(tmp_path)
        made = tables()["ts002"].copy()
        made.iloc[0, 0] = people()[0].sum() + 3
        (tmp_path / "census2021-ts002-oa.csv").write_text(bulk(made))
        adults = read_output_areas(tmp_path).adults.iloc[0]
        assert adults.sum() == pytest.approx(people()[0].sum() + 3)
        # No child is left, so the adults have the sexes that TS008 has for everybody.
        share = people()[0, 0].sum() / people()[0].sum()
        assert adults["female"].sum() / adults.sum() == pytest.approx(share)

    def test_two_districts_keep_their_own_ages(self, tmp_path):
        write_district(tmp_path)
        both = lookup()
        both.loc[2:, ["MSOA21CD", "LAD22CD"]] = ["E02002863", "E06000016"]
        both.to_csv(tmp_path / "lookup.csv", index=False)
        halves = np.stack([people()[:2].sum(axis=0), people()[2:].sum(axis=0)])
        ts009 = sex_by_age(halves, [DISTRICT, "E06000016"])
        (tmp_path / "census2021-ts009-ltla.csv").write_text(bulk(ts009))
        areas = read_output_areas(tmp_path)
        only = read_output_areas(tmp_path, DISTRICT)
        assert list(areas.lookup.index) == OAS
        assert list(only.lookup.index) == OAS[:2]
        pd.testing.assert_frame_equal(areas.adults.iloc[:2], only.adults)


class TestHouseholds:
    def test_sizes_from_ts017(self, tmp_path):
        areas = read_output_areas(write_district(tmp_path))
        expected = np.column_stack([HOUSEHOLDS[:, 1], HOUSEHOLDS[:, 2], HOUSEHOLDS[:, 3:].sum(1)])
        np.testing.assert_array_equal(areas.households, expected)
        living = areas.persons_in_households
        np.testing.assert_allclose(living["2"], 2 * HOUSEHOLDS[:, 2])
        np.testing.assert_allclose(living["3+"], HOUSEHOLDS[:, 3:] @ np.arange(3, 9))

    def test_the_most_detailed_classification_is_preferred(self, tmp_path):
        write_district(tmp_path)
        broad = pd.DataFrame(
            np.column_stack([HOUSEHOLDS[:, 1:4], HOUSEHOLDS[:, 4:].sum(axis=1)]).astype(int),
            index=OAS,
            columns=["1 person", "2 people", "3 people", "4 or more people"],
        )
        columns = [(("Household size", f"{label} in household"),) for label in broad]
        broad.columns = pd.Index(columns, tupleize_cols=False)
        (tmp_path / "a-custom.csv").write_text(custom(broad))
        assert "by size from census2021-ts017-oa.csv" in read_output_areas(tmp_path).provenance
        (tmp_path / "census2021-ts017-oa.csv").unlink()
        areas = read_output_areas(tmp_path)
        assert areas.households["3+"].tolist() == HOUSEHOLDS[:, 3:].sum(axis=1).tolist()

    def test_ts017_is_preferred_to_ts003(self, tmp_path):
        with_both = read_output_areas(
            write_district(tmp_path, "ts001", "ts002", "ts003", "ts008", "ts009", "ts017")
        )
        assert with_both.households["1"].tolist() == HOUSEHOLDS[:, 1].tolist()

    def test_sizes_from_ts003_in_part(self, tmp_path):
        write_district(tmp_path, "ts008", "ts009", "ts003")
        areas = read_output_areas(tmp_path)
        np.testing.assert_allclose(areas.households.sum(axis=1), COMPOSITIONS.sum(axis=1))
        np.testing.assert_allclose(areas.households["1"], COMPOSITIONS[:, :2].sum(axis=1))
        couples_alone = COMPOSITIONS[:, [3, 6]].sum(axis=1)
        with_children = COMPOSITIONS[:, [4, 5, 7, 8]].sum(axis=1)
        assert (areas.households["2"] > couples_alone).all()
        assert (areas.households["3+"] > with_children).all()
        assert "estimated from compositions" in areas.provenance
        assert areas.large_household_size.unique().tolist() == [MEAN_LARGE]

    def test_broad_types_do_not_tell_sizes(self, tmp_path):
        write_district(tmp_path, "ts008", "ts009", "ts003")
        made = tables()["ts003"]
        broad = [at for at, ((_, label),) in enumerate(made) if ":" not in label]
        (tmp_path / "census2021-ts003-oa.csv").write_text(bulk(made.iloc[:, broad]))
        with pytest.raises(VoicePrivacyError, match=r"lacks the household compositions.*Use TS017"):
            read_output_areas(tmp_path)

    def test_sizes_that_begin_too_late(self, tmp_path):
        write_district(tmp_path)
        made = tables()["ts017"].iloc[:, [0, 1, 2]]
        text = bulk(made).replace("1 person in household", "1 or more people in household")
        (tmp_path / "census2021-ts017-oa.csv").write_text(text)
        with pytest.raises(VoicePrivacyError, match="columns for 1 and 2 people and one"):
            read_output_areas(tmp_path)

    def test_people_counted_as_households(self, tmp_path):
        write_district(tmp_path)
        crowd = np.ceil(people().sum() / HOUSEHOLDS.sum())
        (tmp_path / "census2021-ts017-oa.csv").write_text(bulk(tables()["ts017"] * int(crowd)))
        with pytest.raises(VoicePrivacyError, match="counts people, not households"):
            read_output_areas(tmp_path)

    def test_rm057_counts_people(self, tmp_path):
        write_district(tmp_path, "ts008", "ts009")
        rows = [f"{oa},{oa},{n},One-person household: Other,2,Aged 16 to 24 years,5" for n, oa in
                enumerate(OAS)]  # fmt: skip
        heading = (
            "Output Areas Code,Output Areas,Household composition (15 categories) Code,"
            "Household composition (15 categories),Age (4 categories) Code,Age (4 categories),"
            "Observation"
        )
        name = "RM057-2021-1-filtered-2024-05-03T10_11_12Z.csv"
        (tmp_path / name).write_text("\n".join([heading, *rows]))
        with pytest.raises(VoicePrivacyError, match=r"RM057-2021.*counts people by household"):
            read_output_areas(tmp_path)

    def test_another_number_of_households(self, tmp_path):
        write_district(tmp_path, "ts001", "ts008", "ts009", "ts017", "ts041")
        assert "differs from census2021-ts017-oa.csv by 4 in all and by at most 1" in (
            read_output_areas(tmp_path).provenance
        )
        (tmp_path / "census2021-ts041-oa.csv").write_text(bulk(tables()["ts041"] + 9))
        with pytest.raises(VoicePrivacyError, match="another census or another unit"):
            read_output_areas(tmp_path)


class TestFolder:
    def test_every_layout_gives_the_same_areas(self, tmp_path):
        plain = read_output_areas(write_district(tmp_path / "bulk"))
        mixed, made = tmp_path / "mixed", tables()
        mixed.mkdir()
        lookup().rename(columns=str.lower).to_csv(mixed / "l.csv", index=False, encoding="cp1252")
        (mixed / "1.csv").write_text(query(made["ts001"], "TS001 - Number of usual residents"))
        (mixed / "2.csv").write_text(api(made["ts002"], ["c2021_lpstat_12"]))
        (mixed / "3.csv").write_text(query(made["ts007a"], "TS007A - Age", percent=True))
        (mixed / "4.csv").write_text(custom(made["ts008"]))
        (mixed / "5.csv").write_text(api(made["ts009"], ["c_sex", "c2021_age_92"]))
        (mixed / "6.csv").write_text(query(made["ts017"], "TS017", units="Households"))
        (mixed / "notes.csv").write_text("what,why\n1,2\n")
        areas = read_output_areas(mixed)
        pd.testing.assert_frame_equal(areas.adults, plain.adults)
        pd.testing.assert_frame_equal(areas.households, plain.households)
        pd.testing.assert_frame_equal(areas.lookup, plain.lookup)

    def test_a_table_in_one_file_a_region_is_joined(self, tmp_path):
        whole = read_output_areas(write_district(tmp_path))
        made = tables()["ts017"]
        (tmp_path / "census2021-ts017-oa.csv").unlink()
        (tmp_path / "ts017_east_midlands.csv").write_text(bulk(made.iloc[:3]))
        (tmp_path / "ts017_london.csv").write_text(bulk(made.iloc[2:]))
        joined = read_output_areas(tmp_path)
        pd.testing.assert_frame_equal(joined.households, whole.households)

    def test_two_files_that_contradict_each_other(self, tmp_path):
        write_district(tmp_path)
        (tmp_path / "other.csv").write_text(bulk(tables()["ts008"] + 1))
        with pytest.raises(VoicePrivacyError, match=r"ts008-oa\.csv and other\.csv both count sex"):
            read_output_areas(tmp_path)

    def test_no_folder(self, tmp_path):
        with pytest.raises(VoicePrivacyError, match="is no folder of census tables"):
            read_output_areas(tmp_path / "absent")

    def test_no_lookup(self, tmp_path):
        write_district(tmp_path)
        (tmp_path / "lookup.csv").unlink()
        with pytest.raises(VoicePrivacyError, match=r"one lookup.*found none.*census fetch"):
            read_output_areas(tmp_path)

    def test_two_lookups(self, tmp_path):
        write_district(tmp_path)
        lookup().to_csv(tmp_path / "other.csv", index=False)
        with pytest.raises(VoicePrivacyError, match=r"found 'lookup\.csv', 'other\.csv'"):
            read_output_areas(tmp_path)

    @pytest.mark.parametrize(
        ("names", "said"),
        [
            (("ts001", "ts008", "ts017"), "no table of sex by age for output areas.*TS009"),
            (("ts003", "ts009", "ts001"), "no table of sex for output areas.*TS008 .sex. has it"),
            (("ts008", "ts009"), "no table of household size for output areas.*TS017"),
            (("ts009", "ts017"), "no table of residents for output areas.*TS001"),
        ],
    )
    def test_a_missing_table_is_named(self, tmp_path, names, said):
        with pytest.raises(VoicePrivacyError, match=said):
            read_output_areas(write_district(tmp_path, *names))

    def test_a_table_at_the_wrong_level(self, tmp_path):
        write_district(tmp_path, "ts001", "ts002", "ts008", "ts009")
        sizes = tables()["ts017"].groupby(LSOAS).sum()
        (tmp_path / "census2021-ts017-lsoa.csv").write_text(bulk(sizes))
        said = r"only in 'census2021-ts017-lsoa\.csv \(lower layer super output areas\)'.*ts017-oa"
        with pytest.raises(VoicePrivacyError, match=said):
            read_output_areas(tmp_path)

    def test_ts009_and_ts003_alone_do_not_reach_output_areas(self, tmp_path):
        write_district(tmp_path, "ts009", "ts003", "ts001")
        said = "TS009 .sex by single year of age. stops at districts, and RM200 .* at LSOAs"
        with pytest.raises(VoicePrivacyError, match=said):
            read_output_areas(tmp_path)

    def test_areas_missing_from_one_table(self, tmp_path):
        write_district(tmp_path)
        made = tables()["ts017"].rename(index={OAS[1]: "E00069999", OAS[3]: "E00187999"})
        (tmp_path / "census2021-ts017-oa.csv").write_text(bulk(made))
        with pytest.raises(VoicePrivacyError) as caught:
            read_output_areas(tmp_path)
        message = str(caught.value)
        assert "census2021-ts017-oa.csv lacks 2 of the lookup's 4 output areas" in message
        assert "'E00069548', 'E00172628'" in message
        assert (
            "1 OA code of 2011, it seems, or of 2021 outside these areas ('E00069999')" in message
        )
        assert "1 OA code of 2021 outside these areas ('E00187999')" in message

    def test_ages_in_bands_without_single_years(self, tmp_path):
        write_district(tmp_path, "ts001", "ts002", "ts017")
        made = sex_by_age(people(), OAS)
        bands = [at for at, (_, (_, label)) in enumerate(made) if label in SUBTOTALS]
        (tmp_path / "custom.csv").write_text(bulk(made.iloc[:, bands]))
        with pytest.raises(VoicePrivacyError, match=r"'25 to 34'.*must be split.*ts009-ltla"):
            read_output_areas(tmp_path)


class TestLookup:
    def write(self, tmp_path, change, **options):
        write_district(tmp_path)
        changed = change(lookup())
        changed.to_csv(tmp_path / "lookup.csv", **{"index": False, **options})
        return read_output_areas(tmp_path)

    @pytest.mark.parametrize("heading", ["LAD21CD", "LAD22CD", "lad26cd", "LADCD"])
    def test_any_year_of_districts_is_recorded(self, tmp_path, heading):
        areas = self.write(tmp_path, lambda rows: rows.rename(columns={"LAD22CD": heading}))
        assert f"(OA21CD, {heading.upper()})" in areas.provenance

    def test_two_years_of_districts(self, tmp_path):
        said = r"2 columns of local authority districts \('LAD22CD', 'LAD24CD'\).*delete"
        with pytest.raises(VoicePrivacyError, match=said):
            self.write(tmp_path, lambda rows: rows.assign(LAD24CD=DISTRICT))

    def test_output_areas_of_2011(self, tmp_path):
        with pytest.raises(
            VoicePrivacyError, match="looks up OA11CD, but the tables of Census 2021"
        ):
            self.write(tmp_path, lambda rows: rows.rename(columns={"OA21CD": "OA11CD"}))

    def test_no_codes_of_a_level(self, tmp_path):
        said = "no column of codes for middle layer.*Names are not used in place of codes"
        with pytest.raises(VoicePrivacyError, match=said):
            self.write(tmp_path, lambda rows: rows.drop(columns="MSOA21CD"))

    def test_names_in_place_of_codes(self, tmp_path):
        said = "line 2: column LAD22CD has 4 cells that are no code.*a name in its place"
        with pytest.raises(VoicePrivacyError, match=said):
            self.write(tmp_path, lambda rows: rows.assign(LAD22CD="Rutland"))

    def test_repeated_output_area(self, tmp_path):
        said = "line 6: output area 'E00187388' is there twice"
        with pytest.raises(VoicePrivacyError, match=said):
            self.write(tmp_path, lambda rows: pd.concat([rows, rows.iloc[2:3]]))

    def test_areas_that_do_not_nest(self, tmp_path):
        with pytest.raises(
            VoicePrivacyError, match="'E01013788' lies in more than one area of middle"
        ):
            self.write(tmp_path, lambda rows: rows.assign(MSOA21CD=[MSOA] * 3 + ["E02002863"]))

    def test_unknown_district(self, tmp_path):
        write_district(tmp_path)
        with pytest.raises(
            VoicePrivacyError, match=r"no district 'E07000097'.*now E07000242.*'E06000017'"
        ):
            read_output_areas(tmp_path, "E07000097")


class TestOutputAreas:
    def parts(self):
        index = pd.Index(["a", "b"], name="OA")
        lookup = pd.DataFrame({"LSOA": "l", "MSOA": "m", "LAD": "d"}, index=index)
        adults = pd.DataFrame(1.0, index=index, columns=ADULT_COLUMNS)
        households = pd.DataFrame({"1": [1, 2], "2": [3, 4], "3+": [5, 0]}, index=index)
        return {"lookup": lookup, "adults": adults, "households": households}

    def test_people_in_households(self):
        areas = OutputAreas(**self.parts(), large_household_size=4)
        assert areas.persons_in_households.to_numpy().tolist() == [[1, 6, 20], [2, 8, 0]]
        assert areas.households.to_numpy().tolist() == [[1, 3, 5], [2, 4, 0]]

    @pytest.mark.parametrize(
        ("name", "change", "said"),
        [
            ("lookup", lambda t: t.drop(columns="LAD"), "lookup must have the columns"),
            ("adults", lambda t: t.iloc[:, :9], "adults must have the columns"),
            ("households", lambda t: t.rename(columns={"3+": "3"}), "households must have"),
            ("households", lambda t: t.iloc[::-1], "in the same order"),
            ("adults", lambda t: t - 2, "not negative; see output area 'a', 'b'"),
            ("households", lambda t: t.replace(5, np.nan), "finite and not negative.*'a'"),
        ],
    )
    def test_parts_must_fit(self, name, change, said):
        parts = self.parts()
        parts[name] = change(parts[name])
        with pytest.raises(VoicePrivacyError, match=said):
            OutputAreas(**parts)

    def test_repeated_area(self):
        parts = {name: table.set_axis(["a", "a"]) for name, table in self.parts().items()}
        with pytest.raises(VoicePrivacyError, match="'a' is there twice"):
            OutputAreas(**parts)


class TestCommand:
    def test_show_a_folder(self, tmp_path):
        result = CliRunner().invoke(main, ["census", "show", str(write_district(tmp_path))])
        assert result.exit_code == 0
        assert "official tables for 4 output areas" in result.output
        assert DISTRICT in result.output

    def test_show_the_default(self):
        result = CliRunner().invoke(main, ["census", "show"])
        assert result.exit_code == 0
        assert "modelled" in result.output
        assert "Open Government Licence" in result.output

    def test_show_reports_bad_input_in_one_line(self, tmp_path):
        result = CliRunner().invoke(main, ["census", "show", str(tmp_path)])
        assert result.exit_code == 2
        assert result.output.startswith("Error: ")
        assert len(result.output.strip().splitlines()) == 1


@pytest.fixture(scope="module")
def rutland(shared_data):
    return read_output_areas(shared_data("census2021_rutland"))


class TestRutland:
    def test_areas(self, rutland):
        assert len(rutland) == 128
        assert rutland.lookup.nunique().tolist() == [26, 5, 1]
        counts = rutland.lookup["MSOA"].value_counts().sort_index()
        assert counts.tolist() == [25, 26, 26, 23, 28]

    def test_adults_of_the_district_and_its_msoas(self, rutland):
        adults = rutland.adults.sum(axis=1)
        # TS002 counts 34,290 residents of 16 and over in output areas, TS009 34,304 in all.
        assert adults.sum() == pytest.approx(34290)
        by_msoa = adults.groupby(rutland.lookup["MSOA"]).sum()
        np.testing.assert_allclose(by_msoa, [7648, 6780, 6583, 6232, 7042], rtol=0.003)

    def test_sex_and_age_of_the_district(self, rutland):
        sexes = rutland.adults.T.groupby("gender").sum().T.sum()
        assert sexes["female"] == pytest.approx(16802, rel=0.005)
        assert sexes["male"] == pytest.approx(17502, rel=0.005)
        decades = rutland.adults.T.groupby("age").sum().T.sum()
        assert decades["teens"] == pytest.approx(2165, rel=0.01)
        assert decades.drop("teens").sum() == pytest.approx(32139, rel=0.005)

    def test_prison_and_barracks_keep_their_few_women(self, rutland):
        adults = rutland.adults.loc["E00187388"]
        assert adults["female"].sum() / adults.sum() == pytest.approx(0.168, abs=0.02)

    def test_households(self, rutland):
        assert rutland.households.sum().tolist() == [4780, 6817, 5117]
        people = rutland.persons_in_households.sum()
        np.testing.assert_allclose(people / people.sum(), [0.127, 0.363, 0.509], atol=0.001)

    def test_how_far_the_tables_differ_is_said(self, rutland):
        assert (
            "differs from census2021-ts001-oa.csv by 6 in all and by at most 4"
            in rutland.provenance
        )
        assert "by 16 in all and by at most 5" in rutland.provenance

    def test_ts003_shares_are_near_the_counted_sizes(self, shared_data):
        """The split used for TS003 against the official table that it is from."""
        from voiceprivacy.census.compositions import sizes_of_compositions

        path = shared_data("census2021_rutland") / "ew_hhcomposition15_by_size5.csv"
        counts = pd.read_csv(path).iloc[1:, 3:].to_numpy(dtype=float)
        sizes = sizes_of_compositions(np.diag(counts.sum(axis=1)))
        expected = np.column_stack([counts[:, 0], counts[:, 1], counts[:, 2:].sum(axis=1)])
        np.testing.assert_allclose(sizes, expected, atol=1)

    def test_the_default_is_near(self, rutland):
        modelled = default_output_areas()
        for column in ("LSOA", "MSOA"):
            real = rutland.adults.sum(axis=1).groupby(rutland.lookup[column]).sum()
            mine = modelled.adults.sum(axis=1).groupby(modelled.lookup[column]).sum()
            np.testing.assert_allclose(mine, real.loc[mine.index], rtol=0.01)
        np.testing.assert_allclose(modelled.adults.sum(), rutland.adults.sum(), rtol=0.03)
        np.testing.assert_allclose(modelled.households.sum(), rutland.households.sum(), rtol=0.015)
