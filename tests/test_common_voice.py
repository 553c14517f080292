"""Releases of Common Voice, old and new: every line a row, every clip one speaker's."""

import numpy as np
import pandas as pd
import pytest

from voiceprivacy.census.labels import Range
from voiceprivacy.common_voice import (
    AGE_YEARS,
    age_years,
    common_voice_rows,
    common_voice_speakers,
    read_common_voice,
)
from voiceprivacy.errors import VoicePrivacyError
from voiceprivacy.speakers import AGES

OLD = ["client_id", "path", "sentence", "up_votes", "down_votes", "age", "gender", "accents"]
OLD += ["locale", "segment"]
NEW = ["segment", "gender", "client_id", "variant", "path", "sentence_id", "sentence", "age"]
NEW += ["sentence_domain", "up_votes", "down_votes", "accents", "locale"]


def write_table(path, rows, columns=OLD, end="\n", start=""):
    """Each row is a dictionary; a column that it does not have is empty."""
    lines = ["\t".join(columns)]
    lines += ["\t".join(row.get(column, "") for column in columns) for row in rows]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes((start + "".join(line + end for line in lines)).encode())
    return path


def row(clip, speaker="ann", sentence="Hello.", **more):
    return {"path": clip, "client_id": speaker, "sentence": sentence} | more


@pytest.fixture
def release(tmp_path):
    """Return a function that writes a release; all clips that a table names are there, empty."""
    folder = tmp_path / "cv-corpus-11.0-2022-09-21" / "en"

    def write(columns=OLD, **tables):
        (folder / "clips").mkdir(parents=True, exist_ok=True)
        for split, rows in tables.items():
            write_table(folder / f"{split}.tsv", rows, columns)
            for line in rows:
                (folder / "clips" / f"{line['path'].removesuffix('.mp3')}.mp3").touch()
        return folder

    return write


def owners(corpus):
    return dict(zip(corpus.table["utterance"], corpus.table["speaker"], strict=True))


# -- every line is a row -----------------------------------------------------------------------


def test_stray_quotes_stay_what_they_are(release):
    """Case 01: one quote left open, one inside a word. A CSV parser returns 2 of 4 rows."""
    sentences = ['"Well, he said.', "Nothing here.", 'Is it"s?', "The end."]
    rows = [row(f"cv_{n}.mp3", sentence=sentence) for n, sentence in enumerate(sentences)]
    found = common_voice_rows(release(validated=rows))
    assert found["sentence"].tolist() == sentences
    assert found["line"].tolist() == [2, 3, 4, 5]


def test_a_quote_that_never_closes_swallows_nothing(release):
    """Case 01."""
    rows = [row("cv_0.mp3", sentence='"So')] + [row(f"cv_{n}.mp3") for n in range(1, 21)]
    folder = release(validated=rows)
    assert len(read_common_voice(folder)) == len(common_voice_rows(folder)) == 21
    assert common_voice_rows(folder)["sentence"][0] == '"So'


@pytest.mark.parametrize("columns", [OLD, NEW])
def test_columns_are_found_by_name(release, columns):
    """Case 11."""
    folder = release(columns, validated=[row("cv_1.mp3", "0012"), row("cv_2.mp3", "NA")])
    assert owners(read_common_voice(folder)) == {"cv_1": "0012", "cv_2": "NA"}


def test_other_ways_to_write_the_same_table(release):
    """A byte-order mark, Windows' line ends, a carriage return inside, no suffix, a folder."""
    rows = [row("cv_1", sentence="a\rb\u2028c"), row("clips/cv_2.mp3")]
    folder = release(validated=[row("cv_1"), row("cv_2")])
    write_table(folder / "validated.tsv", rows, end="\r\n", start="\ufeff")
    assert owners(read_common_voice(folder)) == {"cv_1": "ann", "cv_2": "ann"}
    assert common_voice_rows(folder)["sentence"][0] == "a\rb\u2028c"


