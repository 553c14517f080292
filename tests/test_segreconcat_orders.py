"""AR and SR against literal implementations and librosa."""

import pickle
import sys
import warnings

import numpy as np
import plain_segreconcat as plain
import pytest

from voiceprivacy._dtw import acoustic_distances, mfccs
from voiceprivacy.errors import VoicePrivacyError
from voiceprivacy.segreconcat import (
    SegReConcat,
    order_acoustic,
    order_random,
    order_semantic,
    pieces,
)

RATE = 16_000


def noisy_tones(seed, n_samples=RATE, n_words=8):
    """An utterance of tones in noise, and the spans of its words."""
    rng = np.random.default_rng(seed)
    cuts = np.sort(rng.choice(np.arange(200, n_samples), 2 * n_words, replace=False))
    samples = 0.01 * rng.standard_normal(n_samples)
    for start, end in cuts.reshape(-1, 2):
        samples[start:end] += np.sin(np.arange(end - start) * rng.uniform(0.05, 1.5))
    return samples.astype(np.float32), cuts.reshape(-1, 2)


def frames(rng, n_words):
    return [rng.normal(0, 10, (13, n)) for n in rng.integers(1, 12, n_words)]


@pytest.fixture(scope="module")
def librosa():
    return pytest.importorskip("librosa")


@pytest.mark.parametrize("seed", range(3))
def test_distances_are_those_of_librosas_dtw(librosa, seed):
    words = frames(np.random.default_rng(seed), 7)
    expected = [[librosa.sequence.dtw(a, b)[0][-1, -1] for b in words] for a in words]
    np.testing.assert_allclose(acoustic_distances(words), expected, rtol=0, atol=1e-6)


def test_distances_of_real_words_are_those_of_librosas_dtw(librosa):
    samples, spans = noisy_tones(0)
    words = mfccs(samples, spans)
    expected = [[librosa.sequence.dtw(a, b)[0][-1, -1] for b in words] for a in words]
    np.testing.assert_allclose(acoustic_distances(words), expected, rtol=0, atol=1e-6)


