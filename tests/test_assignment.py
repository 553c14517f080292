import os
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pandas as pd
import plain_assignment as plain
import pytest
from plain_assignment import random_areas, random_speakers, small_areas

from voiceprivacy.assignment import assign, cell_targets, write_geolocation
from voiceprivacy.census import default_output_areas, read_output_areas
from voiceprivacy.errors import VoicePrivacyError
from voiceprivacy.geolocation import COLUMNS, read_geolocation
from voiceprivacy.households import class_quotas, class_shares
from voiceprivacy.speakers import AGES, read_speakers

VARIANTS = [(), ("gender",), ("age",), ("gender", "age")]


def everybody(table, speakers):
    """The assignment with every speaker's age."""
    return table.merge(speakers[["speaker", "age"]], left_on="spk_id", right_on="speaker")


def counts(table, index, *by):
    return table.groupby(["OA", *by]).size().reindex(index, fill_value=0)


@pytest.fixture(scope="module")
def corpus():
    return random_speakers(3000, np.random.default_rng(5))


@pytest.fixture(scope="module")
def district():
    areas = random_areas(30, np.random.default_rng(6), zeros=0.1)
    larger = pd.Series(np.linspace(3.1, 4.9, 30), areas.lookup.index)
    return replace(areas, large_household_size=larger)


class TestAgainstPlainImplementation:
    @pytest.mark.parametrize("seed", range(4))
    def test_targets(self, seed):
        rng = np.random.default_rng(seed)
        speakers, areas = random_speakers(200, rng, unknown=0.2), random_areas(5, rng)
        targets = cell_targets(speakers, areas)
        expected = plain.cell_targets(speakers, areas)
        assert len(expected) == targets.size
        for (code, gender, age), target in expected.items():
            assert targets.loc[code, (gender, age)] == pytest.approx(target, abs=1e-6)

    def test_the_whole_assignment_keeps_to_them(self):
        rng = np.random.default_rng(9)
        speakers, areas = random_speakers(200, rng, unknown=0.2), random_areas(5, rng)
        table = everybody(assign(speakers, areas), speakers)
        for (code, gender, age), target in plain.cell_targets(speakers, areas).items():
            here = table[
                (table["OA"] == code) & (table["gender"] == gender) & (table["age"] == age)
            ]
            assert np.floor(target + 1e-6) <= len(here) <= np.ceil(target - 1e-6)


class TestTargets:
    def test_independent_census_gives_closed_form(self):
        # Composition alike everywhere: every cell's target is its share of the quota.
        areas = small_areas({("female", "teens"): [10, 20, 30], ("male", "forties"): [30, 60, 90]})
        speakers = pd.DataFrame(
            {
                "speaker": [f"{k}" for k in range(36)],
                "gender": ["female"] * 24 + ["male"] * 12,
                "age": ["teens"] * 24 + ["forties"] * 12,
            }
        )
        targets = cell_targets(speakers, areas)
        assert targets.columns.tolist() == [("female", "teens"), ("male", "forties")]
        np.testing.assert_allclose(targets, [[4, 2], [8, 4], [12, 6]])

    def test_unknown_age_follows_its_gender(self):
        areas = small_areas({("female", "teens"): [30, 10], ("male", "forties"): [10, 30]})
        speakers = pd.DataFrame(
            {"speaker": list("abcdefgh"), "gender": ["female", "male"] * 4, "age": ""}
        )
        # Odds ratio (30 * 30) / (10 * 10) = 9 with all margins 4: cells 3 and 1.
        np.testing.assert_allclose(cell_targets(speakers, areas), [[3, 1], [1, 3]])

    def test_unknown_gender_and_age_follow_the_adults(self):
        areas = small_areas({("female", "teens"): [30, 10], ("male", "forties"): [30, 10]})
        speakers = pd.DataFrame({"speaker": list("abcd"), "gender": "", "age": ""})
        np.testing.assert_allclose(cell_targets(speakers, areas), [[3], [1]])

    def test_an_age_that_the_census_lacks_follows_its_gender(self):
        areas = small_areas({("female", "forties"): [30, 10], ("male", "forties"): [10, 30]})
        speakers = pd.DataFrame(
            {"speaker": list("abcdefgh"), "gender": ["female", "male"] * 4, "age": "teens"}
        )
        np.testing.assert_allclose(cell_targets(speakers, areas), [[3, 1], [1, 3]])

    def test_a_gender_that_the_census_lacks_follows_the_adults(self):
        areas = small_areas({("female", "forties"): [30, 10]})
        speakers = pd.DataFrame({"speaker": list("abcd"), "gender": "male", "age": "forties"})
        np.testing.assert_allclose(cell_targets(speakers, areas), [[3], [1]])

    def test_census_zeros_that_contradict_the_corpus_give_way(self):
        # Half of the adults are men of one area, but the corpus has a single man.
        areas = small_areas({("female", "teens"): [10, 0], ("male", "teens"): [0, 10]})
        speakers = pd.DataFrame(
            {"speaker": list("abcdefgh"), "gender": ["male"] + ["female"] * 7, "age": "teens"}
        )
        table = assign(speakers, areas)
        assert table["OA"].value_counts().to_dict() == {"A0": 4, "A1": 4}
        assert table.set_index("spk_id").loc["a", "OA"] == "A1"

    @pytest.mark.parametrize("constraints", VARIANTS)
    def test_margins(self, corpus, district, constraints):
        targets = cell_targets(corpus, district, constraints)
        shown = [corpus[name] if name in constraints else "" for name in ("gender", "age")]
        cells = pd.DataFrame(dict(zip("ga", shown, strict=True)), index=corpus.index)
        quotas = plain.shares_by_largest_remainder(
            len(corpus), district.adults.sort_index().sum(axis=1).astype(int).tolist()
        )
        np.testing.assert_allclose(targets.sum(axis=1), quotas)
        np.testing.assert_allclose(targets.sum(), cells.value_counts().sort_index().to_numpy())


