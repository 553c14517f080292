"""Kaldi directories: every form of a path, every table that contradicts another, round trips."""

import os
import shlex
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from voiceprivacy.corpora import COLUMNS, Corpus, checked, read_folder
from voiceprivacy.errors import VoicePrivacyError
from voiceprivacy.kaldi import (
    genders,
    read_kaldi,
    read_speech,
    read_trials,
    transcripts,
    write_kaldi,
)

soundfile = pytest.importorskip("soundfile", reason="the speech extra is not installed")


def save(path, seconds=0.5, value=0.1):
    path.parent.mkdir(parents=True, exist_ok=True)
    soundfile.write(path, np.full(round(seconds * 16_000), value), 16_000)
    return path


def directory(path, **tables):
    """A Kaldi directory of the given tables; `wav_scp` stands for wav.scp."""
    path.mkdir(parents=True, exist_ok=True)
    for name, text in tables.items():
        (path / name.replace("_", ".")).write_text(text, encoding="utf-8")
    return path


def reasons(corpus):
    return dict(zip(corpus.skipped["utterance"], corpus.skipped["reason"], strict=True))


@pytest.fixture
def small(tmp_path):
    """Two speakers, three utterances."""
    sounds = {u: save(tmp_path / "audio" / f"{u}.wav", 0.5 + k) for k, u in enumerate("abc")}
    return directory(
        tmp_path / "data",
        wav_scp="".join(f"{u} {sounds[u]}\n" for u in "cab"),
        utt2spk="c s2\na s1\nb s1\n",
    )


def test_a_directory_becomes_a_corpus_sorted_by_id(small):
    corpus = read_kaldi(small)
    assert corpus.name == "data"
    assert corpus.table["utterance"].tolist() == ["a", "b", "c"]
    assert corpus.table["speaker"].tolist() == ["s1", "s1", "s2"]
    assert [len(corpus.audio(row)) for row in range(3)] == [8_000, 24_000, 40_000]
    assert not len(corpus.skipped)
    assert read_kaldi(small, name="mine").name == "mine"


def test_the_disk_is_asked_once_a_folder(small, monkeypatch):
    asked, listing = [], os.listdir
    monkeypatch.setattr(os, "listdir", lambda place: asked.append(str(place)) or listing(place))
    read_kaldi(small)
    assert asked == [str(small.parent / "audio")]


# -- the forms of wav.scp ----------------------------------------------------------------------


def test_paths_are_read_in_every_form_without_a_shell(tmp_path, monkeypatch):
    """Case 19: Plain, piped flac, blanks with brackets and accents, relative to a stated base."""
    flac = save(tmp_path / "d" / "a.flac", 0.25)
    quoted = save(tmp_path / "d" / "b c.flac", 0.5)
    odd = save(tmp_path / "d" / "My (é) file.wav", 0.75)
    save(tmp_path / "elsewhere" / "rel" / "b.wav", 1.0)
    monkeypatch.setattr("subprocess.Popen", None)
    monkeypatch.setattr("os.system", None)
    data = directory(
        tmp_path / "data",
        wav_scp=f"u1 {flac}\nu2 flac -c -d -s {flac} |\nu3 {odd}\nu4 rel/b.wav\n"
        f"u5\tflac -cds --silent '{quoted}' |  \r\n",
        utt2spk="".join(f"u{k} s\n" for k in range(1, 6)),
    )
    corpus = read_kaldi(data, base=tmp_path / "elsewhere")
    heard = [len(corpus.audio(row)) / 16_000 for row in range(5)]
    assert heard == [0.25, 0.25, 0.75, 1.0, 0.5]
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert len(read_kaldi(data)) == 5


