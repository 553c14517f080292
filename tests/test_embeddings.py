"""Embeddings survive every format unchanged, and bad files are refused by name."""

import h5py
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from voiceprivacy.embeddings import Embeddings, concatenate, read_embeddings, write_embeddings
from voiceprivacy.errors import VoicePrivacyError

SUFFIXES = (".h5", ".hdf5", ".npz", ".parquet", ".NPZ")
AWKWARD = [
    "0012",
    "NA",
    "12e5",
    "1e5",
    "nan",
    "None",
    "True",
    "-5",
    "001",
    "été",
    "a/b/01.wav",
    "#1",
]


def some(utterances=("u1", "u2", "u3"), speakers=None, dimension=4):
    utterances = list(utterances)
    speakers = speakers or [f"s{i % 2}" for i in range(len(utterances))]
    matrix = np.random.default_rng(0).normal(size=(len(utterances), dimension))
    return Embeddings(utterances, speakers, matrix)


def as_dict(embeddings):
    return {
        u: (s, row.tolist())
        for u, s, row in zip(
            embeddings.utterances.tolist(),
            embeddings.speakers.tolist(),
            embeddings.matrix,
            strict=True,
        )
    }


def h5_of(folder, vectors, spk2utt, name="xvector.h5"):
    with h5py.File(folder / name, "w") as file:
        for key, value in vectors.items():
            file[key] = value
    (folder / "spk2utt").write_text(spk2utt, encoding="utf-8")
    return folder / name


# -- the container -----------------------------------------------------------------------------


def test_matrix_becomes_float32_and_ids_text():
    e = Embeddings(pd.Series(["a", "b"]), np.array(["s", "s"], object), np.eye(2))
    assert e.matrix.dtype == np.float32
    assert e.utterances.dtype.kind == e.speakers.dtype.kind == "U"


def test_select_takes_masks_and_row_numbers():
    e = some()
    assert e.select([True, False, True]).utterances.tolist() == ["u1", "u3"]
    assert e.select([2, 0]).utterances.tolist() == ["u3", "u1"]
    assert len(e.select([])) == 0


def test_select_refuses_a_row_twice():
    with pytest.raises(VoicePrivacyError, match=r"1 of 2 utterances appear twice: 'u1'"):
        some().select([0, 0])


def test_of_speakers_keeps_order_and_names_the_absent():
    e = some()
    assert e.of_speakers(["s0"]).utterances.tolist() == ["u1", "u3"]
    with pytest.raises(VoicePrivacyError, match="1 of 2 speakers have no embedding: 's9'"):
        e.of_speakers(["s0", "s9"])


@pytest.mark.parametrize("scale", [1e-30, 1.0, 1e30])
def test_normalised_rows_have_norm_one_at_any_scale(scale):
    e = some()
    unit = Embeddings(e.utterances, e.speakers, e.matrix * scale).normalised().matrix
    np.testing.assert_allclose(np.linalg.norm(unit, axis=1), 1, rtol=1e-6)
    np.testing.assert_allclose(unit, e.normalised().matrix, rtol=1e-5)


def test_concatenate_stacks_and_refuses_two_dimensions():
    both = concatenate([some(["a"]), some(["b"])])
    assert both.utterances.tolist() == ["a", "b"]
    with pytest.raises(VoicePrivacyError, match="dimensions 3, 4 cannot be put together"):
        concatenate([some(["a"]), some(["b"], dimension=3)])
    with pytest.raises(VoicePrivacyError, match="twice"):
        concatenate([some(["a"]), some(["a"])])
    with pytest.raises(VoicePrivacyError, match="no embeddings"):
        concatenate([])


