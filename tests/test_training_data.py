"""Which crops an attacker hears: rows, development utterances, order, and augmentation."""

import itertools
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from attacker_speech import TINY, speech, words

from voiceprivacy._sampling import batches, fixed_crops, make_rows
from voiceprivacy._training_data import Material
from voiceprivacy.attackers import Augmentation
from voiceprivacy.corpora import COLUMNS, Corpus
from voiceprivacy.errors import VoicePrivacyError

pytest.importorskip("soundfile", reason="the speech extra is not installed")

DROP = replace(TINY, crop_seconds=3.0, short="drop", batch_size=2)


def corpus_of(counts):
    """Utterances that exist by name only, so many a speaker."""
    rows = [(f"{s}{u}", s, "", np.nan, np.nan) for s, n in counts.items() for u in range(n)]
    return Corpus("named", pd.DataFrame(rows, columns=COLUMNS))


def seconds(values):
    return np.round(np.array(values) * 16_000).astype(int)


@pytest.fixture(scope="module")
def spoken(tmp_path_factory):
    corpus = speech(tmp_path_factory.mktemp("speech"))
    return corpus, words(corpus)


# -- rows --------------------------------------------------------------------------------------


def test_an_utterance_has_a_row_for_every_full_crop_in_it():
    corpus = corpus_of({"a": 4, "b": 4})
    rows = make_rows(corpus, seconds([2.99, 3, 5.99, 6, 9.5, 3, 3, 3]), DROP)
    found = np.bincount(np.concatenate([rows.train, rows.dev]), minlength=8)
    assert found.tolist() == [0, 1, 1, 2, 3, 1, 1, 1]
    assert rows.left_out == ["a0"]


def test_short_utterances_are_repeated_on_request():
    corpus = corpus_of({"a": 2, "b": 2})
    rows = make_rows(corpus, seconds([1, 3, 3, 7]), replace(DROP, short="repeat"))
    assert np.bincount(np.concatenate([rows.train, rows.dev])).tolist() == [1, 1, 1, 2]
    assert rows.left_out == []


def test_every_speaker_gives_its_share_to_development():
    corpus = corpus_of({"a": 20, "b": 12, "c": 2, "d": 1})
    rows = make_rows(corpus, seconds([3] * 35), DROP)
    own = corpus.table["speaker"].iloc[rows.dev].value_counts()
    assert own.to_dict() == {"a": 2, "b": 1, "c": 1}
    assert not set(rows.dev) & set(rows.train)
    assert sorted([*rows.dev, *rows.train]) == list(range(35))


def test_a_speaker_s_development_utterances_do_not_depend_on_the_others():
    one, more = corpus_of({"b": 12, "c": 12}), corpus_of({"a": 9, "b": 12, "c": 12, "d": 3})

    def dev(corpus, seed=0):
        n = len(corpus)
        rows = make_rows(corpus, seconds([3] * n), replace(DROP, seed=seed, dev_share=0.3))
        names = corpus.table["utterance"].iloc[rows.dev]
        return [name for name in names if name[0] in "bc"]

    assert dev(one) == dev(more)
    assert dev(one) != dev(one, seed=1)


def test_speakers_hold_back_different_places():
    corpus = corpus_of(dict.fromkeys("abcdefgh", 12))
    rows = make_rows(corpus, seconds([3] * 96), DROP)
    assert len(set(rows.dev % 12)) > 3


@pytest.mark.parametrize(
    ("counts", "length", "message"),
    [
        ({"a": 9}, 3, r"named, in crops of 3 s: 1 speakers to train on"),
        ({"a": 2, "b": 2}, 2, r"\(4 of 4 utterances are shorter and are left out\): 0 speakers"),
        ({"a": 2, "b": 2}, 3, r"2 rows to train on, fewer than a batch of 8; .*batch_size"),
        (dict.fromkeys("abcdefgh", 1), 3, r"no speaker has two utterances"),
    ],
)
def test_too_little_speech_is_told(counts, length, message):
    corpus = corpus_of(counts)
    with pytest.raises(VoicePrivacyError, match=message):
        make_rows(corpus, seconds([length] * len(corpus)), replace(DROP, batch_size=8))


def test_fewer_speakers_than_a_batch_are_enough():
    corpus = corpus_of({"a": 9, "b": 9})
    assert len(make_rows(corpus, seconds([3] * 18), replace(DROP, batch_size=16)).train) == 16


# -- the order of crops ------------------------------------------------------------------------


def test_an_epoch_hears_every_row_once_but_for_the_rest():
    rows = np.repeat(np.arange(11), 2)
    steps = list(itertools.islice(batches(rows, 5, seed=1), 8))
    for epoch in (0, 1):
        own = [draw for step in steps[4 * epoch : 4 * epoch + 4] for draw in step]
        assert {draw.epoch for draw in own} == {epoch}
        assert np.bincount([draw.utterance for draw in own], minlength=11).max() <= 2
        assert len(own) == 20
    first, second = ([d.utterance for d in s] for s in (steps[0], steps[4]))
    assert first != second


