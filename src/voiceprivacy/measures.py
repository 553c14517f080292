"""All three metrics of V25 on one attacker's embeddings, by conversation length and speakers."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from voiceprivacy.conversation_eer import conversation_eer
from voiceprivacy.conversation_trials import draw_trials
from voiceprivacy.conversations import count_eligible
from voiceprivacy.embeddings import Embeddings
from voiceprivacy.errors import VoicePrivacyError, listed
from voiceprivacy.given_conversations import isolate_given
from voiceprivacy.isolation import Isolation
from voiceprivacy.linkability import linkability
from voiceprivacy.singling_out import SIGNAL_ONLY, isolate

SINGLING_OUT, LINKABILITY, EER = METRICS = ("singling out", "linkability", "EER")
# Singling out needs a conversation to test and one to calibrate with.
LEAST_CONVERSATIONS = 2
FEW_SPLITS = 4
COLUMNS = [
    "metric", "conversation_length", "n_speakers", "observed", "observed_low", "observed_high",
    "observed_se", "chance", "targets", "evaluations", "rule",
]  # fmt: skip


def measure(
    test: Embeddings,
    enrolment: Embeddings,
    calibration: Embeddings | None = None,
    *,
    lengths: Sequence[int] = (1, 3, 30),
    sizes: Sequence[int] = (20, 100, 1000, 10_000),
    targets: int = 495,
    draws: int = 5,
    splits: int = 10,
    rule: str = "ROCCH",
    singling_out: bool = True,
    seed: int = 0,
    store: Path | None = None,
    progress: bool = False,
) -> tuple[pd.DataFrame, list[str]]:
    """Measure singling out, linkability and EER.

    Parameters
    ----------
    test
        Released utterances.
    enrolment
        Utterances that the attacker holds.
    calibration
        Released utterances to calibrate singling out with; ``None``: those of `test` that are not
        in the test conversation.
    lengths
        Utterances in a conversation, L.
    sizes
        Numbers of speakers: N of singling out, N' of linkability and EER.
    targets
        Most targets of singling out, drawn at random.
    draws, splits
        Random sets of speakers and test conversations; divisions into conversations.
    rule
        Of the EER, see `voiceprivacy.eer`.
    singling_out
        Whether singling out is measured too, or linkability and EER alone.
    seed, store, progress
        See `voiceprivacy.singling_out.isolate`.

    Returns
    -------
    tuple
        One row a metric, length and size (columns `COLUMNS`; EERs are fractions), and remarks on
        what was left out.

    Raises
    ------
    VoicePrivacyError
        If no length can be measured, a number is none, or embeddings do not fit together.

    Notes
    -----
    A size beyond the speakers is left out with a remark; if all are, the number of speakers there
    are takes their place.
    """
    lengths, sizes = whole_numbers("lengths", lengths), whole_numbers("sizes", sizes)
    ways = [(SINGLING_OUT, _singling_out)] if singling_out else []
    tables, remarks = [], []
    for length in lengths:
        for name, metric in [*ways, (LINKABILITY, _linking)]:
            try:
                table = metric(
                    test, enrolment, calibration, length, sizes, remarks,
                    targets=targets, draws=draws, splits=splits, rule=rule, seed=seed,
                    store=None if store is None else Path(store, f"L{length}"), progress=progress,
                )  # fmt: skip
                tables.append(table)
            except VoicePrivacyError as error:
                remarks.append(f"L = {length}, {name} not measured: {error}")
    if not tables:
        raise VoicePrivacyError(f"nothing can be measured. {' '.join(remarks)}")
    return pd.concat(tables, ignore_index=True)[COLUMNS], list(dict.fromkeys(remarks))


def whole_numbers(name: str, numbers: int | Sequence[int]) -> list[int]:
    """Return numbers from 1 up, each once; one alone will do.

    Raises
    ------
    VoicePrivacyError
        If there is none, or one is no such number; `name` says which list.

    Examples
    --------
    >>> whole_numbers("lengths", [3, 1, 3]), whole_numbers("lengths", 30)
    ([3, 1], [30])
    """
    numbers = np.atleast_1d(numbers)
    wrong = [n for n in numbers.tolist() if isinstance(n, bool | str) or n != n // 1 or n < 1]
    if wrong or not len(numbers):
        raise VoicePrivacyError(
            f"{name}: {listed(wrong) or 'empty'}; expected one or more whole numbers from 1 up."
        )
    return list(dict.fromkeys(int(n) for n in numbers))


def singling_out_rows(found: Isolation) -> pd.DataFrame:
    """Return what isolation by the voice alone says, as rows of `measure`'s table."""
    summary = found.summary()
    alone = summary[summary["level"] == SIGNAL_ONLY]
    return alone.assign(metric=SINGLING_OUT, rule="")[COLUMNS]


