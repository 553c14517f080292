"""What values an attacker's settings may have."""

from voiceprivacy.segreconcat import BOUNDARIES, CONTROLS, ORDERS, PADDINGS, STRATEGIES

SCHEDULES = ("triangular", "one_cycle")
SHORT = ("drop", "repeat")


def _one_of(*known: str):
    return (lambda value: value in known), f"one of {', '.join(known)}"


def _between(low: float, high: float):
    return (lambda value: low <= value <= high), f"{low:g} to {high:g}"


_COUNT = (lambda value: value >= 1), "1 or more"
_COUNTS = (lambda values: len(values) >= 3 and min(values) >= 1), "three or more, each 1 or more"
_POSITIVE = (lambda value: 0 < value < float("inf")), "a positive number"
_SEED = (lambda value: value >= 0), "0 or more"
_LENGTHS = (lambda v: len(v) == 2 and 1 <= v[0] < v[1]), "[shortest, one more than the longest]"
_MASKS = (lambda v: len(v) == 2 and 1 <= v[0] <= v[1]), "[fewest, most], from 1"

AUGMENTATION_RULES = {
    "strategy": _one_of(*STRATEGIES, *CONTROLS),
    "boundaries": _one_of(*BOUNDARIES),
    "order": _one_of(*ORDERS),
    "crossfade": ((lambda value: 0 <= value < 1), "0 to 1 s"),
    "padding": _one_of(*PADDINGS),
}

RULES = {
    "channels": _COUNTS,
    "kernel_sizes": ((lambda v: all(k >= 1 and k % 2 for k in v)), "odd numbers"),
    "dilations": _COUNTS,
    "attention_channels": _COUNT,
    "res2net_scale": ((lambda value: value >= 2), "2 or more"),
    "se_channels": _COUNT,
    "embedding": _COUNT,
    "mels": _between(4, 128),
    "hop_ms": _between(1, 25),
    "margin": ((lambda value: 0 <= value < 1.57), "radians, 0 to below pi/2"),
    "scale": _POSITIVE,
    "crop_seconds": _between(0.2, 60),
    "short": _one_of(*SHORT),
    "batch_size": ((lambda value: value >= 2), "2 or more"),
    "max_steps": _COUNT,
    "max_epochs": _COUNT,
    "evaluate_every": _COUNT,
    "patience": _COUNT,
    "dev_share": ((lambda value: 0 < value < 1), "a share between 0 and 1"),
    "schedule": _one_of(*SCHEDULES),
    "learning_rate": _POSITIVE,
    "base_learning_rate": _POSITIVE,
    "cycle_steps": _COUNT,
    "weight_decay": ((lambda value: 0 <= value < 1), "0 to below 1"),
    "max_gradient": _POSITIVE,
    "seed": _SEED,
    "frequency_mask": _LENGTHS,
    "time_mask": _LENGTHS,
    "masks": _MASKS,
}

TOGETHER = (
    (
        ("channels", "kernel_sizes", "dilations"),
        lambda s: len(s.channels) == len(s.kernel_sizes) == len(s.dilations),
        "as many of each",
    ),
    (
        ("channels", "res2net_scale"),
        lambda s: all(c % s.res2net_scale == 0 for c in s.channels[1:-1]),
        "the channels between the first and the last to be multiples of the scale",
    ),
    (
        ("max_steps", "max_epochs", "patience"),
        lambda s: (s.max_steps or s.max_epochs or s.patience) is not None,
        "one of them to end training",
    ),
    (
        ("schedule", "max_steps"),
        lambda s: s.schedule != "one_cycle" or s.max_steps is not None,
        "a number of steps, which one cycle is laid over",
    ),
    (
        ("base_learning_rate", "learning_rate"),
        lambda s: s.base_learning_rate <= s.learning_rate,
        "the base to be the lower one",
    ),
)
