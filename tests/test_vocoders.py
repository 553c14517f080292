"""Vocoders: what they keep of speech, in closed cases."""

import numpy as np
import pytest

from voiceprivacy import _vocoders

librosa = pytest.importorskip("librosa", reason="the speech extra is not installed")


@pytest.mark.filterwarnings("error")
def test_no_gain_gives_the_excitation_back():
    noise = np.random.default_rng(0).standard_normal(5_000)
    for n in (1, 100, 512, 5_000):
        out = _vocoders.refiltered(np.ones(n), noise[:n], np.ones_like)
        np.testing.assert_allclose(out, noise[:n], atol=1e-5)


def test_bands_share_all_frequencies_between_the_limits():
    bands = _vocoders.mel_bands(24)
    inside = (_vocoders.FREQUENCIES >= 80) & (_vocoders.FREQUENCIES < 7_600)
    np.testing.assert_array_equal(bands.sum(axis=0), inside)
    assert (bands.sum(axis=1) >= 2).all()


def test_bands_are_stretched():
    lowest = [_vocoders.FREQUENCIES[_vocoders.mel_bands(3, s)[0] > 0].max() for s in (1.0, 1.2)]
    assert lowest[1] == pytest.approx(1.2 * lowest[0], abs=32)


def test_bands_take_the_style_s_mean_power_whatever_the_speaker_s():
    rng = np.random.default_rng(1)
    power = rng.uniform(0.5, 1, (257, 400)) * np.linspace(100, 1, 257)[:, None]
    style = _vocoders.Style(1.0, 1.0, np.array([1.0, 0.2, 0.05]))
    gains = _vocoders.band_gains(power, style)
    bands = _vocoders.mel_bands(3)
    for band, level in zip(bands, style.levels, strict=True):
        rows = gains[band > 0]
        assert np.ptp(rows, axis=0).max() == 0
        assert (rows[0] ** 2).mean() == pytest.approx(level)
    assert not gains[bands.sum(axis=0) == 0].any()


def test_contrast_marks_changes_of_loudness_more_or_less():
    power = np.ones((257, 300))
    power[:, 100:200] = 16.0
    middle = slice(140, 160)
    for contrast in (0.5, 1.0, 2.0):
        style = _vocoders.Style(1.0, contrast, np.ones(3))
        gains = _vocoders.band_gains(power, style)[40]
        ratio = gains[middle].mean() / gains[:50].mean()
        assert ratio == pytest.approx(4**contrast, rel=0.02)


def test_sounds_of_the_codebook_are_told_apart():
    """Speech made of the codebook's own sounds, each as loud, comes back as it was."""
    sounds = _vocoders.codebook()
    assert sounds.shape == (64, 257)
    bands = _vocoders.mel_bands(24)
    in_bands = np.log(np.exp(sounds) @ (bands / bands.sum(axis=1, keepdims=True)).T)
    power = np.exp(sounds - in_bands.mean(axis=1, keepdims=True)).T
    back = np.log(_vocoders.codebook_gains(power, 1.0) ** 2)
    error = (back - back.mean(axis=0)) - (np.log(power) - np.log(power).mean(axis=0))
    assert np.count_nonzero(np.abs(error).max(axis=0) < 1e-9) >= 60


def test_the_codebook_leaves_no_more_than_its_sounds():
    power = np.exp(np.random.default_rng(0).normal(0, 2, (257, 500)))
    gains = np.log(_vocoders.codebook_gains(power, 1.1))
    shapes = (gains - gains.mean(axis=0)).round(6)
    assert 20 < len(np.unique(shapes, axis=1).T) <= 64


def test_a_constant_filter_before_the_codebook_is_not_heard():
    power = np.exp(np.random.default_rng(0).normal(0, 1, (257, 300)))
    bands = _vocoders.mel_bands(24)
    filtered = power * np.exp(np.linspace(1, -1, 24) @ bands)[:, None]
    one, two = (np.log(_vocoders.codebook_gains(p, 1.0)) for p in (power, filtered))
    same = np.isclose(one - one.mean(axis=0), two - two.mean(axis=0)).all(axis=0)
    assert same.mean() > 0.9


def test_louder_speech_is_louder_by_as_much():
    power = np.exp(np.random.default_rng(0).normal(0, 1, (257, 100)))
    once, louder = _vocoders.codebook_gains(power, 1.0), _vocoders.codebook_gains(9 * power, 1.0)
    np.testing.assert_allclose(louder, 3 * once, rtol=1e-6)


@pytest.mark.parametrize("pitch", [95.0, 200.0])
def test_the_voice_pulses_at_its_pitch_below_3_khz(pitch):
    out = _vocoders.voice(pitch, np.zeros(16_000))
    power = np.abs(np.fft.rfft(out * np.hanning(16_000))) ** 2
    assert np.argmax(power[20:300]) + 20 == pytest.approx(pitch, abs=2)
    assert power[5_000:].sum() < 0.01 * power.sum()
    noise = _vocoders.voice(pitch, np.random.default_rng(0).standard_normal(16_000)) - out
    power = np.abs(np.fft.rfft(noise)) ** 2
    assert power[:1_500].sum() < 0.01 * power.sum()
