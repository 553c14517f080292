"""Players: the very sound, labelled, inside the page."""

import base64
import io
import re
import sys

import numpy as np
import pytest

from voiceprivacy.errors import VoicePrivacyError
from voiceprivacy.players import show_players

soundfile = pytest.importorskip("soundfile")
SAMPLES = (np.sin(np.arange(8000)) * 2**14).astype(np.int16).astype(np.float32) / 2**15


@pytest.fixture
def shown(monkeypatch):
    displayed = []
    monkeypatch.setattr("IPython.display.display", lambda data, raw: displayed.append(data))

    def show(sounds):
        show_players(sounds)
        return displayed.pop()

    return show


def test_a_page_carries_the_very_samples(shown):
    page = shown({"first": SAMPLES, "second": SAMPLES[::-1]})["text/html"]
    found = [base64.b64decode(data) for data in re.findall(r"base64,([^\"]+)", page)]
    heard = [soundfile.read(io.BytesIO(data), dtype="float32") for data in found]
    assert [rate for _, rate in heard] == [16_000, 16_000]
    assert (heard[0][0] == SAMPLES).all()
    assert (heard[1][0] == SAMPLES[::-1]).all()
    assert len(page) < 2 * 2 * 2 * len(SAMPLES)


def test_names_are_labels_and_harmless(shown):
    data = shown({'a "b" <c>': SAMPLES})
    assert 'aria-label="a &quot;b&quot; &lt;c&gt;"' in data["text/html"]
    assert "<c>" not in data["text/html"]
    assert data["text/plain"] == 'Sound: a "b" <c> (0.5 s)'


def test_no_sound_is_refused():
    with pytest.raises(VoicePrivacyError, match="'nothing' has no samples"):
        show_players({"nothing": np.empty(0, np.float32)})


def test_a_missing_notebook_is_named_with_its_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "IPython.display", None)
    with pytest.raises(VoicePrivacyError, match=r"voiceprivacy\[book\]"):
        show_players({"sound": SAMPLES})
