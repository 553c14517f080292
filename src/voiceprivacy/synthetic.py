"""A speaking corpus made on the spot with eSpeak NG, with true word times.

Licence
-------
eSpeak NG is free software under the GNU General Public License, version 3 or later. It is not part
of this package: the extra ``demo`` installs it from PyPI (``espeakng-loader``), and this module is
the only one that loads it. The audio it makes is not covered by that licence.

Speakers differ in sex, accent, pitch, rate, pauses, formants, breath, roughness and loudness; they
are far more regular than people. The same seed gives the same speech, in any order or process.
"""

import ctypes
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from tqdm import tqdm

from voiceprivacy._audio import RATE, audio_packages
from voiceprivacy._sentences import sentence
from voiceprivacy._voices import voice
from voiceprivacy.corpora import Corpus, read_folder
from voiceprivacy.errors import VoicePrivacyError
from voiceprivacy.randomness import stream

NAME = "synthetic speech (eSpeak NG)"
FIRST_READER = 10_001
DATA = ("en_dict", "intonations", "phondata", "phonindex", "phontab")
MANIFEST = "manifest.json"
REINSTALL = "expected the library of espeakng-loader 0.2.4; install that version"


class Word(NamedTuple):
    """A spoken word and where it lies, in samples."""

    word: str
    start: int
    end: int


def speak(
    out: str | os.PathLike,
    n_speakers: int = 40,
    n_utterances: int = 10,
    *,
    seed: int = 0,
    progress: bool = False,
) -> Corpus:
    """Write a corpus of synthetic speech, once, and return it.

    Parameters
    ----------
    out
        A folder that does not exist yet, is empty, or holds this very corpus; then nothing is
        done. It gets ``<reader>/<reader>-1-<utterance>.flac`` (16 kHz, mono),
        ``speakers.csv`` (speaker, gender), ``words.csv`` (utterance, word, start_sample,
        end_sample) and a manifest. It appears whole or not at all.
    n_speakers
        Speakers, every second one female.
    n_utterances
        Utterances of each speaker: one sentence of 8 to 13 words, 2 to 7 s.
    seed
        Seed of voices and sentences.
    progress
        Show a bar on stderr.

    Raises
    ------
    VoicePrivacyError
        If eSpeak NG is not installed, or `out` holds something else.

    Notes
    -----
    Speaker k is the same whatever `n_speakers` is, and its first utterances are the same whatever
    `n_utterances` is. Samples may differ in the last bit between processors.
    """
    out = Path(out)
    if n_speakers < 1 or not 1 <= n_utterances <= 10_000:
        raise VoicePrivacyError(
            f"{n_speakers} speakers with {n_utterances} utterances cannot be spoken; expected at "
            "least one speaker and 1 to 10000 utterances."
        )
    settings = {"n_speakers": n_speakers, "n_utterances": n_utterances, "seed": seed}
    if not _is_spoken(out, settings):
        with _appearing_whole(out) as folder:
            _write(folder, settings, progress)
    corpus = read_folder(out)
    if len(corpus) != n_speakers * n_utterances:
        raise VoicePrivacyError(
            f"{out} holds {len(corpus)} of {n_speakers * n_utterances} utterances; "
            "remove the folder, and it is spoken again."
        )
    return replace(corpus, name=NAME)


def _is_spoken(out: Path, settings: dict[str, int]) -> bool:
    """Whether the folder holds the corpus of these settings; refuse one that holds another."""
    if not out.exists() or (out.is_dir() and not any(out.iterdir())):
        return False
    if not (out / MANIFEST).is_file():
        raise VoicePrivacyError(f"{out} holds other files; name a new folder for the corpus.")
    found = json.loads((out / MANIFEST).read_text(encoding="utf-8")).get("settings")
    if found != settings:
        raise VoicePrivacyError(
            f"{out} holds synthetic speech of other settings ({found}; asked for {settings}); "
            "name another folder, or remove this one."
        )
    return True


