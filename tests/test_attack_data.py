"""Speech for an attack: who trains, who enrols, who is tried, and where the words are."""

import numpy as np
import pytest
from vpac_tree import write_vpac

from voiceprivacy.attack_data import spoken, without_words
from voiceprivacy.errors import VoicePrivacyError
from voiceprivacy.vpac import vpac

SMALL = {"n_training": 2, "n_evaluation": 4, "n_utterances": 3, "n_enrolment": 1}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("attack")


@pytest.fixture(scope="module")
def data(folder):
    return spoken(folder, "mcadams", **SMALL, workers=2)


def test_nobody_is_both_trained_on_and_tried(data):
    groups = [set(data.training.table["speaker"])]
    groups += [set(subset.trials.table["speaker"]) for subset in data.subsets.values()]
    assert [len(group) for group in groups] == [2, 4, 4]
    assert len(set.union(*groups)) == 10
    for subset, group in zip(data.subsets.values(), groups[1:], strict=True):
        assert sorted(subset.genders[s] for s in group) == ["female"] * 2 + ["male"] * 2


def test_an_utterance_enrols_or_is_tried(data):
    for subset in data.subsets.values():
        assert len(subset.enrolment) == 4 * 1
        assert len(subset.trials) == 4 * 2
        assert set(subset.enrolment.table["speaker"]) == set(subset.trials.table["speaker"])
        assert not set(subset.enrolment.table["utterance"]) & set(subset.trials.table["utterance"])


def test_words_lie_inside_the_anonymized_speech(data):
    for row, utterance in enumerate(data.training.table["utterance"]):
        spans = data.words.spans(utterance)
        assert len(spans) >= 8
        assert spans[-1, 1] <= len(data.training.audio(row))


def test_words_move_with_the_tempo(folder, data):
    """Anonymizers that stretch time say by how much."""
    moved = spoken(folder, "resample", **SMALL)
    utterance = data.training.table["utterance"][0]
    before, after = data.words.spans(utterance), moved.words.spans(utterance)
    factor = len(moved.training.audio(0)) / len(data.training.audio(0))
    np.testing.assert_allclose(after, before * factor, rtol=0.02, atol=900)


def test_numbers_that_leave_nothing_to_try_are_refused(tmp_path):
    for wrong in ({"n_enrolment": 3}, {"n_evaluation": 3}, {"n_training": 1}):
        with pytest.raises(VoicePrivacyError, match="utterances left to try"):
            spoken(tmp_path, "mcadams", **(SMALL | wrong))
    assert not list(tmp_path.iterdir())


def test_who_rearranges_nothing_needs_no_words(tmp_path):
    tree = vpac(write_vpac(tmp_path).parents[1], "T8-5")
    data = without_words("T8-5", tree)
    assert (data.training, data.subsets) == (tree.train, tree.subsets)
    assert data.words.table.empty
