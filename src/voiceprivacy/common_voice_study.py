"""What is shown of a release of Common Voice: its rows, who says how much, and who A and B are."""

import csv
import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from voiceprivacy._common_voice import all_rows, language_folder
from voiceprivacy.corpora import Corpus
from voiceprivacy.plotting import legend_beside
from voiceprivacy.speakers import AGES, GENDERS
from voiceprivacy.styles import styles

LETTERS = ("A", "B")
COLORS = {letter: style.color for letter, style in styles(LETTERS).items()}
UNKNOWN = "unknown"


def rows_by_reader(folder: str | os.PathLike) -> pd.DataFrame:
    """Count the rows of a release's tables twice: a row a line, and with quotes in pairs.

    Returns
    -------
    pandas.DataFrame
        One row a table that `voiceprivacy.common_voice.read_common_voice` reads: ``table``,
        ``rows``, and ``rows if quotes pair``, as readers of CSV files see it.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "other.tsv").write_text('path\\tclient_id\\n1\\t"Ann\\n2\\tBob\\n')
    >>> rows_by_reader(folder).values.tolist()
    [['other.tsv', 2, 1]]
    """
    folder = language_folder(folder)
    rows = all_rows(folder, None, ())["split"].value_counts(sort=False)
    counts = [(f"{split}.tsv", n, _paired(folder / f"{split}.tsv")) for split, n in rows.items()]
    return pd.DataFrame(counts, columns=["table", "rows", "rows if quotes pair"])


def _paired(path: Path) -> int:
    """Rows below the heading, of any length, for a reader that pairs quotes."""
    limit = csv.field_size_limit(2**31 - 1)  # a quote may swallow megabytes
    try:
        with path.open(encoding="utf-8", newline="") as table:
            return sum(1 for _ in csv.reader(table, delimiter="\t")) - 1
    finally:
        csv.field_size_limit(limit)


def speech_by_speaker(corpus: Corpus, a: Corpus, b: Corpus, seconds: pd.Series) -> pd.DataFrame:
    """Return the seconds of every speaker in A, in B and in all, most speech first.

    Parameters
    ----------
    corpus, a, b
        All that can be used, and its subsets.
    seconds
        Of every utterance, as from `voiceprivacy.durations.utterance_durations`.

    Returns
    -------
    pandas.DataFrame
        Indexed by speaker; ``A``, ``B`` and ``all``.
    """
    parts = {"A": a.table, "B": b.table, "all": corpus.table}
    sums = {
        name: table["utterance"].map(seconds).groupby(table["speaker"]).sum()
        for name, table in parts.items()
    }
    return pd.DataFrame(sums).fillna(0.0).sort_values("all", ascending=False, kind="stable")


def speech_figure(spoken: pd.DataFrame) -> Figure:
    """Draw every speaker's speech, divided into A, B and neither; see `speech_by_speaker`."""
    fig, ax = plt.subplots(figsize=(7.5, 3.8))
    neither = spoken["all"] - spoken["A"] - spoken["B"]
    edges, bottom = np.arange(len(spoken) + 1) + 0.5, np.zeros(len(spoken))
    for name, height in (("A", spoken["A"]), ("B", spoken["B"]), ("neither", neither)):
        top = bottom + height.to_numpy()
        look = {"color": COLORS.get(name, "0.85"), "label": f"in {name}"}
        ax.stairs(top, edges, baseline=bottom, fill=True, **look)
        bottom = top
    ax.set_xlabel("Speakers, those who said most first")
    ax.set_ylabel("Speech of a speaker (s)")
    ax.set_xlim(0.5, len(spoken) + 0.5)
    ax.grid(axis="x", visible=False)
    legend_beside(fig)
    return fig


def people_figure(people: pd.DataFrame, a: Corpus, b: Corpus) -> Figure:
    """Draw the speakers of A, and of B inside them, by age, a panel a gender.

    Parameters
    ----------
    people
        From `voiceprivacy.common_voice.common_voice_speakers`.
    a, b
        The subsets.
    """
    people = people.replace({"gender": {"": UNKNOWN}, "age": {"": UNKNOWN}})
    fig, axes = plt.subplots(1, 3, figsize=(9.5, 3.4), sharey=True)
    for ax, gender in zip(axes, (*GENDERS, UNKNOWN), strict=True):
        for letter, part, width in zip(LETTERS, (a, b), (0.8, 0.4), strict=True):
            own = people["speaker"].isin(part.table["speaker"]) & (people["gender"] == gender)
            ages = people["age"][own].value_counts().reindex([*AGES, UNKNOWN], fill_value=0)
            ax.barh(ages.index, ages, width, color=COLORS[letter], label=f"in {letter}")
        ax.set(title=gender, xlabel="Speakers")
        ax.xaxis.get_major_locator().set_params(integer=True)
        ax.grid(axis="y", visible=False)
    axes[0].invert_yaxis()
    axes[0].set_ylabel("Age, as they say")
    legend_beside(fig)
    return fig
