"""`voiceprivacy corpus`: look at a folder of speech before anything is done with it."""

from pathlib import Path

import click
import numpy as np
import pandas as pd

from voiceprivacy._audio import audio_packages, low_rate
from voiceprivacy._corpus_kinds import Found, recognised
from voiceprivacy.corpora import LOW_RATE, REPORT_COLUMNS, Corpus, checked
from voiceprivacy.errors import listed
from voiceprivacy.files import refuse_to_overwrite, refuse_unwritable, written_whole

LOOKED_AT = 100


@click.group()
def command() -> None:
    """Folders of speech, of whatever kind."""


@command.command()
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--durations", is_flag=True, help="Open every file, and add up hours.")
@click.option("--decode", is_flag=True, help="Decode every file, to find damaged or silent ones.")
@click.option("--report", type=click.Path(path_type=Path), help="Write all problems here (CSV).")
@click.option("--overwrite", is_flag=True, help="Replace --report if it is there.")
def check(path: Path, durations: bool, decode: bool, report: Path | None, overwrite: bool) -> None:
    """Say what the speech in PATH is, and what of it cannot be used.

    PATH is a Kaldi directory, a folder of Common Voice or LibriSpeech, the data of a VoicePrivacy
    Challenge or of its Attacker Challenge, or a folder with a folder for each speaker. Sampling
    rates are those of 100 files unless --durations is given. Ends with status 1 if anything cannot
    be used.

    \b
    Example:
      voiceprivacy corpus check LibriSpeech --durations --report problems.csv
    """
    if report is not None:
        refuse_to_overwrite(report, overwrite)
        refuse_unwritable(report)
    found = recognised(path)
    rows, problems = [], [_failed(found)]
    for name, corpus in found.corpora.items():
        if decode:
            corpus = checked(corpus, progress=True)
        headers, doubts = _headers(corpus, durations or decode)
        rows.append(_row(name, corpus, headers, found.genders, durations or decode))
        problems += [_problems(name, corpus), doubts.assign(set=name)]
    click.echo(f"{path.resolve()}: {found.kind}.")
    click.echo(pd.DataFrame(rows).to_string(index=False))
    for note in found.notes:
        click.echo(f"Mind: {note}")
    _tell(pd.concat(problems, ignore_index=True), report)


def _row(
    name: str, corpus: Corpus, headers: pd.DataFrame, genders: dict[str, str], hours: bool
) -> dict[str, object]:
    """One line of the summary."""
    told = [genders.get(speaker, "") for speaker in corpus.table["speaker"].unique()]
    rates = ", ".join(f"{rate:,}" for rate in sorted(set(headers["rate"])))
    row = {
        "set": name,
        "utterances": len(corpus),
        "speakers": len(told),
        "female": told.count("female"),
        "male": told.count("male"),
        "unknown": len(told) - told.count("female") - told.count("male"),
        "Hz": rates,
    }
    return row | ({"hours": round(_hours(corpus, headers), 3)} if hours else {})


def _hours(corpus: Corpus, headers: pd.DataFrame) -> float:
    """The length of all utterances: pieces by their times, whole files by their headers."""
    table = corpus.table
    whole = table["path"].map(headers["seconds"]).astype(float)
    start, end = table["start"].fillna(0.0), table["end"].fillna(whole)
    return float((end - start).sum()) / 3600


def _headers(corpus: Corpus, every: bool) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Rate and seconds of files, all or some spread evenly, by path; and what is wrong with any."""
    soundfile, _ = audio_packages()
    files = corpus.table.drop_duplicates("path")
    if not every and len(files) > LOOKED_AT:
        files = files.iloc[np.linspace(0, len(files) - 1, LOOKED_AT).astype(int)]
    noted = set(corpus.notes["utterance"][corpus.notes["reason"] == LOW_RATE])
    headers, faults = {}, []
    for utterance, path in zip(files["utterance"], files["path"], strict=True):
        try:
            info = soundfile.info(path)
            headers[path] = info.samplerate, info.frames / info.samplerate
        except (OSError, RuntimeError) as error:
            faults.append((utterance, path, "unreadable", str(error), "no"))
            continue
        if (note := low_rate(info.samplerate)) and utterance not in noted:
            faults.append((utterance, path, LOW_RATE, note, "with a doubt"))
    table = pd.DataFrame.from_dict(headers, orient="index", columns=["rate", "seconds"])
    return table, pd.DataFrame(faults, columns=[*REPORT_COLUMNS, "use"], dtype=str)


def _problems(name: str, corpus: Corpus) -> pd.DataFrame:
    """What a corpus leaves out, and what it keeps with a doubt."""
    reports = (corpus.skipped.assign(use="no"), corpus.notes.assign(use="with a doubt"))
    return pd.concat(reports, ignore_index=True).assign(set=name)


def _failed(found: Found) -> pd.DataFrame:
    """The systems of a tree that could not be read at all."""
    rows = [("", "", "cannot be read", told) for told in found.failures.values()]
    return pd.DataFrame(rows, columns=REPORT_COLUMNS, dtype=str).assign(
        use="no", set=list(found.failures)
    )


def _tell(problems: pd.DataFrame, report: Path | None) -> None:
    """Say what is wrong, reason by reason; fail if anything cannot be used."""
    if report is not None:
        with written_whole(report) as temporary:
            columns = ["set", "use", *REPORT_COLUMNS]
            problems[columns].to_csv(temporary, index=False, lineterminator="\n")
    for (use, reason), own in problems.groupby(["use", "reason"], sort=True):
        first = own.iloc[0]
        heading = "Cannot be used" if use == "no" else "Mind"
        ids = [row.utterance or row.path or row.set for row in own.itertuples()]
        click.echo(f"{heading}: {len(own):,} {reason} ({listed(ids, 3)}). First: {first['detail']}")
    lost = int((problems["use"] == "no").sum())
    if lost:
        more = f"{report} lists all" if report else "--report FILE.csv lists all"
        # Problems found are an answer, so the status is not that of wrong input.
        raise click.ClickException(f"{lost:,} of what is there cannot be used; {more}.")
    click.echo("All of it can be used.")
