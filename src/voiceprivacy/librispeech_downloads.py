"""LibriSpeech's subsets, downloaded from OpenSLR or a mirror, checked and unpacked.

No server of OpenSLR was reached when this was written: the archives' sizes and sums are those
that others use, named below, and unpacking was tried on archives made in LibriSpeech's layout.
"""

import gzip
import os
import shutil
import tarfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from tqdm import tqdm

from voiceprivacy._disk import require_space
from voiceprivacy._part import part_of
from voiceprivacy.downloads import download
from voiceprivacy.errors import VoicePrivacyError, listed

MIRROR = "https://www.openslr.org/resources/12"
"""OpenSLR's own address of the archives; a mirror has the same file names below another one."""

ROOT = "LibriSpeech"


class Archive(NamedTuple):
    """What is known of a subset's ``tar.gz``: length in bytes, and checksums."""

    size: int
    md5: str
    sha256: str


# OpenSLR publishes the MD5 sums as resources/12/md5sum.txt, which was not reached from here.
# MD5: PaddleSpeech, dataset/librispeech/librispeech.py (18b8aaee), and NVIDIA
# DeepLearningExamples, PyTorch/SpeechRecognition/Jasper/utils/librispeech.csv (70c51ad7).
# SHA-256: TensorFlow Datasets, url_checksums/librispeech.txt (24211da0), and torchaudio,
# torchaudio/datasets/librispeech.py (0103a7ac).
# Sizes: TensorFlow Datasets, as above, and Kaldi,
# egs/librispeech/s5/local/download_and_untar.sh (0c5da16b).
# The two sources of each agree on all seven subsets.
SUBSETS = {
    "dev-clean": Archive(
        337_926_286,
        "42e2234ba48799c1f50f24a7926300a1",
        "76f87d090650617fca0cac8f88b9416e0ebf80350acb97b343a85fa903728ab3",
    ),
    "dev-other": Archive(
        314_305_928,
        "c8d0bcc9cca99d4f8b62fcc847357931",
        "12661c48e8c3fe1de2c1caa4c3e135193bfb1811584f11f569dd12645aa84365",
    ),
    "test-clean": Archive(
        346_663_984,
        "32fa31d27d2e1cad72775fee3f4849a9",
        "39fde525e59672dc6d1551919b1478f724438a95aa55f874b576be21967e6c23",
    ),
    "test-other": Archive(
        328_757_843,
        "fb5a50374b501bb3bac4815ee91d3135",
        "d09c181bba5cf717b3dee7d4d592af11a3ee3a09e08ae025c5506f6ebe961c29",
    ),
    "train-clean-100": Archive(
        6_387_309_499,
        "2a93770f6d5c6c964bc36631d331a522",
        "d4ddd1d5a6ab303066f14971d768ee43278a5f2a0aa43dc716b0e64ecbbbf6e2",
    ),
    "train-clean-360": Archive(
        23_049_477_885,
        "c0e676e450a7ff2f54aeade5171606fa",
        "146a56496217e96c14334a160df97fffedd6e0a04e66b9c5af0d40be3c792ecf",
    ),
    "train-other-500": Archive(
        30_593_501_606,
        "d1a0fd59409feb2c614ce4d30c387708",
        "ddb22f27f96ec163645d53215559df6aa36515f26e01dd70798188350adcb6d2",
    ),
}
"""The seven subsets of speech of OpenSLR 12."""


