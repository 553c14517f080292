"""Speech anonymized elsewhere, in every layout in which it is handed out."""

import shutil

import numpy as np
import pytest
import soundfile
from test_anonymize import save, write_corpus

from voiceprivacy.corpora import Corpus, read_folder
from voiceprivacy.errors import VoicePrivacyError
from voiceprivacy.kaldi import read_kaldi, write_kaldi
from voiceprivacy.precomputed import VPAC_SYSTEMS, Precomputed
from voiceprivacy.systems import SYSTEMS, find_system

IDS = ["1272-128104-0000", "1272-128104-0001", "1988-24833-0000"]
TONE = (0.3 * np.sin(np.arange(8_000) / 20)).astype(np.float32)


@pytest.fixture
def corpus(tmp_path):
    for name in IDS:
        save(tmp_path / "in" / f"{name}.wav", TONE)
    return read_folder(tmp_path / "in")


def halved(folder, names=IDS, suffix=".wav"):
    for name in names:
        save(folder / f"{name}{suffix}", TONE / 2)
    return folder


def kaldi(folder, names=IDS):
    """A set as recipes leave it: sound in wav/, tables of ids."""
    halved(folder / "wav", names)
    (folder / "utt2spk").write_text("".join(f"{u} {u.split('-')[0]}\n" for u in names))
    return folder


def check(system, corpus, missing=()):
    found = system.of(corpus)
    assert found.skipped["utterance"].tolist() == list(missing)
    assert len(found) + len(missing) == len(corpus)
    assert found.table["utterance"].isin(corpus.table["utterance"]).all()
    for row in range(len(found)):
        np.testing.assert_allclose(found.audio(row), TONE / 2, atol=1e-4)


def test_librispeech_names_and_speakers_folders(corpus, tmp_path):
    check(find_system(halved(tmp_path / "flat")), corpus)
    check(
        find_system(halved(tmp_path / "deep" / "1272" / "128104", IDS[:2]).parents[1]),
        corpus,
        IDS[2:],
    )
    own = write_corpus(tmp_path / "own")
    for row in own.table.itertuples():
        save(tmp_path / "made" / row.speaker / f"{row.utterance}.flac", TONE / 2)
    check(Precomputed(tmp_path / "made"), own)


def test_a_folder_for_each_part(corpus, tmp_path):
    halved(tmp_path / "out" / "in")
    halved(tmp_path / "out" / "other", IDS[:1])
    check(Precomputed(tmp_path / "out"), corpus)


def test_a_kaldi_directory_with_and_without_a_wav_scp(corpus, tmp_path):
    check(Precomputed(kaldi(tmp_path / "one")), corpus)
    place = halved(tmp_path / "elsewhere")
    folder = tmp_path / "two"
    folder.mkdir()
    lines = "".join(f"{u} {place / u}.wav\n" for u in IDS[1:])
    (folder / "wav.scp").write_text(lines)
    check(Precomputed(folder), corpus, IDS[:1])


def test_ids_tell_more_than_file_names(tmp_path):
    """Kaldi ids often begin with the speaker, and their files do not."""
    own = write_corpus(tmp_path / "own", 1)
    renamed = Corpus("own", own.table.assign(utterance=own.table["speaker"] + "-x"))
    folder = tmp_path / "made"
    halved(folder / "wav", renamed.table["utterance"])
    (folder / "utt2spk").write_text("s0-x s0\ns1-x s1\n")
    check(Precomputed(folder), renamed)
    parts = Corpus("test", renamed.table.assign(utterance="test/" + renamed.table["utterance"]))
    check(Precomputed(folder), parts)


