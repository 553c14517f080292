"""`voiceprivacy corpus check` knows every kind of folder, and tells what is wrong in it."""

import shutil

import pandas as pd
import pytest

pytest.importorskip("soundfile", reason="the speech extra is not installed")

import numpy as np
import soundfile
from click.testing import CliRunner
from vpac_tree import write_vpac

from voiceprivacy.cli import main
from voiceprivacy.corpora import read_folder
from voiceprivacy.kaldi import write_kaldi


def save(path, seconds=0.9, rate=16_000, value=0.1):
    path.parent.mkdir(parents=True, exist_ok=True)
    soundfile.write(path, np.full(round(seconds * rate), value), rate)
    return path


def check(path, *options):
    return CliRunner().invoke(main, ["corpus", "check", str(path), *map(str, options)])


def summary(done):
    """The table that was printed, a dict for each set."""
    lines = done.output.splitlines()
    start = next(k for k, line in enumerate(lines) if line.split()[:2] == ["set", "utterances"])
    names = lines[start].split()
    rows = {}
    for line in lines[start + 1 :]:
        if line.startswith(("All of it", "Cannot be", "Mind", "Error")):
            break
        # A set's name may hold blanks, a list of rates too.
        words = line.replace(", ", ",").rsplit(maxsplit=len(names) - 1)
        rows[words[0].strip()] = dict(zip(names[1:], words[1:], strict=True))
    return rows


@pytest.fixture
def folder(tmp_path):
    for k, speaker in enumerate(("ann", "bob")):
        for u in range(2):
            save(tmp_path / "speech" / speaker / f"{k}{u}.wav")
    return tmp_path / "speech"


def test_a_folder_of_sound_is_summarised(folder):
    done = check(folder)
    assert done.exit_code == 0, done.output
    assert f"{folder}: folder of sound files." in done.output
    assert "All of it can be used." in done.output
    assert summary(done) == {
        "speech": {
            "utterances": "4", "speakers": "2", "female": "0", "male": "0", "unknown": "2",
            "Hz": "16,000",
        }
    }  # fmt: skip


def test_hours_and_all_rates_are_added_up_when_asked(folder):
    save(folder / "bob" / "long.wav", 3600 * 0.25, 8_000)
    done = check(folder, "--durations")
    assert summary(done)["speech"]["hours"] == "0.251"
    assert summary(done)["speech"]["Hz"] == "8,000,16,000"
    assert "Mind: 1 low rate ('long'). First: 8000 Hz: nothing above 4000 Hz" in done.output
    assert done.exit_code == 0


@pytest.mark.parametrize("options", [(), ("--durations",), ("--decode",)])
def test_a_low_rate_is_told_of_tables_too(folder, options):
    """Case 04: sound of 8 kHz behind a Kaldi directory."""
    save(folder / "bob" / "phone.wav", 1, 8_000)
    write_kaldi(folder.parent / "kaldi", read_folder(folder))
    for place in (folder, folder.parent / "kaldi"):
        done = check(place, *options)
        assert done.exit_code == 0, done.output
        assert "Mind: 1 low rate ('phone'). First: 8000 Hz: nothing above 4000" in done.output


def test_problems_are_told_by_reason_written_whole_and_end_in_status_1(folder, tmp_path):
    (folder / "bob" / "broken.wav").write_text("no sound")
    (folder / "bob" / "other.m4a").write_text("another format")
    save(folder / "nobody.wav")
    save(folder / "bob" / "quiet.wav", value=0.0)
    done = check(folder, "--report", tmp_path / "problems.csv")
    assert done.exit_code == 1
    assert "Cannot be used: 1 format ('other'). First: .m4a is not read" in done.output
    assert f"Error: 3 of what is there cannot be used; {tmp_path / 'problems.csv'}" in done.output
    written = pd.read_csv(tmp_path / "problems.csv", dtype=str)
    assert written.columns.tolist() == ["set", "use", "utterance", "path", "reason", "detail"]
    assert sorted(written["reason"]) == ["format", "no speaker", "unreadable"]
    assert set(written["use"]) == {"no"}
    more = check(folder, "--decode")
    assert "Error: 4 of what is there cannot be used; --report FILE.csv lists all." in more.output
    assert "Cannot be used: 1 silent ('quiet')" in more.output
    assert summary(more)["speech"]["hours"] == "0.001"


def test_only_some_headers_are_read_unless_asked_for_all(folder, monkeypatch):
    monkeypatch.setattr("voiceprivacy.cli.corpus.LOOKED_AT", 2)
    kaldi = folder.parent / "kaldi"
    write_kaldi(kaldi, read_folder(folder))
    (folder / "ann" / "01.wav").write_text("no sound")
    assert check(kaldi).exit_code == 0
    done = check(kaldi, "--durations")
    assert done.exit_code == 1
    assert "Cannot be used: 1 unreadable ('01')" in done.output


def test_a_kaldi_directory_says_what_is_not_whole(folder):
    kaldi = folder.parent / "kaldi"
    write_kaldi(kaldi, read_folder(folder), genders={"ann": "female"})
    assert summary(check(kaldi))["kaldi"]["female"] == "1"
    lines = (kaldi / "wav.scp").read_text().splitlines()
    lines[1] = f"01 touch {folder.parent / 'owned'} |"
    (kaldi / "wav.scp").write_text("\n".join(lines))
    (kaldi / "utt2spk").open("a").write("zz bob\n")
    done = check(kaldi)
    assert done.exit_code == 1
    assert "Kaldi directory." in done.output
    assert "Cannot be used: 1 no sound ('01'). First: wav.scp, line 2: is a command" in done.output
    assert "Cannot be used: 1 not in all tables ('zz'). First: not in wav.scp" in done.output
    assert not (folder.parent / "owned").exists()


