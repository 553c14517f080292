"""Made-up speakers, as settings of a formant synthesiser (eSpeak NG's voice files)."""

from typing import NamedTuple

import numpy as np

from voiceprivacy.randomness import stream

# Mean, standard deviation and limits of a speaker's usual pitch (Hz); mean formant scale.
SEXES = {"female": (210, 22, 165, 270, 1.16), "male": (120, 18, 80, 160, 1.0)}
ACCENTS = ("en", "en-us", "en-029", "en-gb-scotland", "en-gb-x-rp")


class Voice(NamedTuple):
    """A speaker: a voice file and how it is used (words a minute, 0 to 100, 10 ms, percent)."""

    gender: str
    accent: str
    settings: str
    rate: float
    pitch_range: float
    word_gap: int
    volume: float


def voice(seed: int, speaker: int) -> Voice:
    """Return the voice of speaker k; even ones are female.

    Examples
    --------
    >>> voice(0, 0).gender, voice(0, 1).gender, voice(0, 1) == voice(0, 1)
    ('female', 'male', True)
    """
    rng = stream(seed, "voice", speaker)
    gender = ("female", "male")[speaker % 2]
    return Voice(
        gender,
        str(rng.choice(ACCENTS)),
        _settings(rng, gender),
        rate=float(np.clip(rng.normal(165, 18), 120, 210)),
        pitch_range=float(rng.uniform(30, 75)),
        word_gap=int(rng.integers(0, 3)),
        volume=float(rng.uniform(15, 45)),  # louder ones would clip
    )


def _settings(rng: np.random.Generator, gender: str) -> str:
    """The text of a voice file."""
    mean, deviation, low, high, tract = SEXES[gender]
    pitch = np.clip(rng.normal(mean, deviation), low, high)
    span = rng.uniform(1.25, 1.7)
    lowest = pitch / (1 + 0.6 * (span - 1))  # speech lies about there between the two limits
    tract = rng.normal(tract, 0.05)
    lines = [
        "language variant",
        f"pitch {lowest:.0f} {lowest * span:.0f}",
        f"flutter {rng.integers(1, 7)}",
        f"roughness {rng.integers(0, 4)}",
        f"voicing {rng.uniform(85, 115):.0f}",
        f"consonants {rng.uniform(70, 120):.0f} {rng.uniform(70, 120):.0f}",
        f"breath {_numbers(rng.integers(0, 5, 8) * rng.integers(2))}",
        f"stressAdd {_numbers(rng.integers(-25, 25, 8))}",
        f"tone 600 {rng.uniform(150, 255):.0f} 1200 {rng.uniform(80, 200):.0f} "
        f"2400 {rng.uniform(60, 200):.0f} 4000 {rng.uniform(30, 180):.0f}",
    ]
    for formant in range(9):
        frequency = 100 * tract * rng.normal(1, 0.03)
        lines.append(
            f"formant {formant} {_numbers([frequency, *rng.uniform([75, 80], [120, 150])])}"
        )
    return "\n".join(lines) + "\n"


def _numbers(values) -> str:
    return " ".join(f"{value:.0f}" for value in values)
