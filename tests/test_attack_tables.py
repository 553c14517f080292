"""Tables of attack runs, on scores made by hand."""

import numpy as np
import pandas as pd
import pytest

from voiceprivacy.attack_tables import (
    REARRANGED,
    as_reported,
    cells,
    chosen_on_dev,
    difference,
    every_run,
    grouped,
    in_words,
    orderings,
    summary,
    told_apart,
)
from voiceprivacy.attacks import AttackRun
from voiceprivacy.errors import VoicePrivacyError
from voiceprivacy.verification import Cell, Estimate, Verification


def scored(shift, seed=0, subsets=("dev", "test"), n=8):
    """Scores of n speakers a gender, two trials each; targets lie `shift` above the others."""
    rng = np.random.default_rng(seed)
    made = []
    for subset in subsets:
        for gender in ("female", "male"):
            names = np.array([f"{subset}-{gender}-{k}" for k in range(n)])
            speakers = np.repeat(names, 2)
            utterances = np.array([f"{s}-{k}" for k, s in enumerate(speakers)])
            scores = rng.normal(size=(n, 2 * n)) + shift * (names[:, None] == speakers)
            made.append(
                Cell(subset, gender, names, utterances, speakers, scores, np.ones((n, 2 * n), bool))
            )
    return Verification(tuple(made), "aa")


def run(row, shift, seed=0, system="s", **changed):
    about = {"steps": 100, "best_step": 90, "dev_loss": 1.5, "accuracy": 0.8} | changed
    return AttackRun(system, row, seed, scored(shift, seed), **about)


RUNS = [
    run("no augmentation", 1.0, seed=1),
    run("no augmentation", 1.0, seed=0),
    run("RR", 3.0, seed=0, steps=300),
    run("RR", 3.0, seed=1),
    run("SpecAug", 1.0, seed=1),
]


def test_a_row_is_the_mean_of_its_seeds_in_per_cent():
    table = summary(RUNS).set_index("row")
    assert table.index.tolist() == ["no augmentation", "RR", "SpecAug"]
    assert table["seeds"].tolist() == [2, 2, 1]
    assert table.loc["RR", "steps"] == 200
    mean = 50 * (scored(3.0, 0).eer + scored(3.0, 1).eer)
    assert table.loc["RR", "eer"] == pytest.approx(mean)
    assert table.loc["RR", "eer_low"] < mean < table.loc["RR", "eer_high"]


def test_rows_are_compared_in_pairs_with_the_baseline_of_their_system():
    table = summary(RUNS).set_index("row")
    points = table["eer"] - table["eer"]["no augmentation"]
    assert table.loc["RR", "difference"] == pytest.approx(points["RR"])
    assert table.loc["RR", "difference_high"] < 0
    # SpecAug shares seed 1 alone with the baseline, and there has the very same scores.
    assert table.loc["SpecAug", ["difference", "difference_low", "difference_high"]].tolist() == [
        0,
        0,
        0,
    ]
    assert np.isnan(table.loc["no augmentation", "difference"])


def test_without_a_baseline_there_is_no_difference():
    table = summary([run("RR", 2.0), run("RR", 2.0, system="other")])
    assert table["difference"].isna().all()
    assert table["system"].tolist() == ["s", "other"]


def test_cells_average_as_the_challenge_does():
    table = cells(RUNS).set_index("row")
    one = table.loc["SpecAug"]
    assert one["dev"] == pytest.approx((one["dev female"] + one["dev male"]) / 2)
    assert one["average"] == pytest.approx((one["dev"] + one["test"]) / 2)
    assert one["average"] == pytest.approx(summary(RUNS).set_index("row")["eer"]["SpecAug"])


def four(shifts):
    """Runs of the four attackers of Table 2; a shift is one for dev and one for test."""
    rows = ["no augmentation", "SpecAug", "RR+concatenation", "RR+concatenation+SpecAug"]
    for row, (dev, test) in zip(rows, shifts, strict=True):
        scores = [scored(dev, 1, ["dev"]), scored(test, 2, ["test"])]
        both = Verification(sum((v.cells for v in scores), ()), "aa")
        yield AttackRun("s", row, 0, both, 1, 1, 0.0, 1.0)


