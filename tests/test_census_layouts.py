"""Every layout of a table gives the same counts, and a faulty file is refused with its reason."""

import zipfile

import numpy as np
import pandas as pd
import pytest
from census_files import (
    COMPOSITIONS,
    HOUSEHOLDS,
    OAS,
    api,
    bulk,
    custom,
    people,
    query,
    tables,
)

from voiceprivacy.census.labels import Range, heading
from voiceprivacy.census.layouts import read_wide
from voiceprivacy.census.sheets import read_sheet, sheets_in
from voiceprivacy.census.tables import read_table
from voiceprivacy.errors import VoicePrivacyError

API_DIMENSIONS = {
    "ts001": ["c2021_restype_3"],
    "ts002": ["c2021_lpstat_12"],
    "ts003": ["c2021_hhcomp_15"],
    "ts007a": ["c2021_age_19"],
    "ts008": ["c_sex"],
    "ts009": ["c_sex", "c2021_age_92"],
    "ts017": ["c2021_hhsize_10"],
    "ts041": [],
}
TITLES = {
    "ts001": "TS001 - Number of usual residents in households and communal establishments",
    "ts002": "TS002 - Legal partnership status",
    "ts003": "TS003 - Household composition",
    "ts007a": "TS007A - Age by five-year age bands",
    "ts008": "TS008 - Sex",
    "ts017": "TS017 - Household size",
    "ts041": "TS041 - Number of households",
}


def read(text, name="table.csv"):
    content = text if isinstance(text, bytes) else text.encode()
    wide = read_wide(read_sheet(name, content))
    return None if wide is None else read_table(wide)


def assert_same(one, other):
    assert (one.topic, one.level) == (other.topic, other.level)
    assert list(one.codes) == list(other.codes)
    assert one.categories == other.categories
    np.testing.assert_array_equal(one.counts, other.counts)
    np.testing.assert_array_equal(one.total, other.total)


class TestBulk:
    def test_counts_are_the_leaves_of_each_table(self):
        made = tables()
        lived = people()
        sex = read(bulk(made["ts008"]))
        assert sex.categories == ["female", "male"]
        np.testing.assert_array_equal(sex.counts, lived.sum(axis=2))
        size = read(bulk(made["ts017"]))
        assert [category.low for category in size.categories] == list(range(9))
        np.testing.assert_array_equal(size.counts, HOUSEHOLDS)
        composition = read(bulk(made["ts003"]))
        assert composition.categories == list(range(1, 15))
        np.testing.assert_array_equal(composition.counts, COMPOSITIONS)

    def test_bands_and_totals_are_not_added_to_single_years(self):
        table = read(bulk(tables()["ts009"]))
        assert table.level == "LAD"
        assert table.counts.shape == (1, 182)
        assert table.counts.sum() == table.total.sum() == people().sum()
        np.testing.assert_array_equal(table.counts[0, :91], people().sum(axis=0)[0])

    def test_five_year_bands_without_the_measures_suffix(self):
        table = read(bulk(tables()["ts007a"], measures=False))
        assert len(table.categories) == 18
        assert table.categories[-1] == Range(85, np.inf)
        assert table.counts.sum() == people().sum()

    def test_total_of_16_and_over_is_the_total_column(self):
        table = read(bulk(tables()["ts002"]))
        assert table.topic == "residents aged 16 and over"
        np.testing.assert_array_equal(table.total, people()[:, :, 16:].sum(axis=(1, 2)))

    def test_ts003_and_ts017_are_told_apart_whatever_their_file_names(self):
        assert read(bulk(tables()["ts017"]), "census2021-ts003-oa.csv").topic == "household size"
        assert (
            read(bulk(tables()["ts003"]), "census2021-ts017-oa.csv").topic
            == "household composition"
        )

    @pytest.mark.parametrize("code", ["E12000004", "E92000001", "K04000001", "E10000018"])
    def test_regions_and_countries_are_left_alone(self, code):
        table = tables()["ts008"].set_axis(["E06000017", code, "E12000005", "W92000004"])
        assert read(bulk(table)) is None

    def test_other_census_tables_are_left_alone(self):
        text = "date,geography,geography code,Tenure: Owned; measures: Value\n2021,a,E00069547,3\n"
        assert read(text, "census2021-ts054-oa.csv") is None

    def test_a_cross_table_is_not_taken_for_the_table_in_its_name(self):
        heading = "date,geography,geography code,Sex: Female; Residence type: Total\n"
        assert read(heading + "2021,a,E00069547,3\n", "ts001-by-sex.csv") is None

    def test_zipped_members_are_found_by_pattern(self, tmp_path):
        with zipfile.ZipFile(tmp_path / "census2021-ts008.zip", "w") as archive:
            archive.writestr("census2021-ts008-oa..csv", bulk(tables()["ts008"]))
            archive.writestr("census2021-ts008-ctry.csv", bulk(tables()["ts008"]))
            archive.writestr("metadata/ts008-2021-1.txt", "notes")
        names = [name for name, _ in sheets_in(tmp_path)]
        assert names == ["census2021-ts008.zip/census2021-ts008-oa..csv"]
        (_, opened), *_ = sheets_in(tmp_path)
        assert read_table(read_wide(opened())).topic == "sex"

    def test_a_cut_zip_is_refused(self, tmp_path):
        (tmp_path / "census2021-ts008.zip").write_bytes(b"PK\x03\x04 cut")
        with pytest.raises(VoicePrivacyError, match=r"ts008\.zip is no readable ZIP"):
            list(sheets_in(tmp_path))


