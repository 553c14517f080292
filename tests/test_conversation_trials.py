"""Trials of conversations: who is tested, with what, and who is left out."""

import numpy as np
import pytest

from voiceprivacy.conversation_trials import draw_trials
from voiceprivacy.embeddings import Embeddings
from voiceprivacy.errors import VoicePrivacyError


def speech(kind, counts, dimension=4, seed=0):
    """Random embeddings: so many utterances of each speaker."""
    speakers = [name for name, count in counts.items() for _ in range(count)]
    ids = [f"{name}-{kind}{i}" for name, count in counts.items() for i in range(count)]
    matrix = np.random.default_rng(seed).normal(size=(len(ids), dimension))
    return Embeddings(ids, speakers, matrix)


def unit(vector):
    return vector / np.linalg.norm(vector)


def test_a_conversation_is_the_mean_of_distinct_unit_utterances():
    test, enrolment = speech("t", {"a": 3, "b": 3}), speech("e", {"a": 2, "b": 4}, seed=1)
    trials = draw_trials(test, enrolment, length=3, draws=2)
    units = test.matrix / np.linalg.norm(test.matrix, axis=1, keepdims=True)
    for draw in range(2):  # all three utterances, whatever the order
        np.testing.assert_allclose(trials.tests[draw, 0], unit(units[:3].mean(axis=0)), atol=1e-6)
    known = enrolment.matrix / np.linalg.norm(enrolment.matrix, axis=1, keepdims=True)
    np.testing.assert_allclose(trials.enrolled[1], unit(known[2:].mean(axis=0)), atol=1e-6)


def test_enrolment_may_be_the_first_utterances():
    test, enrolment = speech("t", {"a": 1, "b": 1}), speech("e", {"b": 3, "a": 3}, seed=1)
    trials = draw_trials(test, enrolment, n_enrolment=1)
    np.testing.assert_allclose(trials.enrolled[0], unit(enrolment.matrix[3]), atol=1e-6)
    np.testing.assert_allclose(trials.enrolled[1], unit(enrolment.matrix[0]), atol=1e-6)


def test_everybody_who_is_not_tested_is_named():
    test = speech("t", {"a": 2, "short": 1, "strange": 5})
    enrolment = speech("e", {"silent": 1, "a": 1, "short": 1}, seed=1)
    trials = draw_trials(test, enrolment, length=2)
    assert trials.speakers.tolist() == ["a"]
    assert trials.candidates.tolist() == ["a", "short", "silent"]
    assert dict(trials.left_out.to_numpy().tolist()) == {
        "strange": "not enrolled",
        "short": "too few test utterances",
        "silent": "no test speech",
    }
    assert len(trials.left_out) == 3
    assert len(draw_trials(test, enrolment).left_out) == 2  # one utterance is enough for L = 1


def test_blocks_are_the_cosines_whatever_their_size(monkeypatch):
    counts = {f"s{i:03d}": 2 for i in range(101)}
    trials = draw_trials(speech("t", counts), speech("e", counts, seed=1), draws=2)
    whole = [scores for _, scores in trials.score_blocks(1)]
    np.testing.assert_allclose(whole[0], trials.tests[1] @ trials.enrolled.T, atol=1e-6)
    monkeypatch.setattr("voiceprivacy.conversation_trials.BLOCK_SCORES", 101 * 48)
    parts = list(trials.score_blocks(1))
    assert [block for block, _ in parts] == [slice(0, 48), slice(48, 96), slice(96, 101)]
    assert (np.concatenate([scores for _, scores in parts]) == whole[0]).all()


def test_the_order_of_rows_does_not_matter():
    counts = {"a": 5, "b": 4, "c": 6}
    test, enrolment = speech("t", counts), speech("e", counts, seed=1)
    expected = draw_trials(test, enrolment, length=2, seed=3).tests
    shuffled = test.select(np.random.default_rng(2).permutation(len(test)))
    assert (draw_trials(shuffled, enrolment, length=2, seed=3).tests == expected).all()
    assert (draw_trials(test, enrolment, length=2, seed=4).tests != expected).any()


@pytest.mark.parametrize(
    ("test", "enrolment", "options", "message"),
    [
        (speech("t", {"a": 1}), speech("e", {"b": 1, "c": 1}), {}, "the enrolment has 'b', 'c'"),
        (speech("t", {"a": 1}), speech("e", {"a": 1}), {}, "Only one speaker is enrolled"),
        (
            speech("t", {"a": 1}),
            speech("e", {"a": 1, "b": 1}),
            {"length": 2},
            "1 speakers .* 2 utt",
        ),
        (speech("t", {"a": 1}), speech("e", {"a": 1}, dimension=3), {}, "numbers and the enrol"),
        (speech("t", {"a": 1}), speech("t", {"a": 1}), {}, "both in the test and in the enrolment"),
        (
            speech("t", {"a": 1}),
            speech("e", {"a": 1}),
            {"draws": 0},
            "draws is 0; expected a whole",
        ),
        (speech("t", {"a": 1}), speech("e", {"a": 1}), {"n_enrolment": 0}, "n_enrolment is 0"),
    ],
)
def test_what_cannot_be_tried_is_told(test, enrolment, options, message):
    with pytest.raises(VoicePrivacyError, match=message):
        draw_trials(test, enrolment, **options)
