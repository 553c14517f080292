"""Settings of an attacker's training, from YAML files.

The defaults are the SegReConcat paper's configuration, ``config/attackers/paper.yaml``;
``small.yaml`` beside it is one for a single CPU thread.
"""

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml

from voiceprivacy._attacker_rules import AUGMENTATION_RULES, RULES, TOGETHER
from voiceprivacy._yaml import check_fields, known_fields, nearest, read_yaml
from voiceprivacy.attacker_rows import row
from voiceprivacy.errors import VoicePrivacyError
from voiceprivacy.files import written_whole
from voiceprivacy.paths import shipped

SHIPPED = ("paper", "small")


@dataclass(frozen=True)
class Augmentation:
    """What is done to the waveform of a training utterance, see `SegReConcat`.

    Parameters
    ----------
    strategy, concatenate, boundaries, order, crossfade, padding
        As in `voiceprivacy.segreconcat.SegReConcat`.
    redraw
        Whether random orders are drawn again in every epoch. The paper augments files once,
        before training, so that every epoch hears the same order.
    """

    strategy: str = "none"
    concatenate: bool = False
    boundaries: str = "gapless"
    order: str = "original_first"
    crossfade: float = 0.0
    padding: str = "short"
    redraw: bool = False

    def __post_init__(self):
        check_fields(self, AUGMENTATION_RULES)


@dataclass(frozen=True)
class AttackerSettings:
    """Everything besides the data that a trained attacker depends on.

    Parameters
    ----------
    channels
        Of the first layer, of each SE-Res2Net block and of the aggregation of all blocks.
    kernel_sizes, dilations
        As many as `channels`.
    attention_channels, res2net_scale, se_channels
        Of ECAPA-TDNN.
    embedding
        Numbers in one embedding.
    mels, hop_ms
        Mel filters, and milliseconds between windows of 25 ms.
    margin, scale
        Of the additive angular margin loss.
    crop_seconds
        Length of the random piece that one row of a batch is.
    short
        What becomes of an utterance that is shorter, as trained: ``"drop"``, or ``"repeat"`` it
        until it is long enough.
    batch_size
        Rows of a batch, over all processes.
    max_steps, max_epochs
        Training ends after so many steps, or passes over all rows; ``None``: no such limit.
    evaluate_every
        Steps between evaluations on the development utterances; ``None``: one epoch.
    patience
        Training ends after so many evaluations in a row without a lower development loss;
        ``None``: it does not.
    dev_share
        Share of every speaker's utterances that are development utterances.
    schedule
        Of the learning rate: ``"triangular"`` between `base_learning_rate` and `learning_rate`,
        up in `cycle_steps` and down in as many; or ``"one_cycle"``, up to `learning_rate` in the
        first 30 % of `max_steps` and down to nothing, along cosines.
    weight_decay
        Of Adam.
    max_gradient
        Norm to which gradients are cut.
    seed
        Of everything random.
    specaugment
        Whether bands and stretches of the features are masked (SpecAugment).
    frequency_mask, time_mask
        Length of a mask in mel filters and in windows, from the first number to below the second.
    masks
        Fewest and most masks of each kind.
    peak_normalise
        Whether an utterance is scaled to peak 1 and stripped of zeros at both ends before it is
        embedded, as the VoicePrivacy Challenge does.
    augmentation
        Of waveforms.

    Raises
    ------
    VoicePrivacyError
        If a value is of a wrong kind or out of range, or two do not go together.

    Examples
    --------
    >>> AttackerSettings().channels[0], AttackerSettings(seed=3).seed
    (1024, 3)
    """

    channels: list[int] = field(default_factory=lambda: [1024, 1024, 1024, 1024, 3072])
    kernel_sizes: list[int] = field(default_factory=lambda: [5, 3, 3, 3, 1])
    dilations: list[int] = field(default_factory=lambda: [1, 2, 3, 4, 1])
    attention_channels: int = 128
    res2net_scale: int = 8
    se_channels: int = 128
    embedding: int = 192
    mels: int = 80
    hop_ms: int = 10
    margin: float = 0.2
    scale: float = 30.0
    crop_seconds: float = 3.0
    short: str = "drop"
    batch_size: int = 256
    max_steps: int | None = None
    max_epochs: int | None = 100
    evaluate_every: int | None = None
    patience: int | None = 3
    dev_share: float = 0.1
    schedule: str = "triangular"
    learning_rate: float = 0.01
    base_learning_rate: float = 1e-8
    cycle_steps: int = 65_000
    weight_decay: float = 2e-6
    max_gradient: float = 5.0
    seed: int = 0
    specaugment: bool = False
    frequency_mask: list[int] = field(default_factory=lambda: [5, 15])
    time_mask: list[int] = field(default_factory=lambda: [5, 15])
    masks: list[int] = field(default_factory=lambda: [1, 3])
    peak_normalise: bool = True
    augmentation: Augmentation = field(default_factory=Augmentation)

    def __post_init__(self):
        check_fields(self, RULES)
        for names, holds, wanted in TOGETHER:
            if not holds(self):
                values = ", ".join(f"{name}: {getattr(self, name)}" for name in names)
                raise VoicePrivacyError(f"{values}; expected {wanted}.")

    def for_row(self, name: str) -> "AttackerSettings":
        """Return these settings with the augmentation of one row, see `row`.

        Examples
        --------
        >>> AttackerSettings().for_row("RR + concatenation").augmentation.strategy
        'rr'
        """
        changes = row(name)
        own = asdict(self.augmentation) | changes["augmentation"]
        return replace(self, specaugment=changes["specaugment"], augmentation=Augmentation(**own))

    def as_dict(self) -> dict[str, Any]:
        """Return all settings as plain values."""
        return asdict(self)


def read_settings(settings: str | os.PathLike) -> AttackerSettings:
    """Read settings from a YAML file; what it does not name is the paper's.

    Parameters
    ----------
    settings
        ``"paper"``, ``"small"``, or the path of a file.

    Raises
    ------
    VoicePrivacyError
        If there is no such file, it is no YAML, or a key or value is not known.

    Examples
    --------
    >>> read_settings("paper") == AttackerSettings()
    True
    """
    path = Path(settings)
    if str(settings) in SHIPPED:
        path = shipped("config", f"attackers/{settings}.yaml")
    if not path.is_file():
        found = "this is a folder" if path.is_dir() else "no such file"
        raise VoicePrivacyError(
            f"{settings}: {found}{nearest(settings, SHIPPED)}; expected one of "
            f"{', '.join(SHIPPED)}, or the path of a YAML file."
        )
    return settings_from(read_yaml(path), path)


def settings_from(values: Mapping[str, Any], where: object = "settings") -> AttackerSettings:
    """Return the settings of a mapping as `AttackerSettings.as_dict` gives it.

    Raises
    ------
    VoicePrivacyError
        As `read_settings`; the message begins with `where`.
    """
    try:
        values = known_fields(values, AttackerSettings)
        inner = values.get("augmentation") or {}
        values["augmentation"] = Augmentation(**known_fields(inner, Augmentation, "augmentation."))
        return AttackerSettings(**values)
    except VoicePrivacyError as error:
        raise VoicePrivacyError(f"{where}: {error}") from None


def write_settings(settings: AttackerSettings, path: str | os.PathLike) -> None:
    """Write settings as a YAML file that `read_settings` reads."""
    with written_whole(path) as temporary:
        temporary.write_text(
            yaml.safe_dump(settings.as_dict(), sort_keys=False, default_flow_style=None)
        )
