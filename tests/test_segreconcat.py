"""Cutting, rearranging and concatenating, by invariants and hand-worked cases."""

import numpy as np
import pandas as pd
import pytest

from voiceprivacy.corpora import read_folder
from voiceprivacy.errors import VoicePrivacyError
from voiceprivacy.segmentation import Segmentation
from voiceprivacy.segreconcat import BOUNDARIES, CONTROLS, SegReConcat, pieces, rearranged

SAMPLES = np.arange(20, dtype=np.float32)
SPANS = np.array([[2, 5], [7, 10], [10, 13], [15, 18]])


def random_case(seed):
    """An utterance whose samples all differ, its spans and an order."""
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(2, 400)), int(rng.integers(1, 20))
    k = min(k, n // 2)
    cuts = np.sort(rng.choice(n + 1, 2 * k, replace=False)).reshape(k, 2)
    return rng.permutation(n).astype(np.float32), cuts, rng.permutation(k)


def test_gapless_rearrangement_is_a_permutation_of_the_samples():
    for samples, spans, order in map(random_case, range(200)):
        moved = rearranged(samples, spans, order)
        assert len(moved) == len(samples)
        assert sorted(moved) == sorted(samples)
        assert (moved[: spans[0, 0]] == samples[: spans[0, 0]]).all()


@pytest.mark.parametrize("boundaries", BOUNDARIES)
def test_rearrangement_is_what_slices_give(boundaries):
    for samples, spans, order in map(random_case, range(100)):
        ends = [*spans[1:, 0], len(samples)] if boundaries == "gapless" else spans[:, 1]
        lead = spans[0, 0] if boundaries == "gapless" else 0
        expected = list(samples[:lead])
        for word in order:
            expected += list(samples[spans[word, 0] : ends[word]])
        assert rearranged(samples, spans, order, boundaries=boundaries).tolist() == expected


@pytest.mark.parametrize("strategy", ["rr", "ar", "same", "reversed"])
def test_concatenation_has_exactly_twice_the_length(strategy):
    for seed in range(25):
        samples, spans, _ = random_case(seed)
        augmented = SegReConcat(strategy).augmented(samples, spans, "u")
        assert len(augmented) == 2 * len(samples)
        assert (augmented[: len(samples)] == samples).all()


def test_pieces_hand_worked():
    lead, words = pieces(SPANS, 20)
    assert lead == 2
    assert words.tolist() == [[2, 7], [7, 10], [10, 15], [15, 20]]
    assert pieces(SPANS, 20, "tight")[0] == 0


def test_tight_drops_pauses_lead_and_tail_as_the_authors_rr():
    moved = rearranged(SAMPLES, SPANS, np.array([3, 1, 0, 2]), boundaries="tight")
    assert moved.tolist() == [15, 16, 17, 7, 8, 9, 2, 3, 4, 10, 11, 12]
    augmented = SegReConcat("rr", boundaries="tight").augmented(SAMPLES, SPANS, "u")
    assert len(augmented) == 20 + 12


def test_a_span_at_the_end_of_the_file():
    spans = np.array([[0, 5], [5, 20]])
    for boundaries in BOUNDARIES:
        moved = rearranged(SAMPLES, spans, np.array([1, 0]), boundaries=boundaries)
        assert moved.tolist() == [*range(5, 20), *range(5)]


def test_the_order_of_words_is_uniform_over_utterances():
    method = SegReConcat("rr", concatenate=False)
    spans = np.array([[0, 1], [1, 2], [2, 3]])
    seen = [tuple(method.augmented(np.arange(3), spans, f"{u}").tolist()) for u in range(1200)]
    counts = pd.Series(seen).value_counts()
    # Six orders, each binomial(1200, 1/6): standard deviation 13.
    assert len(counts) == 6
    assert abs(counts - 200).max() < 5 * 13


def test_random_numbers_depend_on_seed_utterance_and_epoch_alone():
    samples, spans, _ = random_case(5)
    assert len(spans) > 8

    def once(seed=0, utterance="a", epoch=0):
        return SegReConcat("rr", seed=seed).augmented(samples, spans, utterance, epoch).tobytes()

    expected = once()
    again = SegReConcat("rr")
    for utterance in ("b", "c", "a"):
        last = again.augmented(samples, spans, utterance)
    assert last.tobytes() == expected
    assert len({expected, once(seed=1), once(utterance="b"), once(epoch=1)}) == 4


def test_original_first_or_a_coin_for_each_utterance():
    method = SegReConcat("reversed", order="random")
    first = [method.augmented(SAMPLES, SPANS, f"{u}")[0] == 0 for u in range(400)]
    assert abs(sum(first) - 200) < 5 * 10
    assert first == [method.augmented(SAMPLES, SPANS, f"{u}")[0] == 0 for u in range(400)]
    epochs = [method.augmented(SAMPLES, SPANS, "u", epoch)[0] == 0 for epoch in range(40)]
    assert 0 < sum(epochs) < 40


def test_controls():
    def augmented(strategy, **settings):
        return SegReConcat(strategy, **settings).augmented(SAMPLES, SPANS, "u").tolist()

    same = SAMPLES.tolist()
    assert augmented("none") == augmented("none", concatenate=False) == same
    assert augmented("same") == same + same
    assert augmented("same", boundaries="tight") == same + same
    assert augmented("reversed") == same + same[::-1]
    assert augmented("reversed", concatenate=False) == same[::-1]
    for strategy in CONTROLS:
        assert SegReConcat(strategy).word_order(SAMPLES, SPANS, "u").tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("boundaries", BOUNDARIES)
@pytest.mark.parametrize("strategy", ["rr", "ar", "sr"])
@pytest.mark.parametrize("spans", [np.empty((0, 2), int), np.array([[3, 6]])])
def test_fewer_than_two_words_are_their_own_rearrangement(strategy, spans, boundaries):
    method = SegReConcat(strategy, boundaries=boundaries)
    assert method.augmented(SAMPLES, spans, "u").tolist() == 2 * SAMPLES.tolist()
    assert method.word_order(SAMPLES, spans, "u").tolist() == list(range(len(spans)))


def test_no_words_leave_the_utterance_as_it_is():
    assert rearranged(SAMPLES, [], []).tolist() == SAMPLES.tolist()


def test_a_cross_fade_mixes_what_the_utterance_goes_on_with():
    samples = np.array([0, 0, 0, 0, 8, 8, 8, 8], np.float32)
    spans = np.array([[0, 4], [4, 8]])
    moved = rearranged(samples, spans, np.array([1, 0]), crossfade=4 / 16_000)
    # The second word is followed by silence, the first preceded by silence: 8 fades to 0.
    assert moved.tolist() == [8, 8, 8 * 7 / 8, 8 * 5 / 8, 0, 0, 0, 0]


def test_a_cross_fade_goes_from_one_words_surroundings_to_the_others():
    samples = np.repeat(np.array([1, 2, 4, 6], np.float32), 8)
    spans = np.array([[0, 8], [8, 16], [16, 24], [24, 32]])
    moved = rearranged(samples, spans, np.array([0, 2, 1, 3]), crossfade=4 / 16_000)
    # Where 4 meets 2: before the joint 4 and what preceded 2, which is 1; behind it what followed
    # 4, which is 6, and 2.
    weights = np.array([1, 3, 5, 7]) / 8
    before, after = np.array([4, 4, 6, 6]), np.array([1, 1, 2, 2])
    assert moved[14:18].tolist() == (before * (1 - weights) + after * weights).tolist()
    assert moved[8:14].tolist() != samples[16:22].tolist()  # 1 meets 4 there


@pytest.mark.parametrize("boundaries", BOUNDARIES)
def test_a_cross_fade_keeps_the_length_and_the_middles_of_words(boundaries):
    for samples, spans, order in map(random_case, range(100)):
        plain = rearranged(samples, spans, order, boundaries=boundaries)
        faded = rearranged(samples, spans, order, boundaries=boundaries, crossfade=10 / 16_000)
        assert len(faded) == len(plain)
        lead, words = pieces(spans, len(samples), boundaries)
        joints = lead + np.cumsum([0, *np.diff(words[order])[:-1, 0]])
        near = joints[:, None] + np.arange(-5, 5)
        assert np.isin(np.flatnonzero(faded != plain), near).all()


def test_a_cross_fade_leaves_neighbours_alone():
    samples = np.random.default_rng(0).standard_normal(100).astype(np.float32)
    spans = np.column_stack([np.arange(2, 100, 14), np.arange(16, 114, 14)])
    moved = rearranged(samples, spans, np.arange(7), crossfade=6 / 16_000)
    assert (moved == samples).all()


def test_cross_fades_at_the_two_ends_of_a_short_word_do_not_meet():
    samples = np.random.default_rng(0).standard_normal(37).astype(np.float32)
    cuts = np.cumsum([0, 9, 5, 9, 5, 9])
    spans = np.column_stack([cuts[:-1], cuts[1:]])
    moved = rearranged(samples, spans, np.arange(5)[::-1], crossfade=0.01)
    middles = [4, 11, 18, 25, 32]
    assert moved[middles].tolist() == samples[middles[::-1]].tolist()
    assert not np.isin(moved[cuts[1:-1]], samples).any()


def test_a_cross_fade_is_off_by_default_and_leaves_the_input_alone():
    assert SegReConcat("rr").crossfade == 0
    samples = SAMPLES.copy()
    rearranged(samples, SPANS, np.array([3, 2, 1, 0]), crossfade=0.001)
    assert (samples == SAMPLES).all()


@pytest.mark.parametrize(
    "spans",
    [
        [[2, 5], [4, 8]],
        [[2, 5], [5, 5]],
        [[5, 8], [2, 4]],
        [[-1, 4]],
        [[2, 21]],
    ],
)
def test_impossible_spans_are_refused(spans):
    with pytest.raises(VoicePrivacyError, match="follow one another within 20 samples"):
        pieces(np.array(spans), 20)


def test_an_order_that_is_none_is_refused():
    for order in ([0, 1, 2], [0, 1, 2, 2], [0, 1, 2, 4]):
        with pytest.raises(VoicePrivacyError, match="name each of 4 words once"):
            rearranged(SAMPLES, SPANS, np.array(order))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"strategy": "shuffle"}, "strategy 'shuffle'; expected one of rr, ar, sr, none"),
        ({"boundaries": "loose"}, "boundaries 'loose'; expected one of gapless, tight"),
        ({"order": "first"}, "order 'first'; expected one of original_first, random"),
        ({"padding": "long"}, "padding 'long'; expected one of short, window"),
        ({"crossfade": -0.1}, "cross-fade of -0.1 s"),
        ({"crossfade": 10}, "cross-fade of 10 s"),
    ],
)
def test_unknown_settings_are_refused(settings, message):
    with pytest.raises(VoicePrivacyError, match=message):
        SegReConcat(**{"strategy": "rr"} | settings)


