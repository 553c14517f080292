"""Verification as the attacker challenge scores it, and intervals that know about speakers."""

import pickle
import time

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from voiceprivacy.eer import CONVENTION, speechbrain_eer
from voiceprivacy.embeddings import Embeddings
from voiceprivacy.errors import VoicePrivacyError
from voiceprivacy.kaldi import read_trials
from voiceprivacy.verification import (
    Estimate,
    joined,
    mean_eer,
    paired_difference,
    read_verification,
    same_sex_trials,
    verify,
    write_verification,
)

SEXES = {"f": "female", "m": "male"}


def people(n, prefix="f"):
    return [f"{prefix}{k:02d}" for k in range(n)]


def corpus(seed, ids, *, noise=1.0, enrolled=None, utterances=(3, 8), dimension=12, centres=None):
    """Both sides of a corpus: a direction a speaker, and noise around it."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(len(ids), dimension)) if centres is None else centres

    def side(letter, count, who):
        rows = np.repeat(who, count)
        names = [f"{ids[s]}-{letter}-{k:03d}" for k, s in enumerate(rows)]
        matrix = centres[rows] + noise * rng.normal(size=(len(rows), dimension))
        return Embeddings(names, [ids[s] for s in rows], matrix)

    everybody = np.arange(len(ids))
    return (
        side("e", utterances[0], everybody[: enrolled or len(ids)]),
        side("t", utterances[1], everybody),
    )


def of_sex(ids):
    return {s: SEXES[s[0]] for s in ids}


def scored(seed, *, noise=1.0, n=8, subset="test", **how):
    ids = people(n) + people(n, "m")
    enrolment, trial = corpus(seed, ids, noise=noise, **how)
    trials = same_sex_trials(enrolment, trial, of_sex(ids))
    return verify(enrolment, trial, trials, of_sex(ids), subset=subset)


# -- scores ------------------------------------------------------------------------------------


def test_enrolment_is_the_plain_mean_of_raw_embeddings():
    """(10, 0) and (0, 2) average to (5, 1): utterances weigh by their norms."""
    enrolment = Embeddings(
        ["e1", "e2", "e3"], ["f1", "f1", "f2"], [[10.0, 0.0], [0.0, 2.0], [0.0, 3.0]]
    )
    trial = Embeddings(["t2", "t1"], ["f2", "f1"], [[0.0, 7.0], [3.0, 4.0]])
    known = {"f1": "female", "f2": "female"}
    found = verify(enrolment, trial, same_sex_trials(enrolment, trial, known), known)
    cell = found.cells[0]
    assert cell.enrolment.tolist() == ["f1", "f2"]
    assert cell.utterances.tolist() == ["t1", "t2"]
    expected = [[19 / 5 / np.sqrt(26), 1 / np.sqrt(26)], [0.8, 1.0]]
    np.testing.assert_allclose(cell.scores, expected, rtol=1e-6)
    assert cell.target.tolist() == [[True, False], [False, True]]


def test_genders_are_averaged_first_and_then_subsets():
    dev = scored(0, noise=2.0, n=5, subset="dev")
    test = scored(1, noise=3.0, subset="test")
    both = joined([dev, test])
    table = both.table()
    rates = table["EER (fraction)"].to_numpy()
    assert table[["subset", "gender"]].to_numpy().tolist() == [
        ["dev", "female"],
        ["dev", "male"],
        ["test", "female"],
        ["test", "male"],
    ]
    assert both.eer == pytest.approx(((rates[0] + rates[1]) / 2 + (rates[2] + rates[3]) / 2) / 2)
    one = joined([dev.select(gender="female"), test])
    assert one.eer == pytest.approx((rates[0] + (rates[2] + rates[3]) / 2) / 2)
    for cell, rate in zip(both.cells, rates, strict=True):
        assert rate == speechbrain_eer(
            cell.scores[cell.target], cell.scores[cell.tested & ~cell.target]
        )
    assert both.select(subset="test").eer == test.eer
    assert both.select(subset="dev", gender="male").eer == rates[1]
    with pytest.raises(VoicePrivacyError, match="no scores of"):
        both.select(subset="eval")


def test_full_products_count_as_in_the_challenge():
    """15 + 14 of 20 + 20 speakers are enrolled; nobody is tried with the other sex."""
    ids = people(20) + people(20, "m")
    enrolment, trial = corpus(0, ids, utterances=(2, 4))
    kept = [s for s in ids if not (s[0] == "f" and int(s[1:]) > 14)]
    kept = [s for s in kept if not (s[0] == "m" and int(s[1:]) > 13)]
    enrolment = enrolment.of_speakers(kept)
    trials = same_sex_trials(enrolment, trial, of_sex(ids))
    table = verify(enrolment, trial, trials, of_sex(ids)).table()
    assert table["targets"].tolist() == [15 * 4, 14 * 4]
    assert table["nontargets"].tolist() == [15 * 76, 14 * 76]


def test_neither_order_nor_scale_of_embeddings_matters():
    ids = people(6) + people(6, "m")
    enrolment, trial = corpus(3, ids)
    trials = same_sex_trials(enrolment, trial, of_sex(ids))
    plain = verify(enrolment, trial, trials, of_sex(ids))
    rng = np.random.default_rng(0)
    other = verify(
        enrolment.select(rng.permutation(len(enrolment))),
        Embeddings(trial.utterances, trial.speakers, trial.matrix * 8.0).select(
            rng.permutation(len(trial))
        ),
        trials.sample(frac=1, random_state=0),
        pd.Series(of_sex(ids)),
    )
    assert other.eer == plain.eer
    assert paired_difference(plain, other) == Estimate(0, 0, 0, 0)
    for one, two in zip(plain.cells, other.cells, strict=True):
        np.testing.assert_allclose(one.scores, two.scores, atol=1e-6)


def test_rows_are_told_apart_by_which_sides_are_anonymized():
    ids = people(4)
    enrolment, trial = corpus(0, ids)
    trials = same_sex_trials(enrolment, trial, of_sex(ids))
    rows = [
        verify(enrolment, trial, trials, of_sex(ids), condition=c).table() for c in ("oo", "aa")
    ]
    assert [row["condition"][0] for row in rows] == [
        "oo: original enrolment, original trials",
        "aa: anonymized enrolment, anonymized trials",
    ]
    with pytest.raises(VoicePrivacyError, match=r"condition 'ii'; expected one of oo, oa, ao, aa"):
        verify(enrolment, trial, trials, of_sex(ids), condition="ii")


# -- trials and vectors that do not fit together -----------------------------------------------


@pytest.fixture
def listed(tmp_path):
    """10 trials: 2 of an unknown utterance, 1 of an unknown speaker; a vector more is missing."""
    ids = people(3)
    enrolment, trial = corpus(0, ids, utterances=(2, 2))
    lines = [f"{s} {u} target" for s, u in zip(trial.speakers, trial.utterances, strict=True)]
    lines += [f"f00 {trial.utterances[k]} nontarget" for k in (2, 5)]
    lines.insert(1, "f99 f00-t-000 nontarget")
    lines.insert(3, "f01 gone nontarget")
    (tmp_path / "trials").write_text("\n".join(lines))
    kept = trial.select(trial.utterances != "f01-t-003")
    return enrolment, kept, read_trials(tmp_path / "trials"), of_sex(ids)


def test_all_that_lacks_a_vector_is_told_before_scoring(listed):
    with pytest.raises(VoicePrivacyError) as told:
        verify(*listed)
    message = str(told.value)
    assert "3 of 10 trials cannot be scored" in message
    assert "1 have no enrolment embedding ('f99 f00-t-000 (line 2)')" in message
    assert "2 have no trial embedding ('f01 gone (line 4)', 'f01 f01-t-003 (line 6)')" in message


def test_the_rest_is_scored_on_request_and_the_lost_share_told(listed):
    found = verify(*listed, missing="drop")
    assert found.table()[["targets", "nontargets"]].to_numpy().tolist() == [[5, 2]]
    assert found.lost_share == 0.3
    assert found.lost[["speaker", "utterance", "line"]].to_numpy().tolist() == [
        ["f99", "f00-t-000", "2"],
        ["f01", "gone", "4"],
        ["f01", "f01-t-003", "6"],
    ]
    assert set(found.lost["subset"]) == {"test"}
    enrolment, trial, trials, known = listed
    with pytest.raises(VoicePrivacyError, match="no trial can be scored: 1 of 1"):
        verify(enrolment, trial, trials[trials["speaker"] == "f99"], known, missing="drop")
    with pytest.raises(VoicePrivacyError, match="expected 'error' or 'drop'"):
        verify(*listed, missing="ignore")


def test_trials_that_contradict_the_corpus_are_refused(listed):
    enrolment, trial, trials, known = listed
    trials = trials[trials["utterance"].isin(trial.utterances) & (trials["speaker"] != "f99")]
    assert verify(enrolment, trial, trials, known).lost_share == 0
    wrong = trials.assign(target=~trials["target"])
    with pytest.raises(VoicePrivacyError, match=r"7 trials have a label that contradicts.*line 1"):
        verify(enrolment, trial, wrong, known)
    twice = pd.concat([trials, trials.iloc[[0]]])
    with pytest.raises(VoicePrivacyError, match=r"1 trials are listed twice.*line 1"):
        verify(enrolment, trial, twice, known)
    with pytest.raises(VoicePrivacyError, match="trials have no column 'target'"):
        verify(enrolment, trial, trials.drop(columns="target"), known)
    with pytest.raises(VoicePrivacyError, match="female: 5 target and 0 nontarget trials"):
        verify(enrolment, trial, trials[trials["target"]], known)
    with pytest.raises(VoicePrivacyError, match=r"1 speakers have no gender.*'f00'"):
        verify(enrolment, trial, trials, known | {"f00": ""})


def test_sides_that_do_not_fit_together_are_refused():
    ids = people(3)
    enrolment, trial = corpus(0, ids)
    trials = same_sex_trials(enrolment, trial, of_sex(ids))
    flat = Embeddings(trial.utterances, trial.speakers, trial.matrix[:, :5])
    with pytest.raises(VoicePrivacyError, match="12 dimensions, trial embeddings 5"):
        verify(enrolment, flat, trials, of_sex(ids))
    with pytest.raises(VoicePrivacyError, match=r"24 utterances stand on both sides"):
        verify(trial, trial, trials, of_sex(ids))
    with pytest.raises(VoicePrivacyError, match=r"3 speakers have no gender"):
        same_sex_trials(enrolment, trial, {"f00": "unknown"})
    opposite = Embeddings(["e1", "e2"], ["f00", "f00"], [[1.0] * 12, [-1.0] * 12])
    with pytest.raises(VoicePrivacyError, match="'f00' cancel out"):
        verify(opposite, trial, trials[trials["speaker"] == "f00"], of_sex(ids))


def test_subsets_join_once_and_under_one_condition():
    one = scored(0, n=3)
    with pytest.raises(VoicePrivacyError, match="each subset once"):
        joined([one, one])
    ids = people(3)
    enrolment, trial = corpus(0, ids)
    trials = same_sex_trials(enrolment, trial, of_sex(ids))
    other = verify(enrolment, trial, trials, of_sex(ids), subset="dev", condition="oo")
    with pytest.raises(VoicePrivacyError, match="one condition"):
        joined([one, other])


# -- files -------------------------------------------------------------------------------------


def test_results_are_kept_and_read_back(listed, tmp_path):
    found = joined([verify(*listed, missing="drop"), scored(0, subset="dev")])
    path = tmp_path / "deep" / "scores.npz"
    write_verification(found, path)
    back = read_verification(path)
    pd.testing.assert_frame_equal(back.table(), found.table())
    pd.testing.assert_frame_equal(back.lost, found.lost)
    assert back.interval(replicates=50) == found.interval(replicates=50)
    assert pickle.loads(pickle.dumps(found)).eer == found.eer
    first = path.read_bytes()
    write_verification(back, path)
    assert path.read_bytes() == first
    with np.load(path) as file:
        assert CONVENTION in str(file["notes"])


def test_files_of_another_kind_are_refused(tmp_path):
    path = tmp_path / "x.npz"
    with pytest.raises(VoicePrivacyError, match="no such file"):
        read_verification(path)
    np.savez(path, a=np.zeros(3))
    with pytest.raises(VoicePrivacyError, match="holds no verification scores"):
        read_verification(path)
    write_verification(scored(0, n=3), path)
    path.write_bytes(path.read_bytes()[:900])
    with pytest.raises(VoicePrivacyError, match="is damaged"):
        read_verification(path)


# -- intervals ---------------------------------------------------------------------------------


def test_the_same_seed_gives_the_same_interval_and_another_a_near_one():
    found = scored(0, noise=2.5)
    first = found.interval()
    assert found.interval() == first
    assert first.value == found.eer
    assert first.low < first.value < first.high
    other = found.interval(seed=1)
    assert other != first
    assert other.standard_error == pytest.approx(first.standard_error, rel=0.15)
    narrow = found.interval(confidence=0.5)
    assert first.low < narrow.low < narrow.high < first.high


def test_weights_belong_to_speakers_enrolled_or_not():
    """The first speaker is only in trials; repeating trials by hand gives the same EERs."""
    ids = people(4)
    enrolment, trial = corpus(0, ids, noise=2.0)
    enrolment = enrolment.of_speakers(ids[1:])
    trials = same_sex_trials(enrolment, trial, of_sex(ids))
    cell = verify(enrolment, trial, trials, of_sex(ids)).cells[0]
    weights = np.array([[1, 1, 1, 1], [2, 0, 1, 1], [0, 3, 1, 0], [1, 2, 0, 1]])
    for w, rate in zip(weights, cell.eers(weights), strict=True):
        enrolled = np.array([w[int(s[1:])] for s in cell.enrolment])[:, None]
        tried = np.array([w[int(s[1:])] for s in cell.speakers])
        times = np.where(cell.target, enrolled, enrolled * tried)
        repeated, kind = (
            np.repeat(cell.scores, times.ravel()),
            np.repeat(cell.target, times.ravel()),
        )
        assert rate == speechbrain_eer(repeated[kind], repeated[~kind])


def test_the_standard_error_is_that_of_new_speakers():
    """The spread over 60 corpora of new speakers against the mean of their own estimates."""
    runs = [scored(seed, noise=2.5, n=12) for seed in range(60)]
    spread = np.std([run.eer for run in runs], ddof=1)
    told = np.mean([run.interval(replicates=200).standard_error for run in runs])
    # The pigeonhole bootstrap errs on the wide side; 60 corpora leave 9 % of noise.
    assert 0.8 < told / spread < 1.6


def test_trials_of_one_speaker_are_not_taken_for_independent():
    """Ten times the utterances a speaker hardly narrow an interval that speakers dominate."""
    few = scored(0, noise=0.7, n=6, dimension=3, utterances=(3, 4)).interval()
    many = scored(0, noise=0.7, n=6, dimension=3, utterances=(3, 40)).interval()
    binomial = np.sqrt(many.value * (1 - many.value) / (2 * 6 * 40))
    assert many.standard_error > 2 * binomial
    assert many.standard_error > 0.5 * few.standard_error


def test_an_uninformative_attacker_is_at_one_half_within_its_interval():
    rng = np.random.default_rng(5)
    ids = people(15) + people(15, "m")
    enrolment, trial = corpus(0, ids, centres=np.zeros((30, 12)))
    trials = same_sex_trials(enrolment, trial, of_sex(ids))
    told = verify(enrolment, trial, trials, of_sex(ids)).interval(seed=int(rng.integers(9)))
    assert told.low < 0.5 < told.high


def test_pairs_share_their_resamples():
    """A system and a slightly noisier copy: the difference is far surer than either EER."""
    ids = people(10) + people(10, "m")
    centres = np.random.default_rng(7).normal(size=(20, 12))
    enrolment, trial = corpus(8, ids, noise=2.0, centres=centres)
    trials = same_sex_trials(enrolment, trial, of_sex(ids))
    shift = np.random.default_rng(9).normal(size=trial.matrix.shape)
    noisier = Embeddings(trial.utterances, trial.speakers, trial.matrix + 0.6 * shift)
    a, b = (verify(enrolment, t, trials, of_sex(ids)) for t in (noisier, trial))
    difference = paired_difference(a, b)
    assert difference.value == pytest.approx(a.eer - b.eer, abs=1e-12)
    apart = np.hypot(a.interval().standard_error, b.interval().standard_error)
    assert difference.standard_error < 0.7 * apart
    back = paired_difference(b, a)
    assert (back.low, back.high) == pytest.approx((-difference.high, -difference.low))
    assert paired_difference([a, a], [b, b]).standard_error == pytest.approx(
        difference.standard_error
    )


def test_seeds_add_their_own_spread():
    """Runs that differ by a known spread between seeds, on speakers who all are alike."""
    runs = [scored(0, noise=noise, n=6) for noise in (1.5, 2.0, 2.5, 3.0)]
    values = [run.eer for run in runs]
    told = mean_eer(runs)
    assert told.value == pytest.approx(np.mean(values))
    one = runs[0].interval().standard_error
    seeds = np.std(values, ddof=1) / 2
    assert told.standard_error > max(seeds * 0.9, one * 0.5)
    assert told.standard_error**2 < seeds**2 * 1.3 + max(
        run.interval().standard_error ** 2 for run in runs
    )
    assert mean_eer(runs[:1]) == runs[0].interval()


def test_the_variance_between_seeds_is_not_understated():
    """k - 1 draws out of k: the variance of a mean is s^2 / k, also for two seeds."""
    from voiceprivacy._speaker_bootstrap import _over_seeds

    for values in ([0.1, 0.3], [0.1, 0.2, 0.6], [0.1, 0.2, 0.3, 0.7, 0.8]):
        drawn = _over_seeds(np.tile(np.array(values)[:, None], 40_000), 0)
        assert drawn.mean() == pytest.approx(np.mean(values), abs=2e-3)
        assert drawn.var() == pytest.approx(np.var(values, ddof=1) / len(values), rel=0.03)


def test_what_cannot_be_compared_is_refused(listed):
    one, two = scored(0, n=3), scored(0, n=4)
    with pytest.raises(VoicePrivacyError, match="not scored on the same trials"):
        paired_difference(one, two)
    with pytest.raises(VoicePrivacyError, match="not scored on the same trials"):
        mean_eer([one, one.select(gender="male")])
    with pytest.raises(VoicePrivacyError, match="1 and 2 runs cannot be paired"):
        paired_difference([one], [one, one])
    with pytest.raises(VoicePrivacyError, match="at least one run"):
        mean_eer([])
    with pytest.raises(VoicePrivacyError, match="confidence 95"):
        one.interval(confidence=95)


def test_hardly_any_speakers_have_no_interval():
    """One enrolled speaker of two: half of the resamples have no nontarget or no target."""
    ids = people(2)
    enrolment, trial = corpus(0, ids, enrolled=1)
    trials = same_sex_trials(enrolment, trial, of_sex(ids))
    found = verify(enrolment, trial, trials, of_sex(ids))
    told = found.interval()
    assert told.low <= told.value <= told.high
    with pytest.raises(VoicePrivacyError, match="hardly any resample"):
        found.interval(replicates=2, seed=0)


def test_a_thousand_resamples_take_less_than_a_second():
    """40 enrolled speakers of one gender by 500 trials; compiled before the clock starts."""
    ids = people(40)
    enrolment, trial = corpus(0, ids, utterances=(3, 13))
    trials = same_sex_trials(enrolment, trial, of_sex(ids))
    found = verify(enrolment, trial, trials, of_sex(ids))
    assert found.cells[0].scores.shape == (40, 520)
    found.interval(replicates=2)
    start = time.process_time()
    found.interval(replicates=1000)
    assert time.process_time() - start < 1


def test_closed_form_of_the_whole_path():
    """Trials exactly d apart from nontargets in normal scores: EER = Phi(-d/2)."""
    n = 400
    quantiles = norm.ppf((np.arange(n) + 0.5) / n)
    # In the plane, the cosine with (1, 0) of a unit vector at angle acos(c) is c.
    cosines = np.tanh(np.concatenate([quantiles + 1.0, quantiles]) / 4)
    matrix = np.stack([cosines, np.sqrt(1 - cosines**2)], axis=1)
    speakers = ["f0"] * n + ["f1"] * n
    trial = Embeddings([f"t{k}" for k in range(2 * n)], speakers, matrix)
    enrolment = Embeddings(["e"], ["f0"], [[5.0, 0.0]])
    known = {"f0": "female", "f1": "female"}
    found = verify(enrolment, trial, same_sex_trials(enrolment, trial, known), known)
    assert found.eer == pytest.approx(norm.cdf(-0.5), abs=2 / n)
