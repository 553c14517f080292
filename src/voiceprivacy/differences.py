"""How much isolation differs between evaluations of the same targets."""

from collections.abc import Iterator, Mapping
from itertools import combinations

import numpy as np
import pandas as pd

from voiceprivacy.errors import VoicePrivacyError, listed
from voiceprivacy.intervals import cluster_bootstrap, cluster_standard_error
from voiceprivacy.isolation import Isolation


def paired_differences(
    runs: Mapping[str, Isolation],
    *,
    by: str | None = None,
    confidence: float = 0.95,
    seed: int = 0,
) -> pd.DataFrame:
    """Compare every two runs, target by target, with all side information disclosed.

    Parameters
    ----------
    runs
        From name to an evaluation of the same targets, levels and sizes. Evaluations under one
        seed also share their random sets and splits, so that what remains between them is what
        was changed.
    by
        Split the targets by their value in this column of the first run's side information.
    confidence
        Coverage of the bootstrap intervals over targets.
    seed
        Seed of the bootstrap.

    Returns
    -------
    pandas.DataFrame
        One row for each pair, group, level and size: ``first``, ``second``, `by` if it is given,
        ``level``, ``n_speakers``, ``difference`` (observed isolation of the second minus that of
        the first), with its standard error and interval (``_se``, ``_low``, ``_high``).

    Raises
    ------
    VoicePrivacyError
        If two runs differ in their targets, levels or sizes, or one has only partial knowledge.

    Notes
    -----
    Each interval is for its own row. The largest of many differences exceeds zero even where all
    of them are due to chance; compare it with the largest among runs that differ by chance only.
    """
    means = {name: _target_means(run, name) for name, run in runs.items()}
    _refuse_unlike(runs)
    tables = []
    for first, second in combinations(runs, 2):
        run, difference = runs[first], means[second] - means[first]
        for value, own in _groups(run, by):
            low, high = cluster_bootstrap(difference[own], confidence=confidence, seed=seed)
            columns = {
                "first": first,
                "second": second,
                **({} if by is None else {by: value}),
                "level": np.tile(run.levels, len(run.sizes)),
                "n_speakers": np.repeat(run.sizes, len(run.levels)),
                "difference": difference[own].mean(axis=0).ravel(),
                "difference_se": np.ravel(cluster_standard_error(difference[own])),
                "difference_low": np.ravel(low),
                "difference_high": np.ravel(high),
            }
            tables.append(pd.DataFrame(columns))
    if not tables:
        raise VoicePrivacyError(f"{len(runs)} runs make no pair; give two or more to compare.")
    return pd.concat(tables, ignore_index=True)


def overview(differences: pd.DataFrame) -> pd.Series:
    """Say how large the differences of a table are, and which is the largest.

    Parameters
    ----------
    differences
        From `paired_differences`; further columns are allowed.

    Returns
    -------
    pandas.Series
        ``differences`` (how many), ``typical standard error`` (their median), ``mean absolute
        difference``, ``largest`` (absolute), ``largest in standard errors``, ``intervals without
        0`` (their share), and ``first``, ``second``, ``level`` and ``n_speakers`` of the largest.

    Examples
    --------
    >>> table = pd.DataFrame({
    ...     "first": "a", "second": ["b", "c"], "level": "OA", "n_speakers": 30,
    ...     "difference": [0.1, -0.2], "difference_se": [0.02, 0.1],
    ...     "difference_low": [0.06, -0.4], "difference_high": [0.14, 0.0],
    ... })
    >>> overview(table)[["differences", "second"]].tolist()
    [2, 'c']
    """
    size = differences["difference"].abs()
    apart = (differences["difference_low"] > 0) | (differences["difference_high"] < 0)
    most = differences.loc[size.idxmax()]
    return pd.Series(
        {
            "differences": len(size),
            "typical standard error": differences["difference_se"].median(),
            "mean absolute difference": size.mean(),
            "largest": size.max(),
            "largest in standard errors": (size / differences["difference_se"]).max(),
            "intervals without 0": apart.mean(),
            **most[["first", "second", "level", "n_speakers"]],
        }
    )


def fall_with_size(
    run: Isolation, smallest: int, largest: int, *, confidence: float = 0.95, seed: int = 0
) -> tuple[float, float, float]:
    """Return how much isolation on the signal alone falls from one size to a larger one.

    Parameters
    ----------
    run
        An evaluation at both sizes.
    smallest, largest
        Sizes N of `run`.
    confidence
        Coverage of the bootstrap interval over targets.
    seed
        Seed of the bootstrap.

    Returns
    -------
    tuple
        Observed isolation at `smallest` minus that at `largest`, and its interval's ends.
    """
    sizes = run.sizes.tolist()
    if absent := [size for size in (smallest, largest) if size not in sizes]:
        raise VoicePrivacyError(f"no evaluation at N = {listed(absent)}; there are {sizes}.")
    rates = _target_means(run, "")[..., 0]
    lost = rates[:, sizes.index(smallest)] - rates[:, sizes.index(largest)]
    return (float(lost.mean()), *cluster_bootstrap(lost, confidence=confidence, seed=seed))


def _groups(run: Isolation, by: str | None) -> Iterator[tuple[object, np.ndarray]]:
    """Yield each group's value and which targets have it."""
    if by is None:
        yield None, np.ones(len(run.targets), bool)
    elif by in run.side_information:
        values = run.side_information[by]
        for value in sorted(values.dropna().unique()):
            yield value, (values == value).to_numpy()
    else:
        raise VoicePrivacyError(f"by is {by!r}; expected one of {listed(run.side_information)}.")


def _target_means(run: Isolation, name: str) -> np.ndarray:
    """Each target's rate with everything disclosed, (T, K, J)."""
    if 1.0 not in run.known_fractions:
        raise VoicePrivacyError(
            f"run {name!r} knows {run.known_fractions} of the side information; include 1.0."
        )
    return run.isolated[run.known_fractions.index(1.0)].mean(axis=(1, 2))


def _refuse_unlike(runs: Mapping[str, Isolation]) -> None:
    """Pairing needs the same targets, levels and sizes in every run."""
    for name, run in runs.items():
        first = next(iter(runs.values()))
        for axis in ("targets", "levels", "sizes"):
            if list(getattr(run, axis)) != list(getattr(first, axis)):
                raise VoicePrivacyError(
                    f"run {name!r} has other {axis} than {next(iter(runs))!r}; evaluate the same "
                    "targets, levels and sizes under one seed to compare them in pairs."
                )
