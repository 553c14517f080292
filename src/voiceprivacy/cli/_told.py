"""What commands on speech tell of what they did not use as it was."""

from pathlib import Path

import click
import pandas as pd

from voiceprivacy.corpora import Corpus
from voiceprivacy.errors import VoicePrivacyError, listed
from voiceprivacy.files import written_whole
from voiceprivacy.segmentation import Segmentation


def tell_words(words: Segmentation) -> None:
    """Say what was repaired, and where there are no words."""
    _tell("Repairs", words.counts())
    _tell("Without words", words.no_words["reason"].value_counts())


def tell_left_out(corpus: Corpus, name: object = "the corpus") -> None:
    """Say how many files of a folder are not used, and why."""
    _tell(f"Left out of {name}", corpus.left_out())


def write_skipped(skipped: pd.DataFrame, path: Path) -> None:
    """Write what was left out."""
    with written_whole(path) as temporary:
        skipped.to_csv(temporary, index=False, lineterminator="\n")


def refuse_skipped(skipped: pd.DataFrame, path: Path, done: str) -> None:
    """End in an error if anything was left out; `path` is where details are."""
    if len(skipped):
        told = skipped["path"] + ": " + skipped["reason"]
        raise VoicePrivacyError(
            f"not all of the speech was {done}; left out: {listed(told)}. The others are done; "
            f"details are in {path}."
        )


def _tell(what: str, counts: pd.Series) -> None:
    if len(counts):
        told = ", ".join(f"{count:,} {reason}" for reason, count in counts.items())
        click.echo(f"{what}: {told}.", err=True)
