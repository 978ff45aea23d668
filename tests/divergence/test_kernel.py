"""Hinge and hockey stick of sums with an offset: every error term, against exact outcomes.

The oracle enumerates the sum in fractions and averages :math:`(1-e^{-cx})/c` at 60 digits.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from exact_sums import ExactSum, contains, hinge
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr

from shuffledp.decomposition import Law
from shuffledp.divergence import (
    HINGE,
    HOCKEY_STICK,
    BlockSum,
    Kernel,
    LogEnclosure,
    contour,
    elementary,
    enumeration,
    log_mean,
    log_mean_positive,
)
from shuffledp.divergence.contour import (
    GridErrors,
    assemble,
    bound_grid,
    chernoff_log_mean,
    contour_log_mean,
)
from shuffledp.divergence.elementary import elementary_log_mean
from shuffledp.divergence.enumeration import enumerate_log_mean
from shuffledp.divergence.nodes import NodeSums, _Nodes, sum_nodes
from shuffledp.divergence.proposals.grid import Grid, alias_points, choose_grid
from shuffledp.divergence.proposals.saddle import saddle_point
from shuffledp.divergence.tilt import log_mgf_of_sum, tilt_sum

NONE = GridErrors(alias=0.0, tail_mean=0.0, tail_density=0.0)
CURVATURES = [0.0, 1e-6, 0.3, 1.0, 40.0]


def make_law(values: list[float], weights: list[float]) -> Law:
    zeros = np.zeros(len(values))
    return Law(np.array(values), np.array(weights) / sum(weights), zeros, zeros.copy())


SKEWED = make_law([0.9, -0.4, -1.1], [0.3, 0.3, 0.4])
BINARY = make_law([1.7, -2.3, 0.0], [0.25, 0.25, 0.5])


@st.composite
def exact_sums(draw: st.DrawFn) -> ExactSum:
    """One or two blocks of dyadic laws and an offset that sums may hit."""
    blocks = []
    for most in draw(st.sampled_from([(6,), (4, 3), (1, 5)])):
        size = draw(st.integers(1, 3))
        values = draw(st.lists(st.integers(-24, 24), min_size=size, max_size=size))
        counts = draw(st.lists(st.integers(1, 60), min_size=size - 1, max_size=size - 1))
        weights = [Fraction(k, 256) for k in counts]
        weights.append(1 - sum(weights))
        atoms = [(Fraction(v, 8), w) for v, w in zip(values, weights, strict=True)]
        blocks.append((atoms, draw(st.integers(1, most))))
    return ExactSum(blocks, Fraction(draw(st.integers(-64, 64)), 8))


# -- the function ---------------------------------------------------------------------------------


@settings(max_examples=200)
@given(x=st.floats(-5, 5), exponent=st.integers(-30, 3), c=st.sampled_from(CURVATURES))
def test_the_function_and_its_units(x: float, exponent: int, c: float) -> None:
    x *= 10.0**exponent
    (value,) = Kernel(c).at(np.array([x]))
    with mpmath.workdps(60):
        exact = hinge(mpmath.mpf(x), c) if x > 0 else mpmath.mpf(0)
        assert abs(value - exact) <= 8 * 2.0**-53 * exact
        # In other units: f_c(x/a) = f_(c/a)(x)/a.
        (scaled,) = Kernel(c).in_units(7.5).at(np.array([7.5 * x]))
        assert scaled == pytest.approx(7.5 * value, rel=1e-14)


@pytest.mark.parametrize("c", CURVATURES)
@pytest.mark.parametrize("s", [1e-9, 0.01, 0.7, 30.0])
def test_the_peak_is_the_largest_value_of_the_tilted_function(c: float, s: float) -> None:
    kernel = Kernel(c)
    best = math.log1p(c / s) / c if c else 1 / s  # where the derivative vanishes
    x = best * np.linspace(0.5, 2.0, 2001)
    peak = math.exp(sum(kernel.log_peak(s)))
    tilted = kernel.at(x) * np.exp(-s * x)
    assert tilted.max() <= peak * (1 + 1e-13)
    assert float(kernel.at(np.array([best]))[0]) * math.exp(-s * best) == pytest.approx(
        peak, rel=1e-9
    )


@pytest.mark.parametrize("c", [-1e-9, math.nan, math.inf])
def test_no_such_kernel(c: float) -> None:
    with pytest.raises(ValueError, match="curvature"):
        Kernel(c)


def test_no_such_offset() -> None:
    with pytest.raises(ValueError, match="offset"):
        BlockSum.of((SKEWED, 1), offset=math.inf)


# -- every method against exact outcomes ----------------------------------------------------------


@settings(max_examples=200)
@given(case=exact_sums(), c=st.sampled_from(CURVATURES), rtol=st.sampled_from([1e-2, 1e-4, 1e-7]))
def test_every_method_encloses_the_exact_mean(case: ExactSum, c: float, rtol: float) -> None:
    total, kernel, exact = case.doubles(), Kernel(c), case.mean(c)
    assert contains(elementary_log_mean(total, kernel), exact)
    assert contains(enumerate_log_mean(total, kernel), exact)
    enclosure = log_mean(total, kernel, rtol=rtol)
    assert contains(enclosure, exact)
    assert exact == 0 or enclosure.width <= rtol
    if c == 0:
        assert contains(log_mean_positive(total, total, rtol=rtol).enclosure, exact)
    if total.largest[0] > 0:
        assert contains(contour_log_mean(total, rtol, 1e6, kernel=kernel), exact)
        assert contains(LogEnclosure(-math.inf, chernoff_log_mean(total, kernel)), exact)


@settings(max_examples=150)
@given(
    case=exact_sums(),
    c=st.sampled_from(CURVATURES),
    tau=st.floats(0.01, 0.8),
    theta=st.floats(0.05, 3.0),
    step=st.floats(0.02, 0.5),
    points=st.tuples(st.floats(0.05, 0.95), st.floats(1.05, 4.0)),
)
def test_any_parameters_are_valid(
    case: ExactSum, c: float, tau: float, theta: float, step: float, points: tuple[float, float]
) -> None:
    """The error terms themselves, without the engine's choice of tilt, noise and nodes."""
    total, kernel = case.doubles(), Kernel(c)
    tilted = tilt_sum(total, theta)
    mgfs = log_mgf_of_sum(total, theta * np.array(points))
    grid = Grid(step, math.ceil(6 / (tau * step)), 0, 1)
    sums = sum_nodes(tilted, tau, grid, 1e-6, 1e8, kernel)
    assert sums is not None
    errors = bound_grid(mgfs, tilted, tau, grid, kernel)
    assert contains(assemble(tilted, tau, errors, sums, kernel).enclosure, case.mean(c))


