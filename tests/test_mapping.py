"""Work on many utterances: the same bytes here, on threads, and on a cluster."""

import os
import pickle

import numpy as np
import pytest
import soundfile
from joblib import parallel_config

from voiceprivacy._mapping import mapped
from voiceprivacy._remade import Remade
from voiceprivacy.anonymize import anonymized
from voiceprivacy.anonymizers import McAdams
from voiceprivacy.augment import augment
from voiceprivacy.corpora import read_folder
from voiceprivacy.errors import VoicePrivacyError
from voiceprivacy.extractors import extract
from voiceprivacy.segmentation import Found, segment
from voiceprivacy.segreconcat import SegReConcat


@pytest.fixture(scope="module")
def cluster():
    """Two workers of Dask in processes of their own."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as workers,
        Client(workers),
    ):
        yield


class Thirds:
    """Finds three words, of equal length."""

    name = "thirds"

    def find(self, samples, utterance):
        ends = np.linspace(0, len(samples) / 16_000, 4)
        return [Found(f"w{k}", ends[k], ends[k + 1]) for k in range(3)]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    root = tmp_path_factory.mktemp("speech")
    rng = np.random.default_rng(0)
    for name in ("a/1", "a/2", "b/3", "b/4"):
        (root / name).parent.mkdir(exist_ok=True)
        soundfile.write(root / f"{name}.wav", 0.1 * rng.normal(size=8000), 16_000)
    return read_folder(root)


class Moments:
    """Embeds as mean and deviation."""

    name, dimension = "moments", 3

    def embed(self, waveform):
        return np.array([waveform.mean(), waveform.std(), 1])

    def embed_many(self, waveforms):
        return np.array([self.embed(waveform) for waveform in waveforms])


def contents(folder):
    return {p.relative_to(folder): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_a_cluster_writes_the_same_bytes(corpus, cluster, tmp_path):
    made = {}
    for place in ("here", "there"):
        with parallel_config("dask" if place == "there" else "threading"):
            words = segment(corpus, Thirds(), store=tmp_path / place / "words")
            anonymized(corpus, McAdams(seed=3), tmp_path / place / "anonymized")
            augment(corpus, words, SegReConcat("rr", seed=1), tmp_path / place / "augmented")
        made[place] = contents(tmp_path / place)
    assert made["here"] == made["there"]
    assert len(made["here"]) > 3 * len(corpus)


def both_places(corpus, extractor, tmp_path):
    """Embeddings and the store's bytes, here and on the cluster."""
    for place in ("threading", "dask"):
        with parallel_config(place):
            vectors = extract(corpus, extractor, store=tmp_path / place).matrix
        yield vectors.tobytes(), contents(tmp_path / place)


def test_a_cluster_embeds_to_the_same_bytes(corpus, cluster, tmp_path, monkeypatch):
    monkeypatch.setattr("voiceprivacy.extractors.PART", 1)
    here, there = both_places(corpus, Moments(), tmp_path)
    assert here == there
    assert len(there[1]) == len(corpus)


@pytest.mark.slow
def test_a_cluster_embeds_with_a_network_to_the_same_bytes(corpus, cluster, tmp_path, monkeypatch):
    """It travels as the path of its folder; its weights are read by each worker."""
    from test_models import SpeechBrainExtractor, pretrained

    model = SpeechBrainExtractor(pretrained(tmp_path / "model"))
    assert len(pickle.dumps(model)) < 1000
    monkeypatch.setattr("voiceprivacy.extractors.PART", 2)
    here, there = both_places(corpus, model, tmp_path)
    assert here == there
    assert len(there[1]) == 2


def test_work_on_a_cluster_is_done_there(cluster):
    with parallel_config("dask"):
        assert os.getpid() not in mapped(lambda _: os.getpid(), range(4))
    assert set(mapped(lambda _: os.getpid(), range(4), workers=2)) == {os.getpid()}


def test_an_error_comes_through_and_stops():
    done = []

    def do(item):
        done.append(item)
        raise VoicePrivacyError(f"item {item}")

    with pytest.raises(VoicePrivacyError, match=r"item \d"):  # whichever thread was first
        mapped(do, range(1000), workers=2)
    assert len(done) < 1000
    with pytest.raises(VoicePrivacyError, match="0 workers"):
        mapped(do, [1], workers=0)


class Model(Remade):
    """Cannot be pickled, and counts how often it is made."""

    made = 0

    def __init__(self, size, *, words=None):
        Model.made += 1
        self.size, self.words, self.weights = size, words, lambda: size


def test_a_model_travels_as_its_arguments_and_is_made_once():
    before = Model.made
    there = [pickle.loads(pickle.dumps(Model(3, words={"a": "b"}))) for _ in range(3)]
    assert Model.made == before + 3 + 1
    assert there[0] is there[2]
    assert (there[0].size, there[0].words) == (3, {"a": "b"})
