"""The measures under any numbers: hypothesis looks for those where a definition is left."""

from itertools import combinations

import numpy as np
import plain_assignment as plain
import plain_segreconcat
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from plain_singling_out import plain_evaluation
from test_singling_out import run_kernel

from voiceprivacy._orders import greedy_chain, order_semantic
from voiceprivacy.apportionment import fitted_table, largest_remainder, rounded_table
from voiceprivacy.eer import rocch_eer, speechbrain_eer
from voiceprivacy.linkability_scores import linkability_of_scores
from voiceprivacy.segreconcat import SegReConcat, rearranged

WIDE = {"allow_nan": False, "allow_infinity": False, "width": 32}
# Near enough to tie often, and any number at all.
SCORE = st.one_of(st.sampled_from([-1.0, -0.5, 0.0, 0.5, 1.0]), st.floats(**WIDE))
quick = settings(max_examples=60, deadline=None, derandomize=True)
warns = pytest.mark.filterwarnings("ignore::UserWarning")


def scores(*shape):
    return arrays(np.float32, shape, elements=SCORE)


@st.composite
def speakers(draw):
    """Scores for the first speaker as the target, one test each, and where blocks end."""
    counts = draw(st.lists(st.integers(2, 4), min_size=1, max_size=7))
    start = np.concatenate([[0], np.cumsum(counts)])
    order = [0, *draw(st.permutations(range(1, len(counts))))]
    areas = draw(st.lists(st.integers(0, 1), min_size=len(counts), max_size=len(counts)))
    return draw(scores(1, int(start[-1]))), start, np.array(order, np.int32), np.array(areas)


@quick
@given(speakers())
def test_isolation_is_its_definition(case):
    scored, start, order, areas = case
    n, codes = len(order), areas[:, None].astype(np.int32)
    sizes = np.arange(1, n + 1)
    isolated, block, threshold = run_kernel(scored, start, order[None, None], codes, sizes)
    for k, level in np.ndindex(n, 2):
        expected = plain_evaluation(
            {s: scored[0, start[s]] for s in range(n)},
            {s: scored[0, start[s] + 1 : start[s + 1]] for s in range(n)},
            order[: sizes[k]],
            0,
            lambda s, level=level: level == 0 or areas[s] == areas[0],
        )
        here = (0, 0, k, level)
        assert (isolated[here], block[here], threshold[here]) == expected


@quick
@given(st.integers(2, 6).flatmap(lambda n: scores(n, n)))
@warns
def test_linkability_is_the_share_of_candidate_sets(scored):
    n = len(scored)
    ids = [f"s{k}" for k in range(n)]
    found = linkability_of_scores(scored, ids, ids)
    for size in range(1, n + 1):
        hits = [
            all(scored[own, own] >= scored[other, own] for other in drawn)
            for own in range(n)
            for drawn in combinations([s for s in range(n) if s != own], size - 1)
        ]
        assert found.mean([size])[0] == pytest.approx(np.mean(hits), abs=1e-12)


some_scores = st.integers(1, 12).flatmap(scores)


@quick
@given(some_scores, some_scores)
@warns
def test_equal_error_rates_keep_to_their_range_and_to_each_other(targets, nontargets):
    hull, stated = rocch_eer(targets, nontargets), speechbrain_eer(targets, nontargets)
    assert 0 <= hull <= 0.5
    assert 0 <= stated <= 1
    # Trials twice over, and in another order, are the same trials.
    twice, back = np.tile(targets, 2), nontargets[::-1]
    assert rocch_eer(twice, np.tile(back, 2)) == pytest.approx(hull, abs=1e-12)
    assert speechbrain_eer(twice, np.tile(back, 2)) == pytest.approx(stated, abs=1e-12)
    # Their ranks are all that counts for the hull; targets and nontargets change places with signs.
    ranks = np.unique(np.concatenate([targets, nontargets]), return_inverse=True)[1]
    ranked = ranks[: len(targets)].astype(float), ranks[len(targets) :].astype(float)
    assert rocch_eer(*ranked) == pytest.approx(hull, abs=1e-12)
    assert rocch_eer(-nontargets, -targets) == pytest.approx(hull, abs=1e-12)


@quick
@given(st.integers(0, 10**6), st.lists(st.integers(0, 10**6), min_size=1, max_size=12))
def test_shares_are_whole_and_within_one_of_the_exact_ones(total, weights):
    weights[0] += 1
    shares = largest_remainder(total, np.array(weights))
    assert shares.tolist() == plain.shares_by_largest_remainder(total, weights)
    assert shares.sum() == total
    assert (np.abs(shares - total * np.array(weights) / sum(weights)) < 1).all()


@quick
@given(
    st.integers(0, 500),
    st.tuples(st.integers(1, 6), st.integers(1, 6)).flatmap(
        lambda shape: arrays(float, shape, elements=st.floats(0, 1e6, width=32))
    ),
)
def test_a_table_of_any_numbers_gets_whole_cells_and_its_margins(total, start):
    start[0] += 1
    rows, columns = (largest_remainder(total, start.sum(axis)) for axis in (1, 0))
    whole = rounded_table(fitted_table(start, rows, columns), rows, columns)
    assert (whole >= 0).all()
    assert whole.sum(1).tolist() == rows.tolist()
    assert whole.sum(0).tolist() == columns.tolist()


@st.composite
def utterances(draw):
    """Samples that all differ, spans of words in them that may touch, and an order."""
    n = draw(st.integers(2, 60))
    cuts = sorted(draw(st.lists(st.integers(0, n), min_size=2, max_size=16, unique=True)))
    starts = cuts[: len(cuts) - 1]
    ends = [draw(st.integers(a + 1, b)) for a, b in zip(starts, cuts[1:], strict=True)]
    spans = np.array([starts, ends]).T
    return np.arange(n, dtype=np.float32), spans, draw(st.permutations(range(len(spans))))


@quick
@given(utterances(), st.sampled_from(["rr", "same", "reversed"]))
def test_nothing_of_an_utterance_is_lost(case, strategy):
    samples, spans, order = case
    moved = rearranged(samples, spans, np.array(order))
    assert sorted(moved) == sorted(samples)
    augmented = SegReConcat(strategy).augmented(samples, spans, "u")
    assert len(augmented) == 2 * len(samples)
    assert sorted(augmented[len(samples) :]) == sorted(samples)
    assert (augmented[: len(samples)] == samples).all()


@quick
@given(st.integers(1, 8).flatmap(lambda n: scores(n, n)), st.data())
def test_a_chain_visits_every_word_once_and_always_the_most_similar(similarity, data):
    start = data.draw(st.integers(0, len(similarity) - 1))
    order = greedy_chain(similarity, start)
    assert order.tolist() == plain_segreconcat.chain(similarity.tolist(), start)
    assert sorted(order) == list(range(len(similarity)))


@quick
@given(arrays(np.float32, st.tuples(st.integers(1, 8), st.integers(1, 5)), elements=SCORE))
def test_words_of_any_features_have_an_order(features):
    assert sorted(order_semantic(features)) == list(range(len(features)))
