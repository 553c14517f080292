"""Downloads from a server on this machine that cuts, stalls, lies and changes its files."""

import os
import random
import shutil
import signal
import subprocess
import sys
import time
import warnings
from collections import namedtuple

import pytest
from file_server import Fault, serving, sums

from voiceprivacy import _part
from voiceprivacy.downloads import download
from voiceprivacy.errors import VoicePrivacyError

BODY = random.Random(0).randbytes(1_000_000)
OTHER = random.Random(1).randbytes(1_000_000)
Disk = namedtuple("Disk", "total used free")


@pytest.fixture
def server():
    with serving() as running:
        running.files["a.bin"] = BODY
        yield running


@pytest.fixture
def target(tmp_path):
    return tmp_path / "deep" / "a.bin"


def run(server, target, name="a.bin", **options):
    """Download without waiting."""
    options = {"wait": 0.0, "attempts": 3, "timeout": 5.0, **options}
    return download(f"{server.url}/{name}", target, **options)


def names(target):
    return sorted(p.name for p in target.parent.iterdir())


def left_part(server, target, n_bytes=400_000):
    """Leave what a download had when it was interrupted."""
    server.faults = [Fault(sent=n_bytes)]
    with pytest.raises(VoicePrivacyError, match="is kept"):
        run(server, target, attempts=1)
    server.asked.clear()
    assert names(target) == ["a.bin.part", "a.bin.part.json"]


@pytest.mark.parametrize("known", [{}, sums(BODY), {"md5": sums(BODY)["md5"].upper()}])
def test_a_file_comes_whole_and_once(server, target, known):
    for _ in range(2):
        assert run(server, target, **known) == target
        assert target.read_bytes() == BODY
        assert names(target) == ["a.bin"]
    assert server.ranges_asked == [None]


def test_a_cut_connection_goes_on_at_the_cut(server, target):
    server.faults = [Fault(sent=300_000), Fault(sent=200_000)]
    run(server, target, **sums(BODY))
    assert target.read_bytes() == BODY
    assert server.ranges_asked == [None, "bytes=300000-", "bytes=500000-"]


def test_a_stall_goes_on_with_what_had_come(server, target):
    server.faults = [Fault(sent=300_001, stall=True)]
    run(server, target, timeout=0.2, **sums(BODY))
    assert target.read_bytes() == BODY
    assert server.ranges_asked == [None, "bytes=300001-"]


def test_many_breaks_are_no_failure_while_bytes_come(server, target):
    server.faults = [Fault(sent=100_000)] * 8
    run(server, target, attempts=2)
    assert target.read_bytes() == BODY


def test_attempts_without_a_byte_are_bounded_and_the_wait_doubles(server, target, monkeypatch):
    waits = []
    monkeypatch.setattr("time.sleep", waits.append)
    server.faults = [Fault(sent=100_000)] + [Fault(status=503)] * 9
    with pytest.raises(VoicePrivacyError, match=r"a.bin failed 4 times.*503.*is kept"):
        run(server, target, attempts=4, wait=100.0)
    assert len(server.asked) == 4
    assert waits == [100, 200, 300]  # not 400: five minutes are the longest
    assert names(target) == ["a.bin.part", "a.bin.part.json"]


@pytest.mark.parametrize(
    "fault",
    [
        Fault(status=503),
        Fault(status=429),
        Fault(body=b"\n<!DOCTYPE html><p>Log in to the wireless network"),
        Fault(body=b""),
        Fault(sent=0),
        Fault(longer=10, sent=0),
    ],
    ids=["503", "429", "web page", "empty", "closed", "closed, longer"],
)
@pytest.mark.parametrize("begun", [False, True])
def test_faults_that_pass_are_tried_again(server, target, fault, begun):
    if begun:
        left_part(server, target)
    server.faults = [fault, fault]
    with warnings.catch_warnings(action="error"):  # nothing starts anew
        run(server, target)
    assert target.read_bytes() == BODY
    assert len(server.asked) == 3


def test_a_web_page_to_the_end(server, target):
    server.files["a.bin"] = b"<html>moved</html>"
    with pytest.raises(VoicePrivacyError, match=r"failed 3 times.*is a web page, not the file"):
        run(server, target)
    assert names(target) == []


def test_404_is_not_repeated(server, target):
    with pytest.raises(VoicePrivacyError, match=r"b.bin was refused with 404.*Check the address"):
        run(server, target, "b.bin")
    assert len(server.asked) == 1


def test_no_server(target):
    with serving() as gone:
        pass
    with pytest.raises(VoicePrivacyError, match=r"failed 2 times.*refused"):
        run(gone, target, attempts=2)


def test_a_length_that_is_announced_too_long(server, target):
    server.faults = [Fault(longer=10)]
    with pytest.warns(UserWarning, match="ends before, so it starts anew; the 1.0 MB"):
        run(server, target)
    assert target.read_bytes() == BODY
    assert server.ranges_asked == [None, "bytes=1000000-", None]


