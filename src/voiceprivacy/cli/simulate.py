"""`voiceprivacy simulate`: embeddings of simulated speakers, as files."""

from pathlib import Path

import click

from voiceprivacy import simulation
from voiceprivacy.embeddings import write_embeddings
from voiceprivacy.errors import VoicePrivacyError, listed
from voiceprivacy.files import written_whole

COUNT = click.IntRange(min=0)


@click.command(short_help="Write embeddings of simulated speakers.")
@click.argument("out", type=click.Path(file_okay=False, path_type=Path))
@click.option(
    "--attacker",
    default="si_semi_informed",
    show_default=True,
    metavar="NAME",
    help=f"Whose extractor to simulate: {', '.join(simulation.PRESETS)}.",
)
@click.option("--seed", type=COUNT, default=0, show_default=True)
@click.option("--speakers-female", type=COUNT, default=5601, show_default=True)
@click.option("--speakers-male", type=COUNT, default=16423, show_default=True)
@click.option(
    "--targets-female",
    type=COUNT,
    help="Women who are enrolled.  [default: 1354, or the same share of fewer speakers]",
)
@click.option(
    "--targets-male",
    type=COUNT,
    help="Men who are enrolled.  [default: 3595, or the same share of fewer speakers]",
)
@click.option(
    "--utterances-a",
    type=COUNT,
    default=10,
    show_default=True,
    help="Utterances of each speaker in the pool.",
)
@click.option(
    "--utterances-b",
    type=COUNT,
    default=10,
    show_default=True,
    help="Utterances by which each target is enrolled.",
)
@click.option(
    "--extra-b",
    type=COUNT,
    default=0,
    show_default=True,
    help="More utterances of each target in the pool, for long conversations.",
)
@click.option(
    "--format", "suffix", type=click.Choice(["npz", "parquet"]), default="npz", show_default=True
)
@click.option("--overwrite", is_flag=True, help="Replace files that are already there.")
def command(out, attacker, seed, speakers_female, speakers_male, targets_female, targets_male,
            utterances_a, utterances_b, extra_b, suffix, overwrite):  # fmt: skip
    """Write embeddings of simulated speakers to the folder OUT.

    pool.npz holds the speakers to be singled out, enrolment.npz what the attacker has of each
    target, speakers.csv everybody's gender and modelled age. In Python,
    voiceprivacy.simulation.fitted_and_predicted() lists the published numbers behind each attacker.

    \b
    Example:
      voiceprivacy simulate build/simulated --attacker ignorant
    """
    model = simulation.preset(attacker)
    paths = [out / f"pool.{suffix}", out / f"enrolment.{suffix}", out / "speakers.csv"]
    if not overwrite and (there := [str(path) for path in paths if path.exists()]):
        raise VoicePrivacyError(
            f"{listed(there)} already there; choose another folder, or replace with --overwrite."
        )
    speakers = simulation.simulated_speakers(seed, speakers_female, speakers_male)
    targets = simulation.simulated_targets(
        speakers,
        seed,
        round(speakers_female * 1354 / 5601) if targets_female is None else targets_female,
        round(speakers_male * 3595 / 16423) if targets_male is None else targets_male,
    )
    corpus = simulation.simulate(
        model, speakers, targets=targets, utterances_a=utterances_a, utterances_b=utterances_b,
        extra_b=extra_b, seed=seed,
    )  # fmt: skip
    for embeddings, path in zip(corpus, paths, strict=False):
        write_embeddings(embeddings, path)
    with written_whole(paths[-1]) as temporary:
        speakers.to_csv(temporary, index=False, lineterminator="\n")
    click.echo(
        f"{out}: {len(corpus.pool)} utterances of {len(speakers)} speakers, "
        f"{len(targets)} of them enrolled ({attacker}, seed {seed})."
    )
