"""Charts of formulas: the reader's browser gets the numbers that the package computes."""

import html

import numpy as np
import pytest
import vl_convert
from scipy.stats import binom, norm
from test_interactive_charts import points, with_value

from voiceprivacy.interactive import VEGALITE
from voiceprivacy.interactive_formulas import reference_explorer, threshold_explorer
from voiceprivacy.reference import conditional_reference


def words(spec):
    return html.unescape(vl_convert.vegalite_to_svg(spec, vl_version=VEGALITE))


@pytest.mark.parametrize("n", [1, 2, 3, 5, 200])
def test_the_reference_is_the_package_s(n):
    told = words(with_value(reference_explorer().to_dict(), n=n))
    reference = conditional_reference(n)
    assert f"n = {n}: reference {reference:.4f}" in told
    assert f"{reference - np.exp(-1):.4f} above 1/e" in told


@pytest.mark.parametrize("n", [1, 2, 5, 40])
def test_matches_are_binomial(n):
    bars = points(with_value(reference_explorer().to_dict(), n=n), "rect")[:6]
    heights = [bar.get("height", 0) / 260 for bar in bars]
    assert heights == pytest.approx(binom.pmf(range(6), n, 1 / n), abs=1e-4)


@pytest.mark.parametrize(("theta", "d", "n"), [(1.0, 2.0, 100), (-3, 0, 2), (3.5, 4.5, 10_000)])
def test_the_threshold_s_errors_are_gaussian(theta, d, n):
    told = words(with_value(threshold_explorer().to_dict(), theta=theta, d=d, N=n))
    accepts, rejects = norm.sf(theta), norm.cdf(theta - d)
    assert f"False accepts {accepts:.1%}, false rejects {rejects:.1%}" in told
    assert f"equal error rate {norm.cdf(-d / 2):.1%} at θ = {d / 2:.2f}" in told
    assert f"among N = {n:,}: {1 - rejects:.2f} right and {(n - 1) * accepts:,.2f} wrong" in told
    alone = (1 - rejects) * binom.pmf(0, n - 1, accepts) + rejects * binom.pmf(1, n - 1, accepts)
    assert f"exactly one: {alone:.3f}" in told


def test_the_error_rates_cross_at_half_the_distance():
    rules = points(threshold_explorer(3.0).to_dict(), "rule")
    at = {round(rule["x"] / 480 * 12 - 4, 3) for rule in rules}
    assert at == {1.0, 1.5, round(norm.ppf(0.99), 3)}


def test_a_distance_of_the_notebook_moves_the_slider():
    (parameter,) = [p for p in threshold_explorer(3.0).to_dict()["params"] if p["name"] == "d"]
    assert parameter["value"] == 3.0
