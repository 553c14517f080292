"""The challenges' trees: original, anonymized, with and without their tables; and their EERs."""

import shutil
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("soundfile", reason="the speech extra is not installed")

import soundfile
from vpac_tree import write_set, write_vpac

from voiceprivacy import vpc as module
from voiceprivacy._cells import Cell
from voiceprivacy.anonymizers import McAdams
from voiceprivacy.corpora import cut, read_folder
from voiceprivacy.eer import rocch_eer, speechbrain_eer
from voiceprivacy.errors import VoicePrivacyError
from voiceprivacy.extractors import Extractor
from voiceprivacy.verification import Verification
from voiceprivacy.vpac import vpac
from voiceprivacy.vpc import (
    eer_table,
    evaluate_vpc,
    from_vpac,
    read_vpc,
    verify_vpc,
    vpc_suffixes,
)

SETS = [
    f"libri_{s}_{part}" for s in ("dev", "test") for part in ("enrolls", "trials_f", "trials_m")
]
COUNTS = ["targets", "nontargets"]
RULES = ["EER (SpeechBrain)", "EER (ROCCH)"]


class LogMel:
    """Mean and spread of 40 log mel bands: cheap, deterministic, and knows voices a little."""

    name, dimension = "log-mel-1", 80

    def __init__(self):
        mel = np.linspace(0, 2595 * np.log10(1 + 8_000 / 700), 42)
        edges, bins = 700 * (10 ** (mel / 2595) - 1), np.linspace(0, 8_000, 257)
        low, middle, high = edges[:-2, None], edges[1:-1, None], edges[2:, None]
        rising, falling = (bins - low) / (middle - low), (high - bins) / (high - middle)
        self._bank = np.maximum(0, np.minimum(rising, falling))

    def embed(self, waveform):
        frames = np.lib.stride_tricks.sliding_window_view(waveform, 400)[::160] * np.hanning(400)
        power = np.abs(np.fft.rfft(frames, 512)) ** 2
        bands = np.log(power @ self._bank.T + 1e-8)
        mean = bands.mean(axis=0)
        return np.concatenate([mean - mean.mean(), bands.std(axis=0)])

    def embed_many(self, waveforms):
        return np.array([self.embed(waveform) for waveform in waveforms])


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    data = write_vpac(tmp_path_factory.mktemp("vpc"), "recipe", suffix=False)
    for path in data.rglob("text"):
        path.unlink()
    return data


@pytest.fixture
def data(kept, tmp_path):
    """A tree of one's own to break: original sets only."""
    return shutil.copytree(kept, tmp_path / "data")


def anonymized(data, suffix="_mcadams", sets=SETS):
    """Copies of sets with nothing but sound, as some of the recipes leave them."""
    for name in sets:
        shutil.copytree(data / name / "wav", data / f"{name}{suffix}" / "wav" / name)
    return read_vpc(data, suffix)


# -- reading -----------------------------------------------------------------------------------


def test_original_data_are_read_with_what_is_there(data):
    whole = read_vpc(data)
    assert whole.name == "part of the VoicePrivacy Challenge, original"
    assert list(whole.subsets) == ["dev", "test"]
    assert len(whole.train) == 12
    assert whole.emotion == {}
    dev = whole.subsets["dev"]
    assert len(dev.enrolment) == 8
    assert len(dev.trials) == 18
    assert dev.trial_list["target"].sum() == 12
    assert dev.genders["2000"] == "female"
    assert dev.genders["2502"] == "male"
    assert whole.counts.loc["libri_test_trials_m"].tolist() == [9, 762]
    write_set(data / "IEMOCAP_dev", [("1", "f")], 2)
    for name in ("train-clean-360", *(name for name in SETS if "test" in name)):
        shutil.rmtree(data / name)
    part = read_vpc(data)
    assert list(part.subsets) == ["dev"]
    assert part.train is None
    assert len(part.emotion["IEMOCAP_dev"]) == 2


def test_data_with_all_utterances_are_not_called_a_part(data, monkeypatch):
    counts = read_vpc(data).counts["utterances"]
    monkeypatch.setattr(module, "EXPECTED", dict(counts))
    assert read_vpc(data).name == "VoicePrivacy Challenge, original"


