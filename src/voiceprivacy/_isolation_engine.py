"""Runs the isolation kernel over chunks of targets and over splits, within bounded memory."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from tqdm import tqdm

from voiceprivacy import _isolation_kernel as kernel
from voiceprivacy.candidates import Candidates
from voiceprivacy.conversations import Conversations, SpeakerRows, conversation_embeddings
from voiceprivacy.parts import Arrays, Parts
from voiceprivacy.scoring import ROW_TILE, cosine_scores

BYTES_AT_ONCE = 768 * 2**20  # the papers' 495 targets in one chunk; bounds memory for more


def evaluate(
    rows: SpeakerRows,
    probes: np.ndarray,
    plans: list[Conversations],
    candidates: Candidates,
    sizes: np.ndarray,
    *,
    store: Path | None,
    progress: bool,
) -> Arrays:
    """Return ``isolated``, ``threshold`` and ``block`` with the axes of `Isolation`.

    Parameters
    ----------
    rows
        The pool's unit utterance embeddings.
    probes
        The targets' unit enrolment embeddings, (T, d).
    plans
        One division into conversations for each split.
    candidates
        The random sets and the blocks.
    sizes
        Ascending N.
    store, progress
        See `voiceprivacy.singling_out.isolate`.
    """
    scoring = _Scoring(rows, plans)
    parts = _parts(store, rows, probes, plans, candidates, sizes)
    outcomes = []
    chunks = _chunks(len(probes), scoring.columns, candidates)
    total = len(chunks) * len(plans)
    with tqdm(total=total, desc="singling out", unit="split", disable=not progress) as bar:
        for targets in chunks:
            chunk = _Chunk(targets, probes[targets], candidates, sizes, scoring)
            outcomes.append([])
            for p in range(len(plans)):
                name = f"targets-{targets[0]}-{targets[-1]}-split-{p}"
                outcomes[-1].append(parts.get(name, lambda p=p, chunk=chunk: chunk.outcome(p)))
                bar.update()
    joined = {
        name: np.concatenate([np.stack([s[name] for s in c], axis=2) for c in outcomes], axis=1)
        for name in ("isolated", "threshold")
    }
    joined["block"] = np.concatenate([splits[0]["block"] for splits in outcomes], axis=1)
    return joined


class _Scoring:
    """Scores of every conversation of a split, by the cheaper of two ways.

    Conversations of one utterance have the utterance's score in every split, so one matrix
    product serves them all; longer ones need a product a split.
    """

    def __init__(self, rows: SpeakerRows, plans: list[Conversations]):
        self.rows, self.plans = rows, plans
        conversations, length = plans[0].utterances.shape
        self.once = length == 1 and len(rows.matrix) <= len(plans) * conversations
        self.columns = len(rows.matrix) if self.once else conversations

    def of_utterances(self, probes: np.ndarray) -> np.ndarray | None:
        return cosine_scores(probes, self.rows.matrix) if self.once else None

    def of_split(self, p: int, probes: np.ndarray, utterances: np.ndarray | None):
        """Return scores and the column of each conversation's."""
        plan = self.plans[p]
        if utterances is not None:
            return utterances, plan.utterances[:, 0]
        vectors = conversation_embeddings(self.rows.matrix, plan)
        return cosine_scores(probes, vectors), np.arange(len(vectors))


@dataclass
class _Chunk:
    """Some targets, with what all their splits share."""

    targets: np.ndarray
    probes: np.ndarray
    candidates: Candidates
    sizes: np.ndarray
    scoring: _Scoring

    def __post_init__(self):
        own = self.candidates.own[self.targets]
        self.orders = np.array([self.candidates.order(target) for target in self.targets])
        self.depths = kernel.shared_depths(self.candidates.codes, own)
        self.utterance_scores = self.scoring.of_utterances(self.probes)
        self.hidden_targets = ~self.candidates.target_known()[:, self.targets]

    def outcome(self, p: int) -> Arrays:
        """Stream one split at every known fraction; arrays (F, targets, D, K, J)."""
        plan, candidates = self.scoring.plans[p], self.candidates
        scores, column = self.scoring.of_split(p, self.probes, self.utterance_scores)
        pair = kernel.scores_by_speaker(scores, column, plan.start)
        ranks = plan.n_calibration[candidates.own[self.targets]]
        fractions, levels = candidates.known_fractions, candidates.codes.shape[1] + 1
        shape = (len(fractions), *self.orders.shape[:2], len(self.sizes), levels)
        isolated, block, threshold = (np.empty(shape, kind) for kind in (bool, np.int32, float))
        for f, fraction in enumerate(fractions):
            hidden = ~candidates.disclosed(fraction) if fraction < 1 else np.zeros((0, 0), bool)
            kernel.stream(
                scores, column, plan.start, pair, self.orders, self.depths,
                hidden, self.hidden_targets[f], self.sizes, ranks,
                isolated[f], block[f], threshold[f],
            )  # fmt: skip
        return {"isolated": isolated, "block": block, "threshold": threshold}


def _chunks(n_targets: int, n_scores: int, candidates: Candidates) -> list[np.ndarray]:
    """Divide the targets into whole row tiles whose scores, sets and blocks fit in memory."""
    n_speakers = len(candidates.speakers)
    per_target = 4 * n_scores + 9 * n_speakers + 4 * n_speakers * candidates.draws
    at_once = max(1, BYTES_AT_ONCE // per_target // ROW_TILE) * ROW_TILE
    return [np.arange(i, min(i + at_once, n_targets)) for i in range(0, n_targets, at_once)]


def _parts(store, rows, probes, plans, candidates, sizes) -> Parts:
    """Open the store of finished parts; it knows everything that the outcome depends on."""
    settings = {
        "seed": candidates.seed,
        "draws": candidates.draws,
        "known fractions": list(candidates.known_fractions),
        "targets always known": candidates.always_known,
        "sizes": sizes.tolist(),
    }
    if store is None:
        return Parts(None, settings, [])
    data = [rows.matrix, rows.start, probes, candidates.own, candidates.codes]
    return Parts(store, settings, [*data, *(plan.utterances for plan in plans)])
