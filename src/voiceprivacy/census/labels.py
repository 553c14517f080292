"""Table headings and category labels, read into what they mean whatever their spelling."""

import math
import re
from collections.abc import Callable, Mapping
from typing import NamedTuple


class Range(NamedTuple):
    """Inclusive whole-number range of ages or household sizes; `high` is infinite for "or more"."""

    low: int
    high: float

    def holds(self, other: "Range") -> bool:
        """Whether `other` lies inside."""
        return self.low <= other.low and other.high <= self.high

    def __str__(self) -> str:
        if self.high == math.inf:
            return f"{self.low} and over"
        return str(self.low) if self.low == self.high else f"{self.low} to {self.high:g}"


TOTAL = "total"
"""The category of a column that counts everybody."""

Category = str | Range


def tidy(label: str) -> str:
    """Lower case, every dash a blank, single blanks.

    Examples
    --------
    >>> tidy("One-person  household: Other")
    'one person household: other'
    """
    return re.sub(r"[\s\-\u2010-\u2015]+", " ", label).strip().lower()


_AGES: tuple[tuple[str, Callable[..., Range]], ...] = (
    (r"(?:aged )?under (\d+) years?", lambda n: Range(0, n - 1)),
    (r"(?:aged )?(\d+) years? and under", lambda n: Range(0, n)),
    (r"(?:aged )?(\d+) to (\d+)(?: years)?", Range),
    (r"(?:aged )?(\d+)(?: years?)? (?:and|or) over", lambda n: Range(n, math.inf)),
    (r"(?:aged )?(\d+) years?", lambda n: Range(n, n)),
)
_SIZES: tuple[tuple[str, Callable[..., Range]], ...] = (
    (r"(\d+) (?:person|people) in household", lambda n: Range(n, n)),
    (r"(\d+) or more people in household", lambda n: Range(n, math.inf)),
)


def _range(forms: tuple[tuple[str, Callable[..., Range]], ...]) -> Callable[[str], Range | None]:
    def parse(label: str) -> Range | None:
        for pattern, make in forms:
            if found := re.fullmatch(pattern, label):
                return make(*map(int, found.groups()))
        return None

    return parse


def _starting(*beginnings: str) -> Callable[[str], str | None]:
    def parse(label: str) -> str | None:
        return label if label.startswith(beginnings) else None

    return parse


VARIABLES: Mapping[str, Callable[[str], Category | None]] = {
    "sex": lambda label: label if label in ("female", "male") else None,
    "age": _range(_AGES),
    "household size": _range(_SIZES),
    "residence type": _starting("lives in a "),
    "household composition": _starting(
        "one person household", "single family household", "other household types"
    ),
    "marital and civil partnership status": _starting(
        "never married", "married or in", "separated", "divorced", "widowed"
    ),
    "number of households": lambda label: TOTAL if label == "number of households" else None,
}
"""The variables of the tables that we use, and how to read a tidied category of each."""

_DIMENSIONS = {
    "sex": "sex",
    "age": "age",
    "hhsize": "household size",
    "restype": "residence type",
    "hhcomp": "household composition",
    "lpstat": "marital and civil partnership status",
}


def variable_named(name: str) -> str | None:
    """Return the variable of a dimension name of the Nomis API or of an ONS custom dataset.

    Examples
    --------
    >>> variable_named("C2021_HHSIZE_10_NAME"), variable_named("Age (B) (18 categories)")
    ('household size', 'age')
    """
    if found := re.match(r"c(?:2021)?_([a-z]+)", name.lower()):
        return _DIMENSIONS.get(found[1])
    plain = tidy(re.sub(r"\([^)]*\)", "", name))
    return plain if plain in VARIABLES else None


def category(variable: str, label: str) -> Category | None:
    """Return the meaning of a category's label, or None if `variable` has no such category.

    Examples
    --------
    >>> category("age", "Aged 85 years and over")
    Range(low=85, high=inf)
    >>> category("sex", "All persons"), category("sex", "Persons")
    ('total', None)
    """
    return TOTAL if _is_total(label) else VARIABLES[variable](tidy(label))


def _is_total(label: str) -> bool:
    text = tidy(label)
    return text.startswith(("total", "all persons", "all usual residents", "all households"))


def heading(text: str) -> dict[str, Category] | None:
    """Return what a column counts, as ``{variable: category}``, or None if it is not understood.

    Examples
    --------
    >>> heading("Sex: Female; Age: Aged 16 to 19 years; measures: Value")
    {'sex': 'female', 'age': Range(low=16, high=19)}
    >>> heading("2 people in household")
    {'household size': Range(low=2, high=2)}
    >>> heading("Total: All usual residents"), heading("Tenure: Owned")
    ({}, None)
    """
    meaning: dict[str, Category] = {}
    for part in text.split(";"):
        if tidy(part).startswith("measures:"):
            continue
        found = _part(part)
        if found is None:
            return None
        meaning |= found
    return meaning


def _part(text: str) -> dict[str, Category] | None:
    name, colon, rest = text.partition(":")
    if colon and tidy(name) in VARIABLES:
        found = category(tidy(name), rest)
        return None if found is None else {tidy(name): found}
    if _is_total(text):
        return {}
    meanings = ((variable, category(variable, text)) for variable in VARIABLES)
    return next(({name: found} for name, found in meanings if found is not None), None)


def mentioned(text: str) -> str | None:
    """Return the variable a heading starts with, understood or not: ``"Sex: Boys"`` is sex."""
    name = tidy(text.partition(":")[0])
    return name if name in VARIABLES else None
