"""From waveforms to embeddings: one protocol, a first extractor, and a loop that resumes.

`extract` runs any object that follows `Extractor` over a corpus. An utterance's embedding depends
on its own samples alone, never on its neighbours in a batch, but for rounding (1e-5).
"""

import hashlib
import os
import threading
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np
from tqdm import tqdm

from voiceprivacy._audio import RATE
from voiceprivacy._mapping import one_by_one
from voiceprivacy._resemblyzer import ResemblyzerExtractor
from voiceprivacy.corpora import Corpus, Utterance
from voiceprivacy.embeddings import Embeddings, read_embeddings, write_embeddings
from voiceprivacy.errors import VoicePrivacyError

__all__ = ["Extractor", "ResemblyzerExtractor", "extract"]

PART = 256
# Networks keep state while they embed; on threads, only reading goes on meanwhile.
ONE_AT_A_TIME = threading.Lock()
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


def extract(
    corpus: Corpus,
    extractor: Extractor,
    *,
    store: str | os.PathLike | None = None,
    progress: bool = False,
) -> Embeddings:
    """Embed every utterance of a corpus.

    Parts of 256 utterances go through joblib, by default one after another. Inside
    ``joblib.parallel_config("dask")`` or another backend they are embedded there, to the same
    numbers: what embeds is sent as what it was made with, and every worker must see the same
    files, the store among them.

    Parameters
    ----------
    corpus
        What to embed; all of it must be usable (see `voiceprivacy.corpora.checked`).
    extractor
        What embeds; on other processes, one of this package or something that can be pickled. In
        each process it embeds one part at a time.
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
        If an utterance cannot be read or is silent, the extractor's output has a wrong shape, or
        a worker has another model under the same path.
    """
    utterances = corpus.utterances()
    keys = [_key(utterance) for utterance in utterances]
    folder = None if store is None else Path(store, extractor.name)
    vectors = _finished(folder)
    todo = [row for row, key in enumerate(keys) if key not in vectors]
    # Who works changes no part, so that every utterance keeps its neighbours, which round.
    parts = [
        [(keys[row], utterances[row]) for row in todo[first : first + PART]]
        for first in range(0, len(todo), PART)
    ]
    heard = 0.0
    with tqdm(
        total=len(keys), initial=len(keys) - len(todo), unit="utterances", disable=not progress
    ) as bar:
        for part, seconds in one_by_one(partial(_done, extractor, extractor.name, folder), parts):
            vectors |= zip(part.utterances.tolist(), part.matrix, strict=True)
            heard += seconds
            _advance(bar, len(part), heard)
    return Embeddings(
        corpus.table["utterance"], corpus.table["speaker"], np.array([vectors[k] for k in keys])
    )


def _advance(bar: tqdm, utterances: int, heard: float) -> None:
    """Move the bar on, and show the seconds of speech embedded a second."""
    if not bar.disable:
        elapsed = bar.format_dict["elapsed"]
        bar.set_postfix_str(f"{heard / max(elapsed, 1e-9):.1f} s of speech/s", refresh=False)
    bar.update(utterances)


def _done(
    extractor: Extractor, name: str, folder: Path | None, part: list[tuple[str, Utterance]]
) -> tuple[Embeddings, float]:
    """Embed a part of a corpus, keep it, and say how many seconds it has."""
    if extractor.name != name:
        raise VoicePrivacyError(
            f"the extractor is {name!r} here and {extractor.name!r} where it works; give every "
            "worker the same packages and files, and start the workers anew."
        )
    keys, utterances = zip(*part, strict=True)
    waveforms = [_heard(utterance) for utterance in utterances]
    with ONE_AT_A_TIME:
        vectors = _embedded(waveforms, extractor)
    done = Embeddings(keys, [utterance.speaker for utterance in utterances], vectors)
    if folder is not None:
        digest = hashlib.sha256("\n".join(keys).encode()).hexdigest()
        write_embeddings(done, folder / f"part-{digest[:16]}.npz")
    return done, sum(map(len, waveforms)) / RATE


def _heard(utterance: Utterance) -> np.ndarray:
    """An utterance's samples; it must be heard."""
    try:
        samples = utterance.samples()
    except VoicePrivacyError as error:
        raise VoicePrivacyError(f"{error} To go on, {CHECKED}.") from error
    if not samples.any():
        raise VoicePrivacyError(f"utterance {utterance.utterance!r} is silent; {CHECKED}.")
    return samples


def _embedded(waveforms: list[np.ndarray], extractor: Extractor) -> np.ndarray:
    """Embed utterances, and see that each has a vector."""
    vectors = np.asarray(extractor.embed_many(waveforms))
    expected = (len(waveforms), extractor.dimension)
    if vectors.shape != expected:
        raise VoicePrivacyError(
            f"extractor {extractor.name!r} returned shape {vectors.shape}; expected {expected}."
        )
    return vectors


def _key(utterance: Utterance) -> str:
    """The id and a digest of what is known of the audio."""
    return f"{utterance.utterance} {_digest(utterance.path, utterance.start, utterance.end)}"


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
