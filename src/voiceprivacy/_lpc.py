"""Linear prediction, frame by frame: a spectral envelope as poles, and what excites it.

Frames are 20 ms long and start every 10 ms. Analysis and synthesis share one window whose squares
sum to one, to within half a percent, where two frames overlap: unchanged frames give back the
samples.
"""

import numba
import numpy as np

from voiceprivacy._roots import roots

ORDER = 20
FRAME, HOP = 320, 160
TINY = float(np.finfo(float).tiny)
EPS = float(np.finfo(np.float32).eps)
WINDOW = np.sqrt(np.hanning(FRAME) * HOP / np.hanning(FRAME).sum())


def windowed(samples: np.ndarray) -> np.ndarray:
    """Cut samples into windowed frames, (frames, 320) float64; the last one is filled up."""
    n_frames = max(1, int(np.ceil((len(samples) - FRAME) / HOP)) + 1)
    padded = np.zeros((n_frames - 1) * HOP + FRAME)
    padded[: len(samples)] = samples + EPS
    return np.lib.stride_tricks.sliding_window_view(padded, FRAME)[::HOP] * WINDOW


def overlapped(frames: np.ndarray, n_samples: int) -> np.ndarray:
    """Window frames again and add them where they belong, (n_samples,)."""
    halves = (frames * WINDOW).reshape(len(frames), 2, HOP)
    samples = np.zeros((len(frames) + 1, HOP))
    samples[:-1] = halves[:, 0]
    samples[1:] += halves[:, 1]
    return samples.ravel()[:n_samples]


def as_loud(frames: np.ndarray, models: np.ndarray) -> np.ndarray:
    """Scale each frame to the power of its model."""
    power, wanted = ((x**2).mean(axis=1, keepdims=True) for x in (frames, models))
    return frames * np.sqrt(wanted / power)


@numba.njit(cache=True, nogil=True)
def predictors(frames):
    """Fit predictors 1 + a1/z + ... to frames by Burg's method, (frames, 21)."""
    n_frames, length = frames.shape
    found = np.zeros((n_frames, ORDER + 1))
    for n in range(n_frames):
        found[n, 0] = 1.0
        forward, backward = frames[n] + EPS, frames[n] + EPS
        power = 0.0
        for t in range(1, length):
            power += forward[t] ** 2 + backward[t - 1] ** 2
        for i in range(ORDER):
            product = 0.0
            for t in range(i + 1, length):
                product += forward[t] * backward[t - 1 - i]
            reflection = -2.0 * product / (power + TINY)
            _step_up(found[n], reflection, i)
            for t in range(i + 1, length):
                error = forward[t]
                forward[t] = error + reflection * backward[t - 1 - i]
                backward[t - 1 - i] += reflection * error
            power *= 1.0 - reflection**2
            power -= backward[length - 2 - i] ** 2 + forward[i + 1] ** 2
    return found


@numba.njit(cache=True, nogil=True)
def _step_up(predictor, reflection, i):
    """Extend a predictor from order i to i + 1 (the Levinson recursion)."""
    shorter = predictor.copy()
    for j in range(1, i + 2):
        predictor[j] = shorter[j] + reflection * shorter[i + 1 - j]


@numba.njit(cache=True, nogil=True)
def residuals(frames, predictors):
    """Filter each frame by its predictor: what the poles leave unexplained, as `frames`."""
    out = frames.copy()
    for n in range(len(frames)):
        for t in range(frames.shape[1]):
            for j in range(1, min(t, ORDER) + 1):
                out[n, t] += predictors[n, j] * frames[n, t - j]
    return out


@numba.njit(cache=True, nogil=True)
def excited(residuals, predictors):
    """Filter each residual by the inverse of its predictor: `residuals` undone."""
    out = residuals.copy()
    for n in range(len(residuals)):
        for t in range(residuals.shape[1]):
            for j in range(1, min(t, ORDER) + 1):
                out[n, t] -= predictors[n, j] * out[n, t - j]
    return out


def bent(predictors: np.ndarray, coefficient: float) -> np.ndarray:
    """Raise the angles of all poles that are not real to a power, (frames, 21)."""
    poles = roots(predictors)
    angles = np.angle(poles)
    moved = np.abs(poles) * np.exp(1j * np.sign(angles) * np.abs(angles) ** coefficient)
    return _polynomials(np.where(poles.imag != 0, moved, poles))


@numba.njit(cache=True, nogil=True)
def _polynomials(roots):
    """Multiply out (1 - r1/z) (1 - r2/z) ..., one row of roots a polynomial."""
    product = np.zeros((len(roots), ORDER + 1), np.complex128)
    for n in range(len(roots)):
        product[n, 0] = 1.0
        for k in range(ORDER):
            for j in range(k + 1, 0, -1):
                product[n, j] -= roots[n, k] * product[n, j - 1]
    return product.real


def mcadams(samples: np.ndarray, coefficient: float) -> np.ndarray:
    """Raise the angles of all poles to a power, frame by frame, and put samples together again."""
    frames = windowed(samples)
    envelopes = predictors(frames)
    voice = excited(residuals(frames, envelopes), bent(envelopes, coefficient))
    return overlapped(voice, len(samples))
