r"""The contour sum of :mod:`shuffledp.divergence.contour`, with every error term in balls.

Let S be the sum of n copies of G, N an independent normal with standard deviation tau, X = S + N
and :math:`F(z)=e^{nK(z)+\tau^2z^2/2}`. In units in which the tilt theta is 1,

.. math:: E X_+ = \frac1{2\pi}\int F(1+it)\,(1+it)^{-2}\,dt,
          \qquad f_X(0) = \frac1{2\pi}\int F(1+it)\,dt .

1. Smoothing: :math:`E S_+ \le E X_+ \le E S_+ + \tau^2 f_X(0)`. (Jensen; and
   :math:`\frac{d}{d\tau}E(S+\tau Z)_+ = E\varphi(S/\tau)` increases with tau.)
2. The trapezoidal rule with step 2 pi/L gives :math:`\sum_m e^{mL}E(X-mL)_+` (Poisson), which is
   at least the term m = 0. The other terms are at most :math:`\frac{F(s)}{es}\frac{q}{1-q}`,
   :math:`q=e^{-|s-1|L}`, for any s > 1 (m > 0) plus any 0 < s < 1 (m < 0), because
   :math:`x_+\le e^{sx}/(es)`.
3. Cutting at T leaves at most :math:`\tau e^{-x^2/2}/(\pi x^3)`, for the density
   :math:`e^{-x^2/2}/(\pi\tau x)`, x = tau T, because :math:`|F(1+it)|\le F(1)e^{-\tau^2t^2/2}`.
4. Skipped nodes: :mod:`shuffledp.certification.nodes` bounds them.
5. S = 0 with all summands 0 adds nothing to :math:`E S_+` but, smoothed,
   :math:`\tau/\sqrt{2\pi}` to the first integral and :math:`1/(\tau\sqrt{2\pi})` to the second per
   unit of its probability, which is subtracted.

Sums are in units of F(1). Where nodes lie and how many there are is chosen in doubles.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from flint import arb

from shuffledp.certification.grid import alias_points, choose_grid
from shuffledp.certification.law import Law
from shuffledp.certification.nodes import Nodes, NodeSums, sum_nodes
from shuffledp.certification.tilt import FloatArray, TiltedLaw, tilt
from shuffledp.engine.balls import logarithm, short
from shuffledp.engine.enclosure import Enclosure, PrecisionError
from shuffledp.engine.progress import Progress

_ROUNDS = 10
_MAX_RTOL = 0.5
_SQRT_2PI = math.sqrt(2 * math.pi)


def contour_mean(
    law: Law, n: int, rtol: float, hint: arb, max_work: float, progress: Progress
) -> Enclosure | None:
    """Enclose (1/n) E[(G_1+...+G_n)_+] for a law with a positive value.

    Args:
        law: the law of G.
        n: number of summands.
        rtol: relative width to aim for.
        hint: a guess of the answer that may be too large.
        max_work: stop refining when the rounds together would need more nodes times atoms.
        progress: is told how far the sum is.

    Returns:
        The narrowest enclosure found, None if the first would take too much work.
    """
    tilted, found = tilt(law, n), None
    while found is None and rtol <= _MAX_RTOL:
        found = _Contour(tilted, n, rtol, hint, max_work).refine(progress)
        rtol *= 100  # too much work for a first answer: ask for less
    return found


@dataclass(frozen=True)
class _Result:
    """An enclosure, its smoothing error, its other errors and the value, in units of F(1)."""

    enclosure: Enclosure
    bias: float
    other: float
    value: float


class _Contour:
    def __init__(self, tilted: TiltedLaw, n: int, rtol: float, hint: arb, max_work: float) -> None:
        self.tilted, self.n, self.rtol, self.max_work = tilted, n, rtol, max_work
        self.unit = (n * tilted.log_mgf).exp() / (n * tilted.theta)  # of F(1), for the answer
        self.sigma = math.sqrt(max(n * float(tilted.variance.mid()), 0.0))
        saddle = 1 / (_SQRT_2PI * math.hypot(self.sigma, math.sqrt(2)))
        guess = logarithm(hint) - logarithm(self.unit)
        self.value = min(saddle, math.exp(min(max(guess, -640.0), 0.0)))
        self.points = alias_points(self.sigma)
        self.log_mgf = self._log_mgf(self.points)

    def refine(self, progress: Progress) -> Enclosure | None:
        """Evaluate with ever less smoothing until the enclosure is narrow or the work is spent."""
        tau, best = self._first_tau(), None
        for _ in range(_ROUNDS):
            nodes, right, left = self._grid(short(tau))
            allowance = 0.02 * self.rtol * self.value
            sums = sum_nodes(self.tilted, nodes, allowance, self.max_work, progress)
            if sums is None:
                break
            self.max_work -= sums.work
            alias = self._alias(nodes, right) + self._alias(nodes, left)
            result = self._assemble(nodes, sums, alias)
            found = result.enclosure
            if best is None or found.upper - found.lower < best.upper - best.lower:
                best = found
            if best.is_narrow(self.rtol):
                break
            self.value = max(result.value, 1e-3 * self.value)
            target = 0.5 * self.rtol * self.value
            if result.bias <= target and result.other <= target:
                break  # what is left is the width of the balls
            shrink = min(max(target / result.bias, 0.12), 0.85) if result.bias > target else 1.0
            tau *= math.sqrt(shrink) if shrink > 0.2 else shrink
        return best

    def _first_tau(self) -> float:
        """Choose tau so that the predicted smoothing error is half the tolerance."""
        if self.sigma == 0:
            return 0.3
        centre = self.n * float(self.tilted.mean.mid()) / self.sigma
        log_density = -0.5 * centre**2 - math.log(_SQRT_2PI * self.sigma)
        log_density = min(log_density, math.log(2 * self.value))
        log_tau = 0.5 * (math.log(0.5 * self.rtol * self.value) - log_density)
        return math.exp(min(log_tau, math.log(0.3)))

    def _log_mgf(self, points: FloatArray) -> FloatArray:
        """Return log M(s)/M(1) at several s, roughly."""
        values = np.array([float(x.mid()) for x in self.tilted.values])
        logs = np.array([logarithm(p) for p in self.tilted.probability])
        zero = logarithm(self.tilted.zero)
        exponents = np.multiply.outer(points - 1, values) + logs
        exponents = np.column_stack([exponents, np.full(points.size, zero)])
        top = exponents.max(axis=1)
        return np.asarray(top + np.log(np.exp(exponents - top[:, None]).sum(axis=1)))

    def _grid(self, tau: float) -> tuple[Nodes, float, float]:
        """Choose the nodes so that aliasing and truncation stay within 4% of the tolerance."""
        allowance = 0.04 * self.rtol * self.value
        grid = choose_grid(tau, self.points, self.n * self.log_mgf, allowance)
        return Nodes(self.n, tau, grid.step, grid.count), grid.right, grid.left

    def _alias(self, nodes: Nodes, s: float) -> arb:
        """Bound the terms m > 0 (s > 1) or m < 0 (s < 1) of the Poisson sum."""
        growth = self.n * self.tilted.mgf(s).log() + (arb(nodes.tau) ** 2) * (arb(s) ** 2 - 1) / 2
        decay = (-abs(arb(s) - 1) * 2 * arb.pi() / nodes.step).exp()
        return growth.exp() / (arb(1).exp() * s) * decay / (1 - decay)

    def _assemble(self, nodes: Nodes, sums: NodeSums, alias: arb) -> _Result:
        """Combine the sums and all error terms."""
        tau = arb(nodes.tau)
        root = (2 * arb.pi()).sqrt()
        zero = self.tilted.zero**self.n * (-tau * tau / 2).exp()
        cut = tau * nodes.step * nodes.count
        gaussian = (-cut * cut / 2).exp() / arb.pi()
        mean_error = sums.skipped_mean + tau * gaussian / cut**3
        density_error = sums.skipped_density + gaussian / (tau * cut)
        mean = sums.mean - zero * tau / root
        density = sums.density - zero / (tau * root)
        bias = tau**2 * (density + density_error)
        unit = self.unit * (tau * tau / 2).exp()
        lower = unit * (mean - mean_error - alias - bias)
        upper = unit * (mean + mean_error)
        method = {
            "name": "contour",
            "tau": nodes.tau.hex(),
            "step": nodes.step.hex(),
            "nodes": nodes.count + 1,
        }
        size = max(self.value, float(mean.lower()))
        if not mean.rad() + bias.rad() <= 0.05 * self.rtol * size:
            raise PrecisionError("the sum of the nodes has too wide a ball")
        return _Result(
            Enclosure.between(lower, upper, method),
            float(bias.mid()),
            float((mean_error + alias).mid()),
            float(mean.mid()),
        )
