"""MFCCs of an utterance's words, and how far apart dynamic time warping finds them."""

import functools
import itertools
from collections.abc import Sequence

import numba
import numpy as np
from scipy.fft import dct, rfft
from scipy.signal import get_window

from voiceprivacy._audio import RATE
from voiceprivacy.errors import VoicePrivacyError

COEFFICIENTS = 13
WINDOW, HOP = 2048, 512  # librosa's defaults, as in the authors' code


def mfccs(samples: np.ndarray, words: np.ndarray) -> list[np.ndarray]:
    """Return the MFCCs of each word, (13, frames), one frame at least.

    Parameters
    ----------
    samples
        The utterance, (n,), 16 kHz.
    words
        Start and end of each word, (k, 2).

    Notes
    -----
    What ``librosa.feature.mfcc(y=word, sr=16000, n_mfcc=13)`` gives, thirty times faster: one
    Fourier transform for all words, and one filter bank.
    """
    frames = [1 + (end - start) // HOP for start, end in words.tolist()]
    limits = np.cumsum([0, *frames])
    spectra = rfft(_windows(samples, words, frames) * _HANN)
    power = spectra.real**2 + spectra.imag**2
    mel = power @ _mel_filters().T
    decibels = np.empty_like(mel)
    for first, last in itertools.pairwise(limits):
        decibels[first:last] = _decibels(mel[first:last])
    coefficients = dct(decibels, type=2, norm="ortho")[:, :COEFFICIENTS]
    return np.split(coefficients.T, limits[1:-1], axis=1)


def acoustic_distances(mfccs: Sequence[np.ndarray]) -> np.ndarray:
    """Return the total cost of dynamic time warping between all pairs of words.

    Parameters
    ----------
    mfccs
        One matrix a word, (coefficients, frames).

    Returns
    -------
    numpy.ndarray
        Symmetric (k, k), zero on its diagonal. The cost of a pair of frames is their Euclidean
        distance; a path goes on by a frame of either word or both (Sec. 3.2.1).

    Notes
    -----
    The authors' code first pads every word with zeros, or cuts it, to 100 frames (3.2 s). Zeros
    match zeros at no cost, so padding changes a distance only where a word's frames are nearer to
    zero than to the other word's. The paper mentions neither, and neither is done here.

    Examples
    --------
    >>> acoustic_distances([np.array([[0.0, 1.0]]), np.array([[0.0, 0.0, 3.0]])]).tolist()
    [[0.0, 2.0], [2.0, 0.0]]
    """
    limits = np.cumsum([0, *(m.shape[1] for m in mfccs)])
    frames = np.ascontiguousarray(np.concatenate(list(mfccs), axis=1).T, dtype=np.float64)
    return _distances(frames, limits)


@numba.njit(cache=True, nogil=True)
def _distances(frames, limits):
    """All pairs' costs, from the frames (total, coefficients) of words that start at `limits`."""
    n = len(limits) - 1
    distances = np.zeros((n, n))
    for i in range(n):
        for j in range(i + 1, n):
            cost = _cost(frames[limits[i] : limits[i + 1]], frames[limits[j] : limits[j + 1]])
            distances[i, j] = distances[j, i] = cost
    return distances


@numba.njit(cache=True, nogil=True)
def _cost(a, b):
    """One pair's cost; `row[y]` is that of the best path to frame x of `a` and y - 1 of `b`."""
    row = np.full(len(b) + 1, np.inf)
    row[0] = 0.0
    for x in range(len(a)):
        diagonal = row[0]
        row[0] = np.inf
        for y in range(len(b)):
            square = 0.0
            for c in range(a.shape[1]):
                square += (a[x, c] - b[y, c]) ** 2
            best = min(diagonal, row[y], row[y + 1])
            diagonal = row[y + 1]
            row[y + 1] = np.sqrt(square) + best
    return row[-1]


_HANN = get_window("hann", WINDOW).astype(np.float32)


def _windows(samples: np.ndarray, words: np.ndarray, frames: list[int]) -> np.ndarray:
    """Every word's windows, centred on its samples 0, HOP, ... with silence around the word."""
    reach = WINDOW // 2
    lengths = (words[:, 1] - words[:, 0]).tolist()
    offsets = np.cumsum([0, *(length + WINDOW for length in lengths)])
    line = np.zeros(offsets[-1], np.float32)
    for offset, (start, end) in zip(offsets.tolist(), words.tolist(), strict=False):
        line[offset + reach : offset + reach + end - start] = samples[start:end]
    starts = np.concatenate(
        [offset + HOP * np.arange(n) for offset, n in zip(offsets, frames, strict=False)]
    )
    return np.lib.stride_tricks.sliding_window_view(line, WINDOW)[starts]


def _decibels(power: np.ndarray) -> np.ndarray:
    """Power in decibels, at most 80 below the loudest (librosa.power_to_db)."""
    decibels = 10 * np.log10(np.maximum(power, 1e-10))
    return np.maximum(decibels, decibels.max() - 80)


@functools.cache
def _mel_filters() -> np.ndarray:
    """librosa's 128 mel filters, (128, 1025)."""
    try:
        import librosa
    except ImportError as error:
        raise VoicePrivacyError(
            f"rearranging by acoustic similarity needs the package {error.name}; "
            'install the extra with: pip install "voiceprivacy[speech]"'
        ) from error
    return librosa.filters.mel(sr=RATE, n_fft=WINDOW)
