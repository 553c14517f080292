import os
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from plain_assignment import random_areas, random_speakers, small_areas

from voiceprivacy.assignment import assign, write_geolocation
from voiceprivacy.census import default_output_areas
from voiceprivacy.errors import VoicePrivacyError
from voiceprivacy.speakers import AGES


@pytest.fixture(scope="module")
def corpus():
    return random_speakers(3000, np.random.default_rng(5))


@pytest.fixture(scope="module")
def district():
    return random_areas(30, np.random.default_rng(6), zeros=0.1)


class TestLimits:
    def test_one_area(self, corpus):
        table = assign(corpus, random_areas(1, np.random.default_rng(0)))
        assert table["OA"].unique().tolist() == ["A0"]

    def test_one_speaker_goes_to_the_largest_area(self):
        areas = small_areas({("female", "teens"): [5, 9, 7]})
        table = assign(pd.DataFrame({"speaker": ["x"], "gender": "m", "age": "forties"}), areas)
        assert table.iloc[0].to_dict() == {
            "spk_id": "x",
            "gender": "male",
            "household_id": "A1_HH000001",
            "hh_size": 1,
            "OA": "A1",
            "LSOA": "L0",
            "MSOA": "M0",
            "LAD": "D",
            "HH": "HH1",
        }

    def test_more_areas_than_speakers(self, district):
        speakers = random_speakers(7, np.random.default_rng(0))
        table = assign(speakers, district)
        assert table["OA"].value_counts().to_list() == [1] * 7

    def test_an_area_without_adults_gets_nobody(self, corpus):
        areas = random_areas(6, np.random.default_rng(3))
        areas.adults.loc["A2"] = 0
        assert sorted(assign(corpus, areas)["OA"].unique()) == ["A0", "A1", "A3", "A4", "A5"]

    def test_an_area_with_adults_but_no_household(self, corpus):
        areas = random_areas(6, np.random.default_rng(3))
        areas.households.loc["A2"] = 0
        assert set(assign(corpus, areas).query("OA == 'A2'")["HH"]) == {"HH1", "HH2", "HH3+"}

    def test_nobodys_gender_or_age_is_known(self, corpus, district):
        unknown = corpus.assign(gender="", age=None)
        pd.testing.assert_frame_equal(
            assign(unknown, district), assign(unknown, district, constraints=())
        )


class TestBadInput:
    def test_nobody_lives_anywhere(self, corpus, district):
        empty = replace(district, adults=district.adults * 0)
        with pytest.raises(VoicePrivacyError, match="none of the 30 output areas has adults"):
            assign(corpus, empty)

    @pytest.mark.parametrize("constraints", [("sex",), "gender", ("gender", "income")])
    def test_unknown_constraints(self, corpus, district, constraints):
        with pytest.raises(VoicePrivacyError, match="any of 'gender', 'age', or"):
            assign(corpus, district, constraints=constraints)

    def test_unknown_rule(self, corpus, district):
        with pytest.raises(VoicePrivacyError, match="no household rule 'text'"):
            assign(corpus, district, households="text")

    def test_missing_age_says_what_to_do(self, corpus, district):
        with pytest.raises(VoicePrivacyError, match=r"no column 'age'.*leave it out of the constr"):
            assign(corpus.drop(columns="age"), district)
        table = assign(corpus.drop(columns="age"), district, constraints=("gender",))
        assert len(table) == len(corpus)

    def test_repeated_speakers(self, corpus, district):
        with pytest.raises(VoicePrivacyError, match="3000 speaker ids on more than one row"):
            assign(pd.concat([corpus, corpus]), district)


AT_SCALE = """
import sys
import numpy as np
from plain_assignment import random_areas, random_speakers
from voiceprivacy.assignment import assign, write_geolocation
rng = np.random.default_rng(0)
speakers, areas = random_speakers(2000, rng), random_areas(40, rng)
write_geolocation(assign(speakers, areas, seed=11), sys.argv[1])
"""


class TestAtScale:
    def test_paper_scale_in_under_a_second(self):
        speakers = random_speakers(22024, np.random.default_rng(0))
        areas = default_output_areas()
        times = []
        for _ in range(3):
            # Time of this process, so that a busy machine does not fail the test.
            start = time.process_time()
            table = assign(speakers, areas)
            times.append(time.process_time() - start)
        assert table["OA"].nunique() == 128
        assert min(times) < 1

    def test_blocks_of_the_default_areas_are_the_papers(self):
        """Table I: about 123 compatible speakers at N = 12,800, OA, and P_ref .370."""
        speakers = pd.DataFrame(
            {"speaker": [f"{k:05d}" for k in range(22024)], "gender": "", "age": ""}
        )
        size = assign(speakers, default_output_areas()).groupby("OA")["OA"].transform("size")
        block = 1 + (size - 1) * 12799 / 22023
        assert 123 <= block.mean() <= 125
        assert round(((1 - 1 / block) ** (block - 1)).mean(), 3) == 0.370

    def test_same_bytes_whatever_the_threads_and_hashing(self, tmp_path):
        files = []
        for threads in ("1", "2"):
            files.append(tmp_path / f"{threads}.csv")
            environment = os.environ | {
                "OMP_NUM_THREADS": threads,
                "OPENBLAS_NUM_THREADS": threads,
                "PYTHONHASHSEED": threads,
                "PYTHONPATH": os.path.dirname(__file__),
            }
            command = [sys.executable, "-c", AT_SCALE, str(files[-1])]
            subprocess.run(command, env=environment, check=True, timeout=120)
        assert files[0].read_bytes() == files[1].read_bytes()

    def test_same_table_as_when_this_was_written(self, tmp_path):
        # Any machine must give these lines; a change of them is a change of everybody's files.
        areas = small_areas(
            {
                ("female", "teens"): [5, 3, 2],
                ("male", "teens"): [4, 4, 9],
                ("male", "forties"): [1, 7, 2],
            }
        )
        genders = ["f", "m", "m", "", "m", "f", "m", "m", "f", "m", "m", "m"]
        ages = ["teens", "teens", "forties", "", "", "teens", "forties", "teens", "", *AGES[:3]]
        ids = [f"{k:02d}" for k in range(12)]
        speakers = pd.DataFrame({"speaker": ids, "gender": genders, "age": ages})
        path = tmp_path / "geolocation.csv"
        write_geolocation(assign(speakers, areas, seed=7), path)
        assert path.read_text() == PINNED


PINNED = """\
spk_id,gender,household_id,hh_size,OA,LSOA,MSOA,LAD,HH
09,male,A0_HH000001,3,A0,L0,M0,D,HH3+
00,female,A0_HH000001,3,A0,L0,M0,D,HH3+
08,female,A0_HH000001,3,A0,L0,M0,D,HH3+
03,,A1_HH000001,2,A1,L0,M0,D,HH2
07,male,A1_HH000001,2,A1,L0,M0,D,HH2
06,male,A1_HH000002,3,A1,L0,M0,D,HH3+
05,female,A1_HH000002,3,A1,L0,M0,D,HH3+
02,male,A1_HH000002,3,A1,L0,M0,D,HH3+
11,male,A2_HH000001,1,A2,L1,M0,D,HH1
04,male,A2_HH000002,3,A2,L1,M0,D,HH3+
01,male,A2_HH000002,3,A2,L1,M0,D,HH3+
10,male,A2_HH000002,3,A2,L1,M0,D,HH3+
"""
