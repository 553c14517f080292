"""Verdicts, their rounding rules, and the files and pages that carry them."""

import numpy as np
import pandas as pd
import pytest

from voiceprivacy.comparison import (
    COLUMNS,
    compare,
    compare_sizes,
    found_in,
    read_comparisons,
    show_comparison,
    write_comparison,
)
from voiceprivacy.errors import VoicePrivacyError
from voiceprivacy.evidence import checked_evidence, evidence_of
from voiceprivacy.intervals import cluster_bootstrap
from voiceprivacy.published import published
from voiceprivacy.subsets import PUBLISHED
from voiceprivacy.verdicts import VERDICTS, NotRun

SIMULATED = evidence_of("simulated")
OA = "semi_L1_N12800_OA_observed"  # printed 0.585: .5845 to .5855


def verdict(item, found, evidence=SIMULATED):
    return compare({item: found}, evidence=evidence).loc[0, "verdict"]


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (0.5849, "matches"),  # rounds to .585
        (0.5845, "matches"),  # the edges belong to it
        (0.5855, "matches"),
        (0.5860, "differs"),
        ((0.57, 0.56, 0.585), "matches"),  # the paper's number inside our interval
        ((0.57, 0.56, 0.5846), "matches"),  # inside up to its rounding
        ((0.57, 0.56, 0.584), "differs"),
        ((0.60, 0.586, 0.61), "differs"),
        ((0.5852, np.nan, np.nan), "matches"),
        (np.nan, "not run"),
        (NotRun("a GPU"), "not run"),
    ],
)
def test_number_matches_when_the_two_intervals_share_a_point(found, expected):
    assert verdict(OA, found) == expected


@pytest.mark.parametrize(
    ("found", "expected"),
    [(0.0, "matches"), (0.0029, "matches"), (0.003, "differs"), ((0.004, 0.001, 0.005), "differs")],
)
def test_bound_is_kept_by_the_value_itself(found, expected):
    assert verdict("variants_largest_difference", found) == expected


def test_ordering_holds_or_not_and_says_the_numbers():
    item = "order_levels_semi"
    values = {"signal only": 0.38, "MSOA": 0.42, "LSOA": 0.5, "OA": 0.58}
    table = compare({item: values}, evidence=SIMULATED)
    assert table.loc[0, "verdict"] == "matches"
    assert table.loc[0, "note"] == "signal only 0.380, MSOA 0.420, LSOA 0.500, OA 0.580"
    assert table.loc[0, ["reproduced", "low", "high"]].isna().all()
    assert verdict(item, values | {"LSOA": 0.42}) == "differs"  # a tie is no order
    assert verdict(item, values | {"OA": 0.49}) == "differs"
    assert verdict(item, values | {"OA": NotRun("time")}) == "not run"
    assert verdict(item, values | {"OA": np.nan}) == "not run"
    assert verdict(item, NotRun("time")) == "not run"


def test_ordering_names_neighbours_that_the_intervals_cannot_tell_apart():
    values = {"signal only": (-0.02, -0.03, -0.01), "OA+HH1": (0.01, -0.002, 0.02)}
    row = compare({"order_ignorant_sign": values}, evidence=SIMULATED).loc[0]
    assert row["verdict"] == "matches"
    assert row["note"] == ("signal only -0.020, 0, OA+HH1 0.010 (intervals overlap: 0 and OA+HH1)")


def test_other_speech_is_a_stand_in_and_the_papers_own_is_judged():
    assert verdict(OA, 0.9, evidence_of("speech", corpus="LibriSpeech")) == "stand-in data"
    assert verdict(OA, 0.9, evidence_of("speech", corpus="Common Voice 11.0")) == "differs"
    assert verdict(OA, NotRun("x"), evidence_of("speech", corpus="LibriSpeech")) == "not run"
    assert verdict("evaluations", 24750, evidence_of("calculation")) == "matches"


def test_interval_of_no_width_may_be_rounded_past_its_value():
    third = np.full(9, 2 / 3)
    assert verdict(OA, (third.mean(), *cluster_bootstrap(third))) == "differs"


def test_rows_carry_print_locator_evidence_and_remarks():
    table = compare(
        {"L1_N12800_OA_reference": (0.37, 0.36, 0.38), OA: NotRun("a GPU")},
        evidence=SIMULATED,
        notes={OA: "fitted"},
    )
    assert list(table) == COLUMNS
    first, second = table.to_dict("records")
    assert (first["paper"], first["low"], first["high"]) == ("0.370", 0.36, 0.38)
    assert first["locator"] == "SI, Sec. V-B, para. 1"
    assert first["about"] == "OA, L = 1, N = 12,800: conditional reference"
    assert second["note"] == "missing: a GPU; fitted"
    assert set(table["evidence"]) == {SIMULATED}
    assert set(table["verdict"]) <= set(VERDICTS)


