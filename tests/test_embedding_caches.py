"""Caches of other tools, written here by hand from their descriptions, are read row by row."""

import os
import struct
import sys

import h5py
import numpy as np
import pytest

from voiceprivacy.embeddings import (
    Embeddings,
    read_embeddings,
    short_speakers,
    write_embeddings,
)
from voiceprivacy.errors import VoicePrivacyError
from voiceprivacy.speech_sides import is_speech

N = 24  # more than ten rows: as text, row 10 comes before row 2
SCRAMBLED = np.random.default_rng(3).permutation(N).tolist()


def by_utterance(embeddings):
    names = embeddings.utterances.tolist()
    rows = zip(embeddings.speakers.tolist(), embeddings.matrix.tolist(), strict=True)
    return dict(zip(names, rows, strict=True))


def lines(pairs):
    return "".join(f"{a} {b}\n" for a, b in pairs)


def some(n=N, dimension=5):
    ids = [f"{i % 7:04d}-{i:03d}" for i in range(n)]
    matrix = np.random.default_rng(1).normal(size=(n, dimension))
    return Embeddings(ids, [name[:4] for name in ids], matrix)


# -- the VoicePrivacy Challenge's cache --------------------------------------------------------


@pytest.fixture
def torch():
    return pytest.importorskip("torch")


@pytest.fixture
def cache(torch, tmp_path):
    """Row r of the tensor is r, r + 0.5; the i-th utterance in order lies in row SCRAMBLED[i]."""
    folder = tmp_path / "libri_dev_trials_f_x" / "utt-level"
    folder.mkdir(parents=True)
    rows = torch.arange(N, dtype=torch.float32)
    torch.save(torch.stack([rows, rows + 0.5], dim=1), folder / "speaker_vectors.pt")
    (folder / "id2idx").write_text(lines((utterance(i), SCRAMBLED[i]) for i in range(N)))
    of_row = sorted((SCRAMBLED[i], speaker(i)) for i in range(N))
    (folder / "idx2spk").write_text(lines(of_row))
    (folder / "spk2gender").write_text(lines((f"{s}", "f") for s in range(100, 106)))
    return folder


def speaker(i):
    return f"{100 + i % 6}"


def utterance(i):
    return f"{speaker(i)}-{i:04d}"


def test_a_challenge_cache_is_read_by_row_numbers(cache):
    expected = {utterance(i): (speaker(i), [SCRAMBLED[i], SCRAMBLED[i] + 0.5]) for i in range(N)}
    assert by_utterance(read_embeddings(cache)) == expected
    assert by_utterance(read_embeddings(cache / "speaker_vectors.pt")) == expected
    assert by_utterance(read_embeddings(cache.parent)) == expected


def test_legal_eval_finds_the_same_in_a_cache(cache):
    legal_eval = pytest.importorskip("legal_eval.vpc")
    theirs, ours = legal_eval.load_vpc_embeddings(cache), by_utterance(read_embeddings(cache))
    assert {
        u: (theirs.identifier2speaker[u], v.tolist()) for u, v in theirs.embeddings.items()
    } == ours


def test_a_cache_sorted_as_text_is_the_same_cache(cache):
    before = by_utterance(read_embeddings(cache))
    rows = (cache / "idx2spk").read_text().splitlines()
    (cache / "idx2spk").write_text("\n".join(sorted(rows)))
    assert by_utterance(read_embeddings(cache)) == before


def test_speakers_permuted_by_a_resumed_run_are_refused_or_told_by_a_table(cache, tmp_path):
    before = by_utterance(read_embeddings(cache))
    speakers = [row.split()[1] for row in sorted((cache / "idx2spk").read_text().splitlines())]
    (cache / "idx2spk").write_text(lines(enumerate(speakers)))
    with pytest.raises(VoicePrivacyError, match=r"idx2spk gives \d+ of 24 ids to other.*resumed"):
        read_embeddings(cache)
    table = tmp_path / "utt2spk"
    table.write_text(lines((utterance(i), speaker(i)) for i in range(N + 5)))
    assert by_utterance(read_embeddings(cache, speakers=table)) == before


