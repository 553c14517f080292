"""Linkability: by hand, against exact binomials, literal sampling and the authors' package."""

from fractions import Fraction
from math import comb

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from voiceprivacy.conversation_trials import draw_trials
from voiceprivacy.embeddings import Embeddings
from voiceprivacy.errors import VoicePrivacyError
from voiceprivacy.linkability import (
    TiesWarning,
    default_sizes,
    linkability,
    linked,
)
from voiceprivacy.linkability_scores import linkability_of_scores


def scores_of(n, tested, advantage=1.5, seed=0):
    """Gaussian scores of `tested` of n speakers, higher by an advantage for the right one."""
    rng = np.random.default_rng(seed)
    candidates = np.array([f"s{i:05d}" for i in range(n)])
    own = np.sort(rng.choice(n, tested, replace=False))
    scores = rng.normal(size=(n, tested)).astype(np.float32)
    scores[own, np.arange(tested)] += advantage
    return scores, candidates, candidates[own]


def simulated(people, utterances, spread, seed=0):
    """Embeddings of two sessions: voices, and noise of a size."""
    rng = np.random.default_rng(seed)
    voices = rng.normal(size=(people, 8))
    names = np.repeat([f"s{i:04d}" for i in range(people)], utterances)

    def session(kind):
        noise = spread * rng.normal(size=(people * utterances, 8))
        ids = [f"{name}-{kind}{i}" for i, name in enumerate(names)]
        return Embeddings(ids, names, np.repeat(voices, utterances, axis=0) + noise)

    return session("t"), session("e")


def test_the_probability_is_that_of_the_hypergeometric():
    for others, drawn in ((1, 1), (7, 3), (40, 40), (300, 17)):
        exact = [Fraction(comb(others - m, drawn), comb(others, drawn)) for m in range(others + 1)]
        found = linked(others, [drawn], others)[:, 0]
        np.testing.assert_allclose(found, [float(p) for p in exact], rtol=1e-12, atol=1e-15)


def test_it_loses_no_digits_at_the_paper_s_size():
    exact = Fraction(comb(22_023 - 40, 9_999), comb(22_023, 9_999))
    assert linked(22_023, [9_999], 40)[40, 0] == pytest.approx(float(exact), rel=1e-13)


@pytest.mark.filterwarnings("ignore::voiceprivacy.linkability.TiesWarning")
def test_three_candidates_by_hand():
    scores = np.array([[0.9, 0.1, 0.5], [0.2, 0.5, 0.5], [0.1, 0.6, 0.5]])
    found = linkability_of_scores(scores, ["a", "b", "c"], ["a", "b", "c"])
    assert found.better.tolist() == [[0, 1, 0]]  # a tie favours the true speaker
    # Of two candidates b is linked if the other one is a: 1/2.
    np.testing.assert_allclose(found.mean([1, 2, 3]), [1, 5 / 6, 2 / 3])


@pytest.mark.filterwarnings("ignore::voiceprivacy.linkability.TiesWarning")
def test_perfect_and_constant_scores_always_link_and_reversed_ones_never():
    for scores, expected in ((np.eye(5), 1.0), (np.zeros((5, 5)), 1.0), (-np.eye(5), 0.0)):
        found = linkability_of_scores(scores, list("abcde"), list("abcde"))
        assert found.mean([5]).tolist() == [expected]
        row = found.summary().iloc[-1]
        assert 0 <= row["observed_low"] < row["observed_high"] <= 1


def test_embeddings_that_are_all_the_same_are_told(recwarn):
    """As if an anonymizer gave everybody one voice: ties would otherwise pass for linkage."""
    test, enrolment = simulated(40, 2, 1.0)
    linkability(draw_trials(test, enrolment))
    assert not recwarn.list
    flat = Embeddings(enrolment.utterances, enrolment.speakers, np.ones((80, 8)))
    with pytest.warns(TiesWarning, match="200 of 200 test conversations score the same"):
        found = linkability(draw_trials(test, flat))
    assert found.mean([40]).tolist() == [1.0]
    scores = np.eye(40)
    scores[1, [2, 5, 9]] = 1.0
    with pytest.warns(TiesWarning, match="3 of 40"):
        linkability_of_scores(scores, found.speakers, found.speakers)