def test_tables_longer_than_a_chunk_keep_their_lines(release, monkeypatch):
    monkeypatch.setattr("voiceprivacy._tsv.CHUNK", 2)
    rows = [row(f"cv_{n}.mp3", f"s{n}") for n in range(5)]
    found = common_voice_rows(release(validated=rows))
    assert found["speaker"].tolist() == ["s0", "s1", "s2", "s3", "s4"]
    assert found["line"].tolist() == [2, 3, 4, 5, 6]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("client_id\tpath\nann\tcv_1\nbob\n", r"validated\.tsv: 1 rows have .* 2 .*'line 3: 1'"),
        ("client_id\tpath\nann\tcv_1\tx\n", r"validated\.tsv: 1 rows have .*'line 2: 3'"),
        ("client_id\tpath\n\nann\tcv_1\n", r"'line 2: 1'"),
        ("client_id\tfile\nann\tcv_1\n", r"no column 'path'; its heading is 'client_id', 'file'"),
        ("client_id\tpath\tpath\nann\ta\tb\n", r"several columns 'path'"),
        ("client_id\tpath\nann\t\n\tcv_1\n", r"2 rows lack client_id or path: line 2, 3"),
        ("client_id\tpath\n", r"the tables 'validated' have no rows"),
        ("", r"no column 'client_id', 'path'"),
    ],
)
def test_damaged_tables_are_refused_with_their_line(release, text, message):
    folder = release(validated=[row("cv_1")])
    (folder / "validated.tsv").write_text(text)
    with pytest.raises(VoicePrivacyError, match=message):
        read_common_voice(folder)


def test_a_line_in_another_encoding_is_named(release):
    folder = release(validated=[row("cv_1")])
    (folder / "validated.tsv").write_bytes(b"client_id\tpath\nann\tcv_1\nb\xe9a\tcv_2\n")
    with pytest.raises(VoicePrivacyError, match=r"validated\.tsv, line 3 is not UTF-8"):
        read_common_voice(folder)


# -- which clips -------------------------------------------------------------------------------


def test_the_first_table_has_the_clip(release):
    folder = release(
        train=[row("cv_1", "bob", "train")],
        other=[row("cv_2", "cid", "other")],
        validated=[row("cv_1", "ann", "validated")],
        dev=[row("cv_2", "cid", "dev"), row("cv_3", "dan", "dev")],
    )
    found = common_voice_rows(folder)
    assert found[["utterance", "split"]].to_numpy().tolist() == [
        ["cv_1", "validated"],
        ["cv_2", "other"],
        ["cv_3", "dev"],
    ]
    corpus = read_common_voice(folder)
    assert owners(corpus) == {"cv_1": "ann", "cv_2": "cid", "cv_3": "dan"}
    note = corpus.notes.iloc[0]
    assert note["reason"] == "two speakers"
    assert note["detail"] == "train.tsv, line 2: speaker bob, kept ann"
    assert len(corpus.notes) == 1
    assert owners(read_common_voice(folder, ["dev", "train"]))["cv_1"] == "bob"


def test_only_named_tables_must_be_there(release):
    folder = release(validated=[row("cv_1")], invalidated=[row("cv_2")])
    assert set(owners(read_common_voice(folder))) == {"cv_1"}
    assert set(owners(read_common_voice(folder, ["invalidated"]))) == {"cv_2"}
    with pytest.raises(VoicePrivacyError, match=r"test\.tsv: no such table"):
        read_common_voice(folder, ["validated", "test"])
    for none in ([], "validated"):
        with pytest.raises(VoicePrivacyError, match="expected a list of tables"):
            read_common_voice(folder, none)


