"""Tables of quasi-identifiers: text stays text, and faults are named."""

import numpy as np
import pandas as pd
import pytest

from voiceprivacy.errors import VoicePrivacyError
from voiceprivacy.side_information import encode, read_side_information


def written(folder, text, name="people.csv", encoding="utf-8"):
    path = folder / name
    path.write_text(text, encoding=encoding)
    return path


def test_ids_and_values_stay_text(tmp_path):
    path = written(
        tmp_path, "spk_id,code\n0012,01\nNA,null\n12e5,1e3\n 7 ,\n", encoding="utf-8-sig"
    )
    table = read_side_information(path)
    assert table.index.tolist() == ["0012", "NA", "12e5", "7"]
    assert table.code.tolist()[:3] == ["01", "null", "1e3"]
    assert pd.isna(table.code["7"])


def test_quotes_and_blanks_inside_values(tmp_path):
    path = written(tmp_path, 'who,job\na,"clerk, ""senior"""\nb," clerk "\n')
    assert read_side_information(path).job.tolist() == ['clerk, "senior"', "clerk"]


def test_stray_quotes_swallow_no_row(tmp_path):
    """Case 01: a parser pairs quotes over lines, so that b was gone without a word."""
    path = written(tmp_path, 'speaker\ttown\na\t"x\nb\ty"\nc\tz\n', "people.tsv")
    assert read_side_information(path).town.to_dict() == {"a": '"x', "b": 'y"', "c": "z"}
    path = written(tmp_path, 'speaker,town\na,x\n\nb,"y\nc,z"\n')
    with pytest.raises(VoicePrivacyError, match="line 4: a quote is open until line 5"):
        read_side_information(path)


def test_columns_are_taken_in_the_order_asked_for(tmp_path):
    path = written(tmp_path, "job\ttown\tspeaker\nclerk\tx\ta\n", "people.tsv")
    assert read_side_information(path, ["town", "job"]).columns.tolist() == ["town", "job"]
    assert read_side_information(path, ["town"], speaker="job").index.tolist() == ["clerk"]


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("", {}, "is empty"),
        ("speaker,town\na,x,y\n", {}, "line 2 has more or fewer cells than the heading's 2"),
        ('speaker,town\na,"x\n', {}, "line 2: unexpected end"),
        ("speaker;town\na;x\n", {}, "line 1: semicolons stand between the cells; expected comm"),
        ("speaker\ttown\na\tx\n", {}, "line 1: tabs stand between the cells; expected commas"),
        ("speaker,town\na,x\na,y\n", {}, "speaker 'a' appears more than once"),
        ("speaker,town\n,x\n", {}, "no speaker id in row 2"),
        ("speaker,town,town\na,x,y\n", {}, "more than one column 'town'"),
        ("speaker,town\na,x\n", {"columns": ["job"]}, "no column 'job'; its columns are 'speaker'"),
        ("speaker,town\na,x\n", {"speaker": "id"}, "no column 'id'"),
        ("speaker,town\na,x\n", {"columns": ["town", "town"]}, "column 'town' appears more than"),
        ("speaker,town\na,x\n", {"columns": ["speaker"]}, "'speaker' holds the speaker ids"),
    ],
)
def test_faults_are_named(tmp_path, text, options, message):
    with pytest.raises(VoicePrivacyError, match=message):
        read_side_information(written(tmp_path, text), **options)


def test_a_file_of_another_encoding_is_refused(tmp_path):
    with pytest.raises(VoicePrivacyError, match="is not UTF-8"):
        read_side_information(written(tmp_path, "speaker,town\na,Müncheberg\n", encoding="latin-1"))


def test_values_are_numbered_whatever_the_order_of_rows():
    table = pd.DataFrame({"town": ["x", "y", None, ""]}, index=["a", "b", "c", "d"])
    speakers = np.array(["a", "b", "c", "d", "e"])
    codes, absent = encode(table[::-1], speakers, missing="unknown")
    assert (codes[:, 0].tolist(), absent) == ([0, 1, -1, -1, -1], 1)
    with pytest.raises(VoicePrivacyError, match=r"lacks 1 of 5 speakers: 'e'"):
        encode(table, speakers)
    with pytest.raises(VoicePrivacyError, match="missing is 'drop'"):
        encode(table, speakers, missing="drop")
    with pytest.raises(VoicePrivacyError, match="'a' appears more than once"):
        encode(pd.concat([table, table[:1]]), speakers)
