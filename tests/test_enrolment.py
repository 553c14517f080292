"""Enrolment and pool share no utterance and, where they need not, no recording."""

import numpy as np
import pandas as pd
import pytest

from voiceprivacy.corpora import COLUMNS, Corpus
from voiceprivacy.enrolment import split_enrolment, split_speakers
from voiceprivacy.errors import VoicePrivacyError


def corpus(recordings):
    """From speaker to the number of pieces in each of their recordings; rows shuffled."""
    rows = [
        (f"{speaker}{r}_{k:03d}", speaker, f"{speaker}{r}.flac", 2.0 * k, 2.0 * k + 2)
        for speaker, pieces in recordings.items()
        for r, n in enumerate(pieces)
        for k in range(n)
    ]
    table = pd.DataFrame(rows, columns=COLUMNS)
    return Corpus("made", table.sample(frac=1, random_state=1))


def utterances(part):
    return part.table["utterance"].tolist()


def test_the_first_utterances_enrol_and_other_recordings_are_tested():
    split = split_enrolment(corpus({"a": [3, 2, 2]}), n_enrolment=2, n_pool=4)
    assert sorted(utterances(split.enrolment)) == ["a0_000", "a0_001"]
    assert sorted(utterances(split.pool)) == ["a1_000", "a1_001", "a2_000", "a2_001"]
    assert (split.left_out, split.one_recording) == ([], [])


def test_the_same_recording_is_tested_where_others_do_not_suffice_and_this_is_told():
    split = split_enrolment(corpus({"a": [3, 2, 2], "b": [7]}), n_enrolment=2, n_pool=5)
    assert sorted(utterances(split.pool.select(split.pool.table["speaker"] == "a"))) == [
        "a0_002", "a1_000", "a1_001", "a2_000", "a2_001",
    ]  # fmt: skip
    assert split.one_recording == ["a", "b"]
    assert not set(utterances(split.pool)) & set(utterances(split.enrolment))


def test_who_has_too_little_is_left_out_of_both():
    split = split_enrolment(corpus({"a": [2], "b": [9]}), n_enrolment=2, n_pool=1)
    assert split.left_out == ["a"]
    assert set(split.pool.table["speaker"]) == set(split.enrolment.table["speaker"]) == {"b"}


def test_whole_files_are_taken_in_the_order_of_their_names():
    made = corpus({"a": [1, 1, 1]})
    whole = Corpus("made", made.table.assign(start=np.nan, end=np.nan))
    split = split_enrolment(whole, n_enrolment=1, n_pool=2)
    assert utterances(split.enrolment) == ["a0_000"]
    assert split.one_recording == []


@pytest.mark.parametrize(
    ("n_enrolment", "n_pool", "message"),
    [(3, 9, "none of 1 speakers has 3 utterances to enrol and 9"), (0, 2, "give one or more")],
)
def test_what_cannot_be_split_is_refused(n_enrolment, n_pool, message):
    with pytest.raises(VoicePrivacyError, match=message):
        split_enrolment(corpus({"a": [5]}), n_enrolment, n_pool)


def test_speakers_set_aside_depend_on_the_seed_alone():
    whole = corpus({name: [2] for name in "abcdef"})
    shuffled = Corpus("made", whole.table.sample(frac=1, random_state=5))
    apart, rest = split_speakers(whole, 1 / 3, seed=4)
    again, _ = split_speakers(shuffled, 1 / 3, seed=4)
    first, others = set(apart.table["speaker"]), set(rest.table["speaker"])
    assert len(first) == 2
    assert first | others == set("abcdef")
    assert not first & others
    assert first == set(again.table["speaker"])
    several = {frozenset(split_speakers(whole, 0.5, seed=s)[0].table["speaker"]) for s in range(20)}
    assert len(several) > 5
    for share, n in ((0.01, 1), (0.99, 5)):
        assert split_speakers(whole, share)[0].table["speaker"].nunique() == n


@pytest.mark.parametrize(("people", "share"), [("ab", 0.0), ("ab", 1.0), ("a", 0.5)])
def test_nobody_or_everybody_cannot_be_set_aside(people, share):
    with pytest.raises(VoicePrivacyError, match="expected a share between 0 and 1, of two"):
        split_speakers(corpus({name: [1] for name in people}), share)
