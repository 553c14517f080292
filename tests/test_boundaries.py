"""Words and their times are compared as they would be by hand."""

import itertools

import numpy as np
import pytest

from voiceprivacy._words import Segmentation, report, word_table
from voiceprivacy.boundaries import (
    agreement,
    equal_parts,
    inventory,
    near,
    same_words,
    scores,
    uncovered,
    word_errors,
)
from voiceprivacy.errors import VoicePrivacyError

RATE = 16_000


def words(*rows, name="me", without=()):
    table = [(u, w, round(start * RATE), round(end * RATE)) for u, w, start, end in rows]
    none = report([(u, "silent", "") for u in without], ["utterance", "reason", "detail"])
    return Segmentation(name, word_table(table), no_words=none)


TRUE = words(
    ("u", "I", 0.0, 0.2), ("u", "hear", 0.2, 0.5), ("u", "you", 0.6, 1.0), ("v", "yes", 0.1, 0.5)
)


def test_words_pair_in_order_whatever_their_case():
    pairs = same_words(["the", "cat", "and", "the", "dog"], ["And", "THE", "cat,", "the", "frog"])
    assert pairs.tolist() == [[0, 1], [1, 2], [3, 3]]
    assert same_words([], ["a"]).shape == (0, 2)
    assert same_words(["", "..."], ["", "..."]).shape == (0, 2)


def longest_by_trying(a, b):
    """Most words that two short texts have in common in order, by trying all choices."""
    for k in range(min(len(a), len(b)), 0, -1):
        if set(itertools.combinations(a, k)) & set(itertools.combinations(b, k)):
            return k
    return 0


def test_as_many_words_pair_as_can():
    rng = np.random.default_rng(0)
    for _ in range(100):
        a, b = (list(rng.choice(list("abcd"), rng.integers(0, 8))) for _ in range(2))
        pairs = same_words(a, b)
        assert len(pairs) == longest_by_trying(a, b)
        assert all(a[i] == b[j] for i, j in pairs)
        assert np.all(np.diff(pairs, axis=0) > 0)


def most_by_trying(a, b, tolerance):
    """Most pairs of near times, by trying all ways to pair them."""
    short, long = sorted((a, b), key=len)
    ways = itertools.permutations(long, len(short))
    return max(
        sum(abs(x - y) <= tolerance for x, y in zip(short, way, strict=True)) for way in ways
    )


def test_as_many_times_pair_as_can():
    assert near([], [1], 5) == 0
    rng = np.random.default_rng(0)
    for _ in range(100):
        a, b = (np.sort(rng.integers(0, 12, rng.integers(1, 6))) for _ in range(2))
        assert near(a, b, 2) == near(b, a, 2) == most_by_trying(list(a), list(b), 2)


def test_errors_are_found_minus_true():
    found = words(("u", "Hear", 0.25, 0.45), ("u", "you.", 0.5, 1.1), without=["v"])
    errors = word_errors(TRUE, found)
    assert errors["word"].tolist() == ["hear", "you"]
    np.testing.assert_allclose(errors["start"], [0.05, -0.1])
    np.testing.assert_allclose(errors["end"], [-0.05, 0.1])


def test_agreement_by_hand():
    found = words(
        ("u", "hear", 0.25, 0.5),
        ("u", "so", 0.64, 0.8),
        ("u", "you", 0.8, 0.9),
        ("u", "too", 0.9, 1.3),
        without=["v"],
    )
    row = agreement(TRUE, found).set_index("utterance")
    assert row.loc["u", ["true_words", "found_words"]].tolist() == [3, 4]
    expected = {"same": 2 / 3, "recall": 2 / 3, "precision": 2 / 4, "f": 4 / 7}
    expected["covered"] = (0.25 + 0.36) / 0.9
    np.testing.assert_allclose(row.loc["u", list(expected)].astype(float), list(expected.values()))
    assert row.loc["v", ["found_words", *expected]].tolist() == [0] * 6
    tighter = agreement(TRUE, found, tolerance=0.045).set_index("utterance")
    assert tighter.loc["u", "recall"] == pytest.approx(1 / 3)


def test_words_agree_with_themselves():
    rows = agreement(TRUE, TRUE)
    assert (rows[["same", "recall", "precision", "f", "covered"]] == 1).all(axis=None)
    assert (word_errors(TRUE, TRUE)[["start", "end"]] == 0).all(axis=None)


def test_a_summary_is_of_the_utterances_that_were_searched():
    found = words(("u", "hear", 0.25, 0.5), ("u", "so", 0.64, 0.8), ("u", "you", 0.8, 0.9))
    row = scores(TRUE, found)
    assert row["recall"] == row["precision"] == pytest.approx(2 / 3)
    assert row["late"] == pytest.approx((0.05 + 0.2) / 2)
    whole = scores(TRUE, words(("u", "I", 0.0, 0.2), without=["v"]))
    assert whole["f"] == pytest.approx((2 / 4 + 0) / 2)
    assert whole["f_low"] == 0
    assert whole["f_high"] == 0.5
    assert np.isnan(scores(TRUE, words(without=["u", "v"]))["late"])


def test_an_inventory_counts():
    counts = inventory(words(("u", "a", 0.31, 0.4), ("u", "b", 0.7, 0.8), without=["v"]),
                       {"u": RATE, "v": 9})  # fmt: skip
    assert counts == {
        "utterances": 2, "without": 1, "words": 2, "repairs": 0,
        "before": 1, "between": 0, "after": 0,
    }  # fmt: skip
    assert inventory(TRUE, {"u": RATE, "v": 9}, pause=0.09)["between"] == 1


def test_stretches_without_words_are_measured():
    gaps = uncovered(TRUE, {"u": 2 * RATE, "v": 8000}).set_index("utterance")
    np.testing.assert_allclose(gaps.loc["u"], [0, 0.1, 1])
    np.testing.assert_allclose(gaps.loc["v"], [0.1, 0, 0])
    assert len(uncovered(words(without=["u"]), {"u": 9})) == 0


def test_equal_parts_fill_the_utterance():
    parts = equal_parts(TRUE, {"u": 100, "v": 7})
    assert parts.spans("u").tolist() == [[0, 33], [33, 66], [66, 100]]
    assert parts.spans("v").tolist() == [[0, 7]]


def test_what_cannot_be_compared_is_refused():
    with pytest.raises(VoicePrivacyError, match="words of me lack 1 utterances of me: 'v'"):
        agreement(TRUE, words(("u", "a", 0, 1)))
    with pytest.raises(VoicePrivacyError, match="'v' has no words in me: nothing to compare"):
        agreement(words(without=["v"]), TRUE)
