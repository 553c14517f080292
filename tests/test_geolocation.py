import numpy as np
import pandas as pd
import pytest
from plain_assignment import random_areas, small_areas

from voiceprivacy.assignment import assign, read_geolocation, write_geolocation
from voiceprivacy.errors import VoicePrivacyError
from voiceprivacy.geolocation import COLUMNS

ROW = "s1,f,A0_HH000001,2,A0,L0,M0"
HEADING = "spk_id,gender,household_id,hh_size,OA,LSOA,MSOA"


@pytest.fixture
def file(tmp_path):
    def write(*rows, heading=HEADING):
        path = tmp_path / "geolocation.csv"
        path.write_text("\n".join([heading, *rows]) + "\n", encoding="utf-8")
        return path

    return write


@pytest.fixture(scope="module")
def table(shared_data):
    return read_geolocation(shared_data("side_information_authors") / "geolocation.csv")


class TestAuthorsFile:
    def test_counts(self, table):
        assert table.columns.tolist() == list(COLUMNS)
        assert len(table) == 22024
        assert table[["OA", "LSOA", "MSOA", "LAD"]].nunique().tolist() == [128, 26, 5, 1]
        assert table["LAD"].unique().tolist() == [""]
        assert table["household_id"].nunique() == 11574

    def test_household_classes(self, table):
        assert table["HH"].value_counts().to_dict() == {"HH2": 14390, "HH3+": 4218, "HH1": 3416}

    def test_areas_counted_elsewhere(self, table, shared_data):
        """A second count of the same file, one row an area."""
        counts = pd.read_csv(
            shared_data("side_information_authors") / "authors_oa_counts.csv", index_col="OA"
        )
        sizes = table["OA"].value_counts().reindex(counts.index)
        assert (sizes == counts["n_speakers"]).all()
        alone = table.query("HH == 'HH1'")["OA"].value_counts().reindex(counts.index)
        assert (alone == counts["n_speakers_HH1"]).all()

    def test_blocks_are_the_papers(self, table):
        """Table I at N = 12,800: OA about 123 and P_ref .370, OA+HH1 about 19.5 and .380."""

        def block(by):
            size = table.groupby(by)["spk_id"].transform("size")
            return 1 + (size - 1) * 12799 / 22023

        for by, who, low, high, reference in (
            (["OA"], slice(None), 123, 125, 0.370),
            (["OA", "HH"], table["HH"] == "HH1", 19, 20, 0.380),
        ):
            blocks = block(by)[who]
            assert low < blocks.mean() < high
            assert ((1 - 1 / blocks) ** (blocks - 1)).mean() == pytest.approx(reference, abs=7e-4)

    def test_round_trip(self, table, tmp_path):
        write_geolocation(table, tmp_path / "again.csv")
        pd.testing.assert_frame_equal(read_geolocation(tmp_path / "again.csv"), table)


class TestRoundTrip:
    def test_awkward_ids(self, tmp_path):
        ids = ["0012", "NA", "12e5", "nan", "a,b", 'say "hi"', " x ", "É", "two\nlines"]
        speakers = pd.DataFrame({"speaker": ids, "gender": "", "age": ""})
        table = assign(speakers, small_areas({("female", "teens"): [5, 7]}))
        write_geolocation(table, tmp_path / "deep" / "geolocation.csv")
        again = read_geolocation(tmp_path / "deep" / "geolocation.csv")
        pd.testing.assert_frame_equal(again, table)
        assert sorted(again["spk_id"]) == sorted(ids)

    def test_area_codes_that_look_like_numbers_or_nothing(self, tmp_path):
        areas = random_areas(2, np.random.default_rng(0))
        for table in (areas.lookup, areas.adults, areas.households):
            table.index = pd.Index(["0012", "NA"], name="OA", dtype=str)
        speakers = pd.DataFrame({"speaker": list("abcd"), "gender": "f", "age": ""})
        table = assign(speakers, areas)
        write_geolocation(table, tmp_path / "g.csv")
        assert set(read_geolocation(tmp_path / "g.csv")["OA"]) == {"0012", "NA"}

    def test_keeps_a_file_that_is_there(self, file):
        path = file(ROW)
        before = path.read_bytes()
        table = read_geolocation(path)
        with pytest.raises(VoicePrivacyError, match="exists and is kept"):
            write_geolocation(table, path)
        assert path.read_bytes() == before
        write_geolocation(table, path, overwrite=True)
        assert path.read_text().startswith(HEADING + ",LAD,HH\ns1,female,A0_HH000001,2,")


class TestBadInput:
    @pytest.mark.parametrize(
        ("rows", "message"),
        [
            ([ROW, ROW], "1 speaker ids on more than one row: 's1'"),
            ([ROW, ROW.replace("s1", "")], "empty speaker id in row 3"),
            ([ROW.replace("f,", "x,")], r"gender is not a known word \(row 2: 'x'\)"),
            ([ROW.replace(",2,", ",3+,")], r"hh_size is not a whole number.*row 2: '3\+'"),
            ([ROW.replace(",2,", ",0,")], "hh_size is not a whole number"),
            ([ROW.replace(",2,", ",,")], "hh_size is not a whole number"),
            ([ROW.replace(",A0,", ",,")], "no OA, LSOA or MSOA code in row 2"),
            ([ROW, "s2,f,A0_HH000001,2,A0,L9,M0"], "OA 'A0' lies in more than one LSOA"),
            ([ROW, "s2,f,A1_HH000001,1,A1,L0,M9"], "LSOA 'L0' lies in more than one MSOA"),
            ([ROW, "s2,f,A1_HH000001,1,A1,L0"], "line 3 has more or fewer cells"),
            ([], "no rows"),
        ],
    )
    def test_refuses(self, file, rows, message):
        with pytest.raises(VoicePrivacyError, match=message):
            read_geolocation(file(*rows))

    def test_names_missing_columns(self, file):
        path = file("s1,A0", heading="speaker,OA")
        with pytest.raises(VoicePrivacyError, match="lacks columns 'spk_id', 'gender'"):
            read_geolocation(path)

    def test_no_file(self, tmp_path):
        with pytest.raises(VoicePrivacyError, match="there is no file"):
            read_geolocation(tmp_path / "none.csv")
