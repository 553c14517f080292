"""Subsets A and B: by the authors' lists, and by their rule, in hand-worked miniatures."""

import numpy as np
import pandas as pd
import pytest

from voiceprivacy.corpora import COLUMNS, Corpus
from voiceprivacy.errors import VoicePrivacyError
from voiceprivacy.speakers import read_speakers
from voiceprivacy.subsets import (
    PUBLISHED,
    read_list,
    sizes,
    subsets_by_rule,
    subsets_from_lists,
    write_list,
)

# Seconds of every utterance, by name.
SPOKEN = {
    "ann": [100, 20, 90, 90, 50],  # A takes 2, B the next 2
    "bob": [60, 60, 179.999],  # reaches A's 120 exactly, and misses B by a millisecond
    "cid": [119.999],  # misses A by a millisecond
    "dan": [300, 300, 300],  # one utterance is more than enough each
}


def corpus_of(spoken, name="cv"):
    rows = [
        (f"{speaker}_{n}", speaker, f"/clips/{speaker}_{n}.mp3", np.nan, np.nan)
        for speaker, seconds in spoken.items()
        for n in range(len(seconds))
    ]
    return Corpus(name, pd.DataFrame(rows, columns=COLUMNS))


def durations_of(spoken):
    return {f"{s}_{n}": t for s, seconds in spoken.items() for n, t in enumerate(seconds)}


def ids(corpus):
    return corpus.table["utterance"].tolist()


CORPUS, DURATIONS = corpus_of(SPOKEN), durations_of(SPOKEN)


# -- by the rule -------------------------------------------------------------------------------


def test_the_rule_by_hand():
    a, b = subsets_by_rule(CORPUS, DURATIONS)
    assert ids(a) == ["dan_0", "ann_0", "ann_1", "bob_0", "bob_1"]
    assert ids(b) == ["dan_1", "ann_2", "ann_3"]
    assert (a.name, b.name) == ("cv A", "cv B")


def test_the_order_of_the_corpus_and_of_durations_does_not_matter():
    turned = CORPUS.select(np.arange(len(CORPUS))[::-1])
    seconds = pd.Series(DURATIONS).sample(frac=1, random_state=0)
    for one, other in zip(
        subsets_by_rule(CORPUS, DURATIONS), subsets_by_rule(turned, seconds), strict=True
    ):
        assert ids(one) == ids(other)


def test_names_are_compared_as_text_and_equal_speakers_by_id():
    spoken = {"zoe": [12.0] * 12, "amy": [12.0] * 12}
    a, b = subsets_by_rule(corpus_of(spoken), durations_of(spoken), 24, 12)
    assert ids(a) == ["amy_0", "amy_1", "zoe_0", "zoe_1"]
    assert ids(b) == ["amy_10", "zoe_10"]


def test_sums_are_exact():
    """Ten times 0.1 is less than 1 in floating point."""
    spoken = {"ann": [0.1] * 20}
    a, b = subsets_by_rule(corpus_of(spoken), durations_of(spoken), 1.0, 1.0)
    assert (len(a), len(b)) == (10, 10)


def test_most_speakers():
    a, b = subsets_by_rule(CORPUS, DURATIONS, most_a=2, most_b=1)
    assert a.table["speaker"].unique().tolist() == ["dan", "ann"]
    assert b.table["speaker"].unique().tolist() == ["dan"]


def test_all_the_rest_in_b():
    _, b = subsets_by_rule(CORPUS, DURATIONS, whole_rest=True)
    assert ids(b) == ["dan_1", "dan_2", "ann_2", "ann_3", "ann_4"]


def test_subsets_keep_their_promises():
    """On random speech: minimum reached, not by one utterance too many, nothing shared."""
    random = np.random.default_rng(0)
    spoken = {f"s{n}": random.uniform(1, 15, random.integers(1, 60)) for n in range(80)}
    seconds = pd.Series(durations_of(spoken)).round(3)
    corpus = corpus_of(spoken)
    a, b = subsets_by_rule(corpus, seconds)
    assert not set(ids(a)) & set(ids(b))
    assert set(b.table["speaker"]) < set(a.table["speaker"])
    for subset, minimum in ((a, 120), (b, 180)):
        by_speaker = seconds[ids(subset)].groupby(subset.table["speaker"].to_numpy())
        assert (by_speaker.sum() >= minimum - 1e-9).all()
        assert (by_speaker.sum() - by_speaker.last() < minimum).all()
    total = seconds.groupby(corpus.table.set_index("utterance")["speaker"]).sum()
    assert set(a.table["speaker"]) == set(total.index[total >= 120])


def test_durations_must_be_there():
    for wrong in ({**DURATIONS, "bob_1": np.nan}, {**DURATIONS, "bob_1": -1.0}):
        with pytest.raises(
            VoicePrivacyError, match=r"1 of 12 utterances have no duration.*'bob_1'"
        ):
            subsets_by_rule(CORPUS, wrong)
    with pytest.raises(VoicePrivacyError, match="12 of 12 utterances have no duration"):
        subsets_by_rule(CORPUS, {})


def test_empty_subsets_are_refused():
    with pytest.raises(VoicePrivacyError, match=r"no speaker has the 1000 s that A.*has 900 s"):
        subsets_by_rule(CORPUS, DURATIONS, 1000)
    with pytest.raises(VoicePrivacyError, match=r"no speaker has the 700 s that B.*beside what A"):
        subsets_by_rule(CORPUS, DURATIONS, 120, 700)


# -- by lists ----------------------------------------------------------------------------------


