"""Remarks on what was fitted agree with the table of what was fitted."""

from voiceprivacy.evidence import evidence_of
from voiceprivacy.fit_notes import fit_notes
from voiceprivacy.published import published

ALL = list(published("SI")["item"])


def test_only_the_numbers_behind_the_fit_are_called_fitted():
    notes = fit_notes(ALL, evidence_of("simulated"))
    fitted = {item for item, note in notes.items() if "was fitted" in note}
    assert fitted == {
        "semi_L1_N3200_signal_observed",
        "semi_L3_N3200_signal_observed",
        "semi_L30_N3200_signal_observed",
        "semi_L1_N12800_OA_observed",
        "semi_L1_N12800_OA_contribution",
    }
    assert notes["ignorant_L1_N12800_OA+HH1_observed"] == "the fit did not see it"


def test_what_needs_no_voice_has_no_remark():
    notes = fit_notes(ALL, evidence_of("simulated"))
    assert not {"L1_N12800_OA_reference", "order_levels_semi", "targets"} & set(notes)


def test_real_speech_was_fitted_to_nothing():
    assert fit_notes(ALL, evidence_of("speech", corpus="Common Voice 11")) == {}
