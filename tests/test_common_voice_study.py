"""What is shown of a release, by hand: rows that quotes swallow, seconds, and who is in A and B."""

import csv

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from voiceprivacy.common_voice_study import (
    people_figure,
    rows_by_reader,
    speech_by_speaker,
    speech_figure,
)
from voiceprivacy.corpora import COLUMNS, Corpus
from voiceprivacy.speakers import checked_speakers

SECONDS = pd.Series({"u1": 5.0, "u2": 3.0, "u3": 4.0, "u4": 9.0, "u5": 1.0})
SPEAKERS = ["ann", "ann", "ann", "bob", "cid"]


@pytest.fixture(autouse=True)
def no_figures():
    yield
    plt.close("all")


@pytest.fixture
def corpus():
    pairs = zip(SECONDS.index, SPEAKERS, strict=True)
    rows = [(u, s, f"{u}.mp3", np.nan, np.nan) for u, s in pairs]
    return Corpus("cv", pd.DataFrame(rows, columns=COLUMNS))


@pytest.fixture
def subsets(corpus):
    return corpus.select([0, 3]), corpus.select([1])


def test_a_quote_swallows_rows_of_a_reader_that_pairs_quotes(tmp_path):
    heading, limit = "client_id\tpath\tsentence\n", csv.field_size_limit()
    lines = ['ann\tu1\t"Hi\n', "ann\tu2\tYes\n", 'bob\tu3\tNo"\n', "cid\tu4\tA\n"]
    (tmp_path / "validated.tsv").write_text(heading + "".join(lines))
    (tmp_path / "test.tsv").write_text(heading + f'ann\tu5\t"{"x" * 200_000}\n')
    assert rows_by_reader(tmp_path).to_numpy().tolist() == [
        ["validated.tsv", 4, 2],
        ["test.tsv", 1, 1],
    ]
    assert csv.field_size_limit() == limit


def test_seconds_of_each_speaker_in_each_part(corpus, subsets):
    found = speech_by_speaker(corpus, *subsets, SECONDS.sample(frac=1, random_state=0))
    assert found.index.tolist() == ["ann", "bob", "cid"]
    assert found.to_numpy().tolist() == [[5, 3, 12], [9, 0, 9], [0, 0, 1]]


def test_the_parts_of_a_speaker_stand_on_one_another(corpus, subsets):
    spoken = speech_by_speaker(corpus, *subsets, SECONDS)
    a, b, neither = speech_figure(spoken).axes[0].patches
    assert a.get_data().values.tolist() == [5, 9, 0]
    assert b.get_data().baseline.tolist() == [5, 9, 0]
    assert b.get_data().values.tolist() == [8, 9, 0]
    assert neither.get_data().values.tolist() == [12, 9, 1]


def test_people_stand_by_gender_and_age(subsets):
    table = {"speaker": ["ann", "bob", "cid"], "gender": ["f", "m", "f"], "age": ["teens", "", ""]}
    people = checked_speakers(pd.DataFrame(table))
    drawn = [
        [[round(bar.get_width()) for bar in bars] for bars in ax.containers]
        for ax in people_figure(people, *subsets).axes
    ]
    nobody = [0] * 10
    in_teens, unknown_age = [1, *nobody[1:]], [*nobody[1:], 1]
    assert drawn == [[in_teens, in_teens], [unknown_age, nobody], [nobody, nobody]]
