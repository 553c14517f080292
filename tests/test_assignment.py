from dataclasses import replace

import numpy as np
import pandas as pd
import plain_assignment as plain
import pytest
from plain_assignment import random_areas, random_speakers, small_areas

from voiceprivacy.assignment import assign, cell_targets
from voiceprivacy.census import read_output_areas
from voiceprivacy.errors import VoicePrivacyError
from voiceprivacy.geolocation import COLUMNS, read_geolocation
from voiceprivacy.households import RULES, class_quotas, class_shares
from voiceprivacy.speakers import read_speakers

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
    @pytest.mark.parametrize("rule", RULES)
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

    def test_its_shares_alone_leave_gender_out(self, corpus, district):
        filed, mixed = (
            assign(corpus, district, households=rule)
            for rule in ("as_published", "published_shares")
        )
        columns = ["OA", "HH", "hh_size"]
        assert (filed.groupby(columns).size() == mixed.groupby(columns).size()).all()
        assert mixed.groupby("HH")["gender"].nunique().eq(corpus["gender"].nunique()).all()
        women = (mixed["gender"] == "female").groupby(mixed["HH"]).mean()
        assert (women - 0.25).abs().max() < 0.05

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