class TestOtherLayouts:
    @pytest.mark.parametrize("name", API_DIMENSIONS)
    def test_nomis_api(self, name):
        answer = read(api(tables()[name], API_DIMENSIONS[name]), f"nomis-{name}-oa.csv")
        assert_same(answer, read(bulk(tables()[name])))

    @pytest.mark.parametrize("name", TITLES)
    @pytest.mark.parametrize("percent", [False, True])
    def test_nomis_query_export(self, name, percent):
        units = "Households" if name in ("ts003", "ts017", "ts041") else "Persons"
        export = query(tables()[name], TITLES[name], percent=percent, units=units)
        assert_same(read(export, "15595611502713788.csv"), read(bulk(tables()[name])))

    def test_query_export_with_code_and_name_in_one_cell(self):
        export = query(tables()["ts008"], TITLES["ts008"]).replace("2021 output area,mnemonic", "")
        rows = [line.split(",") for line in export.splitlines()]
        rows = [[f"{r[0]} : somewhere", *r[2:]] if r[0] in OAS else r for r in rows]
        rows = [["2021 output area", *r[1:]] if r[:1] == [""] and len(r) > 1 else r for r in rows]
        table = read("\n".join(",".join(row) for row in rows))
        assert_same(table, read(bulk(tables()["ts008"])))

    def test_query_export_of_one_total_is_known_by_its_title(self):
        made = tables()["ts041"]
        export = query(made, TITLES["ts041"], units="Households")
        table = read(export.replace("Number of households\r\n\r\n", "2021\r\n\r\n"))
        assert table.topic == "households"
        np.testing.assert_array_equal(table.total, made.to_numpy()[:, 0])

    @pytest.mark.parametrize("name", ["ts003", "ts008", "ts009", "ts017"])
    def test_ons_custom_dataset(self, name):
        area = "Lower tier local authorities" if name == "ts009" else "Output Areas"
        answer, expected = read(custom(tables()[name], area)), read(bulk(tables()[name]))
        assert answer.categories == expected.categories
        np.testing.assert_array_equal(answer.counts, expected.counts)
        np.testing.assert_array_equal(answer.total, expected.counts.sum(axis=1))

    def test_older_ons_download_with_label_columns(self):
        text = (
            "Lower Layer Super Output Areas Code,Lower Layer Super Output Areas Label,"
            "Sex (2 categories) Code,Sex (2 categories) Label,Count\n"
            "E01013787,Rutland 005A,1,Female,40\nE01013787,Rutland 005A,2,Male,41\n"
        )
        table = read(text)
        assert table.level == "LSOA"
        assert table.counts.tolist() == [[40, 41]]

    @pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252"])
    def test_encodings(self, encoding):
        text = bulk(tables()["ts008"]).replace("E00069547,E00069547", "Ynys Môn,E00069547")
        assert_same(read(text.encode(encoding)), read(bulk(tables()["ts008"])))

    def test_hyphens_and_case_do_not_matter(self):
        text = bulk(tables()["ts003"]).replace("One person household", "One\u2011person Household")
        assert_same(read(text), read(bulk(tables()["ts003"])))


