"""Troubles that users of tools like this one really met, by the public report of each.

`HELD` names the tests that hold the right value where a module's own tests do; the cases that
cross modules, or that had no test with the numbers of the report, follow below.
"""

import ast
import itertools

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from conftest import ROOT
from nbformat.v4 import new_code_cell, new_notebook
from test_segmentation import save
from test_singling_out import corpus

from voiceprivacy.census.ages import AGES
from voiceprivacy.cli import main
from voiceprivacy.corpora import read_folder
from voiceprivacy.embeddings import Embeddings, write_embeddings
from voiceprivacy.intervals import wilson
from voiceprivacy.linkability import TiesWarning
from voiceprivacy.linkability_scores import linkability_of_scores
from voiceprivacy.parameters import declared_parameters, from_text
from voiceprivacy.segmentation import Found, segment

# The report, and the tests that hold the right value.
HELD = {
    # stray quotes that swallow rows
    "pytorch/audio#2838": """
        test_common_voice.py::test_stray_quotes_stay_what_they_are
        test_common_voice.py::test_a_quote_that_never_closes_swallows_nothing""",
    # other rates and stereo
    "speechbrain/speechbrain#1150": """
        test_corpora.py::test_any_rate_and_channels_come_out_as_16_khz_mono
        test_corpora.py::test_a_low_rate_is_noted_once_whoever_read_the_table
        test_extractors.py::test_the_extractor_hears_one_sound_whatever_the_file""",
    # libraries that dropped what others call, modules that reload
    "speechbrain/speechbrain#2977": """
        test_models.py::test_a_model_is_loaded_beside_libraries_that_dropped_what_others_call
        test_models.py::test_a_notebook_that_reloads_modules_goes_on_after_a_model_is_loaded
        test_extractors.py::test_packages_that_do_not_fit_are_named_with_versions""",
    # links that a system refuses
    "speechbrain/speechbrain#893": """
        test_models.py::test_a_folder_is_used_where_it_lies
        test_models.py::test_a_model_of_the_hub_is_fetched_by_its_name""",
    # new words for gender, columns in another order
    "common-voice/common-voice PR#4330": """
        test_common_voice.py::test_old_and_new_words_of_gender
        test_common_voice.py::test_columns_are_found_by_name""",
    # Kaldi tables that contradict each other
    "Voice-Privacy-Challenge/Voice-Privacy-Challenge-2022#26": """
        test_kaldi.py::test_contradictions_are_told_by_pair_of_tables_with_counts_and_ids
        test_kaldi.py::test_what_all_tables_have_is_read_on_request
        test_kaldi.py::test_an_id_that_occurs_twice_is_refused_with_its_lines
        test_kaldi.py::test_spk2utt_stands_in_for_utt2spk_and_is_never_needed
        test_kaldi.py::test_missing_genders_are_unknown_and_wrong_ones_refused""",
    # paths and pipes in wav.scp
    "Voice-Privacy-Challenge/Voice-Privacy-Challenge-2024 PR#5": """
        test_kaldi.py::test_paths_are_read_in_every_form_without_a_shell
        test_kaldi.py::test_other_forms_are_refused_by_line_and_never_run
        test_kaldi.py::test_a_path_that_looks_like_a_command_is_no_permission""",
    # the same file name in two folders
    "speechbrain/speechbrain#2555": """
        test_extractors.py::test_equal_file_names_of_two_speakers_are_two_sounds
        test_extractors.py::test_original_and_anonymized_sound_of_one_id_share_a_store
        test_corpora.py::test_a_name_that_repeats_puts_the_folder_before_every_id""",
    # neighbours in a batch
    "speechbrain/speechbrain#1374": """
        test_extractors.py::test_no_part_s_size_nor_order_changes_an_embedding
        test_extractors.py::test_resemblyzer_does_not_mix_neighbours
        test_models.py::test_an_embedding_depends_on_its_utterance_alone""",
    # pickled checkpoints, packages that fail on import
    "pytorch/audio#3911": """
        test_sidekit.py::test_a_checkpoint_that_is_more_than_weights_needs_its_checksum
        test_models.py::test_weights_that_are_more_than_weights_are_refused
        test_models.py::test_one_library_that_does_not_fit_stops_no_other""",
    # half precision on a CPU, a missing library, a missing program
    "SYSTRAN/faster-whisper#14": """
        test_segmentation_whisper.py::test_half_precision_on_a_cpu_falls_back_with_a_notice
        test_segmentation_whisper.py::test_a_library_whose_absence_kills_is_met_in_another_process
        test_user_troubles.py::test_an_mp3_is_heard_without_ffmpeg""",
    # identifiers turned into numbers
    "nteract/papermill#345": """
        test_runner.py::test_identifiers_and_numbers_arrive_as_declared
        test_parameters.py::test_a_wrong_kind_is_refused_with_what_to_give
        test_user_troubles.py::test_identifiers_survive_the_command_line""",
    # impossible word times
    "openai/whisper#831": """
        test_segmentation_repairs.py::test_impossible_spans_of_a_recogniser_are_repaired
        test_segmentation_timestamps.py::test_times_are_clamped_to_what_decodes""",
    # the forties' spelling, the limits of teens
    "common-voice/cv-dataset#45": """
        test_census_areas.py::test_groups_cover_every_age_once
        test_speakers.py::test_spellings_of_age
        test_user_troubles.py::test_the_years_of_age_words_are_told_with_the_metric""",
    # sex by single year of age for output areas
    "ons_2021_demography_sex_by_single_year_of_age": """
        test_census_layouts.py::test_ts009_does_not_exist_for_output_areas
        test_census_areas.py::test_ts009_and_ts003_alone_do_not_reach_output_areas""",
    # byte-order marks, columns named by year, names for codes
    "drkane/geo-lookups#2": """
        test_census_areas.py::test_any_year_of_districts_is_recorded
        test_census_areas.py::test_two_years_of_districts
        test_census_areas.py::test_repeated_output_area
        test_census_areas.py::test_names_in_place_of_codes
        test_census_layouts.py::test_encodings""",
    # notebooks that name another kernel, or none
    "nteract/papermill#638": """
        test_runner.py::test_the_kernel_is_python_whatever_the_notebook_names
        test_runner.py::test_a_missing_kernel_is_named_with_the_installed_ones_and_the_command
        test_notebooks.py::test_the_notebook_keeps_the_rules""",
    # version 2, a contents page without root, an absent page
    "jupyter-book/jupyter-book#1690": """
        test_book.py::test_another_major_version_of_jupyter_book_is_refused
        test_book.py::test_faults_of_the_table_of_contents_are_named_by_entry
        test_book.py::test_a_page_that_was_not_built_is_named""",
    # tools that differ on the same scores
    "clovaai/voxceleb_trainer#11": """
        test_eer.py::test_worked_by_hand
        test_eer.py::test_the_stated_rule_names_itself_and_its_unit
        test_eer.py::test_order_and_monotone_changes_of_scores_do_not_matter
        test_verification.py::test_results_are_kept_and_read_back""",
    # trials without a vector, in another order, twice
    "wenet-e2e/wespeaker#118": """
        test_verification.py::test_all_that_lacks_a_vector_is_told_before_scoring
        test_verification.py::test_the_rest_is_scored_on_request_and_the_lost_share_told
        test_kaldi.py::test_bad_lines_of_trials_are_all_told_with_their_numbers""",
    # few or equal scores that pass for privacy, or give NaN
    "magnet/anonymization_metrics": """
        test_linkability.py::test_embeddings_that_are_all_the_same_are_told
        test_linkability.py::test_useless_scores_are_at_chance
        test_user_troubles.py::test_few_or_equal_scores_are_never_read_as_privacy""",
    # rows alike for every method, distances for similarities, negative scores
    "Voice-Privacy-Challenge/Voice-Privacy-Challenge-2024#37": """
        test_verification.py::test_rows_are_told_apart_by_which_sides_are_anonymized
        test_eer.py::test_reversed_scores_are_warned_about_and_not_turned_round""",
    # words from silence
    "openai/whisper#1838": """
        test_segmentation_repairs.py::test_a_loop_alone_is_no_speech
        test_augment.py::test_too_few_words_are_noted_and_the_utterance_stands_twice
        test_user_troubles.py::test_silence_and_noise_have_no_words_whatever_a_recogniser_says""",
    # one-pass generators, words that are None
    "SYSTRAN/faster-whisper#143": """
        test_segmentation_whisper.py::test_segments_without_words_are_told_and_lose_no_others
        test_segmentation_whisper.py::test_an_utterance_without_word_times_has_no_words""",
    # short clips taken for another language
    "m-bain/whisperX#333": """
        test_segmentation_whisper.py::test_language_and_task_are_never_left_to_a_guess""",
    # other words on a second run
    "m-bain/whisperX#47": """
        test_augment.py::test_same_bytes_for_any_workers_and_any_order_of_files
        test_augment.py::test_an_eleventh_file_changes_none_of_the_first_ten
        test_segmentation.py::test_neither_order_nor_company_changes_words
        test_segmentation_whisper.py::test_the_name_holds_all_that_changes_words""",
    # fillers, word(2), inclusive frames, silence removal
    "cmusphinx/pocketsphinx-python#43": """
        test_segmentation_pocketsphinx.py::\
test_fillers_are_gaps_variants_words_and_last_frames_belong_to_them
        test_segmentation_pocketsphinx.py::\
test_times_past_the_clip_are_an_error_that_names_the_option
        test_segmentation.py::test_recognisers_hear_one_sound_whatever_the_file""",
    # rates of 0 and 1, no attack at all, an attack no better than its baseline
    "statice/anonymeter#29": """
        test_intervals.py::test_wilson_matches_scipy_and_stays_inside
        test_intervals.py::test_wilson_takes_arrays_and_knows_nothing_without_trials
        test_user_troubles.py::test_rates_of_attacks_at_their_limits
        test_user_troubles.py::test_an_attack_at_chance_is_inconclusive""",
    # codes that vanish in joins
    "nismod/ukpopulation#33": """
        test_census_codes.py::test_each_kind_is_named
        test_census_areas.py::test_areas_missing_from_one_table
        test_census_layouts.py::test_codes_in_the_wrong_case
        test_user_troubles.py::test_codes_that_no_table_has_are_told_with_the_metric""",
    # incomplete downloads
    "virgesmith/UKCensusAPI#26": """
        test_census_layouts.py::test_fewer_rows_than_announced
        test_census_layouts.py::test_web_page
        test_census_layouts.py::test_heading_only
        test_census_layouts.py::test_text_in_a_count
        test_census_layouts.py::test_two_exports_pasted_together
        test_census_fetch.py::test_rows_that_are_missing""",
    # braces, blanks and folders in a notebook's path
    "nteract/papermill#316": """
        test_runner.py::test_blanks_accents_braces_and_a_missing_folder_are_fine
        test_runner.py::test_the_notebook_runs_in_the_current_folder_whichever_that_is""",
    # parts that do not add up, households for persons, other countries
    "openego/eGon-data#1530": """
        test_census_areas.py::test_more_adults_than_residents_after_disclosure_control
        test_census_areas.py::test_how_far_the_tables_differ_is_said
        test_census_areas.py::test_people_counted_as_households
        test_census_layouts.py::test_unit_line_of_the_other_unit
        test_census_layouts.py::test_codes_of_scotland_among_others
        test_user_troubles.py::test_codes_that_no_table_has_are_told_with_the_metric""",
}


