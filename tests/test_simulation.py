"""Simulated speakers and embeddings: moments, guarantees of the random streams, bad input."""

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from voiceprivacy.cli import main
from voiceprivacy.embeddings import read_embeddings
from voiceprivacy.errors import VoicePrivacyError
from voiceprivacy.simulation import (
    AGE_SHARES,
    PRESETS,
    SpeakerModel,
    fitted_and_predicted,
    preset,
    simulate,
    simulated_speakers,
    simulated_targets,
)
from voiceprivacy.speaker_model import session_vectors
from voiceprivacy.speakers import checked_speakers, read_speakers

PLAIN = SpeakerModel(d=8, w=0.5, b=0.2, h=0.5, c=0.3, D=16)


def people(*ids):
    return pd.DataFrame({"speaker": list(ids)})


def ids(n):
    return np.array([f"s{i}" for i in range(n)])


def vectors(n_speakers, n=1, session="A", seed=0, **parameters):
    defaults = {"d": 8, "w": 0.0, "b": 0.0, "h": 0.0, "c": 0.0, "u": 0.0, "D": 16}
    return session_vectors(
        SpeakerModel(**{**defaults, **parameters}), ids(n_speakers), session, n, seed
    )


def test_embeddings_have_length_one():
    x = vectors(300, n=3, w=1, b=0.5, h=1, c=2, u=0.4)
    np.testing.assert_allclose(np.linalg.norm(x, axis=2), 1, atol=1e-6)


def test_without_noise_a_speaker_always_sounds_the_same():
    a, b = vectors(50, n=4, session="A"), vectors(50, n=4, session="B1")
    np.testing.assert_array_equal(a, np.repeat(a[:, :1], 4, axis=1))
    np.testing.assert_array_equal(a, b)


def test_a_session_shift_is_shared_within_the_session_only():
    a, b = vectors(50, n=4, session="A", b=0.5), vectors(50, n=4, session="B1", b=0.5)
    np.testing.assert_array_equal(a, np.repeat(a[:, :1], 4, axis=1))
    assert (np.abs(a - b).max(axis=(1, 2)) > 1e-3).all()


def test_voices_fill_the_speaker_dimensions_alone():
    x = vectors(4000, d=8)[:, 0]
    np.testing.assert_allclose((x[:, :8] ** 2).mean(axis=0), 1 / 8, rtol=0.1)
    assert not x[:, 8:].any()


def test_a_fractional_dimension_has_the_fraction_as_variance():
    # A large common mean fixes the length, so that coordinates keep their proportions.
    x = vectors(20_000, d=4.25, c=1000)[:, 0]
    variance = x[:, 1:6].var(axis=0) * 1000**2 * 4.25
    np.testing.assert_allclose(variance, [1, 1, 1, 0.25, 0], rtol=0.05, atol=1e-4)


def test_utterance_noise_has_the_size_w():
    # Speakers without voices to speak of: y is c sqrt(d) e0 + w eps, in units of c sqrt(d).
    x = vectors(3000, n=2, d=1, w=3, c=1000)
    differences = (x[:, 0] - x[:, 1])[:, 1:] * 1000
    assert differences.std() == pytest.approx(3 * np.sqrt(2), rel=0.02)


@pytest.mark.parametrize(
    ("parameters", "sessions", "spread"),
    [({"w": 1, "u": 0.7}, ("A", "A"), 0.7), ({"b": 1, "h": 1.2}, ("A", "B1"), 1.2)],
)
def test_sizes_are_log_normal(parameters, sessions, spread):
    x = vectors(4000, d=1, D=64, c=10_000, session="A", **parameters)[:, 0, 1:]
    size = np.log(np.linalg.norm(x, axis=1) * 10_000 / np.sqrt(63))
    assert np.median(size) == pytest.approx(0, abs=0.05)
    # The norm of 63 Gaussians adds its own small scatter, 1 / sqrt(2 * 63).
    assert size.std() == pytest.approx(np.hypot(spread, 1 / np.sqrt(126)), rel=0.05)


def test_a_large_common_mean_draws_everybody_together():
    cosine = [(lambda x: x[0] @ x[1])(vectors(2, c=c, w=1)[:, 0]) for c in (0, 1, 10, 100)]
    assert cosine == sorted(cosine)
    assert cosine[-1] > 0.999