class TestInvariants:
    @pytest.mark.parametrize("constraints", VARIANTS)
    @pytest.mark.parametrize("rule", ["census", "as_published"])
    def test_every_variant(self, corpus, district, constraints, rule):
        table = assign(corpus, district, constraints=constraints, households=rule, seed=3)
        assert table.columns.tolist() == list(COLUMNS)
        assert sorted(table["spk_id"]) == sorted(corpus["speaker"])
        assert (
            table.merge(corpus, left_on="spk_id", right_on="speaker").eval("gender_x == gender_y")
        ).all()
        # Quotas are met exactly.
        targets = cell_targets(corpus, district, constraints)
        assert (counts(table, targets.index) == targets.sum(axis=1).round()).all()
        # Cells are within rounding.
        people = everybody(table, corpus)
        shown = people.assign(**{n: "" for n in ("gender", "age") if n not in constraints})
        whole = shown.groupby(["OA", "gender", "age"]).size().unstack([1, 2], fill_value=0)
        whole = whole.reindex(index=targets.index, columns=targets.columns, fill_value=0)
        assert (np.abs(whole - targets) < 1).all(axis=None)
        # Every level nests.
        for fine, coarse in zip(
            ("household_id", "OA", "LSOA", "MSOA"), ("OA", "LSOA", "MSOA", "LAD"), strict=True
        ):
            assert (table.groupby(fine)[coarse].nunique() == 1).all()
        # Households hold as many speakers as they say, in the class that they say.
        assert (table.groupby("household_id")["spk_id"].transform("size") == table["hh_size"]).all()
        expected = table["hh_size"].map(lambda size: {1: "HH1", 2: "HH2"}.get(size, "HH3+"))
        assert (table["HH"] == expected).all()

    def test_places_are_the_censuss_own(self, corpus, district):
        table = assign(corpus, district)
        for level in ("LSOA", "MSOA", "LAD"):
            assert (table["OA"].map(district.lookup[level]) == table[level]).all()

    def test_class_quotas_by_area(self, corpus, district):
        table = assign(corpus, district)
        codes = district.lookup.index.sort_values()
        quotas = class_quotas(
            counts(table, codes).to_numpy(), class_shares(district).loc[codes].to_numpy()
        )
        found = (
            table.groupby(["OA", "HH"]).size().unstack(fill_value=0).reindex(codes, fill_value=0)
        )
        assert (found[["HH1", "HH2", "HH3+"]].to_numpy() == quotas).all()

    def test_household_ids(self, district):
        table = assign(random_speakers(300, np.random.default_rng(1)), district)
        for code, here in table.groupby("OA"):
            number = here["household_id"].nunique()
            names = [f"{code}_HH{k:06d}" for k in range(1, number + 1)]
            assert here["household_id"].drop_duplicates().tolist() == names

    def test_seed_and_order_of_rows(self, corpus, district):
        table = assign(corpus, district, seed=4)
        shuffled = corpus.sample(frac=1, random_state=1)
        order = district.lookup.sample(frac=1, random_state=2).index
        tables = ("lookup", "adults", "households")
        turned = replace(district, **{name: getattr(district, name).loc[order] for name in tables})
        pd.testing.assert_frame_equal(assign(shuffled, turned, seed=4), table)
        other = assign(corpus, district, seed=5).set_index("spk_id")["OA"]
        assert (table.set_index("spk_id")["OA"] != other.reindex(table["spk_id"])).mean() > 0.9

    def test_members_and_areas_are_random_within_their_cells(self, district):
        # Ids that carry an order must not show in the areas or household classes.
        speakers = random_speakers(6000, np.random.default_rng(2), unknown=0.0)
        table = assign(speakers, district, seed=1)
        rank = table["spk_id"].str[1:].astype(int)
        for level in ("OA", "HH"):
            between = rank.groupby(table[level]).mean()
            size = table[level].value_counts()
            z = (between - rank.mean()) / (rank.std() / np.sqrt(size))
            assert z.abs().max() < 4

    def test_household_class_is_independent_of_gender_under_the_texts_rule(self, corpus, district):
        table = assign(corpus, district, seed=2)
        women = table[table["gender"] == "female"].groupby("HH").size() / table.groupby("HH").size()
        assert (women - 0.25).abs().max() < 0.05


