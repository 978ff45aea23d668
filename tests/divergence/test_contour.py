r"""Each step from the inversion integral to a sum of doubles, against what it should be.

For a small law the sum S is enumerated, and with normal noise of standard deviation tau everything
is known in closed form: :math:`E(X-y)_+=\tau\varphi(a)+(s-y)\Phi(a)`, a = (s - y)/tau, averaged
over the values s of S.
"""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.special import ndtr

from shuffledp.decomposition import Law
from shuffledp.divergence.blocks import BlockSum
from shuffledp.divergence.contour import (
    assemble,
    bound_grid,
    chernoff_log_mean,
    contour_log_mean,
)
from shuffledp.divergence.enumeration import enumerate_log_mean
from shuffledp.divergence.nodes import _Nodes, sum_nodes
from shuffledp.divergence.proposals.grid import Grid, alias_points, choose_grid
from shuffledp.divergence.proposals.saddle import saddle_point
from shuffledp.divergence.tilt import TiltedSum, log_mgf_of_sum, tilt_sum

Array = NDArray[np.float64]


def make_law(values: list[float], weights: list[float]) -> Law:
    zeros = np.zeros(len(values))
    return Law(np.array(values), np.array(weights) / sum(weights), zeros, zeros.copy())


def one_block(law: Law, n: int) -> BlockSum:
    return BlockSum.of((law, n))


def tilted_sum(law: Law, n: int) -> TiltedSum:
    """At the saddle point."""
    total = one_block(law, n)
    return tilt_sum(total, saddle_point(total))


LAWS = {
    "binary": make_law([1.7, -2.3, 0.0], [0.25, 0.25, 0.5]),
    "three atoms": make_law([0.9, -0.4, -1.1], [0.3, 0.3, 0.4]),
    "rare": make_law([5.0, -5.5, 0.0], [0.01, 0.01, 0.98]),
    "one-sided": make_law([0.3, 0.1, 0.0], [0.2, 0.5, 0.3]),
}


def sums_of(law: Law, n: int) -> tuple[Array, Array]:
    """All values of S and their probabilities."""
    values = np.array([sum(v) for v in product(law.values, repeat=n)])
    weights = np.array([math.prod(w) for w in product(law.weights, repeat=n)])
    return values, weights


def mean_excess(law: Law, n: int, tau: float, level: float) -> float:
    """E(X - level)_+."""
    values, weights = sums_of(law, n)
    gap = values - level
    normal = np.exp(-0.5 * (gap / tau) ** 2) / math.sqrt(2 * math.pi)
    return float(weights @ (tau * normal + gap * ndtr(gap / tau)))


def density(law: Law, n: int, tau: float, level: float) -> float:
    """f_X(level)."""
    values, weights = sums_of(law, n)
    normal = np.exp(-0.5 * ((values - level) / tau) ** 2) / math.sqrt(2 * math.pi)
    return float(weights @ normal) / tau


