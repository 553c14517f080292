"""Programs over a whole Kaldi directory: called once, resumed, and looked at closely."""

import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from recipe_scripts import PLAIN
from test_anonymize import save, sounds, write_corpus

from voiceprivacy import external_systems
from voiceprivacy._conversion import Outcome
from voiceprivacy.corpora import Corpus
from voiceprivacy.errors import VoicePrivacyError
from voiceprivacy.external_systems import ExternalSystem

pytest.importorskip("soundfile", reason="the speech extra is not installed")


@pytest.fixture
def corpus(tmp_path):
    return write_corpus(tmp_path / "in")


def system(tmp_path, *faults, code=PLAIN, **more):
    script = tmp_path / "halve.py"
    script.write_text(code)
    words = (sys.executable, str(script), "{input}", "{output}", *faults)
    return ExternalSystem(words, **{"name": "halve"} | more)


def assert_halved(corpus, result):
    for row, name in enumerate(result.table["utterance"]):
        before = corpus.audio(corpus.table["utterance"].tolist().index(name))
        np.testing.assert_allclose(result.audio(row), before / 2, atol=2e-4)


def test_a_corpus_comes_back_with_its_names(corpus, tmp_path):
    result = system(tmp_path).of(corpus, tmp_path / "out")
    same = ["utterance", "speaker"]
    pd.testing.assert_frame_equal(result.table[same], corpus.table[same])
    assert_halved(corpus, result)
    assert len(sounds(tmp_path / "out")) == 6
    table = pd.read_csv(tmp_path / "out" / "utterances.csv")
    assert table["time_factor"].tolist() == [1.0] * 6
    assert not (tmp_path / "out.run").exists()


def test_what_comes_back_wrong_is_told_and_the_rest_taken(tmp_path):
    corpus = write_corpus(tmp_path / "in", 4)
    told = ["not returned", "cut short", "unreadable", "empty", "wrong rate", "made silent",
            "unchanged"]  # fmt: skip
    faults = [f"{u}={fault}" for u, fault in zip(corpus.table["utterance"], told, strict=False)]
    result = system(tmp_path, *faults).of(corpus, tmp_path / "out")
    assert result.table["utterance"].tolist() == ["13"]
    assert result.skipped["utterance"].tolist() == corpus.table["utterance"].tolist()[:7]
    assert result.skipped["reason"].tolist() == told
    assert_halved(corpus, result)
    with pytest.raises(VoicePrivacyError, match=r"halve: not returned: .*1 of 8 utterances are"):
        system(tmp_path, *faults).of(corpus, tmp_path / "out", strict=True)


def test_only_what_is_missing_is_asked_again(corpus, tmp_path):
    note = 'open("asked.txt", "a").write(open(sys.argv[1] + "/utt2spk").read() + "|")\n'
    code = PLAIN.replace("kaldi, wav, *faults", note + "kaldi, wav, *faults")
    die = 'utterance == "02" and sys.exit("out of memory")\n        print("done"'
    flaky = code.replace('print("done"', die)
    with pytest.raises(VoicePrivacyError) as failed:
        system(tmp_path, code=flaky, folder=str(tmp_path)).of(corpus, tmp_path / "out")
    told = str(failed.value)
    assert "halve ended with status 1; it said last: done 00 / done 01 / out of memory" in told
    assert f"{tmp_path / 'out.run' / 'log.txt'}. 3 of 6 utterances are done and kept" in told
    result = system(tmp_path, code=code, folder=str(tmp_path)).of(corpus, tmp_path / "out")
    assert_halved(corpus, result)
    first, second, _ = (tmp_path / "asked.txt").read_text().split("|")
    assert second.split() == ["10", "s1", "11", "s1", "12", "s1"]
    assert len(first.split()) == 12


def test_a_finished_run_calls_nothing(corpus, tmp_path):
    system(tmp_path).of(corpus, tmp_path / "out")
    before = sounds(tmp_path / "out")
    result = system(tmp_path, code="raise SystemExit(1)").of(corpus, tmp_path / "out")
    assert len(result) == 6
    assert sounds(tmp_path / "out") == before


def test_another_command_needs_another_folder(corpus, tmp_path):
    system(tmp_path).of(corpus, tmp_path / "out")
    with pytest.raises(VoicePrivacyError, match=r"another run \(different: parameters\)"):
        system(tmp_path, seed=3).of(corpus, tmp_path / "out")


