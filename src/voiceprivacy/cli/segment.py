"""`voiceprivacy segment`: words and their times, from a folder of speech."""

import shutil
import warnings
from pathlib import Path

import click
import pandas as pd

from voiceprivacy._wav_scp import read_table
from voiceprivacy.cli import _options
from voiceprivacy.cli._told import refuse_skipped, tell_words, write_skipped
from voiceprivacy.corpora import Corpus
from voiceprivacy.errors import VoicePrivacyError, listed
from voiceprivacy.files import written_whole
from voiceprivacy.kaldi import read_speech
from voiceprivacy.segmentation import (
    PocketSphinxRecogniser,
    Recogniser,
    Segmentation,
    WhisperRecogniser,
    segment,
    write_timestamps,
)

EXISTING = click.Path(path_type=Path)
RECOGNISERS = ("whisper", "packaged", "pocketsphinx")


@click.command(short_help="Find words and their times.")
@click.argument("speech", metavar="IN", type=EXISTING)
@click.argument("out", metavar="OUT.csv", type=click.Path(path_type=Path, dir_okay=False))
@click.option(
    "--recogniser",
    type=click.Choice(RECOGNISERS),
    default="whisper",
    show_default=True,
    help="Whisper; its tiny.en that comes as a package; or PocketSphinx, which needs no download.",
)
@click.option("--model", help="Whisper's size, name on the hub, or folder.  [default: medium]")
@click.option("--language", help="Code of the language spoken, for Whisper.  [default: en]")
@click.option("--device", type=click.Choice(["cpu", "cuda"]), help="For Whisper.  [default: cpu]")
@click.option("--compute-type", help="Whisper's precision, such as float16.  [default: int8]")
@click.option("--beam-size", type=click.IntRange(min=1), help="Of Whisper.  [default: 5]")
@click.option("--threads", type=click.IntRange(min=1), help="Of Whisper on a CPU.")
@click.option(
    "--transcripts",
    type=EXISTING,
    help="What is said, for PocketSphinx to align: a file with an utterance's id and words on "
    "each line (Kaldi text, LibriSpeech .trans.txt), or a folder with .trans.txt files.",
)
@click.option("--overwrite", is_flag=True, help="Replace OUT.csv if it is there.")
@_options.missing
def command(speech, out, missing, recogniser, model, transcripts, overwrite, **whisper):
    """Find the words of the speech in IN, and write their times to OUT.csv.

    IN is a Kaldi directory, the folder of one language of Common Voice, or a folder with a folder
    for each speaker or LibriSpeech file names.
    OUT.csv has the SegReConcat authors' form: utterance_id, word_timestamps. Beside it,
    OUT_repairs.csv lists each span that was impossible and what was done about it, and
    OUT_no_words.csv the utterances without words, with the reason, and OUT_skipped.csv the files
    that could not be used, if there are any; then the command fails, with the words of the others
    written. An interrupted run goes on when started again.

    \b
    Example:
      voiceprivacy segment train-clean-360_B3 words.csv --recogniser packaged
    """
    if out.exists() and not overwrite:
        raise VoicePrivacyError(f"{out} is already there; choose another OUT.csv, or --overwrite.")
    whisper = {name: value for name, value in whisper.items() if value is not None}
    _refuse_unused(recogniser, model, transcripts, whisper)
    said = None if transcripts is None else _transcripts(transcripts)
    finder = _recogniser(recogniser, model, said, whisper)
    corpus = read_speech(speech, missing)
    if said is not None:
        _refuse_strange(said, corpus, transcripts)
    store = out.with_name(f"{out.name}.parts")
    words = segment(corpus, finder, store=store, progress=True)
    write_timestamps(words, out)
    for name, table in (("repairs", words.repairs), ("no_words", words.no_words)):
        with written_whole(_beside(out, name)) as temporary:
            table.to_csv(temporary, index=False, lineterminator="\n")
    skipped = _skipped(corpus, words)
    if len(skipped):
        write_skipped(skipped, _beside(out, "skipped"))
    shutil.rmtree(store, ignore_errors=True)
    _report(corpus, words, out)
    refuse_skipped(skipped, _beside(out, "skipped"), "segmented")


def _recogniser(
    name: str, model: str | None, said: dict[str, str] | None, whisper: dict[str, object]
) -> Recogniser:
    """Start the recogniser, before any sound is read; say what it remarks."""
    if name == "pocketsphinx":
        return PocketSphinxRecogniser(said)
    if name == "packaged":
        model = "packaged"
    with warnings.catch_warnings(record=True) as remarks:
        warnings.simplefilter("always", UserWarning)
        finder = WhisperRecogniser(model or "medium", **whisper)
    for remark in remarks:
        click.echo(f"Mind: {remark.message}", err=True)
    return finder


def _refuse_unused(
    recogniser: str, model: str | None, transcripts: Path | None, whisper: dict[str, object]
) -> None:
    """Refuse options that the recogniser does not know."""
    aligns = recogniser == "pocketsphinx"
    unused = list(whisper) if aligns else []
    unused += ["model"] if model and recogniser != "whisper" else []
    unused += ["transcripts"] if transcripts and not aligns else []
    if unused:
        options = ", ".join(f"--{name.replace('_', '-')}" for name in unused)
        raise VoicePrivacyError(f"--recogniser {recogniser} has no use for {options}.")


def _transcripts(path: Path) -> dict[str, str]:
    """What is said, an utterance, from a file or a folder of them."""
    files = sorted(path.rglob("*.trans.txt")) if path.is_dir() else [path]
    if not files:
        raise VoicePrivacyError(f"{path} has no .trans.txt files; name a file of transcripts.")
    return {utterance: row.value for file in files for utterance, row in read_table(file).items()}


def _refuse_strange(said: dict[str, str], corpus: Corpus, path: Path) -> None:
    """Refuse transcripts of other utterances than the speech's."""
    ids = corpus.table["utterance"]
    if not ids.isin(list(said)).any():
        raise VoicePrivacyError(
            f"{path} has no utterance of the speech: it has {listed(list(said)[:2])}, the speech "
            f"{listed(ids[:2])}; expected the same ids in both."
        )


def _beside(out: Path, name: str) -> Path:
    return out.with_name(f"{out.stem}_{name}.csv")


def _skipped(corpus: Corpus, words: Segmentation) -> pd.DataFrame:
    """The files that were not listened to, or in vain; one that is silent is no fault."""
    failed = words.no_words[words.no_words["reason"].isin(["unreadable", "failed"])]
    paths = corpus.table.set_index("utterance")["path"].astype(str)
    failed = failed.assign(path=failed["utterance"].map(paths))
    return pd.concat([corpus.skipped, failed[corpus.skipped.columns]], ignore_index=True)


def _report(corpus: Corpus, words: Segmentation, out: Path) -> None:
    """Say what was found, what was repaired, and where nothing was found."""
    click.echo(
        f"{len(words.table):,} words in {words.table['utterance'].nunique():,} of {len(corpus):,} "
        f"utterances, by {words.name}."
    )
    tell_words(words)
    click.echo(f"Times: {out.resolve()}")