def test_the_better_of_two_is_reported_as_the_paper_does_or_chosen_fairly():
    # SpecAug is better on dev and worse on test, plain and rearranged alike.
    runs = list(four([(1.0, 3.0), (4.0, 0.5), (1.0, 4.0), (3.0, 0.5)]))
    reported = as_reported(runs)
    averages = cells(runs).set_index("row")["average"]
    assert reported["row"].tolist() == ["no augmentation", averages.iloc[2:].idxmin()]
    (fair,) = chosen_on_dev(runs).to_dict("records")
    on_test = cells(runs).set_index("row")["test"]
    assert (fair["plain"], fair["SegReConcat"]) == ("SpecAug", "RR+concatenation+SpecAug")
    assert fair["plain on test"] == on_test["SpecAug"]
    assert fair["difference"] == pytest.approx(
        on_test["RR+concatenation+SpecAug"] - on_test["SpecAug"]
    )


def test_all_runs_are_shown():
    table = every_run(RUNS)
    assert table["seed"].tolist() == [1, 0, 0, 1, 1]
    assert table["eer"][0] == pytest.approx(100 * scored(1.0, 1).eer)
    assert [r.seed for r in grouped(RUNS)["s", "no augmentation"]] == [0, 1]


def test_two_rows_of_any_systems_can_be_compared():
    estimate = difference(RUNS, ("s", "RR"), ("s", "no augmentation"))
    row = summary(RUNS).set_index("row").loc["RR"]
    assert estimate.value == pytest.approx(row["difference"])
    assert in_words(estimate) == "lower"
    assert in_words(difference(RUNS, ("s", "no augmentation"), ("s", "RR"))) == "higher"
    assert in_words(Estimate(0.1, -1.0, 1.0, 0.5)) == "cannot be told apart"


def test_the_papers_orders_are_looked_for_among_the_rows_that_were_run():
    runs = [*RUNS, run("RR+concatenation", 6.0, seed=0), run("RR+concatenation", 6.0, seed=1)]
    table = orderings(runs, "s").set_index("item")
    assert table.index.tolist() == ["order_RR_alone", "order_RR+concatenation"]
    alone = table.loc["order_RR_alone"]
    assert (alone["lower"], alone["higher"]) == ("no augmentation", "RR")
    assert alone["difference_low"] > 0
    assert alone["visible"] == "no, the other way round"
    assert table.loc["order_RR+concatenation", "visible"] == "yes"
    assert orderings(runs, "another system").empty


def test_what_was_not_run_cannot_be_compared():
    with pytest.raises(VoicePrivacyError, match=r"no runs of .*'AR'"):
        difference(RUNS, ("s", "AR"), ("s", "RR"))
    apart = [run("RR", 1.0, seed=0), run("AR", 1.0, seed=1)]
    with pytest.raises(VoicePrivacyError, match="no common seed"):
        difference(apart, ("s", "RR"), ("s", "AR"))


def test_what_can_be_told_apart_is_counted():
    rates = pd.DataFrame(
        {
            "system": ["a"] * 3 + ["b"] * 2,
            "row": ["no augmentation", *REARRANGED, *REARRANGED],
            "accuracy": [0.99, 0.95, 0.95, 0.95, 0.5],
            "steps": 200,
            "best step": [50, 150, 200, 200, 100],
            "difference_low": [np.nan, -3.0, -1.0, -2.0, 0.5],
            "difference_high": [np.nan, -1.0, 1.0, 0.1, 2.0],
        }
    )
    assert told_apart(rates) == (
        "Of 4 comparisons of SegReConcat with the baseline, 1 have their interval below "
        "zero, 1 above, and 2 cannot be told apart. The development loss was lowest after 50 to "
        "200 of 200 steps (means over seeds). Still learning when training ended (accuracy below "
        "90 %): b, RR+concatenation+SpecAug."
    )