def test_speaker_level_ids_are_speakers(cache):
    folder = cache.rename(cache.parent / "spk-level")
    e = read_embeddings(cache.parent)
    assert e.speakers.tolist() == e.utterances.tolist()
    (folder / "idx2spk").unlink()
    assert len(read_embeddings(folder)) == N


def test_a_dataset_with_both_levels_must_name_one(cache):
    (cache.parent / "spk-level").mkdir()
    with pytest.raises(VoicePrivacyError, match="holds 'utt-level', 'spk-level'; name one"):
        read_embeddings(cache.parent)


def test_an_unfinished_run_is_named(cache):
    (cache / "temp_1").mkdir()
    for file in ("speaker_vectors.pt", "id2idx"):
        (cache / file).rename(cache / "temp_1" / file)
    for folder in (cache, cache.parent):
        with pytest.raises(VoicePrivacyError, match=r"an unfinished run left 'temp_1'"):
            read_embeddings(folder)


@pytest.mark.parametrize(
    ("file", "change", "message"),
    [
        ("id2idx", lambda t: t.replace(" 23\n", " 24\n"), r"1 ids .* beyond the 24 .*: '\S+ 24'"),
        ("id2idx", lambda t: t.replace(" 23\n", " 0\n"), "1 ids of id2idx have a row that another"),
        ("id2idx", lambda t: t.replace(" 23\n", " x\n"), "id2idx: expected row numbers"),
        ("id2idx", lambda t: t.replace(" 23\n", "\n"), "id2idx: expected row numbers"),
        ("id2idx", lambda t: t.split("\n", 1)[1], "24 rows and the 23 ids in id2idx"),
        ("idx2spk", lambda t: t.split("\n", 1)[1], r"23 speakers .* rows without: 0\."),
        ("idx2spk", lambda t: t + "24 100\n", "24 rows and the 25 speakers in idx2spk"),
        ("idx2spk", lambda t: t.replace("0 ", "x ", 1), "idx2spk: expected row numbers.*'x'"),
    ],
)
def test_tables_that_do_not_fit_the_tensor_are_refused(cache, file, change, message):
    (cache / file).write_text(change((cache / file).read_text()))
    with pytest.raises(VoicePrivacyError, match=message):
        read_embeddings(cache)


@pytest.mark.parametrize("file", ["id2idx", "idx2spk"])
def test_a_cache_without_a_table_is_refused(cache, file):
    (cache / file).unlink()
    with pytest.raises(VoicePrivacyError, match=rf"{file} is missing"):
        read_embeddings(cache)


def test_only_a_matrix_of_floats_is_taken(torch, cache):
    for held, message in [
        (torch.zeros(3), r"holds a tensor of shape \(3,\), torch.float32; expected one tensor"),
        (torch.ones(N, 2, 1), r"shape \(24, 2, 1\)"),
        (torch.ones(N, 2, dtype=torch.int64), "torch.int64"),
        ([torch.ones(2)] * N, "holds a list"),
        (torch.full((N, 2), torch.nan), "24 of 24 embeddings hold NaN"),
    ]:
        torch.save(held, cache / "speaker_vectors.pt")
        with pytest.raises(VoicePrivacyError, match=message):
            read_embeddings(cache)


class Trap:
    """An object whose pickle runs a command when it is loaded."""

    def __init__(self, mark):
        self.mark = mark

    def __reduce__(self):
        return (os.mkdir, (str(self.mark),))


@pytest.mark.parametrize("zipped", [True, False])
def test_a_malicious_pickle_does_not_run(torch, cache, tmp_path, zipped):
    mark = tmp_path / "run"
    torch.save(
        [torch.ones(N, 2), Trap(mark)],
        cache / "speaker_vectors.pt",
        _use_new_zipfile_serialization=zipped,
    )
    with pytest.raises(VoicePrivacyError, match="Python objects are not loaded"):
        read_embeddings(cache)
    assert not mark.exists()
    # The trap is real: whoever loads it without care runs it.
    torch.load(cache / "speaker_vectors.pt", weights_only=False)
    assert mark.exists()


