"""Predicate singling out (PSO): how often an attacker isolates exactly one speaker.

For a target t and a set S_N of N speakers, the compatible block G(t) holds those who share the
target's disclosed side information. A threshold on the similarity to the target's enrolment is
calibrated so that one block member is expected to match; *isolation* means that exactly one
does, whoever it is (SI, Sec. III-C and IV-B; Cohen and Nissim 2020).

Conventions
-----------
Probabilities are fractions in [0, 1]. A score is a cosine. ``n`` is a block size (speakers),
``N`` the size of the evaluation set, ``M`` the number of calibration conversations a speaker.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from voiceprivacy._isolation_engine import evaluate
from voiceprivacy.candidates import Candidates
from voiceprivacy.conversations import (
    SpeakerRows,
    by_speaker,
    check_counts,
    draw_conversations,
    enrolment_embeddings,
    refuse_unlike,
    with_at_least,
)
from voiceprivacy.embeddings import Embeddings
from voiceprivacy.errors import VoicePrivacyError, listed
from voiceprivacy.isolation import Isolation, participation
from voiceprivacy.randomness import stream
from voiceprivacy.side_information import encode

SIGNAL_ONLY = "signal only"
# Names that the summary gives to other things than side information.
RESERVED = (
    SIGNAL_ONLY, "known", "known_fraction", "level", "conversation_length", "n_speakers",
    "targets", "evaluations",
)  # fmt: skip


def isolate(
    pool: Embeddings,
    enrolment: Embeddings,
    *,
    sizes: Sequence[int],
    length: int = 1,
    side_information: pd.DataFrame | None = None,
    targets: int | str | Sequence[str] = 495,
    draws: int = 5,
    splits: int = 10,
    calibration: str = "disjoint",
    n_calibration: int = 9,
    min_conversations: int = 2,
    frozen_splits: bool = False,
    known_fractions: Sequence[float] = (1.0,),
    target_known: bool = False,
    missing: str = "error",
    seed: int = 0,
    store: Path | None = None,
    progress: bool = False,
) -> Isolation:
    """Measure isolation for every size, nested level and known fraction in one pass.

    Parameters
    ----------
    pool
        Utterances of the evaluation speakers (set A, with set B's leftovers where L needs them).
    enrolment
        Utterances that the attacker holds of each target; disjoint from `pool`, averaged.
    sizes
        Evaluation set sizes N, each between 1 and the number of eligible speakers.
    length
        Utterances in a conversation, L.
    side_information
        Indexed by speaker, columns from coarse to fine; level j discloses columns 1 to j.
    targets
        How many targets to draw from the enrolled speakers, ``"all"``, or their ids.
    draws, splits
        Random evaluation sets for each target, and shuffles into test and calibration.
    calibration, n_calibration
        See `voiceprivacy.conversations.draw_conversations`.
    min_conversations
        A speaker with fewer disjoint conversations is left out and counted; 2 or more.
    frozen_splits
        Use one shuffle, and draw speakers anew `draws` x `splits` times.
    known_fractions
        Fractions of speakers whose side information is disclosed.
    target_known
        Whether every target's own side information is disclosed at any fraction.
    missing
        ``"error"`` or ``"unknown"``: what to do with speakers without a row of side information.
    seed
        Seed of every random choice.
    store
        Folder that keeps finished parts, so that an interrupted run goes on where it stopped.
    progress
        Whether to show a progress bar.

    Returns
    -------
    Isolation
        Every evaluation; its ``summary()`` is the table to read.

    Raises
    ------
    VoicePrivacyError
        If N exceeds the eligible speakers, a target is not enrolled or has too few utterances,
        an utterance is in both sets, or speakers lack side information.

    Notes
    -----
    The defaults follow the papers' text. The authors' published code is had with
    ``calibration="combinations", frozen_splits=True, target_known=True``. A target whose own
    side information is unknown is sought among all N speakers: nothing about it is disclosed.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> voices = rng.normal(size=(6, 4))
    >>> def speak(kind):
    ...     rows = np.repeat(voices, 4, axis=0) + 0.05 * rng.normal(size=(24, 4))
    ...     ids = np.array([f"s{i // 4}-{kind}{i}" for i in range(24)])
    ...     return Embeddings(ids, np.array([i.split("-")[0] for i in ids]), rows.astype("f4"))
    >>> result = isolate(speak("a"), speak("b"), sizes=[3, 6], targets="all")
    >>> result.summary()[["level", "n_speakers", "observed"]].values.tolist()
    [['signal only', 3, 1.0], ['signal only', 6, 1.0]]
    """
    check_counts(length=length, draws=draws, splits=splits, n_calibration=n_calibration)
    check_counts(least=0, seed=seed)
    needed = max(2, min_conversations) * length
    rows = with_at_least(by_speaker(pool), needed)
    enrolled = by_speaker(enrolment)
    n_pool = len(np.unique(pool.speakers))
    sizes = checked_sizes(
        sizes, len(rows.speakers), f"{n_pool} in the pool, {needed} utterances each needed"
    )
    refuse_unlike(pool, enrolment, "pool")
    chosen = _choose_targets(targets, rows, enrolled, needed, seed)
    table = pd.DataFrame(index=rows.speakers) if side_information is None else side_information
    _refuse_reserved(table.columns)
    codes, absent = encode(table, rows.speakers, missing=missing)
    if frozen_splits:
        draws, splits = draws * splits, 1
    candidates = Candidates(
        speakers=rows.speakers,
        own=np.searchsorted(rows.speakers, chosen),
        codes=codes,
        largest=int(sizes[-1]),
        draws=draws,
        known_fractions=_checked_fractions(known_fractions),
        always_known=target_known,
        seed=seed,
    )
    plans = [
        draw_conversations(
            rows.start,
            length,
            stream(seed, "split", split),
            calibration=calibration,
            n_calibration=n_calibration,
        )
        for split in range(splits)
    ]
    probes = enrolment_embeddings(enrolled)[np.searchsorted(enrolled.speakers, chosen)]
    outcome = evaluate(rows, probes, plans, candidates, sizes, store=store, progress=progress)
    return Isolation(
        targets=chosen,
        levels=(SIGNAL_ONLY, *table.columns),
        sizes=sizes,
        known_fractions=candidates.known_fractions,
        conversation_length=length,
        target_known=candidates.target_known(),
        n_calibration=plans[0].n_calibration[candidates.own],
        equal_calibration=bool(np.ptp(plans[0].n_calibration) == 0),
        side_information=table.reindex(chosen),
        **participation(pool.speakers, rows.speakers, enrolled.speakers, absent),
        **outcome,
    )


def checked_sizes(sizes: Sequence[int], eligible: int, why: str) -> np.ndarray:
    """Return evaluation set sizes N, sorted; raise if one cannot be drawn from the eligible."""
    if not eligible:
        raise VoicePrivacyError(
            f"No speaker is eligible ({why}). Ask for shorter or fewer conversations, "
            "or bring more utterances of each speaker."
        )
    wrong = [size for size in sizes if size != int(size) or not 1 <= size <= eligible]
    if wrong or not len(sizes):
        raise VoicePrivacyError(
            f"N = {listed(wrong)} cannot be drawn: {eligible} speakers are eligible "
            f"({why}). Ask for whole sizes from 1 to {eligible}, or bring more "
            "speakers."
        )
    return np.unique(np.asarray(sizes, dtype=np.int64))


def _checked_fractions(fractions: Sequence[float]) -> tuple[float, ...]:
    fractions = tuple(float(fraction) for fraction in np.atleast_1d(fractions))
    wrong = [fraction for fraction in fractions if not 0 <= fraction <= 1]
    if wrong or not fractions or len(set(fractions)) < len(fractions):
        raise VoicePrivacyError(
            f"known_fractions {listed(wrong or fractions)} must lie between 0 and 1, each once."
        )
    return fractions


def _refuse_reserved(columns: Sequence[str]) -> None:
    if reserved := [name for name in columns if name in RESERVED]:
        raise VoicePrivacyError(
            f"Side-information columns named {listed(reserved)} would be taken for a summary's "
            "own; rename them."
        )


def _choose_targets(
    targets: int | str | Sequence[str],
    rows: SpeakerRows,
    enrolled: SpeakerRows,
    needed: int,
    seed: int,
) -> np.ndarray:
    """Return the ids of the targets, sorted."""
    possible = np.intersect1d(enrolled.speakers, rows.speakers)
    if not len(possible):
        raise VoicePrivacyError(
            f"No speaker is both enrolled and in the pool with {needed} utterances; the enrolment "
            f"has {listed(enrolled.speakers[:3].tolist())}, the pool "
            f"{listed(rows.speakers[:3].tolist())}. The same speaker needs the same id in both."
        )
    if isinstance(targets, int | np.integer):
        if not 1 <= targets <= len(possible):
            raise VoicePrivacyError(
                f"{targets} targets were asked for, but {len(possible)} speakers are both enrolled "
                f"and have {needed} utterances in the pool; ask for fewer, or targets='all'."
            )
        return np.sort(stream(seed, "targets").choice(possible, targets, replace=False))
    if isinstance(targets, str) and targets == "all":
        return possible
    chosen = np.unique(np.asarray(targets, dtype=str))
    unfit = np.setdiff1d(chosen, possible)
    if len(unfit) or not len(chosen):
        raise VoicePrivacyError(
            f"{len(unfit)} targets are not enrolled or have fewer than {needed} utterances in the "
            f"pool: {listed(unfit.tolist())}."
        )
    return chosen