def test_speakers_are_independent():
    x = vectors(2000, d=8, w=0.5, b=0.3)[:, 0]
    cosines = (x @ x.T)[np.triu_indices(2000, 1)]
    assert cosines.mean() == pytest.approx(0, abs=0.003)
    # Two random directions in 8 dimensions have cosines of variance 1/8; noise lowers it.
    assert cosines.var() < 1 / 8


def test_the_same_seed_gives_the_same_bytes_and_another_seed_others():
    table = simulated_speakers(n_female=5, n_male=9)
    corpora = [
        simulate(PLAIN, table, targets=["spk-m-00003"], seed=s, extra_b=2) for s in (1, 1, 2)
    ]
    for part in range(2):
        first, again, other = (corpus[part].matrix for corpus in corpora)
        assert first.tobytes() == again.tobytes()
        assert not np.isclose(first, other).all(axis=1).any()


def test_seed_0_gives_these_numbers_on_every_machine():
    corpus = simulate(
        PRESETS["informed"], simulated_speakers(0, 1, 1), targets=["spk-f-00001"], extra_b=1
    )
    first_a, b2 = corpus.pool.matrix[[0, 20], :3]
    np.testing.assert_allclose(first_a, [0.49425, -0.12554, -0.41292], atol=1e-5)
    np.testing.assert_allclose(b2, [0.44913, -0.15032, -0.31160], atol=1e-5)
    np.testing.assert_allclose(
        corpus.enrolment.matrix[0, :3], [0.35518, -0.11284, -0.35032], atol=1e-5
    )


def test_an_utterance_does_not_depend_on_what_else_is_asked_for():
    small = simulate(PLAIN, people("a", "b"), targets=["b"], utterances_a=2, utterances_b=3)
    crowd = people(*(f"x{i}" for i in range(200)), "b", "a")
    large = simulate(PLAIN, crowd, targets=["x7", "b"], utterances_a=5, utterances_b=4, extra_b=6)
    for part in range(2):
        row = {u: i for i, u in enumerate(large[part].utterances)}
        rows = [row[u] for u in small[part].utterances]
        np.testing.assert_allclose(large[part].matrix[rows], small[part].matrix, atol=1e-6)


def test_extra_utterances_change_neither_a_nor_b1():
    without, with_ = (simulate(PLAIN, people("a", "b"), targets=["b"], extra_b=k) for k in (0, 7))
    assert len(with_.pool) == len(without.pool) + 7
    assert with_.pool.matrix[: len(without.pool)].tobytes() == without.pool.matrix.tobytes()
    assert with_.enrolment.matrix.tobytes() == without.enrolment.matrix.tobytes()
    assert set(with_.pool.speakers[-7:]) == {"b"}


def test_pool_and_enrolment_share_no_utterance():
    corpus = simulate(PLAIN, people("a", "b"), targets=["b", "a"], extra_b=3)
    assert not set(corpus.pool.utterances) & set(corpus.enrolment.utterances)
    similar = corpus.pool.matrix @ corpus.enrolment.matrix.T
    assert similar.max() < 0.9999


def test_attackers_share_the_voices_and_the_noise():
    # With the same parameters but b, the difference is the session's shift and nothing else.
    low, high = (vectors(500, d=8, w=0.3, b=b, c=1000)[:, 0, 1:] * 1000 for b in (0.1, 0.2))
    assert (high - low).std() * np.sqrt(8) == pytest.approx(0.1, rel=0.05)


def test_common_voice_like_speakers():
    table = simulated_speakers()
    assert table["gender"].value_counts().to_dict() == {"male": 16423, "female": 5601}
    pd.testing.assert_frame_equal(checked_speakers(table), table)
    shares = table["age"].value_counts(normalize=True)
    for age, share in AGE_SHARES.items():
        assert shares[age] == pytest.approx(share, abs=0.01)
    assert sum(AGE_SHARES.values()) == pytest.approx(1)


def test_ages_do_not_change_when_more_speakers_are_asked_for():
    few, many = simulated_speakers(3, n_female=4, n_male=6), simulated_speakers(3)
    merged = few.merge(many, on="speaker")
    assert len(merged) == 10
    assert (merged["age_x"] == merged["age_y"]).all()


