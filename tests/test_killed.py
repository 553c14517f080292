"""Long commands killed in the middle: run again, they go on, and what comes out is the same."""

import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace

import pytest
from attacker_speech import TINY

from voiceprivacy.attackers import write_settings
from voiceprivacy.segmentation import true_words, write_timestamps
from voiceprivacy.synthetic import speak

pytestmark = pytest.mark.slow
CALL = [sys.executable, "-c", "from voiceprivacy.cli import main; main()"]


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """Speech to work on, its words, and what the commands need beside it."""
    pytest.importorskip("espeakng_loader", reason="needs the extra demo")
    root = tmp_path_factory.mktemp("speech")
    speak(root / "speech", 8, 12)
    write_timestamps(true_words(root / "speech"), root / "words.csv")
    for part, folder in enumerate(("train", "enrol", "trials")):
        people = sorted(p for p in (root / "speech").iterdir() if p.is_dir())
        for person in people[:4] if part == 0 else people[4:]:
            for k, file in enumerate(sorted(person.rglob("*.flac"))):
                if part == 0 or k % 2 == part - 1:
                    place = root / folder / person.name / file.name
                    place.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copyfile(file, place)
    names = [p.name for p in (root / "enrol").iterdir()]
    rows = [f"{name},{'fm'[k % 2]}" for k, name in enumerate(sorted(names))]
    (root / "people.csv").write_text("\n".join(["speaker,gender", *rows]) + "\n")
    write_settings(replace(TINY, max_steps=40, evaluate_every=2), root / "tiny.yaml")
    data = root / "data"
    for side, folder in (("test", "trials"), ("enrollment", "enrol")):
        shutil.copytree(root / folder, data / side)
    (root / "evaluation.yaml").write_text(
        "evaluation: {conversation_lengths: [1], speaker_counts: [4], num_runs: 1, num_folds: 2}\n"
        "anonymization: {system: mcadams}\nattack_models: [ignorant]\n"
    )
    return root


COMMANDS = {
    # what is called, what shows that it is in the middle, and what it ends with
    "anonymize": ("anonymize speech OUT --method mcadams", "**/*.flac", 9, "utterances.csv"),
    "augment": (
        "augment speech OUT --strategy rr --concatenate --timestamps words.csv",
        "**/*.flac", 9, "utterances.csv",
    ),
    "segment": (
        "segment speech OUT/words.csv --recogniser pocketsphinx",
        "*.parts/**/*.npz", 5, "words.csv",
    ),
    "attack": (
        "attack train --enrol enrol --trials trials --settings tiny.yaml --genders people.csv "
        "--out OUT", "attacker/last.pt", 1, "attack.json",
    ),
    "evaluate": ("evaluate evaluation.yaml --out OUT", "**/*.flac", 3, "results.csv"),
}  # fmt: skip


def command(words, out):
    return [*CALL, *words.replace("OUT", str(out)).split()]


def contents(folder):
    """Every file's bytes, by place.

    But for what is only there to go on from, and for the half-written file that a kill leaves: it
    is hidden, and nothing reads it.
    """
    passing = {"evaluation_work", "last.pt"}
    files = (p for p in folder.rglob("[!.]*") if p.is_file() and not passing & set(p.parts))
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in files}


@pytest.mark.parametrize("name", COMMANDS)
def test_what_was_killed_goes_on_to_the_same_bytes(root, tmp_path, name):
    words, pattern, enough, last = COMMANDS[name]
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    whole.mkdir(), broken.mkdir()
    subprocess.run(command(words, whole), cwd=root, check=True, capture_output=True)
    running = subprocess.Popen(
        command(words, broken), cwd=root, start_new_session=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    deadline = time.monotonic() + 120
    while len(list(broken.glob(pattern))) < enough:
        assert running.poll() is None, "it ended before it could be killed"
        assert time.monotonic() < deadline
        time.sleep(0.01)
    os.killpg(running.pid, signal.SIGKILL)
    running.wait()
    assert not (broken / last).exists()
    begun = {p: p.stat().st_mtime_ns for p in broken.glob(pattern)}
    subprocess.run(command(words, broken), cwd=root, check=True, capture_output=True)
    assert contents(broken) == contents(whole)
    if name in ("anonymize", "augment"):
        kept = {p: p.stat().st_mtime_ns for p in begun if p.exists()}
        assert begun == kept  # what was finished is not made again
