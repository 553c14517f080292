"""From waveforms to embeddings: one protocol, a first extractor, and a loop that resumes.

`extract` runs any object that follows `Extractor` over a corpus. An utterance's embedding depends
on its own samples alone, never on its neighbours in a batch, but for rounding (1e-5).
"""

import hashlib
import itertools
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np
from tqdm import tqdm

from voiceprivacy._audio import RATE
from voiceprivacy._progress import quiet_bars
from voiceprivacy.corpora import Corpus
from voiceprivacy.embeddings import Embeddings, read_embeddings, write_embeddings
from voiceprivacy.errors import VoicePrivacyError

PART = 256
INSTALL = 'pip install "voiceprivacy[speech]" && pip install --no-deps Resemblyzer==0.1.4'
CHECKED = "leave such utterances out with voiceprivacy.corpora.checked(corpus), which reports them"


@runtime_checkable
class Extractor(Protocol):
    """What turns speech into speaker embeddings."""

    name: str
    """Name and version; finished work is kept under it, so it must change with the model."""
    dimension: int
    """Numbers in one embedding, d."""

    def embed(self, waveform: np.ndarray) -> np.ndarray:
        """Embed one utterance, float32 mono 16 kHz, as (d,)."""

    def embed_many(self, waveforms: Sequence[np.ndarray]) -> np.ndarray:
        """Embed utterances, each as `embed` would, as (n, d)."""


class ResemblyzerExtractor:
    """The speaker encoder of Resemblyzer 0.1.4, whose weights ship in its package.

    An LSTM trained with the generalised end-to-end loss (Wan et al., 2018) on LibriSpeech,
    VoxCeleb1 and VoxCeleb2; 256 non-negative numbers of unit norm. As in the package, loudness is
    raised to -30 dBFS, long pauses are cut, and the mean of windows of 1.6 s is normalised.

    Raises
    ------
    VoicePrivacyError
        If the packages it needs are missing, or do not work together.

    Notes
    -----
    Where voice detection finds no speech at all the whole utterance is embedded; the package
    itself would embed an empty one. All runs on one thread: on cores that other work
    shares, more threads were many times slower.
    """

    dimension = 256
    BATCH = 32

    def __init__(self):
        # Read by OpenMP when torch loads it: waiting threads must not spin on a shared core.
        os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
        self._torch, self._package = _resemblyzer()
        self._encoder = self._package.VoiceEncoder("cpu", verbose=False)
        self.name = f"resemblyzer-{_version('Resemblyzer')}"

    def embed(self, waveform: np.ndarray) -> np.ndarray:
        """Embed one utterance, float32 mono 16 kHz, as (256,)."""
        return self.embed_many([waveform])[0]

    def embed_many(self, waveforms: Sequence[np.ndarray]) -> np.ndarray:
        """Embed utterances, each as `embed` would, as (n, 256).

        Raises
        ------
        VoicePrivacyError
            If an utterance is empty or digital silence.
        """
        if not len(waveforms):
            return np.empty((0, self.dimension), np.float32)
        with _one_thread(self._torch):
            windows = [self._windows(waveform) for waveform in waveforms]
            vectors = self._forward(np.concatenate(windows))
        start = np.cumsum([0, *(len(w) for w in windows)])
        means = np.array([vectors[a:b].mean(axis=0) for a, b in itertools.pairwise(start)])
        return means / np.linalg.norm(means, axis=1, keepdims=True)

    def _windows(self, waveform: np.ndarray) -> np.ndarray:
        """Mel spectra of overlapping windows, (windows, 160 frames, 40 mels)."""
        speech = self._speech(waveform)
        of_samples, of_frames = self._encoder.compute_partial_slices(len(speech), 1.3, 0.75)
        padded = np.pad(speech, (0, max(0, of_samples[-1].stop - len(speech))))
        mel = self._package.wav_to_mel_spectrogram(padded)
        return np.array([mel[frames] for frames in of_frames])

    def _speech(self, waveform: np.ndarray) -> np.ndarray:
        """The utterance at -30 dBFS or more, without long pauses."""
        if not np.any(waveform):
            raise VoicePrivacyError("an empty or silent utterance has no embedding.")
        waveform = np.asarray(waveform, np.float32)
        loud = self._package.normalize_volume(waveform, -30, increase_only=True)
        speech = self._package.trim_long_silences(np.clip(loud, -1, 1))
        return speech if len(speech) else loud

    def _forward(self, windows: np.ndarray) -> np.ndarray:
        """Embed windows, in batches of one size."""
        # A batch of another size may round differently; a fixed one keeps a window's embedding
        # the same whatever else is in the batch.
        filled = -len(windows) % self.BATCH
        full = np.pad(windows, ((0, filled), (0, 0), (0, 0)))
        with self._torch.inference_mode():
            batches = [
                self._encoder(self._torch.from_numpy(full[i : i + self.BATCH])).numpy()
                for i in range(0, len(full), self.BATCH)
            ]
        return np.concatenate(batches)[: len(windows)]


