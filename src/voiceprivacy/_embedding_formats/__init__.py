"""How embeddings lie in files and folders: each format reads and writes three arrays.

Readers return ``utterances, speakers, matrix`` as found; `voiceprivacy.embeddings.Embeddings`
checks them. Formats without speakers take them from `speaker_tables`.
"""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from voiceprivacy._embedding_formats import ark, challenge, hdf5, npy, npz, parquet
from voiceprivacy._embedding_formats.vectors import Arrays
from voiceprivacy.errors import VoicePrivacyError, listed


class Format(NamedTuple):
    """A kind of file: its reader, its writer if it is written, and the files that writing makes."""

    name: str
    read: Callable[[Path, Path | None], Arrays]
    write: Callable[[Path, np.ndarray, np.ndarray, np.ndarray], None] | None = None
    files: Callable[[Path], list[Path]] = lambda path: [path]


HDF5 = Format(
    "SIDEKIT HDF5",
    hdf5.read_hdf5,
    hdf5.write_hdf5,
    lambda path: [path, path.with_name("spk2utt")],
)
BY_SUFFIX = {
    ".h5": HDF5,
    ".hdf5": HDF5,
    ".npz": Format("npz", npz.read_npz, npz.write_npz),
    ".parquet": Format("parquet", parquet.read_parquet, parquet.write_parquet),
    ".ark": Format("Kaldi archive", ark.read_ark, ark.write_ark, ark.ark_files),
    ".scp": Format("Kaldi scp", ark.read_scp, ark.write_ark, ark.ark_files),
    ".npy": Format("npy matrix", npy.read_npy),
}
CHALLENGE = Format("VoicePrivacy Challenge cache", challenge.read_challenge)
NPY_FOLDER = Format("npy folder", npy.read_npy_folder)
FOLDER_NAMES = tuple(
    f"{name}{suffix}" for suffix in (".h5", ".npz", ".scp") for name in ("xvector", "xvectors")
)


def of_file(path: Path) -> Format:
    """The format of a file, by its name."""
    if path.name == challenge.VECTORS:
        return CHALLENGE
    try:
        return BY_SUFFIX[path.suffix.lower()]
    except KeyError:
        raise VoicePrivacyError(
            f"unknown suffix {path.suffix!r}; expected one of {', '.join(BY_SUFFIX)}."
        ) from None


def written_as(path: Path) -> Format:
    """The format to write a file in."""
    kind = of_file(path)
    if kind.write is None:
        written = [suffix for suffix, one in BY_SUFFIX.items() if one.write]
        raise VoicePrivacyError(
            f"{kind.name} is a format that is only read; write one of {', '.join(written)}."
        )
    return kind


def found(path: Path) -> tuple[Format, Path]:
    """The format of a file, or of what a folder holds, and the path to read."""
    if path.is_file():
        return of_file(path), path
    if not path.is_dir():
        raise VoicePrivacyError("no such file or folder of embeddings.")
    held = in_folder(path)
    if held is None:
        raise VoicePrivacyError(
            f"expected exactly one of {', '.join(FOLDER_NAMES)} in this folder, or archives, npy "
            "files or a challenge's cache; it holds none. Name the file itself."
        )
    return held


def holds_embeddings(folder: Path) -> bool:
    """Whether a folder is one of embeddings, be it damaged or ambiguous."""
    try:
        return in_folder(folder) is not None
    except VoicePrivacyError:
        return True


def in_folder(folder: Path) -> tuple[Format, Path] | None:
    """What a folder of embeddings holds; None for any other folder."""
    named = [folder / name for name in FOLDER_NAMES if (folder / name).is_file()]
    if len(named) > 1:
        raise VoicePrivacyError(
            f"expected exactly one of {', '.join(FOLDER_NAMES)} in this folder; it holds "
            f"{listed(file.name for file in named)}. Name the file itself."
        )
    if named:
        return of_file(named[0]), named[0]
    cache = challenge.cache_in(folder)
    if cache:
        return CHALLENGE, cache
    if (folder / "wav.scp").is_file():
        return None
    if any(folder.glob("*.ark")):
        return BY_SUFFIX[".ark"], folder
    matrices = list(folder.glob("*.npy"))
    if len(matrices) == 1 and matrices[0].with_suffix(".txt").is_file():
        return BY_SUFFIX[".npy"], matrices[0]
    return (NPY_FOLDER, folder) if matrices else None
