from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from plain_assignment import random_areas, random_speakers, small_areas

from voiceprivacy.assignment import assign
from voiceprivacy.errors import VoicePrivacyError
from voiceprivacy.fidelity import fidelity

MARGINS = [
    "OA",
    "gender by OA",
    "age by OA",
    "gender and age by OA",
    "household class by OA",
]


@pytest.fixture(scope="module")
def corpus():
    return random_speakers(4000, np.random.default_rng(1))


@pytest.fixture(scope="module")
def district():
    return random_areas(25, np.random.default_rng(2))


@pytest.fixture(scope="module")
def report(corpus, district):
    return fidelity(assign(corpus, district), district, corpus)


def value(report, margin, measure, column="observed"):
    return report.set_index(["margin", "measure"]).loc[(margin, measure), column]


def placed(speakers, areas):
    """An assignment made by hand: everyone alone in the area given."""
    return pd.DataFrame({"spk_id": speakers["speaker"], "OA": areas, "HH": "HH1"})


class TestByHand:
    """Two areas of 30 and 10 adults; women only in the first, men in both; four speakers."""

    areas = small_areas({("female", "teens"): [20, 0], ("male", "teens"): [10, 10]})
    speakers = pd.DataFrame(
        {"speaker": list("abcd"), "gender": ["f", "f", "m", "m"], "age": "teens"}
    )

    def test_perfect(self):
        report = fidelity(
            placed(self.speakers, ["A0", "A0", "A0", "A1"]), self.areas, self.speakers
        )
        for margin in MARGINS[:4]:
            assert value(report, margin, "total variation") == pytest.approx(0, abs=1e-9)
            assert value(report, margin, "G") == pytest.approx(0, abs=1e-9)

    def test_one_speaker_moved(self):
        # Three and one were due, two and two came: one of four speakers is in the wrong area.
        report = fidelity(
            placed(self.speakers, ["A0", "A0", "A1", "A1"]), self.areas, self.speakers
        )
        assert value(report, "OA", "total variation") == pytest.approx(0.25)
        assert value(report, "OA", "standardised absolute error") == pytest.approx(0.5)
        expected = 2 * (2 * np.log(2 / 3) + 2 * np.log(2 / 1))
        assert value(report, "OA", "G") == pytest.approx(expected)
        assert value(report, "OA", "G", "df") == 1
        assert value(report, "OA", "G", "p_value") == pytest.approx(0.2834, abs=1e-4)
        assert value(report, "OA", "total variation", "rounding") == 0

    def test_someone_where_nobody_can_be(self):
        report = fidelity(
            placed(self.speakers, ["A1", "A0", "A0", "A0"]), self.areas, self.speakers
        )
        assert value(report, "OA", "G") == pytest.approx(0)
        assert np.isinf(value(report, "gender by OA", "G"))
        assert value(report, "gender by OA", "total variation") == pytest.approx(0.5)

    def test_household_classes(self):
        # Half of the first area's people and all of the second's live alone; all speakers do.
        areas = replace(self.areas, households=self.areas.households * 0)
        areas.households.loc["A0", ["1", "2"]] = 2, 1
        areas.households.loc["A1", "1"] = 1
        report = fidelity(placed(self.speakers, ["A0", "A0", "A0", "A1"]), areas, self.speakers)
        off = value(report, "household class by OA", "total variation")
        assert off == pytest.approx(1.5 / 4)


class TestReport:
    def test_is_tidy_and_complete(self, report):
        assert report.columns.tolist() == [
            "margin",
            "measure",
            "observed",
            "rounding",
            "df",
            "p_value",
        ]
        assert report["margin"].unique().tolist() == MARGINS
        assert (report.groupby("margin").size() == 3).all()
        assert report[["observed", "rounding"]].notna().all(axis=None)

    def test_degrees_of_freedom(self, report):
        # 25 areas; 3 genders and 10 ages, unknown among them; 3 household classes.
        degrees = report.dropna(subset="df").set_index("margin")["df"]
        assert degrees.tolist() == [24, 24 * 2, 24 * 9, 24 * 29, 25 * 2]

    def test_absolute_error_is_twice_the_total_variation(self, report):
        for margin in MARGINS:
            for column in ("observed", "rounding"):
                double = value(report, margin, "standardised absolute error", column)
                assert double == pytest.approx(2 * value(report, margin, "total variation", column))

    def test_margins_that_are_met_are_off_by_rounding_alone(self, report):
        for margin in ("OA", "gender and age by OA"):
            for measure in ("total variation", "G"):
                observed = value(report, margin, measure)
                assert observed == pytest.approx(value(report, margin, measure, "rounding"))

    def test_no_assignment_beats_rounding(self, corpus, district, report):
        tables = [report] + [
            fidelity(assign(corpus, district, constraints=names, households=rule), district, corpus)
            for names, rule in (((), "census"), (("gender",), "as_published"), (("age",), "census"))
        ]
        for table in tables:
            shown = table[table["measure"] == "total variation"]
            assert (shown["observed"] >= shown["rounding"] - 1e-9).all()

    def test_each_constraint_helps_its_own_margin(self, corpus, district):
        def off(constraints, margin):
            table = assign(corpus, district, constraints=constraints)
            return value(fidelity(table, district, corpus), margin, "total variation")

        assert off(("gender",), "gender by OA") < 0.5 * off((), "gender by OA")
        assert off(("age",), "age by OA") < 0.5 * off((), "age by OA")
        assert off(("gender", "age"), "gender by OA") < 0.3 * off(("gender",), "gender by OA")
        assert off(("gender", "age"), "gender and age by OA") < 0.2 * off(
            (), "gender and age by OA"
        )

    def test_random_areas_are_told_from_quotas(self, corpus, district, report):
        rng = np.random.default_rng(0)
        shares = district.adults.sum(axis=1) / district.adults.to_numpy().sum()
        random = placed(corpus, rng.choice(district.lookup.index, len(corpus), p=shares))
        drawn = fidelity(random, district, corpus)
        # The G of multinomial draws follows the chi-square that it is read against.
        assert 0.001 < value(drawn, "OA", "G", "p_value") < 0.999
        assert value(report, "OA", "G", "p_value") > 0.999

    def test_order_of_the_rows_does_not_matter(self, corpus, district, report):
        table = assign(corpus, district).sample(frac=1, random_state=0)
        again = fidelity(table, district, corpus.sample(frac=1, random_state=1))
        pd.testing.assert_frame_equal(again, report)

    def test_one_area_of_one_speaker(self):
        areas = small_areas({("female", "teens"): [3]})
        speakers = pd.DataFrame({"speaker": ["a"], "gender": "", "age": ""})
        report = fidelity(assign(speakers, areas), areas, speakers)
        assert value(report, "OA", "G", "df") == 0
        assert np.isnan(value(report, "OA", "G", "p_value"))


class TestBadInput:
    def test_areas_of_another_census(self, corpus, district):
        table = assign(corpus, district)
        with pytest.raises(
            VoicePrivacyError, match="13 output areas that the census tables lack: 'A12'"
        ):
            fidelity(table, random_areas(12, np.random.default_rng(0)), corpus)

    def test_other_speakers(self, corpus, district):
        table = assign(corpus, district)
        with pytest.raises(VoicePrivacyError, match="1 speakers are in only one of"):
            fidelity(table.iloc[1:], district, corpus)
        with pytest.raises(VoicePrivacyError, match="2 speakers are in only one of"):
            fidelity(table, district, corpus.iloc[2:])