@pytest.mark.parametrize(
    ("entry", "match"),
    [
        ("sox /d/a.wav -t wav - |", "wav.scp, line 2: is a command, which is never run"),
        ("touch {owned} |", "line 2: is a command"),
        ("flac -c -d -s {sound} | sox - -t wav - |", "line 2: is a command"),
        ("flac -c -d -s $(touch {owned}) |", "line 2: is a command"),
        ("flac {sound} |", "line 2: is a command"),
        ("flac -c -d -s 'open quote |", "line 2: is a command"),
        ("|", "line 2: is a command"),
        ("/d/raw.ark:1234", "line 2: is an archive"),
        ("", "line 2: names no file"),
        ("/d/none.wav", "no such file: /d/none.wav"),
    ],
)
def test_other_forms_are_refused_by_line_and_never_run(tmp_path, entry, match):
    """Case 19."""
    owned, sound = tmp_path / "owned", save(tmp_path / "a.wav")
    entry = entry.format(owned=owned, sound=sound)
    data = directory(
        tmp_path / "data", wav_scp=f"good {sound}\nbad {entry}\n", utt2spk="good s\nbad s\n"
    )
    with pytest.raises(VoicePrivacyError, match=match):
        read_kaldi(data)
    left = read_kaldi(data, missing="drop")
    assert left.table["utterance"].tolist() == ["good"]
    assert reasons(left) == {"bad": "no sound"}
    assert not owned.exists()


# -- commands, only when asked for -------------------------------------------------------------


@pytest.fixture
def piped(tmp_path):
    """A function that makes a directory of one good file and one entry of the given form."""
    sound = save(tmp_path / "au dio" / "a.wav", 0.25)

    def make(entry):
        entry = entry.format(sound=shlex.quote(str(sound)), owned=tmp_path / "owned")
        return directory(
            tmp_path / "data", wav_scp=f"bad {entry}\ngood {sound}\n", utt2spk="bad s\ngood s\n"
        )

    return make


def test_a_command_is_called_when_it_is_listened_to_and_only_if_asked(piped, tmp_path):
    data = piped("cp {sound} /dev/stdout |")
    with pytest.raises(VoicePrivacyError, match=r'line 1: is a command.*commands="run"'):
        read_kaldi(data)
    corpus = read_kaldi(data, commands="run")
    assert corpus.table["path"][0] == f"cp '{tmp_path}/au dio/a.wav' /dev/stdout |"
    for part in (corpus, checked(corpus, 0.1), corpus.select([0])):
        assert len(part.audio(0)) == 4_000
    touched = read_kaldi(piped("touch {owned} |"), commands="run")
    assert not (tmp_path / "owned").exists()
    with pytest.raises(VoicePrivacyError, match="cannot be decoded"):
        touched.audio(0)
    assert (tmp_path / "owned").exists()


def test_a_path_that_looks_like_a_command_is_no_permission(piped, tmp_path):
    table = read_kaldi(piped("touch {owned} |"), commands="run").table
    with pytest.raises(VoicePrivacyError, match="cannot be decoded"):
        Corpus("copied", table).audio(0)
    assert not (tmp_path / "owned").exists()


def test_commands_start_where_relative_paths_do(piped, tmp_path):
    corpus = read_kaldi(piped("cat a.wav |"), tmp_path / "au dio", commands="run")
    assert len(corpus.audio(0)) == 4_000


def test_a_header_without_a_length_is_read_to_its_end(piped, tmp_path):
    """What writes into a pipe cannot go back to say how long it was."""
    data = piped("cat {sound} |")
    path = tmp_path / "au dio" / "a.wav"
    sound = bytearray(path.read_bytes())
    at = sound.index(b"data") + 4
    sound[at : at + 4] = sound[4:8] = b"\xff\xff\xff\xff"
    path.write_bytes(sound)
    assert len(read_kaldi(data, commands="run").audio(0)) == 4_000