def test_a_challenge_tree_by_its_suffix(corpus, tmp_path):
    data = tmp_path / "data"
    kaldi(data / "libri_dev_enrolls_sttts", IDS[:1])
    kaldi(data / "libri_dev_trials_f_sttts", IDS[1:])
    check(Precomputed(data), corpus)
    assert Precomputed(data).name == "sttts"
    kaldi(data / "libri_dev_enrolls_nac", IDS[:1])
    with pytest.raises(VoicePrivacyError, match="suffix ''; set suffix to one of '_nac', '_sttts'"):
        Precomputed(data)
    check(find_system("precomputed", {"path": str(data), "suffix": "_nac"}), corpus, IDS[1:])
    with pytest.raises(VoicePrivacyError, match="no copy of the suffix '_x'"):
        Precomputed(data, "_x")


def test_what_lies_outside_of_a_tree_is_found_from_where_the_recipe_ran(corpus, tmp_path):
    """B3 leaves its sound in exp/, and names it in wav.scp from there."""
    folder = tmp_path / "data" / "libri_dev_enrolls_sttts"
    folder.mkdir(parents=True)
    halved(tmp_path / "exp" / "anon_speech")
    (folder / "wav.scp").write_text("".join(f"{u} exp/anon_speech/{u}.wav\n" for u in IDS))
    check(Precomputed(tmp_path / "data"), corpus)


@pytest.mark.parametrize("suffix", ["_T8-5", ""])
def test_a_system_of_the_attacker_challenge(suffix, corpus, tmp_path):
    data = tmp_path / "root" / "T8-5" / "data"
    kaldi(data / f"libri_dev_enrolls{suffix}", IDS[:1])
    halved(data / f"train-clean-360{suffix}" / "wav", IDS[1:])
    system = find_system("vpac-T8-5", {"root": str(tmp_path / "root")})
    assert system.name == "T8-5"
    check(system, corpus)


def test_the_attacker_challenge_s_systems_need_their_data(tmp_path):
    assert [f"vpac-{system}" in SYSTEMS for system in VPAC_SYSTEMS] == [True] * 7
    with pytest.raises(VoicePrivacyError, match=r"vpac-B4: set root to .*<root>/B4/data"):
        find_system("vpac-B4")
    (tmp_path / "B3" / "data").mkdir(parents=True)
    with pytest.raises(VoicePrivacyError, match=r"data: no such folder; systems in .*: 'B3'"):
        find_system("vpac-B4", {"root": str(tmp_path)})
    with pytest.raises(VoicePrivacyError, match="precomputed: set path"):
        find_system("precomputed")
    with pytest.raises(VoicePrivacyError, match="nowhere: no such folder of anonymized speech"):
        Precomputed(tmp_path / "nowhere")


def test_the_original_s_own_files_are_not_anonymized(corpus, tmp_path):
    folder = tmp_path / "copy"
    write_kaldi(folder, corpus)
    with pytest.raises(VoicePrivacyError, match=r"none of the 3 .*the original's own file"):
        Precomputed(folder).of(corpus)
    halved(tmp_path / "new", IDS[:2])
    scp = [f"{u} {tmp_path / 'new' / u}.wav\n" for u in IDS[:2]]
    (folder / "wav.scp").write_text("".join([*scp, f"{IDS[2]} {tmp_path / 'in' / IDS[2]}.wav\n"]))
    check(Precomputed(folder), corpus, IDS[2:])


def test_a_copy_is_a_folder_of_its_own_for_each_source(corpus, tmp_path):
    halved(tmp_path / "a"), halved(tmp_path / "b")
    made = Precomputed(tmp_path / "a").copied(corpus, tmp_path / "out")
    assert made.table["utterance"].tolist() == IDS
    assert soundfile.info(made.table["path"][0]).format == "FLAC"
    with pytest.raises(VoicePrivacyError, match="holds the output of another run"):
        Precomputed(tmp_path / "b").copied(corpus, tmp_path / "out")


def test_a_real_kaldi_directory_is_read_too(tmp_path):
    own = write_corpus(tmp_path / "in")
    made = tmp_path / "kaldi"
    shutil.copytree(tmp_path / "in", tmp_path / "louder")
    write_kaldi(made, read_folder(tmp_path / "louder"))
    assert len(Precomputed(made).of(own)) == len(read_kaldi(made))
