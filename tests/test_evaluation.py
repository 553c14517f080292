"""The whole evaluation: from speech or embeddings to one table, resumed, and with faults told."""

import shutil
import sys
from importlib.util import find_spec

import numpy as np
import pandas as pd
import pytest
from recipe_scripts import PLAIN
from test_conversation_trials import speech

from voiceprivacy.anonymizers import BaseAnonymizer
from voiceprivacy.attack_models import MODELS
from voiceprivacy.errors import VoicePrivacyError
from voiceprivacy.evaluation import LegalEvaluator, run_evaluation
from voiceprivacy.evaluation_results import read_results
from voiceprivacy.measures import METRICS, measure

soundfile = pytest.importorskip("soundfile", reason="the speech extra is not installed")
RATE = 16_000
ASKED = {"conversation_lengths": [1], "speaker_counts": [4], "num_runs": 2, "num_folds": 2}


class Bands:
    """Ten bands of the spectrum, on a logarithmic scale."""

    name, dimension = "bands", 10

    def __init__(self):
        self.heard = 0

    def embed(self, waveform):
        return self.embed_many([waveform])[0]

    def embed_many(self, waveforms):
        self.heard += len(waveforms)
        spectra = [np.abs(np.fft.rfft(w, 16_000)[100:2100]) for w in waveforms]
        return np.array([np.log(s.reshape(10, -1).sum(axis=1)) for s in spectra])


class Awkward(BaseAnonymizer):
    """Fails on some utterances, each in its own way."""

    def anonymize(self, samples, *, utterance=""):
        name = utterance.rpartition("/")[2]
        if name == "u0":
            raise RuntimeError("no such voice")
        wrong = {
            "u1": 0 * samples,
            "u2": samples[:100],
            "u3": np.nan * samples,
            "u4": np.stack([samples, samples]),
        }
        return wrong.get(name, samples)


def voice(speaker, utterance, part):
    """A hum of the speaker's own pitch and colour, and noise."""
    rng = np.random.default_rng([speaker, utterance, part])
    t = np.arange(RATE) / RATE
    pitch = 90 + 17 * speaker + rng.normal()
    tones = sum(np.sin(2 * np.pi * k * pitch * t) / k ** (1 + speaker / 6) for k in range(1, 12))
    return 0.05 * tones + 0.01 * rng.normal(size=RATE)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """data/{test,enrollment}/<speaker>/<utterance>.wav, the same names in both."""
    root = tmp_path_factory.mktemp("speech") / "data"
    for part, (name, count) in enumerate({"test": 6, "enrollment": 3, "calibration": 4}.items()):
        for speaker in range(6):
            place = root / name / f"speaker_{speaker}"
            place.mkdir(parents=True)
            for k in range(count):
                samples = voice(speaker, k, part)
                soundfile.write(place / f"u{k}.wav", samples, RATE, subtype="FLOAT")
    return root


def evaluate(folder, **options):
    options = (
        ASKED | {"speaker_embedding_model": Bands(), "anonymization_system": "identity"} | options
    )
    return run_evaluation(
        test_data=folder / "test", enrollment_data=folder / "enrollment", **options
    )


def test_all_metrics_come_from_speech_in_one_table(folder):
    results = evaluate(folder, attack_models=["original", "ignorant", "lazy-informed"])
    assert list(results) == list(METRICS)
    table = results.table
    assert len(table) == 9
    assert table["attacker"].unique().tolist() == ["original", "ignorant", "lazy-informed"]
    assert table["system"].unique().tolist() == ["none", "identity"]
    assert table["evidence"].unique().tolist() == ["speech: test"]
    assert (table["observed_low"] <= table["observed"]).all()
    assert (table["observed"] <= table["observed_high"]).all()
    told = table.set_index(["metric", "attacker"])["enrolment"]
    assert told["linkability", "lazy-informed"] == MODELS["lazy_informed"].enrolment
    # Nothing is changed, so that all attackers find the same.
    spread = table.groupby("metric")["observed"].agg(np.ptp)
    assert (spread < 0.35).all()
    assert results["linkability"]["observed"].min() > 0.7
    for metric, scores in results.items():
        assert f"{metric}\n" in str(results)
        assert len(scores) == 3


