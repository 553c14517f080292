"""The 2025 study (V25, Figure 1) on simulated attackers, beside its published curves."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from voiceprivacy.conversation_eer import conversation_eer
from voiceprivacy.conversation_trials import draw_trials
from voiceprivacy.errors import VoicePrivacyError
from voiceprivacy.linkability import linkability
from voiceprivacy.measures import COLUMNS, EER, LINKABILITY, SINGLING_OUT
from voiceprivacy.published import published, v25_curves
from voiceprivacy.randomness import stream
from voiceprivacy.simulation import preset, simulate
from voiceprivacy.singling_out import isolate
from voiceprivacy.verdicts import NotRun, Value

ATTACKERS = ("original", "informed", "semi-informed", "ignorant")
LENGTHS = (1, 3, 30)
# N of singling out and N' of the other two: points of the published curves.
SINGLING_OUT_SIZES = (30, 100, 200, 400, 800, 1600, 3200, 6400, 12_800)
SIZES = (20, 320, 1120, 2320, 5120, 10_120, 21_920)
EER_SIZES = (20, 80, 320, 1280, 5120, 20_480)
# Utterances of a speaker in set A and of an enrolled one; conversations of 30 need set B's as well.
SHORT, LONG, ENROLMENT = 10, 70, 10
# The text rounds the sizes that it speaks of: 10,000 for a point of the curve nearby.
NEARBY = 0.02


def simulated_panels(
    attacker: str,
    length: int,
    *,
    n_candidates: int = 22_024,
    n_tests: int = 4949,
    n_targets: int = 495,
    draws: int = 5,
    splits: int = 10,
    seed: int = 0,
) -> pd.DataFrame:
    """Measure the three metrics of one attacker at one conversation length.

    Parameters
    ----------
    attacker
        One of `ATTACKERS`.
    length
        Utterances in a conversation, L.
    n_candidates, n_tests
        Speakers of set A and, among them, of set B; by default the paper's.
    n_targets
        Of singling out.
    draws, splits, seed
        See `voiceprivacy.singling_out.isolate`.

    Returns
    -------
    pandas.DataFrame
        Columns of `voiceprivacy.measures.measure` and ``attacker``.

    Raises
    ------
    VoicePrivacyError
        If there is no such attacker.

    Notes
    -----
    As in the paper A enrols and B is tested for linkability and EER, and B enrols and A is tested
    for singling out. Calibration conversations are combinations, as in the authors' code, which
    the presets were fitted with. Singling out at L = 30 takes place among those of B who have
    enough utterances, 3,443 in the paper.

    Examples
    --------
    >>> table = simulated_panels("informed", 1, n_candidates=60, n_tests=30, n_targets=20)
    >>> table["metric"].unique().tolist()
    ['singling out', 'linkability', 'EER']
    """
    if attacker not in ATTACKERS:
        raise VoicePrivacyError(f"attacker {attacker!r}; expected one of {', '.join(ATTACKERS)}.")
    model = preset(attacker.replace("-", "_"))
    people = np.array([f"{i:05d}" for i in range(n_candidates)])
    tested = np.sort(stream(seed, "set B").permutation(people)[:n_tests])
    table = pd.DataFrame({"speaker": people})
    known, test = simulate(
        model, table, targets=tested, utterances_b=max(length, ENROLMENT), seed=seed
    )
    trials = draw_trials(test, known, length=length, draws=draws, seed=seed)
    sizes = [n for n in SIZES if n <= n_candidates] or [n_candidates]
    rates = [n for n in EER_SIZES if n <= n_candidates] or [n_candidates]
    single = _singling_out(
        model, table, tested, length, n_targets=n_targets, draws=draws, splits=splits, seed=seed
    )
    tables = {
        SINGLING_OUT: single.assign(rule=""),
        LINKABILITY: linkability(trials, sizes).summary().assign(rule=""),
        EER: conversation_eer(trials, seed=seed).summary(rates),
    }
    joined = pd.concat([t.assign(metric=name) for name, t in tables.items()], ignore_index=True)
    return joined[COLUMNS].assign(attacker=attacker)


def beside_published(panels: pd.DataFrame) -> pd.DataFrame:
    """Return every simulated number that a published curve has a point for, and the residual.

    Parameters
    ----------
    panels
        Tables of `simulated_panels`, together.

    Returns
    -------
    pandas.DataFrame
        ``metric``, ``attacker``, ``conversation_length``, ``n_speakers``, ``published``,
        ``observed`` with its ends, ``residual`` (observed minus published) and ``inside`` (whether
        the interval holds the published number).
    """
    curves = v25_curves().replace({"metric": {"eer": EER}})
    curves = curves.rename(columns={"n": "n_speakers", "value": "published"})
    keys = ["metric", "attacker", "conversation_length", "n_speakers"]
    table = panels.merge(curves[[*keys, "published"]], on=keys)
    low, high = table["observed_low"], table["observed_high"]
    table = table.assign(
        residual=table["observed"] - table["published"],
        inside=(low <= table["published"]) & (table["published"] <= high),
    )
    shown = [*keys, "published", "observed", "observed_low", "observed_high", "residual", "inside"]
    return table[shown]


def printed_numbers(panels: pd.DataFrame) -> dict[str, Value]:
    """Return what the panels say of each number that V25 prints in its text, for `compare`.

    Parameters
    ----------
    panels
        Tables of `simulated_panels`, together.

    Returns
    -------
    dict
        From item of ``published("V25")``, Sec. 5, to (value, low, high), at the nearest N within
        2 %, or to `NotRun`.
    """
    text = published("V25").query("locator == 'Sec. 5'")
    return {row.item: _printed_number(row, panels) for row in text.itertuples()}


def _printed_number(printed, panels: pd.DataFrame) -> Value:
    """The point of the panels that one printed number is about."""
    if np.isnan(printed.n_speakers):
        return NotRun("the number of speakers or the attacker that the sentence is about")
    same = (panels["metric"] == printed.quantity) & (panels["attacker"] == printed.attacker)
    same &= panels["conversation_length"] == printed.conversation_length
    off = (panels["n_speakers"] / printed.n_speakers - 1).abs()[same]
    if off.empty or off.min() > NEARBY:
        return NotRun(f"a run with N = {printed.n_speakers:,.0f} speakers")
    values = panels[same].iloc[off.argmin()]
    return tuple(float(values[name]) for name in ("observed", "observed_low", "observed_high"))


def residuals(table: pd.DataFrame, by: Sequence[str] = ("metric", "attacker")) -> pd.DataFrame:
    """Summarise `beside_published`: number of points, mean, mean absolute and largest residual."""
    grouped = table.groupby(list(by), sort=False)["residual"]
    return pd.DataFrame(
        {
            "points": grouped.size(),
            "mean": grouped.mean(),
            "mean absolute": grouped.apply(lambda r: r.abs().mean()),
            "largest": grouped.apply(lambda r: r.abs().max()),
        }
    ).reset_index()


def _singling_out(model, table, tested, length, *, n_targets, draws, splits, seed):
    """Isolation without side information, at the sizes that there are speakers for."""
    short = 2 * length <= SHORT
    pool = table if short else table[table["speaker"].isin(tested)]
    released, held = simulate(
        model, pool, targets=tested, utterances_b=ENROLMENT, extra_b=0 if short else LONG - SHORT,
        seed=seed,
    )  # fmt: skip
    sizes = [n for n in SINGLING_OUT_SIZES if n <= len(pool)] or [len(pool)]
    found = isolate(
        released, held, sizes=sizes, length=length, calibration="combinations",
        targets=min(n_targets, len(tested)), draws=draws, splits=splits, seed=seed,
    )  # fmt: skip
    return found.summary()
