"""The file ``spk2utt``: one line a speaker, its id and then the ids of its utterances (Kaldi)."""

from collections import Counter
from pathlib import Path

import numpy as np

from voiceprivacy.errors import VoicePrivacyError, listed


def read_spk2utt(path: Path) -> dict[str, str]:
    """Return the speaker of every utterance, in the order of the file."""
    if not path.is_file():
        raise VoicePrivacyError(
            f"{path} is missing; expected a text file with one line a speaker: "
            "the speaker, then the ids of its utterances."
        )
    speaker_of: dict[str, str] = {}
    seen: set[str] = set()
    for number, line in enumerate(utf8_lines(path), 1):
        if not line.strip():
            continue
        speaker, *utterances = line.split()
        twice = [u for u in utterances if u in speaker_of]
        twice += [u for u, count in Counter(utterances).items() if count > 1]
        if speaker in seen or not utterances or twice:
            fault = (
                f"utterances named twice: {listed(twice)}"
                if twice
                else f"speaker {speaker!r} has {'a line already' if utterances else 'no utterance'}"
            )
            raise VoicePrivacyError(f"{path}, line {number}: {fault}.")
        seen.add(speaker)
        speaker_of.update(dict.fromkeys(utterances, speaker))
    return speaker_of


def utf8_lines(path: Path) -> list[str]:
    """Return the lines of a UTF-8 text file."""
    try:
        return path.read_text(encoding="utf-8-sig").split("\n")
    except UnicodeDecodeError as error:
        raise VoicePrivacyError(f"{path} is not UTF-8 text ({error}).") from error


def spk2utt_text(utterances: np.ndarray, speakers: np.ndarray) -> str:
    """The text of a spk2utt, sorted as Kaldi wants it."""
    of_speaker: dict[str, list[str]] = {}
    for utterance, speaker in zip(utterances.tolist(), speakers.tolist(), strict=True):
        of_speaker.setdefault(speaker, []).append(utterance)
    return "".join(f"{s} {' '.join(sorted(of_speaker[s]))}\n" for s in sorted(of_speaker))