@pytest.mark.parametrize(
    ("entry", "match"),
    [
        ("cat {sound} | cat |", r"line 1: needs a shell for '\|'"),
        ("cat {sound} > {owned} |", "line 1: needs a shell for '>'"),
        ("cat {sound}; touch {owned} |", "line 1: needs a shell for ';'"),
        ("cat $(touch {owned}) |", r"line 1: needs a shell for '\$'"),
        ('cat "$HOME/a.wav" |', r"line 1: needs a shell for \S*\$"),
        ("cat `touch {owned}` |", "line 1: needs a shell for '`'"),
        ("cat *.wav |", r"line 1: needs a shell for '\*'"),
        ("cat 'open |", "line 1: is no command .*No closing quotation"),
        ("|", "line 1: is an empty command"),
        ("no-such-program-here a.wav |", "line 1: there is no program 'no-such-program-here'"),
    ],
)
def test_what_needs_a_shell_is_refused_even_when_commands_run(piped, tmp_path, entry, match):
    with pytest.raises(VoicePrivacyError, match=match):
        read_kaldi(piped(entry), commands="run")
    left = read_kaldi(tmp_path / "data", commands="run", missing="drop")
    assert reasons(left) == {"bad": "no sound"}
    assert not (tmp_path / "owned").exists()


def test_commands_that_fail_or_hang_are_told(piped):
    failing = read_kaldi(piped("cat /no/such/file |"), commands="run")
    with pytest.raises(VoicePrivacyError, match=r"cat ended with status 1: .*No such file"):
        failing.audio(0)
    assert reasons(checked(failing, 0.1)) == {"bad": "unreadable"}
    hanging = read_kaldi(piped("sleep 60 |"), commands="run")
    ((text, command),) = hanging.commands.items()
    soon = replace(hanging, commands={text: command._replace(timeout=0.1)})
    with pytest.raises(VoicePrivacyError, match=r"sleep did not end within 0\.1 s"):
        soon.audio(0)
    with pytest.raises(VoicePrivacyError, match="expected 'refuse' or 'run'"):
        read_kaldi(piped("cat {sound} |"), commands="yes")


def test_flac_is_decoded_without_being_run_even_when_commands_run(tmp_path, monkeypatch):
    flac = save(tmp_path / "a.flac", 0.25)
    data = directory(tmp_path / "data", wav_scp=f"u flac -c -d -s {flac} |\n", utt2spk="u s\n")
    monkeypatch.setattr("subprocess.Popen", None)
    corpus = read_kaldi(data, commands="run")
    assert not corpus.commands
    assert len(corpus.audio(0)) == 4_000


# -- tables that another directory has ---------------------------------------------------------


def test_tables_that_are_lacking_are_those_of_the_original(small, tmp_path):
    (small / "text").write_text("a ONE\nb TWO\nc THREE\n")
    (small / "segments").write_text("a a 0 0.1\n")  # pieces of other files
    for u in "abc":
        save(tmp_path / "data_anon" / "wav" / "deeper" / f"{u}.wav", 0.25)
    with pytest.raises(VoicePrivacyError, match="data_anon holds neither utt2spk nor spk2utt"):
        read_kaldi(tmp_path / "data_anon")
    corpus = read_kaldi(tmp_path / "data_anon", like=small)
    assert corpus.table["speaker"].tolist() == ["s1", "s1", "s2"]
    assert [len(corpus.audio(row)) for row in range(3)] == [4_000] * 3
    (tmp_path / "data_anon" / "wav" / "deeper" / "b.wav").unlink()
    with pytest.raises(VoicePrivacyError, match=r"only in utt2spk \('b'\).*only in text \('b'\)"):
        read_kaldi(tmp_path / "data_anon", like=small)
    (tmp_path / "data_anon" / "utt2spk").write_text("a own\nc own\n")
    (tmp_path / "data_anon" / "text").write_text("a\nc\n")
    assert set(read_kaldi(tmp_path / "data_anon", like=small).table["speaker"]) == {"own"}


def test_without_a_usable_wav_scp_the_sound_below_wav_is_taken(tmp_path):
    for name in ("1-1-0001", "1-1-0002"):
        save(tmp_path / "data" / "wav" / f"{name}.wav")
    data = directory(tmp_path / "data", utt2spk="1-1-0001 1\n1-1-0002 1\n")
    plain = read_kaldi(data)
    assert len(plain) == 2
    assert not len(plain.notes)
    (data / "wav.scp").write_text("1-1-0001 /their/machine/a.wav\n1-1-0002 /their/machine/b.wav\n")
    replaced = read_kaldi(data)
    assert replaced.table["path"].tolist() == plain.table["path"].tolist()
    assert replaced.notes["reason"].tolist() == ["wav.scp replaced"]
    save(data / "wav" / "deeper" / "1-1-0001.flac")
    with pytest.raises(VoicePrivacyError, match="3 sound files have 2 names"):
        read_kaldi(data)


