"""Sound files in: whatever rate and channels they have, samples come out at 16 kHz, mono."""

import os
from pathlib import Path
from typing import BinaryIO

import numpy as np

from voiceprivacy.errors import VoicePrivacyError

RATE = 16_000
# Seconds by which a piece may run past its file; Kaldi's extract-segments allows as many.
OVERSHOOT = 0.5


def read_audio(
    path: str | os.PathLike,
    start: float = np.nan,
    end: float = np.nan,
    *,
    sound: BinaryIO | None = None,
) -> np.ndarray:
    """Read a sound file, or a piece of it, as float32, mono, 16 kHz.

    Parameters
    ----------
    path
        A wav, flac, ogg or mp3 file of any rate and number of channels.
    start, end
        The piece in seconds; NaN stands for the beginning and the end of the file.
    sound
        The file's content, where it does not lie at `path`.

    Raises
    ------
    VoicePrivacyError
        If the file cannot be decoded, or holds no samples or values that are no numbers, or if the
        piece ends more than half a second after the file.
    """
    soundfile, soxr = audio_packages()
    try:
        with soundfile.SoundFile(path if sound is None else sound) as file:
            first = 0 if np.isnan(start) else round(start * file.samplerate)
            last = file.frames if np.isnan(end) else round(end * file.samplerate)
            _refuse_outside(path, start, end, file.frames / file.samplerate)
            # Seeking in an mp3 file lands some hundred samples off, so decode up to the piece.
            skip = first if file.format == "MP3" else 0
            file.seek(first - skip)
            wanted = skip + max(0, last - first)
            samples = file.read(wanted, dtype="float32", always_2d=True)[skip:]
            rate = file.samplerate
    except (OSError, RuntimeError) as error:
        raise VoicePrivacyError(f"{path} cannot be decoded ({error}).") from error
    if not len(samples):
        raise VoicePrivacyError(f"{path} holds no samples between {start} and {end} s.")
    if not np.isfinite(samples).all():
        raise VoicePrivacyError(f"{path} holds samples that are not numbers.")
    mono = samples.mean(axis=1)
    return mono if rate == RATE else soxr.resample(mono, rate, RATE)


def _refuse_outside(path: str | os.PathLike, start: float, end: float, seconds: float) -> None:
    # A comparison with NaN, which stands for no limit, is false.
    if start >= seconds or end > seconds + OVERSHOOT:
        raise VoicePrivacyError(
            f"{path} holds no samples between {start} and {end} s: it ends after {seconds:.3f} s. "
            "Mend the times, or use the recording that they are of."
        )


def header_faults(file: Path) -> tuple[str, str]:
    """What is wrong with a file's header, and what is doubtful; empty text where nothing is."""
    soundfile, _ = audio_packages()
    try:
        info = soundfile.info(file)
    except (OSError, RuntimeError) as error:
        return str(error), ""
    if not info.frames:
        return "holds no samples", ""
    return "", low_rate(info.samplerate)


def low_rate(rate: int) -> str:
    """What is doubtful about a sampling rate; empty text if nothing is."""
    return f"{rate} Hz: nothing above {rate // 2} Hz; 16 kHz expected" if rate < RATE else ""


def audio_packages():
    """Import soundfile and soxr, or say how to get them."""
    try:
        import soundfile
        import soxr
    except ImportError as error:
        raise VoicePrivacyError(
            f"reading audio needs the package {error.name}; "
            'install the extra with: pip install "voiceprivacy[speech]"'
        ) from error
    return soundfile, soxr