def test_a_cut_tensor_is_refused(cache):
    whole = (cache / "speaker_vectors.pt").read_bytes()
    for kept in [0, 1, 10, len(whole) // 2, len(whole) - 30]:
        (cache / "speaker_vectors.pt").write_bytes(whole[:kept])
        with pytest.raises(VoicePrivacyError, match="cut or damaged"):
            read_embeddings(cache)


def test_without_torch_the_extra_is_named(cache, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(VoicePrivacyError, match=r"needs the package torch.*voiceprivacy\[speech\]"):
        read_embeddings(cache)


# -- Kaldi archives ----------------------------------------------------------------------------


def record(name, values, kind="FV"):
    number = "<f4" if kind[0] == "F" else "<f8"
    values = np.asarray(values, number)
    sizes = b"".join(b"\4" + struct.pack("<i", size) for size in values.shape)
    return f"{name} ".encode() + b"\0B" + kind.encode() + b" " + sizes + values.tobytes()


def archive(folder, *records, spk2utt="s a\nt b\n", name="x.ark"):
    (folder / name).write_bytes(b"".join(records))
    (folder / "spk2utt").write_text(spk2utt)
    return folder / name


def test_archives_hold_floats_doubles_and_text(tmp_path):
    records = [
        record("a", [1, 2.5]),
        record("b", [3, 4], "DV"),
        b"c  [ 5 -6e1 ]\n",
        record("d", [[7, 8]], "FM"),
        b"e  [\n  9 10 ]\n",
    ]
    path = archive(tmp_path, *records, spk2utt="s e d c b a\n")
    expected = {"a": [1, 2.5], "b": [3, 4], "c": [5, -60], "d": [7, 8], "e": [9, 10]}
    found = by_utterance(read_embeddings(path))
    assert {name: row for name, (_, row) in found.items()} == expected


def test_numbered_archives_of_a_folder_are_one(tmp_path):
    archive(tmp_path, record("b", [3, 4]), name="xvector.1.ark")
    archive(tmp_path, record("a", [1, 2]), name="xvector.2.ark")
    assert by_utterance(read_embeddings(tmp_path)) == {"a": ("s", [1, 2]), "b": ("t", [3, 4])}


def test_archives_of_other_names_are_not_put_together(tmp_path):
    archive(tmp_path, record("b", [3, 4]), name="pool.ark")
    archive(tmp_path, record("a", [1, 2]), name="enrolment.ark")
    with pytest.raises(
        VoicePrivacyError, match=r"enrolment.ark, pool.ark; several are read as one"
    ):
        read_embeddings(tmp_path)


def test_an_scp_is_followed_into_several_archives(tmp_path, monkeypatch):
    (tmp_path / "deep").mkdir()
    one, two = record("long-name", [9, 9]) + record("a", [1, 2]), record("b", [3, 4])
    archive(tmp_path, one, name="xvector.1.ark")
    archive(tmp_path / "deep", two, name="xvector.2.ark")
    start = len(record("long-name", [9, 9])) + 2
    (tmp_path / "xvector.scp").write_text(
        f"b deep/xvector.2.ark:2\na moved/away/xvector.1.ark:{start}\n"
    )
    monkeypatch.chdir(tmp_path)
    expected = {"a": ("s", [1, 2]), "b": ("t", [3, 4])}
    assert by_utterance(read_embeddings(tmp_path / "xvector.scp")) == expected
    assert by_utterance(read_embeddings(tmp_path)) == expected


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("copy-vector x.ark - |", r"line 1, 'a': is a command, which is never run"),
        ("x.ark:2[0:1]", r"names 'x.ark:2\[0:1\]'; expected ARCHIVE:BYTE"),
        ("", "expected ARCHIVE:BYTE"),
        ("gone.ark:2", r"no such archive: gone.ark"),
        ("x.ark:22", "has no record of this id before byte 22"),
        ("x.ark:3", "has no record of this id before byte 3"),
        ("x.ark:9000", "has no record of this id before byte 9000"),
    ],
)
def test_an_scp_that_leads_elsewhere_is_refused(tmp_path, entry, message):
    # The records are equally long, so that the vector of b is found where that of a would be.
    archive(tmp_path, record("a", [1, 2]), record("b", [3, 4]))
    (tmp_path / "x.scp").write_text(f"a {entry}\nb x.ark:22\n")
    with pytest.raises(VoicePrivacyError, match=message):
        read_embeddings(tmp_path / "x.scp")


