"""Utterance embeddings: ids, speakers and one matrix, and the files they travel in.

A file is chosen by its suffix:

======================  ==========================================================================
``.h5``, ``.hdf5``      SIDEKIT style: one dataset per utterance, named by its id, of shape
                        (d,) or (1, d); the speakers stand in a text file ``spk2utt`` in the same
                        folder (Kaldi: speaker, then its utterances, one speaker a line)
``.npz``                arrays ``utterances``, ``speakers`` and ``matrix``; or one array per
                        utterance with a ``spk2utt``, as above
``.parquet``            columns ``utterance``, ``speaker`` and ``embedding`` (a list of numbers)
a folder                one that holds ``xvector.h5``, ``xvectors.h5``, ``xvector.npz`` or
                        ``xvectors.npz`` beside its ``spk2utt``
======================  ==========================================================================

For many utterances prefer npz or parquet: HDF5 opens one dataset per utterance. 220,000 vectors of
256 numbers take about half a minute to read or write as HDF5, and 1 to 4 s otherwise.
"""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from voiceprivacy import _embedding_formats as formats
from voiceprivacy.errors import VoicePrivacyError, listed

FOLDER_NAMES = ("xvector.h5", "xvectors.h5", "xvector.npz", "xvectors.npz")


@dataclass(frozen=True, eq=False)
class Embeddings:
    """Embeddings of n utterances, checked when made.

    Parameters
    ----------
    utterances
        Utterance ids, text, unique and not empty, shape (n,).
    speakers
        The speaker of each utterance, text and not empty, shape (n,).
    matrix
        One embedding a row, finite and not all zero, shape (n, d); kept as float32, of any
        length (whoever compares embeddings normalises them).

    Raises
    ------
    VoicePrivacyError
        If any of this does not hold; the message names the first offending ids.

    Examples
    --------
    >>> e = Embeddings(["u1", "u2", "u3"], ["a", "a", "b"], [[3, 4], [1, 0], [0, 2]])
    >>> len(e), e.dimension
    (3, 2)
    >>> e.of_speakers(["a"]).normalised().matrix.tolist()
    [[0.6000000238418579, 0.800000011920929], [1.0, 0.0]]
    """

    utterances: np.ndarray
    speakers: np.ndarray
    matrix: np.ndarray

    def __post_init__(self):
        object.__setattr__(self, "utterances", _ids(self.utterances, "utterance"))
        object.__setattr__(self, "speakers", _ids(self.speakers, "speaker"))
        object.__setattr__(self, "matrix", _matrix(self.matrix))
        self._check()

    def _check(self) -> None:
        n = len(self.matrix)
        if not (len(self.utterances) == len(self.speakers) == n):
            raise VoicePrivacyError(
                f"{len(self.utterances)} utterance ids, {len(self.speakers)} speakers and {n} "
                "embeddings were given; expected one of each for every utterance."
            )
        _refuse(pd.Index(self.utterances).duplicated(), self.utterances, "utterances appear twice")
        _refuse(
            ~np.isfinite(self.matrix).all(axis=1),
            self.utterances,
            "embeddings hold NaN or infinite values",
        )
        _refuse(~self.matrix.any(axis=1), self.utterances, "embeddings are all zeros")

    def __len__(self) -> int:
        return len(self.utterances)

    @property
    def dimension(self) -> int:
        """Numbers in one embedding, d."""
        return self.matrix.shape[1]

    def select(self, rows: np.ndarray) -> "Embeddings":
        """Return the rows that a boolean mask (n,) or an array of row numbers picks."""
        rows = np.asarray(rows)
        rows = rows if rows.size else rows.astype(int)
        return Embeddings(self.utterances[rows], self.speakers[rows], self.matrix[rows])

    def of_speakers(self, speakers: Iterable[str]) -> "Embeddings":
        """Return the utterances of `speakers`, in the order in which they stand here.

        Raises
        ------
        VoicePrivacyError
            If a speaker has no utterance here.
        """
        wanted = _ids(list(speakers), "speaker")
        absent = np.setdiff1d(wanted, self.speakers).tolist()
        if absent:
            raise VoicePrivacyError(
                f"{len(absent)} of {len(wanted)} speakers have no embedding: {listed(absent)}."
            )
        return self.select(np.isin(self.speakers, wanted))

    def normalised(self) -> "Embeddings":
        """Return the same with every embedding scaled to L2 norm 1."""
        norms = np.sqrt(np.einsum("ij,ij->i", self.matrix, self.matrix, dtype=np.float64))
        unit = self.matrix / norms[:, None].astype(np.float32)
        return Embeddings(self.utterances, self.speakers, unit)


