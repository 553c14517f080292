"""Small corpora in the formats of real ones, made of any speech, to try a pipeline on."""

import csv
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

import pandas as pd

from voiceprivacy._audio import RATE, audio_packages
from voiceprivacy.attack_data import AttackData, spoken
from voiceprivacy.corpora import Corpus
from voiceprivacy.errors import VoicePrivacyError
from voiceprivacy.files import written_whole
from voiceprivacy.kaldi import write_kaldi
from voiceprivacy.randomness import stream
from voiceprivacy.speakers import AGES
from voiceprivacy.synthetic import speak
from voiceprivacy.vpac import Subset

# As releases since 2024 have them; the order of columns is another in older ones.
COMMON_VOICE_COLUMNS = (
    "client_id", "path", "sentence_id", "sentence", "up_votes", "down_votes", "age", "gender",
    "accents", "locale", "segment",
)  # fmt: skip
COMMON_VOICE_GENDERS = {"female": "female_feminine", "male": "male_masculine", "": ""}
LETTERS = {"female": "f", "male": "m"}


def speak_common_voice(
    folder: str | os.PathLike, n_speakers: int = 24, n_utterances: int = 16, *, seed: int = 0
) -> Path:
    """Make a small release of Common Voice of synthetic speech, with the faults of real ones.

    Parameters
    ----------
    folder
        Where it is kept, once for these numbers and this seed.
    n_speakers
        Speakers, 3 or more, every second one female.
    n_utterances
        Clips of the most diligent speaker; as in real releases, others gave less, down to a
        quarter.
    seed
        Of everything random.

    Returns
    -------
    Path
        The folder of its language, as from `write_common_voice` with ``faults=True``.
    """
    folder = Path(folder, f"{n_speakers}x{n_utterances}-seed{seed}")
    release = folder / "en"
    if (release / "clip_durations.tsv").is_file():  # written last
        return release
    speech = speak(folder / "speech", n_speakers, n_utterances, seed=seed)
    table = speech.table
    gave = {s: stream(seed, "gave", s).uniform(0.25, 1) for s in table["speaker"].unique()}
    kept = table.groupby("speaker").cumcount() < n_utterances * table["speaker"].map(gave)
    people = pd.read_csv(folder / "speech" / "speakers.csv", dtype=str).set_index("speaker")
    words = pd.read_csv(folder / "speech" / "words.csv", dtype=str, na_filter=False)
    sentences = words.groupby("utterance")["word"].agg(" ".join).to_dict()
    own = speech.select(kept.to_numpy())
    return write_common_voice(
        release, own, people["gender"].to_dict(), sentences, seed=seed, faults=True
    )


def speak_challenge(folder: str | os.PathLike, system: str, **speech: int) -> Path:
    """Make a small copy of the attacker challenge's data of synthetic speech.

    Parameters
    ----------
    folder
        Where it is kept, once for these numbers.
    system
        One of `voiceprivacy.anonymizers.ANONYMIZERS`.
    speech
        As of `voiceprivacy.attack_data.spoken`.

    Returns
    -------
    Path
        The folder with ``<system>/data``, for `voiceprivacy.vpac.vpac`, and with the original
        sets in ``data``, for `voiceprivacy.vpc.read_vpc`.
    """
    numbers = "-".join(f"{name}{value}" for name, value in sorted(speech.items()))
    # Tables name sounds by whole paths: relative ones start elsewhere for whoever reads them.
    folder = Path(folder).resolve()
    root = folder / "tree" / numbers
    for name, place, suffix in (("identity", "data", ""), (system, f"{system}/data", f"_{system}")):
        write_challenge_sets(root / place, spoken(folder / "speech", name, **speech), suffix)
    return root


def write_common_voice(
    folder: str | os.PathLike,
    corpus: Corpus,
    genders: Mapping[str, str],
    sentences: Mapping[str, str],
    *,
    seed: int = 0,
    faults: bool = False,
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
    faults
        Add what is wrong in real releases: a clip that is missing and one that is empty, a line
        that stands twice, a clip that a second table gives to another speaker, older words for
        gender, and speakers who do not say theirs or say two. Needs three speakers.

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
    validated, other = [own for row, own in enumerate(rows) if row % 5 != 4], rows[4::5]
    if faults:
        _add_faults(folder / "clips", validated, other, durations)
    _write_table(folder / "validated.tsv", COMMON_VOICE_COLUMNS, validated)
    _write_table(folder / "other.tsv", COMMON_VOICE_COLUMNS, other)
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


def _add_faults(
    clips: Path, validated: list[list[str]], other: list[list[str]], durations: list
) -> None:
    """Spoil some rows and clips, see `write_common_voice`."""
    speaker, clip, gender = map(COMMON_VOICE_COLUMNS.index, ("client_id", "path", "gender"))
    by_speaker: dict[str, list[list[str]]] = {}
    for row in validated:
        by_speaker.setdefault(row[speaker], []).append(row)
    if len(by_speaker) < 3:
        raise VoicePrivacyError(f"{len(by_speaker)} speakers; faults need three or more.")
    older, silent, torn = list(by_speaker.values())[:3]
    for row in older[::2]:
        row[gender] = row[gender].partition("_")[0]
    for row in silent:
        row[gender] = "do_not_wish_to_say"
    torn[0][gender] = "female_feminine" if torn[0][gender].startswith("male") else "male_masculine"
    missing, empty = validated[-1][clip], validated[-2][clip]
    (clips / missing).unlink()
    (clips / empty).write_bytes(b"")
    durations[:] = [row for row in durations if row[0] != empty]
    stranger = list(older[0])
    stranger[speaker] = torn[0][speaker]
    validated.append(list(older[0]))
    other.append(stranger)


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