def test_segreconcat_is_compared_under_its_own_name():
    table = compare({"table1_RR": 38.4}, paper="SRC", evidence=evidence_of("speech", corpus="toy"))
    assert table.loc[0, ["verdict", "locator"]].tolist() == ["stand-in data", "SRC, Table 1"]


@pytest.fixture
def summary():
    """Two levels at two sizes, as `Isolation.summary` lays them out, and partial knowledge."""
    rows = [
        ("signal only", 1, 1.0, 12800, 0.343, 0.33, 0.35, 0.368, -0.025),
        ("OA+HH1", 1, 1.0, 12800, 0.395, 0.38, 0.41, 0.378, 0.017),
        ("OA", 1, 1.0, 30, 0.98, 0.97, 0.99, 0.88, 0.1),
        ("OA", 1, 0.1, 12800, 0.4, 0.39, 0.41, 0.37, 0.03),
    ]
    names = ["level", "conversation_length", "known_fraction", "n_speakers", "observed"]
    names += ["observed_low", "observed_high", "reference", "contribution"]
    return pd.DataFrame(rows, columns=names)


def test_summary_rows_find_the_numbers_that_they_reproduce(summary):
    found = found_in(summary, attacker="ignorant").set_index("item")
    assert set(found.index) == {
        "ignorant_L1_N12800_signal_observed",
        "ignorant_L1_N12800_signal_contribution",
        "ignorant_L1_N12800_OA+HH1_observed",
        "ignorant_L1_N12800_OA+HH1_contribution",
        "L1_N12800_signal_reference",
        "N30_OA_reference",
    }
    values = found.loc["ignorant_L1_N12800_OA+HH1_observed", ["reproduced", "low", "high"]]
    assert values.tolist() == [0.395, 0.38, 0.41]
    assert np.isnan(found.loc["N30_OA_reference", "low"])
    table = compare(found.reset_index(), evidence=SIMULATED)
    assert set(table["verdict"]) == {"matches"}


def test_one_attackers_rows_reproduce_no_other_attackers_numbers(summary):
    found = found_in(summary, attacker="semi-informed")
    geography = {"L1_N12800_signal_reference", "N30_OA_reference"}
    assert set(found["item"]) == {"semi_L1_N12800_OA+HH1_contribution", *geography}


def test_summary_that_claims_a_number_twice_is_refused(summary):
    with pytest.raises(VoicePrivacyError, match="2 rows of the summary claim this number"):
        found_in(pd.concat([summary, summary]), attacker="ignorant")


def test_files_come_back_as_they_were_and_the_rest_of_the_paper_is_not_run(tmp_path):
    table = compare({"L1_N12800_OA_reference": 0.3701, OA: NotRun("a GPU")}, evidence=SIMULATED)
    path = write_comparison(table, tmp_path, "si_table1")
    assert path == tmp_path / "si_table1.csv"
    other = compare({OA: 0.58}, evidence=SIMULATED)
    write_comparison(other, tmp_path, "si_figure1_isolation")
    foreign = compare({"table1_SR": 39.1}, paper="SRC", evidence=SIMULATED)
    write_comparison(foreign, tmp_path, "src_table1")
    back = read_comparisons(tmp_path)
    assert list(dict.fromkeys(back["item"])) == published("SI")["item"].tolist()
    assert back["item"].value_counts()[OA] == 2
    mine = back.query("notebook == 'si_table1'").drop(columns="notebook").reset_index(drop=True)
    pd.testing.assert_frame_equal(mine, table)
    rest = back[back["notebook"] == ""]
    assert set(rest["verdict"]) == {"not run"}
    assert set(rest["evidence"]) == {""}
    assert len(rest) == len(published("SI")) - 2


def test_a_file_that_is_no_comparison_is_named(tmp_path):
    (tmp_path / "curves.csv").write_text("n,value\n30,0.9\n")
    with pytest.raises(VoicePrivacyError, match=r"curves.csv: no comparison, it lacks .*'item'"):
        read_comparisons(tmp_path)


