"""LibriSpeech's folders, transcripts and table of readers, with what may be wrong in them."""

import shutil

import numpy as np
import pytest

from voiceprivacy.errors import VoicePrivacyError
from voiceprivacy.librispeech import (
    is_librispeech,
    librispeech_speakers,
    librispeech_transcripts,
    read_librispeech,
)

soundfile = pytest.importorskip("soundfile", reason="the speech extra is not installed")

# Every odd row that the published file, or a copy of it, may have.
READERS = """\
; Some pipe-separated information about all readers
;
;ID  |SEX| SUBSET           |MINUTES| NAME
14   | F | train-clean-360  | 25.03 | Ann Reader
  84|F|dev-clean|8.02|No Blanks
174  | m | dev-clean        |       | No Minutes
251  | M | dev-clean        | 8.00  | |AB|Bars In It
1272 | M | test-clean       | Minutes Left Out

260  | M | test-clean       | 8
"""


def save(folder, subset, reader, chapter, n=2, said=None):
    """A chapter of n utterances and their transcripts."""
    place = folder / subset / str(reader) / str(chapter)
    place.mkdir(parents=True)
    ids = [f"{reader}-{chapter}-{k:04d}" for k in range(n)]
    for u in ids:
        soundfile.write(place / f"{u}.flac", np.full(8_000, 0.1), 16_000)
    text = "".join(f"{u} WORDS OF {u}\n" for u in ids) if said is None else said
    (place / f"{reader}-{chapter}.trans.txt").write_text(text)
    return place


@pytest.fixture
def root(tmp_path):
    folder = tmp_path / "LibriSpeech"
    for subset, reader in (("dev-clean", 84), ("dev-clean", 174), ("test-clean", 260)):
        save(folder, subset, reader, 10 * reader)
    (folder / "SPEAKERS.TXT").write_text(READERS)
    (folder / "BOOKS.TXT").write_text("; nothing that is read here\n")
    return folder


def reasons(report):
    return report[["utterance", "reason"]].to_numpy().tolist()


def test_all_subsets_or_some_are_read(root):
    corpus = read_librispeech(root)
    assert corpus.name == "LibriSpeech, dev-clean, test-clean"
    assert corpus.table["utterance"].tolist() == [
        *("174-1740-0000", "174-1740-0001", "260-2600-0000", "260-2600-0001"),
        *("84-840-0000", "84-840-0001"),
    ]
    assert corpus.table["speaker"].tolist() == ["174", "174", "260", "260", "84", "84"]
    assert len(corpus.audio(0)) == 8_000
    assert not len(corpus.skipped)
    assert not len(corpus.notes)
    assert set(read_librispeech(root, ["test-clean"]).table["speaker"]) == {"260"}


def test_the_folder_above_and_one_subset_are_recognised(root, tmp_path, monkeypatch):
    assert read_librispeech(root.parent).table.equals(read_librispeech(root).table)
    one = read_librispeech(root / "dev-clean")
    assert one.name == "LibriSpeech, dev-clean"
    assert set(one.table["speaker"]) == {"84", "174"}
    monkeypatch.chdir(root / "dev-clean")
    assert read_librispeech(".").name == "LibriSpeech, dev-clean"
    assert len(librispeech_speakers(".")) == 6
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked" / "mine").symlink_to(root / "dev-clean")
    assert read_librispeech(tmp_path / "linked").name == "LibriSpeech, mine"
    assert not is_librispeech(tmp_path / "none")
    assert not is_librispeech(root / "dev-clean" / "84")


def test_subsets_that_are_not_there_are_told_with_those_that_are(root, tmp_path):
    with pytest.raises(VoicePrivacyError, match="no subset 'dev-other'; there: 'dev-clean', 'test"):
        read_librispeech(root, ["dev-clean", "dev-other"])
    with pytest.raises(VoicePrivacyError, match="expected a list, such as"):
        read_librispeech(root, "dev-clean")
    with pytest.raises(VoicePrivacyError, match="no subset of an empty list"):
        read_librispeech(root, [])
    with pytest.raises(
        VoicePrivacyError, match="holds no subset of LibriSpeech; expected <subset>"
    ):
        read_librispeech(tmp_path / "none")