class Setting:
    """A law, n, tau and the grid that the engine chooses, all sums in units of F(theta)."""

    def __init__(self, law: Law, n: int, tau: float, allowance: float) -> None:
        self.law, self.n, self.tau, self.allowance = law, n, tau, allowance
        self.tilted = tilted_sum(law, n)
        self.theta = self.tilted.theta
        mgfs = log_mgf_of_sum(one_block(law, n), alias_points(self.tilted, tau))
        grid = choose_grid(mgfs, self.tilted, tau, allowance)
        assert grid is not None
        self.grid = grid
        self.errors = bound_grid(mgfs, self.tilted, tau, grid)
        self.period = 2 * math.pi / grid.step
        self.unit = math.exp(self.tilted.log_mgf + 0.5 * (tau * self.theta) ** 2)

    def terms(self, function: object, orders: range) -> list[float]:
        """e^{theta m L} times the function at m L, in units of F(theta)."""
        result = []
        for m in orders:
            value = function(self.law, self.n, self.tau, m * self.period)  # type: ignore[operator]
            # Where the function is 0 to double precision the exponential must not matter.
            factor = math.exp(min(self.theta * m * self.period, 600.0))
            result.append(factor * value / self.unit if value else 0.0)
        return result


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("n", [1, 2, 5])
@pytest.mark.parametrize("tau", [0.05, 0.4])
@pytest.mark.parametrize("allowance", [1e-3, 1e-9])
def test_the_sum_over_nodes_is_the_periodised_mean(
    name: str, n: int, tau: float, allowance: float
) -> None:
    """Poisson summation: aliases and all, and nothing else but the errors that are stated."""
    here = Setting(LAWS[name], n, tau, allowance)
    grid = here.grid
    sums = sum_nodes(here.tilted, tau, grid, allowance, 1e9)
    assert sums is not None
    # On the far left E(X - mL)_+ is S - mL up to nothing, times an exponential: few m are enough.
    last = min(int(40 / (here.theta * here.period)) + 3, 4000)
    mean = sum(here.terms(mean_excess, range(-last, 4)))
    error = sums.rounding_mean + sums.skipped_mean + here.errors.tail_mean
    assert abs(sums.mean - mean) <= error + 1e-12 * mean
    height = sum(here.terms(density, range(-last, 4)))
    error = sums.rounding_density + sums.skipped_density + here.errors.tail_density
    assert abs(sums.density - height) <= error + 1e-12 * height


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("n", [1, 3, 6])
@pytest.mark.parametrize("allowance", [1e-2, 1e-5, 1e-9])
def test_aliases_stay_within_the_allowance(name: str, n: int, allowance: float) -> None:
    here = Setting(LAWS[name], n, 0.1, allowance)
    last = min(int(40 / (here.theta * here.period)) + 3, 4000)
    left = sum(here.terms(mean_excess, range(-last, 0)))
    right = sum(here.terms(mean_excess, range(1, 4)))
    assert left + right <= here.errors.alias
    assert here.errors.alias <= 1.001 * allowance


@pytest.mark.parametrize("tau", [0.02, 0.3, 5.0])
def test_what_lies_beyond_the_last_node_is_bounded(tau: float) -> None:
    """At worst the characteristic function has modulus 1 everywhere."""
    here = Setting(LAWS["binary"], 3, tau, 1e-6)
    t = here.grid.step * np.arange(here.grid.count + 1, 40 * here.grid.count)
    gaussian = np.exp(-0.5 * (tau * t) ** 2) * here.grid.step / math.pi
    assert float(gaussian.sum()) <= here.errors.tail_density
    assert float((gaussian / (here.theta**2 + t**2)).sum()) <= here.errors.tail_mean
    assert here.errors.tail_mean <= 1e-6


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("n", [1, 2, 5])
@pytest.mark.parametrize("tau", [0.01, 0.1, 0.5])
def test_assembled_bounds_hold_for_any_amount_of_smoothing(name: str, n: int, tau: float) -> None:
    """Not only for the tau that the engine would choose; the bias is bounded, not estimated."""
    allowance = 1e-6
    here = Setting(LAWS[name], n, tau, allowance)
    sums = sum_nodes(here.tilted, tau, here.grid, allowance, 1e9)
    assert sums is not None
    found = assemble(here.tilted, tau, here.errors, sums)
    enclosure, bias = found.enclosure, found.bias
    values, weights = sums_of(here.law, n)
    exact = float(weights @ np.maximum(values, 0))
    assert math.exp(enclosure.lower) <= exact * (1 + 1e-14)
    assert math.exp(enclosure.upper) >= exact * (1 - 1e-14)
    # The bias is that of the smoothed mean, without the part of S = 0 that is known exactly.
    zero = float(weights[np.all(sums_are_zero(here.law, n), axis=1)].sum())
    smoothed = mean_excess(here.law, n, tau, 0.0) - zero * tau / math.sqrt(2 * math.pi)
    assert smoothed - exact <= bias * here.unit * (1 + 1e-9) + 1e-15
    assert math.exp(enclosure.upper) >= smoothed * (1 - 1e-12)


def sums_are_zero(law: Law, n: int) -> NDArray[np.bool_]:
    return np.array(list(product(law.values == 0, repeat=n)))


