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
    outcomes, blocks = [], []
    chunks = _chunks(len(probes), scoring.columns, candidates)
    total = len(chunks) * len(plans)
    with tqdm(total=total, desc="singling out", unit="split", disable=not progress) as bar:
        for targets in chunks:
            chunk = _Chunk(targets, probes[targets], candidates, sizes, scoring)
            outcomes.append([])
            blocks.append(chunk.blocks())
            for p in range(len(plans)):
                name = f"targets-{targets[0]}-{targets[-1]}-split-{p}"
                outcomes[-1].append(parts.get(name, lambda p=p, chunk=chunk: chunk.outcome(p)))
                bar.update()
    joined = {
        name: np.concatenate([np.stack([s[name] for s in c], axis=2) for c in outcomes], axis=1)
        for name in ("isolated", "threshold")
    }
    return joined | {"block": np.concatenate(blocks, axis=1)}


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
        fractions, levels = self.candidates.known_fractions, self.candidates.codes.shape[1] + 1
        self.shape = (len(fractions), *self.orders.shape[:2], len(self.sizes), levels)
        hidden_targets = ~self.candidates.target_known()[:, self.targets]
        self.disclosures = [
            (self._hidden(fraction), targets)
            for fraction, targets in zip(fractions, hidden_targets, strict=True)
        ]

    def _hidden(self, fraction: float) -> np.ndarray:
        """Whose side information is not disclosed; empty when everybody's is."""
        return np.zeros((0, 0), bool) if fraction >= 1 else ~self.candidates.disclosed(fraction)

    def blocks(self) -> np.ndarray:
        """Block sizes, the same in every split, (F, targets, D, K, J)."""
        block = np.empty(self.shape, np.int32)
        for counts, disclosure in zip(block, self.disclosures, strict=True):
            kernel.count_blocks(self.orders, self.depths, *disclosure, self.sizes, counts)
        return block

    def outcome(self, p: int) -> Arrays:
        """Stream one split at every known fraction; arrays (F, targets, D, K, J)."""
        plan = self.scoring.plans[p]
        scores, column = self.scoring.of_split(p, self.probes, self.utterance_scores)
        highest = kernel.highest_scores(scores, column, plan.start)
        ranks = plan.n_calibration[self.candidates.own[self.targets]]
        isolated, threshold = np.empty(self.shape, bool), np.empty(self.shape)
        for f, disclosure in enumerate(self.disclosures):
            kernel.stream(
                scores, column, plan.start, highest, self.orders, self.depths, *disclosure,
                self.sizes, ranks, isolated[f], threshold[f],
            )  # fmt: skip
        return {"isolated": isolated, "threshold": threshold}


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