class TestPublishedRule:
    def test_women_first(self, corpus, district):
        table = assign(corpus, district, households="as_published")
        turn = table["gender"].map({"female": 0, "male": 1, "": 2})
        by_number = table.assign(turn=turn).sort_values(["OA", "household_id"])
        for _, here in by_number.groupby("OA"):
            extremes = here.groupby("household_id")["turn"].agg(["min", "max"])
            assert (extremes["min"].to_numpy()[1:] >= extremes["max"].to_numpy()[:-1]).all()

    def test_needs_gender_even_when_it_constrains_nothing(self, district):
        speakers = pd.DataFrame({"speaker": ["a"], "age": ["teens"]})
        with pytest.raises(VoicePrivacyError, match="no column 'gender'"):
            assign(speakers, district, constraints=("age",), households="as_published")

    def test_reproduces_the_published_file(self, shared_data):
        """On the official census, the file's own confound of household class and gender."""
        folder = shared_data("side_information_authors")
        published = read_geolocation(folder / "geolocation.csv")
        speakers = read_speakers(folder / "cv11_A.spk2gender")
        areas = read_output_areas(shared_data("census2021_rutland"), "E06000017")
        ours = assign(speakers, areas, households="as_published")
        for table in (published, ours):
            classes = table["HH"].value_counts(normalize=True)
            assert classes.to_dict() == pytest.approx(
                {"HH1": 0.155, "HH2": 0.653, "HH3+": 0.192}, abs=0.001
            )
            female = (table["gender"] == "female").groupby(table["HH"]).mean()
            assert female["HH1"] == pytest.approx(0.958, abs=0.005)
            assert female["HH3+"] == 0
        assert ours["household_id"].nunique() == pytest.approx(11574, rel=0.002)

    def test_the_rule_on_the_files_own_quotas_gives_its_households(self, shared_data):
        """The published class quotas are each area's speakers times its MSOA's shares, rounded."""
        published = read_geolocation(shared_data("side_information_authors") / "geolocation.csv")
        found = published.groupby(["OA", "HH"]).size().unstack()
        lookup = published[["OA", "LSOA", "MSOA", "LAD"]].drop_duplicates().set_index("OA")
        areas = small_areas({("female", "teens"): [1.0] * 128})
        areas.lookup[["LSOA", "MSOA", "LAD"]] = lookup.sort_index().to_numpy()
        shares = class_shares(areas, "as_published").to_numpy()
        quotas = class_quotas(found.sum(axis=1).to_numpy(), shares)
        assert np.abs(quotas - found.to_numpy()).max() <= 3
        assert np.abs(quotas - found.to_numpy()).mean() < 0.7


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
