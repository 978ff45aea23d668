r"""Certified contour sum for :math:`E[(G_1+\dots+G_n)_+]`.

Let S be the sum, N an independent normal with standard deviation tau, X = S + N and
:math:`F(z)=e^{nK(z)+\tau^2z^2/2}`. For theta > 0

.. math:: E X_+ = \frac1{2\pi}\int F(\theta+it)\,(\theta+it)^{-2}\,dt,
          \qquad f_X(0) = \frac1{2\pi}\int F(\theta+it)\,dt .

Each step from the integral to a finite sum of doubles has a bound:

1. Smoothing: :math:`E S_+ \le E X_+ \le E S_+ + \tau^2 f_X(0)`. (Jensen; and
   :math:`\frac{d}{d\tau}E(S+\tau Z)_+ = E\varphi(S/\tau)` increases with tau.)
2. Trapezoidal rule with step 2 pi/L: Poisson summation gives
   :math:`\sum_m e^{\theta mL}E(X-mL)_+`, which is at least the term m = 0. The other terms are at
   most :math:`\frac{F(s)}{es}\frac{q}{1-q}`, :math:`q=e^{-|s-\theta|L}`, for any s > theta
   (m > 0) plus any 0 < s < theta (m < 0), because :math:`x_+\le e^{sx}/(es)`.
3. Truncation at T: the normal factor leaves :math:`\tau e^{-x^2/2}/(\pi x^3)` and
   :math:`e^{-x^2/2}/(\pi\tau x)`, x = tau T.
4. Skipped nodes (:mod:`shuffledp.divergence.nodes`): their bound is added.
5. Rounding: a bound per node, and one for the common factor.

S = 0 with all summands 0 adds nothing to :math:`E S_+` but, smoothed, much to both integrals; this
part is known in closed form and subtracted. Sums are in units of F(theta); the cost does not depend
on n. Where the nodes lie and how much is smoothed is proposed by
:mod:`shuffledp.divergence.proposals`; the bounds hold for every choice.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from shuffledp.arrays import UNIT, FloatArray
from shuffledp.decomposition.gparv import Law
from shuffledp.divergence.enclosure import LogEnclosure
from shuffledp.divergence.nodes import NodeSums, sum_nodes
from shuffledp.divergence.proposals.grid import Grid, alias_points, choose_grid
from shuffledp.divergence.proposals.saddle import saddle_point
from shuffledp.divergence.proposals.smoothing import Smoothing
from shuffledp.divergence.tilt import TiltedLaw, in_units, log_mgf, tilt

_ROUNDS = 12
_MAX_RTOL = 1.0
_LESS = 1000  # times the tolerance, if there is too much work for a first answer
_SQRT_2PI = math.sqrt(2 * math.pi)


@dataclass(frozen=True)
class GridErrors:
    """What a grid leaves out: aliases (of the mean), and what lies beyond its last node."""

    alias: float
    tail_mean: float
    tail_density: float


@dataclass(frozen=True)
class Evaluation:
    """An enclosure of log E[S_+], and in units of F(theta) its smoothing error and its value."""

    enclosure: LogEnclosure
    bias: float
    value: float


def contour_log_mean(
    law: Law, n: int, rtol: float, max_work: float, hint: float = math.inf
) -> LogEnclosure:
    """Enclose log E[(G_1+...+G_n)_+] for a law with a positive value.

    Args:
        law: the law of G.
        n: number of summands.
        rtol: relative width to aim for.
        max_work: stop refining when all rounds together would need more nodes times atoms.
        hint: a guess of the logarithm, used where it is below the saddle-point estimate.
    """
    best = LogEnclosure(-math.inf, math.inf)
    factor = saddle_point(law, n)
    law = in_units(law, factor, n)
    tilted = tilt(law, 1.0)
    shift = math.log(factor)
    while best.width == math.inf and rtol <= _MAX_RTOL:
        best = _refine(law, tilted, n, rtol, max_work, hint + shift)
        rtol *= _LESS
    # A logarithm is good to two units, and so is the sum with it.
    return LogEnclosure(best.lower - shift, best.upper - shift).widen(4 * UNIT * abs(shift))


def _refine(
    law: Law, tilted: TiltedLaw, n: int, rtol: float, max_work: float, hint: float
) -> LogEnclosure:
    """Evaluate with ever less smoothing until the enclosure is narrow or the work is spent."""
    smoothing = Smoothing(tilted, n, rtol, hint)
    best = LogEnclosure(-math.inf, math.inf)
    for _ in range(_ROUNDS):
        tau = smoothing.tau
        points = alias_points(tilted.theta, math.hypot(smoothing.sigma, tau))
        heights = log_heights(law, tilted, n, tau, points)
        grid = choose_grid(tilted.theta, tau, points, heights, smoothing.grid_allowance)
        if grid is None:
            break
        sums = sum_nodes(tilted, n, tau, grid, smoothing.skip_allowance, max_work)
        if sums is None:
            break
        max_work -= sums.work
        errors = bound_grid(tilted.theta, tau, grid, points, heights)
        found = assemble(tilted, n, tau, errors, sums)
        best = best.intersect(found.enclosure)
        other = errors.alias + errors.tail_mean + sums.skipped_mean
        if best.width <= rtol or not smoothing.improve(found.bias, other, found.value):
            break
    return best


def log_heights(law: Law, tilted: TiltedLaw, n: int, tau: float, points: FloatArray) -> FloatArray:
    """Return upper bounds on log(F(s)/(e s F(theta))); NaN where s is not positive."""
    k, error = log_mgf(law, points)
    with np.errstate(invalid="ignore", divide="ignore"):
        log_s = np.log(points)
    smoothing = 0.5 * tau**2 * (points**2 - tilted.theta**2)
    height = n * (k - tilted.log_mgf) + smoothing - log_s - 1
    # Each of the terms and their sums are rounded a few times, the squares before they cancel.
    sizes = n * (np.abs(k) + abs(tilted.log_mgf)) + tau**2 * (points**2 + tilted.theta**2)
    rounding = 8 * UNIT * (sizes + np.abs(log_s) + 1)
    return height + n * (error + tilted.log_mgf_error) + rounding


def bound_grid(
    theta: float, tau: float, grid: Grid, points: FloatArray, heights: FloatArray
) -> GridErrors:
    """Bound what the grid leaves out, with the best of the points on each side of theta."""
    # The period 2 pi/step, a difference and a product: 5 roundings.
    distance = np.abs(points - theta) * (2 * math.pi / grid.step) * (1 - 8 * UNIT)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        exponent = heights - distance - np.log1p(-np.exp(-distance))
        exponent += 8 * UNIT * (np.abs(heights) + distance + 1)
        bounds = np.exp(exponent)
    bounds[np.isnan(bounds)] = math.inf
    right = float(bounds[points > theta].min(initial=math.inf))
    left = float(bounds[points < theta].min(initial=math.inf))
    # The last node and tau: 2 roundings and a square; then an exponential and four more factors.
    x = grid.count * grid.step * tau * (1 - 4 * UNIT)
    gaussian = math.exp(-x * x / 2 * (1 - 4 * UNIT)) * (1 + 16 * UNIT)
    return GridErrors(
        alias=(right + left) * (1 + 2 * UNIT),
        tail_mean=tau * gaussian / (math.pi * x**3),
        tail_density=gaussian / (math.pi * tau * x),
    )


def assemble(
    tilted: TiltedLaw, n: int, tau: float, errors: GridErrors, sums: NodeSums
) -> Evaluation:
    """Combine the sums and all error terms."""
    theta = tilted.theta
    zero = zero_error = 0.0
    if tilted.zero_probability > 0:
        exponent = n * math.log(tilted.zero_probability) - 0.5 * (tau * theta) ** 2
        zero = math.exp(exponent)
        # The logarithm has 2 units and its product with n one; the rest are constant factors.
        zero_error = zero * (n * tilted.zero_error + UNIT * (8 + 4 * abs(exponent)))
    mean = sums.mean - zero * tau / _SQRT_2PI
    density = sums.density - zero / (tau * _SQRT_2PI)
    error = sums.rounding_mean + sums.skipped_mean + errors.tail_mean + zero_error * tau
    density_error = (
        sums.rounding_density + sums.skipped_density + errors.tail_density + zero_error / tau
    )
    bias = tau**2 * max(density + density_error, 0.0) * (1 + 8 * UNIT)
    # Six sums, rounded before anything cancels.
    rounding = 8 * UNIT * (abs(mean) + error + errors.alias + bias)
    upper = mean + error + rounding
    lower = mean - error - errors.alias - bias - rounding
    base = n * tilted.log_mgf + 0.5 * (tau * theta) ** 2
    base_error = n * tilted.log_mgf_error + 4 * UNIT * abs(base)
    enclosure = LogEnclosure(_log(lower, -math.inf), _log(upper, math.inf)).widen(base_error)
    return Evaluation(LogEnclosure(base + enclosure.lower, base + enclosure.upper), bias, mean)


def _log(x: float, otherwise: float) -> float:
    return math.log(x) if x > 0 else otherwise


def chernoff_log_mean(law: Law, n: int) -> float:
    """Return an upper bound on log E[(G_1+...+G_n)_+] from one tilt: M^n/(e theta)."""
    factor = saddle_point(law, n)
    tilted = tilt(in_units(law, factor, n), 1.0)
    base, shift = n * tilted.log_mgf, math.log(factor)
    # A product, a logarithm and two sums.
    slack = n * tilted.log_mgf_error + 8 * UNIT * (abs(base) + abs(shift) + 1)
    return base - 1 - shift + slack
