r"""What one user among others of different levels certainly reveals.

All others hold one input. A test that accepts outcomes with probability T reveals
:math:`\delta\ge E_P[T]-e^\varepsilon E_Q[T]`, whatever T is. Here :math:`T=\Phi(S/\tau)` with the
normal distribution function and a sum S of scores of the reports: with X = S + N, N normal noise of
variance :math:`\tau^2`, :math:`E[T]=P(X\ge0)`, so the noise that makes a contour converge costs no
accuracy, only some power of the test. With :math:`F=M_P-e^\varepsilon M_Q` the difference of the
two moment generating functions of X,

.. math:: E_P[T]-e^\varepsilon E_Q[T]=\frac1{2\pi}\int\frac{F(\theta+it)}{\theta+it}\,dt .

A sum over nodes :math:`2\pi k/L` counts :math:`\sum_me^{\theta mL}(P(X\ge mL)-e^\varepsilon
Q(X\ge mL))`, of which m = 0 is wanted. The others are at most those of P: for m < 0 probabilities
are at most 1, for m > 0 and every :math:`s>\theta`, :math:`P(X\ge mL)\le M_P(s)e^{-smL}`. Beyond
the last node, :math:`x=\tau t`, at most :math:`(M_P+e^\varepsilon M_Q)(\theta)\,
e^{-x^2/2}/(\pi x^2)` is left out.

The scores are those of the likelihood ratio if all others had their average law. They are doubles,
taken as they are: any scores give a valid bound.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from flint import acb, arb

from shuffledp.arrays import FloatArray
from shuffledp.bounds.curve import Curve, Proved
from shuffledp.engine.balls import lower_log, precision, total
from shuffledp.engine.contour import Transform
from shuffledp.engine.proposals import Doubles
from shuffledp.engine.sums import Law
from shuffledp.interval import Interval

#: How much noise, in units of one over the tilt.
_NOISE = 0.1

#: Aliases and what is cut off are at most about e to minus this, relative to delta.
_DEPTH = 14.0

#: More nodes take longer than anybody waits.
_MAX_NODES = 4000


class TierLeak(Curve):
    """What two datasets reveal that differ in one user.

    Args:
        first: the user's law of reports under one input; masses of finitely many reports.
        second: the same under the other input.
        others: the laws of the other users' reports, and how many have each.
        where: what the curve belongs to.
    """

    def __init__(
        self,
        first: Sequence[arb],
        second: Sequence[arb],
        others: Sequence[tuple[Sequence[arb], int]],
        where: object = None,
    ) -> None:
        self.first, self.second, self.where = list(first), list(second), where
        self.others = [(list(law), count) for law, count in others if count > 0]

    def above(self, epsilon: float) -> Proved:
        """Prove nothing: other datasets, or tests, may reveal more."""
        return Proved(0.0, self.where)

    def below(self, epsilon: float) -> Proved:
        """Prove what the test attains."""
        return Proved(self._log_attained(epsilon), self.where, "exact")

    def _log_attained(self, epsilon: float) -> float:
        scores = self._scores(epsilon)
        theta, depth = self._tilt(scores, epsilon)
        if not 0 < theta < math.inf or np.ptp(scores) == 0:
            return -math.inf
        tau, period = _NOISE / theta, 4 * (depth + _DEPTH) / theta
        reach = math.sqrt(2 * (depth + _DEPTH)) if depth > 2 else 6.0
        nodes = math.ceil(reach * period / (2 * math.pi * tau))
        if nodes > _MAX_NODES:
            return -math.inf
        with precision():
            return lower_log(self._attained(scores, epsilon, theta, tau, period, nodes))

    def _scores(self, epsilon: float) -> FloatArray:
        first, second = (np.array([float(p) for p in law]) for law in (self.first, self.second))
        users = 1 + sum(count for _, count in self.others)
        average = (first + second) / 2 / users
        for law, count in self.others:
            average = average + np.array([float(p) for p in law]) * (count / users)
        gain = first - math.exp(epsilon) * second
        scores: FloatArray = np.divide(gain, average, out=np.zeros_like(gain), where=average > 0)
        return scores

    def _tilt(self, scores: FloatArray, epsilon: float) -> tuple[float, float]:
        """Return the saddle point of the test's probability, and about how rare it accepts."""
        laws = [(self.first, 1), *self.others]
        doubles = Doubles(
            [(scores, np.array([float(p) for p in law]), count) for law, count in laws]
        )
        if not scores.max() > 0:
            return math.nan, 0.0
        return doubles.theta, max(-doubles.at_saddle[0], 0.0)

    def _attained(
        self,
        scores: FloatArray,
        epsilon: float,
        tilt: float,
        noise: float,
        length: float,
        nodes: int,
    ) -> arb:
        """Return a lower bound on delta; any tilt, noise, length and number of nodes is valid."""
        theta, tau, period = arb(tilt), arb(noise), arb(length)
        growth, step = arb(epsilon).exp(), 2 * arb.pi() / period
        own, swapped, *rest = (
            Transform(_law(scores, law), theta)
            for law in (self.first, self.second, *(law for law, _ in self.others))
        )
        counts = [count for _, count in self.others]
        common = total(slot.log_mgf * n for slot, n in zip(rest, counts, strict=True))
        common += tau * tau * theta * theta / 2
        shift = total(slot.centre * n for slot, n in zip(rest, counts, strict=True))
        sizes = own.log_mgf.exp(), growth * swapped.log_mgf.exp()
        value = (sizes[0] - sizes[1]) / theta / 2
        for k in range(1, nodes + 1):
            t = step * k
            ends = [
                size * slot.at(t)[0] * acb(0, slot.centre * t).exp()
                for slot, size in zip((own, swapped), sizes, strict=True)
            ]
            wave = acb(-tau * tau * t * t / 2, (tau * tau * theta + shift) * t).exp()
            for slot, n in zip(rest, counts, strict=True):
                wave *= slot.at(t)[0] ** n
            value += ((ends[0] - ends[1]) * wave / acb(theta, t)).real
        x = tau * step * nodes
        cut = (sizes[0] + sizes[1]) * (-x * x / 2).exp() / (arb.pi() * x * x)
        found = common.exp() * (value * step / arb.pi() - cut)
        return found - self._aliases(scores, theta, tau, period)

    def _aliases(self, scores: FloatArray, theta: arb, tau: arb, period: arb) -> arb:
        before = (-theta * period).exp()
        s = theta * 3 / 2
        after = (-(s - theta) * period).exp()
        laws = [(self.first, 1), *self.others]
        log = total(n * _log_mgf(_law(scores, law), s) for law, n in laws)
        log += tau * tau * s * s / 2
        return before / (1 - before) + log.exp() * after / (1 - after)

    def estimate(self, epsilon: float, like: Proved | None = None) -> float:
        """Return what the saddle-point formula says of equal users with the average law."""
        scores = self._scores(epsilon)
        if not scores.max() > 0:
            return -math.inf
        users = 1 + sum(count for _, count in self.others)
        blocks = [
            (scores, np.array([float(p) for p in law]), count) for law, count in self.others
        ] or [(scores, np.array([float(p) for p in self.first]), 1)]
        return Doubles(blocks).log_estimate - math.log(users)

    @property
    def end(self) -> Interval:
        """Nothing is known of where delta becomes 0."""
        return Interval(0.0, math.inf)

    def __str__(self) -> str:
        """Name it."""
        return f"attack({self.where})"


def _law(scores: FloatArray, masses: Sequence[arb]) -> Law:
    return Law.of((arb(float(x)), mass) for x, mass in zip(scores, masses, strict=True))


def _log_mgf(law: Law, s: arb) -> arb:
    return total(atom.mass * (s * atom.value).exp() for atom in law.atoms).log()