def test_a_copy_has_the_original_s_tables_and_its_own_sound(data):
    for path in data.rglob("*.wav"):
        path.touch()
    copy = anonymized(data)
    assert copy.name == "part of the VoicePrivacy Challenge, mcadams"
    assert copy.train is None
    own, other = (side.subsets["dev"].trials.table for side in (copy, read_vpc(data)))
    assert own["utterance"].tolist() == other["utterance"].tolist()
    assert own["speaker"].tolist() == other["speaker"].tolist()
    assert all("trials_f_mcadams/wav" in p or "trials_m_mcadams/wav" in p for p in own["path"])
    assert copy.subsets["dev"].genders == read_vpc(data).subsets["dev"].genders
    anonymized(data, "_asrbn_hifigan_bn")
    anonymized(data, "_anon", ["train-clean-360"])
    (data / "libri_dev_asr_mcadams" / "wav").mkdir(parents=True)
    assert vpc_suffixes(data) == ["", "_anon", "_asrbn_hifigan_bn", "_mcadams"]
    assert read_vpc(data, "_anon").subsets == {}


def test_trials_are_always_those_of_the_original(data):
    anonymized(data)
    for letter in "fm":
        other = data / f"libri_dev_trials_{letter}_mcadams" / "trials"
        other.write_text("not a list at all\n")
    assert len(read_vpc(data, "_mcadams").subsets["dev"].trial_list) == 36
    (data / "libri_dev_trials_f" / "trials").unlink()
    with pytest.raises(
        VoicePrivacyError, match=r"lacks 'libri_dev_trials_f/trials'.*original sets"
    ):
        read_vpc(data, "_mcadams")


def test_what_lacks_is_named_in_one_message(data, tmp_path):
    anonymized(data)
    shutil.rmtree(data / "libri_dev_trials_m_mcadams")
    shutil.rmtree(data / "libri_test_enrolls_mcadams")
    with pytest.raises(
        VoicePrivacyError,
        match="lacks 'libri_dev_trials_m_mcadams', 'libri_test_enrolls_mcadams'",
    ):
        read_vpc(data, "_mcadams")
    with pytest.raises(VoicePrivacyError, match=r"suffix '_nac'.*suffixes there: '', '_mcadams'"):
        read_vpc(data, "_nac")
    with pytest.raises(VoicePrivacyError, match="suffixes there: none"):
        read_vpc(tmp_path / "none")


def test_an_utterance_that_was_not_anonymized_stops_the_run_or_is_reported(data):
    anonymized(data, "_asrbn_x")
    (data / "libri_dev_enrolls_asrbn_x" / "wav" / "libri_dev_enrolls" / "2000-1-0001.wav").unlink()
    with pytest.raises(VoicePrivacyError, match=r"1 only in utt2spk \('2000-1-0001'\)"):
        read_vpc(data, "_asrbn_x")
    left = read_vpc(data, "_asrbn_x", missing="drop").subsets["dev"].enrolment
    assert left.skipped["utterance"].tolist() == ["2000-1-0001"]


def test_a_copy_that_names_the_original_s_sound_is_refused(data):
    """A wav.scp copied along with the other tables would score original speech as anonymized."""
    anonymized(data)
    name = "libri_test_enrolls"
    sounds = sorted((data / name / "wav").glob("*.wav"))
    text = "".join(f"{f.stem} data/{name}/wav/{f.name}\n" for f in sounds)
    (data / f"{name}_mcadams" / "wav.scp").write_text(text)
    match = "wav.scp names the original's sound for 8 utterances"
    with pytest.raises(VoicePrivacyError, match=match):
        read_vpc(data, "_mcadams")
    moved = shutil.move(data / name / "wav", data.parent / "LibriSpeech")
    elsewhere = text.replace(f"data/{name}/wav", str(moved))
    (data / name / "wav.scp").write_text(elsewhere)
    (data / f"{name}_mcadams" / "wav.scp").write_text(elsewhere)
    with pytest.raises(VoicePrivacyError, match=match):
        read_vpc(data, "_mcadams")
    (data / f"{name}_mcadams" / "wav.scp").unlink()
    assert len(read_vpc(data, "_mcadams").subsets["test"].enrolment) == 8


