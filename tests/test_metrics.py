"""The framework's two metrics on embeddings: names, forms of input, and values by hand."""

import numpy as np
import pytest
from test_conversation_trials import speech

import voiceprivacy
from voiceprivacy.errors import VoicePrivacyError
from voiceprivacy.metrics import LinkabilityMetric, SinglingOutMetric


def gaussians(people=12, calibrations=3, noise=0.8, seed=0):
    rng = np.random.default_rng(seed)
    voices = rng.normal(size=(people, 5))
    spoken = [voices + noise * rng.normal(size=voices.shape) for _ in range(2 + calibrations)]
    return spoken[0], spoken[1], np.stack(spoken[2:], axis=1)


def unit(x):
    return x / np.linalg.norm(x, axis=-1, keepdims=True)


def test_the_documented_names_are_there():
    test, enrolment, calibration = gaussians()
    value = voiceprivacy.SinglingOutMetric().compute(
        test_embeddings=test, enrollment_embeddings=enrolment, calibration_embeddings=calibration
    )
    assert isinstance(value, float)
    link = voiceprivacy.LinkabilityMetric().compute(
        test_embeddings=test, enrollment_embeddings=enrolment
    )
    assert isinstance(link, float)


def test_values_by_the_definition():
    test, enrolment, calibration = gaussians()
    scores = unit(enrolment) @ unit(test).T
    levels = np.sort(unit(enrolment) @ unit(calibration).reshape(36, 5).T)[:, ::-1]
    threshold = (levels[:, 2] + levels[:, 3]) / 2
    isolated = (scores > threshold[:, None]).sum(axis=1) == 1
    found = SinglingOutMetric().evaluate(test, enrolment, calibration)
    assert found.value == pytest.approx(isolated.mean())
    assert (found.n_speakers, found.targets, found.left_out) == (12, 12, 0)
    linked = scores.argmax(axis=0) == np.arange(12)
    link = LinkabilityMetric().evaluate(test, enrolment)
    assert link.value == pytest.approx(linked.mean())
    assert link.low < link.value < link.high
    assert link.chance == pytest.approx(1 / 12)


def test_mappings_embeddings_and_arrays_are_the_same():
    test, enrolment, calibration = gaussians()
    names = [f"{k:02d}" for k in range(12)]
    expected = SinglingOutMetric().compute(test, enrolment, calibration)
    by_name = [dict(zip(names, part, strict=True)) for part in (test, enrolment, calibration)]
    assert SinglingOutMetric().compute(*by_name) == expected
    shuffled = [dict(reversed(part.items())) for part in by_name]
    assert SinglingOutMetric().compute(*shuffled) == expected
    embedded = [speech(kind, dict.fromkeys(names, 1), 5) for kind in "te"]
    for part, matrix in zip(embedded, (test, enrolment), strict=True):
        object.__setattr__(part, "matrix", matrix.astype(np.float32))
    assert SinglingOutMetric().compute(*embedded, by_name[2]) == expected


def test_speakers_who_lack_something_are_counted():
    test, enrolment, calibration = gaussians()
    names = [f"{k:02d}" for k in range(12)]
    parts = [dict(zip(names, part, strict=True)) for part in (test, enrolment, calibration)]
    del parts[0]["00"], parts[1]["01"], parts[2]["02"]
    found = SinglingOutMetric().evaluate(*parts)
    assert (found.n_speakers, found.targets, found.left_out) == (10, 9, 3)
    assert LinkabilityMetric().evaluate(*parts[:2]).left_out == 2


def test_fewer_speakers_can_be_asked_for():
    test, enrolment, calibration = gaussians()
    assert SinglingOutMetric().evaluate(test, enrolment, calibration, n_speakers=4).n_speakers == 4
    few = LinkabilityMetric().evaluate(test, enrolment, n_speakers=2).value
    assert few > LinkabilityMetric().compute(test, enrolment)


@pytest.mark.parametrize(
    ("test", "enrolment", "message"),
    [
        (np.ones((3, 2)), np.ones((4, 2)), r"speakers \(test 3, enrollment 4\); row i"),
        (np.ones(3), np.ones(3), r"test_embeddings have shape \(3,\)"),
        ([[1, 2]], np.ones((1, 2)), "test_embeddings are list; expected Embeddings"),
        ({}, np.ones((1, 2)), "test_embeddings are dict"),
        ({"a": [1, 2], "b": [1, 2, 3]}, {"a": [1, 2]}, r"vectors of \[2, 3\] numbers"),
        ({"a": [1, 2]}, {"a": [1, 2, 3], "b": [1, 2, 3]}, "must come from one extractor"),
        (
            {"a": [1, 2]},
            {"b": [1, 2], "c": [1, 2]},
            "both enrolled and tested; the.*same id in both",
        ),
    ],
)
def test_what_does_not_fit_is_refused(test, enrolment, message):
    with pytest.raises(VoicePrivacyError, match=message):
        LinkabilityMetric().compute(test, enrolment)


def test_no_draws_measure_nothing():
    with pytest.raises(VoicePrivacyError, match="draws is 0; expected a whole number from 1 up"):
        SinglingOutMetric().evaluate(np.eye(4), np.eye(4), np.eye(4), n_speakers=2, draws=0)
