"""Pretrained SpeechBrain encoders: found, checked, and loaded where they lie."""

import os
import pickle
import re
from collections.abc import Mapping
from pathlib import Path

from voiceprivacy._hyperparams import read_hyperparams
from voiceprivacy.errors import VoicePrivacyError

HYPERPARAMS = "hyperparams.yaml"
NEEDED = ("compute_features", "mean_var_norm", "embedding_model")
HUB_NAME = re.compile(r"[\w.-]+/[\w.-]+")


def pretrained_folder(model: str | os.PathLike) -> Path:
    """The folder of a model, fetched to the Hugging Face cache if it is the name of one.

    A folder that is there is never looked for elsewhere.
    """
    folder = Path(model)
    if folder.is_dir() or not HUB_NAME.fullmatch(str(model)):
        return folder
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(str(model), allow_patterns=["*.yaml", "*.ckpt", "*.txt"]))
    except Exception as error:  # whatever the network and its libraries raise
        reason = str(error).strip().partition("\n")[0].rstrip(".")
        raise VoicePrivacyError(
            f"{model} is no folder here, and cannot be fetched from huggingface.co ({reason}). "
            "Download the model on a machine with network, and give the path of its folder."
        ) from error


def load_modules(folder: Path, trust: bool) -> tuple:
    """Return features, normalisation and encoder of a folder, with their weights.

    Weights are taken from `folder` alone, whatever other place the file names.
    """
    if not (folder / HYPERPARAMS).is_file():
        raise VoicePrivacyError(f"{folder} is no pretrained model: it has no {HYPERPARAMS}.")
    try:
        made = read_hyperparams(folder / HYPERPARAMS, trust)
        modules, pretrainer = made["modules"], made["pretrainer"]
        found = tuple(modules[name] for name in NEEDED)
        _load_weights(pretrainer, folder)
    except VoicePrivacyError:
        raise
    except (OSError, ValueError, KeyError, AttributeError, TypeError, ImportError,
            RuntimeError) as error:  # fmt: skip
        raise VoicePrivacyError(
            f"{folder} cannot be loaded by SpeechBrain: {' '.join(str(error).split())}; expected "
            f"{HYPERPARAMS} with modules {', '.join(NEEDED)} and a pretrainer."
        ) from error
    return found


def _load_weights(pretrainer, folder: Path) -> None:
    """Load the weights of what embeds; the classifier and its labels are not needed."""
    from speechbrain.utils.fetching import LocalStrategy

    pretrainer.loadables = {
        name: module for name, module in pretrainer.loadables.items() if name in NEEDED
    }
    if "embedding_model" not in pretrainer.loadables:
        raise VoicePrivacyError(
            f"{folder / HYPERPARAMS}: its pretrainer loads no weights of embedding_model."
        )
    pretrainer.paths = _checked_files(pretrainer.loadables, pretrainer.paths, folder)
    # Used where they lie: links need rights that some systems do not give.
    pretrainer.set_collect_in(folder)
    pretrainer.collect_files(default_source=str(folder), local_strategy=LocalStrategy.NO_LINK)
    pretrainer.load_collected()


def _checked_files(names: Mapping, paths: Mapping[str, str], folder: Path) -> dict[str, str]:
    """Where the weights lie, by name; each file must hold weights and nothing that runs."""
    import torch

    found = {}
    for name in names:
        file = folder / Path(paths.get(name, f"{name}.ckpt")).name
        if not file.is_file():
            raise VoicePrivacyError(f"{file}: no such file; {HYPERPARAMS} expects weights in it.")
        try:
            torch.load(file, map_location="cpu", weights_only=True)
        except (RuntimeError, pickle.UnpicklingError, EOFError, ValueError, KeyError) as error:
            reason = str(error).strip().partition("\n")[0]
            raise VoicePrivacyError(
                f"{file} holds no weights, or more than that: {reason}"
            ) from error
        found[name] = str(file)
    return found