@contextmanager
def _appearing_whole(out: Path) -> Iterator[Path]:
    """Yield a temporary folder beside `out` that becomes `out` if the block succeeds."""
    out.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix=f".{out.name}.", dir=out.parent))
    try:
        yield temporary
        if out.exists():
            out.rmdir()
        temporary.chmod(0o755)
        temporary.rename(out)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _write(folder: Path, settings: dict[str, int], progress: bool) -> None:
    """Write all speakers' audio, the tables and the manifest."""
    genders, words = [], []
    with _espeak_data() as data:
        for k in tqdm(range(settings["n_speakers"]), disable=not progress, unit="speaker"):
            reader = f"{FIRST_READER + k}"
            genders.append((reader, voice(settings["seed"], k).gender))
            (folder / reader).mkdir()
            for u, spoken in enumerate(
                _speech(data, settings["seed"], k, settings["n_utterances"])
            ):
                words += _write_utterance(folder / reader / f"{reader}-1-{u:04d}.flac", *spoken)
    columns = ["utterance", "word", "start_sample", "end_sample"]
    pd.DataFrame(genders, columns=["speaker", "gender"]).to_csv(
        folder / "speakers.csv", index=False
    )
    pd.DataFrame(words, columns=columns).to_csv(folder / "words.csv", index=False)
    manifest = {"settings": settings, "espeakng-loader": version("espeakng-loader")}
    (folder / MANIFEST).write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")


def _write_utterance(
    path: Path, samples: np.ndarray, rate: int, words: list[Word]
) -> list[tuple[str, str, int, int]]:
    """Write an utterance at 16 kHz and return its rows of words."""
    soundfile, soxr = audio_packages()
    audio = soxr.resample(samples.astype(np.float32) / 2**15, rate, RATE)
    soundfile.write(path, audio, RATE)
    return [
        (path.stem, word, round(start * RATE / rate), min(round(end * RATE / rate), len(audio)))
        for word, start, end in words
    ]


def _speech(
    data: Path, seed: int, speaker: int, n_utterances: int
) -> Iterator[tuple[np.ndarray, int, list[Word]]]:
    """Yield the samples (int16), their rate and the words of each utterance of a speaker."""
    who = voice(seed, speaker)
    variant = data / "voices" / "!v" / f"speaker{speaker}"
    variant.write_text(who.settings, encoding="ascii")
    espeak = _Espeak(data, f"{who.accent}+{variant.name}")
    variant.unlink()  # eSpeak NG lists all voices when it starts, at most 349
    for u in range(n_utterances):
        rng = stream(seed, "utterance", speaker, u)
        words = sentence(rng)
        jitter = rng.normal(1, [0.05, 0.05, 0.08, 0.08])
        espeak.set(*(who.rate, who.volume, 50, who.pitch_range) * jitter, who.word_gap)
        yield espeak.say(words, noise=int(rng.integers(2**31)))
    espeak.close()


# -- eSpeak NG ---------------------------------------------------------------------------------

RATE_TO_GAP = (1, 2, 3, 4, 7)  # espeak_PARAMETER: rate, volume, pitch, range, word gap
SYNCHRONOUS, PHONEME_EVENTS, DO_NOT_EXIT = 2, 1, 0x8000
WORD, PHONEME = 1, 7


class _Event(ctypes.Structure):
    """`espeak_EVENT` of speak_lib.h."""

    _fields_ = (
        ("type", ctypes.c_int),
        ("unique_identifier", ctypes.c_uint),
        ("text_position", ctypes.c_int),
        ("length", ctypes.c_int),
        ("audio_position", ctypes.c_int),
        ("sample", ctypes.c_int),
        ("user_data", ctypes.c_void_p),
        ("phoneme", ctypes.c_char * 8),
    )


_Samples = ctypes.POINTER(ctypes.c_short)
_Callback = ctypes.CFUNCTYPE(ctypes.c_int, _Samples, ctypes.c_int, ctypes.POINTER(_Event))


