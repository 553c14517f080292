"""Possible spans from what a recogniser reports: the rules, in the order they are applied."""

import math
from collections.abc import Iterable

import numpy as np

from voiceprivacy._audio import RATE
from voiceprivacy._words import Found

MINIMUM = 0.03
NO_SPEECH = 0.6
REPEATS = 3
PHRASE = 10
RULES = {
    "no time": "word without a time: dropped",
    "no speech": f"nobody speaks there (probability above {NO_SPEECH}): dropped",
    "loop": f"word or phrase said more than {REPEATS} times running: said once",
    "no length": "end not after start: dropped",
    "outside": "wholly before the beginning or after the end: dropped",
    "clamped": "partly outside: cut to the utterance",
    "order": "before a word reported earlier: put where it belongs",
    "overlap": "runs into the next word: ends where that one starts",
    "too short": f"under {MINIMUM * 1000:.0f} ms: dropped",
}

Repair = tuple[str, str, str]  # word, repair, detail
Span = tuple[str, int, int]  # word, start, end in samples


def repaired(
    found: Iterable[Found], n_samples: int, minimum: float = MINIMUM
) -> tuple[np.ndarray, list[str], list[Repair]]:
    """Make possible spans of what a recogniser reports, and say what was done.

    Parameters
    ----------
    found
        Words in the order reported; consumed once.
    n_samples
        Length of the decoded utterance at 16 kHz.
    minimum
        Shortest word that is kept, in seconds; the default, three frames of 10 ms, is the
        shortest sound that PocketSphinx's three-state phone models can pass through.

    Returns
    -------
    spans
        (words, 2), start and end in samples, int64: 0 <= start < end <= `n_samples`, in order
        of time, not overlapping.
    words
        The words as text.
    repairs
        One (word, repair, detail) for each repair; the repairs are the keys of `RULES`, applied in
        that order.

    Notes
    -----
    With gapless boundaries a dropped word's sound is not lost: it belongs to the word before it.
    The bound on the probability that nobody speaks is Whisper's own; but Whisper lets pass what it
    is sure of, and it is sure of a closing phrase that it repeats over and over. Where all that
    was found is loops, nothing is kept: recognisers answer noise so.

    Examples
    --------
    >>> found = [Found("a", 0.3, 0.8), Found("b", 0.6, 1.0), Found("c", 1.2, 0.9)]
    >>> spans, words, repairs = repaired(found, n_samples=16_000)
    >>> spans.tolist(), words
    ([[4800, 9600], [9600, 16000]], ['a', 'b'])
    >>> [repair for word, repair, detail in repairs]
    ['no length', 'overlap']
    """
    repairs: list[Repair] = []
    heard = _timed_speech(list(found), repairs)
    spans = _inside(_without_loops(heard, repairs), n_samples, repairs)
    kept = _apart(spans, round(minimum * RATE), repairs)
    times = np.array([span[1:] for span in kept], np.int64).reshape(-1, 2)
    return times, [word for word, _, _ in kept], repairs


def _timed_speech(found: list[Found], repairs: list[Repair]) -> list[Found]:
    """Words that have a time and may have been spoken."""
    kept = []
    for word in found:
        if not (math.isfinite(word.start) and math.isfinite(word.end)):
            repairs.append((word.word, "no time", f"from {word.start} to {word.end} s"))
        elif (word.no_speech or 0) > NO_SPEECH:
            repairs.append((word.word, "no speech", f"probability {word.no_speech:.2f}"))
        else:
            kept.append(word)
    return kept


def _without_loops(found: list[Found], repairs: list[Repair]) -> list[Found]:
    """Words with phrases that are said over and over said once; none if that is all there is."""
    texts = [plain(word.word) for word in found]
    kept: list[Found] = []
    loops: list[Found] = []
    k = 0
    while k < len(found):
        length, times = _loop(texts, k)
        kept.append(found[k])
        k += 1
        if times > REPEATS:
            kept += found[k : k + length - 1]
            again = found[k + length - 1 : k - 1 + length * times]
            phrase = " ".join(texts[k - 1 : k - 1 + length])
            repairs += [(word.word, "loop", f"{phrase!r} {times} times") for word in again]
            loops += kept[-length:]
            k += length * times - 1
    if loops and len(loops) == len(kept):
        repairs += [(word.word, "loop", "nothing else was found") for word in loops]
        return []
    return kept


def _loop(texts: list[str], k: int) -> tuple[int, int]:
    """Length of the phrase at word k that is repeated most words long, and how many times."""
    best = (1, 1)
    for length in range(1, PHRASE + 1):
        phrase, times = texts[k : k + length], 1
        if not any(phrase):
            continue
        while texts[k + length * times : k + length * (times + 1)] == phrase:
            times += 1
        if times > REPEATS and length * times > best[0] * best[1]:
            best = (length, times)
    return best


def plain(word: str) -> str:
    """A word without case and punctuation."""
    return "".join(c for c in word.casefold() if c.isalnum())


def _inside(found: list[Found], n_samples: int, repairs: list[Repair]) -> list[Span]:
    """Spans in samples, cut to the utterance."""
    spans = []
    for word in found:
        start, end = round(word.start * RATE), round(word.end * RATE)
        clamped = max(start, 0), min(end, n_samples)
        times = f"{word.start:.3f} to {word.end:.3f} s of {n_samples / RATE:.3f} s"
        if end <= start:
            repairs.append((word.word, "no length", times))
        elif clamped[1] <= clamped[0]:
            repairs.append((word.word, "outside", times))
        else:
            spans.append((word.word, *clamped))
            if clamped != (start, end):
                repairs.append((word.word, "clamped", times))
    return spans


def _apart(spans: list[Span], minimum: int, repairs: list[Repair]) -> list[Span]:
    """Spans in order of time that do not overlap and are long enough."""
    latest = 0
    for word, start, _ in spans:
        if start < latest:
            detail = f"at {start / RATE:.3f} s, after one at {latest / RATE:.3f} s"
            repairs.append((word, "order", detail))
        latest = max(latest, start)
    kept: list[Span] = []
    limit = np.inf
    for word, start, end in sorted(spans, key=lambda span: span[1:], reverse=True):
        if end > limit:
            repairs.append((word, "overlap", f"ended {(end - limit) / RATE:.3f} s later"))
        end = min(end, limit)
        if end - start < max(minimum, 1):
            repairs.append((word, "too short", f"{max(end - start, 0) / RATE:.3f} s"))
        else:
            kept.append((word, start, end))
            limit = start
    return kept[::-1]