@pytest.mark.parametrize("first", [1, 3, 4, 5, 9])
def test_the_order_goes_on_where_it_was_left(first):
    rows = np.arange(22)
    whole = list(itertools.islice(batches(rows, 5, seed=1), 14))
    assert (
        list(itertools.islice(batches(rows, 5, seed=1, first=first), 14 - first)) == whole[first:]
    )


def test_crops_lie_anywhere():
    draws = [d for step in itertools.islice(batches(np.arange(64), 64, 2), 20) for d in step]
    places = np.array([draw.place for draw in draws])
    assert 0 <= places.min() < 0.01
    assert 0.99 < places.max() < 1
    assert abs(places.mean() - 0.5) < 0.03


def test_development_crops_are_always_the_same():
    assert fixed_crops(np.array([3, 3, 5]), 1) == fixed_crops(np.array([3, 3, 5]), 1)
    assert fixed_crops(np.array([3, 3]), 1)[0].place != fixed_crops(np.array([3, 3]), 1)[1].place
    assert {draw.epoch for draw in fixed_crops(np.array([3, 5]), 1)} == {0}


# -- crops -------------------------------------------------------------------------------------


def material(spoken, augmentation=None, **changes):
    corpus, found = spoken
    settings = replace(TINY, augmentation=augmentation or Augmentation(), **changes)
    return Material(corpus, found, settings)


def test_a_crop_is_a_piece_of_the_utterance(spoken):
    own = material(spoken)
    samples = spoken[0].audio(7)
    for place, start in ((0.0, 0), (0.999999, len(samples) - 8000), (0.5, None)):
        crop, label = own.speech[next(batches(np.array([7]), 1, 0))[0]._replace(place=place)]
        start = int(0.5 * (len(samples) - 8000 + 1)) if start is None else start
        assert crop.tolist() == samples[start : start + 8000].tolist()
        assert own.speech.speakers[label] == spoken[0].table["speaker"][7]


def test_a_short_utterance_is_repeated_until_a_crop_fits(spoken):
    own = material(spoken, crop_seconds=2.0)
    samples = spoken[0].audio(0)
    crop, _ = own.speech[fixed_crops(np.array([0]), 0)[0]]
    assert len(crop) == 32_000
    assert crop[: len(samples)].tolist() == samples.tolist()
    assert crop[len(samples) :].tolist() == samples[: 32_000 - len(samples)].tolist()


@pytest.mark.parametrize("concatenate", [True, False])
@pytest.mark.parametrize("boundaries", ["gapless", "tight"])
@pytest.mark.parametrize("strategy", ["none", "rr", "ar", "same", "reversed"])
def test_rows_are_counted_on_the_audio_as_trained(spoken, strategy, boundaries, concatenate):
    own = material(spoken, Augmentation(strategy, concatenate, boundaries))
    plain = np.array([len(spoken[0].audio(row)) for row in range(len(spoken[0]))])
    trained = [len(own.speech.augmented(row)) for row in range(len(plain))]
    assert own.speech.lengths(plain).tolist() == trained
    assert np.bincount([*own.rows.train, *own.rows.dev]).tolist() == [n // 8000 for n in trained]


def test_doubled_utterances_have_twice_the_rows(spoken):
    twice = material(spoken, Augmentation("rr", True))
    assert len(twice.rows.train) > 1.8 * len(material(spoken).rows.train)


def test_random_orders_stay_as_the_files_of_the_paper_unless_drawn_again(spoken):
    once = material(spoken, Augmentation("rr"))
    again = material(spoken, Augmentation("rr", redraw=True))
    other = material(spoken, Augmentation("rr"), seed=1)
    assert once.speech.augmented(3, 0).tolist() == once.speech.augmented(3, 5).tolist()
    assert once.speech.augmented(3, 0).tolist() == again.speech.augmented(3, 0).tolist()
    orders = {again.speech.augmented(3, epoch).tobytes() for epoch in range(9)}
    assert len(orders) > 3
    assert any(
        once.speech.augmented(row).tolist() != other.speech.augmented(row).tolist()
        for row in range(1, 9)
    )


# -- words -------------------------------------------------------------------------------------


def test_strategies_without_words_need_none(spoken):
    for strategy in ("none", "same", "reversed"):
        Material(spoken[0], None, replace(TINY, augmentation=Augmentation(strategy, True)))


def test_missing_words_are_told(spoken):
    rearranging = replace(TINY, augmentation=Augmentation("rr"))
    with pytest.raises(VoicePrivacyError, match=r"strategy rr rearranges words; give their times"):
        Material(spoken[0], None, rearranging)
    part = words(spoken[0].select(np.arange(27)))
    with pytest.raises(VoicePrivacyError, match=r"3 utterances of .* '1005-1-0002', '1005-1-0003'"):
        Material(spoken[0], part, rearranging)


def test_an_unreadable_file_is_named(spoken, tmp_path):
    table = spoken[0].table.copy()
    table.loc[4, "path"] = str(tmp_path / "gone.wav")
    with pytest.raises(VoicePrivacyError, match=r"gone\.wav cannot be read"):
        Material(Corpus("broken", table), None, TINY)