@st.composite
def laws(draw: st.DrawFn) -> Law:
    size = draw(st.integers(2, 5))
    values = draw(st.lists(st.floats(-3, 3), min_size=size, max_size=size))
    weights = draw(st.lists(st.floats(0.02, 1.0), min_size=size, max_size=size))
    if draw(st.booleans()):
        values[0] = 0.0
    values[-1] = abs(values[-1]) + 0.05
    return make_law(values, weights)


def dense_terms(tilted: TiltedSum, tau: float, t: Array) -> NDArray[np.complex128]:
    """F(theta + it)/F(theta) at the nodes, straight from the definition."""
    product = np.exp(1j * t * (tilted.mean + tau**2 * tilted.theta) - 0.5 * (tau * t) ** 2)
    for law, n in zip(tilted.laws, tilted.times, strict=True):
        product *= (np.exp(1j * np.multiply.outer(t, law.centred)) @ law.probability) ** n
    return product


@settings(max_examples=60)
@given(law=laws(), n=st.sampled_from([3, 40, 1000, 30_000]), wide=st.booleans())
def test_skipped_nodes_add_no_more_than_their_bound(law: Law, n: int, wide: bool) -> None:
    tilted = tilted_sum(law, n)
    assume(tilted.deviation > 1e-3)
    sigma = math.sqrt(tilted.variance)
    tau = 0.3 * tilted.deviation * (0.1 if wide else 1.0)
    step = 2 * math.pi / (20 * sigma)
    count = int(7 / (tau * step))
    assume(count < 200_000)
    value = 1 / (tilted.theta**2 * 2.5 * math.hypot(sigma, 1.5 / tilted.theta))
    sums = sum_nodes(tilted, tau, Grid(step, count, 0, 0), 1e-5 * value, 1e8)
    assert sums is not None
    t = step * np.arange(count + 1)
    terms = dense_terms(tilted, tau, t) * step / math.pi
    terms[0] /= 2
    mean = float((terms / (tilted.theta + 1j * t) ** 2).real.sum())
    noise = 1e-15 * n * value * (1 + sigma * tilted.theta)  # of the reference
    error = sums.skipped_mean + sums.rounding_mean
    assert abs(sums.mean - mean) <= error + noise
    height = float(terms.real.sum())
    assert (
        abs(sums.density - height) <= sums.skipped_density + sums.rounding_density + noise / tau**2
    )
    # Skipping keeps to its share, and with many users it skips nearly everything.
    assert sums.skipped_mean <= 1e-4 * value
    if n == 30_000:
        assert sums.work < count * (law.size + 10) / 4


@settings(max_examples=60)
@given(
    law=laws(),
    n=st.sampled_from([1, 7, 200, 10_000]),
    start=st.integers(1, 5000),
    size=st.integers(1, 300),
)
def test_the_bound_of_a_stretch_bounds_its_terms(law: Law, n: int, start: int, size: int) -> None:
    tilted = tilted_sum(law, n)
    assume(tilted.deviation > 1e-3)
    step, tau = 0.01 / tilted.deviation, 0.01
    mean, height = _Nodes(tilted, tau, step).bounds(np.array([start]), np.array([size]))
    t = step * np.arange(start, start + size)
    terms = np.abs(dense_terms(tilted, tau, t)) * step / math.pi
    assert float(terms.sum()) <= height[0] * (1 + 1e-12)
    assert float((terms / (tilted.theta**2 + t**2)).sum()) <= mean[0] * (1 + 1e-12)


@settings(max_examples=40)
@given(law=laws(), n=st.sampled_from([2, 9, 300]))
def test_dense_and_sparse_evaluation_agree(law: Law, n: int) -> None:
    tilted = tilted_sum(law, n)
    assume(tilted.deviation > 1e-3)
    step, count, tau = 0.05 / math.sqrt(tilted.variance), 3000, 0.02
    sparse, dense = _Nodes(tilted, tau, step), _Nodes(tilted, tau, step)
    sparse.add(np.arange(count + 1))
    dense.add_all(count)
    first, second = sparse.sums, dense.sums
    assert abs(first.mean - second.mean) <= first.rounding_mean + second.rounding_mean
    assert abs(first.density - second.density) <= first.rounding_density + second.rounding_density
    assert first.rounding_mean <= second.rounding_mean  # centred sums are the accurate ones
    assert second.rounding_mean <= 1e-10 * max(first.mean, 1e-3 * first.density)


