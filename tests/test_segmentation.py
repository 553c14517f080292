"""Words belong to their utterances, and nothing stops a run that finds them."""

import numpy as np
import pandas as pd
import pytest
from test_segmentation_repairs import timed

from voiceprivacy.corpora import read_folder
from voiceprivacy.errors import VoicePrivacyError
from voiceprivacy.segmentation import (
    Found,
    Recogniser,
    Segmentation,
    segment,
    true_words,
)

soundfile = pytest.importorskip("soundfile", reason="the speech extra is not installed")

RATE = 16_000


class Stub:
    """Finds what it was told, or words where the sound is; counts how often it is asked."""

    def __init__(self, found=None, name="stub-1", fail_after=np.inf):
        self.found, self.name, self.asked, self.fail_after = found, name, [], fail_after

    def find(self, samples, utterance):
        assert samples.dtype == np.float32
        assert samples.ndim == 1
        if len(self.asked) >= self.fail_after:
            raise KeyboardInterrupt
        self.asked.append(utterance)
        if self.found is not None:
            return self.found(samples, utterance) if callable(self.found) else iter(self.found)
        half = len(samples) / RATE / 2
        return [Found(f"{abs(samples).sum():.3f}", 0.0, half, 0.5), Found("b", half, 2 * half)]


def save(path, samples, rate=RATE):
    path.parent.mkdir(parents=True, exist_ok=True)
    soundfile.write(path, samples, rate)


def tone(frequency=200, seconds=1.0, rate=RATE):
    return 0.3 * np.sin(2 * np.pi * frequency * np.arange(round(seconds * rate)) / rate)


@pytest.fixture
def corpus(tmp_path):
    for k in range(4):
        save(tmp_path / "in" / f"s{k % 2}" / f"u{k}.wav", tone(150 + 40 * k, 1 + k / 4))
    return read_folder(tmp_path / "in")


# -- the words of a corpus ---------------------------------------------------------------------


def table(*rows):
    columns = ["utterance", "word", "start", "end"]
    return pd.DataFrame(rows, columns=columns).astype({"start": np.int64, "end": np.int64})


def test_words_are_found_by_utterance():
    words = Segmentation(
        "me",
        table(("u2", "go", 5, 9), ("u1", "on", 0, 3), ("u2", "", 9, 12)),
        no_words=pd.DataFrame({"utterance": ["u3"], "reason": ["silent"], "detail": [""]}),
    )
    assert words.spans("u2").tolist() == [[5, 9], [9, 12]]
    assert words.words("u2") == ["go", ""]
    assert words.spans("u3").shape == (0, 2)
    assert words.spans("u3").dtype == np.int64
    assert words.words("u3") == []
    assert sorted(words.utterances) == ["u1", "u2", "u3"]
    with pytest.raises(VoicePrivacyError, match=r"words of me know no utterance 'u4'; they have 3"):
        words.spans("u4")


def test_words_of_some_utterances_are_theirs():
    without = pd.DataFrame({"utterance": ["c"], "reason": ["silent"], "detail": [""]})
    mended = pd.DataFrame({"utterance": ["a"], "word": ["x"], "repair": ["loop"], "detail": [""]})
    all_words = table(("a", "x", 0, 3), ("b", "y", 2, 4))
    some = Segmentation("me", all_words, mended, without).select(["c", "b"])
    assert sorted(some.utterances) == ["b", "c"]
    assert some.spans("b").tolist() == [[2, 4]]
    assert len(some.repairs) == 0
    with pytest.raises(VoicePrivacyError, match="know no utterance 'a'"):
        some.select(["a"])


@pytest.mark.parametrize(
    "rows",
    [
        [("u", "a", 5, 5)],
        [("u", "a", 5, 4)],
        [("u", "a", -1, 4)],
        [("u", "a", 0, 5), ("u", "b", 4, 8)],
        [("u", "a", 6, 8), ("v", "x", 0, 4), ("u", "b", 0, 4)],
    ],
)
def test_impossible_words_are_refused(rows):
    with pytest.raises(VoicePrivacyError, match=r"words of me: 1 spans are impossible"):
        Segmentation("me", table(*rows))


def test_words_that_are_no_samples_or_stand_in_both_tables_are_refused():
    with pytest.raises(VoicePrivacyError, match="start is float64; expected samples"):
        Segmentation("me", table(("u", "a", 0, 4)).astype({"start": float}))
    without = pd.DataFrame({"utterance": ["u"], "reason": ["silent"], "detail": [""]})
    with pytest.raises(VoicePrivacyError, match="'u' are listed without words, but have some"):
        Segmentation("me", table(("u", "a", 0, 4)), no_words=without)


