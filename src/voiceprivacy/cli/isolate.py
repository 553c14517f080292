"""`voiceprivacy isolate`: how often speakers are singled out, from embeddings and a table."""

import shutil
from pathlib import Path

import click
import matplotlib
import numpy as np
import pandas as pd

from voiceprivacy.cautions import about_ages, about_codes, cautions
from voiceprivacy.cli._options import list_of, n_or_all
from voiceprivacy.conversations import CALIBRATIONS, count_eligible
from voiceprivacy.embeddings import read_embeddings
from voiceprivacy.errors import VoicePrivacyError, listed
from voiceprivacy.evidence import named_evidence
from voiceprivacy.files import written_whole
from voiceprivacy.isolation import Isolation
from voiceprivacy.side_information import read_side_information
from voiceprivacy.singling_out import isolate
from voiceprivacy.study import SIZES

EXISTING = click.Path(path_type=Path)


@click.command(short_help="Measure isolation from embeddings and side information.")
@click.argument("pool", type=EXISTING)
@click.argument("enrolment", type=EXISTING)
@click.option("--out", type=EXISTING, required=True, help="Folder for isolation.csv and .png.")
@click.option("--side-information", "table", type=EXISTING, help="CSV or TSV, one row a speaker.")
@click.option("--columns", callback=list_of(str), metavar="A,B", help="Columns, coarse to fine.")
@click.option("--speaker-column", help="Column of speaker ids.  [default: speaker, spk_id, first]")
@click.option(
    "--missing",
    type=click.Choice(["error", "unknown"]),
    default="error",
    show_default=True,
    help="What to do with speakers who have no row.",
)
@click.option(
    "--sizes",
    callback=list_of(int),
    metavar="N,N",
    help="Evaluation set sizes.  [default: 30, 100, 200, ... up to all eligible speakers]",
)
@click.option("--length", type=click.IntRange(min=1), default=1, show_default=True)
@click.option("--targets", callback=n_or_all, default="all", show_default=True, metavar="N|all")
@click.option("--draws", type=click.IntRange(min=1), default=5, show_default=True)
@click.option("--splits", type=click.IntRange(min=1), default=10, show_default=True)
@click.option("--calibration", type=click.Choice(CALIBRATIONS), default="disjoint")
@click.option("--n-calibration", type=click.IntRange(min=1), default=9, show_default=True)
@click.option("--min-conversations", type=click.IntRange(min=2), default=2, show_default=True)
@click.option("--frozen-splits", is_flag=True, help="One shuffle of utterances, as the authors'.")
@click.option("--known-fractions", callback=list_of(float), default="1", metavar="F,F")
@click.option("--target-known", is_flag=True, help="Disclose every target's own values.")
@click.option("--by", help="Split the targets by their value in this column, or by: known.")
@click.option(
    "--corpus",
    default="",
    help="What the embeddings come from, for the figure's label: the name of a corpus, or "
    "simulated.  [default: POOL's name]",
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@click.option("--overwrite", is_flag=True, help="Replace results that are already there.")
def command(pool, enrolment, out, table, columns, speaker_column, missing, sizes, length, by,
            corpus, overwrite, **protocol):  # fmt: skip
    """Measure how often exactly one speaker of POOL matches a target of ENROLMENT.

    POOL holds the released utterances of every speaker, ENROLMENT the utterances that the
    attacker has of each target; HDF5, npz or parquet. Writes OUT/isolation.csv, one row for each
    size and level of side information, and OUT/isolation.png. An interrupted run goes on when
    started again.

    \b
    Example:
      voiceprivacy isolate pool.npz enrolment.npz --side-information people.csv \\
        --columns town,occupation --out build/isolation
    """
    results = out / "isolation.csv"
    if results.exists() and not overwrite:
        raise VoicePrivacyError(
            f"{results} is already there; choose another --out, or --overwrite."
        )
    if overwrite:
        shutil.rmtree(out / "parts", ignore_errors=True)
    if columns and not table:
        raise VoicePrivacyError("--columns needs --side-information, the table they stand in.")
    voices, known = read_embeddings(pool), read_embeddings(enrolment)
    disclosed = read_side_information(table, columns, speaker_column) if table else None
    eligible = count_eligible(voices, protocol["min_conversations"] * length)
    isolation = isolate(
        voices,
        known,
        sizes=sizes or sorted({min(size, eligible) for size in SIZES}),
        length=length,
        side_information=disclosed,
        missing=missing,
        store=out / "parts",
        progress=True,
        **protocol,
    )
    overall = isolation.summary()
    summary = overall if by is None else isolation.summary(by)
    evidence = named_evidence(corpus or pool.name)
    _draw(overall, evidence, out / "isolation.png")
    with written_whole(results) as temporary:
        summary.to_csv(temporary, index=False, lineterminator="\n")
    shutil.rmtree(out / "parts")
    _report(isolation, overall)
    if disclosed is not None:
        for remark in about_ages(disclosed):
            click.echo(remark)
        for remark in about_codes(disclosed):
            click.echo(f"Mind: {remark}")
    click.echo(f"Table: {results.resolve()}\nFigure: {(out / 'isolation.png').resolve()}")


def _draw(summary: pd.DataFrame, evidence: str, path: Path) -> None:
    """Draw isolation by N with everything that is disclosed, at the largest known fraction."""
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    from voiceprivacy.plotting import (
        isolation_curves,
        label_evidence,
        legend_beside,
        reference_curves,
        use_style,
    )

    use_style()
    summary = summary[summary["known_fraction"] == summary["known_fraction"].max()]
    figure, axes = plt.subplots(figsize=(7, 4.2))
    isolation_curves(axes, summary)
    reference_curves(axes, summary)
    legend_beside(figure)
    label_evidence(figure, evidence)
    with written_whole(path) as temporary:
        figure.savefig(temporary, dpi=150, bbox_inches="tight")
    plt.close(figure)


def _report(isolation: Isolation, summary: pd.DataFrame) -> None:
    """Say in words who took part, what each level gives at the largest N, and what to mind."""
    click.echo(
        f"{isolation.counts['eligible']:,} speakers took part; {len(isolation.targets):,} targets."
    )
    at_chance = []
    for known, table in summary.groupby("known_fraction"):
        table = table[table["n_speakers"] == np.max(isolation.sizes)]
        click.echo(f"N = {np.max(isolation.sizes):,}, {known:.0%} disclosed:")
        for row in table.itertuples():
            click.echo(
                f"  {row.level:<14} isolates {row.observed:.3f} ({row.observed_low:.3f} to "
                f"{row.observed_high:.3f}); reference {row.reference:.3f}, "
                f"chance {row.chance:.3f}, {row.block_size:,.1f} compatible speakers"
            )
        at_chance += table["level"][table["observed_low"] <= table["chance"]].tolist()
    if at_chance:
        click.echo(
            f"Mind: inconclusive for {listed(sorted(set(at_chance)))}: isolation cannot be told "
            "from chance there. Another attacker may do better; this is no proof of safety."
        )
    for remark in cautions(isolation):
        click.echo(f"Mind: {remark}")
