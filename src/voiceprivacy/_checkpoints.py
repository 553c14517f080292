"""An attacker's folder: its best weights, where training stands, and the log."""

from pathlib import Path
from typing import Any

from voiceprivacy.errors import VoicePrivacyError
from voiceprivacy.files import written_whole

BEST, LAST, LOG = "best.pt", "last.pt", "log.csv"
LOG_COLUMNS = [
    "step",
    "epoch",
    "learning_rate",
    "train_loss",
    "train_accuracy",
    "dev_loss",
    "dev_accuracy",
]


def write_state(path: Path, state: dict[str, Any]) -> None:
    """Write weights and plain values, whole, the same bytes for the same values."""
    import torch

    # Written to a path, torch would name the archive inside after the temporary file.
    with written_whole(path) as temporary, temporary.open("wb") as file:
        torch.save(state, file)


def read_state(path: Path, device: object = "cpu") -> dict[str, Any]:
    """Read what `write_state` wrote, without running anything that a file may hold."""
    import pickle

    import torch

    if not path.is_file():
        raise VoicePrivacyError(
            f"{path}: no such file; a folder that an attacker was trained in holds it."
        )
    try:
        return torch.load(path, map_location=device, weights_only=True)
    except (RuntimeError, pickle.UnpicklingError, EOFError, ValueError, KeyError) as error:
        reason = str(error).partition("\n")[0]
        raise VoicePrivacyError(
            f"{path} is damaged or no attacker ({reason}); delete its folder to train again."
        ) from error
