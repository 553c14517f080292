"""The scoreboard: every number that the three papers print beside ours, as a page of the book.

Our values come from the files in `build/<profile>/results` alone.
"""

from collections.abc import Collection
from pathlib import Path

import numpy as np
import pandas as pd
from page_text import notebook_link, plain, table

from voiceprivacy.comparison import read_comparisons
from voiceprivacy.evidence import is_stand_in
from voiceprivacy.measures import EER
from voiceprivacy.published import published, v25_curves
from voiceprivacy.v25_study import beside_published
from voiceprivacy.verdicts import VERDICTS, digits_with_interval

PAPERS = {
    "SI": "The Impact of Side Information on Voice Privacy (SI)",
    "SRC": "SegReConcat (SRC)",
    "V25": "Legally validated evaluation framework (V25)",
}
PANELS = "v25_figure1_panels"
CURVE = ["metric", "conversation_length", "attacker"]
# Where pages disagree, the item counts as the first of these that one of them says.
GRAVEST = ("differs", "matches", "stand-in data", "not run")
HEAD = """\
# Scoreboard

Every number, bound and ordering of the three papers that this book sets out to reproduce, beside
ours from a run under the profile `{profile}`. Nothing here is typed: what is printed comes from the
shipped tables ([](../data_and_licences.md)), ours from the files in `build/{profile}/results`, when
the book is built. What the labels and verdicts mean, and how they mislead, is in
[](../evidence.md).

{counts}

A number that several pages report has a line for each. It counts as *differs* if one page says so,
else as *matches*, else as *stand-in data*. Of V25 the text was not at hand: its numbers here are
the sizes of its Table 1, what others quote from Sec. 5, and the released curves of its figure.
"""
CURVES = """\
## V25, Figure 1: curves

{said} A point matches if our interval holds the published value. Simulated attackers were fitted to
some points of these very curves ([](../limits.md)): agreement is no evidence for the paper, only
for the protocol and the model.

{rows}
"""


def reported(results: Path, notebooks: Collection[str]) -> pd.DataFrame:
    """What the notebooks say of every item: one row a report, in the papers' order.

    Of an item that some page has run, reports that it was not run are left out.
    """
    found = [read_comparisons(results, name, notebooks).assign(source=name) for name in PAPERS]
    reports = pd.concat(found, ignore_index=True)
    ran = reports["verdict"] != "not run"
    told = ran.groupby(reports["item"]).transform("any")
    return reports[ran | ~told].drop_duplicates(["item", "note", "notebook"], ignore_index=True)


def verdicts(reports: pd.DataFrame) -> pd.DataFrame:
    """One row an item: its paper and the verdict that it counts as."""
    rank = reports["verdict"].map(GRAVEST.index)
    worst = reports.assign(rank=rank).groupby(["source", "item"], sort=False)["rank"].min()
    return worst.map(GRAVEST.__getitem__).rename("verdict").reset_index()


def curves(results: Path) -> pd.DataFrame:
    """One row a curve of V25's Figure 1: its points, those we computed, and their verdicts."""
    printed = v25_curves().replace({"metric": {"eer": EER}})
    rows = printed.groupby(CURVE, sort=False).size().rename("points").reset_index()
    judged = _judged_points(results)
    for verdict in ("matches", "differs", "stand-in data"):
        counts = judged[judged["verdict"] == verdict].groupby(CURVE).size().rename(verdict)
        rows = rows.merge(counts, how="left", on=CURVE)
    largest = judged.groupby(CURVE)["residual"].agg(lambda r: r.abs().max()).rename("largest")
    labels = "; ".join(sorted(set(judged["evidence"])))
    rows = rows.merge(largest, how="left", on=CURVE).assign(evidence=labels)
    return rows.fillna({"matches": 0, "differs": 0, "stand-in data": 0})


