"""`voiceprivacy assign`: census areas and households for the speakers of a corpus."""

from collections.abc import Collection
from pathlib import Path

import click
import pandas as pd

from voiceprivacy.assignment import CONSTRAINTS, assign
from voiceprivacy.cautions import about_ages
from voiceprivacy.census import default_output_areas, read_output_areas
from voiceprivacy.common_voice import common_voice_speakers
from voiceprivacy.errors import VoicePrivacyError
from voiceprivacy.fidelity import fidelity
from voiceprivacy.files import refuse_to_overwrite
from voiceprivacy.geolocation import write_geolocation
from voiceprivacy.households import RULES
from voiceprivacy.speakers import read_speakers


def _constraints(context: click.Context, parameter: click.Parameter, text: str) -> tuple[str, ...]:
    names = () if text == "none" else tuple(name.strip() for name in text.split(","))
    if not set(names) <= set(CONSTRAINTS):
        raise click.BadParameter(f"expected gender, age, both with a comma, or none; not {text!r}.")
    return names


@click.command()
@click.argument("speakers", type=click.Path(path_type=Path))
@click.option(
    "--out",
    required=True,
    type=click.Path(path_type=Path, dir_okay=False),
    help="The assignment, as CSV in the layout of the paper's geolocation.csv.",
)
@click.option(
    "--census",
    "folder",
    type=click.Path(path_type=Path),
    help="Folder of official census tables.  [default: the shipped areas shaped after Rutland]",
)
@click.option("--district", help="Code of one district of --census, such as E06000017.")
@click.option(
    "--constraints",
    default="gender,age",
    show_default=True,
    callback=_constraints,
    metavar="gender,age|gender|age|none",
    help="What the areas' census composition constrains.",
)
@click.option(
    "--households",
    type=click.Choice(RULES),
    default="census",
    show_default=True,
    help="Households by the area's own census shares with members at random, by the shares in "
    "the paper's published file, or by its whole rule (women first).",
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@click.option("--overwrite", is_flag=True, help="Replace --out if it is there.")
def command(speakers, out, folder, district, constraints, households, seed, overwrite):
    """Deal the speakers of SPEAKERS to census output areas and households.

    SPEAKERS is a CSV or TSV file with columns speaker, gender and age, a Kaldi spk2gender file, or
    the folder of one language of Common Voice, whose speakers say both of themselves. Ids are kept
    as text. Prints how near the result is to the census, beside what rounding to whole speakers
    alone gives.
    """
    refuse_to_overwrite(out, overwrite)
    if district and not folder:
        raise VoicePrivacyError("--district needs --census, the folder of tables to take it from.")
    required = {*constraints, "gender"} if households == "as_published" else constraints
    who = _who(speakers, required)
    areas = read_output_areas(folder, district) if folder else default_output_areas()
    table = assign(who, areas, constraints=constraints, households=households, seed=seed)
    write_geolocation(table, out, overwrite=overwrite)
    click.echo(_summary(table, who))
    for remark in about_ages(who[["age"]]):
        click.echo(remark)
    click.echo(fidelity(table, areas, who).to_string(index=False, na_rep="", float_format="%.4g"))
    click.echo(areas.provenance)
    click.echo(f"Assignment: {out.resolve()}")


def _who(speakers: Path, required: Collection[str]) -> pd.DataFrame:
    """The speakers of a table, or of a release of Common Voice."""
    if not speakers.is_dir():
        return read_speakers(speakers, required)
    who = common_voice_speakers(speakers)
    for note in who.attrs["notes"]:
        click.echo(f"Mind: {note}")
    return who


def _summary(table: pd.DataFrame, who: pd.DataFrame) -> str:
    counts = [f"{table[level].nunique():,} {level}s" for level in ("OA", "LSOA", "MSOA")]
    unknown = [f"{name} for {(who[name] == '').sum():,}" for name in CONSTRAINTS]
    return (
        f"{len(table):,} speakers in {', '.join(counts)} and "
        f"{table['household_id'].nunique():,} households. Unknown: {', '.join(unknown)}."
    )