def test_attackers_train_and_models_embed_on_the_device(folder, tmp_path, monkeypatch):
    pytest.importorskip("torch", reason="the speech extra is not installed")
    trained = []

    def train(*arguments, device, **options):
        trained.append(device)
        return Bands()

    monkeypatch.setattr("voiceprivacy.attackers.train", train)
    asked = {"attack_models": ["informed"], "training_data": folder / "calibration"}
    evaluate(folder, device="cpu:0", **asked)
    assert trained == ["cpu:0"]
    (tmp_path / "hyperparams.yaml").touch()
    model = LegalEvaluator(None, "ecapa_tdnn", extractor_path=tmp_path, device="cpu:0").model
    assert "cpu:0" in model.args
    with pytest.raises(VoicePrivacyError, match="device 'tpu' cannot be used here"):
        evaluate(folder, device="tpu")


def test_calibration_speech_takes_no_test_speech(folder):
    with_own = evaluate(folder, calibration_data=folder / "calibration")
    assert with_own["singling out"]["speakers"].tolist() == [4]
    assert with_own.table["targets"].iloc[0] == 6
    less = evaluate(folder, calibration_data=folder / "calibration", conversation_lengths=[6])
    assert any("L = 6, singling out not measured: No speaker has 6" in r for r in less.remarks)
    assert list(less) == ["linkability", "EER"]


def test_files_that_an_anonymizer_fails_on_are_told_and_the_rest_goes_on(folder, tmp_path):
    results = evaluate(folder, anonymization_system=Awkward(), out=tmp_path)
    failed = pd.read_csv(tmp_path / "failed.csv")
    assert failed["part"].unique().tolist() == ["test"]
    names = failed["utterance"].str.rpartition("/")[2]
    reasons = failed["reason"].groupby(names).unique().map(list).to_dict()
    assert reasons == {f"u{k}": ["made silent" if k == 1 else "failed"] for k in range(5)}
    assert len(failed) == 30
    details = " ".join(failed["detail"])
    for word in ("no such voice", "100 samples", "not finite", "shape (2, 16000)", "no sound"):
        assert word in details
    assert results.failed.equals(failed.astype(str))
    assert not (results.table["metric"] == "singling out").any()  # one utterance is left
    with pytest.raises((VoicePrivacyError, RuntimeError), match="no such voice"):
        evaluate(folder, anonymization_system=Awkward(), strict=True)


def test_an_interrupted_evaluation_goes_on(folder, tmp_path, monkeypatch):
    def stop(*arguments, **options):
        raise KeyboardInterrupt

    model = Bands()
    with monkeypatch.context() as patch:
        patch.setattr("voiceprivacy.evaluation.measure", stop)
        with pytest.raises(KeyboardInterrupt):
            evaluate(folder, out=tmp_path, speaker_embedding_model=model)
    assert model.heard == 54
    found = evaluate(folder, out=tmp_path, speaker_embedding_model=model)
    assert model.heard == 54
    fresh = evaluate(folder)
    pd.testing.assert_frame_equal(found.table, fresh.table)
    read = read_results(tmp_path / "results.csv")
    pd.testing.assert_frame_equal(read.table, found.table, check_dtype=False)


def test_results_are_kept_unless_told_otherwise(folder, tmp_path):
    evaluate(folder, out=tmp_path)
    kept = (tmp_path / "results.csv").read_bytes()
    with pytest.raises(VoicePrivacyError, match="is already there; name another folder, or repl"):
        evaluate(folder, out=tmp_path, seed=1)
    assert (tmp_path / "results.csv").read_bytes() == kept
    mine = tmp_path / "anonymized" / "mine.txt"
    mine.parent.mkdir()
    mine.touch()
    changed = evaluate(folder, out=tmp_path, seed=1, anonymization_system="mcadams", overwrite=True)
    assert changed.table["system"].unique().tolist() == ["mcadams"]
    assert read_results(tmp_path / "results.csv").table["system"].unique().tolist() == ["mcadams"]
    assert mine.exists()
    assert not (tmp_path / "evaluation_work" / "parts").exists()


