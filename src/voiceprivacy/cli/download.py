"""`voiceprivacy download`: speech and census tables from their publishers."""

from pathlib import Path

import click

from voiceprivacy.cli import census
from voiceprivacy.librispeech_downloads import MIRROR, SUBSETS, fetch_librispeech


@click.group(short_help="Download speech or census tables.")
def command() -> None:
    """Download data from their publishers.

    An interrupted download goes on when the same command runs again.
    """


@command.command()
@click.argument(
    "subsets", metavar="SUBSET...", nargs=-1, required=True, type=click.Choice(list(SUBSETS))
)
@click.option("--out", required=True, type=click.Path(path_type=Path), help="Folder for speech.")
@click.option("--mirror", default=MIRROR, show_default=True, help="Where SUBSET.tar.gz is.")
@click.option("--keep-archive", is_flag=True, help="Keep SUBSET.tar.gz in the folder.")
@click.option("--attempts", default=5, show_default=True, type=click.IntRange(1))
def librispeech(
    subsets: tuple[str, ...], out: Path, mirror: str, keep_archive: bool, attempts: int
) -> None:
    """Download subsets of LibriSpeech (CC BY 4.0, OpenSLR 12) and unpack them.

    SUBSET is dev-clean, dev-other, test-clean or test-other (0.3 GB each), train-clean-100 (6.4
    GB), train-clean-360 (23 GB) or train-other-500 (31 GB); twice that is needed on the disk.
    The archives' checksums are checked.

    \b
    Example:
      voiceprivacy download librispeech dev-clean test-clean --out speech
    """
    for subset in subsets:
        path = fetch_librispeech(
            subset,
            out,
            mirror=mirror,
            keep_archive=keep_archive,
            attempts=attempts,
            progress=True,
        )
        click.echo(path)


command.add_command(census.fetch, "census")