def test_stretched_words_fit_the_stretched_sound():
    words = Segmentation(
        "me",
        table(("u", "a", 0, 101), ("u", "b", 101, 103), ("u", "c", 300, 400), ("v", "d", 90, 99)),
        no_words=pd.DataFrame({"utterance": ["w"], "reason": ["silent"], "detail": [""]}),
    )
    factors = {"u": 0.5, "v": 1.0, "w": 2.0}
    slow = words.scaled(factors, {"u": 149, "v": 50, "w": 7})
    assert slow.spans("u").tolist() == [[0, 50], [50, 52]]
    assert slow.words("u") == ["a", "b"]
    assert slow.counts().to_dict() == {"outside": 2}
    assert dict(zip(slow.no_words["utterance"], slow.no_words["reason"], strict=True)) == {
        "w": "silent",
        "v": "nothing left",
    }
    same = words.scaled(dict.fromkeys("uvw", 1.0), dict.fromkeys("uvw", 1000))
    pd.testing.assert_frame_equal(same.table.sort_values("start"), words.table.sort_values("start"))


@pytest.mark.parametrize(
    ("factors", "message"),
    [({}, "'u' has no time factor"), ({"u": 0}, "time factor 0.0"), ({"u": np.nan}, "factor nan")],
)
def test_words_are_not_stretched_by_nothing(factors, message):
    words = Segmentation("me", table(("u", "a", 0, 4)))
    with pytest.raises(VoicePrivacyError, match=message):
        words.scaled(factors, {"u": 9})


def test_true_words_are_those_spoken(tmp_path):
    rows = "u1,null,0,800\nu1,go,900,1600\n"
    (tmp_path / "words.csv").write_text(f"utterance,word,start_sample,end_sample\n{rows}")
    words = true_words(tmp_path)
    assert words.words("u1") == ["null", "go"]
    assert words.spans("u1").tolist() == [[0, 800], [900, 1600]]
    (tmp_path / "words.csv").write_text(f"utterance,word,start,end\n{rows}")
    with pytest.raises(VoicePrivacyError, match=r"words.csv has columns .* expected"):
        true_words(tmp_path)
    with pytest.raises(VoicePrivacyError, match="true words are known only of a folder that"):
        true_words(tmp_path / "elsewhere")


# -- the loop over a corpus --------------------------------------------------------------------


def test_every_utterance_is_heard_once(corpus):
    stub = Stub()
    words = segment(corpus, stub)
    assert isinstance(stub, Recogniser)
    assert stub.asked == corpus.table["utterance"].tolist()
    assert words.name == "stub-1"
    assert len(words.table) == 8
    assert words.spans("u1").tolist() == [[0, 10_000], [10_000, 20_000]]


def test_neither_order_nor_company_changes_words(corpus):
    straight = segment(corpus, Stub())
    for rows in ([3, 1, 0, 2], [2, 0]):
        other = segment(corpus.select(rows), Stub())
        for utterance in other.utterances:
            assert other.words(utterance) == straight.words(utterance)
            np.testing.assert_array_equal(other.spans(utterance), straight.spans(utterance))


def test_what_was_found_is_kept(corpus, tmp_path):
    first, again, grown = Stub(), Stub(), Stub()
    store = tmp_path / "store"
    a = segment(corpus.select([0, 2]), first, store=store)
    segment(corpus.select([2, 0]), again, store=store)
    b = segment(corpus, grown, store=store)
    assert (len(first.asked), again.asked, grown.asked) == (2, [], ["u1", "u3"])
    for utterance in a.utterances:
        np.testing.assert_array_equal(a.spans(utterance), b.spans(utterance))
    pd.testing.assert_frame_equal(segment(corpus, Stub()).table, b.table)


def test_words_are_found_again_when_the_sound_or_the_recogniser_changes(corpus, tmp_path):
    store = tmp_path / "store"
    segment(corpus, Stub(), store=store)
    other = Stub(name="stub-1, beam 2")
    segment(corpus, other, store=store)
    assert len(other.asked) == 4
    save(tmp_path / "in" / "s1" / "u1.wav", tone(300, 1.25))
    changed = Stub()
    segment(corpus, changed, store=store)
    assert changed.asked == ["u1"]


def test_a_stopped_run_goes_on(corpus, tmp_path):
    with pytest.raises(KeyboardInterrupt):
        segment(corpus, Stub(fail_after=3), store=tmp_path / "store")
    rest = Stub()
    words = segment(corpus, rest, store=tmp_path / "store")
    assert rest.asked == ["u3"]
    pd.testing.assert_frame_equal(words.table, segment(corpus, Stub()).table)