@pytest.mark.parametrize(
    ("utterances", "speakers", "matrix", "message"),
    [
        (["a"], ["s", "s"], [[1.0]], "1 utterance ids, 2 speakers and 1 embeddings"),
        (["a", ""], ["s", "s"], [[1.0], [1.0]], r"utterance ids are empty in 1 rows: 1"),
        (["a", "b"], ["s", " "], [[1.0], [1.0]], r"speaker ids are empty in 1 rows: 1"),
        ([12, 13], ["s", "s"], [[1.0], [1.0]], "2 utterance ids are not text.*leading zeros"),
        (["a", None], ["s", "s"], [[1.0], [1.0]], "row 1: None"),
        (["a", "b"], ["s", float("nan")], [[1.0], [1.0]], "row 1: nan"),
        ([b"a", b"b"], ["s", "s"], [[1.0], [1.0]], "not text"),
        (["a", "a"], ["s", "t"], [[1.0], [1.0]], "1 of 2 utterances appear twice: 'a'"),
        (["a", "b"], ["s", "s"], [[np.nan], [1.0]], "1 of 2 embeddings hold NaN.*'a'"),
        (["a", "b"], ["s", "s"], [[1.0], [1e39]], "hold NaN or infinite values: 'b'"),
        (["a", "b"], ["s", "s"], [[1.0], [0.0]], "1 of 2 embeddings are all zeros: 'b'"),
        (["a"], ["s"], [1.0], r"shape \(1,\); expected \(utterances, dimension\)"),
        (["a"], ["s"], [[]], r"shape \(1, 0\)"),
    ],
)
def test_bad_arrays_are_refused(utterances, speakers, matrix, message):
    with pytest.raises(VoicePrivacyError, match=message):
        Embeddings(utterances, speakers, np.array(matrix))


# -- every format ------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_every_format_keeps_awkward_ids_and_exact_values(tmp_path, suffix):
    e = some(AWKWARD, speakers=[f"{i % 3:04d}" for i in range(len(AWKWARD))])
    write_embeddings(e, tmp_path / f"pool{suffix}")
    assert as_dict(read_embeddings(tmp_path / f"pool{suffix}")) == as_dict(e)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_cut_file_is_refused_wherever_it_is_cut(tmp_path, suffix):
    path = tmp_path / f"pool{suffix}"
    write_embeddings(some([f"u{i}" for i in range(50)], dimension=32), path)
    whole = path.read_bytes()
    for kept in [0, 1, 10, *np.linspace(50, len(whole) - 1, 25, dtype=int)]:
        path.write_bytes(whole[:kept])
        with pytest.raises(VoicePrivacyError, match="cut or damaged"):
            read_embeddings(path)


def test_damage_inside_numpy_s_files_is_told(tmp_path):
    """Single bytes, for which numpy and zipfile have exceptions of their own."""
    e = some(["u", "v"], dimension=2)
    write_embeddings(e, tmp_path / "pool.npz")
    content = bytearray((tmp_path / "pool.npz").read_bytes())
    content[content.index(b"PK\x01\x02") + 10] = 99  # the method of compression
    (tmp_path / "pool.npz").write_bytes(content)
    np.save(tmp_path / "x.npy", e.matrix)
    (tmp_path / "x.txt").write_text("u s\nv s\n")
    header = (tmp_path / "x.npy").read_bytes().replace(b"(2, 2)", b"(2, 2(")
    (tmp_path / "x.npy").write_bytes(header)
    for name in ("pool.npz", "x.npy"):
        with pytest.raises(VoicePrivacyError, match=f"{name}: .*cut or damaged"):
            read_embeddings(tmp_path / name)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_file_of_another_kind_is_refused(tmp_path, suffix):
    (tmp_path / "spk2utt").write_text("s u\n")
    (tmp_path / f"x{suffix}").write_text("<html>not here</html>" * 100)
    with pytest.raises(VoicePrivacyError, match="cut or damaged"):
        read_embeddings(tmp_path / f"x{suffix}")


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_writing_replaces_the_file_whole(tmp_path, suffix):
    path = tmp_path / "deep" / f"pool{suffix}"
    write_embeddings(some(["a", "b"]), path)
    write_embeddings(some(["c"]), path)
    assert read_embeddings(path).utterances.tolist() == ["c"]
    assert not list(path.parent.glob(".*"))


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_file_without_utterances_is_refused(tmp_path, suffix):
    path = tmp_path / f"pool{suffix}"
    write_embeddings(some().select([]), path)
    with pytest.raises(VoicePrivacyError, match="holds no utterance"):
        read_embeddings(path)


