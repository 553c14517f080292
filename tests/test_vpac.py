"""The attacker challenge's data are found in every layout, and what lacks is named at once."""

import shutil

import numpy as np
import pytest

pytest.importorskip("soundfile", reason="the speech extra is not installed")

from vpac_tree import write_vpac

from voiceprivacy import vpac as module
from voiceprivacy.embeddings import Embeddings
from voiceprivacy.errors import VoicePrivacyError
from voiceprivacy.evidence import evidence_of, is_stand_in
from voiceprivacy.verification import joined, same_sex_trials, verify
from voiceprivacy.vpac import vpac


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    root = tmp_path_factory.mktemp("vpac")
    write_vpac(root)
    return root


@pytest.fixture
def tree(kept, tmp_path):
    """A tree of one's own to break."""
    return shutil.copytree(kept, tmp_path / "vpac")


def test_a_system_has_training_data_and_two_subsets(kept):
    system = vpac(kept, "T8-5")
    assert len(system.train) == 12
    assert system.train.table["speaker"].nunique() == 4
    assert list(system.subsets) == ["dev", "test"]
    dev = system.subsets["dev"]
    assert dev.enrolment.table["speaker"].value_counts().to_dict() == dict.fromkeys(
        ["2000", "2001", "2500", "2501"], 2
    )
    assert len(dev.trials) == 18
    assert dev.trial_list["target"].value_counts().to_dict() == {False: 24, True: 12}
    assert dev.genders == {
        str(s): "female" if s < 2500 else "male" for s in (2000, 2001, 2002, 2500, 2501, 2502)
    }
    assert dev.trial_list["line"].iloc[[0, -1]].tolist() == [
        "libri_dev_trials_f/trials:1",
        "libri_dev_trials_m/trials:18",
    ]
    assert len(system.train.audio(0)) == 56_000


def test_a_part_of_the_data_is_not_taken_for_the_paper_s(kept, monkeypatch):
    part = vpac(kept, "T8-5")
    assert part.name == "part of the VoicePrivacy Attacker Challenge 2024, T8-5"
    assert is_stand_in(evidence_of("speech", corpus=part.train.name), "SRC")
    assert part.counts.loc["libri_dev_enrolls"].tolist() == [8, 343]
    whole = dict(part.counts["utterances"])
    monkeypatch.setattr(module, "UTTERANCES", whole | {"train-clean-360": 12.1})
    full = vpac(kept, "T8-5")
    assert full.name == "VoicePrivacy Attacker Challenge 2024, T8-5"
    for corpus in (full.train, full.subsets["test"].trials, full.subsets["dev"].enrolment):
        assert not is_stand_in(evidence_of("speech", corpus=corpus.name), "SRC")
    monkeypatch.setattr(module, "UTTERANCES", whole | {"train-clean-360": 13})
    assert vpac(kept, "T8-5").name.startswith("part of")


def test_the_lists_are_the_full_same_sex_products_and_can_be_scored(kept):
    """A voice is its speaker number here, so that every attacker is right."""
    parts = []
    for name, subset in vpac(kept, "T8-5").subsets.items():
        sides = [
            Embeddings(
                corpus.table["utterance"].tolist(),
                corpus.table["speaker"].tolist(),
                np.eye(3)[corpus.table["speaker"].astype(int) % 10],
            )
            for corpus in (subset.enrolment, subset.trials)
        ]
        product = same_sex_trials(*sides, subset.genders)
        keys = ["speaker", "utterance", "target"]
        assert set(map(tuple, product[keys].to_numpy())) == set(
            map(tuple, subset.trial_list[keys].to_numpy())
        )
        parts.append(verify(*sides, subset.trial_list, subset.genders, subset=name))
    table = joined(parts).table()
    assert table["subset"].tolist() == ["dev", "dev", "test", "test"]
    assert table["targets"].tolist() == [6] * 4
    assert joined(parts).eer == 0