def test_useless_scores_are_at_chance():
    found = linkability_of_scores(*scores_of(400, 400, advantage=0.0))
    summary = found.summary().set_index("n_speakers")
    assert (abs(summary["observed"] - summary["chance"]) < 3 * summary["observed_se"]).all()


@pytest.mark.filterwarnings("ignore::voiceprivacy.linkability.TiesWarning")
def test_counts_and_means_equal_the_authors_package():
    pytest.importorskip("legal_eval", reason="the test extra is not installed")
    from legal_eval.io import ScoreMatrix
    from legal_eval.metrics.linkability import count_beaters
    from legal_eval.metrics.linkability import linkability as theirs

    scores, candidates, tested = scores_of(600, 250)
    scores = np.round(scores, 2)  # ties
    matrix = ScoreMatrix(scores, candidates.tolist(), tested.tolist(), {})
    found = linkability_of_scores(scores, candidates, tested)
    assert (found.better[0] == count_beaters(matrix)).all()
    sizes = default_sizes(600)
    expected = [theirs(matrix, int(n), estimator="exact")[0] for n in sizes]
    # Its logarithms of factorials lose digits with n; at 600 speakers 1e-12 are left.
    np.testing.assert_allclose(found.mean(sizes), expected, atol=1e-12)


def test_the_sampling_estimator_draws_from_the_same_distribution():
    scores, candidates, tested = scores_of(60, 60)
    found = linkability_of_scores(scores, candidates, tested)
    rates = found.sampled([5, 20, 60], runs=400)
    np.testing.assert_allclose(rates.mean(axis=0), found.mean([5, 20, 60]), atol=0.01)
    assert (rates[:, -1] == found.mean([60])).all()  # all candidates: nothing is drawn
    assert (found.sampled([20], runs=3, seed=1) != rates[:3, 1:2]).any()


def test_one_candidate_is_no_crowd():
    scores = np.eye(5)
    scores[:, 2] = [4, 3, 0, 2, 1]  # everybody outscores c, who is alone at N' = 1 all the same
    found = linkability_of_scores(scores, list("abcde"), list("abcde"), [1])
    row = found.summary().iloc[0]
    assert (row["observed"], row["chance"], row["observed_se"]) == (1.0, 1.0, 0.0)


def test_a_mapped_file_is_read_by_blocks(tmp_path, monkeypatch):
    scores, candidates, tested = scores_of(50, 20)
    np.save(tmp_path / "scores.npy", scores)
    mapped = np.load(tmp_path / "scores.npy", mmap_mode="r")
    whole = linkability_of_scores(scores, candidates, tested)
    monkeypatch.setattr("voiceprivacy.linkability_scores.BLOCK", 140)
    parts = linkability_of_scores(mapped, candidates, tested)
    assert (parts.better == whole.better).all()
    np.testing.assert_allclose(parts.losses, whole.losses, atol=1e-7)
    scores[49, 3] = np.inf  # in the last block
    with pytest.raises(VoicePrivacyError, match="1 scores are no finite"):
        linkability_of_scores(scores, candidates, tested)


def test_standard_errors_do_not_depend_on_threads():
    trials = draw_trials(*simulated(300, 2, 1.0), draws=2)
    errors = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            errors.append(linkability(trials).standard_error().tobytes())
    assert errors[0] == errors[1]


def test_literal_candidate_sets_agree():
    scores, candidates, tested = scores_of(30, 12)
    rng, hits = np.random.default_rng(1), []
    rows = np.searchsorted(candidates, tested)
    for column, own in enumerate(rows):
        others = np.delete(np.arange(30), own)
        for _ in range(2000):
            drawn = rng.choice(others, 9, replace=False)
            hits.append(scores[own, column] >= scores[drawn, column].max())
    exact = linkability_of_scores(scores, candidates, tested).mean([10])[0]
    assert np.mean(hits) == pytest.approx(exact, abs=0.01)


