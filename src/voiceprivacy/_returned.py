"""What a program brings back for an utterance: looked at closely before it is taken over."""

from pathlib import Path

import numpy as np

from voiceprivacy import _conversion as conversion
from voiceprivacy._anonymizer import PEAK
from voiceprivacy._audio import audio_packages, read_audio
from voiceprivacy._conversion import Job, Outcome
from voiceprivacy.corpora import SILENCE
from voiceprivacy.errors import VoicePrivacyError

SCALED = "scaled"


def taken(job: Job, path: Path, rate: int) -> Outcome:
    """Write a file that came back into its place, unless something is wrong with it.

    The file's comment says how many times longer the utterance became, and whether it was scaled.
    """
    try:
        reason, detail = _header_fault(path, rate)
        if reason:
            return Outcome(reason=reason, detail=f"{path}: {detail}")
        samples, before = read_audio(path), job.said.samples()
    except (VoicePrivacyError, OSError, RuntimeError) as error:
        return Outcome(reason="unreadable", detail=str(error))
    reason = _fault(samples, before)
    if reason:
        return Outcome(reason=reason, detail=str(path))
    factor, peak = f"{len(samples) / len(before):.6f}", float(np.abs(samples).max())
    if peak > 1:
        return conversion.write(job.path, samples * (PEAK / peak), f"{factor} {SCALED}")
    return conversion.write(job.path, samples, factor)


def _header_fault(path: Path, rate: int) -> tuple[str, str]:
    """What a file's header tells against it: reason and detail, empty if nothing."""
    soundfile, _ = audio_packages()
    if _is_cut(path):
        return "cut short", "holds less than its header says"
    info = soundfile.info(path)
    if not info.frames:
        return "empty", "holds no samples"
    if info.samplerate != rate:
        return "wrong rate", f"{info.samplerate} Hz, expected {rate}"
    return "", ""


def _is_cut(path: Path) -> bool:
    """Whether a wav file was not written to its end."""
    with path.open("rb") as file:
        head = file.read(8)
    return head[:4] == b"RIFF" and int.from_bytes(head[4:], "little") + 8 > path.stat().st_size + 1


def _fault(samples: np.ndarray, before: np.ndarray) -> str:
    """What is wrong with sound that can be heard; silence may come back as it was."""
    if np.abs(before).mean() < SILENCE:
        return ""
    if np.abs(samples).mean() < SILENCE:
        return "made silent"
    # One step of 16 bits, as the input was written.
    same = len(samples) == len(before) and np.abs(samples - before).max() <= 2**-15
    return "unchanged" if same else ""
