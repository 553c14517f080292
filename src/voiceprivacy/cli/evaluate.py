"""`voiceprivacy evaluate`: an anonymizer against its attackers, by a configuration file."""

from pathlib import Path

import click

from voiceprivacy.evaluation import FAILURES, RESULTS, run_evaluation
from voiceprivacy.evaluation_settings import read_evaluation_settings

EXISTING = click.Path(path_type=Path)


@click.command(short_help="Evaluate an anonymizer: singling out, linkability, EER.")
@click.argument("settings", metavar="CONFIG.yaml", type=EXISTING)
@click.option("--out", type=EXISTING, default=Path("evaluation"), show_default=True)
@click.option("--corpus", default="", help="What the data come from, for labels.")
@click.option("--strict", is_flag=True, help="Stop at a file that the anonymizer fails on.")
@click.option("--overwrite", is_flag=True, help="Replace results that are already there.")
def command(settings, out, corpus, strict, overwrite):
    """Evaluate the anonymizer that CONFIG.yaml names.

    Speech is read from data/test, data/enrollment and data/calibration beside CONFIG.yaml, or from
    where its section `data` says: SPEAKER/UTTERANCE.wav. Writes OUT/results.csv, one row a metric,
    attacker, conversation length and number of speakers, and OUT/failed.csv with what could not be
    used and why. An interrupted evaluation goes on when started again.

    \b
    Example of CONFIG.yaml (all of it may be left out):
      evaluation: {conversation_lengths: [1, 3], speaker_counts: [20, 100]}
      anonymization: {system: mcadams, parameters: {random_seed: 42}}
      attack_models: [ignorant, lazy_informed]
    """
    chosen = read_evaluation_settings(settings)
    data = {f"{name}_data": path for name, path in chosen.data.items()}
    results = run_evaluation(
        **data, **chosen.arguments, out=out, corpus=corpus, strict=strict, overwrite=overwrite,
        progress=True,
    )  # fmt: skip
    click.echo(str(results))
    if len(results.failed):
        click.echo(
            f"Mind: {len(results.failed)} utterances could not be used; {out / FAILURES} says why.",
            err=True,
        )
    click.echo(f"Table: {(out / RESULTS).resolve()}")