@pytest.mark.parametrize("name", ["train-clean-360", "libri360_anon_T8-5"])
def test_sets_may_lack_the_suffix_and_training_data_have_another_name(tree, name):
    data = tree / "T8-5" / "data"
    (data / "train-clean-360_T8-5").rename(data / name)
    (data / "libri_dev_enrolls_T8-5").rename(data / "libri_dev_enrolls")
    system = vpac(tree, "T8-5")
    assert len(system.train) == 12
    assert len(system.subsets["dev"].enrolment) == 8


def test_speakers_come_from_names_where_there_are_no_tables(tree):
    before = vpac(tree, "T8-5")
    for table in ("utt2spk", "spk2utt", "spk2gender", "text"):
        for path in tree.rglob(table):
            path.unlink()
    after = vpac(tree, "T8-5")
    assert after.train.table.equals(before.train.table)
    assert after.subsets["test"].genders == before.subsets["test"].genders


def test_trial_lists_may_be_the_original_ones(tree, tmp_path):
    for letter in "fm":
        own = tree / "T8-5" / "data" / f"libri_dev_trials_{letter}_T8-5" / "trials"
        for place in (tree / "data", tmp_path / "originals"):
            (place / f"libri_dev_trials_{letter}").mkdir(parents=True)
            shutil.copy(own, place / f"libri_dev_trials_{letter}" / "trials")
        own.unlink()
    assert len(vpac(tree, "T8-5").subsets["dev"].trial_list) == 36
    shutil.rmtree(tree / "data")
    with pytest.raises(VoicePrivacyError, match="lacks the file trials of 'libri_dev_trials_f'"):
        vpac(tree, "T8-5")
    given = vpac(tree, "T8-5", originals=tmp_path / "originals")
    assert len(given.subsets["dev"].trial_list) == 36


def test_everything_that_lacks_is_named_in_one_message(tree):
    data = tree / "T8-5" / "data"
    shutil.rmtree(data / "libri_test_enrolls_T8-5")
    (data / "train-clean-360_T8-5").rename(data / "train-clean-36_T8-5")
    (data / "libri_dev_trials_m_T8-5" / "trials").unlink()
    with pytest.raises(VoicePrivacyError) as told:
        vpac(tree, "T8-5")
    message = str(told.value)
    assert "sets 'train-clean-360', 'libri_test_enrolls' (there: " in message
    assert "'train-clean-36_T8-5'" in message
    assert "the file trials of 'libri_dev_trials_m'" in message
    with pytest.raises(VoicePrivacyError, match=r"systems in .*: 'T8-5'\."):
        vpac(tree, "T8-6")
    with pytest.raises(VoicePrivacyError, match="no such folder"):
        vpac(tree / "none", "T8-5")


def test_tables_that_contradict_each_other_are_refused_or_left_out(tree):
    train = tree / "T8-5" / "data" / "train-clean-360_T8-5"
    (train / "wav" / "1000-1-0000.wav").unlink()
    with pytest.raises(VoicePrivacyError, match="1 only in utt2spk"):
        vpac(tree, "T8-5")
    left = vpac(tree, "T8-5", missing="drop").train
    assert len(left) == 11
    assert left.skipped["utterance"].tolist() == ["1000-1-0000"]


@pytest.mark.parametrize(
    ("table", "old", "new"),
    [
        ("libri_dev_enrolls/spk2gender", "2001 f", "2001 m"),
        ("libri_dev_trials_m/trials", "2501 ", "2001 "),
    ],
)
def test_a_speaker_has_one_gender(tree, table, old, new):
    path = tree / "T8-5" / "data" / table.replace("/", "_T8-5/")
    path.write_text(path.read_text().replace(old, new))
    where = table.removesuffix("/trials")
    with pytest.raises(VoicePrivacyError, match=rf"{where} has 1 speakers as male.*'2001'"):
        vpac(tree, "T8-5")


def test_genders_told_without_tables_of_speakers_are_read(tree):
    folder = tree / "T8-5" / "data" / "libri_dev_enrolls_T8-5"
    for table in ("utt2spk", "spk2utt", "text"):
        (folder / table).unlink()
    assert vpac(tree, "T8-5").subsets["dev"].genders["2501"] == "male"