def test_a_folder_of_output_serves_one_part_only(folder, tmp_path):
    """Parts name files alike, so that one folder's files would be test and enrolment at once."""
    shutil.copytree(folder / "test", tmp_path / "made")
    asked = {"anonymization_system": tmp_path / "made", "attack_models": ["lazy_informed"]}
    with pytest.raises(VoicePrivacyError, match=r"an utterance of two parts \(enroll.*divide"):
        evaluate(folder, **asked)
    assert evaluate(folder, **asked | {"attack_models": ["ignorant"]}).table["targets"].max() == 6
    for part in ("test", "enrollment"):
        shutil.copytree(folder / part, tmp_path / "parts" / part)
    both = evaluate(folder, **asked | {"anonymization_system": tmp_path / "parts"})
    assert both["linkability"]["observed"].min() > 0.7


def test_a_program_over_whole_parts_is_evaluated(folder, tmp_path):
    (tmp_path / "mine.py").write_text(PLAIN)
    command = f"{sys.executable} {tmp_path / 'mine.py'} {{input}} {{output}}"
    results = evaluate(
        folder,
        anonymization_system="external",
        parameters={"command": f"{command} test%2Fspeaker_0%2Fu1=empty"},
        attack_models=["lazy_informed"],
        out=tmp_path / "out",
    )
    assert results.table["system"].unique().tolist() == ["external"]
    assert results.failed[["part", "utterance", "reason"]].to_numpy().tolist() == [
        ["test", "speaker_0/u1", "empty"]
    ]


def test_unreadable_files_are_told_with_their_part(folder, tmp_path):
    shutil.copytree(folder, tmp_path / "data")
    (tmp_path / "data" / "test" / "speaker_0" / "junk.wav").write_text("no sound")
    failed = evaluate(tmp_path / "data").failed
    assert failed[["part", "utterance", "reason"]].to_numpy().tolist() == [
        ["test", "speaker_0/junk", "unreadable"]
    ]


def test_embeddings_are_evaluated_as_they_are():
    test, enrolment = (speech(kind, {f"s{i}": 4 for i in range(8)}) for kind in "te")
    object.__setattr__(enrolment, "matrix", test.matrix + 0.1)
    results = run_evaluation(
        test, enrolment, **ASKED, attack_models=["informed"], corpus="simulated"
    )
    assert results.table["attacker"].unique().tolist() == ["informed"]
    assert results.table["evidence"].unique().tolist() == ["simulated embeddings"]
    assert results.table["extractor"].unique().tolist() == ["as given"]


def test_a_number_alone_or_twice_counts_once():
    test, enrolment = (speech(kind, {f"s{i}": 4 for i in range(8)}) for kind in "te")
    table, _ = measure(test, enrolment, lengths=1, sizes=[5, 5], splits=2, draws=1)
    assert table["metric"].tolist() == list(METRICS)
    for wrong in (0, [2.5], [], ["5"], [True]):
        with pytest.raises(VoicePrivacyError, match=r"sizes: .*expected one or more whole numbers"):
            measure(test, enrolment, sizes=wrong)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_runs": "5"}, r"num_runs is '5'; expected a whole number from 1 up"),
        ({"num_folds": 0}, "num_folds is 0; expected"),
        ({"num_folds": None}, "num_folds is None; expected"),
        ({"seed": -1}, "^seed is -1; expected a whole number from 0 up"),
        ({"seed": 1.5}, "^seed is 1.5; expected"),
        ({"test_data": None}, "test data: NoneType; expected a folder of speech"),
        ({"enrollment_data": np.eye(3)}, "enrollment data: ndarray; expected a folder"),
    ],
)
def test_values_that_are_none_are_refused_by_name(options, message):
    people = {f"s{i}": 4 for i in range(8)}
    data = {"test_data": speech("t", people), "enrollment_data": speech("e", people, seed=1)}
    with pytest.raises(VoicePrivacyError, match=message):
        run_evaluation(**(data | ASKED | options))


def test_results_are_no_file(folder, tmp_path):
    place = tmp_path / "results"
    place.write_text("mine")
    with pytest.raises(VoicePrivacyError, match="results is a file; results go into a folder"):
        run_evaluation(folder / "test", folder / "enrollment", out=place)
    assert place.read_text() == "mine"


