"""Whether a reproduced value agrees with what a paper prints."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pandas as pd

from voiceprivacy.errors import VoicePrivacyError, listed

VERDICTS = ("matches", "differs", "stand-in data", "not run")
ROUNDING_ERROR = 1e-9  # intervals come rounded to 12 decimals, values do not


@dataclass(frozen=True)
class NotRun:
    """In place of a value that was not computed.

    Parameters
    ----------
    missing
        What it would take, such as "train-clean-360 anonymized with B1".

    Examples
    --------
    >>> NotRun("a GPU").missing
    'a GPU'
    """

    missing: str


Value = float | tuple[float, float, float] | NotRun
Terms = Mapping[str, Value]


class Judged(NamedTuple):
    """A reproduced value with its interval, its verdict, and what to say about it."""

    reproduced: float = np.nan
    low: float = np.nan
    high: float = np.nan
    verdict: str = "not run"
    note: str = ""


def judge(printed: pd.Series, found: Value | Terms) -> Judged:
    """Judge one reproduced value, or the values of an ordering's terms.

    Parameters
    ----------
    printed
        A row of `voiceprivacy.published.published`.
    found
        What was reproduced; see `voiceprivacy.comparison.compare`, which states the rules.

    Raises
    ------
    VoicePrivacyError
        If an ordering lacks a term, a number comes as terms, or a value lies outside its own
        interval.
    """
    if isinstance(found, NotRun):
        return Judged(note=f"missing: {found.missing}")
    if printed["kind"] == "ordering":
        return _judge_ordering(printed, found)
    if isinstance(found, Mapping):
        raise VoicePrivacyError(f"{printed['item']}: expected one number, got terms to order.")
    value, low, high = _triple(printed["item"], found)
    if np.isnan(value):
        return Judged(note="missing: no evaluation gives this value")
    if printed["kind"] == "bound":
        agrees = printed["low"] <= value < printed["high"]
    else:
        agrees = _overlap((value, low, high), tuple(printed[["value", "low", "high"]]))
    return Judged(value, low, high, "matches" if agrees else "differs")


def _judge_ordering(printed: pd.Series, found: Terms) -> Judged:
    """Judge an ordering; the values go into the note."""
    if not isinstance(found, Mapping):
        raise VoicePrivacyError(
            f"{printed['item']}: an ordering needs a value for each of its terms "
            f"({printed['printed']}), as a mapping; got {found!r}."
        )
    terms = printed["printed"].split(" < ")
    found = {term: float(term) for term in terms if _is_number(term)} | dict(found)
    if absent := [term for term in terms if term not in found]:
        raise VoicePrivacyError(
            f"{printed['item']}: the paper orders {printed['printed']}; "
            f"no value for {listed(absent)} among {listed(found)}."
        )
    if missing := [found[term].missing for term in terms if isinstance(found[term], NotRun)]:
        return Judged(note=f"missing: {'; '.join(missing)}")
    triples = [_triple(f"{printed['item']}, {term}", found[term]) for term in terms]
    if np.isnan([value for value, _, _ in triples]).any():
        return Judged(note="missing: no evaluation gives one of the values")
    holds = all(below[0] < above[0] for below, above in pairwise(triples))
    note = _order_note(terms, triples)
    return Judged(verdict="matches" if holds else "differs", note=note)


def _order_note(terms: Sequence[str], triples: Sequence[tuple[float, float, float]]) -> str:
    """Our values in the paper's order, and which neighbours our intervals cannot tell apart."""
    values = ", ".join(
        term if _is_number(term) else f"{term} {digits(triple[0])}"
        for term, triple in zip(terms, triples, strict=True)
    )
    neighbours = zip(pairwise(terms), pairwise(triples), strict=True)
    blurred = [" and ".join(names) for names, ours in neighbours if _overlap(*ours)]
    return values + (f" (intervals overlap: {'; '.join(blurred)})" if blurred else "")


def _overlap(a: tuple[float, float, float], b: tuple[float, float, float]) -> bool:
    """Whether two (value, low, high) share a point; without an interval it is the value alone."""
    (a_low, a_high), (b_low, b_high) = (
        (value, value) if np.isnan(low) else (low, high) for value, low, high in (a, b)
    )
    return max(a_low, b_low) <= min(a_high, b_high)


def _triple(where: str, found: float | tuple[float, float, float]) -> tuple[float, float, float]:
    """`found` as (value, low, high)."""
    value, low, high = found if isinstance(found, tuple) else (found, np.nan, np.nan)
    if value < low - ROUNDING_ERROR or value > high + ROUNDING_ERROR:
        raise VoicePrivacyError(
            f"{where}: the value {value} lies outside its own interval [{low}, {high}]; "
            "expected (value, low, high)."
        )
    return float(value), float(low), float(high)


def _is_number(term: str) -> bool:
    """Whether an ordering's term stands for itself, such as 0."""
    try:
        float(term)
    except ValueError:
        return False
    return True


def digits(number: float) -> str:
    """Write three decimals for rates, fewer for counts and sizes, nothing for NaN.

    >>> digits(0.58512), digits(1.0), digits(5), digits(123.44), digits(float("nan"))
    ('0.585', '1.000', '5', '123.4', '')
    """
    if np.isnan(number):
        return ""
    if abs(number) > 1 and number == round(number):
        return f"{number:,.0f}"
    return f"{number:.3f}" if abs(number) < 10 else f"{number:,.1f}"


def digits_with_interval(number: float, low: float, high: float) -> str:
    """Write a number, and its interval where there is one.

    >>> digits_with_interval(0.585, 0.57, 0.6), digits_with_interval(5, float("nan"), float("nan"))
    ('0.585 (0.570 to 0.600)', '5')
    """
    value = digits(number)
    return value if np.isnan(low) else f"{value} ({digits(low)} to {digits(high)})"
