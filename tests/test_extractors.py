"""Each utterance gets the embedding of its own samples, once, whatever else is going on."""

import builtins
import contextlib
import pickle
import sys
import time
import types

import numpy as np
import pandas as pd
import pytest
import tqdm
from joblib import parallel_config

from voiceprivacy.corpora import Corpus, cut, read_folder
from voiceprivacy.errors import VoicePrivacyError
from voiceprivacy.extractors import PART, Extractor, ResemblyzerExtractor, extract

soundfile = pytest.importorskip("soundfile", reason="the speech extra is not installed")


class Bands:
    """A stub: energies of three frequency bands. Counts and checks what it is given."""

    def __init__(self, name="bands-1", fail_after=np.inf):
        self.name, self.dimension, self.seen, self.fail_after = name, 3, 0, fail_after

    def embed(self, waveform):
        assert waveform.dtype == np.float32
        assert waveform.ndim == 1
        power = np.abs(np.fft.rfft(waveform)) ** 2 / len(waveform) ** 2
        edges = np.searchsorted(np.fft.rfftfreq(len(waveform), 1 / 16_000), [0, 500, 1500])
        return np.add.reduceat(power, edges).astype(np.float32) + 1e-6

    def embed_many(self, waveforms):
        if self.seen + len(waveforms) > self.fail_after:
            raise KeyboardInterrupt
        self.seen += len(waveforms)
        return np.array([self.embed(w) for w in waveforms]).reshape(-1, 3)


def tone(frequency, seconds=1.0, rate=16_000):
    t = np.arange(round(seconds * rate)) / rate
    return sum(np.sin(2 * np.pi * k * frequency * t) / k for k in (1, 2, 3)) * 0.2


def save(path, samples, rate=16_000):
    path.parent.mkdir(parents=True, exist_ok=True)
    soundfile.write(path, samples, rate)


@pytest.fixture
def corpus(tmp_path):
    for speaker in range(2):
        for k in range(3):
            save(tmp_path / f"s{speaker}" / f"{speaker}{k}.wav", tone(100 + 400 * speaker + 40 * k))
    return read_folder(tmp_path)


@pytest.fixture
def many(tmp_path):
    """More utterances than fit into two parts, all in one short file."""
    save(tmp_path / "ann" / "a.wav", tone(200, 12.0) * np.linspace(0.1, 1, 192_000))
    return cut(read_folder(tmp_path), 0.02)


# -- the loop ----------------------------------------------------------------------------------


def test_rows_are_the_corpus_rows(corpus):
    e = extract(corpus, Bands())
    assert e.utterances.tolist() == corpus.table["utterance"].tolist()
    assert e.speakers.tolist() == ["s0"] * 3 + ["s1"] * 3
    for i in range(len(corpus)):
        np.testing.assert_array_equal(e.matrix[i], Bands().embed(corpus.audio(i)))
    assert isinstance(Bands(), Extractor)


def test_the_order_of_a_corpus_changes_nothing(corpus, many):
    for utterances in (corpus, many):
        order = np.random.default_rng(0).permutation(len(utterances))
        straight = extract(utterances, Bands())
        shuffled = extract(utterances.select(order), Bands())
        np.testing.assert_array_equal(shuffled.matrix, straight.matrix[order])


def test_the_extractor_hears_one_sound_whatever_the_file(tmp_path):
    """Case 04."""
    stereo = np.stack([tone(200, rate=44_100)] * 2, axis=1)
    save(tmp_path / "s" / "a.wav", tone(200))
    save(tmp_path / "s" / "b.wav", tone(200, rate=48_000), 48_000)
    save(tmp_path / "s" / "c.wav", stereo, 44_100)
    vectors = extract(read_folder(tmp_path), Bands()).normalised().matrix
    assert len(vectors) == 3
    np.testing.assert_allclose(vectors, vectors[[0, 0, 0]], atol=1e-3)