def test_relative_paths_start_beside_the_data(data, tmp_path, monkeypatch):
    folder = data / "libri_dev_enrolls"
    sounds = sorted((folder / "wav").glob("*.wav"))
    (folder / "wav").rename(tmp_path / "corpus")
    (folder / "wav.scp").write_text("".join(f"{f.stem} corpus/{f.name}\n" for f in sounds))
    monkeypatch.chdir(data)
    assert len(read_vpc(".").subsets["dev"].enrolment) == 8
    with pytest.raises(VoicePrivacyError, match="8 utterances have no sound"):
        read_vpc(data, base=data)


def test_the_name_of_a_trial_set_tells_the_gender(data):
    for path in data.rglob("spk2gender"):
        path.unlink()
    assert set(read_vpc(data).subsets["dev"].genders.values()) == {"female", "male"}
    copy = data / "libri_dev_trials_f_nac"
    anonymized(data, "_nac")
    (copy / "spk2gender").write_text("2000 m\n")
    with pytest.raises(VoicePrivacyError, match="trials_f/spk2gender has 1 speakers as male"):
        read_vpc(data, "_nac")


# -- scoring -----------------------------------------------------------------------------------


def cell(subset, gender, targets, nontargets):
    """Two speakers; one enrolled, whose own utterances have the targets' scores."""
    n = len(targets) + len(nontargets)
    return Cell(
        subset,
        gender,
        np.array(["a"]),
        np.array([f"u{k}" for k in range(n)]),
        np.array(["a"] * len(targets) + ["b"] * len(nontargets)),
        np.array([[*targets, *nontargets]], np.float32),
        np.ones((1, n), bool),
    )


def test_both_rules_and_all_averages_are_in_the_table():
    """Scores whose EERs `voiceprivacy.eer` works out: 1/6 and 2/9; 0; 1/2 where all are alike."""
    cells = (
        cell("dev", "female", [0.6, 0.6, 0.9], [0.6, 0.1, 0.2]),
        cell("dev", "male", [0.9], [0.1, 0.2]),
        cell("test", "female", [0.5], [0.5]),
    )
    table = eer_table(Verification(cells, "oa"))
    assert table[["subset", "gender"]].to_numpy().tolist() == [
        ["dev", "female"], ["dev", "male"], ["dev", "average"],
        ["test", "female"], ["test", "average"], ["average", "average"],
    ]  # fmt: skip
    assert set(table["condition"]) == {"oa"}
    expected = [[1 / 6, 2 / 9], [0, 0], [1 / 12, 1 / 9], [0.5, 0.5], [0.5, 0.5], [7 / 24, 11 / 36]]
    np.testing.assert_allclose(table[RULES], expected, atol=1e-12)
    assert table[COUNTS].to_numpy().tolist() == [[3, 3], [1, 2], [4, 5], [1, 1], [1, 1], [5, 6]]


def test_conditions_are_told_from_the_suffixes(data, tmp_path):
    original, copy = read_vpc(data), anonymized(data)
    assert isinstance(LogMel(), Extractor)
    sides = {"o": original, "a": copy}
    for enrolled, tried in ("oo", "oa", "ao", "aa"):
        found = verify_vpc(sides[tried], LogMel(), enrolment=sides[enrolled], store=tmp_path / "s")
        assert found.condition == enrolled + tried
    assert verify_vpc(copy, LogMel(), store=tmp_path / "s").condition == "aa"
    other = anonymized(data, "_nac")
    with pytest.raises(VoicePrivacyError, match="'_nac' and trials '_mcadams' are of two systems"):
        verify_vpc(copy, LogMel(), enrolment=other)
    with pytest.raises(VoicePrivacyError, match="'dev', 'test' lacking in"):
        verify_vpc(copy, LogMel(), enrolment=replace(original, subsets={}))
    with pytest.raises(VoicePrivacyError, match="dev and test lacking in"):
        verify_vpc(replace(original, subsets={}), LogMel())


