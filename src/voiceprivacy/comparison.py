"""A paper's numbers beside the reproduced ones, with a verdict in words."""

import html
import os
import zlib
from collections.abc import Collection, Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from voiceprivacy.errors import VoicePrivacyError, listed
from voiceprivacy.evidence import checked_evidence, is_stand_in
from voiceprivacy.files import written_whole
from voiceprivacy.published import item_row, published
from voiceprivacy.subsets import PUBLISHED
from voiceprivacy.verdicts import NotRun, Terms, Value, digits_with_interval, judge

NUMBERS = ("reproduced", "low", "high")
COLUMNS = ["item", "paper", *NUMBERS, "evidence", "verdict", "locator", "about", "note"]


def compare(
    items: Mapping[str, Value | Terms] | pd.DataFrame,
    *,
    evidence: str,
    paper: str = "SI",
    notes: Mapping[str, str] | None = None,
) -> pd.DataFrame:
    """Set reproduced values beside what the paper prints, and judge each.

    Parameters
    ----------
    items
        From item (see `voiceprivacy.published.published`) to a value, to (value, low, high) with
        our interval, or to `NotRun`; for an ordering, to a mapping from each of its terms to such
        a value (a term that is a number stands for itself). Or a table with columns ``item``,
        ``reproduced``, ``low`` and ``high``, as from `found_in`.
    evidence
        What the reproduced values rest on: a label from `voiceprivacy.evidence.evidence_of`.
    paper
        ``"SI"``, ``"SRC"`` or ``"V25"``.
    notes
        From item to a remark to carry along, such as what was fitted.

    Returns
    -------
    pandas.DataFrame
        One row an item, in the order given: ``item``, ``paper`` (as printed), ``reproduced``,
        ``low`` and ``high`` (our interval; NaN without one), ``evidence``, ``verdict``,
        ``locator``, ``about`` (the item in words), ``note``.

    Raises
    ------
    VoicePrivacyError
        If the paper has no such item, an ordering lacks a term, a value lies outside its own
        interval, or the evidence label is none.

    Notes
    -----
    Verdicts. *matches*: a number, when our interval (without one, our value) and the interval
    that the printed digits leave open share a point, so that either the paper's number lies
    inside our interval up to its rounding or our value rounds to it; a bound, when our value
    keeps it; an ordering, when our values stand in that order. *differs*: otherwise.
    *stand-in data*: speech of another corpus than the paper's, on which its numbers cannot be
    judged. *not run*: no value, and the note says what is missing. A wide interval matches
    easily: read it beside the verdict.

    Examples
    --------
    >>> table = compare({"semi_L1_N12800_OA_observed": (0.58, 0.56, 0.60)},
    ...                 evidence="simulated embeddings")
    >>> table.loc[0, ["paper", "verdict"]].tolist()
    ['0.585', 'matches']
    """
    checked_evidence(evidence)
    if isinstance(items, pd.DataFrame):
        items = _as_mapping(items)
    notes = notes or {}
    if strangers := [item for item in notes if item not in items]:
        raise VoicePrivacyError(f"notes on items that are not compared: {listed(strangers)}.")
    rows = [
        _row(item_row(paper, item), found, evidence, notes.get(item, ""))
        for item, found in items.items()
    ]
    return pd.DataFrame(rows, columns=COLUMNS).astype(dict.fromkeys(NUMBERS, float))


