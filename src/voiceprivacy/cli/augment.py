"""`voiceprivacy augment`: SegReConcat over a folder of speech."""

import shutil
from pathlib import Path

import click

from voiceprivacy._conversion import refuse_inside
from voiceprivacy.augment import augment, begun
from voiceprivacy.cli import _options
from voiceprivacy.cli._told import refuse_skipped, tell_words, write_skipped
from voiceprivacy.corpora import Corpus
from voiceprivacy.errors import VoicePrivacyError
from voiceprivacy.kaldi import is_kaldi, read_speech, write_kaldi
from voiceprivacy.segmentation import (
    PocketSphinxRecogniser,
    Recogniser,
    Segmentation,
    WhisperRecogniser,
    read_timestamps,
    segment,
    write_timestamps,
)
from voiceprivacy.segreconcat import (
    BOUNDARIES,
    CONTROLS,
    ORDERS,
    PADDINGS,
    STRATEGIES,
    SegReConcat,
)

EXISTING = click.Path(path_type=Path)


@click.command(short_help="Put utterances' words in another order, behind the utterances.")
@click.argument("speech", metavar="IN", type=EXISTING)
@click.argument("out", metavar="OUT", type=EXISTING)
@click.option(
    "--strategy",
    type=click.Choice([*STRATEGIES, *CONTROLS]),
    required=True,
    help="Words at random, by acoustic or by semantic similarity; or a control.",
)
@click.option(
    "--concatenate/--alone",
    default=True,
    show_default=True,
    help="Utterance and rearrangement, or the rearrangement alone.",
)
@click.option("--timestamps", type=EXISTING, help="CSV of word times, as `segment` writes it.")
@click.option(
    "--recogniser",
    type=click.Choice(["whisper", "packaged", "pocketsphinx"]),
    help="Who finds the words if there are no --timestamps.  [default: whisper]",
)
@click.option("--model", help="Whisper's, for words and for sr's encoder.  [default: medium]")
@click.option("--boundaries", type=click.Choice(BOUNDARIES), default="gapless", show_default=True)
@click.option("--order", type=click.Choice(ORDERS), default="original_first", show_default=True)
@click.option("--crossfade", type=float, default=0.0, help="Seconds, where words meet.")
@click.option("--padding", type=click.Choice(PADDINGS), default="short", help="Of sr's encoder.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@click.option("--workers", type=click.IntRange(min=1), default=1, show_default=True)
@_options.missing
def command(speech, out, missing, timestamps, recogniser, model, workers, **settings):
    """Augment the speech in IN by SegReConcat, into OUT.

    IN is a Kaldi directory, the folder of one language of Common Voice, or a folder with a folder
    for each speaker or LibriSpeech file names.
    OUT gets OUT/SPEAKER/UTTERANCE.flac (16 kHz, mono), utterances.csv with the words' orders,
    timestamps.csv with the words' times, and skipped.csv with what was left out and why; of a
    Kaldi directory also its tables. An interrupted run goes on when started again.

    \b
    Example:
      voiceprivacy augment train-clean-360_B3 augmented --strategy rr --concatenate \\
        --timestamps words.csv
    """
    if timestamps and recogniser:
        raise VoicePrivacyError("give --timestamps or --recogniser, not both.")
    refuse_inside(out, speech)
    finder = None if timestamps else _recogniser(recogniser or "whisper", model)
    if settings["strategy"] == "sr":
        encodes = isinstance(finder, WhisperRecogniser)
        settings["encoder"] = finder if encodes else _recogniser("whisper", model)
    method = SegReConcat(**settings)
    corpus = read_speech(speech, missing)
    words = read_timestamps(timestamps, corpus) if timestamps else None
    begun(corpus, (words or finder).name, method, out)
    store = out.with_name(f"{out.name}.parts")
    words = words or segment(corpus, finder, store=store, progress=True)
    augmented = augment(corpus, words, method, out, workers=workers, progress=True)
    if is_kaldi(speech):
        write_kaldi(out, augmented, like=speech)
    write_timestamps(words, out / "timestamps.csv")
    write_skipped(augmented.skipped, out / "skipped.csv")
    shutil.rmtree(store, ignore_errors=True)
    _report(augmented, words, method, out)


def _recogniser(name: str, model: str | None) -> Recogniser:
    if name == "pocketsphinx":
        return PocketSphinxRecogniser()
    return WhisperRecogniser(model or ("packaged" if name == "packaged" else "medium"))


def _report(augmented: Corpus, words: Segmentation, method: SegReConcat, out: Path) -> None:
    """Say what was made, and what to mind; fail if anything was left out."""
    click.echo(f"{len(augmented):,} utterances augmented ({method.name}).")
    click.echo(f"Words: {words.name}; audio: {out.resolve()}")
    tell_words(words)
    notes = augmented.notes["reason"].value_counts()
    if len(notes):
        told = ", ".join(f"{count:,} {reason}" for reason, count in notes.items())
        click.echo(f"Mind: {told} (see utterances.csv).", err=True)
    refuse_skipped(augmented.skipped, out / "skipped.csv", "augmented")
