"""Speech made anew: an excitation takes the place of the voice, filtered by what is kept of it.

Spectra are short-time Fourier transforms with a window of 512 samples every 128 (librosa's).
"""

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np

from voiceprivacy._audio import RATE

N_FFT, HOP = 512, 128
FREQUENCIES = np.fft.rfftfreq(N_FFT, 1 / RATE)
LOWEST_HZ, HIGHEST_HZ = 80, 7_600
FLOOR = 1e-7
TINY = float(np.finfo(float).tiny)


def refiltered(samples: np.ndarray, excitation: np.ndarray, gains: Callable) -> np.ndarray:
    """Replace speech by an excitation whose spectrum is shaped frame by frame.

    Parameters
    ----------
    samples, excitation
        Both (n,).
    gains
        From the power of the speech, (257, frames), to the filter's magnitude, of the same shape.
    """
    import librosa

    # librosa warns of clips that are shorter than its window.
    filled = max(0, N_FFT - len(samples))
    speech, source = (
        librosa.stft(np.pad(x, (0, filled)).astype(np.float32), n_fft=N_FFT, hop_length=HOP)
        for x in (samples, excitation)
    )
    shaped = source * gains(np.abs(speech) ** 2).astype(np.float32)
    return librosa.istft(shaped, hop_length=HOP, length=len(samples))


def mel_bands(n_bands: int, stretch: float = 1.0) -> np.ndarray:
    """Which frequency belongs to which of the bands of equal width in mel, (bands, 257) of 0 or 1.

    Parameters
    ----------
    stretch
        Factor of all frequencies.
    """
    edges = np.linspace(_mel(LOWEST_HZ), _mel(HIGHEST_HZ), n_bands + 1)
    place = np.searchsorted(edges, _mel(FREQUENCIES / stretch), side="right") - 1
    return (place == np.arange(n_bands)[:, None]).astype(np.float32)


def _mel(frequency: np.ndarray) -> np.ndarray:
    return 2595 * np.log10(1 + np.asarray(frequency) / 700)


# -- bands of noise ----------------------------------------------------------------------------

N_BANDS = 3
QUIET = 1e-9  # of the greatest power, about what 16 bits can hold
SMOOTHING = 5  # frames, 40 ms: standard deviation of a Gaussian window


class Style(NamedTuple):
    """How bands sound: factor of their frequencies, exponent of loudness, mean power of each."""

    stretch: float
    contrast: float
    levels: np.ndarray


def style(rng: np.random.Generator) -> Style:
    """Draw a style about that of speech, which falls by 9 dB an octave from 500 Hz."""
    bands = mel_bands(N_BANDS)
    centres = (bands @ FREQUENCIES) / bands.sum(axis=1)
    levels = np.minimum(1, 500 / centres) ** 3 * 10 ** rng.uniform(-0.6, 0.6, N_BANDS)
    return Style(rng.uniform(0.8, 1.25), 2 ** rng.uniform(-1, 1), levels)


def band_gains(power: np.ndarray, style: Style) -> np.ndarray:
    """Follow the slow changes of loudness in three bands, about the means that a style has.

    Parameters
    ----------
    power
        Of the speech, (257, frames).
    """
    from scipy.ndimage import gaussian_filter1d

    loudness = gaussian_filter1d(np.sqrt(mel_bands(N_BANDS) @ power), SMOOTHING, axis=1) ** 2
    loudness = (loudness / loudness.max() + QUIET) ** style.contrast
    loudness *= (style.levels / loudness.mean(axis=1))[:, None]
    return mel_bands(N_BANDS, style.stretch).T @ np.sqrt(loudness)


# -- a codebook of speech sounds ---------------------------------------------------------------

N_MELS = 24


@cache
def codebook() -> np.ndarray:
    """Spectra of 64 idealised sounds, natural logarithm of power, (64, 257).

    Vowels on a grid of two formants under a falling tilt, and noises around eight centres in two
    widths. They come from no recording.
    """
    vowels = [
        _vowel(first, second)
        for first in np.geomspace(280, 850, 6)
        for second in np.geomspace(900, 2500, 8)
    ]
    noises = [
        np.log(np.exp(-((FREQUENCIES - centre) ** 2) / (2 * width**2)) + 0.03)
        for centre in np.geomspace(1500, 5000, 8)
        for width in (600, 1500)
    ]
    return np.array([*vowels, *noises])


def _vowel(first: float, second: float) -> np.ndarray:
    """Log power of four resonances in a row, falling by 3 dB an octave from 500 Hz."""
    z = np.exp(-2j * np.pi * FREQUENCIES / RATE)
    log_power = np.log(np.minimum(1, 500 / np.maximum(FREQUENCIES, 1)))
    for centre, width in ((first, 120), (second, 180), (max(2600, second + 500), 250), (3600, 300)):
        pole = np.exp(np.pi * (-width + 2j * centre) / RATE)
        log_power -= 2 * np.log(np.abs((1 - pole * z) * (1 - pole.conjugate() * z)))
    return log_power


def codebook_gains(power: np.ndarray, stretch: float) -> np.ndarray:
    """Put the nearest sound of the codebook, as loud, in the place of each frame.

    Sounds and frames are compared in 24 bands, each kind about its own mean.

    Parameters
    ----------
    power
        Of the speech, (257, frames).
    stretch
        Factor of the sounds' frequencies.
    """
    bands = mel_bands(N_MELS)
    bands /= bands.sum(axis=1, keepdims=True)
    heard = np.log(bands @ power + FLOOR * power.mean() + TINY)
    loudness = heard.mean(axis=0)
    shapes = heard - loudness
    # Frames count by their amplitude: the mean is to be that of the speech, not of its pauses.
    shapes -= np.average(shapes, axis=1, weights=np.exp(loudness / 2))[:, None]
    sounds, codes = _centred(bands)
    distances = (codes**2).sum(axis=1)[:, None] - 2 * codes @ shapes
    moved = np.array([np.interp(FREQUENCIES / stretch, FREQUENCIES, sound) for sound in sounds])
    return np.exp((moved[distances.argmin(axis=0)].T + loudness) / 2)


def _centred(bands: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The sounds about a loudness of 0, (64, 257), and in bands about their mean, (64, bands)."""
    codes = np.log(np.exp(codebook()) @ bands.T)
    level = codes.mean(axis=1, keepdims=True)
    shapes = codes - level
    return codebook() - level, shapes - shapes.mean(axis=0)


def voice(pitch: float, noise: np.ndarray) -> np.ndarray:
    """A monotonous voice, as long as the noise: pulses below 3 kHz, the noise above."""
    from scipy.signal import sosfilt

    pulses = np.zeros(len(noise))
    period = RATE / pitch
    pulses[np.arange(0, len(noise), period).astype(int)] = np.sqrt(period)
    return sosfilt(_split("low"), pulses) + sosfilt(_split("high"), noise)


@cache
def _split(side: str) -> np.ndarray:
    from scipy.signal import butter

    return butter(4, 3_000, side, fs=RATE, output="sos")
