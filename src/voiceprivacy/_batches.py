"""Utterances of unequal length through one ECAPA-TDNN, each as it would be alone.

SpeechBrain's network leaves padding out of its means, but every convolution of more than one
window mirrors what it sees at the ends of the batch, where a shorter utterance has padding. Here
each convolution mirrors every utterance at that utterance's own end.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from voiceprivacy.errors import VoicePrivacyError

# Numbers in the widest layer of a batch. On a CPU a batch that leaves the cache is slower than
# single utterances, so a large network embeds one at a time; a GPU wants all its cores busy.
ON_CPU, ON_GPU = 500_000, 30_000_000


def by_length(waveforms: Sequence[np.ndarray], most: int) -> Iterator[list[int]]:
    """Batches of utterances of nearly the same length, shortest first.

    Parameters
    ----------
    waveforms
        Utterances, (samples,) each.
    most
        Samples in a padded batch; a longer utterance is a batch of its own.

    Examples
    --------
    >>> lengths = [50, 10, 40, 12, 200]
    >>> list(by_length([np.zeros(n) for n in lengths], 100))
    [[1, 3], [2, 0], [4]]
    """
    batch: list[int] = []
    for row in sorted(range(len(waveforms)), key=lambda row: len(waveforms[row])):
        if batch and (len(batch) + 1) * len(waveforms[row]) > most:
            yield batch
            batch = []
        batch.append(row)
    if batch:
        yield batch


def frames_at_once(encoder, device) -> int:
    """Windows in a batch with which the encoder is fast on a device."""
    return (ON_CPU if device.type == "cpu" else ON_GPU) // max(encoder.channels)


def reach(encoder) -> int:
    """Windows that the widest convolution mirrors; an utterance must have more."""
    return max(_mirrored(module) for module in _convolutions(encoder))


def together(encoder, features, counts):
    """Embed a padded batch.

    Parameters
    ----------
    encoder
        SpeechBrain's ``ECAPA_TDNN``, not training.
    features
        Batch, windows, features; what stands behind an utterance's end has no influence.
    counts
        Windows of each utterance, (batch,); the longest has as many as `features`.

    Returns
    -------
    torch.Tensor
        Batch, d.

    Raises
    ------
    VoicePrivacyError
        If an utterance has too few windows for the convolutions.
    """
    if int(counts.min()) <= reach(encoder):
        raise VoicePrivacyError(
            f"an utterance of {int(counts.min())} windows has no embedding; expected more than "
            f"{reach(encoder)}."
        )
    with _mirroring(encoder, counts):
        # Half a window less, for SpeechBrain multiplies again by the windows of the batch.
        return encoder(features, (counts - 0.5) / features.shape[1])[:, 0]


@contextmanager
def _mirroring(encoder, counts) -> Iterator[None]:
    """Let each convolution mirror every utterance at its own end."""
    hooks = []
    for module in _convolutions(encoder):
        module.padding = "valid"  # for the hook has padded already
        hooks.append(
            module.register_forward_pre_hook(lambda m, x: _mirror(x[0], _mirrored(m), counts))
        )
    try:
        yield
    finally:
        for hook, module in zip(hooks, _convolutions(encoder), strict=True):
            hook.remove()
            module.padding = "same"


def _mirror(x, width: int, counts):
    """Pad (batch, channels, windows) by `width` mirrored windows at both ends of each utterance."""
    if not width:
        return x
    import torch

    padded = torch.nn.functional.pad(x, (width, width), mode="reflect")
    if int(counts.min()) == x.shape[2]:
        return padded
    away = torch.arange(width, device=x.device)
    end = counts[:, None, None] + width
    wide = (-1, x.shape[1], -1)
    mirrored = padded.gather(2, (end - 2 - away).expand(wide))
    return padded.scatter_(2, (end + away).expand(wide), mirrored)


def _convolutions(encoder) -> list:
    from speechbrain.nnet.CNN import Conv1d

    return [module for module in encoder.modules() if isinstance(module, Conv1d)]


def _mirrored(convolution) -> int:
    return convolution.dilation * (convolution.kernel_size - 1) // 2
