"""`voiceprivacy anonymize`: a folder of speech, made unlike its speakers."""

from pathlib import Path

import click

from voiceprivacy._conversion import refuse_inside
from voiceprivacy._registry import about, made
from voiceprivacy.anonymize import anonymized
from voiceprivacy.anonymizers import BaseAnonymizer
from voiceprivacy.cli import _options
from voiceprivacy.cli._told import refuse_skipped, write_skipped
from voiceprivacy.corpora import Corpus
from voiceprivacy.errors import listed
from voiceprivacy.kaldi import is_kaldi, read_speech, write_kaldi
from voiceprivacy.kinds import read_as
from voiceprivacy.precomputed import Precomputed
from voiceprivacy.systems import SYSTEMS, System, settings

EXISTING = click.Path(path_type=Path)


def _list_methods(context: click.Context, parameter: click.Parameter, wanted: bool) -> None:
    """Show each method with what it does and its parameters, and stop."""
    if not wanted:
        return
    for name, make in SYSTEMS.items():
        values = ", ".join(f"{key}={value}" for key, value in settings(name).items())
        click.echo(f"{name:<20} {about(make)} ({values})")
    context.exit()


@click.command(short_help="Make speech unlike its speakers.")
@click.argument("speech", metavar="IN", type=EXISTING)
@click.argument("out", metavar="OUT", type=EXISTING)
@click.option("--method", required=True, metavar="NAME", help="One of those that --list shows.")
@click.option(
    "--set",
    "pairs",
    multiple=True,
    metavar="KEY=VALUE",
    help="Set a parameter of the method; repeat for more.",
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@click.option("--workers", type=click.IntRange(min=1), default=1, show_default=True)
@click.option(
    "--list",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_list_methods,
    help="Show the methods and their parameters, and stop.",
)
@_options.missing
def command(speech, out, missing, method, pairs, seed, workers):
    """Anonymize the speech in IN, into OUT.

    IN is a Kaldi directory, the folder of one language of Common Voice, or a folder with a folder
    for each speaker or LibriSpeech file names.
    OUT gets OUT/SPEAKER/UTTERANCE.flac (16 kHz, mono), utterances.csv with the factor by which
    each became longer, and skipped.csv with what was left out and why; of a Kaldi directory also
    its tables. An interrupted run goes on when started again.

    \b
    Example:
      voiceprivacy anonymize speech anonymized --method mcadams --set lowest=0.6
    """
    values = _values(method, pairs)
    if is_kaldi(speech) and "tables" in settings(method):
        values = {"tables": str(speech.resolve())} | values
    own = {"seed": seed} if "seed" in settings(method) else {}
    system = made(SYSTEMS, method, own | values)
    refuse_inside(out, speech)
    corpus = read_speech(speech, missing)
    result = _made(system, corpus, out, workers)
    if is_kaldi(speech):
        write_kaldi(out, result, like=speech)
    write_skipped(result.skipped, out / "skipped.csv")
    _report(result, system.name, out)


def _values(method: str, pairs: tuple[str, ...]) -> dict[str, object]:
    """What --set says, each value read as the kind of its default."""
    broken = [pair for pair in pairs if "=" not in pair]
    if broken:
        raise click.BadParameter(f"expected KEY=VALUE, not {listed(broken)}.", param_hint="--set")
    texts = dict(pair.split("=", 1) for pair in pairs)
    defaults = settings(method)
    return {key: read_as(text, type(defaults.get(key, ""))) for key, text in texts.items()}


def _made(system: System, corpus: Corpus, out: Path, workers: int) -> Corpus:
    """The corpus through the system, in the folder."""
    if isinstance(system, Precomputed):
        return system.copied(corpus, out, workers=workers, progress=True)
    if isinstance(system, BaseAnonymizer):
        return anonymized(corpus, system, out, workers=workers, progress=True)
    return system.of(corpus, out, progress=True)


def _report(result: Corpus, name: str, out: Path) -> None:
    """Say what was made, and what to mind; fail if anything was left out."""
    click.echo(f"{len(result):,} utterances anonymized ({name}): {out.resolve()}")
    for reason, notes in result.notes.groupby("reason"):
        told = f"{len(notes):,} {reason} ({listed(notes['utterance'], 3)})"
        click.echo(f"Mind: {told}.", err=True)
    refuse_skipped(result.skipped, out / "skipped.csv", "anonymized")
