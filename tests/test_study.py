"""The side-information study: what it keeps, and what it takes instead of simulations."""

import numpy as np
import pytest

from voiceprivacy.embeddings import write_embeddings
from voiceprivacy.errors import VoicePrivacyError
from voiceprivacy.simulation import PRESETS, simulate, simulated_speakers
from voiceprivacy.study import LEVELS, Study


@pytest.fixture
def small(tmp_path):
    """A study of 40 speakers from files: embeddings and a table of people."""
    speakers = simulated_speakers(n_female=15, n_male=25)
    speakers.to_csv(tmp_path / "people.csv", index=False)
    corpus = simulate(PRESETS["informed"], speakers, targets=speakers["speaker"][::4])
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        write_embeddings(corpus.pool, tmp_path / name / "pool.npz")
        write_embeddings(corpus.enrolment, tmp_path / name / "enrolment.npz")
    return Study(str(tmp_path), people=str(tmp_path / "people.csv"), corpus="made up")


def test_people_from_a_file_are_assigned_and_evaluated(small):
    assert small.evidence == "speech: made up"
    assert sorted(small.geography().index) == sorted(small.speakers()["speaker"])
    result = small.isolate("a", sizes=[10, 22024], targets="all", draws=1, splits=2)
    assert result.levels == ("signal only", *LEVELS)
    assert result.sizes.tolist() == [10, 40]


def test_voices_are_kept_until_others_are_asked_for(small):
    first = small.voices("a", 1)
    assert small.voices("a", 1) is first
    assert small.voices("b", 1) is not first
    assert small.voices("a", 1) is not first


def test_every_class_gives_as_many_targets_or_all_it_has(small):
    enrolled = np.unique(small.voices("a", 1)[1].speakers)
    classes = small.geography()["MSOA"][enrolled]
    drawn = small.targets_by_class("a", column="MSOA", n=2)
    assert classes[drawn].value_counts().to_dict() == (
        classes.value_counts().clip(upper=2).to_dict()
    )
    assert classes.nunique() > 1
    assert classes.value_counts().max() > 2
    assert set(small.targets_by_class("a", column="MSOA", n=100)) == set(enrolled)


def test_speakers_with_too_few_utterances_are_no_targets(small):
    with pytest.raises(VoicePrivacyError, match="the 20 utterances in the pool that L = 2"):
        small.targets_by_class("a", length=2)


def test_the_census_folder_takes_the_place_of_the_shipped_areas(shared_data):
    study = Study(census=str(shared_data("census2021_rutland")))
    areas = set(study.geography()["OA"])
    assert len(areas) == 128
    assert all(code.startswith("E00") for code in areas)


def test_a_gender_shift_moves_the_simulated_voices():
    plain, apart = Study(), Study(gender_shift=0.5)
    ((a, _), (b, _)) = plain.voices("ignorant", 3), apart.voices("ignorant", 3)
    women = np.char.startswith(b.speakers.astype(str), "spk-f")
    assert (b.matrix[women, 1] > a.matrix[women, 1]).all()


def test_a_gender_shift_of_real_embeddings_is_refused(tmp_path):
    with pytest.raises(VoicePrivacyError, match="moves simulated embeddings only"):
        Study(embeddings=str(tmp_path), gender_shift=0.5)


def test_missing_files_and_attackers_are_named(tmp_path):
    with pytest.raises(VoicePrivacyError, match=r"expected one file pool.h5.*found 0"):
        Study(embeddings=str(tmp_path)).voices("ignorant", 1)
    with pytest.raises(VoicePrivacyError, match="attacker 'x'; expected one of 'semi-informed'"):
        Study().voices("x", 1)