def test_targets_are_drawn_by_gender_whatever_the_order_of_rows():
    table = simulated_speakers()
    targets = simulated_targets(table, seed=4)
    assert pd.Series(targets).str[:5].value_counts().to_dict() == {"spk-m": 3595, "spk-f": 1354}
    shuffled = table.sample(frac=1, random_state=0)
    assert simulated_targets(shuffled, seed=4).tolist() == targets.tolist()
    assert simulated_targets(table, seed=5).tolist() != targets.tolist()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"w": -0.1}, "w = -0.1"),
        ({"c": np.nan}, "c = nan"),
        ({"b": np.inf}, "b = inf"),
        ({"d": 0}, "d = 0 speaker dimensions in D = 64"),
        ({"d": 65}, "d = 65 speaker dimensions in D = 64"),
        ({"D": 3.5}, "in D = 3.5"),
    ],
)
def test_impossible_parameters_are_refused(change, message):
    with pytest.raises(VoicePrivacyError, match=message):
        SpeakerModel(**{"d": 2, "w": 1, "b": 1, "h": 1, "c": 1, **change})


def test_an_unknown_preset_names_those_there_are():
    with pytest.raises(VoicePrivacyError, match=r"'lazy'.*'original', 'informed'.*'si_semi"):
        preset("lazy")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"targets": ["c", "a"]}, "1 of 2 targets are not among the 2 speakers: 'c'"),
        ({"targets": ["a", "a"]}, "Targets repeat: 'a'"),
        ({"targets": []}, "no targets"),
        ({"targets": ["a"], "utterances_a": 0}, "utterances_a is 0, expected at least 1"),
        ({"targets": ["a"], "extra_b": -1}, "extra_b is -1, expected at least 0"),
    ],
)
def test_impossible_requests_are_refused(arguments, message):
    with pytest.raises(VoicePrivacyError, match=message):
        simulate(PLAIN, people("a", "b"), **arguments)


def test_repeated_speakers_are_refused():
    with pytest.raises(VoicePrivacyError, match="more than one row: 'a'"):
        simulate(PLAIN, people("a", "b", "a"), targets=["b"])


def test_more_targets_than_speakers_are_refused():
    with pytest.raises(VoicePrivacyError, match="6 female targets were asked for, but only 5"):
        simulated_targets(simulated_speakers(n_female=5, n_male=5), n_female=6, n_male=1)


def test_every_preset_has_its_numbers_listed():
    table = fitted_and_predicted()
    assert set(table["preset"]) == set(PRESETS)
    assert set(table["status"]) == {"fitted", "predicted"}
    assert table["value"].between(0, 1).all()
    assert (table["locator"] != "").all()


@pytest.fixture
def run(tmp_path):
    sizes = ["--speakers-female", "40", "--speakers-male", "20", "--utterances-a", "3"]
    return lambda *options: CliRunner().invoke(
        main, ["simulate", str(tmp_path / "out"), *sizes, *options]
    )


@pytest.mark.parametrize("suffix", ["npz", "parquet"])
def test_command_line_writes_what_python_returns(run, tmp_path, suffix):
    result = run("--seed", "3", "--attacker", "ignorant", "--format", suffix)
    assert result.exit_code == 0, result.output
    table = simulated_speakers(3, 40, 20)
    pd.testing.assert_frame_equal(read_speakers(tmp_path / "out/speakers.csv"), table)
    targets = simulated_targets(table, 3, 10, 4)
    corpus = simulate(PRESETS["ignorant"], table, targets=targets, utterances_a=3, seed=3)
    for name, expected in zip(("pool", "enrolment"), corpus, strict=True):
        written = read_embeddings(tmp_path / f"out/{name}.{suffix}")
        assert written.utterances.tolist() == expected.utterances.tolist()
        assert written.matrix.tobytes() == expected.matrix.tobytes()


def test_command_line_keeps_what_is_there(run, tmp_path):
    assert run().exit_code == 0
    before = (tmp_path / "out/pool.npz").read_bytes()
    refused = run("--seed", "1")
    assert refused.exit_code == 2
    assert "pool.npz" in refused.output
    assert "--overwrite" in refused.output
    assert (tmp_path / "out/pool.npz").read_bytes() == before
    assert run("--seed", "1", "--overwrite").exit_code == 0
    assert (tmp_path / "out/pool.npz").read_bytes() != before


def test_command_line_names_the_attackers(run):
    result = run("--attacker", "lazy")
    assert result.exit_code == 2
    assert "'si_semi_informed'" in result.output
    assert "Traceback" not in result.output