def test_equal_file_names_of_two_speakers_are_two_sounds(tmp_path, monkeypatch):
    """Case 37: nor is anything left where the program runs."""
    save(tmp_path / "in" / "spk1" / "001.wav", tone(150))
    save(tmp_path / "in" / "spk2" / "001.wav", tone(700))
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    e = extract(read_folder(tmp_path / "in"), Bands(), store=tmp_path / "store")
    assert not np.allclose(e.matrix[0], e.matrix[1])
    assert not list((tmp_path / "here").iterdir())


def test_original_and_anonymized_sound_of_one_id_share_a_store(tmp_path):
    """Case 37: ids, names and speakers are the same; only the folder tells which it is."""
    store = tmp_path / "store"
    for folder, pitch in (("original", 150), ("anon", 700)):
        save(tmp_path / folder / "spk1" / "001.wav", tone(pitch))
    one, other = (
        extract(read_folder(tmp_path / folder), Bands(), store=store)
        for folder in ("original", "anon")
    )
    assert one.utterances.tolist() == other.utterances.tolist() == ["001"]
    assert not np.allclose(one.matrix, other.matrix)
    again = extract(read_folder(tmp_path / "original"), Bands(), store=store)
    np.testing.assert_array_equal(again.matrix, one.matrix)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_no_part_s_size_nor_order_changes_an_embedding(tmp_path, monkeypatch, size):
    """Case 38: clips of 0.5, 1 and 3 s, alone and with others."""
    for seconds in (0.5, 1, 3):
        save(tmp_path / "s" / f"{seconds}.wav", tone(100 + 100 * seconds, seconds))
    utterances = read_folder(tmp_path)
    alone = [Bands().embed(utterances.audio(row)) for row in range(3)]
    monkeypatch.setattr("voiceprivacy.extractors.PART", size)
    for order in ([0, 1, 2], [2, 0, 1]):
        together = extract(utterances.select(order), Bands()).matrix
        np.testing.assert_allclose(together, np.array(alone)[order], atol=1e-5)


def test_a_rerun_computes_nothing(corpus, tmp_path):
    store = tmp_path / "store"
    first, again = Bands(), Bands()
    a = extract(corpus, first, store=store)
    b = extract(corpus, again, store=store)
    assert (first.seen, again.seen) == (6, 0)
    np.testing.assert_array_equal(a.matrix, b.matrix)


def test_an_interrupted_run_continues(many, tmp_path):
    assert 2 * PART < len(many) < 3 * PART
    with pytest.raises(KeyboardInterrupt):
        extract(many, Bands(fail_after=2 * PART), store=tmp_path / "store")
    rest = Bands()
    e = extract(many, rest, store=tmp_path / "store")
    assert rest.seen == len(many) - 2 * PART
    np.testing.assert_array_equal(e.matrix, extract(many, Bands()).matrix)


@pytest.mark.parametrize("workers", [2, 3])
def test_any_number_of_workers_gives_the_same_bytes(many, tmp_path, workers):
    def embedded(store):
        vectors = extract(many, Bands(), store=store).matrix
        return vectors.tobytes(), {p.name: p.read_bytes() for p in store.rglob("*.npz")}

    alone = embedded(tmp_path / "alone")
    with parallel_config("threading", n_jobs=workers):
        assert embedded(tmp_path / "together") == alone
    assert len(alone[1]) == 3


class Narrow(Bands):
    """Fails when two threads embed at once, as networks do."""

    busy = False

    def embed_many(self, waveforms):
        assert not self.busy
        self.busy = True
        time.sleep(0.02)
        vectors = super().embed_many(waveforms)
        self.busy = False
        return vectors


def test_threads_embed_one_part_at_a_time(many):
    with parallel_config("threading", n_jobs=3):
        assert len(extract(many, Narrow())) == len(many)


class Changing(Bands):
    """Is another model wherever it arrives, as one whose weights were replaced meanwhile."""

    def __reduce__(self):
        return type(self), ("bands-2",)


def test_a_worker_with_another_model_is_refused(corpus, tmp_path):
    with (
        parallel_config("loky", n_jobs=2),
        pytest.raises(VoicePrivacyError, match="is 'bands-1' here and 'bands-2' where it works"),
    ):
        extract(corpus, Changing(), store=tmp_path)