@pytest.mark.parametrize(
    ("records", "message"),
    [
        ([record("a", [1, 2]), record("b", [1, 2, 3])], r"2 dimensions \(2: 'a'; 3: 'b'\)"),
        ([record("a", [1, 2])], r"1 utterances of spk2utt have no vector \('b'\)"),
        ([record(i, [1]) for i in "abc"], r"1 utterances with a vector are not in spk2utt \('c'\)"),
        ([record("a", [1]), record("a", [1])], "1 utterances appear twice: 'a'"),
        ([record("a", [1]), record("b", [np.nan])], "hold NaN or infinite values: 'b'"),
        ([record("a", [1]), b"b  [ nan ]\n"], "hold NaN or infinite values: 'b'"),
        ([record("a", np.eye(2), "FM")], r"no single vector.*a \(2, 2\)"),
        ([b"a \0BCM \4"], r"x.ark, byte 0, 'a': the record is b'CM '; expected a vector of floats"),
        ([record("a", [1]), b"b \0B\4\1\0\0\0"], r"byte 16, 'b': the record is b'\\x04"),
        ([b"a \0BFV \4\xff\xff\xff\xff"], r"its sizes are \[-1\]"),
        ([b"a  [ 1 two ]\n"], "cut or damaged.*two"),
        ([b"a 1 2\n", b"b  [ 3 ]\n"], r"neither \\0B nor \[ ... \] follows"),
        ([b"a 1 2\n"], r"neither \\0B nor \[ ... \] follows"),
        ([b"\xff \0BFV \4\1\0\0\0abcd"], "cut or damaged.*utf-8"),
    ],
)
def test_bad_archives_are_refused(tmp_path, records, message):
    with pytest.raises(VoicePrivacyError, match=message):
        read_embeddings(archive(tmp_path, *records))


@pytest.mark.parametrize("text", [False, True])
def test_a_cut_archive_is_refused_wherever_it_is_cut(tmp_path, text):
    records = (
        [b"a  [ 1 2 ]\n", b"b  [ 3 4 ]"] if text else [record("a", [1, 2]), record("b", [3, 4])]
    )
    path = archive(tmp_path, *records)
    whole = path.read_bytes()
    read_embeddings(path)
    for kept in range(len(whole)):
        path.write_bytes(whole[:kept])
        with pytest.raises(VoicePrivacyError, match=r"cut or damaged|have no vector|appear"):
            read_embeddings(path)


