"""Every reader of a text file that users bring: its name, a small good file, and how it is called.

`tests/test_properties_readers.py` damages the files with hypothesis, `tests/fuzz` with atheris.
"""

import io
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from voiceprivacy._tsv import read_tsv
from voiceprivacy._wav_scp import read_utt2spk
from voiceprivacy.attacker_settings import read_settings
from voiceprivacy.census.folder import read_folder as read_census
from voiceprivacy.common_voice import common_voice_speakers
from voiceprivacy.corpora import Corpus
from voiceprivacy.embeddings import read_embeddings
from voiceprivacy.evaluation_results import read_results
from voiceprivacy.evaluation_settings import read_evaluation_settings
from voiceprivacy.geolocation import read_geolocation
from voiceprivacy.kaldi import genders, read_kaldi, read_trials, transcripts
from voiceprivacy.librispeech import librispeech_speakers
from voiceprivacy.segmentation import read_timestamps
from voiceprivacy.side_information import read_side_information
from voiceprivacy.speakers import read_speakers
from voiceprivacy.subsets import read_list

LOOKUP = b"OA21CD,LSOA21CD,MSOA21CD,LAD22CD\nE00069547,E01013649,E02002828,E06000017\n"
SEXES = b"date,geography,geography code,Sex: Female,Sex: Male\n2021,E00069547,E00069547,1,2\n"


@dataclass(frozen=True)
class Reader:
    """How a text is read: the file's name, a good text, and what is called with its path."""

    file: str
    good: bytes
    read: Callable[[Path], object]
    beside: tuple[tuple[str, bytes], ...] = ()

    def __call__(self, folder: Path, text: bytes) -> object:
        """Read another text in a folder that nothing else uses."""
        for name, content in (*self.beside, (self.file, text)):
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        return self.read(folder / self.file)


def _corpus() -> Corpus:
    rows = {"utterance": ["u1", "u2"], "speaker": "a", "path": "", "start": 0.0, "end": 2.0}
    return Corpus("two", pd.DataFrame(rows))


def _npy() -> bytes:
    file = io.BytesIO()
    np.save(file, np.eye(2, dtype=np.float32))
    return file.getvalue()


SCP = b"u1 wav/u1.wav\nu2 flac -c -d -s wav/u2.flac |\n"
UTT2SPK = b"u1 a\nu2 a\n"
SOUND = (("wav/u1.wav", b""), ("wav/u2.wav", b""))
HEADING = b"client_id\tpath\tsentence\tage\tgender\n"

READERS = {
    "tsv": Reader("t.tsv", b"a\tb\n1\t2\n", lambda path: read_tsv(path, ("b",))),
    "common_voice": Reader(
        "validated.tsv",
        HEADING + b'0012\tc1.mp3\t"So\tfourties\tmale\n0012\tc2.mp3\tX\tteens\tfemale_feminine\n',
        lambda path: common_voice_speakers(path.parent),
    ),
    "speakers": Reader("s.csv", b"speaker,gender,age\n0012,f,forties\nNA,m,\n", read_speakers),
    "spk2gender": Reader("a.spk2gender", b"a f\nb m\n", read_speakers),
    "side_information": Reader(
        "s.csv", b'speaker,town,job\na,"x, y",baker\nb,,\n', read_side_information
    ),
    "geolocation": Reader(
        "g.csv",
        b"spk_id,gender,household_id,hh_size,OA,LSOA,MSOA\ns1,f,h1,2,A0,L0,M0\ns2,m,h1,2,A0,L0,M0\n",
        read_geolocation,
    ),
    "utt2spk": Reader("utt2spk", UTT2SPK, read_utt2spk),
    "wav.scp": Reader(
        "wav.scp",
        SCP,
        lambda path: read_kaldi(path.parent, missing="drop"),
        (("utt2spk", UTT2SPK), *SOUND),
    ),
    "segments": Reader(
        "segments",
        b"u1 r1 0.0 1.5\nu2 r1 1.5 2\n",
        lambda path: read_kaldi(path.parent, missing="drop"),
        (("utt2spk", UTT2SPK), ("wav.scp", b"r1 wav/u1.wav\n"), *SOUND),
    ),
    "spk2utt": Reader(
        "spk2utt",
        b"a u1 u2\nb u3\n",
        lambda path: read_kaldi(path.parent, missing="drop"),
        SOUND,
    ),
    "genders": Reader("spk2gender", b"a f\nb m\n", lambda path: genders(path.parent)),
    "text": Reader("text", b"u1 so it is\nu2\n", lambda path: transcripts(path.parent)),
    "trials": Reader("trials", b"a u1 target\na u2 nontarget\n", read_trials),
    "SPEAKERS.TXT": Reader(
        "SPEAKERS.TXT",
        b"; a comment\n84 | F | dev-clean | 8.02 | A | B\n",
        lambda path: librispeech_speakers(path.parent),
        (("dev-clean/84/121123/84-121123-0000.flac", b""),),
    ),
    "timestamps": Reader(
        "t.csv",
        b'utterance_id,word_timestamps\nu1,"{""0"": [0.1, 0.5], ""1"": [0.5, 0.9]}"\nu2,{}\n',
        lambda path: read_timestamps(path, _corpus()),
    ),
    "file_list": Reader("list", b"/data/clips/cv_1.mp3\ncv_2\n", read_list),
    "attacker_settings": Reader("a.yaml", b"max_steps: 100\nseed: 3\n", read_settings),
    "evaluation_settings": Reader(
        "e.yaml",
        b"evaluation:\n  conversation_lengths: [1, 3]\n  num_runs: 2\n"
        b"attack_models: [ignorant]\nanonymization:\n  system: mcadams\n",
        read_evaluation_settings,
    ),
    "results": Reader(
        "r.csv",
        b"metric,attacker,conversation_length,n_speakers,observed,observed_low,observed_high,chance\n"
        b"eer,ignorant,1,20,0.3,0.2,0.4,0.5\n",
        read_results,
    ),
    "census_lookup": Reader("lookup.csv", LOOKUP, lambda path: read_census(path.parent)),
    "census_table": Reader(
        "sexes.csv", SEXES, lambda path: read_census(path.parent), (("lookup.csv", LOOKUP),)
    ),
    "ark_text": Reader(
        "x.ark", b"u1  [ 1 2 3 ]\nu2  [ 4 5 6 ]\n", read_embeddings, (("utt2spk", UTT2SPK),)
    ),
    "ark_binary": Reader(
        "x.ark",
        b"u1 \0BFV \x04\x02\0\0\0\0\0\x80?\0\0\0@u2 \0BFV \x04\x02\0\0\0\0\0\x80?\0\0\0@",
        read_embeddings,
        (("utt2spk", UTT2SPK),),
    ),
    "ark_scp": Reader(
        "x.scp",
        b"u1 x.ark:3\nu2 x.ark:17\n",
        read_embeddings,
        (("utt2spk", UTT2SPK), ("x.ark", b"u1  [ 1 2 3 ]\nu2  [ 4 5 6 ]\n")),
    ),
    "npy": Reader(
        "x.npy", _npy(), read_embeddings, (("x.txt", b"u1\nu2\n"), ("utt2spk", UTT2SPK))
    ),
    "npy_names": Reader(
        "x.txt", b"u1\nu2\n", lambda path: read_embeddings(path.with_suffix(".npy")),
        (("x.npy", _npy()), ("utt2spk", UTT2SPK)),
    ),
}  # fmt: skip