def _singling_out(test, enrolment, calibration, length, sizes, remarks, **asked) -> pd.DataFrame:
    shared = {name: asked[name] for name in ("draws", "splits", "seed", "store", "progress")}
    if calibration is None:
        n = count_eligible(test, LEAST_CONVERSATIONS * length)
        sizes = _possible(sizes, n, f"L = {length}, {SINGLING_OUT}", remarks) if n else sizes
        able = _able(test, enrolment, LEAST_CONVERSATIONS * length)
        targets = asked["targets"] if able > asked["targets"] else "all"
        found = isolate(test, enrolment, sizes=sizes, length=length, targets=targets, **shared)
    else:
        n = _able(test, calibration, length, length)
        sizes = _possible(sizes, n, f"L = {length}, {SINGLING_OUT}", remarks) if n else sizes
        found = isolate_given(test, calibration, enrolment, sizes=sizes, length=length, **shared)
    remarks += _missing(found, length)
    return singling_out_rows(found)


def _linking(test, enrolment, calibration, length, sizes, remarks, **asked) -> pd.DataFrame:
    """Linkability and EER, of the same trials."""
    trials = draw_trials(test, enrolment, length=length, draws=asked["draws"], seed=asked["seed"])
    sizes = _possible(sizes, len(trials.candidates), f"L = {length}, {LINKABILITY}", remarks)
    for reason, rows in trials.left_out.groupby("reason", sort=False):
        remarks.append(
            f"L = {length}, {LINKABILITY} and {EER}: {len(rows)} speakers take no part or are no "
            f"more than candidates ({reason}): {listed(rows['speaker'], 3)}."
        )
    linked = linkability(trials, sizes, progress=asked["progress"]).summary()
    tables = [linked.assign(metric=LINKABILITY, rule="")]
    if pairs := [size for size in sizes if size > 1]:
        rates = conversation_eer(trials, seed=asked["seed"]).summary(pairs, rule=asked["rule"])
        tables.append(rates.assign(metric=EER))
    return pd.concat(tables, ignore_index=True)


def _possible(sizes: list[int], n: int, what: str, remarks: list[str]) -> list[int]:
    """The sizes that can be drawn from n speakers, or n itself if none can."""
    beyond = [size for size in sizes if size > n]
    if beyond:
        remarks.append(f"{what}: sizes {listed(beyond)} left out; there are {n} speakers.")
    return [size for size in sizes if size <= n] or [n]


def _able(one: Embeddings, other: Embeddings, least: int, other_least: int = 1) -> int:
    """How many speakers have enough utterances in both."""
    names = []
    for part, needed in ((one, least), (other, other_least)):
        speakers, counts = np.unique(part.speakers, return_counts=True)
        names.append(speakers[counts >= needed])
    return len(np.intersect1d(*names))


def _missing(found: Isolation, length: int) -> list[str]:
    """Who takes no part in singling out."""
    told = {
        "left_out": "have too few utterances",
        "enrolled_not_in_pool": "are enrolled but not tested",
    }
    remarks = [
        f"L = {length}, {SINGLING_OUT}: {len(speakers)} speakers {what}, and take no part: "
        f"{listed(speakers.tolist(), 3)}."
        for name, what in told.items()
        if len(speakers := found.absent[name])
    ]
    if found.isolated.shape[2] < FEW_SPLITS:
        remarks.append(
            f"{SINGLING_OUT}: with {found.isolated.shape[2]} divisions into test and calibration "
            "its intervals are wide or do not count them; ten are usual."
        )
    if not found.equal_calibration:
        remarks.append(
            f"L = {length}, {SINGLING_OUT}: speakers have unequal numbers of calibration "
            "conversations, so that its chance level is not known."
        )
    return remarks