def test_embeddings_and_their_score_matrix_agree_whatever_the_blocks(monkeypatch):
    trials = draw_trials(*simulated(130, 3, 1.0), length=2, draws=2)
    found = linkability(trials)
    ((block, scores),) = trials.score_blocks(0)
    assert block == slice(0, 130)
    ready = linkability_of_scores(scores.T, trials.candidates, trials.speakers)
    assert (ready.better[0] == found.better[0]).all()
    monkeypatch.setattr("voiceprivacy.conversation_trials.BLOCK_SCORES", 48 * 130)
    again = linkability(trials)
    assert (again.better == found.better).all()
    np.testing.assert_allclose(again.losses, found.losses, atol=1e-7)


def test_the_standard_error_is_the_jackknife_s():
    """Leave out one speaker after another, and measure anew."""
    scores, candidates, tested = scores_of(25, 14)
    sizes = [2, 7, 20]
    found = linkability_of_scores(scores, candidates, tested, sizes)
    left = []
    for j, name in enumerate(candidates):
        columns = tested != name
        kept = np.delete(scores, j, axis=0)[:, columns]
        part = linkability_of_scores(kept, np.delete(candidates, j), tested[columns], sizes)
        left.append(part.mean(sizes))
    left = np.array(left)
    expected = np.sqrt(24 / 25 * ((left - left.mean(axis=0)) ** 2).sum(axis=0))
    np.testing.assert_allclose(found.standard_error(), expected, rtol=0.06)


def test_the_default_sizes_are_the_paper_s():
    sizes = default_sizes(22_024)
    assert len(sizes) == 222
    assert sizes[[0, 1, -2, -1]].tolist() == [20, 120, 22_020, 22_024]
    assert default_sizes(7).tolist() == [7]


@pytest.mark.parametrize("sizes", [[0], [31], [2.5], []])
def test_sizes_that_cannot_be_drawn_are_refused(sizes):
    found = linkability_of_scores(*scores_of(30, 12))
    for ask in (found.mean, found.sampled, found.per_speaker):
        with pytest.raises(VoicePrivacyError, match="30 speakers are enrolled"):
            ask(sizes)


@pytest.mark.parametrize(
    ("scores", "candidates", "tested", "message"),
    [
        (np.eye(2), ["a", "b"], ["a", "x"], "tested speakers 'x' are not enrolled"),
        (np.eye(2), ["a", "a"], ["a", "a"], "speakers repeat"),
        (np.eye(2), ["a", "b"], ["a", "a"], "speakers repeat"),
        (np.eye(3), ["a", "b"], ["a", "b"], r"scores of shape \(3, 3\) with 2 enrolled"),
        (np.full((2, 2), np.nan), ["a", "b"], ["a", "b"], "4 scores are no finite"),
    ],
)
def test_matrices_that_do_not_fit_are_refused(scores, candidates, tested, message):
    with pytest.raises(VoicePrivacyError, match=message):
        linkability_of_scores(scores, candidates, tested)


def test_the_closed_form_of_independent_scores():
    """With scores independent given the own one, P = E[F(own)^(N' - 1)] for a large crowd."""
    n, size = 4000, 10
    scores, candidates, tested = scores_of(n, 1000, advantage=1.0, seed=2)
    found = linkability_of_scores(scores, candidates, tested, [size])
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    from scipy.stats import norm

    expected = (weights * norm.cdf(nodes + 1.0) ** (size - 1)).sum() / weights.sum()
    row = found.summary().iloc[0]
    assert row["observed"] == pytest.approx(expected, abs=3 * row["observed_se"])


@pytest.mark.parametrize("kind", ["<f2", ">f8", "<i8"])
def test_scores_of_other_kinds_are_refused(kind):
    with pytest.raises(VoicePrivacyError, match=f"scores are {kind}; expected float32 or float64"):
        linkability_of_scores(np.eye(2).astype(kind), ["a", "b"], ["a", "b"])
