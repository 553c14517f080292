"""The outcome of a singling-out evaluation, target by target, and its summary."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from voiceprivacy.errors import VoicePrivacyError, listed
from voiceprivacy.intervals import (
    cluster_bootstrap,
    cluster_standard_error,
    two_way_interval,
    wilson_of,
)
from voiceprivacy.reference import chance_level, conditional_reference


@dataclass(frozen=True)
class Isolation:
    """Every evaluation of `voiceprivacy.singling_out.isolate`.

    Axes: F known fractions, T targets, P splits, D draws, K sizes, J levels.

    Parameters
    ----------
    targets, levels, sizes, known_fractions
        What the axes stand for.
    conversation_length
        Utterances in a conversation, L.
    isolated
        Whether exactly one speaker matched, bool, (F, T, P, D, K, J).
    threshold
        The calibrated threshold, (F, T, P, D, K, J); minus infinity for a block of one.
    block
        Compatible speakers n', (F, T, D, K, J).
    target_known
        Whether the target's own side information is disclosed, (F, T, D).
    n_calibration
        Each target's calibration conversations M, (T,).
    side_information
        The targets' own values, one row a target.
    counts
        How many speakers took part, were left out, or had no side information.
    equal_calibration
        Whether all speakers have as many calibration conversations. Otherwise the chance level is
        not known (NaN): its formula needs equal numbers.
    absent
        Ids of the speakers who take no part, by the name of their count: ``left_out`` of the pool,
        ``enrolled_not_in_pool``, ``enrolled_left_out``.
    """

    targets: np.ndarray
    levels: tuple[str, ...]
    sizes: np.ndarray
    known_fractions: tuple[float, ...]
    conversation_length: int
    isolated: np.ndarray
    threshold: np.ndarray
    block: np.ndarray
    target_known: np.ndarray
    n_calibration: np.ndarray
    side_information: pd.DataFrame
    counts: dict[str, int]
    equal_calibration: bool = True
    absent: Mapping[str, np.ndarray] = field(default_factory=dict)

    def summary(
        self, by: str | None = None, *, confidence: float = 0.95, seed: int = 0
    ) -> pd.DataFrame:
        """Average over evaluations, with intervals that respect that a target's are dependent.

        Parameters
        ----------
        by
            Split the targets by their own value in this side-information column, or by
            ``"known"`` (whether their own side information is disclosed).
        confidence
            Coverage of the bootstrap intervals over targets.
        seed
            Seed of the bootstrap.

        Returns
        -------
        pandas.DataFrame
            One row for each known fraction, group, level and size: ``block_size`` (mean n'),
            ``reference`` (P_ref averaged over each evaluation's n'), ``chance`` (P_0 likewise),
            ``observed`` (P_obs), ``contribution`` (P_obs - P_ref) and ``gain`` (P_obs minus that
            of the same evaluations on the signal only), each with its standard error and interval
            (``_se``, ``_low``, ``_high``): by bootstrap over targets, and where isolation is in it
            by `voiceprivacy.intervals.two_way_interval` over targets and splits, if there are two
            splits or more.
        """
        tables = []
        for f, fraction in enumerate(self.known_fractions):
            for group, used in self._groups(by, f):
                table = self._summarise(f, used, confidence, seed)
                if by is not None:
                    table.insert(1, by, group)
                table.insert(1, "known_fraction", fraction)
                tables.append(table)
        return pd.concat(tables, ignore_index=True)

    def per_target(self, known_fraction: float = 1.0) -> pd.DataFrame:
        """Return each target's own rates: target, level, n_speakers, block_size, observed."""
        f = self.known_fractions.index(known_fraction)
        shape = (len(self.targets), len(self.sizes), len(self.levels))
        index = pd.MultiIndex.from_product(
            [self.targets, self.sizes, self.levels], names=["target", "n_speakers", "level"]
        )
        return pd.DataFrame(
            {
                "block_size": self.block[f].mean(axis=1).reshape(shape).ravel(),
                "observed": self.isolated[f].mean(axis=(1, 2)).reshape(shape).ravel(),
            },
            index=index,
        ).reset_index()

    def _groups(self, by: str | None, f: int) -> Iterator[tuple[object, np.ndarray]]:
        """Yield each group's name and which (target, draw) belong to it, (T, D) bool."""
        known = self.target_known[f]
        if by is None:
            yield None, np.ones_like(known)
        elif by == "known":
            for value in np.unique(known).tolist():
                yield value, known == value
        elif by in self.side_information.columns:
            values = self.side_information[by]
            if values.isna().all():
                raise VoicePrivacyError(f"no target has a value in {by!r} to split by.")
            for value in sorted(values.dropna().unique()):
                yield value, np.repeat((values == value).to_numpy()[:, None], known.shape[1], 1)
        else:
            columns = [*self.side_information.columns, "known"]
            raise VoicePrivacyError(f"by is {by!r}; expected one of {listed(columns, 20)}.")

    def _summarise(self, f: int, used: np.ndarray, confidence: float, seed: int) -> pd.DataFrame:
        """Summarise the evaluations marked in `used`, (T, D), of one known fraction."""
        block = self.block[f]
        reference = conditional_reference(block)
        chance = chance_level(block, self.n_calibration[:, None, None, None])
        if not self.equal_calibration:
            chance = np.full(block.shape, np.nan)
        means = {
            name: _target_means(values, used)  # each (T, K, J)
            for name, values in {
                "block_size": block,
                "reference": reference,
                "chance": chance,
            }.items()
        }
        n_splits = self.isolated.shape[2]
        observed = np.stack(
            [_target_means(self.isolated[f][:, p], used) for p in range(n_splits)], axis=1
        )
        by_split = {
            "observed": observed,  # (T, P, K, J)
            "contribution": observed - means["reference"][:, None],
            "gain": observed - observed[..., :1],
        }
        means |= {name: values.mean(axis=1) for name, values in by_split.items()}
        table = {
            "level": np.tile(self.levels, len(self.sizes)),
            "conversation_length": self.conversation_length,
            "n_speakers": np.repeat(self.sizes, len(self.levels)),
            "targets": int(used.any(axis=1).sum()),
            "evaluations": int(used.sum()) * n_splits,
        }
        for name, values in means.items():
            if name in by_split and n_splits > 1:
                error, *ends = two_way_interval(by_split[name], confidence)
            else:
                error = cluster_standard_error(values)
                ends = cluster_bootstrap(values, confidence=confidence, seed=seed)
            if name == "observed":
                ends = _within(values, error, ends, means["block_size"], confidence)
            table[name], table[f"{name}_se"] = _mean(values).ravel(), np.ravel(error)
            table[f"{name}_low"], table[f"{name}_high"] = map(np.ravel, ends)
        return pd.DataFrame(table)


def _mean(means: np.ndarray) -> np.ndarray:
    """Average over targets; NaN where no target has a value."""
    used = np.isfinite(means)
    with np.errstate(invalid="ignore"):
        return np.where(used, means, 0).sum(axis=0) / used.sum(axis=0)


def _target_means(values: np.ndarray, used: np.ndarray) -> np.ndarray:
    """Average each target over its used draws: (T, D, K, J) to (T, K, J), NaN where none is."""
    weight = used.sum(axis=1)
    total = np.einsum("td,td...->t...", used.astype(float), values)
    with np.errstate(invalid="ignore"):
        return total / np.where(weight > 0, weight, np.nan)[:, None, None]


def _within(observed, error, ends, block_size, confidence) -> list[np.ndarray]:
    """Ends that are probabilities, and apart where all evaluations agreed by chance."""
    count = int(np.isfinite(observed).all(axis=(1, 2)).sum())
    agreed = (np.asarray(error) == 0) & (_mean(block_size) > 1)
    others = wilson_of(_mean(observed), np.zeros_like(error), count, confidence)
    return [
        np.clip(np.where(agreed, other, end), 0, 1) for other, end in zip(others, ends, strict=True)
    ]


def participation(
    released: np.ndarray, eligible: np.ndarray, enrolled: np.ndarray, without: int = 0
) -> dict[str, dict]:
    """Return the fields ``counts`` and ``absent`` of an `Isolation`, from speakers' ids."""
    absent = {
        "left_out": np.setdiff1d(released, eligible),
        "enrolled_not_in_pool": np.setdiff1d(enrolled, released),
        "enrolled_left_out": np.setdiff1d(np.intersect1d(enrolled, released), eligible),
    }
    counts = {"eligible": len(eligible), "without_side_information": without}
    counts |= {name: len(speakers) for name, speakers in absent.items()}
    return {"counts": counts, "absent": absent}
