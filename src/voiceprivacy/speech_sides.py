"""The speech, or embeddings, that an evaluation is given: read, checked and told apart."""

import hashlib
import os
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd

from voiceprivacy import _embedding_formats as formats
from voiceprivacy.corpora import Corpus, checked
from voiceprivacy.embeddings import Embeddings, read_embeddings
from voiceprivacy.errors import VoicePrivacyError, listed
from voiceprivacy.kaldi import read_speech

Side = Corpus | Embeddings
Data = str | os.PathLike | Corpus | Embeddings


@dataclass(frozen=True)
class Sides:
    """Test, enrolment and, if there is any, calibration and training data; all speech, or all not.

    Parameters
    ----------
    test, enrollment, calibration
        Speech or embeddings.
    training
        Speech that semi-informed and informed attackers train on.
    """

    test: Side
    enrollment: Side
    calibration: Side | None = None
    training: Corpus | None = None

    @property
    def are_embeddings(self) -> bool:
        """Whether there is nothing to anonymize or to embed."""
        return isinstance(self.test, Embeddings)

    @property
    def name(self) -> str:
        """What the released speech is called."""
        return "embeddings" if self.are_embeddings else self.test.name


def read_sides(
    test: Data,
    enrollment: Data,
    calibration: Data | None = None,
    training: Data | None = None,
    *,
    progress: bool = False,
) -> Sides:
    """Read all data of an evaluation.

    Parameters
    ----------
    test, enrollment, calibration, training
        Folders of speech (``speaker/utterance.wav``, LibriSpeech or Kaldi), files of embeddings,
        or what has been read from them.

    Returns
    -------
    Sides
        Utterance ids begin with their part, as parts may name files alike. What cannot be heard
        stands in `Corpus.skipped`.

    Raises
    ------
    VoicePrivacyError
        If something is missing, speech and embeddings are mixed, or parts share a recording.
    """
    extra = {"calibration": calibration, "training": training}
    given = {"test": test, "enrollment": enrollment}
    given |= {name: data for name, data in extra.items() if data is not None}
    sides = {name: _read(data, name, progress) for name, data in given.items()}
    kinds = {name: type(side).__name__ for name, side in sides.items()}
    if len(set(kinds.values())) > 1:
        told = ", ".join(f"{name}: {kind}" for name, kind in kinds.items())
        raise VoicePrivacyError(f"give speech everywhere, or embeddings everywhere; got {told}.")
    if kinds["test"] == "Corpus":
        _refuse_shared(sides)
    elif training is not None:
        raise VoicePrivacyError("training data are speech, and of no use with embeddings.")
    return Sides(**sides)


def is_speech(data: Data) -> bool:
    """Whether data are speech, and no embeddings; a path is not read for that."""
    if not isinstance(data, str | os.PathLike):
        return isinstance(data, Corpus)
    path = Path(data)
    return not (path.is_file() or formats.holds_embeddings(path))


def _read(data: Data, part: str, progress: bool) -> Side:
    if isinstance(data, Embeddings):
        return replace(data, utterances=[f"{part}/{name}" for name in data.utterances])
    if isinstance(data, str | os.PathLike):
        path = Path(data)
        if not path.exists():
            raise VoicePrivacyError(
                f"{path}: there are no {part} data; expected a folder {part}/<speaker>/"
                "<utterance>.wav, or a file of embeddings."
            )
        if not is_speech(path):
            return _read(read_embeddings(path), part, progress)
        data = read_speech(path)
    if not isinstance(data, Corpus):
        raise VoicePrivacyError(
            f"{part} data: {type(data).__name__}; expected a folder of speech, a file of "
            "embeddings, or what was read from one (Corpus, Embeddings)."
        )
    corpus = checked(data, progress=progress)
    table, skipped = (
        rows.assign(utterance=f"{part}/" + rows["utterance"].astype(str))
        for rows in (corpus.table, corpus.skipped)
    )
    return replace(corpus, table=table, skipped=skipped)


def _refuse_shared(sides: dict[str, Corpus]) -> None:
    """Refuse a recording, or a piece of one, that stands in two parts, under whatever name."""
    files = pd.concat([side.table for side in sides.values()], ignore_index=True)
    alike = files[files["path"].map(os.path.getsize).duplicated(keep=False)]
    digests = alike["path"].map(lambda path: hashlib.sha256(Path(path).read_bytes()).hexdigest())
    for _, names in alike["utterance"].groupby(
        [digests, alike["start"], alike["end"]], dropna=False
    ):
        if names.str.partition("/")[0].nunique() > 1:
            raise VoicePrivacyError(
                f"one recording stands in two parts: {listed(names)}; the attacker must not hold "
                "what is tested."
            )
