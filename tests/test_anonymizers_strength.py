"""How well a voice is told through each anonymizer, on synthetic speech: none is broken."""

import numpy as np
import pandas as pd
import pytest

from voiceprivacy.anonymize import anonymized
from voiceprivacy.anonymizers import by_name
from voiceprivacy.extractors import ResemblyzerExtractor, extract
from voiceprivacy.synthetic import speak

pytest.importorskip("espeakng_loader", reason="the demo extra is not installed")
pytest.importorskip("resemblyzer", reason="Resemblyzer is not installed")
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def spoken(tmp_path_factory):
    out = tmp_path_factory.mktemp("strength") / "speech"
    corpus = speak(out, 20, 6, seed=5)
    genders = pd.read_csv(out / "speakers.csv", dtype=str).set_index("speaker")["gender"]
    return corpus, corpus.table["speaker"].map(genders).to_numpy(str)


@pytest.fixture(scope="module")
def extractor():
    return ResemblyzerExtractor()


def pair_error(embeddings, genders):
    """Equal error rate over all pairs of utterances of one sex, in percent."""
    vectors = embeddings.normalised().matrix
    i, j = np.triu_indices(len(vectors), 1)
    i, j = i[genders[i] == genders[j]], j[genders[i] == genders[j]]
    scores = (vectors[i] * vectors[j]).sum(axis=1)
    same = embeddings.speakers[i] == embeddings.speakers[j]
    thresholds = np.quantile(scores, np.linspace(0, 1, 2_001))[:, None]
    misses = (scores[same] < thresholds).mean(axis=1)
    alarms = (scores[~same] >= thresholds).mean(axis=1)
    best = np.abs(misses - alarms).argmin()
    return 50 * (misses + alarms)[best]


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [
        ("identity", 0, 5),
        ("mcadams-speaker", 3, 15),
        ("resample", 25, 42),
        ("mcadams", 30, 46),
        ("whisper", 38, 52),
        ("codebook", 38, 54),
        ("hybrid", 38, 54),
        ("noise-vocoder", 44, 56),
    ],
)
def test_how_often_a_plain_attacker_errs(spoken, extractor, tmp_path, name, low, high):
    corpus, genders = spoken
    result = anonymized(corpus, by_name(name), tmp_path / "out")
    assert low < pair_error(extract(result, extractor), genders) < high
