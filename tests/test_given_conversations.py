"""Singling out with calibration speech of its own."""

import numpy as np
import pytest
from test_conversation_trials import speech

from voiceprivacy.errors import VoicePrivacyError
from voiceprivacy.given_conversations import isolate_given

PEOPLE = {f"s{i:02d}": 6 for i in range(20)}


def literal(test, calibration, enrolment):
    """One utterance each to test, all others to calibrate with, everybody in the set."""

    def unit(matrix):
        return matrix / np.linalg.norm(matrix, axis=-1, keepdims=True)

    people = np.unique(test.speakers)
    tests = unit(test.matrix)
    isolated = []
    for name in people:
        probe = unit(unit(enrolment.matrix[enrolment.speakers == name]).mean(axis=0))
        levels = np.sort(unit(calibration.matrix) @ probe)[::-1]
        m = (calibration.speakers == name).sum()
        threshold = (levels[m - 1] + levels[m]) / 2
        isolated.append((tests @ probe > threshold).sum() == 1)
    return np.mean(isolated)


def test_it_is_the_definition_by_hand():
    test = speech("t", dict.fromkeys(PEOPLE, 1), dimension=3)
    calibration, enrolment = speech("c", PEOPLE, 3, seed=1), speech("e", PEOPLE, 3, seed=2)
    found = isolate_given(test, calibration, enrolment, draws=1, splits=2)
    assert found.sizes.tolist() == [20]
    assert found.n_calibration.tolist() == [6] * 20
    assert found.isolated.mean() == literal(test, calibration, enrolment)


def test_what_is_tested_is_never_calibrated_with():
    """Calibration speech opposite to the probes: a threshold at its best, the others' zeros."""
    counts = {"a": 2, "b": 2, "c": 2}
    test, calibration, enrolment = (speech(kind, counts, 3) for kind in "tce")
    for part, matrix in ((test, np.eye(3)), (enrolment, np.eye(3)), (calibration, -np.eye(3))):
        object.__setattr__(part, "matrix", np.repeat(matrix, 2, axis=0).astype(np.float32))
    found = isolate_given(test, calibration, enrolment, draws=1, splits=3)
    assert (found.threshold == 0).all()
    assert found.summary()["observed"].tolist() == [1.0]


def test_longer_conversations_and_several_sizes():
    test, calibration, enrolment = (speech(kind, PEOPLE, seed=k) for k, kind in enumerate("tce"))
    found = isolate_given(test, calibration, enrolment, sizes=[20, 5], length=2, splits=2)
    assert found.isolated.shape == (1, 20, 2, 5, 2, 1)
    assert found.n_calibration.tolist() == [3] * 20
    again = isolate_given(test, calibration, enrolment, sizes=[5, 20], length=2, splits=2)
    assert (again.isolated == found.isolated).all()


def test_who_lacks_something_is_counted():
    test = speech("t", {"a": 2, "b": 2, "c": 2, "short": 1})
    calibration = speech("c", {"a": 2, "b": 2, "short": 2, "only": 2}, seed=1)
    enrolment = speech("e", {"a": 1, "strange": 1, "short": 1}, seed=2)
    found = isolate_given(test, calibration, enrolment, length=2, splits=2)
    assert found.targets.tolist() == ["a"]
    assert found.counts == {
        "eligible": 2,
        "left_out": 3,
        "without_side_information": 0,
        "enrolled_not_in_pool": 1,
        "enrolled_left_out": 1,
    }


@pytest.mark.parametrize(
    ("parts", "options", "message"),
    [
        (({"a": 1}, {"b": 1}, {"a": 1}), {}, "the test has 'a', the calibration 'b'"),
        (({"a": 1}, {"a": 1}, {"b": 1}), {}, "there are 'a', enrolled 'b'"),
        (({"a": 1}, {"a": 1}, {"a": 1}), {"sizes": [2]}, r"N = 2 cannot be drawn: 1 speakers"),
        (({"a": 1}, {"a": 1}, {"a": 1}), {"length": 2}, "2 utterances to test and 2 to calib"),
    ],
)
def test_speech_that_is_missing_is_told(parts, options, message):
    test, calibration, enrolment = map(speech, "tce", parts)
    with pytest.raises(VoicePrivacyError, match=message):
        isolate_given(test, calibration, enrolment, **options)


def test_speech_on_two_sides_is_refused():
    test, other, third = (speech(kind, PEOPLE) for kind in "tce")
    with pytest.raises(VoicePrivacyError, match="both in the test and in the enrolment"):
        isolate_given(test, other, test)
    with pytest.raises(VoicePrivacyError, match="both in the calibration and in the enrolment"):
        isolate_given(test, other, other)
    with pytest.raises(VoicePrivacyError, match="both in the calibration and in the test"):
        isolate_given(test, test, third)
