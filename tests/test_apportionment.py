import numpy as np
import plain_assignment as plain
import pytest

from voiceprivacy.apportionment import fitted_table, largest_remainder, rounded_table
from voiceprivacy.errors import VoicePrivacyError


def random_table(rng, rows, columns, zeros):
    """A fitted table with whole margins, and the margins."""
    start = rng.gamma(0.8, 2.0, (rows, columns)) * (rng.random((rows, columns)) >= zeros)
    start[0] += 0.5
    total = int(rng.integers(1, 4 * rows * columns))
    row_margin = largest_remainder(total, start.sum(axis=1))
    column_margin = largest_remainder(total, start.sum(axis=0))
    return fitted_table(start, row_margin, column_margin), row_margin, column_margin


class TestLargestRemainder:
    def test_parliament_of_the_textbook(self):
        # Hamilton's rule on the usual example: exact shares 4.7, 1.6, 1.58, 1.2, .61, .31.
        votes = np.array([47000, 16000, 15800, 12000, 6100, 3100])
        assert largest_remainder(10, votes).tolist() == [5, 2, 1, 1, 1, 0]

    @pytest.mark.parametrize("seed", range(30))
    def test_equals_exact_arithmetic(self, seed):
        rng = np.random.default_rng(seed)
        weights = rng.integers(0, 12, rng.integers(1, 12)) + (np.arange(1) == 0)
        total = int(rng.integers(0, 60))
        expected = plain.shares_by_largest_remainder(total, weights.tolist())
        assert largest_remainder(total, weights).tolist() == expected

    def test_ties_go_to_the_first_whatever_the_whole_part(self):
        # Exact shares 0.5, 1.5, 2.5, 3.5: all fractions equal.
        assert largest_remainder(8, np.array([0.1, 0.3, 0.5, 0.7])).tolist() == [1, 2, 2, 3]

    def test_more_weights_than_units(self):
        assert largest_remainder(2, np.array([1.0, 3.0, 2.0, 0.0])).tolist() == [0, 1, 1, 0]

    def test_whole_shares_stay(self):
        # 0.3 * 10 is not 3 in floating point.
        weights = np.array([0.1, 0.2, 0.3, 0.4])
        assert largest_remainder(10, weights).tolist() == [1, 2, 3, 4]

    @pytest.mark.parametrize("weights", [[0.0, 0.0], [1.0, -1.0], [1.0, np.nan], []])
    def test_refuses_weights_that_give_no_shares(self, weights):
        with pytest.raises(VoicePrivacyError, match="finite and non-negative"):
            largest_remainder(3, np.array(weights))


class TestFittedTable:
    def test_closed_form_of_two_by_two(self):
        # The odds ratio of the start stays 6: x (x - 1) = 6 (3 - x)(4 - x), so that
        # 5x² - 41x + 72 = 0.
        start = np.array([[6.0, 1.0], [1.0, 1.0]])
        fitted = fitted_table(start, np.array([3, 3]), np.array([4, 2]))
        x = fitted[0, 0]
        odds = fitted[0, 0] * fitted[1, 1] / (fitted[0, 1] * fitted[1, 0])
        assert x == pytest.approx((41 - np.sqrt(241)) / 10, abs=1e-8)
        assert odds == pytest.approx(6)

    def test_uniform_start_gives_independence(self):
        rows, columns = np.array([4, 2]), np.array([1, 2, 3])
        fitted = fitted_table(np.ones((2, 3)), rows, columns)
        np.testing.assert_allclose(fitted, np.outer(rows, columns) / 6)

    def test_margins_and_a_fitted_start_are_kept(self):
        start = np.array([[1.0, 2.0], [3.0, 4.0]])
        np.testing.assert_allclose(fitted_table(start, start.sum(1), start.sum(0)), start)

    @pytest.mark.parametrize("seed", range(8))
    def test_equals_plain_loops(self, seed):
        rng = np.random.default_rng(seed)
        start = rng.integers(1, 30, (4, 3)).astype(float)
        rows = largest_remainder(50, rng.random(4) + 0.1)
        columns = largest_remainder(50, rng.random(3) + 0.1)
        expected = plain.fit(start, rows, columns)
        np.testing.assert_allclose(fitted_table(start, rows, columns), expected, atol=1e-7)

    def test_zeros_stay_where_the_margins_allow(self):
        start = np.array([[0.0, 5.0, 1.0], [5.0, 5.0, 1.0]])
        fitted = fitted_table(start, np.array([6, 6]), np.array([3, 6, 3]))
        assert fitted[0, 0] == 0

    @pytest.mark.parametrize(
        "start",
        [
            [[1.0, 0.0], [1.0, 0.0]],  # a column that is nowhere
            [[1.0, 0.0], [0.0, 1.0]],  # 3 units fit nowhere
            [[0.0, 0.0], [1.0, 1.0]],  # an empty row
        ],
    )
    def test_zeros_that_contradict_the_margins_give_way(self, start):
        rows, columns = np.array([5, 1]), np.array([2, 4])
        fitted = fitted_table(np.array(start), rows, columns)
        np.testing.assert_allclose(fitted.sum(axis=1), rows, atol=1e-7)
        np.testing.assert_allclose(fitted.sum(axis=0), columns, atol=1e-7)

    def test_a_cell_that_would_vanish_too_slowly_keeps_something(self):
        ones = np.array([1, 1])
        fitted = fitted_table(np.array([[1.0, 148.0], [147.0, 0.0]]), ones, ones)
        np.testing.assert_allclose([fitted.sum(0), fitted.sum(1)], 1, atol=1e-7)
        assert 0 < fitted[0, 0] < 0.1