def _judged_points(results: Path) -> pd.DataFrame:
    """Each point of a published curve that the panels notebook computed, with a verdict."""
    path = results / "tables" / f"{PANELS}.csv"
    if not path.exists():
        return pd.DataFrame(columns=[*CURVE, "residual", "evidence", "verdict"])
    by_evidence = pd.read_csv(path).groupby("evidence")
    parts = [beside_published(rows).assign(evidence=label) for label, rows in by_evidence]
    points = pd.concat(parts, ignore_index=True)
    stand_in = [is_stand_in(label, "V25") for label in points["evidence"]]
    inside = np.where(points["inside"], "matches", "differs")
    return points.assign(verdict=np.where(stand_in, "stand-in data", inside))


def page(results: Path, notebooks: Collection[str], profile: str) -> str:
    """Return the page as Markdown."""
    reports = reported(results, notebooks)
    parts = [HEAD.format(profile=profile, counts=_counts(verdicts(reports)))]
    for name, title in PAPERS.items():
        own = reports[reports["source"] == name]
        parts.append(f"## {title}\n\n{_items(own)}\n")
    return "\n".join([*parts, _curves(curves(results))])


def _counts(items: pd.DataFrame) -> str:
    """Verdicts by paper, and over all."""
    counted = pd.crosstab(items["source"], items["verdict"]).reindex(
        index=list(PAPERS), columns=list(VERDICTS), fill_value=0
    )
    counted.insert(0, "printed", counted.sum(axis=1))
    counted.loc["all three"] = counted.sum()
    rows = [
        [name, *map(str, row)] for name, row in zip(counted.index, counted.to_numpy(), strict=True)
    ]
    return table(["paper", *counted.columns], rows)


def _items(reports: pd.DataFrame) -> str:
    """The table of one paper; further reports of an item follow it with blank cells before."""
    remarks = published().set_index("item")["note"].fillna("")
    rows = []
    for item, group in reports.groupby("item", sort=False):
        head = _printed(group.iloc[0], remarks[item])
        for row in group.to_dict("records"):
            rows.append([*head, *_ours(row)])
            head = ["", ""]
    lines = table(["what", "paper", "ours", "evidence", "verdict", "page"], rows)
    return f":::{{div}} scoreboard\n\n{lines}\n\n:::"  # book.css gives its columns their widths


def _printed(row: pd.Series, remark: str) -> list[str]:
    """What the paper prints: about what, where, and the number."""
    where = row["locator"].partition(", ")[2]
    about = plain(row["about"]) + f" ({plain(where)})"
    if row["source"] == "V25" and remark:
        about += f"<br>*{plain(remark)}*"
    return [about, plain(row["paper"])]


def _ours(row: dict) -> list[str]:
    """What one notebook says of it."""
    verdict = row["verdict"] + (f"<br>*{plain(row['note'])}*" if row["note"] else "")
    ours = digits_with_interval(row["reproduced"], row["low"], row["high"])
    link = notebook_link(row["notebook"]) if row["notebook"] else ""
    evidence = "" if row["verdict"] == "not run" else plain(row["evidence"])
    return [ours, evidence, verdict, link]


def _curves(rows: pd.DataFrame) -> str:
    """The section on Figure 1."""
    computed = int(rows[["matches", "differs", "stand-in data"]].to_numpy().sum())
    said = f"Of {rows['points'].sum():,} published points {computed:,} were computed"
    if computed:
        said += f" ({notebook_link(PANELS)}; evidence: {plain(rows['evidence'].iloc[0])})"
    header = ["metric", "L", "attacker", "points", "computed", "match", "largest residual"]
    return CURVES.format(said=f"{said}.", rows=table(header, map(_curve, rows.to_dict("records"))))


def _curve(row: dict) -> list[str]:
    """The line of one curve."""
    computed = int(row["matches"] + row["differs"] + row["stand-in data"])
    found = ["0", "not run", ""]
    if computed:
        match = "stand-in data" if row["stand-in data"] else f"{row['matches']:.0f}"
        found = [str(computed), match, f"{row['largest']:.3f}"]
    return [
        row["metric"],
        f"{row['conversation_length']}",
        row["attacker"],
        f"{row['points']}",
        *found,
    ]
