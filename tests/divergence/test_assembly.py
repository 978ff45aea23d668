"""How the parts of the contour are put together: each error counts, in the right direction."""

from __future__ import annotations

import math
from dataclasses import replace

import mpmath
import numpy as np
import pytest

from shuffledp.decomposition import Law
from shuffledp.divergence import contour, tilt
from shuffledp.divergence.blocks import BlockSum
from shuffledp.divergence.contour import (
    GridErrors,
    assemble,
    bound_grid,
    chernoff_log_mean,
    contour_log_mean,
)
from shuffledp.divergence.enclosure import LogEnclosure
from shuffledp.divergence.nodes import NodeSums
from shuffledp.divergence.proposals.grid import Grid, alias_points, choose_grid
from shuffledp.divergence.proposals.saddle import saddle_point
from shuffledp.divergence.tilt import LogMgfs, TiltedSum, log_mgf, log_mgf_of_sum, tilt_sum

SQRT_2PI = math.sqrt(2 * math.pi)


def make_law(values: list[float], weights: list[float]) -> Law:
    zeros = np.zeros(len(values))
    return Law(np.array(values), np.array(weights) / sum(weights), zeros, zeros.copy())


WITH_ZERO = make_law([1.7, -2.3, 0.0], [0.25, 0.25, 0.5])
WITHOUT_ZERO = make_law([0.9, -0.4, -1.1], [0.3, 0.3, 0.4])

# Numbers of different sizes, so that no two of them can stand for each other.
SUMS = NodeSums(
    mean=3.0,
    density=0.7,
    rounding_mean=0.011,
    rounding_density=0.0023,
    skipped_mean=0.037,
    skipped_density=0.0071,
)
ERRORS = GridErrors(alias=0.0053, tail_mean=0.13, tail_density=0.017)
NONE = GridErrors(alias=0.0, tail_mean=0.0, tail_density=0.0)


def tilted_sum(law: Law, n: int, theta: float) -> TiltedSum:
    return tilt_sum(BlockSum.of((law, n)), theta)


def unit_of(tilted: TiltedSum, tau: float) -> float:
    """log F(theta)."""
    return tilted.log_mgf + (tau * tilted.theta) ** 2 / 2


@pytest.mark.parametrize("tau", [0.2, 1.3])
@pytest.mark.parametrize("n", [1, 3])
@pytest.mark.parametrize("law", [WITH_ZERO, WITHOUT_ZERO])
def test_the_enclosure_is_what_all_errors_together_allow(law: Law, n: int, tau: float) -> None:
    """Mean and density may be off by their errors, aliases and bias take away, never add."""
    tilted = replace(tilted_sum(law, n, 0.6), zero_error=0.0)
    still = math.exp(tilted.log_zero - (tau * tilted.theta) ** 2 / 2)
    most = SUMS.mean + (0.011 + 0.037 + 0.13) - still * tau / SQRT_2PI
    least = SUMS.mean - (0.011 + 0.037 + 0.13) - still * tau / SQRT_2PI
    density = SUMS.density + (0.0023 + 0.0071 + 0.017) - still / (tau * SQRT_2PI)
    bias = tau**2 * max(density, 0.0)
    found = assemble(tilted, tau, ERRORS, SUMS)
    enclosure, stated_bias, value = found.enclosure, found.bias, found.value
    assert stated_bias == pytest.approx(bias, rel=1e-12)
    assert value == pytest.approx(SUMS.mean - still * tau / SQRT_2PI, rel=1e-12)
    base = unit_of(tilted, tau)
    assert enclosure.upper == pytest.approx(base + math.log(most), abs=1e-12)
    assert enclosure.upper > base + math.log(most)
    assert enclosure.lower == pytest.approx(base + math.log(least - ERRORS.alias - bias), abs=1e-12)
    assert enclosure.lower < base + math.log(least - ERRORS.alias - bias)


def test_no_bias_below_zero() -> None:
    sums = replace(SUMS, density=-5.0)
    assert assemble(tilted_sum(WITH_ZERO, 2, 0.6), 0.3, ERRORS, sums).bias == 0


@pytest.mark.parametrize("mean", [-1.0, 0.1])
def test_sums_that_say_nothing(mean: float) -> None:
    sums = replace(SUMS, mean=mean)
    enclosure = assemble(tilted_sum(WITHOUT_ZERO, 2, 0.6), 0.3, ERRORS, sums).enclosure
    assert enclosure.lower == -math.inf
    assert (enclosure.upper == math.inf) == (mean < 0)