def test_page_shows_three_decimals_everything_and_nothing_from_outside():
    items = {
        OA: (0.58512, 0.5701, 0.6),
        "L1_N12800_OA_block": 124.63,
        "evaluations": 24751,
        "order_ignorant_sign": {"signal only": -0.02, "OA+HH1": 0.01},
    }
    long = "a remark longer than any column that pandas would print in full by itself"
    table = compare(items, evidence=SIMULATED, notes={OA: long})
    html = show_comparison(table).to_html()
    for text in ("0.585 (0.570 to 0.600)", "124.6", "24,751", "signal only &lt; 0 &lt;", long):
        assert text in html
    assert "http" not in html
    assert "script" not in html
    assert html == show_comparison(table).to_html()


def test_page_leaves_out_columns_that_say_nothing_and_ids_differ_between_tables():
    plain = show_comparison(compare({OA: 0.585}, evidence=SIMULATED)).to_html()
    assert ">note<" not in plain
    other = show_comparison(compare({OA: 0.586}, evidence=SIMULATED)).to_html()
    ids = [html.split('<table id="')[1].split('"')[0] for html in (plain, other)]
    assert ids[0] != ids[1]


def test_page_says_shared_evidence_once_and_mixed_evidence_in_each_row():
    tables = [compare({OA: 0.5}, evidence=SIMULATED)]
    html = show_comparison(tables[0]).to_html()
    assert "<caption>Evidence: simulated embeddings</caption>" in html
    assert html.count("simulated embeddings") == 1
    tables.append(compare({OA: 0.4}, evidence=evidence_of("speech", corpus="A & B")))
    html = show_comparison(pd.concat(tables, ignore_index=True)).to_html()
    assert "<caption>" not in html
    assert "speech: A &amp; B" in html
    assert "A &amp; B</caption>" in show_comparison(tables[1]).to_html()


def test_evidence_labels_are_made_and_not_typed():
    for label in (SIMULATED, evidence_of("published"), evidence_of("speech", corpus="X")):
        assert checked_evidence(label) == label
    for typed in ("simulated", "speech: ", "speech:X", ""):
        with pytest.raises(VoicePrivacyError, match="is no evidence label"):
            checked_evidence(typed)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: evidence_of("audio"), "'audio'; expected one of 'published', 'simulated'"),
        (lambda: evidence_of("speech"), "speech names its corpus"),
        (lambda: evidence_of("simulated", corpus="X"), "only speech does"),
        (lambda: compare({OA: 0.5}, evidence="simulated"), "is no evidence label"),
        (lambda: compare({"nonsense": 0.5}, evidence=SIMULATED), "no number or bound or ordering"),
        (lambda: compare({OA: {"a": 1}}, evidence=SIMULATED), "expected one number, got terms"),
        (lambda: compare({OA: (0.5, 0.6, 0.7)}, evidence=SIMULATED), r"0.5 lies outside .*\[0.6"),
        (lambda: compare({OA: 0.5}, evidence=SIMULATED, notes={"x": "y"}), "not compared: 'x'"),
        (
            lambda: compare({"order_attackers": 0.5}, evidence=SIMULATED),
            r"each of its terms \(ignorant < semi-informed\), as a mapping; got 0.5",
        ),
        (
            lambda: compare({"order_attackers": {"ignorant": 0.3}}, evidence=SIMULATED),
            "no value for 'semi-informed' among 'ignorant'",
        ),
        (
            lambda: compare(pd.DataFrame({"item": [OA]}), evidence=SIMULATED),
            "lacks 'reproduced', 'low', 'high'",
        ),
        (
            lambda: compare(
                pd.DataFrame({"item": [OA] * 2, "reproduced": 0.5, "low": 0.4, "high": 0.6}),
                evidence=SIMULATED,
            ),
            f"repeats '{OA}'",
        ),
        (lambda: found_in(pd.DataFrame(), attacker="lazy"), "'lazy'; expected one of 'ignorant'"),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(VoicePrivacyError, match=message):
        call()


def test_sizes_of_subsets_are_judged_on_the_papers_corpus_only():
    found = PUBLISHED.assign(women=[5_602, np.nan], hours=[323.5, 1_408.4])
    own, other = (
        compare_sizes(found, evidence=evidence_of("speech", corpus=corpus))
        for corpus in ("Common Voice 11.0, English", "Common Voice 17.0, English")
    )
    verdicts = own.set_index("item")["verdict"]
    odd = {"A_women": "differs", "B_women": "not run", "B_hours": "differs"}
    assert verdicts[verdicts != "matches"].to_dict() == odd
    assert own["paper"].tolist()[:4] == ["22,024", "5,601", "16,423", "234,945"]
    assert set(own["locator"]) == {"V25, Table 1"}
    assert set(other["verdict"]) == {"stand-in data", "not run"}
    assert list(own) == COLUMNS