def test_the_name_tells_all_settings():
    variants = [
        SegReConcat("rr"),
        SegReConcat("ar"),
        SegReConcat("rr", concatenate=False),
        SegReConcat("rr", boundaries="tight"),
        SegReConcat("rr", order="random"),
        SegReConcat("rr", crossfade=0.01),
        SegReConcat("rr", seed=1),
    ]
    assert len({method.name for method in variants}) == len(variants)


def test_orders_are_prepared_for_a_corpus_by_any_number_of_workers(tmp_path):
    soundfile = pytest.importorskip("soundfile")
    rng = np.random.default_rng(0)
    rows = []
    for name in ("a", "b", "c"):
        (tmp_path / "s").mkdir(exist_ok=True)
        soundfile.write(tmp_path / "s" / f"{name}.flac", 0.1 * rng.standard_normal(16_000), 16_000)
        rows += [(name, "", 4000 * k, 4000 * k + 3000) for k in range(4)]
    words = pd.DataFrame(rows, columns=["utterance", "word", "start", "end"])
    segmentation = Segmentation("drawn", words)
    corpus = read_folder(tmp_path)
    one, two = SegReConcat("ar"), SegReConcat("ar")
    one.prepare(corpus, segmentation)
    two.prepare(corpus, segmentation, workers=2)
    assert sorted(one.orders) == ["a", "b", "c"]
    assert all((one.orders[u] == two.orders[u]).all() for u in one.orders)
    random = SegReConcat("rr")
    random.prepare(corpus, segmentation)
    assert random.orders == {}