def test_what_is_out_of_place_or_without_its_other_half_is_told(root):
    place = save(root, "dev-clean", 251, 7, said="251-7-0000 ONE\n\n251-7-0009 GONE\n")
    shutil.copy(place / "251-7-0000.flac", place / "84-840-0077.flac")
    shutil.copy(place / "251-7-0000.flac", place / "notes.flac")
    (place / "251-7-0003.flac").write_text("no sound")
    (place / "251-7-0004.m4a").write_text("another format")
    corpus = read_librispeech(root)
    assert corpus.table["speaker"].value_counts()["251"] == 2
    assert sorted(reasons(corpus.skipped)) == [
        ["251-7-0003", "unreadable"],
        ["251-7-0004", "format"],
        ["251-7-0009", "no sound"],
        ["84-840-0077", "misplaced"],
        ["notes", "no speaker"],
    ]
    assert reasons(corpus.notes) == [["251-7-0001", "no transcript"]]


def test_a_subset_of_misplaced_files_alone_is_refused(root):
    place = save(root, "train-other-500", 9, 8)
    for file in place.glob("*.flac"):
        file.rename(file.with_name(file.name.replace("9-8", "9-7")))
    with pytest.raises(VoicePrivacyError, match="no file of train-other-500 lies where its name"):
        read_librispeech(root)


def test_an_utterance_in_two_subsets_is_refused(root):
    save(root, "dev-other", 84, 840)
    with pytest.raises(VoicePrivacyError, match="84-840-0000 has a transcript already, in"):
        read_librispeech(root)
    for path in root.rglob("*.trans.txt"):
        path.unlink()
    with pytest.raises(VoicePrivacyError, match="2 utterance ids stand for two recordings"):
        read_librispeech(root)


def test_transcripts_are_read(root):
    said = librispeech_transcripts(root, ["test-clean"])
    assert said == {u: f"WORDS OF {u}" for u in ("260-2600-0000", "260-2600-0001")}


def test_readers_are_those_of_the_table_and_those_with_a_folder(root):
    save(root, "test-clean", 99, 1)
    table = librispeech_speakers(root)
    assert table.columns.tolist() == ["speaker", "gender", "age", "subset", "minutes"]
    assert table["speaker"].tolist() == ["14", "84", "174", "251", "1272", "260", "99"]
    assert table["gender"].tolist() == ["female"] * 2 + ["male"] * 4 + [""]
    assert set(table["age"]) == {""}
    assert table["subset"].tolist() == [
        "train-clean-360", *["dev-clean"] * 3, *["test-clean"] * 3
    ]  # fmt: skip
    np.testing.assert_array_equal(
        table["minutes"], [25.03, 8.02, *[np.nan], 8.0, np.nan, 8, np.nan]
    )
    notes = read_librispeech(root).notes
    assert reasons(notes) == [["", "unknown gender"]]
    assert notes["detail"][0] == f"reader 99: not in {root / 'SPEAKERS.TXT'}"


def test_without_a_table_of_readers_speech_is_read_and_genders_are_not(root):
    (root / "SPEAKERS.TXT").unlink()
    assert len(read_librispeech(root).notes) == 3
    with pytest.raises(VoicePrivacyError, match=r"no SPEAKERS\.TXT here or beside the subsets"):
        librispeech_speakers(root)


@pytest.mark.parametrize(
    ("line", "match"),
    [
        ("x84 | F | dev-clean | 8.0 | Name", "1 lines are no reader .* 'line 13: x84 | F"),
        ("85 | Q | dev-clean | 8.0 | Name", "line 13: 85"),
        ("85 F dev-clean 8.0 Name", "line 13: 85"),
        ("84 | M | dev-clean | 8.0 | Again", "1 speaker ids on more than one row: '84'"),
    ],
)
def test_rows_of_another_form_are_refused_with_their_lines(root, line, match):
    (root / "SPEAKERS.TXT").write_text(READERS + "\n\n" + line + "\n")
    with pytest.raises(VoicePrivacyError, match=match):
        librispeech_speakers(root)


def test_real_files_are_read_in_their_own_tree(shared_data, tmp_path):
    files = sorted(shared_data("librispeech_train_clean_100").rglob("*.flac"))[:20]
    for file in files:
        reader, chapter, _ = file.stem.split("-")
        place = tmp_path / "LibriSpeech" / "train-clean-100" / reader / chapter
        place.mkdir(parents=True)
        (place / file.name).symlink_to(file)
    corpus = read_librispeech(tmp_path)
    assert corpus.table["utterance"].tolist() == sorted(file.stem for file in files)
    assert corpus.table["speaker"].nunique() == 20
    assert len(corpus.audio(3)) > 16_000
