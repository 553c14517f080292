"""`voiceprivacy census`: download official tables, and look at what a folder of them gives."""

from pathlib import Path

import click

from voiceprivacy import census
from voiceprivacy.census.download import LOOKUP, NOMIS


@click.group()
def command() -> None:
    """Census 2021 tables of England and Wales."""


@command.command()
@click.argument("district")
@click.option("--out", required=True, type=click.Path(path_type=Path), help="Folder for the files.")
@click.option("--attempts", default=5, show_default=True, type=click.IntRange(1))
@click.option("--nomis-url", default=NOMIS, help="Where the Nomis API has its datasets.")
@click.option("--lookup-url", default=LOOKUP, help="Where the ONS lookup is queried.")
def fetch(district: str, out: Path, attempts: int, nomis_url: str, lookup_url: str) -> None:
    """Download the official tables of a DISTRICT, such as E06000017 (Rutland).

    Finished files are kept: after a fault, run the same command again.
    """
    census.fetch(
        district,
        out,
        nomis_url=nomis_url,
        lookup_url=lookup_url,
        attempts=attempts,
        progress=True,
    )
    areas = census.read_output_areas(out, district)
    click.echo(f"{out}: {len(areas)} output areas of {district}.")


@command.command()
@click.argument("folder", required=False, type=click.Path(path_type=Path))
@click.option("--district", help="Only this district of the lookup.")
def show(folder: Path | None, district: str | None) -> None:
    """Show what the tables in FOLDER give, or the shipped default if no FOLDER is named."""
    if folder is None:
        areas = census.default_output_areas()
    else:
        areas = census.read_output_areas(folder, district)
    click.echo(areas.provenance)
    click.echo(areas.summary().to_string())