def test_the_message_names_the_file(tmp_path):
    np.savez(tmp_path / "x.npz", utterances=["a"], speakers=["s"], matrix=[[np.nan]])
    with pytest.raises(VoicePrivacyError, match=r"x\.npz: 1 of 1 embeddings hold NaN"):
        read_embeddings(tmp_path / "x.npz")


def test_unknown_suffix_and_missing_file(tmp_path):
    (tmp_path / "x.pt").touch()
    for act in (lambda p: read_embeddings(p), lambda p: write_embeddings(some(), p)):
        with pytest.raises(VoicePrivacyError, match=r"unknown suffix '.pt'; expected one of .h5"):
            act(tmp_path / "x.pt")
    with pytest.raises(VoicePrivacyError, match="no such file"):
        read_embeddings(tmp_path / "none.npz")


# -- SIDEKIT-style HDF5 ------------------------------------------------------------------------


def test_hdf5_takes_vectors_with_and_without_a_leading_one(tmp_path):
    vectors = {"u1": np.ones(3, "f4"), "u2": np.full((1, 3), 2.0), "u3": np.array([1, 2, 3])}
    e = read_embeddings(h5_of(tmp_path, vectors, "b u3\na u1 u2\n\n"))
    assert e.utterances.tolist() == ["u3", "u1", "u2"]
    assert e.speakers.tolist() == ["b", "a", "a"]
    assert e.matrix.tolist() == [[1, 2, 3], [1, 1, 1], [2, 2, 2]]


def test_hdf5_is_the_layout_that_others_read(tmp_path):
    e = some(["s1-b", "s1-a", "s0-a"], speakers=["s1", "s1", "s0"])
    write_embeddings(e, tmp_path / "xvectors.h5")
    with h5py.File(tmp_path / "xvectors.h5") as file:
        assert sorted(file) == ["s0-a", "s1-a", "s1-b"]
        assert file["s1-b"].shape == (4,)
        assert file["s1-b"].dtype == np.float32
        np.testing.assert_array_equal(file["s1-b"][()], e.matrix[0])
    assert (tmp_path / "spk2utt").read_text() == "s0 s0-a\ns1 s1-a s1-b\n"


@pytest.mark.parametrize("name", ["xvector.h5", "xvectors.h5"])
def test_legal_eval_reads_what_we_write(tmp_path, name):
    legal_eval = pytest.importorskip("legal_eval")
    e = some()
    write_embeddings(e, tmp_path / name)
    spk2utt = legal_eval.load_spk2utt(tmp_path / "spk2utt")
    assert spk2utt == {"s0": ["u1", "u3"], "s1": ["u2"]}
    theirs = legal_eval.load_xvectors(tmp_path / name, ["u1", "u2", "u3"])
    np.testing.assert_array_equal(np.stack([theirs[u] for u in e.utterances]), e.matrix)


