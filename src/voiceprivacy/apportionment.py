"""Whole numbers in given proportions: largest remainders, fitted tables, rounding to margins."""

from itertools import pairwise

import numpy as np

from voiceprivacy.errors import VoicePrivacyError

_TOLERANCE = 1e-9  # how near a fitted cell or margin must be to count as met
_PASSES = 2000
# Weights of the independence table in a start that the margins contradict; alone it has them.
_BLENDS = (1e-3, 1e-2, 1e-1, 1.0)
_SCALE = 10**6  # rounding costs are whole numbers, so that ties are ties on every machine
_FORBIDDEN = 10**12  # cost of raising a cell that is whole already
_NO_MOVE = 10**15
_SWEEPS = 5  # over the column prices; few repairs are left after them


def largest_remainder(total: int, weights: np.ndarray) -> np.ndarray:
    """Share `total` units in proportion to `weights` by the largest-remainder rule.

    Each weight gets the whole part of its exact share; the units left go to the largest
    fractional parts, the earlier weight first when two are equal (Hamilton's rule).

    Parameters
    ----------
    total
        Units to share, at least 0.
    weights
        Shape (n,), finite, non-negative, not all zero.

    Returns
    -------
    numpy.ndarray
        Shape (n,), int64, sums to `total`; each within one unit of its exact share.

    Raises
    ------
    VoicePrivacyError
        If the weights are negative, not finite, or all zero.

    Examples
    --------
    >>> largest_remainder(10, np.array([1.0, 1.0, 1.0]))
    array([4, 3, 3])
    >>> largest_remainder(3, np.array([60.0, 0.0, 40.0]))
    array([2, 0, 1])
    """
    weights = np.asarray(weights, dtype=float)
    if not (np.isfinite(weights).all() and (weights >= 0).all() and weights.sum() > 0):
        raise VoicePrivacyError(
            f"cannot share {total} units in proportion to {len(weights)} weights: they must be "
            "finite and non-negative, and at least one must be above zero."
        )
    shares = total * (weights / weights.sum())
    whole = np.floor(shares).astype(np.int64)
    # Rounded, so that equal fractions tie whatever the last bit of the division.
    order = np.argsort(-np.round(shares - whole, 9), kind="stable")
    whole[order[: total - whole.sum()]] += 1
    return whole