def test_a_corpus_that_has_grown_computes_what_is_new(corpus, tmp_path):
    extract(corpus.select([4, 1]), Bands(), store=tmp_path / "store")
    rest = Bands()
    e = extract(corpus, rest, store=tmp_path / "store")
    assert rest.seen == 4
    np.testing.assert_array_equal(e.matrix, extract(corpus, Bands()).matrix)


def test_what_has_changed_is_computed_again(corpus, tmp_path):
    """Another extractor, a changed file, a piece of a file: none may take the stored vector."""
    store = tmp_path / "store"
    before = extract(corpus, Bands(), store=store)
    other = Bands("bands-2")
    extract(corpus, other, store=store)
    assert other.seen == 6
    save(tmp_path / "s0" / "00.wav", tone(300, 1.5))
    changed = Bands()
    after = extract(corpus, changed, store=store)
    assert changed.seen == 1
    assert not np.allclose(after.matrix[0], before.matrix[0])
    table = corpus.table.assign(start=0.5)
    pieces = Bands()
    extract(Corpus("pieces", table), pieces, store=store)
    assert pieces.seen == 6


def test_a_damaged_part_is_named(corpus, tmp_path):
    extract(corpus, Bands(), store=tmp_path / "store")
    (part,) = (tmp_path / "store" / "bands-1").iterdir()
    part.write_bytes(part.read_bytes()[:100])
    with pytest.raises(VoicePrivacyError, match=rf"{part.name}: .*damaged.*Delete this part"):
        extract(corpus, Bands(), store=tmp_path / "store")


def test_unusable_utterances_are_named(tmp_path):
    save(tmp_path / "s" / "mute.wav", np.zeros(16_000))
    with pytest.raises(VoicePrivacyError, match=r"'mute' is silent; leave .* out with .*checked"):
        extract(read_folder(tmp_path), Bands())
    table = pd.DataFrame({"utterance": ["u"], "speaker": "s", "path": "none.wav"})
    lost = Corpus("lost", table.assign(start=np.nan, end=np.nan))
    with pytest.raises(VoicePrivacyError, match=r"none\.wav cannot be decoded.*To go on"):
        extract(lost, Bands())


def test_progress_tells_utterances_and_speech_a_second(corpus, tmp_path, capsys, monkeypatch):
    extract(corpus.select([0, 1]), Bands(), store=tmp_path / "store")
    assert capsys.readouterr().err == ""
    # Half a second on the clock for the four utterances that remain, of a second each.
    monkeypatch.setattr(
        tqdm.tqdm, "format_dict",
        property(lambda bar, given=tqdm.tqdm.format_dict.fget: given(bar) | {"elapsed": 0.5}),
    )  # fmt: skip
    extract(corpus, Bands(), store=tmp_path / "store", progress=True)
    shown = capsys.readouterr().err
    assert "6/6" in shown
    assert "8.00utterances/s" in shown
    assert "8.0 s of speech/s" in shown


def test_an_extractor_of_another_shape_is_refused(corpus):
    stub = Bands()
    stub.dimension = 4
    with pytest.raises(VoicePrivacyError, match=r"returned shape \(6, 3\); expected \(6, 4\)"):
        extract(corpus, stub)


# -- Resemblyzer -------------------------------------------------------------------------------


def test_a_missing_package_is_named_with_the_command(monkeypatch):
    real = builtins.__import__

    def without(name, *rest):
        if name == "resemblyzer":
            raise ImportError("none", name="resemblyzer")
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(VoicePrivacyError, match=r"pip install --no-deps Resemblyzer==0\.1\.4"):
        ResemblyzerExtractor()


@pytest.mark.parametrize("error", [AttributeError, TypeError])
def test_packages_that_do_not_fit_are_named_with_versions(monkeypatch, error):
    """Case 44."""

    def broken(name):
        raise error("module 'numpy' has no attribute 'bool'")

    monkeypatch.setitem(sys.modules, "resemblyzer", None)
    monkeypatch.delitem(sys.modules, "resemblyzer")
    finder = types.SimpleNamespace(
        find_spec=lambda name, *_: broken(name) if name == "resemblyzer" else None
    )
    monkeypatch.setattr(sys, "meta_path", [finder, *sys.meta_path])
    with pytest.raises(VoicePrivacyError, match=r"numpy \d.*no attribute 'bool'.*librosa 0\.10"):
        ResemblyzerExtractor()


