"""Attacks: each run once, the same whoever runs it, and told apart by all it depends on."""

from dataclasses import replace

import pandas as pd
import pytest

from voiceprivacy import attacks
from voiceprivacy.attack_data import spoken
from voiceprivacy.attack_study import AttackStudy
from voiceprivacy.attack_tables import every_run
from voiceprivacy.attackers import read_settings
from voiceprivacy.attacks import attack, attack_all
from voiceprivacy.errors import VoicePrivacyError

SPEECH = {"n_training": 4, "n_evaluation": 6, "n_utterances": 5, "n_enrolment": 1}
SETTINGS = replace(read_settings("small"), max_steps=4, evaluate_every=2, batch_size=8)
ROWS = ["no augmentation", "RR+concatenation"]


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return spoken(tmp_path_factory.mktemp("speech"), "mcadams", **SPEECH)


@pytest.fixture(scope="module")
def finished(data, tmp_path_factory):
    """Runs of two rows and their folder."""
    folder = tmp_path_factory.mktemp("runs")
    return attack_all([data], ROWS, [0], SETTINGS, folder), folder


def test_a_run_tells_how_it_was_trained_and_scored(finished):
    (plain, doubled), _ = finished
    assert [plain.row, doubled.row] == ROWS
    assert plain.steps == 4
    assert plain.best_step in (2, 4)
    cells = [(cell.subset, cell.gender) for cell in plain.verification.cells]
    assert cells == [(s, g) for s in ("dev", "test") for g in ("female", "male")]
    assert all(cell.tested.all() for cell in plain.verification.cells)


@pytest.mark.parametrize("empty", ["systems", "rows", "seeds"])
def test_an_empty_list_is_refused(data, tmp_path, empty):
    lists = {"systems": [data], "rows": ROWS, "seeds": [0]} | {empty: []}
    with pytest.raises(VoicePrivacyError, match=f"{empty}: nothing to attack in an empty list"):
        attack_all(**lists, settings=SETTINGS, folder=tmp_path)


@pytest.mark.slow
def test_more_workers_give_the_same_runs(data, finished, tmp_path):
    again = attack_all([data], ROWS, [0], SETTINGS, tmp_path, workers=2)
    pd.testing.assert_frame_equal(every_run(again), every_run(finished[0]), check_exact=True)


def test_a_finished_run_is_read_and_an_interrupted_one_goes_on(data, finished, monkeypatch):
    runs, folder = finished
    asked = []
    original = attacks.train
    monkeypatch.setattr(attacks, "train", lambda *a, **k: asked.append(a) or original(*a, **k))
    again = attack(data, SETTINGS, folder, row="no augmentation")
    assert not asked
    assert again.verification.eer == runs[0].verification.eer
    assert attack(data, SETTINGS, folder, row="No Augmentation").row == "no augmentation"
    assert not asked
    (place,) = folder.glob("mcadams-no_augmentation-seed0-*")
    (place / attacks.ABOUT).unlink()
    assert attack(data, SETTINGS, folder, row="no augmentation").dev_loss == runs[0].dev_loss
    assert len(asked) == 1


def test_whatever_changes_a_result_changes_the_folder(data, monkeypatch):
    def names():
        yield attacks._run_name(data, SETTINGS, "RR")
        yield attacks._run_name(data, replace(SETTINGS, seed=1), "RR")
        yield attacks._run_name(data, replace(SETTINGS, max_steps=5), "RR")
        fewer = replace(data, training=data.training.select(range(len(data.training) - 1)))
        yield attacks._run_name(fewer, SETTINGS, "RR")
        monkeypatch.setattr(attacks, "source_digest", lambda module: "another version")
        yield attacks._run_name(data, SETTINGS, "RR")

    assert len(set(names())) == 5


def test_semantic_rows_need_an_encoder(data, tmp_path):
    with pytest.raises(VoicePrivacyError, match=r"encoder=WhisperRecogniser"):
        attack_all([data], ["SR"], [0], SETTINGS, tmp_path)


def test_orders_by_similarity_are_computed_once(data, tmp_path, monkeypatch):
    first = attacks._orders(data, SETTINGS, "ar", tmp_path, None, 1)
    monkeypatch.setattr(attacks.SegReConcat, "prepare", None)
    second = attacks._orders(data, SETTINGS, "ar", tmp_path, None, 1)
    assert first.keys() == second.keys() == set(data.training.table["utterance"])
    assert all(first[u].tolist() == second[u].tolist() for u in first)


def test_the_challenges_data_need_their_words():
    with pytest.raises(VoicePrivacyError, match="give both vpac and timestamps"):
        AttackStudy("somewhere")


def test_a_wrong_system_is_told_before_speech_is_made(tmp_path):
    study = AttackStudy(folder=str(tmp_path), n_steps=2, workers=1, **SPEECH)
    with pytest.raises(VoicePrivacyError, match="there is no anonymizer 'hybird'"):
        study.run(["mcadams", "hybird"], ["no augmentation"], [3])
    assert not list(tmp_path.iterdir())


def test_a_study_runs_from_nothing(tmp_path):
    study = AttackStudy(folder=str(tmp_path), n_steps=2, workers=1, **SPEECH)
    study.settings = replace(study.settings, batch_size=8)
    (run,) = study.run(["mcadams"], ["no augmentation"], [3])
    assert (run.seed, run.steps) == (3, 2)
    assert study.evidence("mcadams") == "speech: synthetic speech (eSpeak NG)"