def extract(
    corpus: Corpus,
    extractor: Extractor,
    *,
    store: str | os.PathLike | None = None,
    progress: bool = False,
) -> Embeddings:
    """Embed every utterance of a corpus.

    Parameters
    ----------
    corpus
        What to embed; all of it must be usable (see `voiceprivacy.corpora.checked`).
    extractor
        What embeds.
    store
        A folder for finished parts, made if missing. A run that was interrupted, or a corpus that
        has grown, continues from it. An utterance is computed again when its id, file (path,
        size, time of change), place in the file, or the extractor's name changes.
    progress
        Show a bar on stderr, with utterances and seconds of speech embedded a second.

    Returns
    -------
    Embeddings
        One row an utterance, in the corpus's order.

    Raises
    ------
    VoicePrivacyError
        If an utterance cannot be read or is silent, or the extractor's output has a wrong shape.
    """
    keys = _keys(corpus)
    folder = None if store is None else Path(store, extractor.name)
    vectors = _finished(folder)
    todo = [row for row, key in enumerate(keys) if key not in vectors]
    heard = 0.0
    with tqdm(
        total=len(keys), initial=len(keys) - len(todo), unit="utterances", disable=not progress
    ) as bar:
        for first in range(0, len(todo), PART):
            rows = todo[first : first + PART]
            waveforms = _waveforms(corpus, rows)
            part = Embeddings(
                [keys[row] for row in rows],
                corpus.table["speaker"].iloc[rows],
                _embedded(waveforms, extractor),
            )
            if folder is not None:
                digest = hashlib.sha256("\n".join(part.utterances).encode()).hexdigest()
                write_embeddings(part, folder / f"part-{digest[:16]}.npz")
            vectors |= zip(part.utterances.tolist(), part.matrix, strict=True)
            heard += sum(map(len, waveforms)) / RATE
            _advance(bar, len(rows), heard)
    return Embeddings(
        corpus.table["utterance"], corpus.table["speaker"], np.array([vectors[k] for k in keys])
    )


def _advance(bar: tqdm, utterances: int, heard: float) -> None:
    """Move the bar on, and show the seconds of speech embedded a second."""
    if not bar.disable:
        elapsed = bar.format_dict["elapsed"]
        bar.set_postfix_str(f"{heard / max(elapsed, 1e-9):.1f} s of speech/s", refresh=False)
    bar.update(utterances)


def _waveforms(corpus: Corpus, rows: list[int]) -> list[np.ndarray]:
    """Read some rows of a corpus; each must be heard."""
    waveforms = []
    for row in rows:
        try:
            waveforms.append(corpus.audio(row))
        except VoicePrivacyError as error:
            raise VoicePrivacyError(f"{error} To go on, {CHECKED}.") from error
        if not waveforms[-1].any():
            utterance = corpus.table["utterance"][row]
            raise VoicePrivacyError(f"utterance {utterance!r} is silent; {CHECKED}.")
    return waveforms


def _embedded(waveforms: list[np.ndarray], extractor: Extractor) -> np.ndarray:
    """Embed utterances, and see that each has a vector."""
    vectors = np.asarray(extractor.embed_many(waveforms))
    expected = (len(waveforms), extractor.dimension)
    if vectors.shape != expected:
        raise VoicePrivacyError(
            f"extractor {extractor.name!r} returned shape {vectors.shape}; expected {expected}."
        )
    return vectors


def _keys(corpus: Corpus) -> list[str]:
    """One key an utterance: its id and a digest of what is known of its audio."""
    return [
        f"{utterance} {_digest(path, start, end)}"
        for utterance, path, start, end in corpus.table[
            ["utterance", "path", "start", "end"]
        ].itertuples(index=False)
    ]


def _digest(path: str, start: float, end: float) -> str:
    place = Path(path).resolve()
    state = place.stat() if os.path.exists(place) else None
    known = (str(place), start, end, state and (state.st_size, state.st_mtime_ns))
    return hashlib.sha256(repr(known).encode()).hexdigest()[:16]


def _finished(folder: Path | None) -> dict[str, np.ndarray]:
    """Vectors by key, from all parts of a store."""
    vectors: dict[str, np.ndarray] = {}
    for path in sorted(folder.glob("part-*.npz")) if folder else []:
        try:
            part = read_embeddings(path)
        except VoicePrivacyError as error:
            raise VoicePrivacyError(f"{error} Delete this part; it is computed again.") from error
        vectors |= zip(part.utterances.tolist(), part.matrix, strict=True)
    return vectors


@contextmanager
def _one_thread(torch) -> Iterator[None]:
    """Let torch and the matrix products of numpy use one thread, and give the others back."""
    from threadpoolctl import threadpool_limits

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with threadpool_limits(limits=1):
            yield
    finally:
        torch.set_num_threads(before)


def _resemblyzer():
    """Import torch and Resemblyzer, or say what is missing or does not fit."""
    quiet_bars()  # librosa's
    try:
        import resemblyzer
        import torch
    except ImportError as error:
        raise VoicePrivacyError(
            f"the Resemblyzer extractor needs the package {error.name or error}; "
            f"install with: {INSTALL}"
        ) from error
    except (AttributeError, TypeError) as error:
        found = ", ".join(
            f"{name} {_version(name)}" for name in ("Resemblyzer", "librosa", "numpy", "scipy")
        )
        raise VoicePrivacyError(
            f"Resemblyzer does not work with the packages here ({found}): {error}. "
            f"Expected Resemblyzer 0.1.4 and librosa 0.10 or later; install with: {INSTALL}"
        ) from error
    return torch, resemblyzer


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