def fetch_librispeech(
    subset: str,
    folder: str | os.PathLike,
    *,
    mirror: str = MIRROR,
    keep_archive: bool = False,
    attempts: int = 5,
    wait: float = 2.0,
    timeout: float = 60.0,
    progress: bool = False,
) -> Path:
    """Download, check and unpack a subset, unless it is there.

    Interrupted while it downloads, it goes on where it stopped; interrupted while it unpacks, it
    unpacks again. The subset's folder appears when all of it is there.

    Parameters
    ----------
    subset
        One of `SUBSETS`.
    folder
        Gets ``LibriSpeech/<subset>/<reader>/<chapter>/*.flac``, and the lists of readers and
        chapters (``SPEAKERS.TXT`` and others) in ``LibriSpeech``.
    mirror
        Address below which the archive ``<subset>.tar.gz`` is.
    keep_archive
        Keep the archive in `folder`.
    attempts, wait, timeout
        See `voiceprivacy.downloads.download`.
    progress
        Show bars on stderr.

    Returns
    -------
    pathlib.Path
        ``folder/LibriSpeech/<subset>``, for `voiceprivacy.corpora.read_folder`.

    Raises
    ------
    VoicePrivacyError
        If there is no such subset, the download fails, the disk has no room for archive and
        speech, or the archive has anything but files and folders below ``LibriSpeech``.

    Notes
    -----
    Panayotov et al. 2015; CC BY 4.0, https://www.openslr.org/12. Unpacked speech is
    taken to need as much room as its archive, because FLAC hardly shrinks.

    Examples
    --------
    >>> fetch_librispeech("dev", "speech")
    Traceback (most recent call last):
    voiceprivacy.errors.VoicePrivacyError: LibriSpeech has no subset 'dev': expected one of \
'dev-clean', 'dev-other', 'test-clean', 'test-other', 'train-clean-100', 'train-clean-360', \
'train-other-500'.
    """
    if subset not in SUBSETS:
        expected = listed(SUBSETS, len(SUBSETS))
        raise VoicePrivacyError(
            f"LibriSpeech has no subset {subset!r}: expected one of {expected}."
        )
    folder = Path(folder)
    if (folder / ROOT / subset).is_dir():
        return folder / ROOT / subset
    folder.mkdir(parents=True, exist_ok=True)
    archive = folder / f"{subset}.tar.gz"
    known = SUBSETS[subset]
    come = sum(path.stat().st_size for path in (archive, part_of(archive)) if path.exists())
    require_space(folder, 2 * known.size - come, f"{subset}, packed and unpacked")
    download(
        f"{mirror.rstrip('/')}/{archive.name}",
        archive,
        **known._asdict(),
        attempts=attempts,
        wait=wait,
        timeout=timeout,
        progress=progress,
    )
    _unpack(archive, subset, folder / ROOT, progress)
    if not keep_archive:
        archive.unlink()
    return folder / ROOT / subset


def _unpack(archive: Path, subset: str, root: Path, progress: bool) -> None:
    """Unpack into a folder beside `root`, and move what is in it when it is whole."""
    with _emptied(root.with_name(f".{subset}.unpacking")) as temporary:
        _extract(archive, temporary, progress)
        found = temporary / ROOT
        if not (found / subset).is_dir():
            raise VoicePrivacyError(
                f"{archive} has no {ROOT}/{subset}: it is another archive. Delete it, and "
                "download it again."
            )
        root.mkdir(exist_ok=True)
        for about in filter(Path.is_file, found.iterdir()):
            about.replace(root / about.name)
        # Last, because a subset that is there counts as whole.
        (found / subset).replace(root / subset)


@contextmanager
def _emptied(folder: Path) -> Iterator[Path]:
    """Yield an empty folder, and remove it and what is left in it."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _extract(archive: Path, folder: Path, progress: bool) -> None:
    bar = tqdm(
        total=archive.stat().st_size,
        unit="B",
        unit_scale=True,
        desc=f"unpack {archive.name}",
        disable=not progress,
    )
    try:
        with bar, archive.open("rb") as packed, tarfile.open(fileobj=packed, mode="r:gz") as tar:
            for member in tar:
                _refuse_stray(member, archive)
                tar.extract(member, folder, filter="data")
                bar.update(packed.tell() - bar.n)
    except (tarfile.TarError, EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise VoicePrivacyError(
            f"{archive} cannot be unpacked: {error}. Delete it, and download it again."
        ) from error


def _refuse_stray(member: tarfile.TarInfo, archive: Path) -> None:
    """Refuse links, devices and names outside LibriSpeech's folder, which its archives lack."""
    parts = PurePosixPath(member.name).parts
    inside = parts[:1] == (ROOT,) and ".." not in parts
    if not (inside and (member.isfile() or member.isdir())):
        raise VoicePrivacyError(
            f"{archive} has {member.name!r}, and only files and folders below {ROOT} are "
            "unpacked; nothing was. Delete the archive, and take it from another server."
        )
