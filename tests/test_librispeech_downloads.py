"""LibriSpeech's archives, made small, from a server on this machine."""

import shutil
import tarfile
from collections import namedtuple

import pytest
from file_server import Fault, archive, serving, sums

from voiceprivacy.errors import VoicePrivacyError
from voiceprivacy.librispeech_downloads import SUBSETS, Archive, fetch_librispeech

Disk = namedtuple("Disk", "total used free")
FILES = [
    "LibriSpeech/SPEAKERS.TXT",
    "LibriSpeech/dev-clean/84/121/84-121-0000.flac",
    "LibriSpeech/dev-clean/84/121/84-121.trans.txt",
]


@pytest.fixture
def server(monkeypatch):
    with serving() as running:
        for subset in ("dev-clean", "dev-other"):
            serve(running, subset, monkeypatch)
        yield running


def serve(server, subset, monkeypatch, name=None, **made):
    """Serve a small archive in the place of a subset's."""
    body, known = archive(name or subset, **made)
    server.files[f"r/12/{subset}.tar.gz"] = body
    monkeypatch.setitem(SUBSETS, subset, known)
    return body


def run(server, folder, subset="dev-clean", **options):
    options = {"wait": 0.0, "attempts": 2, "timeout": 5.0, **options}
    return fetch_librispeech(subset, folder, mirror=f"{server.url}/r/12/", **options)


def contents(folder):
    return sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file())


def test_the_published_archives_are_known():
    assert list(SUBSETS) == [
        "dev-clean", "dev-other", "test-clean", "test-other",
        "train-clean-100", "train-clean-360", "train-other-500",
    ]  # fmt: skip
    assert {(len(known.md5), len(known.sha256)) for known in SUBSETS.values()} == {(32, 64)}
    assert len({text for known in SUBSETS.values() for text in known}) == 21


def test_a_subset_comes_once(server, tmp_path):
    place = run(server, tmp_path)
    assert place == tmp_path / "LibriSpeech" / "dev-clean"
    assert contents(tmp_path) == FILES
    assert (place / "84/121/84-121-0000.flac").read_bytes() == b"flac " * 4000
    assert run(server, tmp_path) == place
    assert len(server.asked) == 1


def test_subsets_lie_side_by_side(server, tmp_path):
    run(server, tmp_path)
    (tmp_path / "LibriSpeech" / "mine.txt").write_text("kept")
    run(server, tmp_path, "dev-other")
    found = {p.name for p in (tmp_path / "LibriSpeech").iterdir()}
    assert found == {"dev-clean", "dev-other", "SPEAKERS.TXT", "mine.txt"}


def test_a_kept_archive_is_used_again(server, tmp_path):
    place = run(server, tmp_path, keep_archive=True)
    assert contents(tmp_path) == [*FILES, "dev-clean.tar.gz"]
    shutil.rmtree(place)
    run(server, tmp_path)
    assert contents(tmp_path) == FILES
    assert len(server.asked) == 1


def test_interrupted_unpacking_begins_again(server, tmp_path, monkeypatch):
    def stop(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(tarfile.TarFile, "extract", stop)
        with pytest.raises(KeyboardInterrupt):
            run(server, tmp_path)
    assert contents(tmp_path) == ["dev-clean.tar.gz"]
    left = tmp_path / ".dev-clean.unpacking" / "LibriSpeech" / "dev-clean"
    left.mkdir(parents=True)  # as after a kill
    (left / "half.flac").write_text("half")
    run(server, tmp_path)
    assert contents(tmp_path) == FILES
    assert len(server.asked) == 1


def stray(kind, name, to=""):
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, to
    return pytest.param(member, id=f"{name} {kind.decode()}")


STRAYS = [
    stray(tarfile.REGTYPE, "../evil"),
    stray(tarfile.REGTYPE, "LibriSpeech/../../evil"),
    stray(tarfile.REGTYPE, "/evil"),
    stray(tarfile.REGTYPE, "evil"),
    stray(tarfile.SYMTYPE, "LibriSpeech/dev-clean/link", "../../.."),
    stray(tarfile.LNKTYPE, "LibriSpeech/dev-clean/link", "/etc/passwd"),
    stray(tarfile.FIFOTYPE, "LibriSpeech/pipe"),
    stray(tarfile.CHRTYPE, "LibriSpeech/null"),
]


@pytest.mark.parametrize("member", STRAYS)
def test_archives_with_anything_else_are_refused(server, tmp_path, member, monkeypatch):
    serve(server, "dev-clean", monkeypatch, extra=[member])
    folder = tmp_path / "in" / "here"
    with pytest.raises(VoicePrivacyError, match=f"dev-clean.tar.gz has '{member.name}', and only"):
        run(server, folder)
    assert contents(tmp_path) == ["in/here/dev-clean.tar.gz"]
    assert not list(folder.glob(".*"))


def test_an_archive_of_something_else(server, tmp_path, monkeypatch):
    serve(server, "dev-clean", monkeypatch, name="test-clean")
    with pytest.raises(VoicePrivacyError, match=r"has no LibriSpeech/dev-clean: it is another"):
        run(server, tmp_path)


@pytest.mark.parametrize("kept", [slice(0, 150), slice(40, None)], ids=["cut", "no archive"])
def test_an_archive_that_cannot_be_read(server, tmp_path, monkeypatch, kept):
    body = server.files["r/12/dev-clean.tar.gz"][kept]
    server.files["r/12/dev-clean.tar.gz"] = body
    monkeypatch.setitem(SUBSETS, "dev-clean", Archive(**sums(body)))
    with pytest.raises(VoicePrivacyError, match=r"dev-clean.tar.gz cannot be unpacked: .*Delete"):
        run(server, tmp_path)


def test_a_mirror_with_other_bytes(server, tmp_path):
    body = server.files["r/12/dev-clean.tar.gz"]
    server.files["r/12/dev-clean.tar.gz"] = body[:-1] + b"?"
    with pytest.raises(VoicePrivacyError, match=r"MD5 is .* was expected.*try another server"):
        run(server, tmp_path)
    assert contents(tmp_path) == []


def test_a_cut_download_goes_on_in_the_next_call(server, tmp_path):
    server.faults = [Fault(sent=200), Fault(status=503)]
    with pytest.raises(VoicePrivacyError, match="is kept"):
        run(server, tmp_path)
    run(server, tmp_path)
    assert contents(tmp_path) == FILES
    assert server.ranges_asked == [None, "bytes=200-", "bytes=200-"]


def test_the_disk_must_hold_archive_and_speech(server, tmp_path, monkeypatch):
    size = SUBSETS["dev-clean"].size
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Disk(0, 0, 2 * size - 1))
    with pytest.raises(VoicePrivacyError, match=r"dev-clean, packed and unpacked: .* are needed"):
        run(server, tmp_path)
    assert not server.asked
    server.faults = [Fault(sent=10)]
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Disk(0, 0, 2 * size))
    with pytest.raises(VoicePrivacyError, match="is kept"):
        run(server, tmp_path, attempts=1)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Disk(0, 0, 2 * size - 10))
    run(server, tmp_path)


@pytest.mark.network
def test_the_smallest_subset_from_openslr(tmp_path):
    assert len(list(fetch_librispeech("dev-other", tmp_path).rglob("*.flac"))) == 2864
