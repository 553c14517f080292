"""How the learning rate moves with the steps."""

import math

from voiceprivacy.attacker_settings import AttackerSettings

WARM = 0.3
FIRST, LAST = 25, 1e4


def learning_rate(settings: AttackerSettings, step: int) -> float:
    """Return the learning rate of a step, counted from 1.

    Notes
    -----
    ``triangular`` is SpeechBrain's ``CyclicLRScheduler``, moved before each step; ``one_cycle``
    is torch's ``OneCycleLR`` with its defaults, without its cycle of momentum.

    Examples
    --------
    >>> round(learning_rate(AttackerSettings(), 6500), 4)
    0.001
    """
    if settings.schedule == "triangular":
        return _triangular(settings, step)
    top = settings.learning_rate
    turn = WARM * settings.max_steps - 1
    if step - 1 <= turn:
        return _cosine(top / FIRST, top, (step - 1) / turn)
    return _cosine(top, top / FIRST / LAST, (step - 1 - turn) / (settings.max_steps - 1 - turn))


def _triangular(settings: AttackerSettings, step: int) -> float:
    low, top = settings.base_learning_rate, settings.learning_rate
    from_top = abs((step / settings.cycle_steps) % 2 - 1)
    return low + (top - low) * (1 - from_top)


def _cosine(start: float, end: float, share: float) -> float:
    """From `start` to `end` along half a wave."""
    return end + (start - end) * (1 + math.cos(math.pi * share)) / 2