def test_ids_with_slashes_and_pieces_of_files_are_handed_over(corpus, tmp_path):
    table = corpus.table.assign(utterance="test/" + corpus.table["utterance"], start=0.1, end=0.4)
    result = system(tmp_path).of(Corpus("pieces", table), tmp_path / "out")
    assert result.table["utterance"].tolist() == table["utterance"].tolist()
    assert len(result.audio(0)) == 4_800


def test_no_shell_reads_what_is_put_in(corpus, tmp_path):
    touched = tmp_path / "owned"
    place = tmp_path / f"$(touch${{IFS}}{touched.name});'a"
    result = system(tmp_path, folder=str(tmp_path)).of(corpus, place)
    assert len(result) == 6
    assert not touched.exists()


def test_silence_may_come_back_and_broken_files_are_not_asked(corpus, tmp_path):
    save(tmp_path / "in" / "s0" / "quiet.wav", np.zeros(4_000))
    bad = tmp_path / "in" / "s0" / "00.wav"
    bad.write_bytes(b"RIFF")
    extra = corpus.table.iloc[[0]].assign(utterance="q", path=str(bad.with_name("quiet.wav")))
    whole = Corpus("in", pd.concat([corpus.table, extra]))
    result = system(tmp_path).of(whole, tmp_path / "out")
    assert result.table["utterance"].tolist() == ["01", "02", "10", "11", "12", "q"]
    assert result.skipped[["utterance", "reason"]].to_numpy().tolist() == [["00", "unreadable"]]


def test_a_program_that_gives_nothing_or_is_not_there(corpus, tmp_path):
    with pytest.raises(VoicePrivacyError, match="halve gave nothing back: 'halve left no file 00"):
        system(tmp_path, code="pass").of(corpus, tmp_path / "out")
    with pytest.raises(VoicePrivacyError, match="external: there is no program 'no_such'"):
        ExternalSystem(("no_such", "{input}"))


def test_what_was_cut_off_is_not_taken_for_finished(corpus, tmp_path):
    """A program that dies while it writes leaves half a file."""
    code = PLAIN + '\nos.truncate(wav + "/12.wav", 3000)\nsys.exit(9)\n'
    with pytest.raises(VoicePrivacyError, match=r"status 9.*5 of 6 utterances are done"):
        system(tmp_path, code=code).of(corpus, tmp_path / "out")
    assert_halved(corpus, system(tmp_path).of(corpus, tmp_path / "out"))


def test_an_interrupted_program_is_ended_with_its_children(corpus, tmp_path, monkeypatch):
    monkeypatch.setattr(external_systems, "LOOK_EVERY_S", 0.2)
    child = "import subprocess; print(subprocess.Popen(['sleep', '60']).pid, flush=True)\n"
    sleeping = system(tmp_path, code=child + "import time; time.sleep(60)")

    def interrupt(_, places):
        while not places.log.stat().st_size:
            time.sleep(0.05)
        raise KeyboardInterrupt

    monkeypatch.setattr(ExternalSystem, "_returned", interrupt)
    monkeypatch.setattr(ExternalSystem, "_gathered", lambda self, todo, _: _missing(todo))
    with pytest.raises(KeyboardInterrupt):
        sleeping.of(corpus, tmp_path / "out")
    pid = int((tmp_path / "out.run" / "log.txt").read_text())
    assert not _runs(pid)


def _missing(todo):
    return [Outcome(reason="not returned") for _ in todo]


def _runs(pid):
    """Whether a process is there and no mere entry that nobody has asked about."""
    for _ in range(20):
        stat = Path(f"/proc/{pid}/stat")
        if not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] == "Z":
            return False
        time.sleep(0.1)
    return True


def test_loud_output_is_scaled_and_told(corpus, tmp_path):
    loud = (
        PLAIN
        + """
import soundfile
for name in os.listdir(wav):
    samples, rate = soundfile.read(wav + "/" + name)
    soundfile.write(wav + "/" + name, samples * 40, rate, subtype="FLOAT")
"""
    )
    result = system(tmp_path, code=loud).of(corpus, tmp_path / "out")
    assert set(result.notes["reason"]) == {"scaled"}
    assert max(np.abs(result.audio(row)).max() for row in range(6)) <= 1
