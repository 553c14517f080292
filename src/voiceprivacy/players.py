"""Sound inside a page: players that need no file and no network."""

import base64
import html
import io
from collections.abc import Mapping

import numpy as np

from voiceprivacy._audio import RATE, audio_packages
from voiceprivacy.errors import VoicePrivacyError


def show_players(sounds: Mapping[str, np.ndarray]) -> None:
    """Display a player for each sound, one below the other.

    Parameters
    ----------
    sounds
        Samples at 16 kHz, mono, by what they are; the names stand beside the players and are read
        out by screen readers. The page carries the sound as FLAC, without loss, about half the
        size of WAV.

    Raises
    ------
    VoicePrivacyError
        If a sound has no samples, or a package is missing.
    """
    try:
        from IPython.display import display
    except ImportError as error:
        raise VoicePrivacyError(
            "players are shown in a notebook, and IPython is not installed; "
            "install the extra: pip install 'voiceprivacy[book]'."
        ) from error
    rows = "".join(_row(name, samples) for name, samples in sounds.items())
    text = "; ".join(f"{name} ({_seconds(samples)})" for name, samples in sounds.items())
    display({"text/html": f"<div>{rows}</div>", "text/plain": f"Sound: {text}"}, raw=True)


def _row(name: str, samples: np.ndarray) -> str:
    label = html.escape(name)
    data = base64.b64encode(_flac(samples, name)).decode()
    return (
        '<div style="display: flex; flex-wrap: wrap; align-items: center; gap: 0.3em 1em; '
        'margin: 0.3em 0;">'
        f'<span style="min-width: 16em;">{label} ({_seconds(samples)})</span>'
        f'<audio controls aria-label="{label}" src="data:audio/flac;base64,{data}"></audio></div>'
    )


def _seconds(samples: np.ndarray) -> str:
    return f"{len(samples) / RATE:.1f} s"


def _flac(samples: np.ndarray, name: str) -> bytes:
    soundfile, _ = audio_packages()
    if not len(samples):
        raise VoicePrivacyError(f"{name!r} has no samples to play.")
    file = io.BytesIO()
    soundfile.write(file, samples, RATE, format="FLAC", subtype="PCM_16")
    return file.getvalue()