def test_a_system_of_the_attacker_challenge_is_anonymized(tmp_path):
    tree = vpac(write_vpac(tmp_path).parents[1], "T8-5")
    data = from_vpac(tree, "T8-5")
    found = verify_vpc(data, LogMel())
    assert (found.condition, data.name, len(data.train)) == ("aa", tree.name, len(tree.train))
    original = replace(data, suffix="")
    assert verify_vpc(data, LogMel(), enrolment=original).condition == "oa"


def test_embeddings_are_kept_and_unscored_trials_listed(data, tmp_path):
    whole = read_vpc(data)
    first = evaluate_vpc(whole, LogMel(), store=tmp_path / "store")
    again = type("Never", (LogMel,), {"embed_many": None})()
    pd.testing.assert_frame_equal(evaluate_vpc(whole, again, store=tmp_path / "store"), first)
    (data / "libri_dev_trials_f" / "wav" / "2000-2-0000.wav").unlink()
    part = read_vpc(data, missing="drop")
    with pytest.raises(VoicePrivacyError, match="2000-2-0000"):
        verify_vpc(part, LogMel())
    assert len(verify_vpc(part, LogMel(), missing="drop").lost) == 2


@pytest.fixture(scope="module")
def librispeech(shared_data, tmp_path_factory):
    """Readers of LibriSpeech as a challenge tree: 2 s pieces, the genders dealt out."""
    pieces = cut(read_folder(shared_data("librispeech_train_clean_100")).select(range(60)))
    by_reader = pieces.table.groupby("speaker", sort=True).indices
    readers = [reader for reader, rows in by_reader.items() if len(rows) >= 5][:40]
    data = tmp_path_factory.mktemp("recipe") / "data"
    for number, reader in enumerate(readers):
        subset, letter = ("dev", "test")[number % 2], "fm"[number // 2 % 2]
        for k, row in enumerate(by_reader[reader][:6]):
            place = f"libri_{subset}_enrolls" if k < 3 else f"libri_{subset}_trials_{letter}"
            path = data / place / "wav" / reader / f"{pieces.table['utterance'][row]}.wav"
            path.parent.mkdir(parents=True, exist_ok=True)
            soundfile.write(path, pieces.audio(row), 16_000)
    for name in SETS:
        sounds = sorted((data / name / "wav").rglob("*.wav"))
        lines = "".join(f"{f.stem} {f.parent.name}\n" for f in sounds)
        (data / name / "utt2spk").write_text(lines)
        if "trials" in name:
            pairs = [
                f"{e} {f.stem} {'target' if e == f.parent.name else 'nontarget'}\n"
                for e in sorted({f.parent.name for f in sounds})
                for f in sounds
            ]
            (data / name / "trials").write_text("".join(pairs))
    return data


def test_real_readers_are_told_apart_and_averages_are_means(librispeech):
    verification = verify_vpc(read_vpc(librispeech), LogMel())
    table = eer_table(verification).set_index(["subset", "gender"])
    for one in verification.cells:
        scores = one.scores[one.target], one.scores[one.tested & ~one.target]
        expected = speechbrain_eer(*scores), rocch_eer(*scores)
        assert tuple(table.loc[(one.subset, one.gender), RULES]) == expected
    by_gender = table[table.index.get_level_values("gender") != "average"]
    assert len(by_gender) == 4
    assert table.loc[("average", "average"), RULES[0]] == pytest.approx(verification.eer)
    assert table.loc[("average", "average"), RULES[0]] < 0.2


@pytest.mark.slow
def test_anonymizing_real_trials_hides_their_readers(librispeech):
    for file in sorted(librispeech.glob("libri_*/wav/*/*.wav")):
        name, reader = file.parts[-4], file.parts[-2]
        copy = librispeech / f"{name}_mcadams" / "wav" / reader / file.name
        copy.parent.mkdir(parents=True, exist_ok=True)
        samples = McAdams(level="utterance").anonymize(
            soundfile.read(file, dtype="float32")[0], utterance=file.stem, speaker=reader
        )
        soundfile.write(copy, samples, 16_000)
    original, copy = read_vpc(librispeech), read_vpc(librispeech, "_mcadams")
    rates = [
        evaluate_vpc(trials, LogMel(), enrolment=original)[RULES[0]].iloc[-1]
        for trials in (original, copy)
    ]
    assert rates[1] > rates[0] + 0.1