class TestRoundedTable:
    @pytest.mark.parametrize("seed", range(60))
    def test_keeps_both_margins_within_floor_and_ceiling(self, seed):
        rng = np.random.default_rng(seed)
        shape = rng.integers(1, 40), rng.integers(1, 20)
        table, rows, columns = random_table(rng, *shape, zeros=0.3 * (seed % 2))
        whole = rounded_table(table, rows, columns)
        assert (whole.sum(axis=1) == rows).all()
        assert (whole.sum(axis=0) == columns).all()
        assert (np.floor(table + 1e-7) <= whole).all()
        assert (whole <= np.ceil(table - 1e-7)).all()

    @pytest.mark.parametrize("seed", range(25))
    def test_no_other_rounding_is_nearer(self, seed):
        rng = np.random.default_rng(100 + seed)
        table, rows, columns = random_table(rng, 4, 4, zeros=0.2 * (seed % 2))
        distance = ((rounded_table(table, rows, columns) - table) ** 2).sum()
        least = plain.nearest_rounding_distance(table, rows, columns)
        assert distance == pytest.approx(least, abs=1e-5)

    def test_whole_cells_stay_even_where_raising_one_would_be_nearer(self):
        # The identity is nearer to this table than any table that leaves its corner at 0.
        table = 0.9 * np.eye(11)
        table[0], table[:, 0], table[0, 0] = 0.1, 0.1, 0.0
        whole = rounded_table(table, np.ones(11), np.ones(11))
        assert whole[0, 0] == 0
        assert whole.trace() == 9
        # The same upside down, with a corner that fitting left a hair below 1.
        table = 1 - table
        table[0, 0] -= 1e-10
        assert rounded_table(table, np.full(11, 10), np.full(11, 10))[0, 0] == 1

    def test_whole_tables_stay(self):
        table = np.array([[3.0, 0.0], [1.0, 2.0]])
        assert (rounded_table(table, table.sum(1), table.sum(0)) == table).all()

    def test_ties_everywhere(self):
        # Ten equal areas, two equal classes: every fraction is a half.
        whole = rounded_table(np.full((10, 2), 1.5), np.full(10, 3), np.array([15, 15]))
        assert (whole.sum(axis=0) == 15).all()
        assert set(whole.ravel()) == {1, 2}

    def test_one_row_and_one_column(self):
        assert rounded_table(np.array([[2.0, 1.0]]), [3], [2, 1]).tolist() == [[2, 1]]
        assert rounded_table(np.array([[2.0], [1.0]]), [2, 1], [3]).tolist() == [[2], [1]]

    def test_rare_class_over_many_areas(self):
        # Three speakers over a hundred areas: no cell would round up on its own.
        table = np.column_stack([np.full(100, 0.03), np.full(100, 1.97)])
        whole = rounded_table(table, np.full(100, 2), np.array([3, 197]))
        assert whole[:, 0].sum() == 3
