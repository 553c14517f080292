"""Utterance embeddings: ids, speakers and one matrix, and the files they travel in.

A file is chosen by its suffix, a folder by what it holds:

======================  ==========================================================================
``.h5``, ``.hdf5``      SIDEKIT style: one dataset per utterance, named by its id, of shape
                        (d,) or (1, d); the speakers in a table (below)
``.npz``                arrays ``utterances``, ``speakers`` and ``matrix``; or one array per
                        utterance, the speakers in a table
``.parquet``            columns ``utterance``, ``speaker`` and ``embedding`` (a list of numbers)
``.ark``, ``.scp``      Kaldi's archives of vectors, as WeSpeaker and SIDEKIT's
                        ``extract_xvectors.py`` write them, binary or text; the speakers in a
                        table. An ``.ark`` is written with its ``.scp``, ``utt2spk`` and
                        ``spk2utt``
``.npy``                read only: a matrix, and ``NAME.txt`` with an id a line (and its speaker,
                        or else a table)
``speaker_vectors.pt``  read only: the cache of the VoicePrivacy Challenge's evaluation
                        (``emb_xvect/<dataset>/utt-level`` or ``spk-level``); needs torch
a folder                such a cache; one with ``xvector`` or ``xvectors`` as ``.h5``, ``.npz`` or
                        ``.scp``; one with an archive, or numbered archives; one with a ``.npy``
                        an utterance
======================  ==========================================================================

A table of speakers is Kaldi's ``spk2utt`` (speaker, then its utterances, one speaker a line) or
else ``utt2spk`` (utterance, speaker), in the folder of the vectors.

For many utterances prefer npz or parquet: HDF5 opens one dataset per utterance. 220,000 vectors of
256 numbers take about half a minute to read or write as HDF5, and 1 to 5 s otherwise.
"""

import os
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd

from voiceprivacy import _embedding_formats as formats
from voiceprivacy._embedding_formats.speaker_tables import joined
from voiceprivacy.errors import VoicePrivacyError, listed

LONG_ID = re.compile(r"^(?P<short>spk-[a-z]-\d+)-(?P=short)-.+")


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

    @property
    def norms(self) -> np.ndarray:
        """The L2 norm of every embedding, float64, shape (n,)."""
        return np.sqrt(np.einsum("ij,ij->i", self.matrix, self.matrix, dtype=np.float64))

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
        unit = self.matrix / self.norms[:, None].astype(np.float32)
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


def short_speakers(embeddings: Embeddings) -> Embeddings:
    """Shorten speaker ids that say themselves twice, as some x-vector folders of Common Voice do.

    Others stay as they are. (The side-information paper's code keeps the first three parts of any
    id.)

    Raises
    ------
    VoicePrivacyError
        If two speakers would become one.

    Examples
    --------
    >>> long = Embeddings(["u"], ["spk-f-65389-spk-f-65389-common-voice-en"], [[1, 0]])
    >>> short_speakers(long).speakers.tolist()
    ['spk-f-65389']
    """
    long = np.unique(embeddings.speakers).tolist()
    short = {name: LONG_ID.sub(r"\g<short>", name) for name in long}
    shared = [name for name, count in Counter(short.values()).items() if count > 1]
    if shared:
        raise VoicePrivacyError(
            f"{len(shared)} short ids would stand for several speakers: {listed(shared)}; "
            "keep the long ids."
        )
    return replace(embeddings, speakers=[short[name] for name in embeddings.speakers.tolist()])


def read_embeddings(
    path: str | os.PathLike, speakers: str | os.PathLike | None = None
) -> Embeddings:
    """Read embeddings from a file or folder in one of the formats above.

    Parameters
    ----------
    path
        The file, or a folder that holds one kind of embeddings.
    speakers
        A ``utt2spk`` or ``spk2utt`` (so named) that tells the speakers in place of what lies with
        the vectors; it may be that of a larger corpus.

    Raises
    ------
    VoicePrivacyError
        If the file is missing, damaged or of unknown kind, if vectors and speakers do not
        belong together, if vectors have several dimensions, or if `Embeddings` refuses them.

    Notes
    -----
    Order of rows: that of the table where speakers stand in one, otherwise that of the file. Ids
    are text everywhere: ``0012``, ``NA`` and ``12e5`` stay what they are. Nothing that a file
    holds is ever run: no pickled object, no command.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "pool.npz"
    >>> write_embeddings(Embeddings(["0012"], ["NA"], [[3, 4]]), path)
    >>> read_embeddings(path).utterances.tolist()
    ['0012']
    """
    table = None if speakers is None else Path(speakers)
    try:
        kind, path = formats.found(Path(path))
        utterances, found, matrix = kind.read(path, table)
        if not len(utterances):
            raise VoicePrivacyError("holds no utterance.")
        embeddings = Embeddings(utterances, found, matrix)
        return embeddings if table is None else _with_speakers(embeddings, table)
    except VoicePrivacyError as error:
        raise VoicePrivacyError(f"{path}: {error}") from error


def _with_speakers(embeddings: Embeddings, table: Path) -> Embeddings:
    """The same, the speakers those of a table."""
    return Embeddings(*joined(Path(), embeddings.utterances.tolist(), embeddings.matrix, table))


def write_embeddings(embeddings: Embeddings, path: str | os.PathLike) -> None:
    """Write embeddings whole, in the format of the suffix, with what belongs to it (above).

    Raises
    ------
    VoicePrivacyError
        If the suffix is unknown or one that is only read; for HDF5 and Kaldi's archives also if
        an id cannot stand in a table (blanks) or as a dataset's name, or if the folder's
        ``spk2utt`` belongs to another file.
    """
    path = Path(path)
    try:
        write = formats.written_as(path).write
        write(path, embeddings.utterances, embeddings.speakers, embeddings.matrix)
    except VoicePrivacyError as error:
        raise VoicePrivacyError(f"{path}: {error}") from error


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
