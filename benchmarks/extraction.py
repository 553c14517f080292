"""Embeddings in batches of nearly equal length, against one utterance at a time.

The same model embeds the same audio both ways, in turn, on one thread; what is compared is time of
the processor, so other work on the machine matters little. The figures to quote are the ratios.
"""

import os
import tempfile
import time
from pathlib import Path

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import numpy as np
import torch

from voiceprivacy._network import Network
from voiceprivacy._speechbrain import speechbrain
from voiceprivacy.attackers import read_settings
from voiceprivacy.models import SpeechBrainExtractor

RATE, SECONDS = 16_000, (2.0, 7.0)  # as long as the demo's synthetic utterances
ROUNDS = 5
PRETRAINED = """\
compute_features: !new:speechbrain.lobes.features.Fbank
    n_mels: {mels}
mean_var_norm: !new:speechbrain.processing.features.InputNormalization
    norm_type: sentence
    std_norm: False
embedding_model: !new:speechbrain.lobes.models.ECAPA_TDNN.ECAPA_TDNN
    input_size: {mels}
    lin_neurons: {embedding}
    channels: {channels}
    kernel_sizes: {kernel_sizes}
    dilations: {dilations}
    attention_channels: {attention_channels}
    res2net_scale: {res2net_scale}
    se_channels: {se_channels}
modules:
    compute_features: !ref <compute_features>
    mean_var_norm: !ref <mean_var_norm>
    embedding_model: !ref <embedding_model>
pretrainer: !new:speechbrain.utils.parameter_transfer.Pretrainer
    loadables:
        embedding_model: !ref <embedding_model>
"""


def noise(utterances):
    """Noise in the place of speech: time does not depend on what is said."""
    rng = np.random.default_rng(0)
    lengths = (rng.uniform(*SECONDS, utterances) * RATE).astype(int)
    return [rng.normal(0, 0.1, n).astype(np.float32) for n in lengths]


def trained_here(settings):
    network = Network(settings, 10, torch.device("cpu"))
    network.train(False)
    return network


def pretrained(settings):
    """The same network as SpeechBrain keeps it, with features every 10 ms."""
    speechbrain()
    network = Network(settings, 10, torch.device("cpu"))
    with tempfile.TemporaryDirectory() as folder:
        text = PRETRAINED.format(**vars(settings))
        Path(folder, "hyperparams.yaml").write_text(text)
        torch.save(network.encoder.state_dict(), Path(folder, "embedding_model.ckpt"))
        return SpeechBrainExtractor(folder)


def spent(function):
    begin = time.process_time()
    result = function()
    return time.process_time() - begin, result


def compare(title, model, waveforms):
    """Time both ways in turn, and print the best of each."""
    speech = sum(map(len, waveforms)) / RATE
    single, batched = [], []
    for _ in range(ROUNDS):
        time_single, alone = spent(lambda: np.array([model.embed(wave) for wave in waveforms]))
        time_batched, together = spent(lambda: model.embed_many(waveforms))
        single.append(time_single)
        batched.append(time_batched)
    print(f"{title}: {len(waveforms)} utterances, {speech:.0f} s of speech")
    for name, best in (("one by one", min(single)), ("in batches", min(batched))):
        print(f"  {name}  {len(waveforms) / best:8.1f} utterances/s, "
              f"real-time factor {best / speech:.5f}")  # fmt: skip
    ratios = np.divide(single, batched)
    print(f"  {min(single) / min(batched):.2f} times as fast (rounds: {ratios.min():.2f} to "
          f"{ratios.max():.2f}); largest difference {np.abs(alone - together).max():.1e} of "
          f"{np.abs(alone).max():.2g}")  # fmt: skip


def main():
    torch.set_num_threads(1)
    for name, utterances in (("small", 256), ("paper", 6)):
        settings = read_settings(name)
        compare(f"{name}, trained here", trained_here(settings), noise(utterances))
        compare(f"{name}, SpeechBrain", pretrained(settings), noise(utterances))


if __name__ == "__main__":
    main()