@pytest.mark.parametrize("report", HELD)
def test_the_tests_that_hold_a_case_are_there(report):
    for name in HELD[report].split():
        file, test = name.split("::")
        tree = ast.parse((ROOT / "tests" / file).read_text("utf-8"))
        assert test in {n.name for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)}, name


def test_an_mp3_is_heard_without_ffmpeg(tmp_path, monkeypatch):
    """openai/whisper PR#2776: no program is called to decode, so none can be missing."""
    soundfile = pytest.importorskip("soundfile", reason="the speech extra is not installed")
    (tmp_path / "s").mkdir()
    wave = np.sin(np.arange(16_000) / 20).astype(np.float32)
    soundfile.write(tmp_path / "s" / "u.mp3", wave, 16_000, format="MP3")
    monkeypatch.setenv("PATH", "")
    heard = read_folder(tmp_path).audio(0)
    assert abs(len(heard) - 16_000) < 2_000
    assert 0.5 < np.abs(heard).max() <= 1.1


IDS = ["0084", "1089_134686", "1e5", "None", "0012", "no", "true", "1089-134686-0000"]


def test_identifiers_survive_the_command_line():
    """nteract/papermill#345: 84, 1089134686, 100000.0, None, 10 and False elsewhere."""
    cell = new_code_cell('speaker: str = "a"', metadata={"tags": ["parameters"]})
    declared = declared_parameters(new_notebook(cells=[cell]))
    assert [from_text([("speaker", i)], declared, "n")["speaker"] for i in IDS] == IDS