# -- tables that contradict each other ---------------------------------------------------------


@pytest.fixture
def contradictory(tmp_path):
    """5 utterances in utt2spk, 4 in segments, 6 in text; one piece of an unknown recording."""
    sound = save(tmp_path / "a.wav", 3)
    return directory(
        tmp_path / "data",
        utt2spk="".join(f"u{k} s{k % 2}\n" for k in range(5)),
        wav_scp=f"rec {sound}\n",
        segments="u0 rec 0 1\nu1 rec 1.0 2.5\nu2 lost 0 1\nu3 rec 2 3\n",
        text="".join(f"u{k} HELLO THERE\n" for k in range(6)),
        spk2gender="s0 f\n",
    )


def test_contradictions_are_told_by_pair_of_tables_with_counts_and_ids(contradictory):
    """Case 17."""
    with pytest.raises(VoicePrivacyError) as told:
        read_kaldi(contradictory)
    message = str(told.value)
    assert "utt2spk and segments name different utterances: 1 only in utt2spk ('u4')" in message
    assert "utt2spk and text name different utterances: 1 only in text ('u5')" in message
    assert "segments and text name different utterances: 2 only in text ('u4', 'u5')" in message
    assert "1 utterances have no recording ('u2: segments: lost is not in wav.scp')" in message
    assert "missing: drop" in message


def test_what_all_tables_have_is_read_on_request(contradictory):
    """Case 17."""
    corpus = read_kaldi(contradictory, missing="drop")
    assert corpus.table["utterance"].tolist() == ["u0", "u1", "u3"]
    assert reasons(corpus) == {
        "u2": "no recording",
        "u4": "not in all tables",
        "u5": "not in all tables",
    }
    assert [len(corpus.audio(row)) for row in range(3)] == [16_000, 24_000, 16_000]


def test_segments_that_run_past_their_recording_are_not_shortened_in_silence(contradictory):
    """Case 17: Kaldi, too, drops what ends more than half a second late."""
    for name in ("text", "wav.scp"):
        lines = (contradictory / name).read_text().splitlines()[:1]
        (contradictory / name).write_text("\n".join(lines))
    (contradictory / "segments").write_text("u0 rec 2 99\n")
    corpus = read_kaldi(contradictory, missing="drop")
    with pytest.raises(
        VoicePrivacyError, match=r"between 2\.0 and 99\.0 s: it ends after 3\.000 s"
    ):
        corpus.audio(0)
    (contradictory / "segments").write_text("u0 rec 2 3.4\n")
    assert len(read_kaldi(contradictory, missing="drop").audio(0)) == 16_000


def test_missing_genders_are_unknown_and_wrong_ones_refused(contradictory):
    """Case 17."""
    assert genders(contradictory).to_dict() == {"s0": "female", "s1": ""}
    (contradictory / "spk2gender").unlink()
    assert genders(contradictory).to_dict() == {"s0": "", "s1": ""}
    (contradictory / "spk2gender").write_text("s0 F\ns1 male\n")
    assert genders(contradictory).to_dict() == {"s0": "female", "s1": "male"}
    (contradictory / "spk2gender").write_text("s0 f\ns1 n\n")
    with pytest.raises(VoicePrivacyError, match=r"1 lines with another gender.*s1 n \(line 2\)"):
        genders(contradictory)
    (contradictory / "spk2gender").write_text("s1 f\nelse m\n")
    assert genders(contradictory).to_dict() == {"s0": "", "s1": "female"}
    (contradictory / "utt2spk").unlink()
    assert genders(contradictory).to_dict() == {"else": "male", "s1": "female"}


