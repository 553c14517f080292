"""Random streams that depend on what they are for, never on who asked first."""

import zlib
from numbers import Integral

import numpy as np

from voiceprivacy.errors import VoicePrivacyError


def stream(seed: int, *purpose: int | str) -> np.random.Generator:
    """Return the generator for one purpose under one seed.

    Two different purposes give independent streams; the same purpose gives the same stream
    whatever else was drawn before, on any thread.

    Parameters
    ----------
    seed
        The user's seed, a non-negative integer.
    *purpose
        What the stream is for, such as ``"split", 3``. Words are hashed with CRC-32.

    Raises
    ------
    VoicePrivacyError
        If the seed is no such number.

    Examples
    --------
    >>> bool(stream(1, "split", 3).random() == stream(1, "split", 3).random())
    True
    >>> bool(stream(1, "split", 3).random() == stream(1, "split", 4).random())
    False
    """
    if not isinstance(seed, Integral) or seed < 0:
        raise VoicePrivacyError(f"seed is {seed!r}; expected a whole number from 0 up.")
    keys = [zlib.crc32(key.encode()) if isinstance(key, str) else int(key) for key in purpose]
    return np.random.default_rng([int(seed), *keys])