@pytest.mark.parametrize("error", [1e-3, 0.5, 4.0])
@pytest.mark.parametrize("density", [10.0, 0.0])
@pytest.mark.parametrize("tau", [0.05, 4.0])
def test_an_uncertain_probability_of_zero_is_covered(
    tau: float, density: float, error: float
) -> None:
    """The part of S = 0 that is subtracted may be too large or too small."""
    certain = replace(tilted_sum(WITH_ZERO, 5, 0.3), zero_error=0.0)
    sums = NodeSums(mean=30.0 * tau, density=density / tau)
    stated = assemble(replace(certain, zero_error=error), tau, NONE, sums)
    for sign in (-1, 1):
        moved = replace(certain, log_zero=certain.log_zero + sign * error)
        inner = assemble(moved, tau, NONE, sums)
        assert stated.enclosure.lower < inner.enclosure.lower + 1e-9
        assert stated.enclosure.upper > inner.enclosure.upper - 1e-9
        assert stated.bias >= inner.bias * (1 - 1e-9)
    assert stated.enclosure.width > assemble(certain, tau, NONE, sums).enclosure.width


def test_a_probability_of_zero_that_is_not_known_says_nothing() -> None:
    unknown = replace(tilted_sum(WITH_ZERO, 5, 0.3), zero_error=1e3)
    found = assemble(unknown, 0.5, NONE, NodeSums(mean=30.0, density=10.0)).enclosure
    assert found.lower == -math.inf
    assert found.upper == math.inf


@pytest.mark.parametrize("tau", [0.05, 4.0])
def test_the_probability_of_zero_is_rounded(tau: float, monkeypatch: pytest.MonkeyPatch) -> None:
    unit = 1e-3
    certain = replace(tilted_sum(WITH_ZERO, 5, 0.3), zero_error=0.0)
    sums = NodeSums(mean=30.0 * tau, density=10.0 / tau)
    moved = [
        assemble(replace(certain, log_zero=certain.log_zero + tip), tau, NONE, sums)
        for tip in (-unit, unit)
    ]
    monkeypatch.setattr(contour, "UNIT", unit)
    rounded = assemble(certain, tau, NONE, sums)
    assert rounded.bias > max(other.bias for other in moved)
    assert rounded.enclosure.upper > max(inner.enclosure.upper for inner in moved)
    assert rounded.enclosure.lower < min(inner.enclosure.lower for inner in moved)


