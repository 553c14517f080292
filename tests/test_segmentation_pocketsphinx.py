"""PocketSphinx: frames become times, fillers gaps, and no utterance colours the next."""

import sys

import numpy as np
import pytest
from test_segmentation import save, tone

from voiceprivacy.corpora import read_folder
from voiceprivacy.errors import VoicePrivacyError
from voiceprivacy.segmentation import (
    Found,
    PocketSphinxRecogniser,
    Recogniser,
    segment,
    true_words,
)

pytest.importorskip("pocketsphinx", reason="the words extra is not installed")

from voiceprivacy._pocketsphinx import from_frames, spoken_words

RATE = 16_000
FRAMES = [
    ("<s>", 0, 2),
    ("and(2)", 3, 40),
    ("<sil>", 41, 90),
    ("[NOISE]", 91, 95),
    ("go", 96, 130),
    ("</s>", 131, 133),
]


@pytest.fixture(scope="module")
def speech(tmp_path_factory):
    pytest.importorskip("espeakng_loader", reason="the demo extra is not installed")
    from voiceprivacy.synthetic import speak

    folder = tmp_path_factory.mktemp("speech") / "corpus"
    return speak(folder, 2, 3), true_words(folder)


@pytest.fixture(scope="module")
def aligned(speech):
    corpus, truth = speech
    return PocketSphinxRecogniser({u: " ".join(truth.words(u)) for u in corpus.table["utterance"]})


@pytest.fixture(scope="module")
def free():
    return PocketSphinxRecogniser()


# -- frames ------------------------------------------------------------------------------------


def test_fillers_are_gaps_variants_words_and_last_frames_belong_to_them():
    found = from_frames(FRAMES, 100, round(1.34 * RATE))
    assert found == [Found("and", 0.03, 0.41), Found("go", 0.96, 1.31)]
    assert from_frames([("++NOISE++", 0, 3), ("(NULL)", 3, 3)], 100, RATE) == []
    assert from_frames([("don't", 0, 9)], 50, RATE) == [Found("don't", 0, 0.2)]


def test_what_was_put_before_the_utterance_is_taken_off():
    (found,) = from_frames([("go", 25, 49)], 100, RATE, lead=RATE // 4)
    assert (found.start, found.end) == (0.0, 0.25)


def test_times_past_the_clip_are_an_error_that_names_the_option():
    late = [*FRAMES[:4], ("go", 299_990, 300_000)]
    with pytest.raises(VoicePrivacyError, match=r"'go' at .* 3000.01 s of .*remove_silence=no"):
        from_frames(late, 100, 2 * RATE)
    assert from_frames([("go", 100, 224)], 100, 2 * RATE) == [Found("go", 1.0, 2.25)]


def test_a_transcript_becomes_the_words_of_the_dictionary():
    assert spoken_words("HE SAID: “Don’t -- stop!” 'twas L.A.") == [
        *("he", "said", "don't", "stop", "twas", "l", "a")
    ]
    assert spoken_words("  ... ") == []


# -- the recogniser ----------------------------------------------------------------------------


def test_alignment_finds_most_words_where_they_are(speech, aligned):
    corpus, truth = speech
    words = segment(corpus, aligned)
    errors = []
    for utterance in corpus.table["utterance"]:
        assert words.words(utterance) == truth.words(utterance)
        errors += list(words.spans(utterance)[:, 0] - truth.spans(utterance)[:, 0])
    assert np.median(np.abs(errors)) < 0.03 * RATE


@pytest.mark.parametrize(("mode", "seconds"), [("aligned", 9), ("free", 0.7)])
def test_words_depend_on_their_own_utterance_alone(speech, request, mode, seconds):
    corpus, _ = speech
    recogniser = request.getfixturevalue(mode)

    def find(k):
        return recogniser.find(
            corpus.audio(k)[: round(seconds * RATE)], corpus.table["utterance"][k]
        )

    alone = [find(k) for k in range(3)]
    assert alone[0]
    for k in (2, 0, 0, 1):
        assert find(k) == alone[k]


def test_words_that_the_dictionary_lacks_are_counted(speech, aligned):
    corpus, truth = speech
    utterance = corpus.table["utterance"][0]
    said = [*truth.words(utterance), "qzxqzx"]
    words = segment(corpus.select([0]), PocketSphinxRecogniser({utterance: " ".join(said)}))
    assert words.words(utterance) == truth.words(utterance)
    assert words.repairs[words.repairs["repair"] == "no time"]["word"].tolist() == ["qzxqzx"]
    unknown = segment(corpus.select([0]), PocketSphinxRecogniser({utterance: "Qzxqzx!"}))
    assert unknown.no_words["reason"].tolist() == ["nothing left"]
    empty = segment(corpus.select([0]), PocketSphinxRecogniser({utterance: ""}))
    assert empty.no_words["reason"].tolist() == ["nothing found"]


def test_words_after_the_place_where_alignment_gave_up_are_counted(speech, aligned):
    corpus, _ = speech
    utterance = corpus.table["utterance"][0]
    said = aligned.transcripts[utterance].split()
    found = aligned.find(np.random.default_rng(0).normal(0, 0.1, RATE), utterance)
    assert [word.word for word in found] == said
    assert np.isnan(found[-1].start)


def test_an_utterance_without_a_transcript_does_not_stop_the_others(speech, aligned):
    corpus, truth = speech
    first = corpus.table["utterance"][0]
    words = segment(corpus, PocketSphinxRecogniser({first: " ".join(truth.words(first))}))
    assert words.words(first) == truth.words(first)
    assert set(words.no_words["reason"]) == {"failed"}
    assert "has no transcript" in words.no_words["detail"][0]


def test_silence_noise_and_clips_shorter_than_a_frame_are_no_trouble(tmp_path, free, aligned):
    noise = np.random.default_rng(0).normal(0, 0.01, RATE)
    for name, samples in (("short", tone(seconds=0.005)), ("noise", noise), ("tone", tone())):
        save(tmp_path / "s" / f"{name}.wav", samples)
    corpus = read_folder(tmp_path)
    lacking = PocketSphinxRecogniser(dict.fromkeys(corpus.table["utterance"], "some words"))
    for recogniser in (free, lacking):
        words = segment(corpus, recogniser)
        assert "short" in set(words.no_words["utterance"])


def test_the_name_holds_all_that_changes_words(free, aligned):
    assert isinstance(free, Recogniser)
    assert free.name.startswith("PocketSphinx, free (pocketsphinx 5")
    texts = [{"u": "go"}, {"u": "went"}, {"v": "go"}]
    names = {PocketSphinxRecogniser(text).name for text in texts} | {free.name, aligned.name}
    assert len(names) == 5


def test_a_missing_package_is_named_with_what_would_do_instead(monkeypatch):
    monkeypatch.setitem(sys.modules, "pocketsphinx", None)
    with pytest.raises(VoicePrivacyError, match=r"package pocketsphinx; .*\[words\].*packaged"):
        PocketSphinxRecogniser()