@pytest.mark.parametrize(
    ("vectors", "spk2utt", "message"),
    [
        ({"a": [1, 2], "b": [1, 2, 3]}, "s a b", r"2 dimensions \(2: 'a'; 3: 'b'\)"),
        ({"a": [1, 2]}, "s a b c", r"2 utterances of spk2utt have no vector \('b', 'c'\)"),
        ({"a": [1, 2], "b": [1, 2]}, "s a", r"1 utterances with a vector are not in spk2utt \('b'"),
        ({"a": [[1, 2], [3, 4]]}, "s a", r"no single vector.*a \(2, 2\)"),
        ({"a": 1.0}, "s a", r"no single vector.*a \(\)"),
        ({"a": "text"}, "s a", "'a' holds object; expected numbers"),
        ({"a": [1, 2]}, "s a\nt a", "line 2: utterances named twice: 'a'"),
        ({"a": [1, 2]}, "s a a", "line 1: utterances named twice: 'a'"),
        ({"a": [1], "b": [1]}, "s a\ns b", "line 2: speaker 's' has a line already"),
        ({"a": [1, 2]}, "s a\n\nt", "line 3: speaker 't' has no utterance"),
        ({"a": [np.inf, 2]}, "s a", "hold NaN or infinite values: 'a'"),
        ({"a": [0.0, 0.0]}, "s a", "all zeros: 'a'"),
    ],
)
def test_bad_hdf5_is_refused(tmp_path, vectors, spk2utt, message):
    with pytest.raises(VoicePrivacyError, match=message):
        read_embeddings(h5_of(tmp_path, vectors, spk2utt))


def test_hdf5_without_or_with_unreadable_spk2utt(tmp_path):
    path = h5_of(tmp_path, {"a": [1.0]}, "s a")
    (tmp_path / "spk2utt").write_bytes(b"\xff\xfe s a")
    with pytest.raises(VoicePrivacyError, match="not UTF-8"):
        read_embeddings(path)
    (tmp_path / "spk2utt").unlink()
    with pytest.raises(VoicePrivacyError, match="spk2utt is missing; expected a text file"):
        read_embeddings(path)


def test_spk2utt_may_have_a_byte_order_mark_and_windows_lines(tmp_path):
    path = h5_of(tmp_path, {"a": [1.0]}, "")
    (tmp_path / "spk2utt").write_bytes(b"\xef\xbb\xbfs a\r\n")
    assert read_embeddings(path).speakers.tolist() == ["s"]


@pytest.mark.parametrize("lost", ["a b", "a//b", "/a", "a/", "a/./b", ".", "a\tb"])
def test_hdf5_refuses_ids_that_would_change(tmp_path, lost):
    with pytest.raises(VoicePrivacyError, match=r"write \.npz or \.parquet"):
        write_embeddings(some(["ok", lost]), tmp_path / "x.h5")
    assert not list(tmp_path.iterdir())


def test_hdf5_refuses_an_id_that_is_the_folder_of_another(tmp_path):
    with pytest.raises(VoicePrivacyError, match="cannot hold 'a/b' beside the other ids"):
        write_embeddings(some(["a", "a/b"]), tmp_path / "x.h5")
    assert not list(tmp_path.iterdir())


def test_two_hdf5_files_do_not_share_one_spk2utt(tmp_path):
    write_embeddings(some(["a"]), tmp_path / "pool.h5")
    with pytest.raises(VoicePrivacyError, match=r"already holds 'pool.h5'.*folder of its own"):
        write_embeddings(some(["b"]), tmp_path / "enrolment.h5")
    assert read_embeddings(tmp_path / "pool.h5").utterances.tolist() == ["a"]


def test_large_vectors_fit_hdf5(tmp_path):
    e = some(dimension=20_000)
    write_embeddings(e, tmp_path / "x.h5")
    assert as_dict(read_embeddings(tmp_path / "x.h5")) == as_dict(e)


# -- folders -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["xvector.h5", "xvectors.h5"])
def test_a_folder_is_read_by_its_known_name(tmp_path, name):
    write_embeddings(some(), tmp_path / name)
    assert as_dict(read_embeddings(tmp_path)) == as_dict(some())


@pytest.mark.parametrize("name", ["xvector.npz", "xvectors.npz"])
def test_a_folder_with_one_npz_array_an_utterance(tmp_path, name):
    np.savez(tmp_path / name, u1=np.ones(2), u2=np.full((1, 2), 2.0))
    (tmp_path / "spk2utt").write_text("a u2\nb u1\n")
    e = read_embeddings(tmp_path)
    assert as_dict(e) == {"u2": ("a", [2, 2]), "u1": ("b", [1, 1])}


