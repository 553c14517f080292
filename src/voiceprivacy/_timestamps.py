"""Word times in the form of the SegReConcat authors' scripts: a CSV with JSON inside."""

import csv
import json
import math
import os
from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from voiceprivacy._audio import RATE, audio_packages, read_audio
from voiceprivacy._repairs import repaired
from voiceprivacy._words import (
    NO_WORDS_COLUMNS,
    REPAIR_COLUMNS,
    Found,
    Segmentation,
    report,
    word_table,
)
from voiceprivacy.corpora import Corpus
from voiceprivacy.errors import VoicePrivacyError, listed
from voiceprivacy.files import written_whole

COLUMNS = ["utterance_id", "word_timestamps"]
EXACT = ("WAV", "FLAC")
LONGEST = 2**31 - 1
EXPECTED = 'JSON such as {"0": [0.1, 0.4], "1": [0.4, 0.9]}, times in seconds'


def read_timestamps(path: str | os.PathLike, corpus: Corpus) -> Segmentation:
    """Read word times from a CSV file of the authors' form.

    Parameters
    ----------
    path
        Columns ``utterance_id`` and ``word_timestamps``; the latter holds JSON,
        ``{"0": [start, end], "1": ...}`` in seconds.
    corpus
        The utterances that the file speaks of. Spans that are impossible in them are repaired
        (see `voiceprivacy.segmentation.repaired`); an utterance that the file leaves out has no
        words, and rows of utterances outside the corpus are passed over.

    Raises
    ------
    VoicePrivacyError
        If the file is missing or damaged, names an utterance twice, or none of the corpus.

    Notes
    -----
    The form holds no text: all words are empty.
    """
    path = Path(path)
    try:
        found = dict(_rows(path))
    except (UnicodeDecodeError, csv.Error) as error:
        raise VoicePrivacyError(
            f"{path} is no CSV in UTF-8 ({error}); save it as one, with {listed(COLUMNS)}."
        ) from None
    if not found.keys() & set(corpus.table["utterance"]):
        raise VoicePrivacyError(
            f"{path} names no utterance of {corpus.name}: it has {listed(found, 2)}, the corpus "
            f"{listed(corpus.table['utterance'], 2)}; give the file made for this corpus."
        )
    words, repairs, without = [], [], []
    for utterance, file, start, end in corpus.table[
        ["utterance", "path", "start", "end"]
    ].itertuples(index=False):
        if utterance not in found:
            without.append((utterance, "not in the file", str(path)))
            continue
        try:
            n_samples = _n_samples(file, start, end)
        except VoicePrivacyError as error:
            without.append((utterance, "unreadable", str(error)))
            continue
        spans, texts, mended = repaired(found[utterance], n_samples)
        words += [(utterance, text, *span) for text, span in zip(texts, spans, strict=True)]
        repairs += [(utterance, *repair) for repair in mended]
        if not len(spans):
            reason = "nothing left" if found[utterance] else "nothing found"
            without.append((utterance, reason, f"{len(found[utterance])} words in {path}"))
    return Segmentation(
        path.name,
        word_table(words),
        report(repairs, REPAIR_COLUMNS),
        report(without, NO_WORDS_COLUMNS),
    )


def write_timestamps(segmentation: Segmentation, path: str | os.PathLike) -> None:
    """Write word times as a CSV file of the authors' form, which `read_timestamps` describes.

    Utterances stand in order of their ids; one without words has ``{}``. Times are exact.
    """
    rows = []
    for utterance in sorted(segmentation.utterances):
        # A sample is 0.0000625 s, so seven decimals are exact.
        times = (segmentation.spans(utterance) / RATE).round(7).tolist()
        rows.append((utterance, json.dumps({str(k): span for k, span in enumerate(times)})))
    with written_whole(path) as temporary:
        pd.DataFrame(rows, columns=COLUMNS).to_csv(temporary, index=False, lineterminator="\n")


def _rows(path: Path) -> Iterator[tuple[str, list[Found]]]:
    """Every utterance of the file with its words."""
    if not path.is_file():
        raise VoicePrivacyError(f"{path}: no such file of word times.")
    seen = set()
    # A quarter of an hour of words is longer than the 128 KiB that a field may have by default.
    csv.field_size_limit(LONGEST)
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = csv.DictReader(file)
        missing = [column for column in COLUMNS if column not in (rows.fieldnames or [])]
        if missing:
            raise VoicePrivacyError(
                f"{path} has no column {listed(missing)} (it has "
                f"{listed(rows.fieldnames or [])}); expected {listed(COLUMNS)}."
            )
        for row in rows:
            utterance, line = row["utterance_id"], rows.line_num
            if utterance in seen:
                raise VoicePrivacyError(
                    f"{path}, line {line}: utterance {utterance!r} stands there twice; "
                    "remove one of the rows."
                )
            seen.add(utterance)
            yield utterance, _words(row["word_timestamps"], f"{path}, line {line}")


def _words(text: str | None, where: str) -> list[Found]:
    """The words of one row, in the order of their numbers."""
    try:
        spans = json.loads(text or "")
        numbered = sorted((int(k), float(start), float(end)) for k, (start, end) in spans.items())
    except (ValueError, TypeError, AttributeError):
        raise VoicePrivacyError(
            f"{where}: {text!r} are no word times; expected {EXPECTED}."
        ) from None
    if any(math.isinf(time) for _, *times in numbered for time in times):
        raise VoicePrivacyError(f"{where}: a word time is infinite; expected {EXPECTED}.")
    return [Found("", start, end) for _, start, end in numbered]


def _n_samples(file: str, start: float, end: float) -> int:
    """Samples of an utterance at 16 kHz, from the header where it can be trusted."""
    if math.isnan(start) and math.isnan(end):
        soundfile, _ = audio_packages()
        try:
            info = soundfile.info(file)
        except (OSError, RuntimeError) as error:
            raise VoicePrivacyError(f"{file} cannot be decoded ({error}).") from error
        if info.samplerate == RATE and info.format in EXACT:
            return info.frames
    return len(read_audio(file, start, end))