def test_librispeech_has_its_readers_genders(tmp_path):
    root = tmp_path / "LibriSpeech"
    for reader in (84, 85):
        chapter = save(root / f"dev-clean/{reader}/1/{reader}-1-0000.flac").parent
        (chapter / f"{reader}-1.trans.txt").write_text(f"{reader}-1-0000 WORDS\n")
    done = check(root)
    assert done.exit_code == 0, done.output
    assert "LibriSpeech folder." in done.output
    assert f"Mind: 2 unknown gender ('{root / 'dev-clean' / '84'}', " in done.output
    assert "there is no SPEAKERS.TXT" in done.output
    (root / "SPEAKERS.TXT").write_text(
        "84 | F | dev-clean | 8 | Name\n85 | M | dev-clean | 8 | N\n"
    )
    row = summary(check(root))["LibriSpeech,dev-clean"]
    assert (row["female"], row["male"], row["unknown"]) == ("1", "1", "0")


@pytest.fixture(scope="module")
def challenges(tmp_path_factory):
    root = tmp_path_factory.mktemp("challenges")
    write_vpac(root / "vpac", "T8-5")
    write_vpac(root / "vpc", "recipe", suffix=False)
    data = root / "vpc" / "recipe" / "data"
    for name in [place.name for place in data.iterdir()]:
        shutil.copytree(data / name / "wav", data / f"{name}_mcadams" / "wav")
    return root


def test_a_challenge_s_tree_is_known_from_inside_and_outside(challenges):
    for path in (challenges / "vpc" / "recipe", challenges / "vpc" / "recipe" / "data"):
        done = check(path)
        assert done.exit_code == 0, done.output
        assert "VoicePrivacy Challenge tree." in done.output
        sets = summary(done)
        assert len(sets) == 10
        assert sets["libri_dev_trials_mcadams"]["utterances"] == "18"
        assert sets["train-clean-360"]["female"] == sets["libri_dev_enrolls"]["male"] == "2"


def test_one_system_that_cannot_be_read_does_not_hide_the_others(challenges, tmp_path):
    tree = shutil.copytree(challenges / "vpc" / "recipe", tmp_path / "recipe")
    shutil.rmtree(tree / "data" / "libri_dev_enrolls_mcadams")
    done = check(tree)
    assert done.exit_code == 1
    assert len(summary(done)) == 5
    assert "1 cannot be read ('_mcadams'). First: " in done.output
    assert "lacks 'libri_dev_enrolls_mcadams'" in done.output
    for path in (tree / "data").glob("libri_dev_enrolls"):
        shutil.rmtree(path)
    done = check(tree)
    assert done.exit_code == 2
    assert "is a VoicePrivacy Challenge tree, but nothing of it can be read: " in done.output


def test_the_attacker_challenge_s_tree_is_known(challenges, tmp_path):
    tree = shutil.copytree(challenges / "vpac", tmp_path / "vpac")
    done = check(tree)
    assert done.exit_code == 0, done.output
    assert "VoicePrivacy Attacker Challenge tree." in done.output
    assert summary(done)["train-clean-360_T8-5"]["utterances"] == "12"
    (tree / "T8-5/data/libri_test_enrolls_T8-5/wav/3000-1-0000.wav").unlink()
    done = check(tree)
    assert done.exit_code == 1
    assert "Cannot be used: 1 not in all tables ('3000-1-0000')" in done.output


def test_common_voice_is_known_by_its_clips_and_tables(tmp_path):
    for k in range(4):
        save(tmp_path / "clips" / f"cv_{k}.mp3")
    assert "folder of sound files" in check(tmp_path).output
    rows = "".join(
        f"{speaker}\tcv_{k}.mp3\t{gender}\t{age}\n"
        for k, (speaker, gender, age) in enumerate(
            [
                ("ann", "female", "teens"),
                ("ann", "male", "ancient"),
                ("bob", "", ""),
                ("eve", "", ""),
            ]
        )
    )
    (tmp_path / "validated.tsv").write_text(f"client_id\tpath\tgender\tage\n{rows}")
    done = check(tmp_path)
    assert done.exit_code == 0, done.output
    assert "Common Voice folder." in done.output
    assert summary(done)[tmp_path.name]["unknown"] == "3"
    assert "Mind: 1 speakers say more than one gender" in done.output
    assert "Mind: 1 rows have no known word for age, so unknown: 'ancient (1)'" in done.output


def test_a_report_that_is_there_is_kept_unless_asked_for(folder, tmp_path):
    report = tmp_path / "problems.csv"
    report.write_text("mine\n")
    done = check(folder, "--report", report)
    assert done.exit_code == 2
    assert f"{report} exists and is kept" in done.output
    assert report.read_text() == "mine\n"
    assert check(folder, "--report", report, "--overwrite").exit_code == 0
    assert report.read_text().startswith("set,use")


def test_what_is_no_folder_of_speech_is_told(tmp_path):
    done = check(tmp_path / "none")
    assert done.exit_code == 2
    assert "none: no such folder of speech" in done.output
    done = check(tmp_path)
    assert done.exit_code == 2
    assert "no usable speech" in done.output
    assert "Traceback" not in done.output