class _Espeak:
    """A private copy of the library with one voice.

    How eSpeak NG sounds depends on what it said before, and nothing in its interface resets that;
    a copy of the library has a memory of its own.
    """

    def __init__(self, data: Path, voice: str):
        import espeakng_loader

        original = Path(espeakng_loader.get_library_path())
        self._copy = data.parent / f"{voice}{original.suffix}"
        shutil.copyfile(original, self._copy)
        self._library = ctypes.CDLL(str(self._copy))
        self._rate = self._library.espeak_Initialize(
            SYNCHRONOUS, 0, os.fsencode(data.parent), PHONEME_EVENTS | DO_NOT_EXIT
        )
        self._samples: list[np.ndarray] = []
        self._events: list[tuple[int, int, str]] = []
        # The library keeps no reference of its own.
        self._callback = _Callback(self._hear)
        self._library.espeak_SetSynthCallback(self._callback)
        if self._rate < 1 or self._library.espeak_SetVoiceByName(voice.encode()):
            raise VoicePrivacyError(f"eSpeak NG did not start with voice {voice!r}; {REINSTALL}.")

    def _hear(self, samples, n_samples, events) -> int:
        if n_samples > 0:
            self._samples.append(np.ctypeslib.as_array(samples, (n_samples,)).copy())
        k = 0
        while kind := events[k].type:
            name = events[k].phoneme.decode("utf-8", "replace") if kind == PHONEME else ""
            self._events.append((kind, events[k].sample, name))
            k += 1
        return 0

    def set(self, *values: float) -> None:
        """Set rate, volume, pitch, its range and the word gap, in eSpeak NG's units."""
        for parameter, value in zip(RATE_TO_GAP, values, strict=True):
            self._library.espeak_SetParameter(parameter, round(value), 0)

    def say(self, words: list[str], noise: int) -> tuple[np.ndarray, int, list[Word]]:
        """Speak a sentence: samples, rate and word times; `noise` seeds the sound of breath."""
        self._samples.clear()
        self._events.clear()
        # Breath draws from the C library, which eSpeak NG seeds with the time of day.
        self._library.espeak_ng_SetRandSeed(ctypes.c_long(noise))
        text = " ".join(words).encode()
        self._library.espeak_Synth(text, len(text) + 1, 0, 1, 0, 1, None, None)
        samples = np.concatenate(self._samples)
        return samples, self._rate, _word_times(words, self._events, len(samples))

    def close(self) -> None:
        self._library.espeak_Terminate()


def _word_times(words: list[str], events: list[tuple[int, int, str]], n_samples: int) -> list[Word]:
    """Where each word starts and ends; a word ends where a pause or the next word starts."""
    starts = [sample for kind, sample, _ in events if kind == WORD]
    if len(starts) != len(words):
        raise VoicePrivacyError(
            f"eSpeak NG timed {len(starts)} words of {' '.join(words)!r}; {REINSTALL}."
        )
    pauses = [sample for kind, sample, name in events if kind == PHONEME and name.startswith("_")]
    limits = np.sort([*starts, *pauses, n_samples])
    ends = [int(limits[np.searchsorted(limits, start, side="right")]) for start in starts]
    return [Word(*timed) for timed in zip(words, starts, ends, strict=True)]


@contextmanager
def _espeak_data() -> Iterator[Path]:
    """A temporary copy of the English part of eSpeak NG's data, to which voices can be added."""
    try:
        import espeakng_loader
    except ImportError as error:
        raise VoicePrivacyError(
            "synthetic speech needs eSpeak NG; "
            'install the extra with: pip install "voiceprivacy[demo]"'
        ) from error
    original = Path(espeakng_loader.get_data_path())
    # Windows does not delete a library that is loaded.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        data = Path(folder, "espeak-ng-data")
        (data / "voices" / "!v").mkdir(parents=True)
        for name in DATA:
            shutil.copyfile(original / name, data / name)
        shutil.copytree(original / "lang" / "gmw", data / "lang" / "gmw")
        yield data
