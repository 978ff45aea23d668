r"""Certified contour sum for :math:`E f_c(S)`, S a sum of independent blocks less an offset l.

Let :math:`f_c(x)=(1-e^{-cx})_+/c` (:mod:`shuffledp.divergence.kernel`; :math:`x_+` for c = 0),
block b be :math:`n_b` copies of a law with :math:`K_b=\log E e^{zG}`, N an independent normal with
mean :math:`c\tau^2/2` and standard deviation tau, X = S + N and
:math:`F(z)=E e^{zX}=e^{\sum_bn_bK_b(z)-lz+\tau^2z(z+c)/2}`. For any theta > 0

.. math:: E f_c(X) = \frac1{2\pi}\int\frac{F(z)}{z(z+c)}\,dt,
          \qquad p_X(0) = \frac1{2\pi}\int F(z)\,dt, \qquad z = \theta+it .

Each step from the integral to a finite sum of doubles has a bound:

1. Smoothing: :math:`E f_c(S) \le E f_c(X) \le E f_c(S) + \tau^2e^{c^2\tau^2/8} p_X(0)`. For the
   noise of deviation s the derivative of :math:`E f_c` by s is
   :math:`s\,E[f_c''+cf_c']=s\,p(0)\ge0`, because mean and variance grow by cs ds and 2s ds; and
   :math:`s\,p(0)\,e^{c^2s^2/8}=E e^{-S^2/(2s^2)-cS/2}/\sqrt{2\pi}` increases with s.
2. Trapezoidal rule with step 2 pi/L: Poisson summation gives
   :math:`\sum_m e^{\theta mL}E f_c(X-mL)`, which is at least the term m = 0. The other terms are at
   most :math:`F(s)\,\kappa(s)\frac{q}{1-q}`, :math:`q=e^{-|s-\theta|L}`, for any s > theta
   (m > 0) plus any 0 < s < theta (m < 0), because :math:`f_c(x)\le\kappa(s)e^{sx}` with
   :math:`\kappa(s)=(1+c/s)^{-s/c}/(s+c)`, which is 1/(es) for c = 0.
3. Truncation at T: the normal factor leaves :math:`\tau e^{-x^2/2}/(\pi x^3)` and
   :math:`e^{-x^2/2}/(\pi\tau x)`, x = tau T, since :math:`|z(z+c)|\ge t^2`.
4. Skipped nodes (:mod:`shuffledp.divergence.nodes`): their bound is added.
5. Rounding: a bound per node, and one for the common factor.
6. Values with errors: if they move S by at most D, :math:`E f_c(S)` moves by at most
   :math:`E[D\,1(S+D>0)]\le E[De^{\theta(S+D)}]`, because :math:`0\le f_c'\le1`. Under the tilted
   law that is, in units of F(theta), at most :math:`de^{\theta d}`, d the sum of all mean errors,
   each weighted by :math:`e^{\theta\cdot\text{error}}` (independence;
   :math:`\log E e^{\theta D}\le\theta d`).

For c = 0 and l = 0 all summands may be 0. That adds nothing to :math:`E S_+` but, smoothed, much to
both integrals; this part is known in closed form and subtracted. Sums are in units of F(theta); the
cost does not depend on n. Where the nodes lie and how much is smoothed is proposed by
:mod:`shuffledp.divergence.proposals`; the bounds hold for every choice.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from shuffledp.arrays import UNIT
from shuffledp.divergence.blocks import BlockSum
from shuffledp.divergence.enclosure import LogEnclosure
from shuffledp.divergence.kernel import HINGE, Kernel
from shuffledp.divergence.nodes import NodeSums, sum_nodes
from shuffledp.divergence.proposals.grid import Grid, alias_points, choose_grid
from shuffledp.divergence.proposals.saddle import saddle_point
from shuffledp.divergence.proposals.smoothing import Smoothing
from shuffledp.divergence.tilt import LogMgfs, TiltedSum, log_mgf_of_sum, tilt_sum

_ROUNDS = 12
_MAX_RTOL = 1.0
_LESS = 1000  # times the tolerance, if there is too much work for a first answer
_SQRT_2PI = math.sqrt(2 * math.pi)
_MAX_LOG = 700.0


@dataclass(frozen=True)
class GridErrors:
    """What a grid leaves out: aliases (of the mean), and what lies beyond its last node."""

    alias: float
    tail_mean: float
    tail_density: float


@dataclass(frozen=True)
class Evaluation:
    """An enclosure of log E f(S), and in units of F(theta) its smoothing error and its value."""

    enclosure: LogEnclosure
    bias: float
    value: float


def contour_log_mean(
    total: BlockSum,
    rtol: float,
    max_work: float,
    kernel: Kernel = HINGE,
) -> LogEnclosure:
    """Enclose log E f(S) for a sum that can be positive.

    Args:
        total: the sum S.
        rtol: relative width to aim for.
        max_work: stop refining when all rounds together would need more nodes times atoms.
        kernel: the function f.
    """
    factor = saddle_point(total, kernel)
    total, kernel = total.in_units(factor), kernel.in_units(factor)
    tilted = tilt_sum(total, 1.0)
    best = LogEnclosure(-math.inf, _chernoff(tilted, kernel))
    shift = math.log(factor)
    while best.width == math.inf and rtol <= _MAX_RTOL:
        best = best.intersect(_refine(total, kernel, tilted, rtol, max_work))
        rtol *= _LESS
    # A logarithm is good to four units, the curvature to one; `widen` rounds the sums.
    slack = UNIT * (4 * abs(shift) + 2)
    return LogEnclosure(best.lower - shift, best.upper - shift).widen(slack)


def _refine(
    total: BlockSum,
    kernel: Kernel,
    tilted: TiltedSum,
    rtol: float,
    max_work: float,
) -> LogEnclosure:
    """Evaluate with ever less smoothing until the enclosure is narrow or the work is spent."""
    smoothing = Smoothing(tilted, rtol, kernel)
    best = LogEnclosure(-math.inf, math.inf)
    for _ in range(_ROUNDS):
        tau = smoothing.tau
        mgfs = log_mgf_of_sum(total, alias_points(tilted, tau))
        grid = choose_grid(mgfs, tilted, tau, smoothing.grid_allowance, kernel)
        if grid is None:
            break
        sums = sum_nodes(tilted, tau, grid, smoothing.skip_allowance, max_work, kernel)
        if sums is None:
            break
        max_work -= sums.work
        errors = bound_grid(mgfs, tilted, tau, grid, kernel)
        found = assemble(tilted, tau, errors, sums, kernel)
        best = best.intersect(found.enclosure)
        other = errors.alias + errors.tail_mean + sums.skipped_mean
        if best.width <= rtol or not smoothing.improve(found.bias, other, found.value):
            break
    return best


def bound_grid(
    mgfs: LogMgfs, tilted: TiltedSum, tau: float, grid: Grid, kernel: Kernel = HINGE
) -> GridErrors:
    """Bound what the grid leaves out."""
    # The last node and tau: 2 roundings and a square; then an exponential and four more factors.
    x = grid.count * grid.step * tau * (1 - 4 * UNIT)
    gaussian = math.exp(-x * x / 2 * (1 - 4 * UNIT)) * (1 + 16 * UNIT)
    alias = math.inf
    if mgfs.points[grid.left] < tilted.theta < mgfs.points[grid.right]:
        places = grid.left, grid.right
        alias = sum(_bound_aliases(mgfs, i, tilted, tau, grid.step, kernel) for i in places)
    return GridErrors(
        alias=alias * (1 + 2 * UNIT),
        tail_mean=tau * gaussian / (math.pi * x**3),
        tail_density=gaussian / (math.pi * tau * x),
    )


def _bound_aliases(
    mgfs: LogMgfs, place: int, tilted: TiltedSum, tau: float, step: float, kernel: Kernel
) -> float:
    """Bound the aliases on the side of one point s by F(s)/F(theta) max(f(x) e^-sx) q/(1 - q)."""
    s = float(mgfs.points[place])
    if not 0 < s < math.inf:
        return math.inf
    # The period 2 pi/step, a difference and a product: 5 roundings.
    distance = abs(s - tilted.theta) * (2 * math.pi / step) * (1 - 8 * UNIT)
    if distance == 0:
        return math.inf
    terms = [float(mgfs.values[place]), -tilted.log_mgf, *kernel.log_peak(s)]
    terms += [_log_noise(tau, s, kernel), -_log_noise(tau, tilted.theta, kernel)]
    terms += [-distance, -math.log(-math.expm1(-distance))]
    # Every term has at most 8 roundings, and one in each of 8 sums.
    slack = float(mgfs.errors[place]) + tilted.log_mgf_error + 16 * UNIT * sum(map(abs, terms))
    return _exp(sum(terms) + slack)


def _log_noise(tau: float, s: float, kernel: Kernel) -> float:
    """Return the logarithm of E e^{sN}."""
    return 0.5 * tau**2 * s * (s + kernel.curvature)


def assemble(
    tilted: TiltedSum, tau: float, errors: GridErrors, sums: NodeSums, kernel: Kernel = HINGE
) -> Evaluation:
    """Combine the sums and all error terms."""
    theta = tilted.theta
    lift = _log_noise(tau, theta, kernel)
    zero = zero_error = 0.0
    if tilted.log_zero > -math.inf and kernel.curvature == 0:
        zero = math.exp(tilted.log_zero - lift)
        # The exponent is rounded, the exponential has 4 units, and four more factors one each.
        wrong = tilted.zero_error + UNIT * (8 + abs(tilted.log_zero) + 4 * lift)
        zero_error = zero * (math.expm1(wrong) if wrong < _MAX_LOG else math.inf)
    mean = sums.mean - zero * tau / _SQRT_2PI
    density = sums.density - zero / (tau * _SQRT_2PI)
    shift = tilted.value_shift * _exp(theta * tilted.value_shift)
    error = sums.rounding_mean + sums.skipped_mean + errors.tail_mean + zero_error * tau + shift
    density_error = (
        sums.rounding_density + sums.skipped_density + errors.tail_density + zero_error / tau
    )
    growth = (kernel.curvature * tau) ** 2 / 8
    # A dozen roundings; the exponent has 3 of its own size.
    bias = tau**2 * max(density + density_error, 0.0) * _exp(growth)
    bias *= 1 + UNIT * (16 + 4 * growth)
    # At most eight sums, rounded before anything cancels.
    upper = mean + error + 16 * UNIT * (abs(mean) + error)
    lower = mean - error - errors.alias - bias
    lower -= 16 * UNIT * (abs(mean) + error + errors.alias + bias)
    base = tilted.log_mgf + lift
    base_error = tilted.log_mgf_error + 4 * UNIT * (abs(base) + lift)
    enclosure = LogEnclosure.rounded(_log(lower, -math.inf), _log(upper, math.inf), base_error)
    return Evaluation(LogEnclosure(base + enclosure.lower, base + enclosure.upper), bias, mean)


def _log(x: float, otherwise: float) -> float:
    return math.log(x) if x > 0 else otherwise


def _exp(x: float) -> float:
    """Return e^x, infinite where it is too large."""
    return math.exp(x) if x < _MAX_LOG else math.inf


@dataclass(frozen=True, eq=False)
class ChernoffBound:
    """An upper bound on log E f(S), and S in the units of its tilt, before and after it."""

    log_mean: float
    total: BlockSum
    tilted: TiltedSum


def chernoff_bound(total: BlockSum, kernel: Kernel = HINGE) -> ChernoffBound:
    """Bound log E f(S) from above by one tilt: E e^{theta S} max(f(x) e^{-theta x})."""
    factor = saddle_point(total, kernel)
    total = total.in_units(factor)
    tilted = tilt_sum(total, 1.0)
    shift = math.log(factor)
    bound = _chernoff(tilted, kernel.in_units(factor))
    # The logarithm is good to four units, a sum and the curvature to one.
    error = UNIT * (8 * (abs(shift) + abs(bound)) + 2)
    return ChernoffBound(bound - shift + error, total, tilted)


def chernoff_log_mean(total: BlockSum, kernel: Kernel = HINGE) -> float:
    """Return an upper bound on log E f(S) from one tilt."""
    return chernoff_bound(total, kernel).log_mean


def _chernoff(tilted: TiltedSum, kernel: Kernel) -> float:
    terms = [tilted.log_mgf, *kernel.log_peak(tilted.theta)]
    # Values with errors raise log E e^{theta S} by at most theta times their mean error.
    slack = tilted.log_mgf_error + tilted.theta * tilted.value_shift
    # Every term has at most 8 roundings, and one in each of 3 sums.
    return sum(terms) + slack + 16 * UNIT * sum(map(abs, terms))
