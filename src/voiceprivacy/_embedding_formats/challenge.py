"""The embeddings that the VoicePrivacy Challenge's evaluation keeps, read only.

``exp/asv_anon<suffix>/cosine_out/emb_xvect/<dataset>/`` has a folder ``utt-level``, and for
enrolment data ``spk-level`` (means, one a speaker). Each holds ``speaker_vectors.pt`` (a torch
tensor, one row an id, not normalised), ``id2idx`` (id, row), ``idx2spk`` (row, speaker) and
``spk2gender``, which `voiceprivacy.kaldi.genders` reads. Rows are in no order.
(Voice-Privacy-Challenge-2024, evaluation/privacy/asv/speaker_embeddings.py.)
"""

import re
from pathlib import Path

import numpy as np

from voiceprivacy._embedding_formats.speaker_tables import joined
from voiceprivacy._embedding_formats.vectors import DAMAGED, Arrays
from voiceprivacy._wav_scp import read_table
from voiceprivacy.errors import VoicePrivacyError, listed

VECTORS = "speaker_vectors.pt"
LEVELS = ("utt-level", "spk-level")


def cache_in(folder: Path) -> Path | None:
    """The vectors of a cache, or of the one level that a dataset's folder has."""
    levels = [folder / level for level in LEVELS if (folder / level).is_dir()]
    if len(levels) > 1:
        raise VoicePrivacyError(f"holds {listed(LEVELS)}; name one of them.")
    level = levels[0] if levels else folder
    if (level / VECTORS).is_file():
        return level / VECTORS
    unfinished = sorted(file.parent.name for file in level.glob(f"temp*/{VECTORS}"))
    if unfinished or level.name in LEVELS:
        left = f"; an unfinished run left {listed(unfinished)}" if unfinished else ""
        raise VoicePrivacyError(
            f"{level.name} holds no {VECTORS}{left}. Start the challenge's evaluation again, "
            "so that it ends."
        )
    return None


def read_challenge(path: Path, table: Path | None) -> Arrays:
    """Read ``speaker_vectors.pt`` and the tables beside it."""
    matrix = _tensor(path)
    ids = _ids(path.parent / "id2idx", len(matrix))
    if table is not None:
        return joined(path.parent, ids, matrix, table)
    names = np.array(ids, dtype=str)
    if path.parent.name == "spk-level":
        return names, names, matrix
    speakers = _speakers(path.parent / "idx2spk", len(ids))
    _refuse_permuted(ids, speakers)
    return names, np.array(speakers, dtype=str), matrix


def _tensor(path: Path) -> np.ndarray:
    """The matrix of vectors; a pickle that holds anything but tensors is refused, not run."""
    try:
        import torch
    except ImportError as error:
        raise VoicePrivacyError(
            f"needs the package {error.name}; "
            'install the extra with: pip install "voiceprivacy[speech]"'
        ) from error
    import pickle

    try:
        tensor = torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        raise VoicePrivacyError(
            "holds more than a tensor, or is cut or damaged; Python objects are not loaded, as they"
            " could run anything. Expected one tensor, saved with torch.save."
        ) from error
    except (OSError, RuntimeError, EOFError, ValueError, KeyError) as error:
        raise VoicePrivacyError(DAMAGED.format(str(error).partition("\n")[0])) from error
    found = f"a {type(tensor).__name__}"
    if isinstance(tensor, torch.Tensor):
        found = f"a tensor of shape {tuple(tensor.shape)}, {tensor.dtype}"
        if tensor.ndim == 2 and tensor.is_floating_point() and tensor.layout == torch.strided:
            return tensor.detach().float().numpy()
    raise VoicePrivacyError(f"holds {found}; expected one tensor of floats, one row an utterance.")


def _ids(table: Path, n: int) -> list[str]:
    """The id of each of n rows, from ``id2idx``."""
    rows = _numbers({name: row.value for name, row in read_table(table).items()}, table.name)
    beyond = [f"{name} {row}" for name, row in rows.items() if row >= n]
    if beyond:
        raise VoicePrivacyError(
            f"{len(beyond)} ids of id2idx have rows beyond the {n} of {VECTORS}: {listed(beyond)}."
        )
    id_of = {row: name for name, row in rows.items()}
    shared = [name for name, row in rows.items() if id_of[row] != name]
    if shared:
        raise VoicePrivacyError(
            f"{len(shared)} ids of id2idx have a row that another id has: {listed(shared)}."
        )
    return _every_row(id_of, n, "ids in id2idx")


def _speakers(table: Path, n: int) -> list[str]:
    """The speaker of each of n rows, from ``idx2spk``."""
    if not table.is_file():
        raise VoicePrivacyError(
            "idx2spk is missing beside it; copy it too, or name the corpus's utt2spk (--speakers)."
        )
    told = {key: row.value for key, row in read_table(table).items()}
    rows = _numbers({key: key for key in told}, table.name)
    return _every_row({row: told[key] for key, row in rows.items()}, n, "speakers in idx2spk")


def _numbers(words: dict[str, str], table: str) -> dict[str, int]:
    """Row numbers as numbers: as text, 10 comes before 2."""
    odd = [key for key, word in words.items() if not re.fullmatch("[0-9]+", word)]
    if odd:
        raise VoicePrivacyError(f"{table}: expected row numbers; lines of {listed(odd)} have none.")
    return {key: int(word) for key, word in words.items()}


def _every_row(of_row: dict[int, str], n: int, what: str) -> list[str]:
    lost = [row for row in range(n) if not of_row.get(row)]
    if lost or len(of_row) > n:
        raise VoicePrivacyError(
            f"the {n} rows and the {len(of_row)} {what} do not belong together; "
            f"rows without: {listed(lost) or 'none'}. Copy all files of one run."
        )
    return [of_row[row] for row in range(n)]


def _refuse_permuted(ids: list[str], speakers: list[str]) -> None:
    """Refuse speakers that ids contradict.

    The recipe of 2024 reads ``idx2spk`` sorted as text: a run that resumed and wrote it anew has
    given rows to other speakers if there are more than ten.
    """
    known = set(speakers)
    wrong = [
        f"{name} to {speaker}"
        for name, speaker in zip(ids, speakers, strict=True)
        if speaker not in (named := _speakers_named(name, known)) and named
    ]
    if wrong:
        raise VoicePrivacyError(
            f"idx2spk gives {len(wrong)} of {len(ids)} ids to other speakers than they begin with "
            f"({listed(wrong, 3)}), as a resumed run of the 2024 recipe does; name the corpus's "
            "utt2spk (--speakers)."
        )


def _speakers_named(name: str, known: set[str]) -> set[str]:
    """The known speakers that an id begins with, as in ``1272-128104-0000``."""
    ends = [match.start() for match in re.finditer("[-_]", name)]
    return {name[:end] for end in ends} & known