def test_who_takes_no_part_is_named():
    test = speech("t", {"a": 4, "b": 4, "short": 1})
    enrolment = speech("e", {"a": 4, "b": 4, "short": 4, "silent": 4})
    _, remarks = measure(test, enrolment, lengths=[1], sizes=[2], splits=2, draws=1)
    alone = "L = 1, singling out: 1 speakers"
    assert f"{alone} have too few utterances, and take no part: 'short'." in remarks
    assert f"{alone} are enrolled but not tested, and take no part: 'silent'." in remarks


def test_sizes_that_cannot_be_had_are_said():
    test, enrolment = (speech(kind, {f"s{i}": 4 for i in range(8)}) for kind in "te")
    table, remarks = measure(test, enrolment, lengths=[1, 3], sizes=[5, 100], splits=2, draws=1)
    sizes = table.groupby(["metric", "conversation_length"])["n_speakers"].unique()
    assert sizes["linkability", 1].tolist() == [5]
    assert "L = 1, linkability: sizes 100 left out; there are 8 speakers." in remarks
    assert any(remark.startswith("L = 3, singling out not measured") for remark in remarks)
    table, _ = measure(test, enrolment, lengths=[1], sizes=[100], splits=2, draws=1)
    assert table["n_speakers"].unique().tolist() == [8]
    with pytest.raises(VoicePrivacyError, match="nothing can be measured"):
        measure(test, enrolment, lengths=[9], sizes=[5])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"attack_models": ["informed"]}, "give training_data, original speech of other speakers"),
        ({"attack_models": ["semi_informed"], "training_data": "x"}, "needs similar_system"),
        ({"attack_models": ["lazy_informed"], "anonymization_system": None}, "needs anonymization"),
        ({"attack_models": ["clever"]}, "attack model 'clever'; expected one of original"),
        ({"attack_models": []}, "attack_models is empty"),
        ({"rule": "x"}, "rule 'x'; expected one of ROCCH, SpeechBrain"),
        ({"training_data": "nowhere"}, "nowhere: there are no training data"),
    ],
)
def test_what_an_attacker_lacks_is_told_before_any_work(folder, options, message):
    with pytest.raises(VoicePrivacyError, match=message):
        evaluate(folder, **options)


def test_one_recording_on_two_sides_is_refused(folder):
    with pytest.raises(VoicePrivacyError, match="one recording stands in two parts: 'test/"):
        run_evaluation(folder / "test", folder / "test", **ASKED)


def test_speech_and_embeddings_do_not_mix(folder):
    with pytest.raises(VoicePrivacyError, match="got test: Corpus, enrollment: Embeddings"):
        run_evaluation(folder / "test", speech("e", {"a": 2, "b": 2}), **ASKED)


def test_the_attacker_knows_the_method_and_not_the_key(folder, tmp_path):
    evaluate(folder, anonymization_system="resample", attack_models=["lazy_informed"], out=tmp_path)
    made = tmp_path / "evaluation_work" / "anonymized"
    seeds = [
        (made / f"same-{part}" / "manifest.json").read_text().partition('"seed": ')[2][0]
        for part in ("test", "enrollment")
    ]
    assert seeds == ["0", "1"]


@pytest.mark.slow
def test_informed_attackers_train_on_what_they_know(folder, tmp_path):
    if find_spec("speechbrain") is None:
        pytest.skip("the attack extra is not installed")
    from dataclasses import replace

    from attacker_speech import TINY

    from voiceprivacy.attackers import write_settings

    write_settings(replace(TINY, max_steps=4, evaluate_every=2), tmp_path / "tiny.yaml")
    evaluator = LegalEvaluator(
        "resample", Bands(), similar_system="mcadams", attacker_settings=tmp_path / "tiny.yaml"
    )
    results = evaluator.evaluate(
        folder / "test", folder / "enrollment", training_data=folder / "calibration",
        attack_models=["semi_informed", "informed"], **ASKED, out=tmp_path / "out",
    )  # fmt: skip
    assert results.table["attacker"].unique().tolist() == ["semi-informed", "informed"]
    assert results.table["extractor"].nunique() == 2
    assert sorted(
        p.name for p in (tmp_path / "out" / "evaluation_work" / "attackers").iterdir()
    ) == [
        "informed",
        "semi_informed",
    ]
