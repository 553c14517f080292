"""Small corpora in the formats of real ones, made of any speech, to try a pipeline on."""

import csv
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

import pandas as pd

from voiceprivacy._audio import RATE, audio_packages
from voiceprivacy.attack_data import AttackData
from voiceprivacy.corpora import Corpus
from voiceprivacy.files import written_whole
from voiceprivacy.kaldi import write_kaldi
from voiceprivacy.randomness import stream
from voiceprivacy.speakers import AGES
from voiceprivacy.vpac import Subset

# As releases since 2024 have them; the order of columns is another in older ones.
COMMON_VOICE_COLUMNS = (
    "client_id", "path", "sentence_id", "sentence", "up_votes", "down_votes", "age", "gender",
    "accents", "locale", "segment",
)  # fmt: skip
COMMON_VOICE_GENDERS = {"female": "female_feminine", "male": "male_masculine", "": ""}
LETTERS = {"female": "f", "male": "m"}


def write_common_voice(
    folder: str | os.PathLike,
    corpus: Corpus,
    genders: Mapping[str, str],
    sentences: Mapping[str, str],
    *,
    seed: int = 0,
) -> Path:
    """Write speech as a release of Mozilla Common Voice: mp3 clips at 32 kHz, and tables.

    Parameters
    ----------
    folder
        Where ``clips/``, ``validated.tsv``, ``other.tsv`` and ``clip_durations.tsv`` go.
    corpus
        The speech; a fifth of the utterances goes into ``other``.
    genders
        Speaker to ``"female"``, ``"male"`` or ``""``.
    sentences
        What is said, by utterance; quotation marks are put around some, as readers' have them.
    seed
        Of the ages, which are made up, one in ten unknown.

    Returns
    -------
    Path
        The folder.
    """
    folder = Path(folder)
    (folder / "clips").mkdir(parents=True, exist_ok=True)
    ages = {speaker: _age(speaker, seed) for speaker in sorted(set(corpus.table["speaker"]))}
    rows, durations = [], []
    for row, (utterance, speaker) in enumerate(
        corpus.table[["utterance", "speaker"]].itertuples(index=False)
    ):
        clip = f"common_voice_en_{10_000 + row}.mp3"
        durations.append((clip, _write_clip(folder / "clips" / clip, corpus, row)))
        sentence = sentences.get(utterance, "")
        own = {
            "client_id": f"{speaker:0>64}", "path": clip, "sentence_id": f"{row:064x}",
            "sentence": f'"{sentence}' if row % 7 == 0 else sentence, "up_votes": "2",
            "down_votes": "0", "age": ages[speaker], "accents": "", "locale": "en", "segment": "",
            "gender": COMMON_VOICE_GENDERS[genders.get(speaker, "")],
        }  # fmt: skip
        rows.append([own[name] for name in COMMON_VOICE_COLUMNS])
    validated = [own for row, own in enumerate(rows) if row % 5 != 4]
    _write_table(folder / "validated.tsv", COMMON_VOICE_COLUMNS, validated)
    _write_table(folder / "other.tsv", COMMON_VOICE_COLUMNS, rows[4::5])
    _write_table(folder / "clip_durations.tsv", ("clip", "duration[ms]"), durations)
    return folder


def write_challenge_sets(data: str | os.PathLike, speech: AttackData, suffix: str = "") -> Path:
    """Write speech as the sets of a VoicePrivacy Challenge or of its Attacker Challenge.

    Parameters
    ----------
    data
        The folder of the sets: ``train-clean-360``, ``libri_<subset>_enrolls`` and
        ``libri_<subset>_trials_{f,m}``, each a Kaldi directory that names the files of `speech`.
    speech
        Original or anonymized; every same-sex pair of an enrolled speaker and a tried utterance is
        a trial, as in the challenges' lists.
    suffix
        What the sets' names end in, such as ``"_mcadams"`` or ``"_T8-5"``.

    Returns
    -------
    Path
        The folder.
    """
    data = Path(data)
    write_kaldi(data / f"train-clean-360{suffix}", speech.training)
    for name, subset in speech.subsets.items():
        write_kaldi(
            data / f"libri_{name}_enrolls{suffix}", subset.enrolment, genders=subset.genders
        )
        for gender, letter in LETTERS.items():
            own = subset.trials.table["speaker"].map(subset.genders) == gender
            place = data / f"libri_{name}_trials_{letter}{suffix}"
            write_kaldi(place, subset.trials.select(own.to_numpy()), genders=subset.genders)
            with written_whole(place / "trials") as temporary:
                temporary.write_text("".join(_trials(subset, gender)), encoding="utf-8")
    return data


def _trials(subset: Subset, gender: str) -> Iterator[str]:
    """A line for every pair of an enrolled speaker and a tried utterance of one gender."""
    enrolled = [s for s in sorted(set(subset.enrolment.table["speaker"]))
                if subset.genders[s] == gender]  # fmt: skip
    tried = subset.trials.table[["utterance", "speaker"]].itertuples(index=False)
    for utterance, speaker in tried:
        if subset.genders[speaker] == gender:
            for other in enrolled:
                yield f"{other} {utterance} {'target' if other == speaker else 'nontarget'}\n"


def _age(speaker: str, seed: int) -> str:
    """A word of Common Voice, its own spelling of the forties included."""
    rng = stream(seed, "age", speaker)
    word = "" if rng.random() < 0.1 else str(rng.choice(AGES))
    return "fourties" if word == "forties" else word


def _write_clip(path: Path, corpus: Corpus, row: int) -> int:
    """Write an utterance as mp3 at 32 kHz; return its milliseconds."""
    soundfile, soxr = audio_packages()
    samples = corpus.audio(row)
    with written_whole(path) as temporary:
        soundfile.write(temporary, soxr.resample(samples, RATE, 2 * RATE), 2 * RATE, format="MP3")
    return round(1000 * len(samples) / RATE)


def _write_table(path: Path, columns: tuple[str, ...], rows: list) -> None:
    """Write a table as Common Voice's are: tabs between, nothing quoted."""
    table = pd.DataFrame(rows, columns=list(columns))
    with written_whole(path) as temporary:
        table.to_csv(temporary, sep="\t", index=False, quoting=csv.QUOTE_NONE, lineterminator="\n")
