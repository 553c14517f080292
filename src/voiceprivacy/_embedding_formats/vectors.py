"""One vector an utterance: stacked into a matrix, and refused where they do not go together."""

import zlib
from tokenize import TokenError
from zipfile import BadZipFile

import numpy as np

from voiceprivacy.errors import VoicePrivacyError, listed

Arrays = tuple[np.ndarray, np.ndarray, np.ndarray]
DAMAGED = "cannot be read, it seems cut or damaged ({}); write or copy it again."
# What numpy raises of a damaged file; its header is read as Python's text.
NUMPY_ERRORS = (OSError, ValueError, KeyError, EOFError, NotImplementedError, TokenError,
                SyntaxError, TypeError, OverflowError, MemoryError, RecursionError,
                BadZipFile, zlib.error)  # fmt: skip
OBJECTS = (
    "an array was saved as Python objects, which is not safe to load; "
    "save ids with ids.astype(str) and vectors as float32."
)


def stacked(ids: list[str], vectors: list[np.ndarray]) -> np.ndarray:
    """Stack vectors of shape (d,) or (1, d) into a matrix (n, d)."""
    odd = [f"{u} {v.shape}" for u, v in zip(ids, vectors, strict=True) if not _is_vector(v)]
    if odd:
        raise VoicePrivacyError(
            f"{len(odd)} utterances have no single vector, shape (d,) or (1, d): {listed(odd)}."
        )
    one_dimension(ids, [v.size for v in vectors])
    return np.concatenate([v.reshape(1, -1) for v in vectors]) if vectors else np.empty((0, 1))


def _is_vector(values: np.ndarray) -> bool:
    return values.ndim in (1, 2) and values.size > 0 and values.size == values.shape[-1]


def one_dimension(ids: list[str], dimensions: list[int]) -> None:
    """Refuse vectors of several dimensions, naming the ids that have each of them."""
    of_dimension: dict[int, list[str]] = {}
    for name, dimension in zip(ids, dimensions, strict=True):
        of_dimension.setdefault(dimension, []).append(name)
    if len(of_dimension) > 1:
        found = "; ".join(f"{d}: {listed(of_dimension[d], 3)}" for d in sorted(of_dimension))
        raise VoicePrivacyError(
            f"the vectors have {len(of_dimension)} dimensions ({found}); "
            "expected one, from one extractor."
        )