def test_too_much_work_is_refused() -> None:
    law = LAWS["binary"]
    tilted = tilted_sum(law, 3)
    assert sum_nodes(tilted, 1e-6, Grid(1e-3, 10**9, 0, 0), 1e-9, 1e5) is None
    enclosure = contour_log_mean(one_block(law, 3), 1e-6, 1.0)
    assert enclosure.lower == -math.inf


@settings(max_examples=60)
@given(law=laws(), n=st.sampled_from([2, 5, 12]))
def test_the_contour_meets_the_enumeration(law: Law, n: int) -> None:
    exact = enumerate_log_mean(one_block(law, n))
    assert exact.width < 1e-11
    for rtol in (1e-2, 1e-4, 1e-6):
        contour = contour_log_mean(one_block(law, n), rtol, 1e6)
        assert contour.lower <= exact.upper
        assert contour.upper >= exact.lower
    assert chernoff_log_mean(one_block(law, n)) >= exact.lower


@settings(max_examples=40)
@given(law=laws(), n=st.sampled_from([10**3, 10**6, 10**9, 10**12]))
def test_a_smaller_tolerance_gives_a_narrower_enclosure_of_the_same_number(
    law: Law, n: int
) -> None:
    previous = contour_log_mean(one_block(law, n), 1e-2, 1e6)
    for rtol in (1e-3, 1e-4, 1e-5):
        narrower = contour_log_mean(one_block(law, n), rtol, 1e6)
        assert narrower.lower <= previous.upper
        assert narrower.upper >= previous.lower
        previous = narrower


@settings(max_examples=60)
@given(law=laws(), n=st.sampled_from([2, 12, 1000]), exponent=st.integers(-90, 90))
def test_the_unit_of_the_values_does_not_matter(law: Law, n: int, exponent: int) -> None:
    """E S_+ is proportional to the values; tilts get as large as the values get small."""
    unit = 10.0**exponent
    scaled = Law(law.values * unit, law.weights, law.value_error, law.weight_error)
    plain, other = (contour_log_mean(one_block(x, n), 1e-4, 1e6) for x in (law, scaled))
    shift = math.log(unit)
    assert other.lower - shift <= plain.upper + 1e-12
    assert other.upper - shift >= plain.lower - 1e-12
    if plain.width <= 1e-4:
        assert other.width <= 1.01e-4


@pytest.mark.heavy(keep=32)
@pytest.mark.parametrize("top", [1.0, 1e-10, 1e-40, 1e-120])
@pytest.mark.parametrize("weight", [0.1, 1e-5, 1e-30, 1e-65])
@pytest.mark.parametrize("n", [2, 76, 100, 10**5])
def test_small_gains_beside_large_losses(top: float, weight: float, n: int) -> None:
    """A loss of 1 or a gain of ``top``: with few small gains, one loss spoils everything."""
    law = make_law([-1.0, top, 0.0], [weight, weight, 1 - 2 * weight])
    single = math.log(n) + math.log(weight) + math.log(top)
    without_loss = single + (n - 1) * math.log1p(-weight)
    above = without_loss if n * top < 1 else single
    enclosure = contour_log_mean(one_block(law, n), 1e-4, 1e6)
    assert enclosure.lower <= above + 1e-9
    assert enclosure.upper >= without_loss - 1e-9


def test_the_main_lobe_counts_as_work() -> None:
    """A law that hardly varies has a main lobe as wide as the grid: all its nodes must be paid."""
    law = make_law([1e-12, -1.0, 0.0], [0.3, 1e-30, 0.7])
    tilted = tilt_sum(one_block(law, 3), 1e12)
    count = 3_000_000
    step = 1 / (math.sqrt(tilted.variance) * count)
    assert sum_nodes(tilted, 1e-20, Grid(step, count, 0, 0), 1e-30, 1e4) is None
