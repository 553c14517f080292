"""Linear prediction in frames, and the roots that it needs, against numpy and librosa."""

import numpy as np
import pytest

from voiceprivacy import _lpc
from voiceprivacy._roots import roots


def random_speech(n_samples=8_000, seed=0):
    from scipy.signal import lfilter

    noise = np.random.default_rng(seed).standard_normal(n_samples)
    return 0.05 * lfilter([1], [1, -1.6, 0.9], noise)


def assert_same_sets(found, expected, atol):
    for one, other in zip(found, expected, strict=True):
        distances = np.abs(one[:, None] - other)
        assert distances.min(axis=1).max() < atol
        assert distances.min(axis=0).max() < atol


@pytest.mark.parametrize("order", [1, 2, 5, 20])
def test_roots_are_numpy_s(order):
    polynomials = np.random.default_rng(order).uniform(-1, 1, (200, order + 1))
    polynomials[:, 0] = 1.0
    assert_same_sets(roots(polynomials), [np.roots(p) for p in polynomials], 1e-9)


def test_real_roots_are_told_from_pairs():
    expected = np.array([0.9, -0.8, 0.5 + 0.6j, 0.5 - 0.6j, 0.3 + 1e-4j, 0.3 - 1e-4j])
    found = roots(np.poly(expected)[None].real)
    assert_same_sets(found, expected[None], 1e-9)
    assert np.count_nonzero(found.imag == 0) == 2


def test_many_equal_roots_are_found():
    found = roots(np.array([[1.0, -1.0] + [0.0] * 19, [1.0] + [0.0] * 20]))
    assert_same_sets(found, [np.array([1.0] + [0.0] * 19), np.zeros(20)], 1e-9)


def test_neighbours_change_a_root_by_rounding_only():
    polynomials = _lpc.predictors(_lpc.windowed(random_speech()))
    alone = np.concatenate([roots(p[None]) for p in polynomials])
    assert_same_sets(roots(polynomials), alone, 1e-12)


def test_predictors_are_librosa_s():
    librosa = pytest.importorskip("librosa", reason="the speech extra is not installed")
    frames = _lpc.windowed(random_speech())
    expected = librosa.lpc(frames + _lpc.EPS, order=20)
    np.testing.assert_allclose(_lpc.predictors(frames), expected, atol=1e-10)


def test_residuals_excite_the_frames_again():
    frames = _lpc.windowed(random_speech())
    predictors = _lpc.predictors(frames)
    residuals = _lpc.residuals(frames, predictors)
    np.testing.assert_allclose(_lpc.excited(residuals, predictors), frames, atol=1e-12)
    assert (residuals**2).sum() < 0.3 * (frames**2).sum()


@pytest.mark.parametrize("n_samples", [1, 160, 320, 321, 8_000])
def test_frames_add_up_to_the_samples(n_samples):
    samples = random_speech()[:n_samples]
    frames = _lpc.windowed(samples)
    assert frames.shape == (max(1, -(-(n_samples - 320) // 160) + 1), 320)
    back = _lpc.overlapped(frames, n_samples)
    assert back.shape == (n_samples,)
    np.testing.assert_allclose(back[160:-320], samples[160:-320], rtol=5e-3, atol=1e-6)


def test_angles_alone_are_bent():
    predictors = _lpc.predictors(_lpc.windowed(random_speech()))
    np.testing.assert_allclose(_lpc.bent(predictors, 1.0), predictors, atol=1e-9)
    before, after = roots(predictors), roots(_lpc.bent(predictors, 0.8))
    np.testing.assert_allclose(
        np.sort(np.abs(after), axis=1), np.sort(np.abs(before), axis=1), atol=1e-7
    )


def test_frames_as_loud_as_others():
    frames = np.random.default_rng(0).standard_normal((5, 320))
    models = np.linspace(0, 2, 5)[:, None] * np.ones(320)
    power = (_lpc.as_loud(frames, models) ** 2).mean(axis=1)
    np.testing.assert_allclose(power, (models**2).mean(axis=1))