def test_the_years_of_age_words_are_told_with_the_metric(tmp_path):
    """common-voice/cv-dataset#45, common-voice/common-voice PR#5038: both spellings, one range."""
    words = ["teens", "twenties", "fourties", "forties", "nineties", "", "Twenties ", "forties"]
    people = pd.DataFrame({"speaker": [f"s{k:04d}" for k in range(40)], "age": words * 5})
    voices = corpus(40, 10)
    people["speaker"] = np.unique(voices.speakers)
    people.assign(gender="f").to_csv(tmp_path / "people.csv", index=False)
    write_embeddings(voices, tmp_path / "pool.npz")
    write_embeddings(corpus(40, 2, kind="b"), tmp_path / "enrolment.npz")
    files = [str(tmp_path / name) for name in ("pool.npz", "enrolment.npz")]
    table = ["--side-information", str(tmp_path / "people.csv"), "--columns", "age"]
    isolated = ["isolate", *files, *table, "--out", str(tmp_path / "out")]
    assigned = ["assign", str(tmp_path / "people.csv"), "--out", str(tmp_path / "geo.csv")]
    told = (
        "Years in 'age': teens are 16 to 19, twenties are 20 to 29, forties are 40 to 49, "
        "nineties are 90 and over."
    )
    for arguments in (isolated, assigned):
        done = CliRunner().invoke(main, arguments)
        assert done.exit_code == 0, done.output
        assert told in done.output
    ranges = list(AGES.values())
    assert all(one.high + 1 == other.low for one, other in itertools.pairwise(ranges))