@pytest.mark.parametrize("name", ["wav.scp", "utt2spk", "text", "segments"])
def test_an_id_that_occurs_twice_is_refused_with_its_lines(contradictory, name):
    """Case 17."""
    lines = (contradictory / name).read_text().splitlines()
    (contradictory / name).write_text("\n".join([*lines, "", lines[0]]))
    expected = rf"{name}: 1 ids occur twice: '\w+ in lines 1 and {len(lines) + 2}'"
    with pytest.raises(VoicePrivacyError, match=expected):
        read_kaldi(contradictory, missing="drop")


def test_spk2utt_stands_in_for_utt2spk_and_is_never_needed(small):
    (small / "utt2spk").unlink()
    with pytest.raises(VoicePrivacyError, match="neither utt2spk nor spk2utt"):
        read_kaldi(small)
    (small / "spk2utt").write_text("s1 a b\ns2 c\n")
    assert read_kaldi(small).table["speaker"].tolist() == ["s1", "s1", "s2"]


@pytest.mark.parametrize(
    ("table", "text", "match"),
    [
        ("utt2spk", "a s1\nb\nc s2 s3\n", r"2 lines are no utterance and speaker: 'b \(line 2\)'"),
        ("segments", "a a 1 0\nb b x 1\nc c 0\n", "3 lines are no utterance, recording"),
        ("utt2spk", "d s1\n", "Nothing is left to read"),
    ],
)
def test_lines_of_another_form_are_refused(small, table, text, match):
    (small / table).write_text(text)
    with pytest.raises(VoicePrivacyError, match=match):
        read_kaldi(small, missing="drop")


def test_folders_and_options_that_cannot_be_are_refused(small, tmp_path):
    with pytest.raises(VoicePrivacyError, match="no such folder"):
        read_kaldi(tmp_path / "none")
    with pytest.raises(VoicePrivacyError, match="expected 'error' or 'drop'"):
        read_kaldi(small, missing="ignore")
    (small / "wav.scp").unlink()
    with pytest.raises(VoicePrivacyError, match=r"neither a wav\.scp nor sound below wav/"):
        read_kaldi(small)
    (small / "utt2spk").write_bytes(b"\xff\xfe")
    with pytest.raises(VoicePrivacyError, match="not UTF-8"):
        read_kaldi(small)


# -- lists of trials ---------------------------------------------------------------------------


def test_trials_keep_their_order_and_lines(tmp_path):
    path = tmp_path / "trials"
    path.write_text("s1 u2 target\n\n0012 u1  nontarget\n")
    assert read_trials(path).to_dict("list") == {
        "speaker": ["s1", "0012"],
        "utterance": ["u2", "u1"],
        "target": [True, False],
        "line": [1, 3],
    }


def test_bad_lines_of_trials_are_all_told_with_their_numbers(tmp_path):
    path = tmp_path / "trials"
    path.write_text("s u1 target\ns u2 Target\n1 a.wav b.wav\ns u1 nontarget\ns u3\n")
    with pytest.raises(VoicePrivacyError) as told:
        read_trials(path)
    for fault in (
        "1 lines with another label ('line 2: s u2 Target')",
        "1 lines with the label first (VoxCeleb's order) ('line 3: 1 a.wav b.wav')",
        "1 trials listed before ('line 4: s u1 nontarget')",
        "1 lines without three words ('line 5: s u3')",
    ):
        assert fault in str(told.value)
    path.write_text("\n")
    with pytest.raises(VoicePrivacyError, match="lists no trial"):
        read_trials(path)
    with pytest.raises(VoicePrivacyError, match="no such list"):
        read_trials(tmp_path / "none")


# -- folders of whatever kind -------------------------------------------------------------------


def test_common_voice_s_folder_of_clips_is_no_speaker(tmp_path):
    """Nor is a language, nor a Kaldi directory: of all of them, sound would become one speaker."""
    language = tmp_path / "cv-corpus-11.0" / "en"
    for name in ("one", "two"):
        save(language / "clips" / f"{name}.wav").rename(language / "clips" / f"{name}.mp3")
    (language / "validated.tsv").write_text("client_id\tpath\nann\tone.mp3\nbob\ttwo.mp3\n")
    assert read_speech(language).table["speaker"].tolist() == ["ann", "bob"]
    with pytest.raises(VoicePrivacyError, match="'en' have some: name one"):
        read_speech(language.parent)
    (language / "validated.tsv").unlink()
    assert set(read_speech(language).table["speaker"]) == {"clips"}