def test_much_noise_is_in_the_rounding_of_the_probability_of_zero(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where the density is 0, the bias is what this probability may be off."""
    unit, tau = 1e-4, 20.0
    certain = replace(tilted_sum(WITH_ZERO, 5, 0.3), zero_error=0.0)
    lift = (tau * 0.3) ** 2 / 2
    zero = math.exp(certain.log_zero - lift)
    monkeypatch.setattr(contour, "UNIT", unit)
    found = assemble(certain, tau, NONE, NodeSums(mean=1.0, density=zero / (tau * SQRT_2PI)))
    wrong = unit * (8 + abs(certain.log_zero) + 4 * lift)
    assert found.bias == pytest.approx(tau * zero * math.expm1(wrong) * (1 + 16 * unit), rel=1e-9)


def test_a_small_probability_of_zero_is_rounded_as_its_logarithm(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Every unit of n log p counts, however small p is."""
    unit = 1e-6
    monkeypatch.setattr(tilt, "UNIT", unit)
    rare = tilted_sum(make_law([1.0, -1.0, 0.0], [0.5, 0.5, 1e-20]), 2, 0.3)
    assert rare.zero_error >= unit * abs(rare.log_zero)
    monkeypatch.setattr(tilt, "UNIT", 0.0)
    plain = tilted_sum(make_law([1.0, -1.0, 0.0], [0.5, 0.5, 1e-20]), 2, 0.3)
    assert plain.zero_error == 0
    monkeypatch.setattr(contour, "UNIT", unit)
    sums = NodeSums(mean=1e-40)
    wide = assemble(plain, 1.0, NONE, sums).enclosure
    monkeypatch.setattr(contour, "UNIT", 0.0)
    narrow = assemble(plain, 1.0, NONE, sums).enclosure
    assert narrow.lower - wide.lower >= 0.3 * unit * abs(plain.log_zero)


def test_values_with_errors_move_the_mean(monkeypatch: pytest.MonkeyPatch) -> None:
    """By at most d e^(theta d), in units of F(theta)."""
    monkeypatch.setattr(contour, "UNIT", 0.0)
    certain = replace(tilted_sum(WITHOUT_ZERO, 2, 0.6), value_shift=0.0)
    sums = NodeSums(mean=3.0)
    plain = assemble(certain, 0.3, NONE, sums).enclosure
    for shift in (1e-3, 0.5):
        vague = assemble(replace(certain, value_shift=shift), 0.3, NONE, sums).enclosure
        moved = shift * math.exp(0.6 * shift)
        assert vague.upper - plain.upper == pytest.approx(math.log1p(moved / 3), rel=1e-9)
        assert vague.lower - plain.lower == pytest.approx(math.log1p(-moved / 3), rel=1e-9)
    hopeless = assemble(replace(certain, value_shift=1e4), 0.3, NONE, sums).enclosure
    assert hopeless == LogEnclosure(-math.inf, math.inf)


def test_errors_of_the_unit_are_covered(monkeypatch: pytest.MonkeyPatch) -> None:
    """The logarithm of F(theta) is rounded and inherits the error of K."""
    n, tau = 1000, 0.2
    tilted = replace(tilted_sum(WITHOUT_ZERO, n, 0.6), log_mgf_error=1e-3)
    plain = assemble(replace(tilted, log_mgf_error=0.0), tau, ERRORS, SUMS).enclosure
    wide = assemble(tilted, tau, ERRORS, SUMS).enclosure
    assert plain.lower - wide.lower == pytest.approx(1e-3, rel=1e-6)
    assert wide.upper - plain.upper == pytest.approx(1e-3, rel=1e-6)
    monkeypatch.setattr(contour, "UNIT", 1e-6)
    rounded = assemble(tilted, tau, ERRORS, SUMS).enclosure
    base = abs(unit_of(tilted, tau))
    assert base > 10
    assert wide.lower - rounded.lower >= 1e-6 * base
    assert rounded.upper - wide.upper >= 1e-6 * base


def test_sums_that_nearly_cancel_are_rounded_before_they_do(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Errors eat the value but for a thousandth of it: every rounding counts a thousandfold."""
    unit = 1e-6
    tilted = tilted_sum(WITHOUT_ZERO, 2, 0.6)
    sums = NodeSums(mean=1.0, skipped_mean=0.999)
    plain = assemble(tilted, 0.3, NONE, sums).enclosure
    monkeypatch.setattr(contour, "UNIT", unit)
    rounded = assemble(tilted, 0.3, NONE, sums).enclosure
    assert plain.lower - rounded.lower >= 1e3 * unit


# -- the grid -------------------------------------------------------------------------------------


def alias_bound(law: Law, n: int, theta: float, tau: float, s: np.ndarray, length: float) -> float:
    """The least of F(s)/(es) q/(1-q), q = exp(-|s - theta| L), in units of F(theta)."""
    log_f = n * (log_mgf(law, s)[0] - log_mgf(law, np.array([theta]))[0])
    log_f += 0.5 * tau**2 * (s**2 - theta**2) - 1 - np.log(s)
    distance = np.abs(s - theta) * length
    return math.exp(float(np.min(log_f - distance - np.log1p(-np.exp(-distance)))))


def proposed(
    law: Law, n: int, theta: float, tau: float, allowance: float
) -> tuple[Grid, GridErrors]:
    total = BlockSum.of((law, n))
    tilted = tilt_sum(total, theta)
    mgfs = log_mgf_of_sum(total, alias_points(tilted, tau))
    grid = choose_grid(mgfs, tilted, tau, allowance)
    assert grid is not None
    return grid, bound_grid(mgfs, tilted, tau, grid)


@pytest.mark.parametrize("law", [WITH_ZERO, WITHOUT_ZERO])
@pytest.mark.parametrize("n", [1, 30, 10_000])
@pytest.mark.parametrize("tau", [0.03, 2.0])
@pytest.mark.parametrize("allowance", [1e-2, 1e-8])
def test_the_period_is_long_enough_and_hardly_longer(
    law: Law, n: int, tau: float, allowance: float
) -> None:
    theta = saddle_point(BlockSum.of((law, n)))
    grid, errors = proposed(law, n, theta, tau, allowance)
    length = 2 * math.pi / grid.step
    width = math.hypot(math.sqrt(tilted_sum(law, n, theta).variance), tau)
    right = theta + np.linspace(0.002, 1, 3000) * (4 * theta + 12 / width)
    left = theta * np.linspace(0.001, 0.999, 3000)
    sides = [alias_bound(law, n, theta, tau, s, length) for s in (right, left)]
    assert sum(sides) <= errors.alias <= allowance * (1 + 1e-9)
    shorter = [alias_bound(law, n, theta, tau, s, 0.85 * length) for s in (right, left)]
    assert max(shorter) > allowance / 2


@pytest.mark.parametrize("step", [0.01, 0.3, 2.0, 20.0])
@pytest.mark.parametrize("tau", [0.03, 2.0])
@pytest.mark.parametrize("left", [0, 1, 2])
@pytest.mark.parametrize("right", [3, 4, 5])
def test_aliases_are_bounded_on_any_grid(step: float, tau: float, left: int, right: int) -> None:
    """By any point on either side, as sharply as it allows."""
    n, theta = 7, 0.6
    total = BlockSum.of((WITH_ZERO, n))
    mgfs = log_mgf_of_sum(total, np.array([0.1, 0.5, 0.59, 0.61, 0.9, 2.0]))
    grid = Grid(step, 10, left, right)
    errors = bound_grid(mgfs, tilt_sum(total, theta), tau, grid)
    points, length = mgfs.points, 2 * math.pi / step
    exact = sum(alias_bound(WITH_ZERO, n, theta, tau, points[[i]], length) for i in (left, right))
    assert exact < errors.alias <= exact * (1 + 1e-11)


@pytest.mark.parametrize(
    "points",
    [[0.3, 0.3], [0.7, 0.7], [0.7, 0.3], [0.6, 0.7], [0.3, 0.6], [-0.3, 0.7], [0.0, 0.7],
     [math.nan, 0.7], [0.3, math.nan], [0.3, math.inf]],
)  # fmt: skip
def test_points_that_bound_nothing(points: list[float]) -> None:
    mgfs = LogMgfs(np.array(points), np.zeros(2), np.zeros(2))
    tilted = tilted_sum(WITH_ZERO, 3, 0.6)
    assert bound_grid(mgfs, tilted, 0.1, Grid(0.1, 10, 0, 1)).alias == math.inf


@pytest.mark.parametrize("tau", [0.03, 2.0])
@pytest.mark.parametrize("allowance", [1e-2, 1e-8])
def test_the_last_node_is_far_enough_and_hardly_farther(tau: float, allowance: float) -> None:
    grid, errors = proposed(WITH_ZERO, 3, 0.6, tau, allowance)
    x = tau * grid.step * grid.count

    def beyond(x: float) -> float:
        return tau * math.exp(-x * x / 2) / (math.pi * x**3)

    assert errors.tail_mean == pytest.approx(beyond(x), rel=1e-12)
    assert beyond(x) < errors.tail_mean <= allowance
    density = math.exp(-x * x / 2) / (math.pi * tau * x)
    assert errors.tail_density == pytest.approx(density, rel=1e-12)
    assert errors.tail_density > density
    last = x - tau * grid.step - 0.25
    assert last < 3 or beyond(last) > allowance


def test_a_grid_of_too_many_nodes_is_refused() -> None:
    total = BlockSum.of((WITH_ZERO, 3))
    mgfs = log_mgf_of_sum(total, np.array([0.3, 0.9]))
    assert choose_grid(mgfs, tilt_sum(total, 0.6), 1e-17, 1e-3) is None


@pytest.mark.parametrize("n", [1, 100, 10**5])
@pytest.mark.parametrize("vagueness", [7e-4, 0.1])
def test_aliases_are_as_vague_as_the_moment_generating_function(n: int, vagueness: float) -> None:
    """It may be off by its error at both its places."""
    total, grid = BlockSum.of((WITH_ZERO, n)), Grid(0.5, 10, 0, 1)
    mgfs, tilted = log_mgf_of_sum(total, np.array([0.2, 0.4])), tilt_sum(total, 0.3)
    plain = bound_grid(mgfs, tilted, 0.1, grid).alias
    at_points = replace(mgfs, errors=mgfs.errors + vagueness)
    vague = bound_grid(at_points, tilted, 0.1, grid).alias
    assert vague == pytest.approx(plain * math.exp(vagueness), rel=1e-9)
    at_theta = replace(tilted, log_mgf_error=tilted.log_mgf_error + vagueness)
    vague = bound_grid(mgfs, at_theta, 0.1, grid).alias
    assert vague == pytest.approx(plain * math.exp(vagueness), rel=1e-9)


def test_aliases_are_rounded_up(monkeypatch: pytest.MonkeyPatch) -> None:
    total, grid, tau = BlockSum.of((WITH_ZERO, 1000)), Grid(0.01, 10, 0, 1), 30.0
    mgfs, tilted = log_mgf_of_sum(total, np.array([0.2, 0.4])), tilt_sum(total, 0.3)
    plain = bound_grid(mgfs, tilted, tau, grid).alias
    unit = 1e-7
    monkeypatch.setattr(contour, "UNIT", unit)
    rounded = bound_grid(mgfs, tilted, tau, grid).alias
    sizes = float(np.abs(mgfs.values).min()) + abs(tilted.log_mgf) + (tau * 0.3) ** 2 / 2
    sizes += 0.1 * 2 * math.pi / 0.01  # the distance to the next alias
    assert math.log(rounded / plain) >= unit * sizes


# -- bounds from one tilt -------------------------------------------------------------------------


@pytest.mark.parametrize("law", [WITH_ZERO, WITHOUT_ZERO])
@pytest.mark.parametrize("n", [1, 50, 10**6])
@pytest.mark.parametrize("unit", [1.0, 1e-3, 1e5])
def test_the_bound_of_one_tilt_is_chernoffs(law: Law, n: int, unit: float) -> None:
    scaled = Law(law.values * unit, law.weights, law.value_error, law.weight_error)
    theta = saddle_point(BlockSum.of((scaled, n)))
    expected = n * float(log_mgf(scaled, np.array([theta]))[0][0]) - 1 - math.log(theta)
    bound = chernoff_log_mean(BlockSum.of((scaled, n)))
    assert bound == pytest.approx(expected, abs=1e-13 * (n + 50))
    assert bound > expected - 1e-15 * (n + 50)


@pytest.mark.parametrize("n", [1, 2, 5])
def test_the_bound_of_one_tilt_is_rounded_up(n: int) -> None:
    law = make_law([1.5, -1.0], [0.5, 0.5])
    theta = saddle_point(BlockSum.of((law, n)))
    with mpmath.workdps(40):
        mgf = sum(
            mpmath.mpf(float(w)) * mpmath.exp(mpmath.mpf(theta) * mpmath.mpf(float(g)))
            for g, w in zip(law.values, law.weights, strict=True)
        )
        exact = n * mpmath.log(mgf) - 1 - mpmath.log(mpmath.mpf(theta))
        assert exact < chernoff_log_mean(BlockSum.of((law, n))) <= exact + 1e-13


@pytest.mark.parametrize("n", [2, 1000])
def test_the_bound_of_one_tilt_covers_errors(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = chernoff_log_mean(BlockSum.of((WITHOUT_ZERO, n)))
    errors = np.full(3, 1e-4)
    vague = Law(WITHOUT_ZERO.values, WITHOUT_ZERO.weights, errors, errors)
    moved = Law(WITHOUT_ZERO.values + 1e-4, WITHOUT_ZERO.weights, errors * 0, errors * 0)
    assert (
        chernoff_log_mean(BlockSum.of((vague, n)))
        > chernoff_log_mean(BlockSum.of((moved, n)))
        > plain
    )
    scaled = Law(vague.values * 1e-300, vague.weights, errors * 0, errors * 0)
    below = chernoff_log_mean(BlockSum.of((scaled, n)))
    monkeypatch.setattr(contour, "UNIT", 1e-6)
    total = BlockSum.of((WITHOUT_ZERO, n))
    base = tilt_sum(total, saddle_point(total)).log_mgf
    assert chernoff_log_mean(BlockSum.of((scaled, n))) - below >= 1e-6 * (abs(base) + 600)


def test_a_hopeless_tolerance_is_relaxed() -> None:
    """Too little work for the tolerance: ask for less, but answer."""
    enclosure = contour_log_mean(BlockSum.of((WITHOUT_ZERO, 3)), 1e-9, 3e4)
    assert math.isfinite(enclosure.lower)
    assert math.isfinite(enclosure.upper)


def test_the_shift_of_the_unit_is_rounded(monkeypatch: pytest.MonkeyPatch) -> None:
    tiny = Law(WITHOUT_ZERO.values * 1e-290, WITHOUT_ZERO.weights, np.zeros(3), np.zeros(3))
    plain = contour_log_mean(BlockSum.of((tiny, 3)), 1e-4, 1e6)
    monkeypatch.setattr(contour, "UNIT", 1e-6)
    wide = contour_log_mean(BlockSum.of((tiny, 3)), 1e-4, 1e6)
    assert plain.lower - wide.lower >= 6e-4
    assert wide.upper - plain.upper >= 6e-4
