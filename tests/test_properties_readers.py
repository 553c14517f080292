"""Whatever is in a text file, its reader reads it or refuses it with one message."""

import os

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from text_readers import READERS

from voiceprivacy.errors import VoicePrivacyError

SEPARATORS = b' |\t|\n|\r|\r\n|,|;|"|/|..|\\|:'.split(b"|")
ODD_BYTES = [b"\0", b"\xff", b"\xef\xbb\xbf", b"\xff\xfe", b"\xe2\x80\xa8", b"\x1a", "é".encode()]
VALUES = b"|0|-1|1e400|nan|NA|99999999999999999999|u1|a|u1 a\n|# ".split(b"|")
YAML = [b"{", b"[", b"]", b"&a *a", b"---", b"!!python/object:os.system"]
PIECES = st.sampled_from([*SEPARATORS, *ODD_BYTES, *VALUES, *YAML, b"|", b"x" * 300])
# Texts that the fuzzer (tests/fuzz) found to end in a traceback.
NPY = b"\x93NUMPY\x01\0v\0"
FOUND = [
    ("attacker_settings", b"max_steps: 0x_"),
    ("attacker_settings", b"seed: !!bool x"),
    ("attacker_settings", b"[" * 5000),
    ("evaluation_settings", b"{" * 5000),
    ("evaluation_settings", b"seed: !!timestamp x"),
    ("npy", NPY + b"{'descr': '<f, 2), ', 'fortran_order': False, 'shape': (1, 2), }".ljust(118)),
    ("npy", NPY + b"{'descr': '<f4', 'fortran_order': False, 'shape': (1, 9**12), }".ljust(118)),
]
QUICK = settings(
    max_examples=25,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


@st.composite
def damaged(draw, good: bytes) -> bytes:
    """A good text with pieces put in, put in another's place, or cut out."""
    text = good
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(text)))
        end = draw(st.integers(start, min(len(text), start + draw(st.sampled_from([0, 1, 5, 50])))))
        text = text[:start] + draw(PIECES) + text[end:]
    return text


@pytest.mark.parametrize("name", READERS)
def test_a_good_text_is_read(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert READERS[name](tmp_path, READERS[name].good) is not None


@pytest.mark.parametrize(("name", "text"), FOUND)
def test_what_the_fuzzer_found_is_refused(name, text, tmp_path):
    with pytest.raises(VoicePrivacyError):
        READERS[name](tmp_path, text)


@pytest.mark.parametrize("name", READERS)
def test_a_damaged_text_is_read_or_refused(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    reader = READERS[name]

    @QUICK
    @given(text=st.one_of(damaged(reader.good), st.binary(max_size=60)))
    def holds(text):
        try:
            reader(tmp_path, text)
        except VoicePrivacyError as error:
            told = str(error)
            # One line, and the file named, so that one knows where to look.
            assert "\n" not in told.strip()
            assert os.path.basename(reader.file) in told or str(tmp_path) in told

    holds()
