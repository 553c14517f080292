"""Quick predictions of published numbers from a speaker model, for fitting and checking it.

A small evaluation: the papers' protocols with fewer speakers and draws. For results to show, run
the full protocol on `voiceprivacy.simulation.simulate`.
"""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from voiceprivacy.eer import rocch_eer
from voiceprivacy.errors import VoicePrivacyError, listed
from voiceprivacy.linkability import linked
from voiceprivacy.randomness import stream
from voiceprivacy.simulation import simulate
from voiceprivacy.singling_out import isolate
from voiceprivacy.speaker_model import SpeakerModel, session_vectors

METRICS = ("singling out", "linkability", "EER")
COLUMNS = ("metric", "conversation_length", "n")

_SHORT = 10  # utterances of session A, all that short conversations need
_DRAWS, _SPLITS = 1, 2
_NONTARGETS = 500  # other speakers per trial in the EER


def predict(
    model: SpeakerModel,
    points: pd.DataFrame,
    *,
    levels: Mapping[str, np.ndarray] | None = None,
    n_targets: int = 1000,
    n_utterances: int = 70,
    seed: int = 0,
) -> np.ndarray:
    """Predict singling out, linkability and EER at the given points.

    Parameters
    ----------
    model
        The attacker's speaker model.
    points
        One row a number: `metric` (one of `METRICS`), `conversation_length` (L, utterances), `n`
        (speakers: N for singling out, N' for linkability; any number for the EER) and optionally
        `level`, a name in `levels` or "" for the signal only.
    levels
        For each level of side information, what share of all speakers has the same value as the
        target: one share for each target, in (0, 1].
    n_targets
        Simulated targets. Their sampling alone moves a prediction by about 0.3 / sqrt(n_targets).
    n_utterances
        Utterances of a speaker when conversations are longer than 5 utterances. 60 leaves a single
        calibration conversation at L = 30, as in the side-information paper's code.
    seed
        Draws the simulation; equal seeds make the predictions of different models comparable.

    Returns
    -------
    ndarray
        One fraction for each row of `points`.

    Raises
    ------
    VoicePrivacyError
        If columns are missing, or a metric, size or level makes no sense.

    Notes
    -----
    As in the papers' code calibration conversations are combinations, enrolment is the mean of 10
    utterances, and linkability compares B1 conversations with the means of 10 A utterances. Side
    information is independent of voices here, so a level's prediction averages signal-only
    singling out over block sizes n' = 1 + Binomial(N - 1, share). The EER is that of the ROC's
    convex hull.

    Examples
    --------
    >>> perfect = SpeakerModel(d=64, w=0, b=0, h=0, c=0)
    >>> points = pd.DataFrame({"metric": METRICS, "conversation_length": 1, "n": 20})
    >>> predict(perfect, points, n_targets=20).round(3).tolist()
    [1.0, 1.0, 0.0]
    """
    points = _checked(points, levels or {})
    predicted = pd.Series(np.nan, index=points.index)
    of_metric = points["metric"] == "singling out"
    for length, rows in points[of_metric].groupby("conversation_length"):
        shares = {level: np.asarray((levels or {})[level]) for level in rows["level"] if level}
        predicted[rows.index] = _singling_out(
            model, int(length), rows, shares, n_targets, n_utterances, seed
        )
    trials = points[~of_metric]
    if len(trials):
        n_others = max(_NONTARGETS, trials.loc[trials["metric"] == "linkability", "n"].max())
        speakers = _speakers(int(max(n_targets, n_others)))
        enrolled = _unit_means(session_vectors(model, speakers, "A", _SHORT, seed))
        for length, rows in trials.groupby("conversation_length"):
            tests = session_vectors(model, speakers[:n_targets], "B1", int(length), seed)
            scores = _unit_means(tests) @ enrolled.T
            predicted[rows.index] = [
                _eer(scores) if metric == "EER" else _linkability(scores, int(n))
                for metric, n in zip(rows["metric"], rows["n"], strict=True)
            ]
    return predicted.to_numpy()