def test_distances_are_those_of_the_literal_recursion():
    for seed in range(20):
        words = frames(np.random.default_rng(seed), 3)
        expected = [[plain.dtw(a.T, b.T) for b in words] for a in words]
        np.testing.assert_allclose(acoustic_distances(words), expected, rtol=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_mfccs_are_librosas(librosa, seed):
    samples, spans = noisy_tones(seed)
    samples[3000:9000] = 0
    spans = np.vstack([spans, [2000, 9000]])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # librosa warns of words shorter than its window
        expected = [librosa.feature.mfcc(y=samples[a:b], sr=RATE, n_mfcc=13) for a, b in spans]
    for ours, theirs in zip(mfccs(samples, spans), expected, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=2e-3)


def test_words_shorter_than_a_frame_have_mfccs():
    samples, _ = noisy_tones(0)
    words = np.array([[0, 1], [100, 400], [RATE - 1, RATE]])
    assert [m.shape for m in mfccs(samples, words)] == [(13, 1)] * 3
    assert sorted(order_acoustic(samples, words).tolist()) == [0, 1, 2]


def test_silent_words_are_put_in_order_too():
    words = np.array([[0, 4000], [4000, 8000], [8000, 12_000]])
    assert order_acoustic(np.zeros(RATE, np.float32), words).tolist() == [0, 1, 2]


@pytest.mark.parametrize("lead", [False, True])
@pytest.mark.parametrize("seed", range(15))
def test_acoustic_order_is_the_literal_greedy_chain(seed, lead):
    samples, spans = noisy_tones(seed, n_words=6)
    start, words = pieces(spans, len(samples))
    assert start > 0
    heard = [m.T.tolist() for m in mfccs(samples, words)]
    if lead:
        silence = mfccs(samples, np.array([[0, start]]))[0].T.tolist()
        expected = [k - 1 for k in plain.acoustic([silence, *heard])[1:]]
    else:
        expected = plain.acoustic(heard)
    order = order_acoustic(samples, words, start if lead else 0)
    assert order.tolist() == expected
    assert sorted(order) == list(range(6))


def test_acoustic_order_without_lead_starts_with_the_first_word():
    for seed in range(5):
        samples, spans = noisy_tones(seed)
        assert order_acoustic(samples, spans)[0] == 0


def test_acoustic_order_goes_from_like_to_like():
    tone = [np.sin(np.arange(4000) * pitch) for pitch in (0.1, 1.0, 0.1, 1.0)]
    words = np.arange(0, 16_001, 4000)
    order = order_acoustic(
        np.concatenate(tone).astype(np.float32), np.column_stack([words[:-1], words[1:]])
    )
    assert order.tolist() == [0, 2, 1, 3]


def test_semantic_order_is_the_literal_greedy_chain():
    for seed in range(100):
        rng = np.random.default_rng(seed)
        features = rng.normal(size=(rng.integers(2, 12), 6))
        order = order_semantic(features)
        assert order.tolist() == plain.semantic(features.tolist())
        assert sorted(order) == list(range(len(features)))


def test_semantic_order_hand_worked():
    # Cosines: 0-1 .6, 0-2 0, 1-2 .8, so 1 is most similar on average, then 2, then 0.
    assert order_semantic(np.array([[1, 0], [0.6, 0.8], [0, 1.0]])).tolist() == [1, 2, 0]


def test_equally_similar_words_keep_their_order():
    assert order_semantic(np.ones((5, 4))).tolist() == [0, 1, 2, 3, 4]
    samples = np.tile(np.sin(np.arange(4000)), 4).astype(np.float32)
    words = np.array([[0, 4000], [4000, 8000], [8000, 12_000], [12_000, 16_000]])
    assert order_acoustic(samples, words).tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("n_words", [0, 1])
def test_fewer_than_two_words_have_one_order(n_words):
    words = np.array([[10, 20]])[:n_words]
    assert order_acoustic(np.zeros(RATE, np.float32), words, 10).tolist() == list(range(n_words))
    assert order_semantic(np.ones((1, 4))[:n_words]).tolist() == list(range(n_words))


def test_random_orders_are_uniform():
    counts = np.zeros((3, 3))
    for seed in range(3000):
        counts[np.arange(3), order_random(3, np.random.default_rng(seed))] += 1
    # Each of nine cells is binomial(3000, 1/3): standard deviation 26.
    assert abs(counts - 1000).max() < 5 * 26


class Initials:
    """An encoder whose features are a word's first samples; it counts its calls."""

    name = "initials"

    def __init__(self):
        self.calls = 0

    def encode(self, waveforms, padding="short"):
        self.calls += 1
        self.padding = padding
        return np.array([waveform[:2] for waveform in waveforms])


def test_semantic_order_encodes_each_piece_once():
    samples = np.zeros(12, np.float32)
    samples[[3, 6, 9]] = 1.0, 0.6, 0.0
    samples[[4, 7, 10]] = 0.0, 0.8, 1.0
    spans = np.array([[3, 5], [6, 8], [9, 11]])
    encoder = Initials()
    method = SegReConcat("sr", encoder=encoder)
    for epoch in range(3):
        assert method.word_order(samples, spans, "u", epoch).tolist() == [1, 2, 0]
    assert encoder.calls == 1
    assert encoder.padding == "short"
    SegReConcat("sr", encoder=encoder, padding="window").word_order(samples, spans, "u")
    assert encoder.padding == "window"
    assert method.orders["u"].tolist() == [1, 2, 0]


@pytest.mark.parametrize("boundaries", ["gapless", "tight"])
def test_acoustic_order_is_that_of_the_pieces_and_their_lead(boundaries):
    for seed in range(8):
        samples, spans = noisy_tones(seed)
        lead, words = pieces(spans, len(samples), boundaries)
        order = SegReConcat("ar", boundaries=boundaries).word_order(samples, spans, "u")
        assert order.tolist() == order_acoustic(samples, words, lead).tolist()


def test_known_orders_are_used():
    samples, spans = noisy_tones(0)
    method = SegReConcat("sr", orders={"u": np.arange(8)[::-1]})
    assert method.word_order(samples, spans, "u").tolist() == list(range(8))[::-1]


def test_settings_and_orders_travel_to_other_processes():
    samples, spans = noisy_tones(0)
    method = SegReConcat("ar", seed=3)
    method.augmented(samples, spans, "u")
    there = pickle.loads(pickle.dumps(method))
    assert there == method
    assert there.orders["u"].tolist() == method.orders["u"].tolist()


def test_semantic_order_needs_an_encoder():
    with pytest.raises(VoicePrivacyError, match=r"encoder=.*WhisperRecogniser"):
        SegReConcat("sr").augmented(np.ones(9), np.array([[0, 2], [2, 4]]), "u")


def test_known_orders_are_refused_for_other_words():
    samples, spans = noisy_tones(0)
    method = SegReConcat("ar")
    method.augmented(samples, spans, "u")
    with pytest.raises(VoicePrivacyError, match=r"'u' has 3 words, but 8 .* new SegReConcat"):
        method.augmented(samples, spans[:3], "u")


def test_missing_librosa_is_named_with_its_extra(monkeypatch):
    from voiceprivacy import _dtw

    _dtw._mel_filters.cache_clear()
    monkeypatch.setitem(sys.modules, "librosa", None)
    with pytest.raises(VoicePrivacyError, match=r"librosa.*voiceprivacy\[speech\]"):
        order_acoustic(*noisy_tones(0))