@settings(max_examples=80)
@given(case=exact_sums(), c=st.sampled_from(CURVATURES), noise=st.data())
def test_errors_of_values_weights_and_offset_are_covered(
    case: ExactSum, c: float, noise: st.DataObject
) -> None:
    kernel, exact, laws = Kernel(c), case.mean(c), []
    for law in case.doubles().laws:
        draws = st.lists(st.floats(-1, 1), min_size=law.size, max_size=law.size)
        tips = np.array(noise.draw(draws))
        value_error = 1e-3 * np.abs(law.values) + 1e-4
        seen = Law(
            law.values + 0.999 * tips * value_error,
            law.weights,
            value_error,
            np.full(law.size, 1e-3),
        )
        weights = law.weights * np.exp(0.4e-3 * tips[::-1])
        laws.append(replace(seen, weights=weights / weights.sum()))
    offset = case.doubles().offset + 0.999e-3 * noise.draw(st.floats(-1, 1))
    total = replace(case.doubles().with_laws(laws), offset=offset, offset_error=1e-3)
    assert contains(elementary_log_mean(total, kernel), exact)
    assert contains(enumerate_log_mean(total, kernel), exact)
    assert contains(log_mean(total, kernel, rtol=1e-6), exact)
    if elementary.can_be_positive(total):
        assert contains(contour_log_mean(total, 1e-6, 1e6, kernel=kernel), exact)


