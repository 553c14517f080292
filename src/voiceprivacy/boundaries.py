"""How well found words agree with others: with the true ones, or with another recogniser's."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pandas as pd

from voiceprivacy._audio import RATE
from voiceprivacy._repairs import plain
from voiceprivacy._words import Segmentation, word_table
from voiceprivacy.errors import VoicePrivacyError, listed
from voiceprivacy.intervals import cluster_bootstrap

TOLERANCE = 0.05


def same_words(truth: Sequence[str], found: Sequence[str]) -> np.ndarray:
    """Pair equal words in order: as many as possible.

    Parameters
    ----------
    truth, found
        Words; case and punctuation do not count.

    Returns
    -------
    numpy.ndarray
        (pairs, 2): places in `truth` and in `found`, both rising. The longest common subsequence.

    Examples
    --------
    >>> same_words(["I", "hear", "you", "well"], ["hear,", "you", "you", "all"]).tolist()
    [[1, 0], [2, 1]]
    """
    a, b = [plain(word) for word in truth], [plain(word) for word in found]
    # longest[i, j]: of the words from i on and those from j on.
    longest = np.zeros((len(a) + 1, len(b) + 1), int)
    for i in reversed(range(len(a))):
        for j in reversed(range(len(b))):
            equal = a[i] == b[j] and a[i] != ""
            longest[i, j] = max(longest[i + 1, j], longest[i, j + 1], equal + longest[i + 1, j + 1])
    pairs, i, j = [], 0, 0
    while longest[i, j]:
        if a[i] == b[j] and longest[i, j] == 1 + longest[i + 1, j + 1]:
            pairs.append((i, j))
            i, j = i + 1, j + 1
        elif longest[i, j] == longest[i + 1, j]:
            i += 1
        else:
            j += 1
    return np.array(pairs, int).reshape(-1, 2)


def near(truth: np.ndarray, found: np.ndarray, tolerance: float) -> int:
    """Count pairs of times that lie at most `tolerance` apart; each time is in one pair at most.

    Parameters
    ----------
    truth, found
        Rising times.
    tolerance
        In the same unit.

    Examples
    --------
    >>> near([0, 10, 20], [1, 2, 19], tolerance=2)
    2
    """
    pairs = i = j = 0
    while i < len(truth) and j < len(found):
        # Taking the first that fits leaves the most for those that follow.
        if abs(truth[i] - found[j]) <= tolerance:
            pairs, i, j = pairs + 1, i + 1, j + 1
        elif truth[i] < found[j]:
            i += 1
        else:
            j += 1
    return pairs


def word_errors(truth: Segmentation, found: Segmentation) -> pd.DataFrame:
    """Compare the times of the words that both have.

    Returns
    -------
    pandas.DataFrame
        One row a pair of `same_words`: ``utterance``, ``word``, and ``start`` and ``end``, found
        minus true, in seconds.

    Raises
    ------
    VoicePrivacyError
        If `found` lacks an utterance of `truth`.
    """
    rows = []
    for utterance in _common(truth, found):
        words = truth.words(utterance)
        pairs = same_words(words, found.words(utterance))
        apart = found.spans(utterance)[pairs[:, 1]] - truth.spans(utterance)[pairs[:, 0]]
        rows += [
            (utterance, words[place], *errors)
            for place, errors in zip(pairs[:, 0], (apart / RATE).tolist(), strict=True)
        ]
    return pd.DataFrame(rows, columns=["utterance", "word", "start", "end"])


def agreement(
    truth: Segmentation, found: Segmentation, tolerance: float = TOLERANCE
) -> pd.DataFrame:
    """Compare two segmentations utterance by utterance.

    Parameters
    ----------
    truth, found
        Words of the same utterances.
    tolerance
        How far apart two starts of words may lie and still be the same, in seconds.

    Returns
    -------
    pandas.DataFrame
        One row an utterance of `truth`: ``utterance``; ``true_words`` and ``found_words``, how
        many; ``same``, share of the true words that were found as text; ``recall`` and
        ``precision``, shares of the true and of the found starts that have a partner within the
        tolerance, and their harmonic mean ``f``; ``covered``, share of the true words' time
        that lies inside found words. Shares of nothing are 0.

    Raises
    ------
    VoicePrivacyError
        If `found` lacks an utterance of `truth`, or `truth` has one without words.

    Notes
    -----
    Starts and not ends, since they are where SegReConcat's gapless pieces are cut. Text does
    not matter for them: a word cut in the right place may be misheard.
    """
    rows = []
    for utterance in _common(truth, found):
        true, other = truth.spans(utterance), found.spans(utterance)
        if not len(true):
            raise VoicePrivacyError(
                f"utterance {utterance!r} has no words in {truth.name}: nothing to compare with."
            )
        hits = near(true[:, 0], other[:, 0], tolerance * RATE)
        shares = {
            "same": len(same_words(truth.words(utterance), found.words(utterance))) / len(true),
            "recall": hits / len(true),
            "precision": hits / max(len(other), 1),
            "f": 2 * hits / (len(true) + len(other)),
            "covered": _shared(true, other) / (true[:, 1] - true[:, 0]).sum(),
        }
        counts = {"true_words": len(true), "found_words": len(other)}
        rows.append({"utterance": utterance, **counts, **shares})
    return pd.DataFrame(rows)


def scores(
    truth: Segmentation, found: Segmentation, tolerance: float = TOLERANCE, *, seed: int = 0
) -> dict[str, float]:
    """Summarise `agreement` over the utterances that `found` knows, for one row of a table.

    Returns
    -------
    dict
        Means over utterances of ``f`` (with ``f_low`` and ``f_high``, a 95 % bootstrap interval
        that resamples utterances), ``recall``, ``precision``, ``same`` and ``covered``; and
        ``late``, the median of found minus true start over the words recognised, in seconds
        (NaN if there are none).
    """
    truth = _searched(truth, found)
    rows = agreement(truth, found, tolerance)
    low, high = cluster_bootstrap(rows["f"].to_numpy(), seed=seed)
    means = rows[["f", "recall", "precision", "same", "covered"]].mean().to_dict()
    late = float(word_errors(truth, found)["start"].median())
    return means | {"f_low": low, "f_high": high, "late": late}


def f_by_tolerance(
    truth: Segmentation, found: Segmentation, tolerances: Iterable[float]
) -> pd.Series:
    """Return the mean F of `agreement` for each tolerance in seconds, as `scores` has it.

    Examples
    --------
    >>> true = Segmentation("me", word_table([("u", "go", 0, 800)]))
    >>> late = Segmentation("you", word_table([("u", "go", 160, 800)]))
    >>> f_by_tolerance(true, late, [0.0, 0.01]).to_dict()
    {0.0: 0.0, 0.01: 1.0}
    """
    truth = _searched(truth, found)
    means = {t: float(agreement(truth, found, t)["f"].mean()) for t in tolerances}
    return pd.Series(means, name="f")


def inventory(
    found: Segmentation, lengths: Mapping[str, int], pause: float = 0.3
) -> dict[str, int]:
    """Count what was found, for one row of a table.

    Parameters
    ----------
    lengths
        Samples of each utterance.
    pause
        Longest stretch without words that is not counted, in seconds.

    Returns
    -------
    dict
        ``words``, ``repairs``, ``utterances`` and those ``without`` words; and utterances with
        a longer stretch than `pause` ``before``, ``between`` and ``after`` their words.
    """
    gaps = uncovered(found, lengths)
    counts = {
        "utterances": len(found.utterances),
        "without": len(found.no_words),
        "words": len(found.table),
        "repairs": len(found.repairs),
    }
    return counts | {where: int((gaps[where] > pause).sum()) for where in gaps.columns[1:]}


def uncovered(found: Segmentation, lengths: Mapping[str, int]) -> pd.DataFrame:
    """Measure the stretches in which no word was found.

    Parameters
    ----------
    lengths
        Samples of each utterance.

    Returns
    -------
    pandas.DataFrame
        One row an utterance with words: ``utterance``; and in seconds ``before`` the first word,
        ``between`` two words at most, and ``after`` the last.

    Examples
    --------
    >>> words = Segmentation("me", word_table([("u", "go", 8000, 9600), ("u", "on", 12800, 16000)]))
    >>> uncovered(words, {"u": 20_000}).to_numpy().tolist()
    [['u', 0.5, 0.2, 0.25]]
    """
    rows = []
    for utterance in found.utterances:
        spans = found.spans(utterance)
        if len(spans):
            between = (spans[1:, 0] - spans[:-1, 1]).max(initial=0)
            gaps = (spans[0, 0], between, lengths[utterance] - spans[-1, 1])
            rows.append((utterance, *(float(gap) / RATE for gap in gaps)))
    return pd.DataFrame(rows, columns=["utterance", "before", "between", "after"])


def equal_parts(truth: Segmentation, lengths: Mapping[str, int]) -> Segmentation:
    """Cut utterances into as many equal parts as they have words, without listening.

    What somebody reaches who knows the number of words only; a recogniser must do better.

    Parameters
    ----------
    lengths
        Samples of each utterance.

    Examples
    --------
    >>> words = Segmentation("me", word_table([("u", "go", 0, 2), ("u", "on", 5, 9)]))
    >>> equal_parts(words, {"u": 10}).spans("u").tolist()
    [[0, 5], [5, 10]]
    """
    rows = []
    for utterance in truth.utterances:
        words = len(truth.spans(utterance))
        limits = np.linspace(0, lengths[utterance], words + 1).astype(int).tolist()
        rows += [(utterance, "", *limits[k : k + 2]) for k in range(words)]
    return Segmentation("equal parts", word_table(rows))


def _searched(truth: Segmentation, found: Segmentation) -> Segmentation:
    """The true words of those utterances that were searched."""
    known = set(found.utterances)
    return truth.select([u for u in truth.utterances if u in known])


def _common(truth: Segmentation, found: Segmentation) -> list[str]:
    """The utterances of `truth`, all of which `found` must have."""
    lacking = sorted(set(truth.utterances) - set(found.utterances))
    if lacking:
        raise VoicePrivacyError(
            f"words of {found.name} lack {len(lacking)} utterances of {truth.name}: "
            f"{listed(lacking)}; compare words of one corpus."
        )
    return truth.utterances


def _shared(one: np.ndarray, other: np.ndarray) -> int:
    """Samples inside spans of both; the spans of each do not overlap."""
    starts = np.maximum(one[:, None, 0], other[None, :, 0])
    ends = np.minimum(one[:, None, 1], other[None, :, 1])
    return int(np.maximum(ends - starts, 0).sum())