def test_few_or_equal_scores_are_never_read_as_privacy():
    """The public script gives 0 for 9 clearly higher mated scores, and NaN for equal ones.

    Linkability here is a rank among N candidates and has no bins. Equal scores count as linked,
    as in the papers' own program, with a warning: the error is on the side of caution.
    """
    names = [f"s{k}" for k in range(9)]
    clear = linkability_of_scores(np.eye(9), names, names)
    assert clear.mean([9]).tolist() == [1.0]
    names = [f"s{k}" for k in range(100)]
    with pytest.warns(TiesWarning, match="100 of 100"):
        equal = linkability_of_scores(np.full((100, 100), 0.5), names, names)
    assert equal.mean([100]).tolist() == [1.0]
    assert not equal.summary().drop(columns="chance").isna().any(axis=None)


class Inventive:
    """Returns closing phrases where nobody speaks, and one word over and over."""

    name = "inventive"

    def find(self, samples, utterance):
        times = zip(["see", "you", "next", "time"], (0, 0.5, 1, 1.5), strict=True)
        phrase = [Found(word, at, at + 0.4, 0.9, 0.9) for word, at in times]
        return [*phrase, *(Found("so", 2 + k / 10, 2.1 + k / 10) for k in range(30))]


def test_silence_and_noise_have_no_words_whatever_a_recogniser_says(tmp_path):
    """speaches-ai/speaches#133, openai/whisper PR#1838: 5 s of zeros, and of faint noise."""
    noise = np.random.default_rng(0).normal(0, 1e-3, 80_000).astype(np.float32)
    save(tmp_path / "s" / "noise.wav", noise)
    save(tmp_path / "s" / "zeros.wav", np.zeros(80_000, np.float32))
    save(tmp_path / "s" / "faint.wav", noise / 2)
    words = segment(read_folder(tmp_path), Inventive())
    assert len(words.table) == 0
    without = words.no_words.set_index("utterance")["reason"]
    assert without.to_dict() == {"faint": "silent", "noise": "nothing left", "zeros": "silent"}
    assert {"loop", "no speech"} <= set(words.repairs["repair"])


