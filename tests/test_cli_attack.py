"""`voiceprivacy attack`: an attack on a miniature of the challenge's data, from the shell."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from importlib.util import find_spec

import numpy as np
import pytest
import soundfile
from attacker_speech import TINY, words
from click.testing import CliRunner
from vpac_tree import write_vpac

from voiceprivacy._training import Training
from voiceprivacy.attackers import load_attacker, write_settings
from voiceprivacy.cli import main
from voiceprivacy.kaldi import read_kaldi
from voiceprivacy.segmentation import write_timestamps
from voiceprivacy.verification import read_verification

pytest.importorskip("torch", reason="the speech extra is not installed")
if find_spec("speechbrain") is None:
    pytest.skip("the attack extra is not installed", allow_module_level=True)


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    root = tmp_path_factory.mktemp("tree")
    data = write_vpac(root)
    write_settings(replace(TINY, max_steps=4, evaluate_every=2), data / "tiny.yaml")
    corpus = read_kaldi(data / "train-clean-360_T8-5")
    write_timestamps(words(corpus), data / "words.csv")
    return data


def arguments(tree, out, *options):
    sides = [f"libri_test_trials_{letter}_T8-5" for letter in "fm"]
    trials = [part for side in sides for part in ("--trials", str(tree / side))]
    return [
        *("attack", str(tree / "train-clean-360_T8-5")),
        *("--enrol", str(tree / "libri_test_enrolls_T8-5"), *trials),
        *("--settings", str(tree / "tiny.yaml"), "--out", str(out), *options),
    ]


def attack(tree, out, *options):
    return CliRunner().invoke(main, arguments(tree, out, *options))


def test_an_attack_is_trained_scored_and_told(tree, tmp_path):
    run = attack(
        tree, tmp_path, "--row", "RR + concatenation", "--timestamps", str(tree / "words.csv")
    )
    assert run.exit_code == 0, run.output
    about = json.loads((tmp_path / "attack.json").read_text())
    assert [cell["gender"] for cell in about["genders"]] == ["female", "male"]
    assert [cell["targets"] for cell in about["genders"]] == [6, 6]
    assert [cell["nontargets"] for cell in about["genders"]] == [12, 12]
    rates = [cell["eer"] for cell in about["genders"]]
    assert about["average"]["eer"] == pytest.approx(np.mean(rates))
    assert about["average"]["low"] <= about["average"]["eer"] <= about["average"]["high"]
    assert read_verification(tmp_path / "scores.npz").eer == pytest.approx(np.mean(rates))
    attacker = load_attacker(tmp_path / "attacker")
    assert about["attacker"] == attacker.name
    assert about["steps"] == 4
    assert attacker.settings.augmentation.strategy == "rr"
    assert f"average  EER {100 * about['average']['eer']:.2f} %" in run.output
    assert "female   EER" in run.output
    assert not (tmp_path / "embeddings").exists()


def test_a_finished_attack_is_kept_unless_told_otherwise(tree, tmp_path):
    first = attack(tree, tmp_path, "--seed", "1")
    assert first.exit_code == 0, first.output
    kept = (tmp_path / "attack.json").read_bytes()
    run = attack(tree, tmp_path, "--seed", "2")
    assert run.exit_code == 2
    assert "attack.json is already there" in run.stderr
    assert (tmp_path / "attack.json").read_bytes() == kept
    run = attack(tree, tmp_path, "--seed", "2", "--overwrite")
    assert run.exit_code == 0, run.output
    assert load_attacker(tmp_path / "attacker").settings.seed == 2


def test_a_finished_attack_is_kept_until_another_takes_its_place(tree, tmp_path, monkeypatch):
    assert attack(tree, tmp_path, "--seed", "1").exit_code == 0
    kept = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    again = ["--seed", "2", "--overwrite"]
    assert attack(tree, tmp_path, *again, "--trials", "nowhere").exit_code == 2
    calls = interrupt(monkeypatch, 3)
    assert attack(tree, tmp_path, *again).exit_code == 130
    assert {path: path.read_bytes() for path in kept} == kept
    assert attack(tree, tmp_path, *again).exit_code == 0
    assert calls == [1, 2, 3, 3, 4]
    assert load_attacker(tmp_path / "attacker").settings.seed == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "attack.json",
        "attacker",
        "scores.npz",
    ]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("nobody {utterance} nontarget", "1 have no enrolment embedding"),
        ("{speaker} nothing nontarget", "1 have no trial embedding"),
    ],
)
def test_trials_that_cannot_be_scored_are_refused_before_training(tree, tmp_path, row, message):
    copy = tmp_path / "tree"
    shutil.copytree(tree, copy)
    path = copy / "libri_test_trials_f_T8-5" / "trials"
    speaker, utterance, _ = path.read_text().splitlines()[0].split()
    with path.open("a") as file:
        file.write(row.format(speaker=speaker, utterance=utterance) + "\n")
    run = attack(copy, tmp_path / "out")
    assert run.exit_code == 2
    assert message in run.stderr
    assert not (tmp_path / "out").exists()


def test_a_speaker_without_gender_is_told_before_training(tree, tmp_path):
    (tmp_path / "people.csv").write_text("speaker,gender\n3000,f\n")
    run = attack(tree, tmp_path / "out", "--genders", str(tmp_path / "people.csv"))
    assert run.exit_code == 2
    assert "have no gender female or male" in run.stderr
    assert not (tmp_path / "out").exists()


def test_what_is_not_used_is_told(tree, tmp_path):
    trials = tmp_path / "more"
    for speaker in ("3000", "3001"):
        for path in read_kaldi(tree / "libri_test_trials_f_T8-5").table["path"]:
            if f"{speaker}-" in path:
                (trials / speaker).mkdir(parents=True, exist_ok=True)
                shutil.copy(path, trials / speaker)
    (trials / "3000" / "broken.flac").touch()
    rows = (tree / "words.csv").read_text().splitlines()
    (tmp_path / "words.csv").write_text("\n".join(rows[:-1]) + "\n")
    run = CliRunner().invoke(
        main,
        [
            *("attack", str(tree / "train-clean-360_T8-5"), "--trials", str(trials)),
            *("--enrol", str(tree / "libri_test_enrolls_T8-5"), "--out", str(tmp_path / "out")),
            *("--settings", str(tree / "tiny.yaml"), "--timestamps", str(tmp_path / "words.csv")),
            *("--missing", "drop"),
        ],
    )
    assert run.exit_code == 0, run.output
    assert f"Left out of {trials}: 1 " in run.stderr
    assert "Without words: 1 not in the file." in run.stderr


def silenced(tree, tmp_path):
    """A copy of the tree, and the id of a trial in it that has no sound."""
    copy = tmp_path / "tree"
    shutil.copytree(tree, copy)
    first = read_kaldi(copy / "libri_test_trials_f_T8-5").table.iloc[0]
    soundfile.write(first["path"], np.zeros(16_000), 16_000)
    return copy, first["utterance"]


def test_a_trial_without_sound_is_refused_before_training(tree, tmp_path):
    copy, utterance = silenced(tree, tmp_path)
    run = attack(copy, tmp_path / "out")
    assert run.exit_code == 2
    assert f"1 utterances cannot be scored: '{utterance} (silent)'" in run.stderr
    assert "--missing drop" in run.stderr
    assert not (tmp_path / "out").exists()


def test_the_others_are_scored_on_request(tree, tmp_path):
    copy, utterance = silenced(tree, tmp_path)
    listed = (copy / "libri_test_trials_f_T8-5" / "trials").read_text().count(f" {utterance} ")
    run = attack(copy, tmp_path / "out", "--missing", "drop")
    assert run.exit_code == 0, run.output
    lost = read_verification(tmp_path / "out" / "scores.npz").lost
    about = json.loads((tmp_path / "out" / "attack.json").read_text())
    assert lost["utterance"].tolist() == [utterance] * listed
    assert about["lost_trials"] == pytest.approx(listed / 36)
    assert f"Mind: {listed / 36:.1%} of the trials asked for were lost." in run.stderr


def test_a_folder_of_other_things_is_left_alone(tree, tmp_path):
    (tmp_path / "thesis.tex").touch()
    for options in ([], ["--overwrite"]):
        run = attack(tree, tmp_path, *options)
        assert run.exit_code == 2
        assert "holds other files ('thesis.tex'); name a new --out" in run.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]
    (tmp_path / "attacker").mkdir()
    (tmp_path / "attacker" / "notes.txt").touch()
    run = attack(tree, tmp_path, "--overwrite")
    assert run.exit_code == 2
    assert "holds other files ('attacker', 'thesis.tex')" in run.stderr
    assert (tmp_path / "attacker" / "notes.txt").exists()


def test_a_table_without_speakers_is_told(tree, tmp_path):
    (tmp_path / "people.csv").write_text("who,gender\n3000,f\n")
    run = attack(tree, tmp_path / "out", "--genders", str(tmp_path / "people.csv"))
    assert run.exit_code == 2
    assert "has no column 'speaker'; its columns are 'who', 'gender'" in run.stderr
    assert "constraints" not in run.stderr


def test_an_interrupted_attack_goes_on(tree, tmp_path, monkeypatch):
    calls = interrupt(monkeypatch, 3)
    run = attack(tree, tmp_path)
    assert run.exit_code == 130
    assert "run the same command again" in run.stderr
    assert attack(tree, tmp_path).exit_code == 0
    assert calls == [1, 2, 3, 3, 4]


def interrupt(monkeypatch, step):
    """Interrupt training once, at a step; return the list of the steps begun."""
    learn, calls = Training._learn, []

    def stopping(self, *arguments):
        calls.append(self.step)
        if len(calls) == step:
            raise KeyboardInterrupt
        return learn(self, *arguments)

    monkeypatch.setattr(Training, "_learn", stopping)
    return calls


def test_without_a_list_all_speakers_of_a_gender_are_tried(tree, tmp_path):
    copy = tmp_path / "tree"
    shutil.copytree(tree, copy)
    for path in copy.glob("*/trials"):
        path.unlink()
    run = attack(copy, tmp_path / "out")
    assert run.exit_code == 0, run.output
    about = json.loads((tmp_path / "out" / "attack.json").read_text())
    assert [cell["nontargets"] for cell in about["genders"]] == [12, 12]


def test_genders_come_from_a_table_where_there_are_no_kaldi_files(tree, tmp_path):
    copy = tmp_path / "tree"
    shutil.copytree(tree, copy)
    for path in copy.glob("*/spk2gender"):
        path.unlink()
    run = attack(copy, tmp_path / "out")
    assert run.exit_code == 2
    assert "tell no genders; give --genders" in run.stderr
    people = [f"{3000 + 500 * side + k},{'fm'[side]}" for side in (0, 1) for k in range(3)]
    (tmp_path / "people.csv").write_text("\n".join(["speaker,gender", *people]))
    run = attack(copy, tmp_path / "out", "--genders", str(tmp_path / "people.csv"))
    assert run.exit_code == 0, run.output


def test_an_attacker_that_knows_the_speakers_is_remarked(tree, tmp_path):
    own = str(tree / "train-clean-360_T8-5")
    enrol, trials = str(tree / "libri_test_enrolls_T8-5"), str(tree / "libri_test_trials_f_T8-5")
    common = ["--settings", str(tree / "tiny.yaml"), "--out", str(tmp_path)]
    run = CliRunner().invoke(main, ["attack", enrol, "--enrol", own, "--trials", trials, *common])
    assert run.exit_code == 2
    assert "Mind: 2 speakers to be told apart are also trained on: '3000', '3001'" in run.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--row", "RR+concat"], "did you mean RR+concatenation?"),
        (["--row", "RR"], "voiceprivacy segment finds them"),
        (["--settings", "smal"], "did you mean small?"),
        (["--settings", "."], ".: this is a folder; expected one of paper, small, or the path"),
        (["--device", "gpu"], "device 'gpu' cannot be used here"),
    ],
)
def test_what_is_wrong_is_told_without_a_traceback(tree, tmp_path, options, message):
    run = attack(tree, tmp_path / "out", *options)
    assert run.exit_code == 2
    assert message in run.stderr
    assert "Traceback" not in run.output + run.stderr
    assert not (tmp_path / "out" / "attack.json").exists()


@pytest.mark.slow
@pytest.mark.parametrize("workers", ["0", "2"])
def test_ctrl_c_in_a_terminal_stops_every_process(tree, tmp_path, workers):
    """The signal goes to the whole group, as a terminal sends it."""
    write_settings(replace(TINY, max_steps=100_000, evaluate_every=2), tmp_path / "long.yaml")
    command = arguments(tree, tmp_path / "out", "--settings", str(tmp_path / "long.yaml"))
    main_call = "from voiceprivacy.cli import main; main()"
    command = [sys.executable, "-c", main_call, *command, "--workers", workers]
    running = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    deadline = time.monotonic() + 90
    while not (tmp_path / "out" / "attacker" / "last.pt").exists():
        assert time.monotonic() < deadline
        assert running.poll() is None, running.communicate()
        time.sleep(0.1)
    os.killpg(running.pid, signal.SIGINT)
    _, told = running.communicate(timeout=60)
    assert running.returncode == 130
    assert told.strip().endswith("run the same command again.")
    assert "Traceback" not in told
    with pytest.raises(ProcessLookupError):
        os.killpg(running.pid, 0)
