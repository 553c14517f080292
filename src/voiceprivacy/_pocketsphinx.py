"""PocketSphinx: words found freely, or a known transcript laid along the sound."""

import hashlib
import json
import re
import threading
from collections.abc import Iterable, Mapping
from importlib.metadata import version

import numpy as np

from voiceprivacy._audio import RATE
from voiceprivacy._remade import Remade
from voiceprivacy._words import Found
from voiceprivacy.errors import VoicePrivacyError, listed
from voiceprivacy.randomness import stream

PAD = RATE // 4
NOISE = 3e-3
# Wide enough for voices unlike those of its model; much wider ones end before the transcript does.
BEAMS = {"beam": 1e-80, "wbeam": 1e-60, "pbeam": 1e-80}
LATE = 0.5
FILLER = re.compile(r"[<\[(+].*")
VARIANT = re.compile(r"\(\d+\)$")
SPOKEN = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")


class PocketSphinxRecogniser(Remade):
    """PocketSphinx (Huggins-Daines et al., 2006) with the American English model of its package.

    Parameters
    ----------
    transcripts
        What is said, an utterance: then its words are aligned, which finds boundaries well.
        Without, words are decoded freely with the package's language model.

    Raises
    ------
    VoicePrivacyError
        If the package is missing.

    Notes
    -----
    Digital silence stops the search, so faint noise (standard deviation 0.003, always the same)
    is added, and a quarter of a second of it before and after. The front end forgets the
    utterances before. Words of a transcript that the dictionary lacks, or that come after
    the place where alignment gave up, have no time.
    """

    def __init__(self, transcripts: Mapping[str, str] | None = None):
        package = _package()
        self.transcripts = None if transcripts is None else dict(transcripts)
        options = {} if transcripts is None else {"lm": None, **BEAMS}
        try:
            self._decoder = package.Decoder(loglevel="FATAL", cmn="batch", **options)
        except RuntimeError as error:
            raise VoicePrivacyError(
                f"PocketSphinx does not start ({error}); install pocketsphinx again."
            ) from error
        self._noise = np.empty(0, np.float32)
        self._lock = threading.Lock()  # the decoder hears one utterance at a time
        self.name = f"{_mode(self.transcripts)} (pocketsphinx {version('pocketsphinx')})"

    def find(self, samples: np.ndarray, utterance: str = "") -> list[Found]:
        """Find the words of one utterance, float32 mono 16 kHz.

        Raises
        ------
        VoicePrivacyError
            If transcripts were given, but none for this utterance.
        """
        known: list[str] = []
        unknown: list[str] = []
        if self.transcripts is not None:
            known, unknown = self._transcript(utterance)
            if not known:
                return [Found(word, np.nan, np.nan) for word in unknown]
        with self._lock:
            frames = self._decoded(samples, " ".join(known))
        found = from_frames(frames, self._decoder.config["frate"], len(samples), PAD)
        # Where alignment gives up, the rest of the transcript has no time.
        return found + [Found(word, np.nan, np.nan) for word in known[len(found) :] + unknown]

    def _decoded(self, samples: np.ndarray, transcript: str) -> list[tuple[str, int, int]]:
        """Words with their first and last frames, of the transcript if there is one."""
        if transcript:
            self._decoder.set_align_text(transcript)
        self._decoder.reinit_feat()
        self._decoder.start_utt()
        self._decoder.process_raw(self._sound(samples), full_utt=True)
        self._decoder.end_utt()
        segments = self._decoder.seg() if self._decoder.hyp() else ()
        return [(s.word, s.start_frame, s.end_frame) for s in segments]

    def _transcript(self, utterance: str) -> tuple[list[str], list[str]]:
        """An utterance's words: those in the dictionary, and the others."""
        if utterance not in self.transcripts:
            raise VoicePrivacyError(
                f"utterance {utterance!r} has no transcript; transcripts are known of "
                f"{listed(self.transcripts, 2)}. Decode freely instead, or add it."
            )
        words = spoken_words(self.transcripts[utterance])
        known = [word for word in words if self._decoder.lookup_word(word)]
        return known, [word for word in words if not self._decoder.lookup_word(word)]

    def _sound(self, samples: np.ndarray) -> bytes:
        """The utterance with silence around it and noise everywhere, as 16-bit samples."""
        padded = np.pad(np.asarray(samples, np.float32), PAD)
        if len(self._noise) < len(padded):
            # One stream from its beginning, so that an utterance always gets the same noise.
            rng = stream(0, "pocketsphinx noise")
            self._noise = rng.normal(0, NOISE, 2 * len(padded)).astype(np.float32)
        heard = padded + self._noise[: len(padded)]
        return (np.clip(heard, -1, 1) * 32767).astype(np.int16).tobytes()


def from_frames(
    segments: Iterable[tuple[str, int, int]], frame_rate: int, n_samples: int, lead: int = 0
) -> list[Found]:
    """Make words of PocketSphinx's segments.

    Parameters
    ----------
    segments
        Word, first frame and last frame (inclusive).
    frame_rate
        Frames a second.
    n_samples
        Length of the utterance at 16 kHz, without what was added around it.
    lead
        Samples added before it.

    Raises
    ------
    VoicePrivacyError
        If a word ends more than half a second after the utterance and what was added to it.

    Examples
    --------
    >>> from_frames([("<s>", 0, 2), ("and(2)", 3, 40), ("<sil>", 41, 90)], 100, 16_000)
    [Found(word='and', start=0.03, end=0.41, probability=None, no_speech=None)]
    """
    found = []
    latest = (n_samples + lead) / RATE + LATE
    for word, first, last in segments:
        if FILLER.fullmatch(word):
            continue
        start, end = first / frame_rate - lead / RATE, (last + 1) / frame_rate - lead / RATE
        if end > latest:
            raise VoicePrivacyError(
                f"PocketSphinx puts {word!r} at {start:.2f} to {end:.2f} s of an utterance of "
                f"{n_samples / RATE:.2f} s: its frames do not count as expected. Switch its "
                "removal of silence off (remove_silence=no), or install pocketsphinx 5."
            )
        found.append(Found(VARIANT.sub("", word), start, end))
    return found


def spoken_words(text: str) -> list[str]:
    """Return the words of a transcript as the dictionary spells them.

    Examples
    --------
    >>> spoken_words("“Don’t,” she SAID -- twice.")
    ["don't", 'she', 'said', 'twice']
    """
    return [word.replace("’", "'").lower() for word in SPOKEN.findall(text)]


def _mode(transcripts: Mapping[str, str] | None) -> str:
    if transcripts is None:
        return "PocketSphinx, free"
    text = json.dumps(transcripts, sort_keys=True)
    return f"PocketSphinx, aligned to transcripts {hashlib.sha256(text.encode()).hexdigest()[:12]}"


def _package():
    """Import PocketSphinx, or say how to get it and what would do instead."""
    try:
        import pocketsphinx
    except ImportError as error:
        raise VoicePrivacyError(
            f"PocketSphinx needs the package {error.name or error}; install the extra with: "
            'pip install "voiceprivacy[words]". Or use a Whisper recogniser (whisper, packaged), '
            "if it is installed, or a file of word times."
        ) from error
    return pocketsphinx