def test_clips_that_are_not_there_are_reported(release):
    folder = release(validated=[row("cv_1"), row("cv_2"), row("cv_1")])
    (folder / "clips" / "cv_2.mp3").unlink()
    corpus = read_common_voice(folder)
    assert corpus.name == "cv-corpus-11.0-2022-09-21/en"
    assert corpus.table["path"].tolist() == [str(folder / "clips" / "cv_1.mp3")]
    assert corpus.skipped[["utterance", "reason", "detail"]].to_numpy().tolist() == [
        ["cv_2", "no clip", "validated.tsv, line 3: not in clips/"],
        ["cv_1", "listed twice", "validated.tsv, line 4"],
    ]
    assert corpus.skipped["path"][0] == str(folder / "clips" / "cv_2.mp3")
    (folder / "clips" / "cv_1.mp3").unlink()
    with pytest.raises(VoicePrivacyError, match=r"none of 2 clips is in .*such as cv_1\.mp3"):
        read_common_voice(folder)
    (folder / "clips").rmdir()
    with pytest.raises(VoicePrivacyError, match="none of 2 clips"):
        read_common_voice(folder)


def test_no_clip_is_opened_or_asked_for(release, monkeypatch):
    folder = release(validated=[row("cv_1"), row("cv_2")])
    calls = []
    monkeypatch.setattr("voiceprivacy.common_voice.os.listdir", lambda f: calls.append(f) or [])
    with pytest.raises(VoicePrivacyError, match="none of 2"):
        read_common_voice(folder)
    assert calls == [folder / "clips"]


def test_wrong_folders_are_refused(release, tmp_path):
    folder = release(validated=[row("cv_1")])
    with pytest.raises(VoicePrivacyError, match="no such folder"):
        read_common_voice(tmp_path / "none")
    with pytest.raises(VoicePrivacyError, match=r"folder of one language.*'en' have some: name"):
        read_common_voice(folder.parent)
    with pytest.raises(VoicePrivacyError, match=r"has no tables such as validated\.tsv"):
        read_common_voice(folder / "clips")


def test_any_rate_comes_out_as_16_khz_mono(release):
    """Case 04."""
    soundfile = pytest.importorskip("soundfile", reason="the speech extra is not installed")
    pytest.importorskip("soxr", reason="the speech extra is not installed")
    folder = release(validated=[row(f"cv_{rate}") for rate in (16_000, 32_000, 44_100, 48_000)])
    for rate in (16_000, 32_000, 44_100, 48_000):
        tone = 0.3 * np.sin(2 * np.pi * 200 * np.arange(rate) / rate)
        channels = np.stack([tone, tone], axis=1) if rate == 44_100 else tone
        soundfile.write(folder / "clips" / f"cv_{rate}.mp3", channels, rate)
    corpus = read_common_voice(folder)
    for index in range(4):
        samples = corpus.audio(index)
        assert samples.dtype == np.float32
        assert samples.ndim == 1
        assert abs(len(samples) - 16_000) < 1_500  # frames of mp3 pad the ends
        spectrum = np.abs(np.fft.rfft(samples[4_000:12_000]))
        assert spectrum.argmax() == 100  # 200 Hz in half a second


# -- speakers ----------------------------------------------------------------------------------


def test_old_and_new_words_of_gender(release):
    """Case 11."""
    words = {
        "a": ("male", "male"),
        "b": ("female", "female"),
        "c": ("other", ""),
        "d": ("", ""),
        "e": ("male_masculine", "male"),
        "f": ("female_feminine", "female"),
        "g": ("non-binary", ""),
        "h": ("transgender", ""),
        "i": ("intersex", ""),
        "j": ("do_not_wish_to_say", ""),
        "k": ("quite_another", ""),
    }
    rows = [row(f"cv_{s}", s, gender=said, age="fourties") for s, (said, _) in words.items()]
    found = common_voice_speakers(release(NEW, validated=rows))
    assert found.columns.tolist() == ["speaker", "gender", "age", "raw_gender", "raw_age"]
    assert dict(zip(found["speaker"], found["gender"], strict=True)) == {
        speaker: ours for speaker, (_, ours) in words.items()
    }
    assert found["raw_gender"].tolist() == [said for said, _ in words.values()]
    assert set(found["age"]) == {"forties"}
    assert set(found["raw_age"]) == {"fourties"}
    (note,) = found.attrs["notes"]
    assert note == "1 rows have no known word for gender, so unknown: 'quite_another (1)'."


