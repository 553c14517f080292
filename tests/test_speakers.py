import numpy as np
import pandas as pd
import pytest

from voiceprivacy.errors import VoicePrivacyError
from voiceprivacy.speakers import AGES, checked_speakers, read_speakers


@pytest.fixture
def file(tmp_path):
    def write(text, name="speakers.csv", encoding="utf-8"):
        path = tmp_path / name
        path.write_bytes(text.encode(encoding))
        return path

    return write


def table(**columns):
    return pd.DataFrame({"speaker": ["a", "b"], "gender": "f", "age": "teens"} | columns)


class TestChecked:
    @pytest.mark.parametrize(
        ("word", "known"),
        [
            *[(word, "female") for word in ("female", "f", "F", " Female ", "female_feminine")],
            *[(word, "male") for word in ("male", "M", "male_masculine")],
            *[(word, "") for word in ("", "other", "o", None, np.nan, "non-binary")],
        ],
    )
    def test_spellings_of_gender(self, word, known):
        assert checked_speakers(table(gender=["f", word]))["gender"].tolist() == ["female", known]

    @pytest.mark.parametrize("word", [*AGES, "fourties", "Thirties", "", None])
    def test_spellings_of_age(self, word):
        found = checked_speakers(table(age=["teens", word]))["age"][1]
        assert found == {"fourties": "forties", "Thirties": "thirties", None: ""}.get(word, word)

    def test_keeps_order_and_forgets_the_index_and_other_columns(self):
        given = table(accent="x").set_axis([7, 3])
        found = checked_speakers(given)
        assert found["speaker"].tolist() == ["a", "b"]
        assert found.index.tolist() == [0, 1]
        assert found.columns.tolist() == ["speaker", "gender", "age"]

    def test_categories_are_words_too(self):
        found = checked_speakers(table(gender=pd.Categorical(["m", None])))
        assert found["gender"].tolist() == ["male", ""]

    def test_a_column_that_is_not_required_is_unknown_when_absent(self):
        found = checked_speakers(table().drop(columns="age"), ("gender",))
        assert found["age"].tolist() == ["", ""]

    @pytest.mark.parametrize("column", ["speaker", "gender", "age"])
    def test_refuses_a_missing_column(self, column):
        with pytest.raises(VoicePrivacyError, match=rf"no column '{column}'; its columns are"):
            checked_speakers(table().drop(columns=column))

    def test_lists_unknown_words_with_their_rows(self):
        given = table(age=["teens", "21-29"])
        with pytest.raises(VoicePrivacyError, match=r"row 2: '21-29'.*one of 'teens'"):
            checked_speakers(given)

    def test_counts_all_unknown_words_and_names_the_first(self):
        given = pd.DataFrame({"speaker": list("abcdefgh"), "gender": "x", "age": ""})
        with pytest.raises(VoicePrivacyError, match="8 rows whose gender") as error:
            checked_speakers(given)
        assert "row 5" in str(error.value)
        assert "row 6" not in str(error.value)

    def test_lists_repeated_ids(self):
        with pytest.raises(VoicePrivacyError, match="1 speaker ids on more than one row: 'a'"):
            checked_speakers(table(speaker=["a", "a"]))

    @pytest.mark.parametrize("empty", ["", "  ", None])
    def test_refuses_empty_ids(self, empty):
        with pytest.raises(VoicePrivacyError, match="empty speaker id in row 2"):
            checked_speakers(table(speaker=["a", empty]))

    def test_refuses_ids_that_were_read_as_numbers(self):
        with pytest.raises(VoicePrivacyError, match=r"not text: 12, 1200000\.0.*dtype=str"):
            checked_speakers(table(speaker=pd.Series([12, 12e5], dtype=object)))

    def test_refuses_an_empty_table(self):
        with pytest.raises(VoicePrivacyError, match="no rows"):
            checked_speakers(table().iloc[:0])


class TestRead:
    def test_ids_stay_text(self, file):
        ids = ["0012", "NA", "12e5", "nan", "None", "1.0", "True", "a,b", 'say "hi"', "É", "-0"]
        path = file(pd.DataFrame({"speaker": ids, "gender": "", "age": ""}).to_csv(index=False))
        assert read_speakers(path)["speaker"].tolist() == ids

    def test_common_voice_columns_and_spelling(self, file):
        text = 'client_id\tpath\tsentence\tage\tgender\n00ab\tx.mp3\t"Hi there\tfourties\tother\n'
        found = read_speakers(file(text, "validated.tsv"))
        assert found.to_dict("list") == {"speaker": ["00ab"], "gender": [""], "age": ["forties"]}

    def test_byte_order_mark_and_capitals(self, file):
        path = file("Speaker_ID, Sex ,AGE\nNA,f,\n", encoding="utf-8-sig")
        assert read_speakers(path).to_dict("list") == {
            "speaker": ["NA"],
            "gender": ["female"],
            "age": [""],
        }

    def test_gender_before_sex(self, file):
        path = file("speaker,sex,gender,age\na,f,m,\n")
        assert read_speakers(path)["gender"].tolist() == ["male"]

    def test_kaldi(self, file):
        path = file("spk-o-1\tf\n0012 m\n", "cv11_A.spk2gender")
        assert read_speakers(path).to_dict("list") == {
            "speaker": ["spk-o-1", "0012"],
            "gender": ["female", "male"],
            "age": ["", ""],
        }

    def test_authors_lists(self, shared_data):
        found = read_speakers(shared_data("side_information_authors") / "cv11_A.spk2gender")
        assert found["gender"].value_counts().to_dict() == {"male": 16423, "female": 5601}

    def test_rows_are_numbered_as_in_the_file(self, file):
        with pytest.raises(VoicePrivacyError, match="row 3: 'x'"):
            read_speakers(file("speaker,gender,age\na,f,\nb,x,\n"))

    def test_missing_column_names_the_file(self, file):
        path = file("speaker,gender\na,f\n")
        with pytest.raises(VoicePrivacyError, match=r"speakers\.csv has no column 'age'"):
            read_speakers(path)
        assert read_speakers(path, ("gender",))["age"].tolist() == [""]

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("", "is empty"),
            ("speaker,gender,age,age\na,f,,\n", "more than one column 'age'"),
            ("speaker;gender\na;f\n", "line 1: semicolons stand between the cells; expected comm"),
            ("one two three\n", "spk2gender file.*line 1"),
            ("speaker,gender,age\n", "no rows"),
            ("speaker,gender,age\na,f,\n,f,\n", "empty speaker id in row 3"),
            ('speaker,gender,age\n"a,f,\n', "is not a table: line 2: unexpected end"),
            ('speaker,gender,age\n"a,f,\nb",m,\n', "line 2: a quote is open until line 3"),  # 01
            ("speaker,gender,age\na,f,,,,\n", "is not a table"),
            ("speaker,gender,age\na,f,\nb,f,,,\n", "is not a table"),
            ("speaker,gender,age\na,f,\n\nb,f\n", "line 4 has more or fewer cells"),
        ],
    )
    def test_refuses(self, file, text, message):
        with pytest.raises(VoicePrivacyError, match=message):
            read_speakers(file(text))

    def test_refuses_no_file_and_no_text(self, file, tmp_path):
        with pytest.raises(VoicePrivacyError, match="there is no file"):
            read_speakers(tmp_path / "none.csv")
        with pytest.raises(VoicePrivacyError, match="not UTF-8"):
            read_speakers(file("spéaker,gender,age\n", encoding="latin-1"))
