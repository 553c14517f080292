"""`voiceprivacy embeddings`: look at files of embeddings, and turn one format into another."""

from pathlib import Path

import click
import numpy as np

from voiceprivacy import _embedding_formats as formats
from voiceprivacy.embeddings import Embeddings, read_embeddings, short_speakers, write_embeddings
from voiceprivacy.errors import VoicePrivacyError, listed

PATH = click.Path(path_type=Path)
speakers_option = click.option(
    "--speakers",
    type=PATH,
    metavar="FILE",
    help="utt2spk or spk2utt that tells the speakers, instead of what lies with the vectors.",
)


@click.group()
def command() -> None:
    """Look at files of embeddings, and convert them.

    IN and PATH are a file, or a folder that holds one kind of embeddings: SIDEKIT's HDF5, Kaldi's
    archives, the cache of the VoicePrivacy Challenge's evaluation, npz, parquet or npy.
    """


@command.command()
@click.argument("path", type=PATH)
@speakers_option
def show(path: Path, speakers: Path | None) -> None:
    """Show the format of PATH and what it holds, after checking all of it."""
    _tell(read_embeddings(path, speakers), formats.found(path)[0].name)


@command.command()
@click.argument("source", metavar="IN", type=PATH)
@click.argument("out", metavar="OUT", type=PATH)
@speakers_option
@click.option("--short-speakers", is_flag=True, help="spk-f-1-spk-f-1-common-voice-en: spk-f-1.")
@click.option("--overwrite", is_flag=True, help="Replace OUT and what is written with it.")
def convert(source: Path, out: Path, speakers: Path | None, **options: bool) -> None:
    """Read IN and write OUT, in the format of its suffix.

    OUT ends in .npz, .parquet, .h5 (with spk2utt) or .ark (with .scp, utt2spk and spk2utt).

    \b
    Example:
      voiceprivacy embeddings convert emb_xvect/libri_dev_trials_f/utt-level trials.npz
    """
    if not options["overwrite"]:
        _refuse_existing(out)
    embeddings = read_embeddings(source, speakers)
    if options["short_speakers"]:
        embeddings = short_speakers(embeddings)
    write_embeddings(embeddings, out)
    _tell(embeddings, f"{formats.found(source)[0].name} -> {formats.of_file(out).name}")


def _refuse_existing(out: Path) -> None:
    existing = [str(file) for file in formats.written_as(out).files(out) if file.exists()]
    if existing:
        raise VoicePrivacyError(
            f"{listed(existing)} would be replaced; choose another OUT, or --overwrite."
        )


def _tell(embeddings: Embeddings, form: str) -> None:
    norms = embeddings.norms
    low, middle, high = (f"{value(norms):.6g}" for value in (np.min, np.median, np.max))
    for name, value in {
        "format": form,
        "utterances": f"{len(embeddings):,}",
        "speakers": f"{len(np.unique(embeddings.speakers)):,}",
        "dimension": embeddings.dimension,
        "norms": f"min {low}, median {middle}, max {high}",
    }.items():
        click.echo(f"{name:<12}{value}")