def _singling_out(model, length, rows, shares, n_targets, n_utterances, seed) -> np.ndarray:
    """Signal-only singling out at the rows' sizes, averaged over block sizes where a level is."""
    blocks = {
        index: _block_sizes(int(row.n), shares[row.level], seed) if row.level else int(row.n)
        for index, row in zip(rows.index, rows.itertuples(), strict=True)
    }
    exact = [n for n in blocks.values() if np.ndim(n) == 0]
    largest = max(int(np.max(n)) for n in blocks.values())
    grid = np.unique(np.geomspace(1, largest, 1 + 2 * largest.bit_length()).round().astype(int))
    sizes = sorted({*exact, *(grid.tolist() if len(exact) < len(blocks) else ())})
    speakers = _speakers(max(n_targets, sizes[-1]))
    corpus = simulate(
        model,
        pd.DataFrame({"speaker": speakers}),
        targets=speakers if 2 * length > _SHORT else speakers[:n_targets],
        extra_b=n_utterances - _SHORT if 2 * length > _SHORT else 0,
        seed=seed,
    )
    outcome = isolate(
        corpus.pool, corpus.enrolment, sizes=sizes, length=length, calibration="combinations",
        targets=speakers[:n_targets].tolist(), draws=_DRAWS, splits=_SPLITS, seed=seed,
    )  # fmt: skip
    curve = outcome.isolated.mean(axis=(0, 1, 2, 3))[:, 0]
    return np.array([np.interp(np.log(n), np.log(sizes), curve).mean() for n in blocks.values()])


def _block_sizes(n: int, shares: np.ndarray, seed: int) -> np.ndarray:
    return 1 + stream(seed, "block sizes").binomial(n - 1, shares, (20, len(shares)))


def _linkability(scores: np.ndarray, n: int) -> float:
    """Chance that a test's own enrolment, scores[t, t], is best among n random candidates."""
    better = (scores > scores.diagonal()[:, None]).sum(axis=1)
    return float(linked(scores.shape[1] - 1, [n - 1], int(better.max()))[better, 0].mean())


def _eer(scores: np.ndarray) -> float:
    """EER on the ROC's convex hull."""
    others = scores[:, :_NONTARGETS]
    return rocch_eer(scores.diagonal(), others[~np.eye(*others.shape, dtype=bool)])


def _unit_means(vectors: np.ndarray) -> np.ndarray:
    """Mean over the utterances of each speaker, (S, n, D) to (S, D), scaled to length 1."""
    means = vectors.mean(axis=1)
    return means / np.linalg.norm(means, axis=1, keepdims=True)


def _speakers(n: int) -> np.ndarray:
    return np.array([f"{i:05d}" for i in range(n)])


def _checked(points: pd.DataFrame, levels: Mapping[str, np.ndarray]) -> pd.DataFrame:
    """The points with a `level` column and a plain index."""
    if missing := [name for name in COLUMNS if name not in points]:
        raise VoicePrivacyError(f"Points to predict have no column {listed(missing)}.")
    points = points.reset_index(drop=True)
    points["level"] = points["level"].fillna("") if "level" in points else ""
    known = {"metric": METRICS, "level": ("", *levels)}
    for column, allowed in known.items():
        if wrong := sorted(set(points[column]) - set(allowed)):
            raise VoicePrivacyError(
                f"Points to predict: {column} {listed(wrong)}, expected one of "
                f"{listed(allowed, 20)}" + (" (see `levels`)." if column == "level" else ".")
            )
    for column in ("conversation_length", "n"):
        values = points[column]
        if rows := list(points.index[~(values >= 1) | (values % 1 != 0)]):
            raise VoicePrivacyError(
                f"Points to predict: {column} is not a whole number >= 1 in row {listed(rows)}."
            )
    return points
