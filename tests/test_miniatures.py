"""Miniatures of real corpora hold what the formats say."""

import numpy as np
import pytest
import soundfile

from voiceprivacy._words import word_table
from voiceprivacy.attack_data import AttackData
from voiceprivacy.common_voice import common_voice_speakers, read_common_voice
from voiceprivacy.corpora import read_folder
from voiceprivacy.durations import utterance_durations
from voiceprivacy.errors import VoicePrivacyError
from voiceprivacy.kaldi import read_kaldi, read_trials
from voiceprivacy.miniatures import (
    COMMON_VOICE_COLUMNS,
    speak_challenge,
    speak_common_voice,
    write_challenge_sets,
    write_common_voice,
)
from voiceprivacy.segmentation import Segmentation
from voiceprivacy.vpac import Subset, vpac
from voiceprivacy.vpc import read_vpc

GENDERS = {"f1": "female", "f2": "female", "m1": "male", "m2": "male", "t1": "male"}


@pytest.fixture
def corpus(tmp_path):
    rng = np.random.default_rng(0)
    for speaker in GENDERS:
        (tmp_path / "speech" / speaker).mkdir(parents=True)
        for k in range(4):
            noise = 0.1 * rng.normal(size=8000)
            soundfile.write(tmp_path / "speech" / speaker / f"{speaker}-{k}.wav", noise, 16_000)
    return read_folder(tmp_path / "speech")


@pytest.fixture
def speech(corpus):
    """t1 to train on; dev and test are the same four people."""
    train = (corpus.table["speaker"] == "t1").to_numpy()
    own = corpus.select(~train)
    enrols = own.table["utterance"].str[-1].astype(int).to_numpy() < 2
    subset = Subset(own.select(enrols), own.select(~enrols), None, GENDERS)
    words = Segmentation("none", word_table([]))
    return AttackData("noise", corpus.select(train), words, {"dev": subset, "test": subset})


def test_common_voice_has_clips_and_unquoted_tables(corpus, tmp_path):
    sentences = dict.fromkeys(corpus.table["utterance"], "what it's about")
    folder = write_common_voice(tmp_path / "cv" / "en", corpus, GENDERS, sentences)
    clips = sorted(p.name for p in (folder / "clips").iterdir())
    assert len(clips) == 20
    with soundfile.SoundFile(folder / "clips" / clips[0]) as file:
        assert (file.format, file.samplerate) == ("MP3", 32_000)
    heading, *rows = (folder / "validated.tsv").read_text().splitlines()
    assert tuple(heading.split("\t")) == COMMON_VOICE_COLUMNS
    assert (len(rows), len((folder / "other.tsv").read_text().splitlines())) == (16, 5)
    table = [dict(zip(COMMON_VOICE_COLUMNS, row.split("\t"), strict=True)) for row in rows]
    assert table[0]["sentence"] == "\"what it's about"
    assert {row["gender"] for row in table} == {"female_feminine", "male_masculine"}
    assert len({row["client_id"] for row in table}) == 5
    durations = (folder / "clip_durations.tsv").read_text().splitlines()
    assert durations[:2] == ["clip\tduration[ms]", "common_voice_en_10000.mp3\t500"]


def test_a_persons_age_does_not_depend_on_the_others(corpus, tmp_path):
    write_common_voice(tmp_path / "all", corpus, GENDERS, {})
    one = corpus.select((corpus.table["speaker"] == "m1").to_numpy())
    write_common_voice(tmp_path / "one", one, GENDERS, {})
    place = COMMON_VOICE_COLUMNS.index("age")

    def age(folder):
        rows = (tmp_path / folder / "validated.tsv").read_text().splitlines()
        return {row.split("\t")[place] for row in rows if row.startswith("0" * 62 + "m1")}

    assert age("all") == age("one")
    assert len(age("one")) == 1


def test_the_challenges_sets_are_read_back(speech, tmp_path):
    data = write_challenge_sets(tmp_path / "tree" / "T8-5" / "data", speech, "_T8-5")
    trials = read_trials(data / "libri_dev_trials_f_T8-5" / "trials")
    assert (len(trials), trials["target"].sum()) == (2 * 4, 4)
    assert set(trials["speaker"]) == {"f1", "f2"}
    found = read_kaldi(data / "libri_dev_enrolls_T8-5")
    assert found.table["utterance"].tolist() == [
        f"{s}-{k}" for s in sorted(GENDERS)[:4] for k in (0, 1)
    ]
    system = vpac(tmp_path / "tree", "T8-5")
    assert system.name.startswith("part of the VoicePrivacy Attacker Challenge")
    assert len(system.subsets["test"].trials) == 8
    assert np.array_equal(system.train.audio(0), speech.training.audio(0))


def test_faults_are_found_and_told(corpus, tmp_path):
    folder = write_common_voice(tmp_path / "en", corpus, GENDERS, {}, faults=True)
    found = read_common_voice(folder)
    usable, _ = utterance_durations(found, folder)
    assert usable.left_out().to_dict() == {"no clip": 1, "listed twice": 1, "unreadable": 1}
    assert usable.notes["reason"].value_counts()["two speakers"] == 1
    assert len(usable) == 18
    people = common_voice_speakers(folder)
    people.index = people["speaker"].str.lstrip("0")
    assert people["gender"].to_dict() == GENDERS | {"f2": ""}
    assert people["raw_gender"]["f1"] == "female|female_feminine"
    assert people["raw_gender"]["m1"] == "male_masculine|female_feminine"


def test_faults_need_three_speakers(corpus, tmp_path):
    two = corpus.select(corpus.table["speaker"].isin(["f1", "m1"]).to_numpy())
    with pytest.raises(VoicePrivacyError, match="2 speakers; faults need three or more"):
        write_common_voice(tmp_path / "en", two, GENDERS, {}, faults=True)


def test_a_release_is_spoken_once(tmp_path):
    pytest.importorskip("espeakng_loader", reason="the demo extra is not installed")
    folder = speak_common_voice(tmp_path, 4, 6, seed=1)
    clips = {path: path.stat().st_mtime_ns for path in (folder / "clips").iterdir()}
    assert speak_common_voice(tmp_path, 4, 6, seed=1) == folder
    assert clips == {path: path.stat().st_mtime_ns for path in (folder / "clips").iterdir()}
    gave = read_common_voice(folder).table["speaker"].value_counts()
    assert len(gave) == 4
    assert gave.min() < gave.max() <= 6


def test_a_spoken_challenge_has_a_system_and_its_originals(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # a relative folder, as notebooks give it
    pytest.importorskip("espeakng_loader", reason="the demo extra is not installed")
    numbers = {"n_training": 2, "n_evaluation": 4, "n_utterances": 3, "n_enrolment": 1}
    root = speak_challenge("here", "resample", **numbers)
    system, original = vpac(root, "resample"), read_vpc(root / "data")
    assert (len(system.train), len(original.subsets["dev"].trials)) == (6, 8)
    for subset in ("dev", "test"):
        one, other = (data.subsets[subset] for data in (system, original))
        pairs = ["speaker", "utterance", "target"]
        assert one.trial_list[pairs].equals(other.trial_list[pairs])
        assert not np.array_equal(one.trials.audio(0), other.trials.audio(0))