@pytest.mark.parametrize(("successes", "trials"), [(100, 100), (0, 100), (1, 1), (2, 100)])
def test_rates_of_attacks_at_their_limits(successes, trials):
    """statice/anonymeter#29, #32, #33: a negative root at 100 %, zero width at 0 %."""
    low, high = wilson(successes, trials)
    assert 0 <= low <= successes / trials <= high <= 1
    assert high - low > 0.01
    assert np.isnan(wilson(0, 0)).all()


def test_an_attack_at_chance_is_inconclusive(tmp_path):
    """statice/anonymeter#33: an attack that is not above its baseline proves no safety."""
    rng = np.random.default_rng(0)
    speakers = np.repeat([f"s{k}" for k in range(40)], 6)
    for kind in ("pool", "enrolment"):
        ids = [f"{kind}{k}" for k in range(len(speakers))]
        voices = Embeddings(ids, speakers, rng.normal(size=(len(ids), 8)))
        write_embeddings(voices, tmp_path / f"{kind}.npz")
    files = [str(tmp_path / name) for name in ("pool.npz", "enrolment.npz")]
    done = CliRunner().invoke(main, ["isolate", *files, "--out", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    assert "Mind: inconclusive for 'signal only'" in done.output
    assert "this is no proof of safety" in done.output


def test_codes_that_no_table_has_are_told_with_the_metric(tmp_path):
    """nismod/ukpopulation#33, openego/eGon-data#1530: none is dropped, none passes unseen."""
    codes = ["E07000097", "E01003296", "e06000001 ", "X99999999", "S12000036", "N09000003"]
    voices = corpus(40, 10)
    places = pd.Series([*codes, *["E06000001"] * 34], index=np.unique(voices.speakers), name="LAD")
    places.rename_axis("speaker").to_csv(tmp_path / "places.csv")
    write_embeddings(voices, tmp_path / "pool.npz")
    write_embeddings(corpus(40, 2, kind="b"), tmp_path / "enrolment.npz")
    files = [str(tmp_path / name) for name in ("pool.npz", "enrolment.npz")]
    table = ["--side-information", str(tmp_path / "places.csv"), "--columns", "LAD"]
    done = CliRunner().invoke(main, ["isolate", *files, *table, "--out", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    assert "40 speakers took part" in done.output
    assert "Mind: 6 of 40 codes in 'LAD' are none of Census 2021" in done.output
    for told in ("abolished before the census, now E07000242", "LSOA code of 2011, it seems",
                 "wrong case", "no known kind", "of Scotland", "of Northern Ireland"):  # fmt: skip
        assert told in done.output