@pytest.fixture
def lists(tmp_path):
    def write(a, b):
        for name, lines in (("A", a), ("B", b)):
            (tmp_path / name).write_text("".join(f"{line}\n" for line in lines))
        return tmp_path / "A", tmp_path / "B"

    return write


def test_only_names_of_files_count(lists):
    a, b = subsets_from_lists(
        CORPUS,
        *lists(
            ["/data/cv11/en/clips/dan_2.mp3", r"C:\clips\ann_0.MP3", "bob_1", "", "  ann_1.wav "],
            ["/elsewhere/ann_3.mp3"],
        ),
    )
    assert ids(a) == ["dan_2", "ann_0", "bob_1", "ann_1"]
    assert ids(b) == ["ann_3"]
    assert a.table["path"][0] == "/clips/dan_2.mp3"
    assert len(a.skipped) == len(b.skipped) == len(b.notes) == 0


def test_utterances_that_are_not_there(lists):
    given = lists(["ann_0", "ann_9", "eve_0"], ["ann_2"])
    with pytest.raises(VoicePrivacyError, match=r"cv lacks 2 of the 3 .*'ann_9', 'eve_0'.*drop"):
        subsets_from_lists(CORPUS, *given)
    a, b = subsets_from_lists(CORPUS, *given, missing="drop")
    assert ids(a) == ["ann_0"]
    assert a.skipped[["utterance", "path", "reason"]].to_numpy().tolist() == [
        ["ann_9", str(given[0]), "not in corpus"],
        ["eve_0", str(given[0]), "not in corpus"],
    ]
    assert len(b.skipped) == 0
    with pytest.raises(VoicePrivacyError, match="expected 'error' or 'drop'"):
        subsets_from_lists(CORPUS, *given, missing="keep")


def test_lists_of_another_corpus_are_refused_whatever_is_asked(lists):
    with pytest.raises(VoicePrivacyError, match="lacks 1 of the 1"):
        subsets_from_lists(CORPUS, *lists(["eve_0"], ["ann_0"]), missing="drop")


def test_shared_utterances_are_refused_and_strangers_noted(lists):
    with pytest.raises(VoicePrivacyError, match="share 1 utterances: 'ann_0'"):
        subsets_from_lists(CORPUS, *lists(["ann_0", "bob_0"], ["x/ann_0.mp3"]))
    _, b = subsets_from_lists(CORPUS, *lists(["ann_0"], ["ann_1", "bob_0"]))
    assert b.notes[["utterance", "reason"]].to_numpy().tolist() == [["bob_0", "speaker not in A"]]


def test_what_is_written_is_read(tmp_path):
    drawn = subsets_by_rule(CORPUS, DURATIONS)
    for name, subset in zip("AB", drawn, strict=True):
        write_list(tmp_path / name, subset)
    assert (tmp_path / "B").read_bytes() == b"dan_1\nann_2\nann_3\n"
    assert read_list(tmp_path / "A") == ids(drawn[0])
    again = subsets_from_lists(CORPUS, tmp_path / "A", tmp_path / "B")
    for one, other in zip(drawn, again, strict=True):
        pd.testing.assert_frame_equal(one.table, other.table)


@pytest.mark.parametrize("name", ["a/b", "a.mp3", " a", "a\nb", ""])
def test_ids_that_a_list_would_change_are_refused(tmp_path, name):
    corpus = Corpus("cv", pd.DataFrame({"utterance": ["fine.1", name]}))
    with pytest.raises(VoicePrivacyError, match="1 utterance ids cannot stand in a list"):
        write_list(tmp_path / "A", corpus)
    assert not (tmp_path / "A").exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\n \n", "lists no utterance"),
        (b"x/a.mp3\ny/a.mp3\nb\n", "1 utterances are listed more than once: 'a'"),
        (b"\xff\xfe", "not UTF-8"),
        (None, "no such list"),
    ],
)
def test_lists_that_cannot_be_read(tmp_path, content, message):
    path = tmp_path / "A"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(VoicePrivacyError, match=message):
        read_list(path)


# -- sizes -------------------------------------------------------------------------------------


def test_sizes():
    genders = {"ann": "female", "bob": "male", "cid": "male", "dan": ""}
    speakers = pd.DataFrame({"speaker": genders.keys(), "gender": genders.values()})
    a, b = subsets_by_rule(CORPUS, DURATIONS)
    found = sizes(a, b, speakers, DURATIONS)
    assert found.columns.equals(PUBLISHED.columns)
    assert found.loc["A"].tolist() == [3, 1, 1, 5, 540 / 3600]
    assert found.loc["B"].tolist() == [2, 1, 0, 3, 480 / 3600]
    assert sizes(a, b)[["women", "men", "hours"]].isna().all(axis=None)


def test_published_sizes_are_those_of_the_authors_lists(shared_data):
    folder = shared_data("side_information_authors")
    people = {name: read_speakers(folder / f"cv11_{name}.spk2gender") for name in "AB"}
    spoken = {name: {key: [1.0] for key in table["speaker"]} for name, table in people.items()}
    found = sizes(corpus_of(spoken["A"]), corpus_of(spoken["B"]), people["A"])
    counted = ["speakers", "women", "men"]
    assert found[counted].to_numpy().tolist() == PUBLISHED[counted].to_numpy().tolist()
    assert set(people["B"]["speaker"]) < set(people["A"]["speaker"])
    both = people["B"].merge(people["A"], on="speaker")
    assert both["gender_x"].equals(both["gender_y"])
