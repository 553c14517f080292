"""What commands on speech tell of what they did not use as it was."""

import click
import pandas as pd

from voiceprivacy.corpora import Corpus
from voiceprivacy.segmentation import Segmentation


def tell_words(words: Segmentation) -> None:
    """Say what was repaired, and where there are no words."""
    _tell("Repairs", words.counts())
    _tell("Without words", words.no_words["reason"].value_counts())


def tell_left_out(corpus: Corpus, name: object = "the corpus") -> None:
    """Say how many files of a folder are not used, and why."""
    _tell(f"Left out of {name}", corpus.left_out())


def _tell(what: str, counts: pd.Series) -> None:
    if len(counts):
        told = ", ".join(f"{count:,} {reason}" for reason, count in counts.items())
        click.echo(f"{what}: {told}.", err=True)
