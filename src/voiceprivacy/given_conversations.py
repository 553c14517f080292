"""Singling out with calibration speech of its own, apart from what is tested.

`voiceprivacy.singling_out.isolate` divides one pool into test and calibration conversations. Here
both are given: utterances to test with, and others of the same speakers to calibrate with.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from voiceprivacy._isolation_engine import evaluate
from voiceprivacy.candidates import Candidates
from voiceprivacy.conversations import (
    Conversations,
    SpeakerRows,
    by_speaker,
    check_counts,
    draw_conversations,
    enrolment_embeddings,
    of_speakers,
    refuse_unlike,
)
from voiceprivacy.embeddings import Embeddings
from voiceprivacy.errors import VoicePrivacyError, listed
from voiceprivacy.isolation import Isolation, participation
from voiceprivacy.randomness import stream
from voiceprivacy.singling_out import SIGNAL_ONLY, checked_sizes


def isolate_given(
    test: Embeddings,
    calibration: Embeddings,
    enrolment: Embeddings,
    *,
    sizes: Sequence[int] | None = None,
    length: int = 1,
    draws: int = 5,
    splits: int = 10,
    n_calibration: int = 9,
    seed: int = 0,
    store: Path | None = None,
    progress: bool = False,
) -> Isolation:
    """Measure isolation of every enrolled speaker, calibrating on speech that is not tested.

    Parameters
    ----------
    test, calibration
        Released utterances of the same speakers, L or more of each in both.
    enrolment
        Utterances that the attacker holds of each target.
    sizes
        Evaluation set sizes N; by default all eligible speakers.
    length, draws, splits, n_calibration, seed, store, progress
        As in `voiceprivacy.singling_out.isolate`; every split draws test and calibration
        conversations anew.

    Raises
    ------
    VoicePrivacyError
        If nobody has speech of all three kinds, N exceeds the eligible speakers, or embeddings do
        not fit together.

    Examples
    --------
    >>> def speech(kind, n):
    ...     ids = [f"{s}-{kind}{i}" for s in "abc" for i in range(n)]
    ...     return Embeddings(ids, [i[0] for i in ids], np.repeat(np.eye(3), n, axis=0))
    >>> found = isolate_given(speech("t", 1), speech("c", 2), speech("e", 1))
    >>> found.summary()["observed"].tolist()
    [1.0]
    """
    check_counts(length=length, draws=draws, splits=splits, n_calibration=n_calibration)
    for released, name in ((test, "test"), (calibration, "calibration")):
        refuse_unlike(released, enrolment, name)
    refuse_unlike(calibration, test, "calibration", "test")
    parts = [by_speaker(test), by_speaker(calibration)]
    speakers = _eligible(*parts, length)
    tested, calibrating = (of_speakers(rows, speakers) for rows in parts)
    enrolled = by_speaker(enrolment)
    targets = np.intersect1d(speakers, enrolled.speakers)
    sizes = checked_sizes(
        [len(speakers)] if sizes is None else sizes,
        len(speakers),
        f"{length} utterances to test and {length} to calibrate with each needed",
    )
    if not len(targets):
        raise VoicePrivacyError(
            f"No speaker who is tested and calibrated with is enrolled; there are "
            f"{listed(speakers[:3].tolist())}, enrolled {listed(enrolled.speakers[:3].tolist())}."
        )
    plans = [_plan(tested, calibrating, length, n_calibration, seed, k) for k in range(splits)]
    own = np.searchsorted(speakers, targets)
    candidates = Candidates(
        speakers, own, np.empty((len(speakers), 0), np.int32), int(sizes[-1]), draws, (1.0,),
        False, seed,
    )  # fmt: skip
    rows = SpeakerRows(speakers, np.concatenate([tested.matrix, calibrating.matrix]), tested.start)
    probes = enrolment_embeddings(enrolled)[np.searchsorted(enrolled.speakers, targets)]
    outcome = evaluate(rows, probes, plans, candidates, sizes, store=store, progress=progress)
    released = np.union1d(test.speakers, calibration.speakers)
    return Isolation(
        targets=targets,
        levels=(SIGNAL_ONLY,),
        sizes=sizes,
        known_fractions=(1.0,),
        conversation_length=length,
        target_known=candidates.target_known(),
        n_calibration=plans[0].n_calibration[own],
        equal_calibration=bool(np.ptp(plans[0].n_calibration) == 0),
        side_information=pd.DataFrame(index=targets),
        **participation(released, speakers, enrolled.speakers),
        **outcome,
    )


def _eligible(tested: SpeakerRows, calibrating: SpeakerRows, length: int) -> np.ndarray:
    """Speakers with a conversation to test and one to calibrate with."""
    able = [rows.speakers[rows.counts >= length] for rows in (tested, calibrating)]
    speakers = np.intersect1d(*able)
    if not len(speakers):
        raise VoicePrivacyError(
            f"No speaker has {length} utterances to test and {length} to calibrate with; the test "
            f"has {listed(tested.speakers[:3].tolist())}, the calibration "
            f"{listed(calibrating.speakers[:3].tolist())}."
        )
    return speakers


def _plan(
    tested: SpeakerRows, calibrating: SpeakerRows, length: int, most: int, seed: int, split: int
) -> Conversations:
    """One test conversation of every speaker, then up to `most` to calibrate with."""
    first = draw_conversations(
        tested.start, length, stream(seed, "split", split, "test"), n_calibration=0
    )
    others = draw_conversations(
        calibrating.start, length, stream(seed, "split", split, "calibration"),
        n_calibration=most - 1,
    )  # fmt: skip
    counts = np.diff(others.start)
    start = np.concatenate([[0], np.cumsum(1 + counts)])
    utterances = np.empty((start[-1], length), np.int64)
    utterances[start[:-1]] = first.utterances
    is_test = np.zeros(start[-1], bool)
    is_test[start[:-1]] = True
    utterances[~is_test] = others.utterances + len(tested.matrix)
    return Conversations(utterances, start)
