"""Reading large corpora: seconds and most memory, for tables made here in the real formats' form.

``python benchmarks/large_corpora.py`` takes a tenth of the issue's sizes; with ``full`` a release
of Common Voice with 1.5 million rows and a Kaldi directory with a million utterances. The sound
files are empty: reading opens none. Every reading has a process of its own, whose peak is told.
"""

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

CLIPS, UTTERANCES = 1_500_000, 1_000_000
SPEAKER_OF = 18
"""Rows a speaker, about those of release 11."""
HEADING = "client_id\tpath\tsentence\tup_votes\tdown_votes\tage\tgender\taccents\tlocale\tsegment"
SENTENCE = 'He said "this was read by one of them and by nobody else.'


def write_common_voice(folder: Path, rows: int) -> None:
    """Write validated.tsv and, empty, its clips."""
    (folder / "clips").mkdir(parents=True)
    with (folder / "validated.tsv").open("w", encoding="utf-8") as file:
        file.write(HEADING + "\n")
        for row in range(rows):
            clip, client = f"common_voice_en_{17_000_000 + row}.mp3", f"{row // SPEAKER_OF:0128x}"
            file.write(f"{client}\t{clip}\t{SENTENCE}\t2\t0\tfourties\tmale\tEngland\ten\t\n")
            (folder / "clips" / clip).touch()


def write_kaldi(folder: Path, utterances: int) -> None:
    """Write wav.scp, utt2spk, text and spk2gender, and the empty files that they name."""
    ids = [
        (f"s{k // SPEAKER_OF:06d}", f"s{k // SPEAKER_OF:06d}-{k:08d}") for k in range(utterances)
    ]
    (folder / "wav").mkdir(parents=True)
    tables = {
        "wav.scp": (f"{u} {folder / 'wav' / u}.wav\n" for _, u in ids),
        "utt2spk": (f"{u} {s}\n" for s, u in ids),
        "text": (f"{u} {SENTENCE}\n" for _, u in ids),
        "spk2gender": (f"{s} f\n" for s in dict.fromkeys(s for s, _ in ids)),
    }
    for name, lines in tables.items():
        with (folder / name).open("w", encoding="utf-8") as file:
            file.writelines(lines)
    for _, utterance in ids:
        (folder / "wav" / f"{utterance}.wav").touch()


def read_release(folder: Path) -> int:
    from voiceprivacy.common_voice import read_common_voice

    return len(read_common_voice(folder))


def read_speakers(folder: Path) -> int:
    from voiceprivacy.common_voice import common_voice_speakers

    return len(common_voice_speakers(folder))


def draw_subsets(folder: Path) -> int:
    """A and B by the rule, with durations drawn here."""
    import pandas as pd

    from voiceprivacy.common_voice import read_common_voice
    from voiceprivacy.subsets import subsets_by_rule

    corpus = read_common_voice(folder)
    seconds = np.random.default_rng(0).uniform(2, 10, len(corpus))
    a, b = subsets_by_rule(corpus, pd.Series(seconds, corpus.table["utterance"]), 20, 30)
    return len(a) + len(b)


def read_directory(folder: Path) -> int:
    from voiceprivacy.kaldi import read_kaldi

    return len(read_kaldi(folder))


def check(folder: Path) -> int:
    """`voiceprivacy corpus check`; the empty files are its 100 problems, not a reading's."""
    from click.testing import CliRunner

    from voiceprivacy.cli import main

    said = CliRunner().invoke(main, ["corpus", "check", str(folder)]).output
    return int(said.splitlines()[2].split()[1])


READINGS = {
    "common_voice": [read_release, read_speakers, draw_subsets, check],
    "kaldi": [read_directory, check],
}


def measured(reading: str, folder: Path) -> None:
    """Read, and tell what it took: what a process of its own does."""
    begin = time.perf_counter()
    rows = globals()[reading](folder)
    took = time.perf_counter() - begin
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"  {folder.name}: {reading}: {rows:,} found in {took:.1f} s, peak memory {peak:.2f} GB")


def main(part: float) -> None:
    with tempfile.TemporaryDirectory() as place:
        for name, write, size in (
            ("common_voice", write_common_voice, CLIPS),
            ("kaldi", write_kaldi, UTTERANCES),
        ):
            folder = Path(place, name)
            rows = int(size * part)
            write(folder, rows)
            print(f"{name}: {rows:,} rows")
            for reading in READINGS[name]:
                command = [sys.executable, __file__, reading.__name__, str(folder)]
                subprocess.run(command, check=True)


if __name__ == "__main__":
    if len(sys.argv) == 3:
        measured(sys.argv[1], Path(sys.argv[2]))
    else:
        main(1.0 if sys.argv[1:] == ["full"] else 0.1)