def test_a_length_that_is_announced_too_long_to_the_end(server, target):
    server.faults = [Fault(longer=10)] * 3
    server.ranges = False
    with (
        pytest.warns(UserWarning, match="the file changed|whole file"),
        pytest.raises(VoicePrivacyError, match="only 1,000,000 of 1,000,010 bytes came"),
    ):
        run(server, target)
    assert not target.exists()


def test_a_length_that_is_announced_too_short(server, target):
    server.faults = [Fault(longer=-10)] * 3
    said = "the server has 999,990 bytes where 1,000,000 were expected"
    with pytest.raises(VoicePrivacyError, match=said):
        run(server, target, size=len(BODY))
    server.faults = [Fault(longer=-10)]
    with pytest.raises(VoicePrivacyError, match=r"MD5 is .* What came is deleted"):
        run(server, target, md5=sums(BODY)["md5"])
    assert names(target) == []


def test_a_length_that_is_not_announced(server, target):
    server.faults = [Fault(longer=None)]
    with pytest.raises(VoicePrivacyError, match="does not say how long the file is"):
        run(server, target)
    server.faults = [Fault(longer=None, sent=1000), Fault()]
    run(server, target, size=len(BODY))
    assert target.read_bytes() == BODY


def chunks(sent):
    return Fault(body=sent, longer=None, headers={"Transfer-Encoding": "chunked"})


def test_chunks_tell_their_end(server, target):
    server.faults = [chunks(b"5\r\nabcde\r\n0\r\n\r\n")]
    assert run(server, target).read_bytes() == b"abcde"
    target.unlink()
    server.files["a.bin"] = b"abcde"
    server.faults = [chunks(b"5\r\nabc")]
    assert run(server, target, md5=sums(b"abcde")["md5"]).read_bytes() == b"abcde"
    assert server.ranges_asked[-1] == "bytes=3-"


def test_a_server_that_sends_no_parts(server, target):
    server.ranges = False
    left_part(server, target)
    with pytest.warns(UserWarning, match=r"whole file, so it starts anew; the 400.0 kB .*lost"):
        run(server, target, **sums(BODY))
    assert target.read_bytes() == BODY
    assert server.ranges_asked == ["bytes=400000-"]


def test_a_server_that_sends_no_parts_and_breaks_ends(server, target):
    server.ranges = False
    server.faults = [Fault(sent=n) for n in (500_000, 400_000, 500_000)] + [Fault(sent=9)] * 99
    with (
        pytest.warns(UserWarning, match="whole file, so it starts anew"),
        pytest.raises(VoicePrivacyError, match="failed 3 times"),
    ):
        run(server, target)
    assert len(server.asked) == 3


@pytest.mark.parametrize("heeds", [True, False], ids=["heeds If-Range", "does not"])
def test_a_file_that_changed_between_tries(server, target, heeds, monkeypatch):
    left_part(server, target)
    server.files["a.bin"] = OTHER
    if not heeds:
        monkeypatch.setattr(_part.Part, "rest_only", lambda part: (
            {"Range": f"bytes={part.length}-"} if part.length else {}
        ))  # fmt: skip
    said = "file changed on the server" if heeds else "a part that does not fit"
    with pytest.warns(UserWarning, match=said):
        run(server, target)
    assert target.read_bytes() == OTHER
    assert len(server.asked) == (1 if heeds else 2)
    assert (server.asked[0]["If-Range"] is not None) == heeds


@pytest.mark.parametrize("place", ["bytes 1-999999/1000000", "bytes 400000", ""])
def test_a_part_that_was_not_asked_for(server, target, place):
    left_part(server, target)
    server.faults = [Fault(headers={"Content-Range": place})]
    with pytest.warns(UserWarning, match="a part that does not fit"):
        run(server, target)
    assert target.read_bytes() == BODY


def test_what_cannot_be_told_from_another_version_is_not_gone_on_with(server, target):
    server.tags = False
    left_part(server, target)
    with pytest.warns(UserWarning, match="starts anew"):
        run(server, target)
    assert server.ranges_asked == [None]
    target.unlink()
    left_part(server, target)
    run(server, target, sha256=sums(BODY)["sha256"])
    assert server.ranges_asked == ["bytes=400000-"]
    assert target.read_bytes() == BODY


def test_a_weak_tag_proves_nothing(server, target):
    server.faults = [Fault(sent=400_000, headers={"ETag": 'W/"1"'})]
    with pytest.raises(VoicePrivacyError):
        run(server, target, attempts=1)
    with pytest.warns(UserWarning, match="starts anew"):
        run(server, target)
    assert server.ranges_asked == [None, None]


