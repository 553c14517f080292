"""Whatever a recogniser reports becomes possible spans, and every repair is counted."""

import numpy as np
import pytest

from voiceprivacy.segmentation import MINIMUM, RULES, Found, repaired

RATE = 16_000


def kinds(repairs):
    return [repair for _, repair, _ in repairs]


def timed(text, start=0.0, **known):
    return [
        Found(word, start + 0.1 * k, start + 0.1 * k + 0.1, **known)
        for k, word in enumerate(text.split())
    ]


def test_impossible_spans_of_a_recogniser_are_repaired():
    found = [
        Found("empty", 0.5, 0.5),
        Found("backwards", 1.2, 0.9),
        Found("before", -0.2, -0.2),
        Found("beyond", 1.7, 2.4),
        Found("long", 0.3, 0.8),
        Found("next", 0.6, 1.0),
    ]
    spans, words, repairs = repaired(found, 2 * RATE)
    assert words == ["long", "next", "beyond"]
    np.testing.assert_array_equal(spans / RATE, [[0.3, 0.6], [0.6, 1.0], [1.7, 2.0]])
    assert spans.dtype == np.int64
    assert [repair[:2] for repair in repairs] == [
        ("empty", "no length"),
        ("backwards", "no length"),
        ("before", "no length"),
        ("beyond", "clamped"),
        ("long", "order"),
        ("next", "order"),
        ("long", "overlap"),
    ]


@pytest.mark.parametrize(
    ("found", "expected", "done"),
    [
        ((-0.5, 0.5), [0, 0.5], ["clamped"]),
        ((0.5, 1.5), [0.5, 1], ["clamped"]),
        ((-1.0, -0.5), None, ["outside"]),
        ((1.0, 1.5), None, ["outside"]),
        ((np.nan, 0.5), None, ["no time"]),
        ((0.2, np.inf), None, ["no time"]),
        ((0.5, 0.5 + MINIMUM - 1 / RATE), None, ["too short"]),
        ((0.5, 0.5 + MINIMUM), [0.5, 0.53], []),
        ((0.99, 1.5), None, ["clamped", "too short"]),
        ((0.0, 1.0), [0, 1], []),
    ],
)
def test_one_word_in_a_second(found, expected, done):
    spans, words, repairs = repaired([Found("w", *found)], RATE)
    assert kinds(repairs) == done
    assert len(words) == len(spans) == (expected is not None)
    if expected:
        np.testing.assert_array_equal(spans[0], np.rint(np.array(expected) * RATE))


def test_a_word_inside_another_cuts_it_and_one_that_is_dropped_does_not():
    spans, words, repairs = repaired([Found("a", 0.1, 0.9), Found("b", 0.4, 0.5)], RATE)
    assert (words, spans[0, 1]) == (["a", "b"], 6400)
    assert kinds(repairs) == ["overlap"]
    spans, words, repairs = repaired([Found("a", 0.1, 0.9), Found("b", 0.4, 0.41)], RATE)
    assert (words, spans[0, 1]) == (["a"], 14_400)
    assert kinds(repairs) == ["too short"]


def test_of_two_words_that_start_together_the_longer_is_kept():
    _, words, repairs = repaired([Found("a", 0.1, 0.2), Found("b", 0.1, 0.9)], RATE)
    assert words == ["b"]
    assert kinds(repairs) == ["overlap", "too short"]


@pytest.mark.parametrize(
    ("text", "kept", "dropped"),
    [
        ("so very very very good", "so very very very good", 0),
        ("so very Very, VERY very good", "so very good", 3),
        ("I think I think I think I think so", "I think so", 6),
        ("a b c d e a b c d e a b c d e a b c d e f", "a b c d e f", 15),
        ("bye " + "see you in the next video, " * 9, "bye see you in the next video,", 48),
        ("so so so so a b a b a b a b end", "so a b end", 9),
        ("a b a b a b c", "a b a b a b c", 0),
        ("- - - - - go", "- - - - - go", 0),
    ],
)
def test_a_phrase_said_over_and_over_is_said_once(text, kept, dropped):
    _, words, repairs = repaired(timed(text), 10 * RATE)
    assert words == kept.split()
    assert kinds(repairs) == ["loop"] * dropped


def test_a_loop_alone_is_no_speech():
    for text in ("thanks " * 30, "for watching " * 9, "no " * 5 + "yes " * 6):
        spans, words, repairs = repaired(timed(text), 10 * RATE)
        assert (spans.shape, words) == ((0, 2), [])
        assert len(repairs) == len(text.split())
        assert set(kinds(repairs)) == {"loop"}


def test_words_where_nobody_speaks_are_dropped_however_sure_they_are():
    found = [
        *timed("thanks for watching", no_speech=0.9),
        *timed("sure", 2.0, probability=0.9, no_speech=0.9),
        *timed("likely", 3.0, no_speech=0.5),
    ]
    _, words, repairs = repaired(found, 5 * RATE)
    assert words == ["likely"]
    assert kinds(repairs) == ["no speech"] * 4


def test_any_report_becomes_possible_spans():
    rng = np.random.default_rng(0)
    for _ in range(300):
        k, n_samples = rng.integers(0, 12), int(rng.integers(1, 2 * RATE))
        times = rng.choice([rng.normal(0.6, 0.8, 2 * k).round(2), np.full(2 * k, 0.3)])
        times[rng.random(2 * k) < 0.05] = np.nan
        found = [Found(rng.choice(["a", "b"]), *pair) for pair in times.reshape(-1, 2)]
        spans, words, repairs = repaired(found, n_samples)
        flat = spans.ravel()
        assert len(words) == len(spans) <= k
        assert set(kinds(repairs)) <= set(RULES)
        assert np.all(np.diff(spans, axis=1) >= MINIMUM * RATE)
        assert np.all(np.diff(flat) >= 0)
        assert not len(flat) or (flat[0] >= 0 and flat[-1] <= n_samples)
        again = [
            Found(w, start / RATE, end / RATE) for w, (start, end) in zip(words, spans, strict=True)
        ]
        if "loop" not in kinds(repaired(again, n_samples)[2]):
            np.testing.assert_array_equal(repaired(again, n_samples)[0], spans)
            assert repaired(again, n_samples)[2] == []
