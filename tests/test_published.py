"""The papers' numbers: complete, consistent with each other, and found by name."""

import sys

import numpy as np
import pytest

from voiceprivacy.errors import VoicePrivacyError
from voiceprivacy.published import published, v25_curves, value


@pytest.fixture(scope="module")
def si():
    return published("SI").set_index("item")


@pytest.fixture(scope="module")
def src():
    return published("SRC").set_index("item")


@pytest.mark.parametrize("paper", ["SI", "SRC", "V25"])
def test_every_item_has_a_name_of_its_own_and_a_place_in_the_paper(paper):
    table = published(paper)
    assert table["item"].is_unique
    assert (table["item"] != "").all()
    place = r"(Sec\. ((IV|V)-[A-D]|4\.2\.\d), para\. \d|Table [12]$|Sec\. 5$)"
    assert table["locator"].str.match(place).all()
    assert set(table["kind"]) <= {"number", "bound", "ordering"}


@pytest.mark.parametrize("paper", ["SI", "SRC", "V25"])
def test_values_lie_inside_what_the_print_leaves_open(paper):
    table = published(paper).query("kind != 'ordering'")
    assert table[["value", "low", "high"]].notna().all(axis=None)
    assert ((table["low"] <= table["value"]) & (table["value"] <= table["high"])).all()


@pytest.mark.parametrize("paper", ["SI", "SRC"])
def test_exact_prints_stand_for_half_a_unit_of_their_last_digit(paper):
    table = published(paper)
    table = table[table["printed"].str.fullmatch(r"-?\d+\.\d+")]
    assert len(table) >= 15
    np.testing.assert_allclose(table["value"], table["printed"].astype(float))
    unit = 10.0 ** -table["printed"].str.extract(r"\.(\d+)$")[0].str.len()
    np.testing.assert_allclose(table["value"] - table["low"], unit / 2, atol=1e-12)
    np.testing.assert_allclose(table["high"] - table["value"], unit / 2, atol=1e-12)


def test_side_information_numbers_agree_with_each_other(si):
    numbers = si["value"]
    delta = numbers["semi_L1_N12800_OA_observed"] - numbers["L1_N12800_OA_reference"]
    assert delta == pytest.approx(numbers["semi_L1_N12800_OA_contribution"])
    delta = numbers["ignorant_L1_N12800_signal_observed"] - numbers["L1_N12800_signal_reference"]
    assert delta == pytest.approx(numbers["ignorant_L1_N12800_signal_contribution"])
    evaluations = numbers["targets"] * numbers["draws"] * numbers["splits"]
    assert evaluations == numbers["evaluations"]
    assert si.loc["reference_limit", "low"] < np.exp(-1) < si.loc["reference_limit", "high"]


def test_orderings_have_two_terms_or_more_and_no_value(si):
    orderings = si.query("kind == 'ordering'")
    assert (orderings["printed"].str.split(" < ").str.len() >= 2).all()
    assert orderings[["value", "low", "high"]].isna().all(axis=None)
    assert orderings["printed"]["order_levels_semi"] == "signal only < MSOA < LSOA < OA"


def test_segreconcat_tables_are_whole_and_their_averages_add_up(src):
    assert len(src.filter(like="table1", axis=0)) == 11
    table2 = src.filter(like="table2", axis=0)
    cells = table2.pivot(index=["system", "attacker"], columns=["subset", "gender"], values="value")
    assert cells.shape == (14, 7)
    assert cells.notna().all(axis=None)
    for subset in ("dev-clean", "test-clean"):
        mean = (cells[subset, "female"] + cells[subset, "male"]) / 2
        np.testing.assert_allclose(mean, cells[subset, "average"], atol=0.0051)
    mean = (cells["dev-clean", "average"] + cells["test-clean", "average"]) / 2
    np.testing.assert_allclose(mean, cells["average", "average"], atol=0.0101)


