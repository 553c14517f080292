"""Kaldi's lists of trials."""

import os
from pathlib import Path

import pandas as pd

from voiceprivacy._progress import slow_bar
from voiceprivacy._spk2utt import utf8_lines
from voiceprivacy.errors import VoicePrivacyError, listed

LABELS = ("target", "nontarget")


def read_trials(path: str | os.PathLike) -> pd.DataFrame:
    """Read a Kaldi list of trials.

    Parameters
    ----------
    path
        A text file, one trial a line: enrolled speaker, trial utterance, ``target`` or
        ``nontarget``.

    Returns
    -------
    pandas.DataFrame
        ``speaker``, ``utterance``, ``target`` (bool) and ``line``, in the file's order.

    Raises
    ------
    VoicePrivacyError
        If lines have another form or occur twice, told with their numbers. (The VoicePrivacy
        Challenge's own scoring takes any other label than ``target`` for a nontarget.)
    """
    path = Path(path)
    if not path.is_file():
        raise VoicePrivacyError(f"{path}: no such list of trials.")
    rows, faults, seen = [], {}, set()
    for number, line in enumerate(slow_bar(utf8_lines(path), unit="line", desc=path.name), 1):
        words = line.split()
        fault = _trial_fault(words, seen)
        if fault:
            faults.setdefault(fault, []).append(f"line {number}: {line.strip()}")
        elif words:
            seen.add(tuple(words[:2]))
            rows.append((words[0], words[1], words[2] == "target", number))
    if faults:
        told = "; ".join(
            f"{len(lines)} {fault} ({listed(lines)})" for fault, lines in faults.items()
        )
        raise VoicePrivacyError(
            f"{path}: {told}. Expected: enrolled speaker, utterance, target or nontarget."
        )
    if not rows:
        raise VoicePrivacyError(f"{path} lists no trial.")
    return pd.DataFrame(rows, columns=["speaker", "utterance", "target", "line"])


def _trial_fault(words: list[str], seen: set[tuple[str, ...]]) -> str:
    """What is wrong with one line of a trial list; empty for a good one and for a blank line."""
    if not words:
        return ""
    if len(words) != 3:
        return "lines without three words"
    if words[0] in ("0", "1", "target", "nontarget") and words[2] not in LABELS:
        return "lines with the label first (VoxCeleb's order)"
    if words[2] not in LABELS:
        return "lines with another label"
    return "trials listed before" if tuple(words[:2]) in seen else ""
