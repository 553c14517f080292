"""SpeechBrain, imported so that it works beside a torch without CUDA."""

import sys
import types
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from types import SimpleNamespace

from voiceprivacy.errors import VoicePrivacyError

INSTALL = 'pip install "voiceprivacy[speech,attack]"'


def speechbrain() -> SimpleNamespace:
    """Return what of SpeechBrain an attacker is made of.

    Raises
    ------
    VoicePrivacyError
        If torch or SpeechBrain is missing, or they do not work together.
    """
    try:
        import torch  # noqa: F401

        import_torchaudio()
        from speechbrain.augment.freq_domain import SpectrogramDrop
        from speechbrain.lobes.features import Fbank
        from speechbrain.lobes.models.ECAPA_TDNN import ECAPA_TDNN, Classifier
        from speechbrain.nnet.losses import AdditiveAngularMargin, LogSoftmaxWrapper
    except ModuleNotFoundError as error:
        raise VoicePrivacyError(
            f"an attacker needs the package {error.name.partition('.')[0]}; "
            f"install the extras with: {INSTALL}"
        ) from error
    except (ImportError, AttributeError, TypeError, OSError) as error:
        found = ", ".join(
            f"{name} {_version(name)}" for name in ("speechbrain", "torchaudio", "torch")
        )
        raise VoicePrivacyError(
            f"SpeechBrain does not work with the packages here ({found}): {error}. "
            f"Expected speechbrain 1.0.3 or later, below 2; install with: {INSTALL}"
        ) from error
    _leave_lazy_modules_alone()
    return SimpleNamespace(
        SpectrogramDrop=SpectrogramDrop,
        Fbank=Fbank,
        ECAPA_TDNN=ECAPA_TDNN,
        Classifier=Classifier,
        AdditiveAngularMargin=AdditiveAngularMargin,
        LogSoftmaxWrapper=LogSoftmaxWrapper,
    )


def _leave_lazy_modules_alone() -> None:
    """Let nobody import SpeechBrain's optional parts by asking every module for its file.

    A notebook's ``%autoreload 2`` does, before every cell, and those parts need other packages.
    """
    from speechbrain.utils.importutils import LazyModule

    for module in list(sys.modules.values()):
        if isinstance(module, LazyModule):
            vars(module).setdefault("__file__", None)


@contextmanager
def torch_threads(n: int) -> Iterator[None]:
    """Let torch use `n` threads, and give the others back."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(n)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def import_torchaudio():
    """Import torchaudio, without its compiled part if that asks for CUDA libraries.

    Some wheels of torchaudio are linked against CUDA and cannot be loaded beside a torch for CPUs.
    SpeechBrain imports torchaudio, but nothing that is used here needs its compiled part.
    """
    try:
        import torchaudio
    except OSError:
        for name in [name for name in sys.modules if name.partition(".")[0] == "torchaudio"]:
            del sys.modules[name]
        extension = types.ModuleType("torchaudio._extension")
        extension._IS_TORCHAUDIO_EXT_AVAILABLE = False
        extension.fail_if_no_align = lambda function: function
        sys.modules[extension.__name__] = extension
        import torchaudio
    return torchaudio


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
