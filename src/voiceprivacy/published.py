"""The numbers, bounds and orderings that the reproduced papers print, each with its locator.

Papers: ``SI`` (The Impact of Side Information on Voice Privacy), ``SRC`` (SegReConcat) and
``V25`` (Legally validated evaluation framework for voice anonymization).
"""

from difflib import get_close_matches
from functools import cache

import pandas as pd

from voiceprivacy.errors import VoicePrivacyError, listed
from voiceprivacy.paths import shipped

FILES = {
    "SI": "side_information.csv",
    "SRC": "segreconcat.csv",
    "V25": "legal_evaluation.csv",
}
WORDS = {
    "observed": "observed isolation",
    "reference": "conditional reference",
    "contribution_se": "standard error of the contribution",
    "block_size": "mean block size",
}
NUMBERS = ("value", "low", "high", "conversation_length", "n_speakers")


def published(paper: str | None = None) -> pd.DataFrame:
    """Return what a paper prints, one row an item.

    Parameters
    ----------
    paper
        ``"SI"``, ``"SRC"`` or ``"V25"``; by default all three. The curves of V25's Figure 1 are
        `v25_curves`.

    Returns
    -------
    pandas.DataFrame
        ``paper``, ``item`` (unique within its paper), ``kind`` (``number``, ``bound`` or
        ``ordering``), ``value``, ``low`` and ``high`` (what the printed digits leave open; NaN
        for an ordering), ``printed`` (as printed; for an ordering its terms, smallest first,
        between " < "), ``locator``, ``note``, and what the item is about: for SI ``attacker``,
        ``level``, ``conversation_length``, ``n_speakers``, ``quantity`` (named like the columns of
        an isolation summary), for SRC ``system``, ``attacker``, ``subset``, ``gender``, for V25
        ``attacker``, ``conversation_length``, ``n_speakers``, ``subset``, ``quantity``; last
        ``about``, the same in words.

    Raises
    ------
    VoicePrivacyError
        If the paper is none of these.

    Notes
    -----
    .42 stands for [.415, .425]. A number printed as approximate stands for one unit of its last
    digit on either side, a word ("sixfold") for half a unit of its leading digit. A count is
    exact. 94-95 % stands for [.935, .955].

    Of V25 these are the sizes in its Table 1 and the numbers that its Sec. 5 is known to quote, not
    all that it prints: its text was not at hand, and ``note`` says where each comes from.

    Examples
    --------
    >>> si = published("SI").set_index("item")
    >>> si.loc["semi_L1_N3200_signal_observed", ["low", "high"]].tolist()
    [0.415, 0.425]
    """
    papers = list(FILES) if paper is None else [paper]
    if unknown := [name for name in papers if name not in FILES]:
        raise VoicePrivacyError(
            f"no shipped numbers of the paper {unknown[0]!r}; expected one of {listed(FILES)}."
        )
    return pd.concat([_read(name) for name in papers], ignore_index=True)


def value(paper: str, item: str) -> float:
    """Return one printed number.

    Raises
    ------
    VoicePrivacyError
        If the paper has no such number.

    Examples
    --------
    >>> value("SI", "semi_L1_N12800_OA_observed")
    0.585
    """
    return float(item_row(paper, item, among=("number", "bound"))["value"])


def item_row(
    paper: str, item: str, among: tuple[str, ...] = ("number", "bound", "ordering")
) -> pd.Series:
    """Return the row of one item of one of the kinds in `among`, or an error naming the nearest."""
    table = published(paper).set_index("item", drop=False)
    table = table[table["kind"].isin(among)]
    if item not in table.index:
        near = get_close_matches(str(item), table.index, n=3, cutoff=0.4)
        hint = f"; the nearest are {listed(near)}" if near else ""
        raise VoicePrivacyError(
            f"the paper {paper} has no {' or '.join(among)} {item!r}{hint}. "
            f"published({paper!r}) lists them all."
        )
    return table.loc[item]


def v25_curves() -> pd.DataFrame:
    """Return the curves of V25's Figure 1: three metrics, four attackers, three lengths.

    Returns
    -------
    pandas.DataFrame
        ``metric`` ("singling out", "linkability" or "eer", which the figure shows as 1 - EER),
        ``attacker`` ("original", "informed", "semi-informed", "ignorant"),
        ``conversation_length``, ``n`` (speakers), ``value``, ``std`` (over the runs), ordered by
        them.

    Raises
    ------
    VoicePrivacyError
        If the package that ships the curves is not installed.

    Notes
    -----
    From `voice-anonymization-legal-eval` (MIT), read where it is installed. Its files call the
    number of speakers `enrollment_speakers` for every metric, though singling out varies the
    test speakers. They give singling out a spread of 0 throughout, which is one that was not
    kept: NaN here. The runs of linkability shared random numbers, so its spread is too small
    (the package's own README).

    Examples
    --------
    >>> curves = v25_curves()
    >>> float(curves[curves["metric"] == "singling out"]["value"].max().round(3))
    0.987
    """
    try:
        from legal_eval import load_paper_results
    except ImportError as error:
        raise VoicePrivacyError(
            "the curves of V25 ship in the package voice-anonymization-legal-eval, which is not "
            "installed; install the extra: pip install 'voiceprivacy[test]'."
        ) from error
    curves = [
        curve
        for lengths in load_paper_results().values()
        for attackers in lengths.values()
        for curve in attackers.values()
    ]
    table = pd.concat([_tidy(curve) for curve in curves])
    keys = ["metric", "attacker", "conversation_length", "n"]
    return table.sort_values(keys, ignore_index=True)


def _tidy(curve: object) -> pd.DataFrame:
    """The rows of one `legal_eval.PublishedCurve`."""
    table = pd.DataFrame({"value": curve.mean(), "std": curve.std()})
    table = table.rename_axis("n").reset_index()
    if not table["std"].any():
        table["std"] = float("nan")
    table.insert(0, "conversation_length", curve.conversation_length)
    table.insert(0, "attacker", curve.attacker.replace("_", "-"))
    table.insert(0, "metric", curve.metric.replace("_", " "))
    return table


@cache
def _read(paper: str) -> pd.DataFrame:
    """Read a shipped table; text stays text, blanks are blanks."""
    table = pd.read_csv(shipped("data", f"published/{FILES[paper]}"), dtype=str, na_filter=False)
    for column in table.columns.intersection(NUMBERS):
        table[column] = pd.to_numeric(table[column])
    table.insert(0, "paper", paper)
    return table.assign(about=table.apply(_in_words, axis=1))


def _in_words(row: pd.Series) -> str:
    """What an item is about, such as "ignorant, OA, L = 1, N = 12,800: observed isolation"."""
    setting = [row.get(name, "") for name in ("system", "attacker", "level", "subset", "gender")]
    setting = [name for name in setting if name != "average"]
    for symbol, name in (("L", "conversation_length"), ("N", "n_speakers")):
        if pd.notna(row.get(name)):
            setting.append(f"{symbol} = {row[name]:,.0f}")
    quantity = row.get("quantity", "EER in %")
    quantity = WORDS.get(quantity, quantity)
    return ": ".join(filter(None, [", ".join(filter(None, setting)), quantity]))
