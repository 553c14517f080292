"""The example is what it says, and can be evaluated."""

import numpy as np
import pytest

from voiceprivacy.embeddings import read_embeddings
from voiceprivacy.examples import DISTRICTS, write_example
from voiceprivacy.side_information import read_side_information
from voiceprivacy.singling_out import isolate

COLUMNS = ["town", "district", "occupation"]


@pytest.fixture(scope="module")
def example(tmp_path_factory):
    return write_example(tmp_path_factory.mktemp("example"), n_speakers=120)


def test_all_files_tell_of_the_same_speakers(example):
    pool, enrolment = read_embeddings(example.pool), read_embeddings(example.enrolment)
    table = read_side_information(example.side_information, COLUMNS)
    assert set(pool.speakers) == set(enrolment.speakers) == set(table.index)
    assert "0001" in table.index
    assert not set(pool.utterances) & set(enrolment.utterances)


def test_hdf5_holds_the_same_enrolment(example):
    enrolment, hdf5 = read_embeddings(example.enrolment), read_embeddings(example.hdf5)
    order, other = np.argsort(enrolment.utterances), np.argsort(hdf5.utterances)
    assert np.array_equal(enrolment.utterances[order], hdf5.utterances[other])
    assert np.array_equal(enrolment.speakers[order], hdf5.speakers[other])
    assert np.array_equal(enrolment.matrix[order], hdf5.matrix[other])


def test_the_table_has_blanks_and_quotes_that_survive(example):
    table = read_side_information(example.side_information, COLUMNS)
    assert table["occupation"].isna().any()
    assert set(table["district"]) == set(DISTRICTS)


def test_finer_levels_isolate_more(example):
    result = isolate(
        read_embeddings(example.pool), read_embeddings(example.enrolment), sizes=[120],
        side_information=read_side_information(example.side_information, COLUMNS),
        targets="all", draws=1, splits=2,
    )  # fmt: skip
    summary = result.summary()
    assert summary["observed"].is_monotonic_increasing
    assert summary["block_size"].is_monotonic_decreasing


def test_the_same_seed_writes_the_same_table(example, tmp_path):
    again = write_example(tmp_path, n_speakers=120)
    assert again.side_information.read_bytes() == example.side_information.read_bytes()
