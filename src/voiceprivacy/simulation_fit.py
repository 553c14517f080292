"""Find the speaker model whose simulated results come closest to published ones.

A response-surface search: simulate quasi-random parameter sets in a box around a start, regress
every predicted number on the logarithms of the parameters (quadratic), go to the parameters whose
regressed numbers fit best, and repeat in smaller boxes around the best set so far.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from scipy.optimize import least_squares
from scipy.stats import qmc
from tqdm import tqdm

from voiceprivacy.errors import VoicePrivacyError, listed
from voiceprivacy.randomness import stream
from voiceprivacy.simulation_predict import predict
from voiceprivacy.speaker_model import PRESETS, SpeakerModel

PARAMETERS = ("d", "w", "b", "h", "c")

_SHRINK = 0.5  # of the box, in log-parameters, from one round to the next
_PROPOSALS = 2  # regression optima that are simulated in a round


@dataclass(frozen=True)
class Fit:
    """What `fit` found.

    Parameters
    ----------
    model
        The best model that was simulated. Other models on the same ridge may fit as well: compare
        `trials`, and do not read single parameters as measurements.
    points
        The curves with columns `predicted` (simulated by `model`) and `error` (predicted - value).
    trials
        Every simulated parameter set and its `loss`, in the order of simulation.
    """

    model: SpeakerModel
    points: pd.DataFrame
    trials: pd.DataFrame

    @property
    def mean_absolute_error(self) -> pd.Series:
        """Mean absolute error over the points of each metric."""
        return self.points["error"].abs().groupby(self.points["metric"]).mean()


def fit(
    curves: pd.DataFrame,
    *,
    start: SpeakerModel = PRESETS["informed"],
    free: Sequence[str] = PARAMETERS,
    spread: float = 3.0,
    rounds: int = 3,
    trials: int = 28,
    n_targets: int = 1000,
    seed: int = 0,
    progress: bool = False,
    **settings,
) -> Fit:
    """Fit a speaker model to published singling out, linkability and EER.

    Parameters
    ----------
    curves
        What `simulation_predict.predict` takes, with the published `value` of each point, a
        fraction, and optionally its `weight` (1 by default; lower it for noisy points).
    start
        Where the search starts; parameters that are not free stay as they are here.
    free
        Names of the parameters to fit, each positive in `start`.
    spread
        The first round searches from `start / spread` to `start * spread`; > 1.
    rounds, trials
        Boxes, and simulated parameter sets in each. With 5 free parameters a quadratic has 21
        coefficients, so `trials` should not be much smaller.
    n_targets, seed, **settings
        Passed to `predict`. All trials share the seed, hence the voices.
    progress
        Whether to show a progress bar: the default 90 simulations take one to five minutes.

    Returns
    -------
    Fit
        The model, its predictions and all trials.

    Raises
    ------
    VoicePrivacyError
        If values are no fractions, nothing is free, or a free parameter is unknown or zero.

    Notes
    -----
    The loss is the mean over metrics of the weighted mean squared error, so that a metric with
    many published points counts no more than one with few.

    Examples
    --------
    >>> curves = pd.DataFrame({"metric": ["linkability", "EER"], "n": 10})
    >>> curves["conversation_length"] = 1
    >>> truth = SpeakerModel(d=20, w=1.5, b=0.2, h=1, c=0.5)
    >>> curves["value"] = predict(truth, curves, n_targets=50)
    >>> start = SpeakerModel(d=20, w=1, b=0.2, h=1, c=0.5)
    >>> found = fit(curves, start=start, free=["w"], rounds=2, trials=4, n_targets=50)
    >>> found.mean_absolute_error.round(2).to_dict()
    {'EER': 0.0, 'linkability': 0.0}
    """
    curves = _checked(curves, start, free, spread)
    value, weight = curves["value"].to_numpy(float), _weights(curves)
    search = _Search(np.empty((0, len(free))), np.empty((0, len(curves))), value, weight)
    centre, half = np.log([getattr(start, name) for name in free]), np.log(spread)
    ceiling = np.log([start.D if name == "d" else np.inf for name in free])
    bar = tqdm(total=rounds * (trials + _PROPOSALS), desc="fit", disable=not progress)

    def simulate(logs: np.ndarray) -> None:
        model = replace(start, **dict(zip(free, np.exp(logs).tolist(), strict=True)))
        search.add(logs, predict(model, curves, n_targets=n_targets, seed=seed, **settings))
        bar.update()

    for number in range(rounds):
        low, high = centre - half, np.minimum(centre + half, ceiling)
        shift = stream(seed, "fit", number).random(len(free))
        spread_out = (qmc.Halton(len(free), scramble=False).random(trials) + shift) % 1
        for logs in low + spread_out * (high - low):
            simulate(logs)
        for _ in range(_PROPOSALS):
            simulate(search.proposal(low, high))
        centre, half = search.best, half * _SHRINK
    bar.close()
    return search.result(curves, start, free)


@dataclass
class _Search:
    """Simulated sets of log-parameters, and the regression of every number on them."""

    logs: np.ndarray  # (trials, parameters)
    predicted: np.ndarray  # (trials, points)
    value: np.ndarray
    weight: np.ndarray

    def add(self, logs: np.ndarray, predicted: np.ndarray) -> None:
        self.logs = np.vstack([self.logs, logs])
        self.predicted = np.vstack([self.predicted, predicted])

    @property
    def loss(self) -> np.ndarray:
        return (self.predicted - self.value) ** 2 @ self.weight

    @property
    def best(self) -> np.ndarray:
        return self.logs[np.argmin(self.loss)]

    def proposal(self, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        """Log-parameters in a box at which the regressed numbers come closest to the values."""
        centre, half = (low + high) / 2, (high - low) / 2
        near = (np.abs(self.logs - centre) <= 1.5 * half).all(axis=1)
        logs, loss = (self.logs[near] - centre) / half, self.loss[near]
        # Numbers far from the published ones need not be regressed well.
        emphasis = 1 / np.sqrt(loss + loss.min() + 1e-6)[:, None]
        coefficients = np.linalg.lstsq(
            _quadratic(logs) * emphasis, self.predicted[near] * emphasis, rcond=1e-6
        )[0]
        scale = np.sqrt(self.weight)

        def misfit(at: np.ndarray) -> np.ndarray:
            return (_quadratic(at[None])[0] @ coefficients - self.value) * scale

        starts = np.clip(logs[np.argsort(loss)[:3]], -0.99, 0.99)
        found = min(
            (least_squares(misfit, at, bounds=(-1, 1)) for at in starts), key=lambda f: f.cost
        )
        return centre + half * found.x

    def result(self, curves: pd.DataFrame, start: SpeakerModel, free: Sequence[str]) -> Fit:
        trials = pd.DataFrame(np.exp(self.logs), columns=list(free)).assign(loss=self.loss)
        best = int(np.argmin(self.loss))
        model = replace(start, **trials.loc[best, list(free)].to_dict())
        points = curves.assign(predicted=self.predicted[best])
        return Fit(model, points.assign(error=points["predicted"] - self.value), trials)


def _quadratic(x: np.ndarray) -> np.ndarray:
    """1, every coordinate, and every product of two: (k, p) to (k, (p + 1)(p + 2) / 2)."""
    rows, columns = np.triu_indices(x.shape[1] + 1)
    with_one = np.column_stack([np.ones(len(x)), x])
    return with_one[:, rows] * with_one[:, columns]


def _weights(curves: pd.DataFrame) -> np.ndarray:
    """Weights of the points: equal sums for every metric, 1 in all."""
    weight = curves["weight"] if "weight" in curves else pd.Series(1.0, curves.index)
    share = weight / weight.groupby(curves["metric"]).transform("sum")
    return (share / curves["metric"].nunique()).to_numpy(float)


def _checked(curves, start, free, spread) -> pd.DataFrame:
    if "value" not in curves or not len(curves):
        raise VoicePrivacyError("Curves to fit need at least one row and a column 'value'.")
    curves = curves.reset_index(drop=True)
    if rows := list(curves.index[~curves["value"].between(0, 1)]):
        raise VoicePrivacyError(
            f"Curves to fit: value is not a fraction from 0 to 1 in row {listed(rows)}; "
            "divide percentages by 100 and drop missing points."
        )
    if not free or not set(free) <= set(PARAMETERS):
        raise VoicePrivacyError(
            f"free is {list(free)!r}; expected one or more of {listed(PARAMETERS)}."
        )
    if zero := [name for name in free if getattr(start, name) == 0]:
        raise VoicePrivacyError(
            f"{listed(zero)} cannot be searched from 0, because steps are factors; "
            "start from a small positive value, or leave it out of `free`."
        )
    if not spread > 1:
        raise VoicePrivacyError(f"spread is {spread}, expected a factor above 1.")
    return curves