class TestBadFiles:
    def refused(self, text, match, name="census2021-ts008-oa.csv"):
        with pytest.raises(VoicePrivacyError, match=match) as caught:
            read(text, name)
        assert name in str(caught.value)

    def test_web_page(self):
        self.refused("\n<!DOCTYPE html><html>busy</html>", "web page saved as CSV")

    def test_empty(self):
        self.refused("\r\n", "is empty")

    def test_heading_only(self):
        self.refused(bulk(tables()["ts008"]).splitlines()[0], "heading but no data")

    def test_export_heading_only(self):
        export = query(tables()["ts008"].iloc[:0], TITLES["ts008"])
        self.refused(export, "heading but no data", "1559.csv")

    def test_cut_row(self):
        text = bulk(tables()["ts008"])
        self.refused(text[: text.rindex(",")], r"line 5: 5 cells, but its heading has 6")

    @pytest.mark.parametrize("found", ["n/a", "-4", "inf", "3.5"])
    def test_text_in_a_count(self, found):
        text = bulk(tables()["ts008"]).splitlines()
        text[2] = ",".join([*text[2].split(",")[:3], found, "1", "2"])
        self.refused("\n".join(text), f"area 'E00069548' has '{found}' where a count is expected")

    def test_blank_count(self):
        text = bulk(tables()["ts008"]).splitlines()
        text[1] = "2021,E00069547,E00069547,,1,2"
        self.refused("\n".join(text), "a missing one is not 0")

    def test_percentages(self):
        text = bulk(tables()["ts008"].astype(float) / 7)
        self.refused(text, "looks like a percentage: export the measure Value")

    def test_repeated_area(self):
        table = tables()["ts008"]
        self.refused(bulk(pd.concat([table, table.iloc[:1]])), "'E00069547' is there twice")

    def test_repeated_column(self):
        table = tables()["ts008"]
        self.refused(bulk(pd.concat([table, table.iloc[:, 1:2]], axis=1)), "say the same")

    def test_renamed_column(self):
        text = bulk(tables()["ts008"]).replace("Sex: Female", "Sex: Women")
        self.refused(text, r"column 'Sex: Women; measures: Value' is not a heading")

    def test_renamed_variable_in_a_file_named_as_the_table(self):
        text = bulk(tables()["ts017"]).replace("Household size: ", "Persons: ")
        self.refused(
            text.replace("people in", "pers in"), "not a heading", "census2021-ts017-oa.csv"
        )

    def test_missing_sex(self):
        self.refused(bulk(tables()["ts008"].iloc[:, :2]), "no column for 'male'")

    @pytest.mark.parametrize("gone", ["Household size: 4 people in household", "Household size: 8"])
    def test_missing_size(self, gone):
        made = tables()["ts017"]
        kept = [at for at, c in enumerate(made) if not ": ".join(c[0]).startswith(gone)]
        self.refused(
            bulk(made.iloc[:, kept]),
            "does not follow on|the first or the last category is missing",
            "census2021-ts017-oa.csv",
        )

    def test_missing_single_year_is_filled_by_no_band(self):
        made = tables()["ts009"]
        kept = [at for at, c in enumerate(made) if c[1][1] != "Aged 33 years"]
        self.refused(bulk(made.iloc[:, kept]), "'Sex: Female; Age: Aged 34 years", "ts009-ltla.csv")

    def test_ages_that_overlap(self):
        made = tables()["ts007a"]
        text = bulk(made, measures=False).replace("Aged 20 to 24 years", "Aged 18 to 24 years")
        self.refused(text, "overlaps the one before it", "census2021-ts007a-oa.csv")

    def test_ts009_does_not_exist_for_output_areas(self):
        made = tables()["ts009"].set_axis(["E00069547"])
        self.refused(
            bulk(made),
            r"districts and larger areas only.*RM200 for LSOAs and MSOAs.*TS008.*TS007A",
            "census2021-ts009-oa.csv",
        )

    def test_levels_mixed_in_one_file(self):
        made = tables()["ts008"].set_axis([*OAS[:3], "E01013787"])
        self.refused(bulk(made), "mixes areas of the levels 'LSOA', 'OA'")

    def test_codes_in_the_wrong_case(self):
        made = tables()["ts008"].set_axis([*OAS[:3], OAS[3].lower()])
        self.refused(bulk(made), "not every area has a code: 1 code in the wrong case")

    def test_codes_of_scotland_among_others(self):
        made = tables()["ts008"].set_axis([*OAS[:3], "S00088956"])
        self.refused(bulk(made), "1 code of Scotland")

    def test_fewer_rows_than_announced(self):
        text = api(tables()["ts008"], ["c_sex"]).splitlines()
        self.refused("\n".join(text[:-3]), "holds 9 rows, but its RECORD_COUNT says 12")

    def test_api_cells_missing(self):
        text = api(tables()["ts008"], ["c_sex"]).replace(",12\r\n", ",11\r\n").splitlines()
        self.refused("\n".join(text[:-1]), "'E00172628' lacks some categories.*not 0")

    def test_api_cells_twice(self):
        text = api(tables()["ts008"], ["c_sex"]).replace(",12\r\n", ",13\r\n").splitlines()
        self.refused("\n".join([*text, text[1]]), "'E00069547' has 'All persons' twice")

    def test_api_without_names(self):
        text = api(tables()["ts008"], ["c_sex"]).replace("C_SEX_NAME", "OTHER")
        self.refused(text, "by number only.*'c_sex_name' in select")

    def test_unknown_category_in_a_long_file(self):
        text = api(tables()["ts008"], ["c_sex"]).replace("Female", "Women")
        self.refused(text, "'Women' is no known category of sex")

    def test_two_exports_pasted_together(self):
        export = query(tables()["ts008"], TITLES["ts008"])
        self.refused(export + export, "stands between rows of areas", "1559.csv")

    @pytest.mark.parametrize(
        ("name", "units"), [("ts008", "Households"), ("ts017", "Persons"), ("ts003", "Persons")]
    )
    def test_unit_line_of_the_other_unit(self, name, units):
        export = query(tables()[name], TITLES[name], units=units)
        self.refused(export, rf"counts {units.lower()} by its Units line", "1559.csv")


def test_headings_are_read_by_label():
    assert heading("Age: Aged 4 years and under") == {"age": Range(0, 4)}
    assert heading("Aged 15 to 19 years") == {"age": Range(15, 19)}
    assert heading("Household size: 1 person in household; measures: Value") == {
        "household size": Range(1, 1)
    }
    assert heading("Sex: Other") is None
