"""`voiceprivacy attack`: train an attacker on anonymized speech, and tell how often it errs."""

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path

import click
import numpy as np
import pandas as pd

from voiceprivacy.attackers import Attacker, read_settings, train
from voiceprivacy.cli._told import tell_left_out, tell_words
from voiceprivacy.corpora import Corpus, checked
from voiceprivacy.eer import CONVENTION
from voiceprivacy.embeddings import Embeddings, concatenate
from voiceprivacy.errors import VoicePrivacyError, listed
from voiceprivacy.extractors import extract
from voiceprivacy.files import written_whole
from voiceprivacy.kaldi import genders, read_speech, read_trials
from voiceprivacy.segmentation import WhisperRecogniser, read_timestamps
from voiceprivacy.speakers import read_speakers
from voiceprivacy.verification import Verification, same_sex_trials, verify, write_verification

EXISTING = click.Path(path_type=Path)
MADE = ("attack.json", "scores.npz", "attacker", "attacker.new")
# Of an utterance that is scored: seconds, and any sound at all, however quiet.
SHORTEST, SILENCE = 0.1, 1e-9


@click.command(short_help="Train an attacker and measure how often it errs.")
@click.argument("speech", metavar="TRAIN", type=EXISTING)
@click.option(
    "--enrol",
    type=EXISTING,
    required=True,
    help="Speech by which the attacker knows the speakers under attack.",
)
@click.option(
    "--trials",
    type=EXISTING,
    multiple=True,
    required=True,
    help="Speech that it is to assign to them; may be repeated.",
)
@click.option("--out", type=EXISTING, required=True, help="Folder for all that is made.")
@click.option(
    "--row",
    default="no augmentation",
    show_default=True,
    help="A row of the SegReConcat paper's Table 1, such as RR+concatenation+SpecAug.",
)
@click.option(
    "--settings",
    default="small",
    show_default=True,
    metavar="small|paper|FILE.yaml",
    help="The attacker's settings.",
)
@click.option("--timestamps", type=EXISTING, help="CSV of TRAIN's word times, as of `segment`.")
@click.option("--encoder", default="medium", help="The Whisper that SR compares words by.")
@click.option("--genders", "table", type=EXISTING, help="CSV of speaker and gender.")
@click.option(
    "--missing",
    type=click.Choice(["error", "drop"]),
    default="error",
    show_default=True,
    help="What to do with what cannot be scored: files, and trials of others than these.",
)
@click.option("--seed", type=click.IntRange(min=0), help="In the place of the settings'.")
@click.option("--device", default="cpu", show_default=True)
@click.option(
    "--threads",
    type=click.IntRange(min=1),
    default=1,
    help="Of a CPU. Another number changes the last digits of what is learned.",
)
@click.option("--workers", type=click.IntRange(min=0), default=0, help="Processes that read.")
@click.option("--overwrite", is_flag=True, help="Replace a finished attack, once this one is done.")
def command(speech, enrol, trials, out, row, settings, timestamps, encoder, table, missing, seed,
            overwrite, **machine):  # fmt: skip
    """Train an attacker on the anonymized speech in TRAIN, and score it.

    TRAIN, --enrol and --trials are Kaldi directories, or folders with a folder for each speaker or
    LibriSpeech file names. What --trials holds is scored by its own list `trials` if it has one,
    else against every speaker of --enrol of the same gender. Writes OUT/attack.json, scores.npz and
    attacker/ (best.pt, log.csv). An interrupted run goes on when started again; torchrun
    --no-python trains on several GPUs.

    \b
    Example:
      voiceprivacy attack train-clean-360_B3 --enrol libri_test_enrolls_B3 \\
        --trials libri_test_trials_f_B3 --trials libri_test_trials_m_B3 \\
        --row RR+concatenation --timestamps words.csv --settings paper --device cuda --out attack
    """
    result = out / "attack.json"
    if result.exists() and not overwrite:
        raise VoicePrivacyError(f"{result} is already there; choose another --out, or --overwrite.")
    _refuse_foreign(out)
    chosen = read_settings(settings).for_row(row)
    if seed is not None:
        chosen = replace(chosen, seed=seed)
    sides = _usable(enrol, missing), [_usable(folder, missing) for folder in trials]
    gender = _genders(table, [enrol, *trials])
    corpus = read_speech(speech, missing)
    if _first():
        for folder, read in zip(
            (speech, enrol, *trials), (corpus, sides[0], *sides[1]), strict=True
        ):
            tell_left_out(read, folder)
    _mind_overlap(corpus, [sides[0], *sides[1]])
    _rehearse(*sides, trials, gender, missing)
    words = read_timestamps(timestamps, corpus) if timestamps else None
    if words is not None and _first():
        tell_words(words)
    # What is there is kept until there is something to put in its place.
    place = out / ("attacker.new" if overwrite else "attacker")
    compares = chosen.augmentation.strategy == "sr" and words is not None
    attacker = train(
        corpus,
        words,
        chosen,
        place,
        encoder=WhisperRecogniser(encoder) if compares else None,
        progress=True,
        **machine,
    )
    if not _first():
        return
    scores = _scored(attacker, *sides, trials, gender, missing, place / "embeddings")
    shutil.rmtree(place / "embeddings", ignore_errors=True)
    if overwrite:
        shutil.rmtree(out / "attacker", ignore_errors=True)
        place.rename(out / "attacker")
    write_verification(scores, out / "scores.npz")
    about = _about(attacker, scores, row)
    with written_whole(result) as temporary:
        temporary.write_text(json.dumps(about, indent=2) + "\n", encoding="utf-8")
    _report(about, result)


def _first() -> bool:
    """Whether this is the only process, or the first that torchrun has started."""
    return os.environ.get("RANK", "0") == "0"


