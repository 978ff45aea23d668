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
on n.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from shuffledp.decomposition.arithmetic import UNIT
from shuffledp.decomposition.gparv import Law
from shuffledp.divergence.enclosure import LogEnclosure
from shuffledp.divergence.nodes import NodeSums, sum_nodes
from shuffledp.divergence.tilt import TiltedLaw, log_mgf, standardise, tilt

_ROUNDS = 12
_MAX_RTOL = 1.0
_SQRT_2PI = math.sqrt(2 * math.pi)


@dataclass(frozen=True)
class _Grid:
    """Trapezoidal nodes t_k = k step, k = 0..count, and the errors they leave."""

    step: float
    count: int
    alias: float
    tail_mean: float
    tail_density: float


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
    law, factor = standardise(law, n)
    tilted = tilt(law, 1.0)
    shift = math.log(factor)
    while best.width == math.inf and rtol <= _MAX_RTOL:
        best = _refine(law, tilted, n, rtol, max_work, hint + shift)
        rtol *= 1000  # too much work for a first answer: ask for less
    return LogEnclosure(best.lower - shift, best.upper - shift).widen(4 * UNIT * abs(shift))


def _refine(
    law: Law, tilted: TiltedLaw, n: int, rtol: float, max_work: float, hint: float
) -> LogEnclosure:
    """Evaluate with ever less smoothing until the enclosure is narrow or the work is spent."""
    theta = tilted.theta
    sigma = math.sqrt(n * tilted.variance)
    value = 1 / (theta**2 * _SQRT_2PI * math.hypot(sigma, math.sqrt(2) / theta))
    value = max(min(value, math.exp(min(hint - n * tilted.log_mgf, 700.0))), 1e-290)
    tau = _first_tau(tilted, n, sigma, value, rtol)
    best = LogEnclosure(-math.inf, math.inf)
    for _ in range(_ROUNDS):
        grid = _choose_grid(law, tilted, n, sigma, tau, 0.04 * rtol * value)
        if grid is None:
            break
        allowance = 0.02 * rtol * value
        sums = sum_nodes(tilted, n, tau, grid.step, grid.count, allowance, max_work)
        if sums is None:
            break
        max_work -= sums.work
        result, bias, measured = _assemble(tilted, n, tau, grid, sums)
        best = best.intersect(result)
        if best.width <= rtol:
            break
        value = min(value, max(measured, 1e-3 * value))
        target = 0.5 * rtol * value
        if bias <= target and grid.alias + grid.tail_mean + sums.skipped_mean <= target:
            break  # rounding dominates: no choice of parameters helps
        shrink = min(max(target / bias, 0.12), 0.85) if bias > target else 1.0
        tau *= math.sqrt(shrink) if shrink > 0.2 else shrink
    return best


def _first_tau(tilted: TiltedLaw, n: int, sigma: float, value: float, rtol: float) -> float:
    """Choose tau so that the predicted smoothing error is a fifth of the tolerance.

    The prediction takes the sum for normal; where it lies on a lattice the error is larger.
    """
    theta = tilted.theta
    tau = 0.3 / theta
    if sigma > 0:
        distance = min(n * tilted.mean / sigma, 1e100)
        log_density = -0.5 * distance**2 - math.log(_SQRT_2PI * sigma)
        log_density = min(log_density, math.log(2 * theta**2 * value))
        log_tau2 = math.log(0.2 * rtol * value) - log_density
        if log_tau2 < 2 * math.log(tau):
            tau = math.exp(log_tau2 / 2)
    if theta * sigma > 1:
        # Below this scale far blocks are skipped anyway: less smoothing costs nothing.
        tau = min(tau, max(0.19 * math.sqrt(tilted.variance), 1e-3 * tau))
    return tau