def test_a_written_archive_is_kaldis_byte_by_byte(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_embeddings(Embeddings(["b", "é", "a"], ["t", "s", "s"], np.eye(3)), "out/x.ark")
    written = {file.name: file.read_bytes() for file in (tmp_path / "out").iterdir()}
    rows = [("a", [0, 0, 1]), ("b", [1, 0, 0]), ("é", [0, 1, 0])]
    assert written == {
        "x.ark": b"".join(record(name, row) for name, row in rows),
        "x.scp": "a out/x.ark:2\nb out/x.ark:26\né out/x.ark:51\n".encode(),
        "utt2spk": "a s\nb t\né s\n".encode(),
        "spk2utt": "s a é\nt b\n".encode(),
    }


@pytest.mark.parametrize("suffix", [".ark", ".scp", ".ARK"])
def test_archives_keep_every_bit(tmp_path, suffix):
    e = some()
    e.matrix[0, :4] = [-0.0, 1e-45, 3.4028235e38, 1 / 3]
    write_embeddings(e, tmp_path / f"x{suffix}")
    for found in (tmp_path / f"x{suffix}", tmp_path / "x.scp"):
        r = read_embeddings(found)
        at = {name: row for row, name in enumerate(r.utterances.tolist())}
        rows = [at[name] for name in e.utterances.tolist()]
        assert r.matrix[rows].tobytes() == e.matrix.tobytes()
        assert r.speakers[rows].tolist() == e.speakers.tolist()


def test_writing_leaves_the_tables_of_others_alone(tmp_path):
    write_embeddings(some(3), tmp_path / "x.h5")
    write_embeddings(some(3), tmp_path / "x.ark")
    with pytest.raises(
        VoicePrivacyError, match=r"already holds 'x.ark', 'x.h5'.*folder of its own"
    ):
        write_embeddings(some(4), tmp_path / "y.ark")
    (tmp_path / "data").mkdir()
    (tmp_path / "data/wav.scp").write_text("u u.wav\n")
    with pytest.raises(VoicePrivacyError, match=r"already holds 'wav.scp'"):
        write_embeddings(some(3), tmp_path / "data/x.ark")


def test_ids_with_blanks_do_not_fit_archives(tmp_path):
    with pytest.raises(VoicePrivacyError, match=r"blanks cannot stand.*'a b'"):
        write_embeddings(Embeddings(["a b"], ["s"], [[1.0]]), tmp_path / "x.ark")
    assert not list(tmp_path.iterdir())


def test_kaldi_data_are_no_folder_of_embeddings(tmp_path):
    for name in ("wav.scp", "spk2utt", "feats.ark"):
        (tmp_path / name).touch()
    assert is_speech(tmp_path)
    with pytest.raises(VoicePrivacyError, match="it holds none"):
        read_embeddings(tmp_path)


def test_folders_of_embeddings_are_no_speech(tmp_path):
    for name in ("archives", "arrays", "cache/utt-level"):
        (tmp_path / name).mkdir(parents=True)
    write_embeddings(some(3), tmp_path / "archives/x.ark")
    np.save(tmp_path / "arrays/a.npy", np.ones(2))
    assert not any(is_speech(tmp_path / name) for name in ("archives", "arrays", "cache"))


# -- npy ---------------------------------------------------------------------------------------


def matrix_file(folder, rows, names, name="x"):
    np.save(folder / f"{name}.npy", rows)
    (folder / f"{name}.txt").write_text(names)
    return folder / f"{name}.npy"


def test_a_matrix_with_ids_beside_it(tmp_path):
    path = matrix_file(tmp_path, np.eye(2), "b\na\n")
    with pytest.raises(VoicePrivacyError, match="spk2utt is missing"):
        read_embeddings(path)
    (tmp_path / "utt2spk").write_text("a s\nb t\n")
    expected = {"a": ("s", [0, 1]), "b": ("t", [1, 0])}
    assert by_utterance(read_embeddings(path)) == expected
    assert by_utterance(read_embeddings(tmp_path)) == expected
    matrix_file(tmp_path, np.eye(2), "b u\na v\n")
    assert read_embeddings(path).speakers.tolist() == ["u", "v"]


def test_a_folder_with_one_npy_an_utterance(tmp_path):
    np.save(tmp_path / "a.b.npy", np.float32([1, 2]))
    np.save(tmp_path / "c.npy", np.float64([[3, 4]]))
    (tmp_path / "spk2utt").write_text("s c a.b\n")
    e = read_embeddings(tmp_path)
    assert e.utterances.tolist() == ["c", "a.b"]
    assert e.matrix.tolist() == [[3, 4], [1, 2]]


@pytest.mark.parametrize(
    ("rows", "names", "message"),
    [
        (np.eye(3), "a\nb\n", r"3 rows and x.txt 2 ids \(rows without ids\)"),
        (np.eye(2), "a\nb\nc", r"2 rows and x.txt 3 ids \(ids without rows\)"),
        (np.eye(2), "a\n\nb", r"x.txt, lines 2: expected an utterance in every line"),
        (np.eye(2), "a s\nb", "lines 2"),
        (np.eye(2), "a s\na s", "appear twice: 'a'"),
        (np.ones(2), "a s\nb s", r"shape \(2,\); expected \(utterances, dimension\)"),
        (np.full((1, 2), np.nan), "a s", "hold NaN"),
        (np.array([["1"]]), "a s", "holds <U1; expected numbers"),
        (np.array([[1, None]]), "a s", "saved as Python objects"),
    ],
)
def test_bad_matrices_are_refused(tmp_path, rows, names, message):
    with pytest.raises(VoicePrivacyError, match=message):
        read_embeddings(matrix_file(tmp_path, rows, names))


def test_npy_faults_name_the_file(tmp_path):
    matrix_file(tmp_path, np.eye(2), "a s\nb s")
    (tmp_path / "x.txt").unlink()
    with pytest.raises(VoicePrivacyError, match=r"x.txt is missing beside it"):
        read_embeddings(tmp_path / "x.npy")
    with pytest.raises(VoicePrivacyError, match=r"no single vector.*x \(2, 2\)"):
        read_embeddings(tmp_path)
    whole = (tmp_path / "x.npy").read_bytes()
    for kept in [0, 1, 50, len(whole) - 1]:
        (tmp_path / "x.npy").write_bytes(whole[:kept])
        with pytest.raises(VoicePrivacyError, match=r"x.npy cannot be read, it seems cut"):
            read_embeddings(tmp_path)


def test_npy_is_only_read(tmp_path):
    with pytest.raises(
        VoicePrivacyError, match=r"npy matrix is a format that is only read; write one of .h5"
    ):
        write_embeddings(some(3), tmp_path / "x.npy")


# -- speakers ----------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", [".npz", ".parquet", ".h5", ".ark"])
def test_a_named_table_tells_the_speakers_of_any_format(tmp_path, suffix):
    write_embeddings(some(3), tmp_path / f"x{suffix}")
    table = tmp_path / "corpus.spk2utt"
    table.write_text("p 0000-000 0001-001 other\nq 0002-002\n")
    e = read_embeddings(tmp_path / f"x{suffix}", speakers=table)
    assert dict(zip(e.utterances.tolist(), e.speakers.tolist(), strict=True)) == {
        "0000-000": "p",
        "0001-001": "p",
        "0002-002": "q",
    }
    table.write_text("p 0000-000\n")
    with pytest.raises(VoicePrivacyError, match=r"2 utterances with a vector are not in corpus"):
        read_embeddings(tmp_path / f"x{suffix}", speakers=table)


@pytest.mark.parametrize("shape", [(256,), (1, 256)])
def test_sidekit_folders_with_long_speaker_ids(tmp_path, shape):
    long = "spk-f-65389-spk-f-65389-common-voice-en"
    with h5py.File(tmp_path / "xvectors.h5", "w") as file:
        file["common_voice_en_1"] = np.ones(shape, np.float32)
    (tmp_path / "spk2utt").write_text(f"{long} common_voice_en_1\n")
    e = read_embeddings(tmp_path)
    assert (e.speakers.tolist(), e.dimension) == ([long], 256)
    assert short_speakers(e).speakers.tolist() == ["spk-f-65389"]


def test_short_speakers_leaves_others_and_never_merges():
    names = ["spk-f-1", "0084", "spk-f-12-spk-f-1-common-voice-en", "spk-m-2-spk-m-2"]
    names += ["x-spk-f-3-spk-f-3-common-voice-en"]
    ids = ["a", "b", "c", "d", "e"]
    assert short_speakers(Embeddings(ids, names, np.eye(5))).speakers.tolist() == names
    both = Embeddings(["a", "b"], ["spk-f-1", "spk-f-1-spk-f-1-common-voice-en"], np.eye(2))
    with pytest.raises(VoicePrivacyError, match=r"1 short ids would stand for several.*'spk-f-1'"):
        short_speakers(both)