def _refuse_foreign(out: Path) -> None:
    """Refuse a folder of other things: what is made here has plain names."""
    found = sorted(path.name for path in out.iterdir()) if out.is_dir() else []
    strange = [
        name
        for name in ("attacker", "attacker.new")
        if name in found and not (out / name / "settings.json").exists()
    ]
    if strange or (found and not set(MADE) & set(found)):
        raise VoicePrivacyError(f"{out} holds other files ({listed(found)}); name a new --out.")


def _usable(folder: Path, missing: str) -> Corpus:
    """Read speech that is to be scored, all of which has to be heard before any training."""
    corpus = read_speech(folder, missing)
    corpus = checked(corpus, SHORTEST, silence=SILENCE, progress=_first())
    lost = corpus.skipped["utterance"] + " (" + corpus.skipped["reason"] + ")"
    if len(lost) and missing == "error":
        raise VoicePrivacyError(
            f"{folder}: {len(lost)} utterances cannot be scored: {listed(lost)}. Mend or remove "
            "them, or score the others with --missing drop."
        )
    return corpus


def _genders(table: Path | None, folders: list[Path]) -> dict[str, str]:
    """Speaker to gender, from the table or from the Kaldi directories."""
    if table is not None:
        speakers = read_speakers(table, required=("gender",))
        return dict(zip(speakers["speaker"], speakers["gender"], strict=True))
    known = [folder for folder in folders if (folder / "spk2gender").exists()]
    if not known:
        raise VoicePrivacyError(
            f"{listed(map(str, folders))} tell no genders; give --genders, a CSV of speaker and "
            "gender, or a file spk2gender in the folders."
        )
    return pd.concat([genders(folder) for folder in known]).to_dict()


def _mind_overlap(corpus: Corpus, sides: list[Corpus]) -> None:
    """Say so if the attacker is trained on the speakers that it is to tell apart."""
    tried = {speaker for side in sides for speaker in side.table["speaker"]}
    both = sorted(tried & set(corpus.table["speaker"]))
    if both and _first():
        click.echo(
            f"Mind: {len(both)} speakers to be told apart are also trained on: {listed(both)}; the "
            "error rate is too low for an attacker who does not know them.",
            err=True,
        )


def _scored(
    attacker: Attacker,
    enrolment: Corpus,
    trials: list[Corpus],
    folders: tuple[Path, ...],
    gender: dict[str, str],
    missing: str,
    store: Path,
) -> Verification:
    """Score every folder of trials, all in one."""
    known, *tried = (
        extract(corpus, attacker, store=store, progress=True) for corpus in (enrolment, *trials)
    )
    return _verified(known, tried, folders, gender, missing)


def _rehearse(
    enrolment: Corpus,
    trials: list[Corpus],
    folders: tuple[Path, ...],
    gender: dict[str, str],
    missing: str,
) -> None:
    """Score equal vectors, so that trials which cannot be scored are refused before training."""
    known, *tried = (
        Embeddings(corpus.table["utterance"], corpus.table["speaker"], np.ones((len(corpus), 1)))
        for corpus in (enrolment, *trials)
    )
    _verified(known, tried, folders, gender, missing)


def _verified(
    known: Embeddings,
    tried: list[Embeddings],
    folders: tuple[Path, ...],
    gender: dict[str, str],
    missing: str,
) -> Verification:
    """Score by each folder's own list, or by gender where it has none."""
    pairs = [
        read_trials(own)
        if (own := folder / "trials").is_file()
        else same_sex_trials(known, side, gender)
        for folder, side in zip(folders, tried, strict=True)
    ]
    trials = pd.concat(pairs, ignore_index=True)
    return verify(known, concatenate(tried), trials, gender, missing=missing)


def _about(attacker: Attacker, scores: Verification, row: str) -> dict[str, object]:
    """The result in plain values; error rates are fractions."""
    cells = [
        {
            "gender": line.gender,
            "targets": line.targets,
            "nontargets": line.nontargets,
            **_interval(scores.select(gender=line.gender)),
        }
        for line in scores.table().itertuples()
    ]
    return {
        "row": row,
        "attacker": attacker.name,
        "steps": attacker.steps,
        "best_step": attacker.best_step,
        "dev_loss": attacker.dev_loss,
        "train_accuracy": attacker.accuracy,
        "convention": CONVENTION,
        "genders": cells,
        "average": _interval(scores),
        "lost_trials": scores.lost_share,
    }


def _interval(scores: Verification) -> dict[str, float]:
    value, low, high, _ = scores.interval()
    return {"eer": value, "low": low, "high": high}


def _report(about: dict, result: Path) -> None:
    click.echo(
        f"{about['row']}: {about['steps']} steps, the best after {about['best_step']} (development "
        f"loss {about['dev_loss']:.3f}); {about['train_accuracy']:.0%} of training crops named "
        "rightly."
    )
    for cell in about["genders"]:
        click.echo(
            f"  {cell['gender']:<8} EER {_in_words(cell)}; {cell['targets']:,} target and "
            f"{cell['nontargets']:,} nontarget trials"
        )
    click.echo(f"  average  EER {_in_words(about['average'])}")
    if about["lost_trials"]:
        click.echo(f"Mind: {about['lost_trials']:.1%} of the trials asked for were lost.", err=True)
    click.echo(
        "Intervals: 95 %, resampling speakers; they know nothing of the chance in training.\n"
        f"Result: {result.resolve()}"
    )


def _in_words(estimate: dict[str, float]) -> str:
    value, low, high = (100 * estimate[name] for name in ("eer", "low", "high"))
    return f"{value:.2f} % ({low:.2f} to {high:.2f})"