def _choose_grid(
    law: Law, tilted: TiltedLaw, n: int, sigma: float, tau: float, allowance: float
) -> _Grid | None:
    """Choose period and cut-off so that aliasing and truncation stay within ``allowance``."""
    theta = tilted.theta
    scale = 1 / math.hypot(sigma, tau)
    right = np.concatenate(
        [theta + scale * np.array([0.5, 1, 2, 3, 4, 6, 8, 12]), theta * np.array([1.5, 2, 3, 5])]
    )
    left = np.concatenate(
        [theta - scale * np.array([0.5, 1, 2, 3, 4, 6, 8]), theta * np.array([0.9, 0.7, 0.4, 0.15])]
    )
    left = left[left > 0]
    points = np.concatenate([right, left])
    log_factor = (
        n * (log_mgf(law, points) - tilted.log_mgf)
        + 0.5 * tau**2 * (points**2 - theta**2)
        - np.log(math.e * points)
        + 1e-3  # covers the rounding of the line above; checked below
    )
    if n * tilted.log_mgf_error > 5e-4 or not np.isfinite(log_factor).any():
        log_factor = log_factor + 4 * n * tilted.log_mgf_error
    # q/(1-q) e^factor = allowance/2  =>  q = 1/(1 + 2 e^factor/allowance)
    with np.errstate(over="ignore"):
        log_q = -np.logaddexp(0.0, log_factor - math.log(allowance / 2))
    lengths = -log_q / np.abs(points - theta)
    length = max(float(np.nanmin(lengths[: right.size])), float(np.nanmin(lengths[right.size :])))
    cut = 3.0
    while tau * math.exp(-cut * cut / 2) / (math.pi * cut**3) > allowance:
        cut += 0.25
    step = 2 * math.pi / length
    count = cut / tau / step
    if not count < 2**52:
        return None
    count = max(math.ceil(count), 1)
    cut = count * step * tau
    gaussian = math.exp(-cut * cut / 2)
    return _Grid(
        step=step,
        count=count,
        alias=allowance,
        tail_mean=tau * gaussian / (math.pi * cut**3),
        tail_density=gaussian / (math.pi * tau * cut),
    )


def _assemble(
    tilted: TiltedLaw, n: int, tau: float, grid: _Grid, sums: NodeSums
) -> tuple[LogEnclosure, float, float]:
    """Combine the sums and all error terms; also return the smoothing error and the value."""
    theta = tilted.theta
    zero = 0.0
    if tilted.zero_probability > 0:
        zero = math.exp(n * math.log(tilted.zero_probability) - 0.5 * (tau * theta) ** 2)
    zero_error = zero * n * (tilted.zero_error + 8 * UNIT)
    mean = sums.mean - zero * tau / _SQRT_2PI
    density = sums.density - zero / (tau * _SQRT_2PI)
    error = sums.rounding_mean + sums.skipped_mean + grid.tail_mean + zero_error * tau
    density_error = (
        sums.rounding_density + sums.skipped_density + grid.tail_density + zero_error / tau
    )
    bias = tau**2 * max(density + density_error, 0.0)
    upper = mean + error
    lower = mean - error - grid.alias - bias
    base = n * tilted.log_mgf + 0.5 * (tau * theta) ** 2
    base_error = n * tilted.log_mgf_error + 4 * UNIT * abs(base) + 1e-14
    enclosure = LogEnclosure(
        base + math.log(lower) if lower > 0 else -math.inf,
        base + math.log(upper) if upper > 0 else math.inf,
    ).widen(base_error)
    return enclosure, bias, mean


def chernoff_log_mean(law: Law, n: int) -> float:
    """Return an upper bound on log E[(G_1+...+G_n)_+] from one tilt: M^n/(e theta)."""
    law, factor = standardise(law, n)
    tilted = tilt(law, 1.0)
    base, shift = n * tilted.log_mgf, math.log(factor)
    slack = n * tilted.log_mgf_error + 8 * UNIT * (abs(base) + abs(shift)) + 1e-14
    return base - 1 - shift + slack