@pytest.fixture(scope="module")
def resemblyzer():
    pytest.importorskip("torch", reason="the speech extra is not installed")
    pytest.importorskip("resemblyzer", reason="Resemblyzer is not installed")
    return ResemblyzerExtractor()


@contextlib.contextmanager
def one_thread():
    """The package leaves threads alone; on a busy machine they make it many times slower."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def speechlike(seed, seconds):
    """A buzz through a few moving resonances; enough for voice detection."""
    rng = np.random.default_rng(seed)
    buzz = sum(tone(rng.uniform(90, 220) * k, seconds) / k for k in range(1, 8))
    syllables = 0.55 + 0.45 * np.sin(2 * np.pi * 4 * np.arange(len(buzz)) / 16_000)
    return (0.3 * buzz * syllables + rng.normal(0, 0.003, len(buzz))).astype(np.float32)


def test_resemblyzer_gives_the_package_own_embeddings(resemblyzer):
    import resemblyzer as package

    encoder = package.VoiceEncoder("cpu", verbose=False)
    for seed, seconds in enumerate([0.7, 1.8, 2.0, 4.3]):
        samples = speechlike(seed, seconds)
        with one_thread():
            expected = encoder.embed_utterance(package.preprocess_wav(samples))
        np.testing.assert_allclose(resemblyzer.embed(samples), expected, atol=1e-6)


def test_resemblyzer_travels_as_what_it_was_made_with(resemblyzer):
    assert len(pickle.dumps(resemblyzer)) < 1000
    there = pickle.loads(pickle.dumps(resemblyzer))
    sound = speechlike(0, 0.7)
    assert there.embed(sound).tobytes() == resemblyzer.embed(sound).tobytes()


def test_resemblyzer_does_not_mix_neighbours(resemblyzer):
    """Case 38."""
    waveforms = [speechlike(k, 0.6 + 0.8 * k) for k in range(4)]
    together = resemblyzer.embed_many(waveforms)
    alone = np.array([resemblyzer.embed(w) for w in waveforms])
    backwards = resemblyzer.embed_many(waveforms[::-1])[::-1]
    np.testing.assert_allclose(together, alone, atol=1e-6)
    np.testing.assert_allclose(together, backwards, atol=1e-6)
    assert together.shape == (4, resemblyzer.dimension)
    np.testing.assert_allclose(np.linalg.norm(together, axis=1), 1, rtol=1e-5)
    assert resemblyzer.embed_many([]).shape == (0, 256)


def test_resemblyzer_embeds_what_voice_detection_rejects_and_refuses_silence(resemblyzer):
    import resemblyzer as package

    sounds = np.zeros((2, 16_000), np.float32)
    sounds[0, ::4_000] = 0.9
    sounds[1, 8_000:8_020] = np.random.default_rng(0).normal(0, 0.3, 20)
    assert [len(package.trim_long_silences(sound)) for sound in sounds] == [0, 0]
    one, other = resemblyzer.embed_many(sounds)
    assert not np.allclose(one, other, atol=1e-3)
    for nothing in (np.zeros(16_000, np.float32), np.zeros(0, np.float32)):
        with pytest.raises(VoicePrivacyError, match="empty or silent"):
            resemblyzer.embed(nothing)


def test_resemblyzer_gives_back_the_threads(resemblyzer):
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(2)
    resemblyzer.embed(speechlike(0, 1.0))
    after = torch.get_num_threads()
    torch.set_num_threads(before)
    assert after == 2


def test_resemblyzer_tells_real_readers_apart(resemblyzer, shared_data):
    """Pieces of one recording are closer to each other than to any other reader's."""
    corpus = read_folder(shared_data("librispeech_train_clean_100"))
    pieces = cut(corpus.select(np.arange(4)), 3.0)
    e = extract(pieces, resemblyzer)
    cosine = e.matrix @ e.matrix.T
    same = e.speakers[:, None] == e.speakers
    assert cosine[same].mean() > cosine[~same].mean() + 0.15