def test_words_of_age(release):
    """Case 13."""
    said = ["teens", "twenties", "fourties", "forties", "nineties", "", "Twenties ", "19"]
    rows = [row(f"cv_{n}", f"s{n}", age=word) for n, word in enumerate(said)]
    found = common_voice_speakers(release(validated=rows))
    assert found["age"].tolist() == [
        *("teens", "twenties", "forties", "forties", "nineties", "", "twenties", "")
    ]
    assert found["raw_age"].tolist() == said
    assert found.attrs["notes"] == ["1 rows have no known word for age, so unknown: '19 (1)'."]


def test_speakers_who_say_several_things(release):
    """Most rows that say anything decide; a clip in two tables counts once."""
    said = {
        "most": ["male", "female", "male"],
        "tie": ["male", "female", "other", ""],
        "silent": ["", "", "female"],
        "other": ["other", "non-binary", "male"],
        "same": ["male", "male_masculine", "male"],
    }
    rows = [
        row(f"cv_{speaker}_{n}", speaker, gender=word)
        for speaker, words in said.items()
        for n, word in enumerate(words)
    ]
    again = [one for one in rows if one["path"] == "cv_most_1"] * 3
    found = common_voice_speakers(release(validated=rows, train=again)).set_index("speaker")
    assert found["gender"].to_dict() == {
        **{"most": "male", "tie": "", "silent": "female", "other": "", "same": "male"}
    }
    assert found.loc["most", "raw_gender"] == "male|female"
    assert found.loc["other", "raw_gender"] == "male|non-binary|other"
    assert found.loc["same", "raw_gender"] == "male|male_masculine"
    assert found.attrs["notes"] == [
        "3 speakers say more than one gender: 2 have that of most rows, 1 with no such one are "
        "unknown."
    ]


def test_speakers_need_no_clips_but_their_columns(release):
    folder = release(validated=[row("cv_1", gender="female")])
    (folder / "clips" / "cv_1.mp3").unlink()
    assert common_voice_speakers(folder)["gender"].tolist() == ["female"]
    release(["client_id", "path", "age"], validated=[row("cv_1")])
    with pytest.raises(VoicePrivacyError, match=r"validated\.tsv has no column 'gender'"):
        common_voice_speakers(folder)


# -- years of age ------------------------------------------------------------------------------


def test_every_year_from_13_has_exactly_one_word():
    """Case 13."""
    limits = age_years(AGES)
    years = np.arange(101)
    inside = (years[:, None] >= limits["low"].to_numpy()) & (
        years[:, None] <= limits["high"].to_numpy()
    )
    assert inside.sum(axis=1).tolist() == [0] * 13 + [1] * 88
    assert list(AGE_YEARS) == list(AGES)


def test_years_of_words_in_any_spelling():
    """Case 13."""
    found = age_years(["teens", "twenties", "fourties", "forties", "", "Twenties ", "19", None])
    expected = [[13, 19], [20, 29], [40, 49], [40, 49], None, [20, 29], None, None]
    pd.testing.assert_frame_equal(
        found,
        pd.DataFrame([e or [np.nan] * 2 for e in expected], columns=["low", "high"], dtype=float),
    )


def test_years_can_be_replaced_but_not_torn():
    adults = {**AGE_YEARS, "teens": Range(18, 19)}
    assert age_years(["teens"], adults)["low"].tolist() == [18]
    for wrong, message in (
        (Range(13, 18), r"teens \(13 to 18\) and twenties \(from 20\) leave a gap"),
        (Range(13, 20), r"teens \(13 to 20\) and twenties"),
        (Range(19, 13), r"teens"),
    ):
        with pytest.raises(VoicePrivacyError, match=message):
            age_years(["teens"], {**AGE_YEARS, "teens": wrong})