def compare_sizes(found: pd.DataFrame, *, evidence: str) -> pd.DataFrame:
    """Set the sizes of subsets A and B beside those that V25 prints, and judge each.

    Parameters
    ----------
    found
        From `voiceprivacy.subsets.sizes`; NaN where nothing was counted.
    evidence
        What was counted: a label from `voiceprivacy.evidence.evidence_of`.

    Returns
    -------
    pandas.DataFrame
        As from `compare`, one row a subset and quantity. Counts are exact, hours whole.

    Examples
    --------
    >>> from voiceprivacy.evidence import evidence_of
    >>> label = evidence_of("speech", corpus="Common Voice 11.0, English")
    >>> table = compare_sizes(PUBLISHED.assign(hours=[323.4, 500]), evidence=label)
    >>> table.loc[[4, 9], ["about", "paper", "verdict"]].values.tolist()
    [['A: hours', '323', 'matches'], ['B: hours', '1,409', 'differs']]
    """
    values = {
        f"{subset}_{quantity}": float(found.loc[subset, quantity])
        for subset in PUBLISHED.index
        for quantity in PUBLISHED.columns
    }
    return compare(values, evidence=evidence, paper="V25")


def _row(printed: pd.Series, found: Value | Terms, evidence: str, remark: str) -> dict[str, object]:
    """One line of the comparison."""
    judged = judge(printed, found)
    stand_in = judged.verdict != "not run" and is_stand_in(evidence, printed["paper"])
    return {
        **judged._asdict(),
        "item": printed["item"],
        "paper": printed["printed"],
        "evidence": evidence,
        "verdict": "stand-in data" if stand_in else judged.verdict,
        "locator": f"{printed['paper']}, {printed['locator']}",
        "about": printed["about"],
        "note": "; ".join(filter(None, [judged.note, remark])),
    }


def _as_mapping(table: pd.DataFrame) -> dict[str, Value]:
    """The item column to (reproduced, low, high)."""
    needed = ["item", *NUMBERS]
    if absent := [name for name in needed if name not in table]:
        raise VoicePrivacyError(
            f"a table to compare lacks {listed(absent)}; expected columns {listed(needed)}."
        )
    if repeated := list(table["item"][table["item"].duplicated()].unique()):
        raise VoicePrivacyError(
            f"a table to compare repeats {listed(repeated)}; give each item one row."
        )
    return {item: tuple(values) for item, *values in table[needed].itertuples(index=False)}


def found_in(summary: pd.DataFrame, *, attacker: str, paper: str = "SI") -> pd.DataFrame:
    """Return the paper's numbers that a summary of isolation reproduces, ready for `compare`.

    Parameters
    ----------
    summary
        Columns ``level``, ``conversation_length``, ``n_speakers`` and any of the quantities that
        the paper prints (``observed``, ``reference``, ``contribution``, ``block_size``), each
        with its ``_low`` and ``_high`` where it has an interval. Rows with partial knowledge
        (``known_fraction`` below 1) are passed over.
    attacker
        ``"semi-informed"`` or ``"ignorant"``: whose numbers these are. What the paper prints of
        the geography alone belongs to both.

    Returns
    -------
    pandas.DataFrame
        Columns ``item``, ``reproduced``, ``low``, ``high``.

    Raises
    ------
    VoicePrivacyError
        If the paper has no such attacker, or two rows of the summary claim one number.
    """
    numbers = published(paper).query("kind == 'number' and level != ''")
    if attacker not in (known := sorted(set(numbers["attacker"]) - {""})):
        raise VoicePrivacyError(
            f"the paper {paper} has no attacker {attacker!r}; expected one of {listed(known)}."
        )
    if "known_fraction" in summary:
        summary = summary[summary["known_fraction"] == 1]
    wanted = numbers[numbers["attacker"].isin([attacker, ""])]
    found = [_found(row, summary) for _, row in wanted.iterrows() if row["quantity"] in summary]
    return pd.DataFrame(filter(None, found), columns=["item", *NUMBERS])


def _found(printed: pd.Series, summary: pd.DataFrame) -> dict[str, object] | None:
    """What the row of `summary` that one printed number is about says of it."""
    rows = summary[summary["level"] == printed["level"]]
    for key in ("conversation_length", "n_speakers"):
        if not np.isnan(printed[key]):
            rows = rows[rows[key] == printed[key]]
    if rows.empty:
        return None
    if len(rows) > 1:
        raise VoicePrivacyError(
            f"{printed['item']}: {len(rows)} rows of the summary claim this number; "
            "pass one attacker, each level, length and size once."
        )
    quantity, row = printed["quantity"], rows.iloc[0]
    ends = {end: row.get(f"{quantity}_{end}", np.nan) for end in ("low", "high")}
    return {"item": printed["item"], "reproduced": row[quantity], **ends}