def test_what_is_not_told_is_kept_as_not_told(corpus, tmp_path):
    found = [Found("a", 0.0, 0.5, None, 0.9), Found("b", 0.5, 0.9, 0.8), Found("c", np.nan, 1)]
    for _ in range(2):
        words = segment(corpus.select([0]), Stub(found), store=tmp_path / "store")
        assert words.words("u0") == ["b"]
        assert words.counts().to_dict() == {"no time": 1, "no speech": 1}


def test_silence_is_not_asked_about_and_noise_yields_no_words(tmp_path):
    rng = np.random.default_rng(0)
    save(tmp_path / "in" / "s" / "zeros.wav", np.zeros(5 * RATE))
    save(tmp_path / "in" / "s" / "faint.wav", rng.normal(0, 2e-4, 5 * RATE))
    save(tmp_path / "in" / "s" / "noise.wav", rng.normal(0, 5e-3, 5 * RATE))
    save(tmp_path / "in" / "s" / "speech.wav", tone(seconds=5))

    def found(samples, utterance):
        if utterance == "speech":
            return timed("only this", no_speech=0.1)
        closing = timed("thanks for watching all", no_speech=0.9)
        return (word for word in [*closing, *timed("you " * 30, 0.5)])

    stub = Stub(found)
    words = segment(read_folder(tmp_path / "in"), stub)
    assert stub.asked == ["noise", "speech"]
    assert dict(zip(words.no_words["utterance"], words.no_words["reason"], strict=True)) == {
        "faint": "silent",
        "noise": "nothing left",
        "zeros": "silent",
    }
    assert words.counts().to_dict() == {"loop": 30, "no speech": 4}
    assert words.table["utterance"].unique().tolist() == ["speech"]


@pytest.mark.parametrize("nothing", [None, (), [], iter(())])
def test_an_utterance_in_which_nothing_is_found_has_no_words(corpus, nothing):
    words = segment(corpus.select([1]), Stub(lambda samples, utterance: nothing))
    assert words.no_words.to_numpy().tolist() == [["u1", "nothing found", "0 words found"]]
    assert words.spans("u1").shape == (0, 2)


def test_one_word_is_a_word(corpus):
    words = segment(corpus.select([0]), Stub([Found("yes", 0.2, 0.7)]))
    assert words.spans("u0").tolist() == [[3200, 11_200]]


def test_no_utterance_stops_the_run(corpus, tmp_path):
    (tmp_path / "in" / "s0" / "u0.wav").write_bytes(b"RIFF")

    def found(samples, utterance):
        if utterance == "u1":
            raise RuntimeError("out of memory")
        return timed("a b")

    words = segment(corpus, Stub(found), store=tmp_path / "store")
    assert words.table["utterance"].unique().tolist() == ["u2", "u3"]
    assert words.no_words["reason"].tolist() == ["unreadable", "failed"]
    assert words.no_words["detail"][1] == "RuntimeError: out of memory"
    mended = Stub()
    segment(corpus.select([1]), mended, store=tmp_path / "store")
    assert mended.asked == ["u1"]


def test_a_recogniser_that_only_fails_is_told(corpus):
    def found(samples, utterance):
        raise RuntimeError("no kernel image")

    with pytest.raises(VoicePrivacyError, match=r"stub-1 failed on all 4 .*no kernel image"):
        segment(corpus, Stub(found))


def test_recognisers_hear_one_sound_whatever_the_file(tmp_path):
    clip = np.clip(8 * tone(seconds=2.0, rate=48_000), -1, 1)
    save(tmp_path / "s" / "a.wav", tone(seconds=2.0))
    save(tmp_path / "s" / "b.wav", clip, 48_000)
    save(tmp_path / "s" / "c.wav", np.stack([tone(seconds=2.0, rate=44_100)] * 2, 1), 44_100)
    save(tmp_path / "s" / "d.wav", tone(seconds=2.0, rate=8000), 8000)
    save(tmp_path / "s" / "short.wav", tone(seconds=0.005))
    corpus = read_folder(tmp_path)
    words = segment(corpus, Stub())
    for utterance in "abcd":
        np.testing.assert_array_equal(words.spans(utterance), [[0, RATE], [RATE, 2 * RATE]])
    assert words.counts().to_dict() == {"too short": 2}
    assert words.no_words[["utterance", "reason"]].to_numpy().tolist() == [
        ["short", "nothing left"]
    ]
    assert corpus.notes["utterance"].tolist() == ["d"]