def concatenate(parts: Sequence[Embeddings]) -> Embeddings:
    """Stack embeddings of one dimension, in the given order.

    Examples
    --------
    >>> a, b = Embeddings(["u"], ["s"], [[1, 0]]), Embeddings(["v"], ["s"], [[0, 1]])
    >>> concatenate([a, b]).utterances.tolist()
    ['u', 'v']
    """
    parts = list(parts)
    if not parts:
        raise VoicePrivacyError("There are no embeddings to concatenate; expected at least one.")
    dimensions = sorted({part.dimension for part in parts})
    if len(dimensions) > 1:
        raise VoicePrivacyError(
            f"Embeddings of dimensions {', '.join(map(str, dimensions))} cannot be put together; "
            "expected those of one extractor."
        )
    return Embeddings(
        np.concatenate([part.utterances for part in parts]),
        np.concatenate([part.speakers for part in parts]),
        np.concatenate([part.matrix for part in parts]),
    )


def read_embeddings(path: str | os.PathLike) -> Embeddings:
    """Read embeddings from a file or folder in one of the formats above.

    Parameters
    ----------
    path
        The HDF5, npz or parquet file, or a folder that holds one under a known name.

    Raises
    ------
    VoicePrivacyError
        If the file is missing, damaged or of unknown kind, if vectors and ``spk2utt`` do not
        belong together, if vectors have several dimensions, or if `Embeddings` refuses them.

    Notes
    -----
    Order of rows: from HDF5 that of ``spk2utt``, otherwise that of the file. Ids are text
    everywhere: ``0012``, ``NA`` and ``12e5`` stay what they are.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "pool.npz"
    >>> write_embeddings(Embeddings(["0012"], ["NA"], [[3, 4]]), path)
    >>> read_embeddings(path).utterances.tolist()
    ['0012']
    """
    path = _file(Path(path))
    try:
        utterances, speakers, matrix = _format(path).read(path)
        if not len(utterances):
            raise VoicePrivacyError("holds no utterance.")
        return Embeddings(utterances, speakers, matrix)
    except VoicePrivacyError as error:
        raise VoicePrivacyError(f"{path}: {error}") from error


def write_embeddings(embeddings: Embeddings, path: str | os.PathLike) -> None:
    """Write embeddings whole, in the format of the suffix; HDF5 writes ``spk2utt`` beside it.

    Raises
    ------
    VoicePrivacyError
        If the suffix is unknown; for HDF5 also if an id cannot stand in ``spk2utt`` (blanks) or
        as a dataset's name, or if the folder's ``spk2utt`` belongs to another file.
    """
    path = Path(path)
    try:
        _format(path).write(path, embeddings.utterances, embeddings.speakers, embeddings.matrix)
    except VoicePrivacyError as error:
        raise VoicePrivacyError(f"{path}: {error}") from error


def _format(path: Path) -> "formats.Format":
    """The format that goes with a suffix."""
    try:
        return formats.BY_SUFFIX[path.suffix.lower()]
    except KeyError:
        raise VoicePrivacyError(
            f"unknown suffix {path.suffix!r}; expected one of {', '.join(formats.BY_SUFFIX)}."
        ) from None


def _file(path: Path) -> Path:
    """The file itself, or the one of a known name in a folder."""
    if path.is_file():
        return path
    if not path.is_dir():
        raise VoicePrivacyError(f"{path}: no such file or folder of embeddings.")
    found = [path / name for name in FOLDER_NAMES if (path / name).is_file()]
    if len(found) != 1:
        held = f"holds {listed(file.name for file in found)}" if found else "holds none"
        raise VoicePrivacyError(
            f"{path}: expected exactly one of {', '.join(FOLDER_NAMES)} in this folder; it {held}. "
            "Name the file itself."
        )
    return found[0]


def _ids(values: Sequence[str], what: str) -> np.ndarray:
    """Ids as a fixed-width text array, refusing numbers, missing values and empty text."""
    if not (isinstance(values, np.ndarray) and values.dtype.kind == "U"):
        values = list(values)
        wrong = [f"row {i}: {v!r}" for i, v in enumerate(values) if not isinstance(v, str)]
        if wrong:
            raise VoicePrivacyError(
                f"{len(wrong)} {what} ids are not text ({listed(wrong, 3)}); keep ids as text, "
                "because a number loses leading zeros."
            )
    array = np.asarray(values, dtype=str)
    if array.ndim != 1:
        raise VoicePrivacyError(f"{what} ids have shape {array.shape}; expected one dimension.")
    empty = np.flatnonzero(np.char.strip(array) == "").tolist()
    if empty:
        raise VoicePrivacyError(f"{what} ids are empty in {len(empty)} rows: {listed(empty)}.")
    return array


def _matrix(values: np.ndarray) -> np.ndarray:
    """A float32 matrix; a value too large for float32 becomes infinite and is refused later."""
    try:
        with np.errstate(over="ignore"):
            matrix = np.ascontiguousarray(values, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise VoicePrivacyError(f"the embeddings are not a matrix of numbers ({error}).") from error
    if matrix.ndim != 2 or (len(matrix) and not matrix.shape[1]):
        raise VoicePrivacyError(
            f"the embeddings have shape {matrix.shape}; expected (utterances, dimension)."
        )
    return matrix


def _refuse(bad: np.ndarray, ids: np.ndarray, what: str) -> None:
    """Raise naming the ids where `bad` is true."""
    if bad.any():
        raise VoicePrivacyError(f"{bad.sum()} of {len(ids)} {what}: {listed(ids[bad].tolist())}.")