def test_segreconcat_tables_share_two_numbers(src):
    numbers = src["value"]
    assert numbers["table1_no_augmentation"] == numbers["table2_T8-5_Baseline_average"]
    best = numbers["table2_T8-5_SegReConcat+SpecAug_average"]
    assert numbers["table1_RR+concatenation+SpecAug"] == best


def test_segreconcat_orderings_hold_in_its_own_tables(src):
    numbers = src.query("kind == 'number' and subset == 'average'")
    of_t8_5 = numbers[numbers["locator"] == "Table 1"].set_index("attacker")["value"]
    table2 = numbers[numbers["locator"] == "Table 2"]
    for item, row in src.query("kind == 'ordering'").iterrows():
        values = of_t8_5
        if "Baseline" in row["printed"]:
            of_system = table2[table2["system"] == row["system"]]
            values = of_system.set_index(of_system["attacker"].str.split(" ").str[0])["value"]
        terms = [values[term] for term in row["printed"].split(" < ")]
        assert terms == sorted(terms), item


def test_all_papers_together_and_one_number():
    assert set(published()["paper"]) == {"SI", "SRC", "V25"}
    assert published()["item"].is_unique
    assert value("SI", "ignorant_L1_N12800_OA+HH1_observed") == 0.395
    assert value("SRC", "table1_SR") == 39.10


def test_an_item_says_in_words_what_it_is_about(si, src):
    words = "semi-informed, OA, L = 1, N = 12,800: observed isolation"
    assert si["about"]["semi_L1_N12800_OA_observed"] == words
    assert si["about"]["speakers_A"] == "speakers in set A"
    words = "B4, SegReConcat, dev-clean, male: EER in %"
    assert src["about"]["table2_B4_SegReConcat_dev_male"] == words


def test_numbers_in_the_text_of_v25_agree_with_its_curves():
    curves = v25_curves().set_index(["metric", "attacker", "conversation_length", "n"])["value"]
    text = published("V25").dropna(subset="n_speakers")
    text["n_speakers"] = text["n_speakers"].replace(10_000, 9920)  # the nearest point
    assert len(text) == 5
    for row in text.itertuples():
        at = curves[row.quantity, row.attacker, row.conversation_length, row.n_speakers]
        assert row.low <= at <= row.high, row.item


def test_changing_a_returned_table_changes_no_other():
    table = published("SI")
    table.loc[:, "value"] = 0
    assert value("SI", "targets") == 495


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: published("V26"), "'V26'; expected one of 'SI', 'SRC', 'V25'"),
        (lambda: value("SI", "semi_L1_N12800_OA_obs"), "nearest are 'semi_L1_N12800_OA_observed'"),
        (lambda: value("SI", "order_attackers"), "no number or bound 'order_attackers'"),
    ],
)
def test_unknown_names_are_refused(call, message):
    with pytest.raises(VoicePrivacyError, match=message):
        call()


def test_v25_curves_hold_nine_panels_of_four_attackers():
    curves = v25_curves()
    assert list(curves) == ["metric", "attacker", "conversation_length", "n", "value", "std"]
    assert set(curves["attacker"]) == {"original", "informed", "semi-informed", "ignorant"}
    counts = curves.groupby(["metric", "conversation_length", "attacker"])["value"].size()
    assert len(counts) == 36
    assert counts["linkability"].unique().tolist() == [220]
    assert counts["singling out", 30].unique().tolist() == [8]
    assert curves["value"].between(0, 1).all()
    assert curves.equals(curves.sort_values(list(curves)[:4], ignore_index=True))


def test_v25_spread_that_was_not_kept_is_unknown_not_zero():
    unknown = v25_curves().groupby("metric")["std"].apply(lambda std: std.isna().mean())
    assert unknown.to_dict() == {"eer": 0, "linkability": 0, "singling out": 1}


def test_v25_curves_name_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "legal_eval", None)
    with pytest.raises(VoicePrivacyError, match=r"pip install 'voiceprivacy\[test\]'"):
        v25_curves()
