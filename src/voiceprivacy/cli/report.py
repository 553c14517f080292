"""`voiceprivacy report`: one page on how far voices single people out."""

from pathlib import Path

import click

from voiceprivacy.cli._options import list_of, n_or_all
from voiceprivacy.embeddings import Embeddings, read_embeddings
from voiceprivacy.errors import VoicePrivacyError
from voiceprivacy.files import refuse_unwritable
from voiceprivacy.granularity import Tolerance
from voiceprivacy.report import examine, write_report
from voiceprivacy.side_information import read_side_information

EXISTING = click.Path(path_type=Path)


@click.command(short_help="Write a page on how far voices single people out.")
@click.argument("pool", metavar="EMBEDDINGS", type=EXISTING)
@click.argument("enrolment", required=False, type=EXISTING)
@click.option("--out", type=EXISTING, required=True, help="The page, such as report.html.")
@click.option("--side-information", "table", type=EXISTING, help="CSV or TSV, one row a speaker.")
@click.option("--columns", callback=list_of(str), metavar="A,B", help="Columns, coarse to fine.")
@click.option("--speaker-column", help="Column of speaker ids.  [default: speaker, spk_id, first]")
@click.option("--missing", type=click.Choice(["error", "unknown"]), default="error")
@click.option("--length", type=click.IntRange(min=1), default=1, show_default=True)
@click.option("--targets", callback=n_or_all, default="all", show_default=True, metavar="N|all")
@click.option("--draws", type=click.IntRange(min=1), default=5, show_default=True)
@click.option("--splits", type=click.IntRange(min=2), default=10, show_default=True)
@click.option("--tolerated-contribution", type=float, default=0.05, show_default=True)
@click.option("--smallest-block", type=click.IntRange(min=1), default=10, show_default=True)
@click.option("--tolerated-share", type=float, default=0.05, show_default=True)
@click.option("--corpus", default="", help="What the embeddings come from, or: simulated.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@click.option("--overwrite", is_flag=True, help="Replace a page that is already there.")
def command(pool, enrolment, out, table, columns, speaker_column, tolerated_contribution,
            smallest_block, tolerated_share, overwrite, **asked):  # fmt: skip
    """Write a report on EMBEDDINGS for whoever has to judge their release.

    EMBEDDINGS is a folder with pool.* and enrolment.* (HDF5, npz or parquet), or the pool's file,
    and then ENROLMENT is the other one: the pool holds the released utterances, the enrolment what
    an attacker has of each target. The page needs no network and prints in black and white.

    \b
    Example:
      voiceprivacy report pool.npz enrolment.npz --side-information people.csv \\
        --columns town,occupation --out report.html
    """
    sources = {part.resolve() for part in (pool, enrolment, table) if part}
    if out.is_dir() or out.resolve() in sources:
        raise VoicePrivacyError(f"{out} is a folder, or read for the report; name a new file.")
    if out.exists() and not overwrite:
        raise VoicePrivacyError(f"{out} is already there; choose another --out, or --overwrite.")
    if columns and not table:
        raise VoicePrivacyError("--columns needs --side-information, the table they stand in.")
    tolerance = Tolerance(tolerated_contribution, smallest_block, tolerated_share)
    known = read_side_information(table, columns, speaker_column) if table else None
    voices = _read(pool, enrolment)
    refuse_unwritable(out)
    findings = examine(*voices, known, tolerance=tolerance, progress=True, **asked)
    write_report(findings, out)
    click.echo(f"Report: {out.resolve()}")


def _read(pool: Path, enrolment: Path | None) -> tuple[Embeddings, Embeddings]:
    if enrolment is not None:
        return read_embeddings(pool), read_embeddings(enrolment)
    found = [sorted(pool.glob(f"{name}.*")) for name in ("pool", "enrolment")]
    if not all(len(files) == 1 for files in found):
        raise VoicePrivacyError(
            f"{pool}: expected a folder with one file pool.* and one enrolment.*, or two files."
        )
    return tuple(read_embeddings(files[0]) for files in found)