def fitted_table(start: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Scale `start` to both margins by iterative proportional fitting.

    The result is `start` times one factor a row and one a column: it keeps the odds ratios of
    `start`, and among tables with these margins it is the one of least relative entropy to it.

    Parameters
    ----------
    start
        Shape (n, k), non-negative. A row or column whose margin is above zero must not be zero.
    rows, columns
        Margins, shapes (n,) and (k,), non-negative, with equal sums.

    Returns
    -------
    numpy.ndarray
        Shape (n, k), real-valued, both margins met to 1e-9.

    Notes
    -----
    Zeros of `start` stay zero unless no table with those zeros has the margins, or scaling comes
    near one too slowly; then a thousandth of the margins' independence table is blended into
    `start` first, and ten times as much for as long as that does not help.

    References
    ----------
    Deming and Stephan (1940), "On a least squares adjustment of a sampled frequency table when
    the expected marginal totals are known", Annals of Mathematical Statistics 11(4).

    Examples
    --------
    >>> fitted_table(np.array([[1.0, 1.0], [1.0, 1.0]]), np.array([4, 2]), np.array([3, 3]))
    array([[2., 2.],
           [1., 1.]])
    """
    rows, columns = np.asarray(rows, dtype=float), np.asarray(columns, dtype=float)
    start = np.asarray(start, dtype=float)
    table, met = _scaled(start, rows, columns)
    blends = iter(_BLENDS)
    while not met:
        part = next(blends)
        independent = np.outer(rows, columns) / rows.sum()
        blended = (1 - part) * start / start.sum() * rows.sum() + part * independent
        table, met = _scaled(blended, rows, columns)
    return table


def _scaled(table: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> tuple[np.ndarray, bool]:
    """Alternate row and column scalings; say whether the margins were met."""
    for _ in range(_PASSES):
        table = table * _factors(rows, table.sum(axis=1))[:, None]
        table = table * _factors(columns, table.sum(axis=0))
        if np.abs(table.sum(axis=1) - rows).max(initial=0) < _TOLERANCE:
            return table, bool(np.abs(table.sum(axis=0) - columns).max(initial=0) < _TOLERANCE)
    return table, False


def _factors(margin: np.ndarray, sums: np.ndarray) -> np.ndarray:
    return np.divide(margin, sums, out=np.zeros_like(margin), where=sums > 0)


def rounded_table(table: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Round a real-valued table to whole numbers that keep both margins.

    Every cell becomes its floor or its ceiling, and of all such tables with these margins the
    result has the least summed distance to `table` (absolute or squared: raising a cell of
    fraction f instead of lowering it costs 1 - 2f either way).

    Parameters
    ----------
    table
        Shape (n, k), non-negative; sums along both axes equal the margins.
    rows, columns
        Whole margins, shapes (n,) and (k,).

    Returns
    -------
    numpy.ndarray
        Shape (n, k), int64.

    Notes
    -----
    A whole table within floor and ceiling always exists, because the constraints are those of
    a flow in a bipartite network [1]_. Which cells to raise is the cheapest such flow, found
    by successive shortest paths on whole costs, so the answer is the same on every machine.

    References
    ----------
    .. [1] Causey, Cox and Ernst (1985), "Applications of transportation theory to statistical
       problems", Journal of the American Statistical Association 80(392).

    Examples
    --------
    >>> rounded_table(np.array([[0.6, 0.4], [1.4, 1.6]]), np.array([1, 3]), np.array([2, 2]))
    array([[1, 0],
           [1, 2]])
    """
    floors = np.floor(np.asarray(table) + 10 * _TOLERANCE).astype(np.int64)
    fractions = np.clip(table - floors, 0, 1)
    costs = np.rint((1 - 2 * fractions) * _SCALE).astype(np.int64)
    costs[fractions < 10 * _TOLERANCE] = _FORBIDDEN
    rows, columns = np.asarray(rows, dtype=np.int64), np.asarray(columns, dtype=np.int64)
    return floors + _cheapest_choice(costs, rows - floors.sum(axis=1), columns - floors.sum(axis=0))


def _cheapest_choice(costs: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Choose rows[i] cells of row i and columns[j] of column j at the least total cost."""
    # Cheapest in every row at some column prices means that no exchange of choices which keeps
    # the columns' sums can pay: the start for successive shortest paths.
    priced = costs - _column_prices(costs, rows, columns)
    rank = np.argsort(np.argsort(priced, axis=1, kind="stable"), axis=1, kind="stable")
    chosen = rank < rows[:, None]
    excess = chosen.sum(axis=0) - columns
    while excess.any():
        price, row = _column_moves(costs, chosen)
        path = _cheapest_path(price, excess)
        for origin, goal in pairwise(path):
            chosen[row[origin, goal], [origin, goal]] = False, True
        excess[path[0]] -= 1
        excess[path[-1]] += 1
    return chosen


def _column_prices(costs: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Subsidies at which the rows' cheapest cells come near to the columns' sums."""
    count, size = costs.shape
    prices = np.zeros(size, dtype=np.int64)
    for j in [*range(size)] * (_SWEEPS if size > 1 else 0):
        others = np.sort(np.delete(costs - prices, j, axis=1), axis=1)
        last = others[np.arange(count), np.clip(rows - 1, 0, size - 2)]
        needed = np.sort(np.where((rows > 0) & (rows < size), costs[:, j] - last, _NO_MOVE))
        low = needed[columns[j] - 1] if columns[j] > 0 else needed[0] - 2 * _SCALE
        high = needed[columns[j]] if columns[j] < count else _NO_MOVE
        prices[j] = (low + min(high, low + 2 * _SCALE)) // 2 + 1
    return prices


def _column_moves(costs: np.ndarray, chosen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Price of moving one choice from column j to column l inside a row, and the row to do it."""
    size = costs.shape[1]
    price, row = np.empty((size, size), dtype=np.int64), np.empty((size, size), dtype=np.int64)
    for j in range(size):
        change = np.where(chosen[:, [j]] & ~chosen, costs - costs[:, [j]], _NO_MOVE)
        row[j] = change.argmin(axis=0)
        price[j] = change[row[j], np.arange(size)]
    return price, row


def _cheapest_path(price: np.ndarray, excess: np.ndarray) -> list[int]:
    """Columns along the cheapest path from one with too many choices to one with too few."""
    distance = np.where(excess > 0, 0, _NO_MOVE)
    before = np.full(len(excess), -1)
    for _ in excess:
        through = distance[:, None] + price
        nearest = through.min(axis=0)
        better = nearest < distance
        distance = np.where(better, nearest, distance)
        before = np.where(better, through.argmin(axis=0), before)
    path = [int(np.where(excess < 0, distance, 2 * _NO_MOVE).argmin())]
    while before[path[0]] >= 0:
        path.insert(0, int(before[path[0]]))
    return path