def write_comparison(table: pd.DataFrame, folder: str | os.PathLike, notebook: str) -> Path:
    """Write a comparison to ``<notebook>.csv`` in `folder`, whole; return its path.

    An empty `folder` means ``build/adhoc/results`` below the current one.

    Examples
    --------
    >>> import tempfile
    >>> write_comparison(compare({}, evidence="published"), tempfile.mkdtemp(), "si_table1").name
    'si_table1.csv'
    """
    path = Path(folder or "build/adhoc/results") / f"{notebook}.csv"
    with written_whole(path) as temporary:
        table.to_csv(temporary, index=False, lineterminator="\n")
    return path


def read_comparisons(
    folder: str | os.PathLike, paper: str = "SI", notebooks: Collection[str] | None = None
) -> pd.DataFrame:
    """Return every item of the paper with what the comparisons in `folder` say.

    Parameters
    ----------
    folder
        Where `write_comparison` put them.
    paper
        ``"SI"``, ``"SRC"`` or ``"V25"``.
    notebooks
        Names of the notebooks to listen to; by default all that left a file.

    Returns
    -------
    pandas.DataFrame
        The columns of `compare` and ``notebook``, in the paper's order. An item that no notebook
        reports is *not run*; one that two report has two rows.

    Raises
    ------
    VoicePrivacyError
        If a file there is no comparison.
    """
    order = list(published(paper)["item"])
    paths = sorted(Path(folder).glob("*.csv"))
    tables = [_read(path) for path in paths if notebooks is None or path.stem in notebooks]
    reported = {item for table in tables for item in table["item"]}
    unreported = NotRun("no notebook of this run reports it")
    rest = compare(
        {item: unreported for item in order if item not in reported},
        evidence="published",
        paper=paper,
    ).assign(evidence="", notebook="")
    table = pd.concat([*tables, rest]).query("item in @order")
    rank = table["item"].map(order.index)
    return table.iloc[rank.argsort(kind="stable")].reset_index(drop=True)


def _read(path: Path) -> pd.DataFrame:
    """One comparison file; 0.370 keeps its zero."""
    blanks = {name: [""] for name in NUMBERS}
    table = pd.read_csv(path, dtype={"paper": str}, keep_default_na=False, na_values=blanks)
    if absent := [name for name in COLUMNS if name not in table]:
        raise VoicePrivacyError(
            f"{path}: no comparison, it lacks the columns {listed(absent)}; "
            "write it with write_comparison, or keep it in another folder."
        )
    return table.assign(notebook=path.stem)


def show_comparison(table: pd.DataFrame):
    """Return a comparison laid out for a page: no index, three decimals, nothing cut short.

    Returns
    -------
    pandas.io.formats.style.Styler
        Static HTML, without scripts or outside resources, the same for the same table. Evidence
        that all rows share stands in the caption.
    """
    evidence = list(table["evidence"].unique())
    shown = pd.DataFrame(
        {
            "": table["about"],
            "paper": table["paper"],
            "reproduced": [digits_with_interval(*row) for row in table[[*NUMBERS]].to_numpy()],
            **table[["verdict", "evidence", "locator", "note"]],
        }
    )
    unused = ["evidence"] * (len(evidence) == 1) + ["note"] * (not shown["note"].any())
    style = shown.drop(columns=unused).style.hide(axis="index").format(escape="html")
    if len(evidence) == 1:
        style.set_caption(f"Evidence: {html.escape(evidence[0])}")
    # An id from the content instead of a random one: unique in its page, equal from run to run.
    style.set_uuid(f"{zlib.crc32(table.to_csv().encode()):08x}")
    return style.set_table_attributes('class="dataframe" style="font-size: 0.85em"')
