"""Augmenting a folder: repeatable whatever the order, workers and neighbours; resumed; honest."""

import numpy as np
import pandas as pd
import pytest

from voiceprivacy._words import NO_WORDS_COLUMNS, report, word_table
from voiceprivacy.augment import augment
from voiceprivacy.corpora import Utterance, read_folder
from voiceprivacy.errors import VoicePrivacyError
from voiceprivacy.segmentation import Segmentation
from voiceprivacy.segreconcat import SegReConcat

soundfile = pytest.importorskip("soundfile")
RATE = 16_000


def speech(folder, n_utterances=10, n_words=5):
    """Write an utterance of noise for each of two speakers in turn; return it with its words."""
    rows = []
    for u in range(n_utterances):
        rng = np.random.default_rng([7, u])
        path = folder / f"s{u % 2}" / f"u{u:02d}.flac"
        path.parent.mkdir(parents=True, exist_ok=True)
        soundfile.write(path, 0.1 * rng.standard_normal(RATE // 2), RATE)
        cuts = np.sort(rng.choice(np.arange(1, RATE // 2), 2 * n_words, replace=False))
        rows += [(path.stem, "", *span) for span in cuts.reshape(-1, 2).tolist()]
    return read_folder(folder), Segmentation("drawn", word_table(rows))


def with_spans(words, utterance, spans):
    """The same words, but those of one utterance."""
    rows = words.table[words.table["utterance"] != utterance].to_numpy().tolist()
    rows += [(utterance, "", *span) for span in spans]
    none = [] if spans else [(utterance, "nothing found", "")]
    return Segmentation("drawn", word_table(rows), no_words=report(none, NO_WORDS_COLUMNS))


def bytes_below(folder):
    return {p.relative_to(folder): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


@pytest.mark.parametrize("strategy", ["rr", "ar"])
def test_same_bytes_for_any_workers_and_any_order_of_files(tmp_path, strategy):
    corpus, words = speech(tmp_path / "in")
    shuffled = corpus.select(np.random.default_rng(0).permutation(len(corpus)))
    made = {}
    for name, source, workers in (
        ("one", corpus, 1),
        ("again", corpus, 1),
        ("three", corpus, 3),
        ("shuffled", shuffled, 2),
    ):
        augment(source, words, SegReConcat(strategy, seed=1), tmp_path / name, workers=workers)
        made[name] = bytes_below(tmp_path / name)
    assert len(made["one"]) == 10 + 2
    assert made["one"] == made["again"] == made["three"] == made["shuffled"]


def test_an_eleventh_file_changes_none_of_the_first_ten(tmp_path):
    augment(*speech(tmp_path / "in"), SegReConcat("rr"), tmp_path / "ten")
    augment(*speech(tmp_path / "in", 11), SegReConcat("rr"), tmp_path / "eleven")
    ten, eleven = bytes_below(tmp_path / "ten"), bytes_below(tmp_path / "eleven")
    for path, content in ten.items():
        if path.suffix == ".flac":
            assert eleven[path] == content
    rows = [(tmp_path / name / "utterances.csv").read_text() for name in ("ten", "eleven")]
    assert rows[1].startswith(rows[0])
    assert len(eleven) == len(ten) + 1


def test_another_seed_gives_other_bytes(tmp_path):
    corpus, words = speech(tmp_path / "in", 2)
    for seed in (0, 1):
        augment(corpus, words, SegReConcat("rr", seed=seed), tmp_path / f"{seed}")
    made = [bytes_below(tmp_path / f"{seed}") for seed in (0, 1)]
    assert all(made[0][path] != made[1][path] for path in made[0] if path.suffix == ".flac")


def test_files_hold_the_utterance_and_then_its_words_in_the_order_that_is_told(tmp_path):
    corpus, words = speech(tmp_path / "in")
    out = augment(corpus, words, SegReConcat("rr"), tmp_path / "out")
    assert out.table["utterance"].tolist() == corpus.table["utterance"].tolist()
    assert out.table["speaker"].tolist() == corpus.table["speaker"].tolist()
    told = pd.read_csv(tmp_path / "out" / "utterances.csv", dtype=str).set_index("utterance")
    assert (told["words"] == "5").all()
    assert (told["seconds"] == "1.0").all()
    for row, utterance in enumerate(corpus.table["utterance"]):
        before, after = corpus.audio(row), out.audio(row)
        spans = words.spans(utterance)
        ends = [*spans[1:, 0], len(before)]
        order = [int(k) for k in told.loc[utterance, "order"].split()]
        parts = [before, before[: spans[0, 0]]]
        parts += [before[spans[k, 0] : ends[k]] for k in order]
        assert (after == np.concatenate(parts)).all()


def test_the_result_reads_as_a_folder_of_the_same_speakers(tmp_path):
    corpus, words = speech(tmp_path / "in")
    augment(corpus, words, SegReConcat("rr"), tmp_path / "out")
    again = read_folder(tmp_path / "out").table
    assert again[["utterance", "speaker"]].equals(corpus.table[["utterance", "speaker"]])


def test_a_stopped_run_goes_on(tmp_path, monkeypatch):
    corpus, words = speech(tmp_path / "in")
    augment(corpus, words, SegReConcat("rr"), tmp_path / "whole")
    heard, real = [], Utterance.samples

    def samples(self):
        if len(heard) == 4:
            heard.append(None)
            raise KeyboardInterrupt
        heard.append(self.utterance)
        return real(self)

    monkeypatch.setattr(Utterance, "samples", samples)
    with pytest.raises(KeyboardInterrupt):
        augment(corpus, words, SegReConcat("rr"), tmp_path / "out")
    assert not (tmp_path / "out" / "utterances.csv").exists()
    augment(corpus, words, SegReConcat("rr"), tmp_path / "out")
    heard.remove(None)
    assert sorted(heard) == corpus.table["utterance"].tolist()
    assert bytes_below(tmp_path / "out") == bytes_below(tmp_path / "whole")


def test_what_changed_is_made_again(tmp_path):
    corpus, words = speech(tmp_path / "in")
    augment(corpus, words, SegReConcat("rr"), tmp_path / "out")
    before = bytes_below(tmp_path / "out")
    changed = with_spans(words, "u03", [(0, 100), (100, 3000), (3000, 5000)])
    augment(corpus, changed, SegReConcat("rr"), tmp_path / "out")
    after = bytes_below(tmp_path / "out")
    differing = {path.name for path in before if before[path] != after[path]}
    assert differing == {"u03.flac", "utterances.csv"}


@pytest.mark.parametrize(
    ("changed", "method"), [("augmentation", SegReConcat("ar")), ("words", SegReConcat("rr"))]
)
def test_the_output_of_another_run_is_not_mixed_with_this_one(tmp_path, changed, method):
    corpus, words = speech(tmp_path / "in", 2)
    augment(corpus, words, SegReConcat("rr"), tmp_path / "out")
    if changed == "words":
        words = Segmentation("others", words.table)
    with pytest.raises(VoicePrivacyError, match=rf"another run \(different: {changed}\)"):
        augment(corpus, words, method, tmp_path / "out")


@pytest.mark.parametrize("place", ["in", ".", "in/s0"])
def test_a_folder_that_is_read_is_not_written_to(tmp_path, place):
    corpus, words = speech(tmp_path / "in", 2)
    before = bytes_below(tmp_path)
    with pytest.raises(VoicePrivacyError, match=r"to be read.*another folder"):
        augment(corpus, words, SegReConcat("rr"), tmp_path / place)
    assert bytes_below(tmp_path) == before


def test_a_folder_with_other_files_is_refused(tmp_path):
    corpus, words = speech(tmp_path / "in", 2)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.tex").write_text("mine")
    with pytest.raises(VoicePrivacyError, match="out holds other files"):
        augment(corpus, words, SegReConcat("rr"), tmp_path / "out")


def test_a_corrupt_file_is_reported_with_its_path_and_the_rest_is_done(tmp_path):
    corpus, words = speech(tmp_path / "in")
    bad = tmp_path / "in" / "s1" / "u03.flac"
    bad.write_bytes(bad.read_bytes()[:100] + b"\0" * 500)
    out = augment(corpus, words, SegReConcat("rr"), tmp_path / "out")
    assert out.skipped[["utterance", "path", "reason"]].to_numpy().tolist() == [
        ["u03", str(bad), "unreadable"]
    ]
    assert str(bad) in out.skipped["detail"][0]
    assert len(out) == 9
    assert "u03" not in (tmp_path / "out" / "utterances.csv").read_text()


def test_words_of_other_audio_are_reported_and_the_rest_is_done(tmp_path):
    corpus, words = speech(tmp_path / "in")
    words = with_spans(words, "u01", [(0, 100), (100, RATE)])
    out = augment(corpus, words, SegReConcat("rr"), tmp_path / "out")
    assert out.skipped[["utterance", "reason"]].to_numpy().tolist() == [["u01", "words outside"]]
    assert "within 8000 samples" in out.skipped["detail"][0]


def test_nothing_to_augment_is_an_error(tmp_path):
    corpus, words = speech(tmp_path / "in", 1)
    (tmp_path / "in" / "s0" / "u00.flac").unlink()
    with pytest.raises(VoicePrivacyError, match=r"nothing was augmented.*u00\.flac"):
        augment(corpus, words, SegReConcat("rr"), tmp_path / "out")


def test_words_must_be_those_of_the_corpus(tmp_path):
    corpus, _ = speech(tmp_path / "in", 3)
    _, words = speech(tmp_path / "in", 2)
    with pytest.raises(VoicePrivacyError, match="nothing about 1 of 3 utterances: 'u02'"):
        augment(corpus, words, SegReConcat("rr"), tmp_path / "out")


@pytest.mark.parametrize(("spans", "note"), [([], "no words"), ([(10, 20)], "one word")])
@pytest.mark.parametrize("strategy", ["rr", "ar", "sr"])
def test_too_few_words_are_noted_and_the_utterance_stands_twice(tmp_path, strategy, spans, note):
    corpus, words = speech(tmp_path / "in", 1)
    words = with_spans(words, "u00", spans)
    method = SegReConcat(strategy, boundaries="tight")
    out = augment(corpus, words, method, tmp_path / "out")
    assert out.notes[["utterance", "reason"]].to_numpy().tolist() == [["u00", note]]
    assert (out.audio(0) == np.tile(corpus.audio(0), 2)).all()
    told = pd.read_csv(tmp_path / "out" / "utterances.csv", keep_default_na=False)
    assert told.loc[0, ["words", "note"]].tolist() == [len(spans), note]


def test_samples_beyond_full_scale_are_cut_and_noted(tmp_path):
    _, words = speech(tmp_path / "in", 1)
    loud = tmp_path / "in" / "s0" / "u00.flac"
    samples, _ = soundfile.read(loud)
    loud.unlink()
    soundfile.write(loud.with_suffix(".wav"), samples * 20, RATE, subtype="FLOAT")
    out = augment(read_folder(tmp_path / "in"), words, SegReConcat("rr"), tmp_path / "out")
    assert out.notes["reason"].tolist() == ["clipped"]
    heard = out.audio(0)
    assert 0.99 < heard.max() <= 1
    assert -1 <= heard.min() < -0.99


def test_other_rates_and_stereo_come_out_at_16_khz_mono(tmp_path):
    corpus, words = speech(tmp_path / "in", 1)
    path = tmp_path / "in" / "s0" / "u00.flac"
    stereo = 0.1 * np.random.default_rng(0).standard_normal((22_050, 2))
    soundfile.write(path, stereo, 44_100)
    out = augment(corpus, words, SegReConcat("rr"), tmp_path / "out")
    info = soundfile.info(out.table["path"][0])
    assert (info.samplerate, info.channels, info.frames) == (RATE, 1, RATE)


def test_two_utterances_do_not_become_one_file(tmp_path):
    corpus, words = speech(tmp_path / "in", 2)
    table = corpus.table.assign(utterance=["s/u", "u"], speaker="s")
    words = Segmentation("me", words.table.replace({"utterance": {"u00": "s/u", "u01": "u"}}))
    with pytest.raises(VoicePrivacyError, match="two utterances would be written"):
        augment(type(corpus)("c", table), words, SegReConcat("rr"), tmp_path / "out")


def test_ids_that_leave_the_folder_are_refused(tmp_path):
    corpus, words = speech(tmp_path / "in", 1)
    table = corpus.table.assign(utterance="../../u")
    words = Segmentation("me", words.table.assign(utterance="../../u"))
    with pytest.raises(VoicePrivacyError, match="makes no file name"):
        augment(type(corpus)("c", table), words, SegReConcat("rr"), tmp_path / "out")


def test_a_damaged_output_is_named(tmp_path):
    corpus, words = speech(tmp_path / "in", 2)
    augment(corpus, words, SegReConcat("rr"), tmp_path / "out")
    (tmp_path / "out" / "s0" / "u00.flac").write_bytes(b"fLaC")
    out = augment(corpus, words, SegReConcat("rr"), tmp_path / "out")
    assert "remove it, and it is made again" in out.skipped["detail"][0]
    (tmp_path / "out" / "manifest.json").write_text("{")
    with pytest.raises(VoicePrivacyError, match=r"manifest\.json is damaged"):
        augment(corpus, words, SegReConcat("rr"), tmp_path / "out")


def test_workers_must_be_some(tmp_path):
    with pytest.raises(VoicePrivacyError, match="0 workers"):
        augment(*speech(tmp_path / "in", 1), SegReConcat("rr"), tmp_path / "out", workers=0)