def test_a_part_without_its_version(server, target):
    left_part(server, target)
    (target.parent / "a.bin.part.json").write_text("[")
    run(server, target, **sums(BODY))
    assert server.ranges_asked == ["bytes=400000-"]
    assert target.read_bytes() == BODY


def test_a_part_longer_than_the_file(server, target):
    left_part(server, target)
    (target.parent / "a.bin.part").write_bytes(BODY + b"more")
    with pytest.warns(UserWarning, match="ends before, so it starts anew"):
        run(server, target)
    assert target.read_bytes() == BODY


def test_a_part_that_is_whole_needs_no_server(server, target):
    left_part(server, target)
    (target.parent / "a.bin.part").write_bytes(BODY)
    run(server, target)
    assert not server.asked
    assert names(target) == ["a.bin"]


def test_a_damaged_part_is_found_out(server, target):
    left_part(server, target)
    (target.parent / "a.bin.part").write_bytes(OTHER[:400_000])
    right = sums(BODY)["md5"]
    said = rf"a.bin: its MD5 is [0-9a-f]{{32}} where {right} was expected. What came is deleted"
    with pytest.raises(VoicePrivacyError, match=said):
        run(server, target, md5=right)
    assert names(target) == []
    run(server, target, md5=right)


def test_another_file_is_in_the_place(server, target):
    target.parent.mkdir()
    target.write_bytes(OTHER)
    for known, said in (
        ({"sha256": sums(BODY)["sha256"]}, "SHA256 is .* where .* was expected. Delete it"),
        ({"size": 3}, "1,000,000 bytes where 3 were expected"),
    ):
        with pytest.raises(VoicePrivacyError, match=f"is there already, but its? .*{said}"):
            run(server, target, **known)
    assert target.read_bytes() == OTHER
    assert not server.asked


def test_a_disk_too_small(server, target, monkeypatch):
    left_part(server, target)
    said = r"a.bin: 600.0 kB are needed on the disk of .*deep, and 599 bytes are free. Make room"
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Disk(9e6, 9e6, 599))
    with pytest.raises(VoicePrivacyError, match=said):
        run(server, target)
    assert (target.parent / "a.bin.part").stat().st_size == 400_000
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Disk(9e6, 9e6, 600_000))
    assert run(server, target).read_bytes() == BODY


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_disk_that_fills_up(server, target):
    target.parent.mkdir()
    (target.parent / "a.bin.part").symlink_to("/dev/full")

    class Full(_part.Part):
        def take_up(self):
            pass

        def restart(self, version, why):
            pass

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("voiceprivacy.downloads.Part", Full)
        with pytest.raises(VoicePrivacyError, match=r"cannot write .*part: No space left"):
            run(server, target)
    assert len(server.asked) == 1  # not tried again


@pytest.mark.parametrize("place", ["file:///etc/hostname", "ftp://127.0.0.1/a.bin"])
def test_redirects_elsewhere_are_refused(server, target, place):
    server.faults = [Fault(status=302, headers={"Location": place})]
    with pytest.raises(VoicePrivacyError, match=f"{place}.*(not allowed|neither http)"):
        run(server, target)
    assert len(server.asked) == 1


def test_redirects_keep_the_range(server, target):
    left_part(server, target)
    server.faults = [Fault(status=302, headers={"Location": f"{server.url}/a.bin"})]
    run(server, target)
    assert server.ranges_asked == ["bytes=400000-"] * 2
    assert target.read_bytes() == BODY


@pytest.mark.parametrize("url", ["file:///etc/hostname", "ftp://a/b", "a.bin", "https:///b"])
def test_other_addresses_are_refused(url, target):
    with pytest.raises(VoicePrivacyError, match=r"is no address to download from: .*https://"):
        download(url, target)


def test_a_checksum_of_another_kind(target):
    with pytest.raises(VoicePrivacyError, match="'d41d8' is no MD5: expected 32 hexadecimal"):
        download("http://127.0.0.1/a", target, md5="d41d8")


def test_the_bar_shows_what_was_there(server, target, capsys):
    left_part(server, target)
    run(server, target, progress=True, **sums(BODY))
    assert "a.bin: 100%" in capsys.readouterr().err


def test_killed_in_the_middle_it_goes_on(server, target):
    server.faults = [Fault(sent=600_000, stall=True)]
    call = "import sys; from voiceprivacy.downloads import download; download(*sys.argv[1:])"
    running = subprocess.Popen([sys.executable, "-c", call, f"{server.url}/a.bin", target])
    part = target.parent / "a.bin.part"
    deadline = time.monotonic() + 60
    while not part.exists() or part.stat().st_size < 100_000:
        assert running.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.01)
    running.send_signal(signal.SIGKILL)
    running.wait()
    held = part.stat().st_size
    run(server, target)
    assert server.ranges_asked == [None, f"bytes={held}-"]
    assert target.read_bytes() == BODY
    assert names(target) == ["a.bin"]