def test_a_folder_with_no_or_two_files_is_refused(tmp_path):
    with pytest.raises(VoicePrivacyError, match="it holds none"):
        read_embeddings(tmp_path)
    for name in ("xvector.h5", "xvectors.npz"):
        (tmp_path / name).touch()
    with pytest.raises(VoicePrivacyError, match=r"holds 'xvector.h5', 'xvectors.npz'\. Name the"):
        read_embeddings(tmp_path)


# -- npz and parquet ---------------------------------------------------------------------------


def test_npz_never_unpickles(tmp_path):
    ids = np.array(["a"], dtype=object)
    np.savez(tmp_path / "x.npz", utterances=ids, speakers=ids, matrix=np.ones((1, 2)))
    with pytest.raises(VoicePrivacyError, match=r"Python objects.*astype\(str\)"):
        read_embeddings(tmp_path / "x.npz")


def test_one_array_under_the_name_of_an_npz_is_refused(tmp_path):
    with (tmp_path / "x.npz").open("wb") as file:
        np.save(file, np.ones((1, 2)))
    with pytest.raises(VoicePrivacyError, match=r"not a zip archive"):
        read_embeddings(tmp_path / "x.npz")


def test_npz_with_other_arrays_is_refused(tmp_path):
    np.savez(tmp_path / "x.npz", ids=["a"], matrix=np.ones((1, 2)))
    with pytest.raises(VoicePrivacyError, match="holds the arrays 'ids', 'matrix'; expected"):
        read_embeddings(tmp_path / "x.npz")


def test_parquet_written_by_pandas_is_read(tmp_path):
    frame = pd.DataFrame({"utterance": ["a", "b"], "speaker": ["s", "t"]})
    frame["speaker"] = frame["speaker"].astype("category")
    frame["embedding"] = [np.array([1.0, 2.0]), np.array([3.0, 4.0])]
    frame["extra"] = 1
    frame.to_parquet(tmp_path / "x.parquet")
    e = read_embeddings(tmp_path / "x.parquet")
    assert as_dict(e) == {"a": ("s", [1, 2]), "b": ("t", [3, 4])}


def test_parquet_vectors_have_a_fixed_size(tmp_path):
    write_embeddings(some(), tmp_path / "x.parquet")
    assert pq.read_schema(tmp_path / "x.parquet").field("embedding").type.list_size == 4


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"utterance": ["a"], "speaker": ["s"]}, "no column 'embedding'; it has 'utterance', 'spe"),
        ({"utterance": [12], "speaker": ["s"], "embedding": [[1.0]]}, "'utterance' holds int64"),
        ({"utterance": ["a"], "speaker": [None], "embedding": [[1.0]]}, "'speaker' holds"),
        ({"utterance": ["a"], "speaker": ["s"], "embedding": [1.0]}, "expected a list of numbers"),
        (
            {"utterance": ["a", "b"], "speaker": ["s", "s"], "embedding": [[1.0], None]},
            "with 1 missing values; expected a list",
        ),
        (
            {"utterance": ["a", "b"], "speaker": ["s", "s"], "embedding": [[1.0], [1.0, 2.0]]},
            r"2 dimensions \(1: 'a'; 2: 'b'\)",
        ),
        (
            {"utterance": ["a", "b"], "speaker": ["s", "s"], "embedding": [[1.0], [None]]},
            "NaN or infinite values: 'b'",
        ),
        ({"utterance": ["a"], "speaker": ["s"], "embedding": [["x"]]}, "expected a list of numb"),
    ],
)
def test_bad_parquet_is_refused(tmp_path, columns, message):
    pq.write_table(pa.table(columns), tmp_path / "x.parquet")
    with pytest.raises(VoicePrivacyError, match=message):
        read_embeddings(tmp_path / "x.parquet")