@pytest.mark.parametrize("c", CURVATURES)
def test_elementary_bounds_of_rare_gains(c: float) -> None:
    """Mostly silent summands: what one of them gains alone is a lower bound for the hinge only."""
    silent = [(Fraction(8), Fraction(1, 64)), (Fraction(0), Fraction(63, 64))]
    case = ExactSum([(silent, 3)])
    enclosure = elementary_log_mean(case.doubles(), Kernel(c))
    assert contains(enclosure, case.mean(c))
    assert (enclosure.lower > -math.inf) == (c == 0)


def test_errors_of_all_blocks_and_of_the_offset_are_enumerated(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One outcome: its value may be off by the sum of all errors, and so may its logarithm."""
    monkeypatch.setattr(enumeration, "UNIT", 0.0)

    def constant(value: float, value_error: float, weight_error: float) -> Law:
        return Law(np.array([value]), np.ones(1), np.array([value_error]), np.array([weight_error]))

    first, second = constant(2.0, 0.125, 1e-3), constant(1.0, 0.25, 2e-3)
    total = replace(BlockSum.of((first, 2), (second, 3), offset=1.0), offset_error=0.0625)
    for kernel in (HINGE, HOCKEY_STICK):
        enclosure = enumerate_log_mean(total, kernel)
        lower, upper = kernel.at(6.0 + np.array([-1.0625, 1.0625]))
        assert enclosure.lower == pytest.approx(math.log(lower) - 8e-3, abs=1e-12)
        assert enclosure.upper == pytest.approx(math.log(upper) + 8e-3, abs=1e-12)


# -- each step of the contour ---------------------------------------------------------------------


def outcomes(total: BlockSum) -> tuple[np.ndarray, np.ndarray]:
    values, weights = np.array([-total.offset]), np.ones(1)
    for block in total.blocks:
        for _ in range(block.times):
            values = np.add.outer(values, block.law.values).ravel()
            weights = np.outer(weights, block.law.weights).ravel()
    return values, weights


def smoothed(total: BlockSum, tau: float, c: float, shift: float = 0.0) -> float:
    """E f_c(S + N - shift), N of mean c tau^2/2: a difference of normal distribution functions."""
    values, weights = outcomes(total)
    x = values - shift + c * tau**2 / 2
    if c == 0:
        normal = np.exp(-0.5 * (x / tau) ** 2) / math.sqrt(2 * math.pi)
        return float(weights @ (tau * normal + x * ndtr(x / tau)))
    # E e^{-cN'} 1(N' > 0) for N' ~ N(x, tau^2): e^{-cx + c^2 tau^2/2} Phi(x/tau - c tau).
    tail = np.exp(-c * x + 0.5 * (c * tau) ** 2) * ndtr(x / tau - c * tau)
    return float(weights @ (ndtr(x / tau) - tail)) / c


def smoothed_density(total: BlockSum, tau: float, c: float) -> float:
    values, weights = outcomes(total)
    x = (values + c * tau**2 / 2) / tau
    return float(weights @ np.exp(-0.5 * x**2)) / (tau * math.sqrt(2 * math.pi))


@pytest.mark.parametrize("c", CURVATURES)
@pytest.mark.parametrize("tau", [0.05, 0.4, 1.5])
@pytest.mark.parametrize("offset", [-1.0, 0.0, 0.5, 1.3])
def test_smoothing_adds_at_most_its_bound(c: float, tau: float, offset: float) -> None:
    total = BlockSum.of((SKEWED, 2), (BINARY, 1), offset=offset)
    values, weights = outcomes(total)
    exact = float(weights @ Kernel(c).at(values))
    noisy = smoothed(total, tau, c)
    growth = math.exp(min((c * tau) ** 2 / 8, 600.0))
    assert exact <= noisy * (1 + 1e-9)
    assert noisy <= exact + tau**2 * growth * smoothed_density(total, tau, c) + 1e-12


@pytest.mark.parametrize("c", [0.0, 0.3, 1.0, 5.0])
@pytest.mark.parametrize("tau", [0.05, 0.4])
@pytest.mark.parametrize("offset", [-0.7, 0.5])
def test_the_sum_over_nodes_is_the_periodised_mean(c: float, tau: float, offset: float) -> None:
    """Poisson summation: aliases and all, within the errors that are stated."""
    total, kernel = BlockSum.of((SKEWED, 2), (BINARY, 1), offset=offset), Kernel(c)
    tilted = tilt_sum(total, saddle_point(total, kernel))
    mgfs = log_mgf_of_sum(total, alias_points(tilted, tau))
    allowance = 1e-5
    grid = choose_grid(mgfs, tilted, tau, allowance, kernel)
    assert grid is not None
    errors = bound_grid(mgfs, tilted, tau, grid, kernel)
    sums = sum_nodes(tilted, tau, grid, allowance, 1e9, kernel)
    assert sums is not None
    period = 2 * math.pi / grid.step
    unit = math.exp(tilted.log_mgf + 0.5 * tau**2 * tilted.theta * (tilted.theta + c))
    last = int(40 / (tilted.theta * period)) + 3
    terms = {
        m: math.exp(min(tilted.theta * m * period, 600.0))
        * smoothed(total, tau, c, m * period)
        / unit
        for m in range(-last, 3)
    }
    everything = sum(terms.values())
    stated = sums.rounding_mean + sums.skipped_mean + errors.tail_mean
    assert abs(sums.mean - everything) <= stated + 1e-12 * everything
    assert everything - terms[0] <= errors.alias + 1e-13
    assert errors.alias <= allowance * (1 + 1e-9)
    density = smoothed_density(total, tau, c) / unit
    stated = sums.rounding_density + sums.skipped_density + errors.tail_density
    assert sums.density >= density - stated - 1e-12


@pytest.mark.parametrize("c", CURVATURES)
def test_the_noise_and_the_bias_are_those_of_the_kernel(
    c: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(contour, "UNIT", 0.0)
    tau, theta = 0.3, 0.6
    tilted = replace(tilt_sum(BlockSum.of((SKEWED, 2), offset=0.5), theta), value_shift=0.0)
    sums = NodeSums(mean=3.0, density=1e-3)
    found = assemble(tilted, tau, NONE, sums, Kernel(c))
    assert found.bias == pytest.approx(tau**2 * 1e-3 * math.exp((c * tau) ** 2 / 8), rel=1e-12)
    unit = tilted.log_mgf + 0.5 * tau**2 * theta * (theta + c)
    assert found.enclosure.upper == pytest.approx(unit + math.log(3.0), abs=1e-6)


def test_sums_that_are_zero_are_removed_only_from_the_hinge_without_offset() -> None:
    """Elsewhere they lie at the offset, or the closed form is another."""
    sums = NodeSums(mean=3.0, density=1.0)
    plain = assemble(tilt_sum(BlockSum.of((BINARY, 2)), 0.3), 0.3, NONE, sums)
    assert plain.value < 3
    for offset, kernel in ((0.5, HINGE), (0.0, HOCKEY_STICK), (0.5, HOCKEY_STICK)):
        tilted = tilt_sum(BlockSum.of((BINARY, 2), offset=offset), 0.3)
        assert assemble(tilted, 0.3, NONE, sums, kernel).value == 3


def test_a_bias_beyond_doubles_bounds_nothing_from_below() -> None:
    tilted = tilt_sum(BlockSum.of((SKEWED, 2)), 0.3)
    found = assemble(tilted, 10.0, NONE, NodeSums(mean=3.0, density=1.0), Kernel(1e3))
    assert found.enclosure.lower == -math.inf
    assert math.isfinite(found.enclosure.upper)


@pytest.mark.parametrize("c", CURVATURES)
@pytest.mark.parametrize("t", [0.0, 0.4, 3.0])
def test_one_node_adds_the_integrand(c: float, t: float) -> None:
    total, tau, step = BlockSum.of((SKEWED, 3), (BINARY, 2), offset=0.7), 0.4, t / 5 if t else 0.2
    tilted = tilt_sum(total, 0.6)
    integrand = _Nodes(tilted, tau, step, Kernel(c))
    integrand.add(np.array([5 if t else 0]))
    z = 0.6 + 1j * t
    value = np.exp(-z * total.offset + 0.5 * tau**2 * z * (z + c))
    for block in total.blocks:
        value *= (block.law.weights @ np.exp(z * block.law.values)) ** block.times
    unit = math.exp(tilted.log_mgf + 0.5 * tau**2 * 0.6 * (0.6 + c))
    scale = integrand.step / math.pi * (1.0 if t else 0.5) / unit
    assert integrand.sums.density == pytest.approx(scale * value.real, rel=1e-11)
    assert integrand.sums.mean == pytest.approx(scale * (value / (z * (z + c))).real, rel=1e-11)
    size = integrand.sums.rounding_density / abs(z * (z + c))
    assert integrand.sums.rounding_mean == pytest.approx(size, rel=1e-6)


@settings(max_examples=60)
@given(c=st.sampled_from(CURVATURES), start=st.integers(1, 500), size=st.integers(1, 50))
def test_the_bound_of_a_stretch_counts_the_kernel(c: float, start: int, size: int) -> None:
    total, tau, step = BlockSum.of((SKEWED, 30), offset=1.0), 0.02, 0.003
    tilted = tilt_sum(total, 0.6)
    bound, _ = _Nodes(tilted, tau, step, Kernel(c)).bounds(np.array([start]), np.array([size]))
    t = step * np.arange(start, start + size)
    (law,) = tilted.laws
    phi = np.exp(1j * np.multiply.outer(t, law.centred)) @ law.probability
    z = 0.6 + 1j * t
    terms = np.abs(phi) ** 30 * np.exp(-0.5 * (tau * t) ** 2) * step / math.pi / np.abs(z * (z + c))
    assert float(terms.sum()) <= bound[0] * (1 + 1e-12)


@pytest.mark.parametrize("c", [0.0, 1.0])
def test_totals_are_less_the_offset(c: float) -> None:
    plain, less = (tilt_sum(BlockSum.of((BINARY, 3), offset=x), 0.4) for x in (0.0, 0.9))
    assert less.log_mgf == pytest.approx(plain.log_mgf - 0.4 * 0.9)
    assert less.mean == pytest.approx(plain.mean - 0.9)
    assert less.mean_size == pytest.approx(plain.mean_size + 0.9)
    assert less.log_zero == -math.inf
    points = np.array([0.1, 2.0])
    first, second = (log_mgf_of_sum(BlockSum.of((BINARY, 3), offset=x), points) for x in (0.0, 0.9))
    assert second.values == pytest.approx(first.values - 0.9 * points)
    total = BlockSum.of((BINARY, 3), offset=0.9)
    assert total.largest[0] == pytest.approx(3 * 1.7 - 0.9)
    half = total.in_units(0.3)
    assert half.offset == pytest.approx(0.27)
    assert half.offset_error >= 0.27 * 2.0**-53
    vague = replace(total, offset_error=0.1)
    assert vague.largest[1] >= 0.1
    assert tilt_sum(vague, 0.4).value_shift >= 0.1
    # Before a negative offset a loss of 1e100 is no hopeless one.
    far = make_law([1.0, -1e9], [0.5, 0.5])
    (kept,) = BlockSum.of((far, 3), offset=-1e9).in_units(1e100).laws
    assert kept.values[1] == -1e109
    (cut,) = BlockSum.of((far, 3), offset=1e9).in_units(1e100).laws
    assert cut.values[1] == pytest.approx(-6e100)
    theta = saddle_point(total, Kernel(c))
    tilted = tilt_sum(total, theta)
    scale = (tilted.variance + 1 / theta**2 + 1 / (theta + c) ** 2) ** 0.5
    assert abs(tilted.mean - 1 / theta - 1 / (theta + c)) <= 0.11 * scale