def test_a_folder_of_kaldi_directories_is_no_folder_of_speakers(small, tmp_path):
    save(tmp_path / "data" / "wav" / "a.wav")
    with pytest.raises(VoicePrivacyError, match=r"holds Kaldi directories \('data'\); name one"):
        read_speech(tmp_path)
    assert read_speech(small).table["speaker"].tolist() == ["s1", "s1", "s2"]
    with pytest.raises(VoicePrivacyError, match="no such folder"):
        read_speech(tmp_path / "none")


# -- writing -----------------------------------------------------------------------------------


def test_what_is_written_comes_back_the_same_in_any_order_of_rows(small, tmp_path):
    corpus = read_kaldi(small)
    known = {"s1": "female", "s2": "male"}
    write_kaldi(tmp_path / "one", corpus, genders=known)
    write_kaldi(tmp_path / "two", corpus.select([2, 0, 1]), genders=known)
    files = sorted(f.name for f in (tmp_path / "one").iterdir())
    assert files == ["spk2gender", "spk2utt", "utt2dur", "utt2spk", "wav.scp"]
    for name in files:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
    back = read_kaldi(tmp_path / "one")
    pd.testing.assert_frame_equal(back.table, corpus.table)
    assert genders(tmp_path / "one").to_dict() == known
    assert (tmp_path / "one" / "utt2dur").read_text() == "a 0.5\nb 1.5\nc 2.5\n"
    assert (tmp_path / "one" / "spk2utt").read_text() == "s1 a b\ns2 c\n"


def test_metadata_are_carried_along_and_durations_measured_anew(small, tmp_path):
    directory(
        small,
        text="c LAST  ONE\na FIRST\nb\n",
        spk2gender="s2 m\ns1 f\n",
        utt2dur="a 99\nb 99\nc 99\n",
        enrolls="b\na\n",
        trials="s1 c nontarget\ns1 a target\n",
    )
    part = read_kaldi(small).select([0, 1])
    write_kaldi(tmp_path / "out", part, like=small)
    written = {f.name: f.read_text() for f in (tmp_path / "out").iterdir()}
    assert written["text"] == "a FIRST\nb\n"
    assert written["spk2gender"] == "s1 f\n"
    assert written["utt2dur"] == "a 0.5\nb 1.5\n"
    assert written["enrolls"] == "a\nb\n"
    assert written["trials"] == "s1 c nontarget\ns1 a target\n"
    assert transcripts(small) == {"c": "LAST  ONE", "a": "FIRST", "b": ""}


def test_ids_are_sorted_as_the_c_locale_sorts(tmp_path):
    names = ["b-1", "B-1", "a-10", "a-2", "é-1"]
    rows = [(u, "s", str(save(tmp_path / f"{u}.wav")), np.nan, np.nan) for u in names]
    write_kaldi(tmp_path / "out", Corpus("x", pd.DataFrame(rows, columns=COLUMNS)))
    lines = (tmp_path / "out" / "utt2spk").read_bytes().splitlines()
    assert lines == sorted(lines)


def test_what_kaldi_cannot_hold_is_refused(tmp_path):
    save(tmp_path / "in" / "Ann Lee" / "one.wav")
    corpus = read_folder(tmp_path / "in")
    with pytest.raises(VoicePrivacyError, match=r"ids with blanks.*'Ann Lee'"):
        write_kaldi(tmp_path / "out", corpus)
    plain = Corpus("x", corpus.table.assign(speaker="ann", start=0.1, end=0.2))
    with pytest.raises(VoicePrivacyError, match="1 utterances are pieces of files: 'one'"):
        write_kaldi(tmp_path / "out", plain)
    (tmp_path / "in" / "Ann Lee" / "one.wav").write_text("no sound")
    whole = Corpus("x", corpus.table.assign(speaker="ann"))
    with pytest.raises(VoicePrivacyError, match=r"one\.wav cannot be decoded"):
        write_kaldi(tmp_path / "out", whole)
