"""Conversations: disjointness, counts, and what the authors' combinations share."""

import numpy as np
import pytest
from test_singling_out import corpus

from voiceprivacy.conversations import (
    by_speaker,
    conversation_embeddings,
    draw_conversations,
    enrolment_embeddings,
    with_at_least,
)
from voiceprivacy.errors import VoicePrivacyError


def draw(counts, length, **options):
    start = np.concatenate([[0], np.cumsum(counts)])
    return start, draw_conversations(start, length, np.random.default_rng(0), **options)


@pytest.mark.parametrize("length", [1, 3])
def test_disjoint_conversations_share_nothing_and_stay_with_their_speaker(length):
    start, plan = draw([2 * length, 8 * length - 1, 40 * length], length)
    assert plan.n_calibration.tolist() == [1, 6, 9]
    assert len(np.unique(plan.utterances)) == plan.utterances.size
    for speaker in range(3):
        own = plan.utterances[plan.start[speaker] : plan.start[speaker + 1]]
        assert ((own >= start[speaker]) & (own < start[speaker + 1])).all()


@pytest.mark.parametrize(
    ("length", "count", "conversations", "distinct"),
    [(1, 10, 9, 9), (3, 6, 1, 3), (3, 7, 4, 4), (3, 10, 9, 7), (3, 30, 9, 11), (30, 60, 1, 30),
     (30, 61, 9, 31), (30, 75, 9, 38)],
)  # fmt: skip
def test_combinations_are_as_few_and_as_close_as_in_the_authors_code(
    length, count, conversations, distinct
):
    _, plan = draw([count], length, calibration="combinations")
    assert plan.n_calibration.tolist() == [conversations]
    assert len(np.unique(plan.utterances[1:])) == distinct
    assert not np.isin(plan.utterances[0], plan.utterances[1:]).any()


def test_every_utterance_is_as_often_the_test():
    rng = np.random.default_rng(0)
    start = np.arange(0, 4001, 4)
    first = draw_conversations(start, 1, rng).utterances[::4, 0] % 4
    assert np.bincount(first, minlength=4) == pytest.approx([250] * 4, abs=60)


def test_a_conversation_is_the_unit_mean_of_unit_vectors():
    rows = by_speaker(corpus(3, 6))
    plan = draw_conversations(rows.start, 2, np.random.default_rng(0))
    vectors = conversation_embeddings(rows.matrix, plan)
    mean = rows.matrix[plan.utterances].mean(axis=1)
    np.testing.assert_allclose(vectors, mean / np.linalg.norm(mean, axis=1)[:, None], atol=1e-6)
    enrolled = enrolment_embeddings(rows)
    mean = rows.matrix.reshape(3, 6, -1).mean(axis=1)
    np.testing.assert_allclose(enrolled, mean / np.linalg.norm(mean, axis=1)[:, None], atol=1e-6)


def test_the_readers_data_are_left_alone():
    pool = corpus(3, 6)
    before = pool.matrix.copy()
    rows = by_speaker(pool)
    conversation_embeddings(rows.matrix, draw_conversations(rows.start, 2, np.random.default_rng()))
    np.testing.assert_array_equal(pool.matrix, before)


def test_speakers_with_too_few_utterances_go():
    pool = corpus(3, 6)
    rows = with_at_least(by_speaker(pool.select(np.arange(18) != 7)), 6)
    assert rows.speakers.tolist() == ["s00000", "s00002"]
    assert rows.counts.tolist() == [6, 6]
    assert len(rows.matrix) == 12


def test_an_unknown_calibration_is_named():
    with pytest.raises(VoicePrivacyError, match="'both'; expected one of disjoint, combinations"):
        draw([10], 1, calibration="both")
