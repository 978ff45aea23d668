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
from functools import cached_property

import numpy as np
from flint import acb, arb

from shuffledp.basics.arrays import FloatArray
from shuffledp.basics.balls import (
    lower_double,
    lower_log,
    precision,
    total,
    upper_double,
    upper_log,
)
from shuffledp.basics.interval import Interval
from shuffledp.bounds.curve import Curve, Proved
from shuffledp.engine.contour import Transform
from shuffledp.engine.proposals import Doubles
from shuffledp.engine.sums import Law

#: How much noise, in units of one over the tilt.
_NOISE = 0.1

#: Aliases are at most about e to minus this, in units of the moment generating function.
_DEPTH = 40.0

#: The last node, in units of one over the noise.
_REACH = 7.0

#: At which multiples of the tilt aliases are bounded; the best one counts.
_ALIAS_TILTS = (1.25, 1.5, 2.0)

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
        if not scores.max() > 0 or np.ptp(scores) == 0:
            return -math.inf
        theta, period = self._tilt_and_period(scores)
        tau = _NOISE / theta
        nodes = math.ceil(_REACH * period / (2 * math.pi * tau))
        if not nodes <= _MAX_NODES:
            return -math.inf
        with precision():
            return lower_log(self._attained(scores, epsilon, theta, tau, period, nodes))

    def _scores(self, epsilon: float) -> FloatArray:
        first, second = _doubles(self.first), _doubles(self.second)
        users = 1 + sum(count for _, count in self.others)
        average = (first + second) / 2 / users
        for law, count in self.others:
            average = average + _doubles(law) * (count / users)
        gain = first - math.exp(epsilon) * second
        scores: FloatArray = np.divide(gain, average, out=np.zeros_like(gain), where=average > 0)
        return scores

    def _tilt_and_period(self, scores: FloatArray) -> tuple[float, float]:
        """Return the saddle point of the test's probability, and a period with small aliases."""
        laws = [(self.first, 1), *self.others]
        doubles = Doubles([(scores, _doubles(law), count) for law, count in laws])
        theta, log_mgf = doubles.theta, doubles.at_saddle[0]
        growths = [(a - 1, doubles.cumulants(a * theta)[0] - log_mgf) for a in _ALIAS_TILTS]
        above = min((growth + _DEPTH) / distance for distance, growth in growths)
        return theta, max(_DEPTH - log_mgf, above) / theta

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
        laws = [(_law(scores, law), n) for law, n in [(self.first, 1), *self.others]]
        bounds = []
        for tilt in _ALIAS_TILTS:
            s = theta * tilt
            after = (-(s - theta) * period).exp()
            log = total(n * _log_mgf(law, s) for law, n in laws) + tau * tau * s * s / 2
            bounds.append(log.exp() * after / (1 - after))
        return before / (1 - before) + min(bounds, key=upper_log)

    def estimate(self, epsilon: float, like: Proved | None = None) -> float:
        """Return what the saddle-point formula says of equal users with the average law."""
        scores = self._scores(epsilon)
        if not scores.max() > 0:
            return -math.inf
        users = 1 + sum(count for _, count in self.others)
        blocks = [(scores, _doubles(law), count) for law, count in self.others]
        blocks = blocks or [(scores, _doubles(self.first), 1)]
        return Doubles(blocks).log_estimate - math.log(users)

    @cached_property
    def end(self) -> Interval:
        r"""Enclose where delta becomes 0: the ratio of the two laws is a mean of P(y)/Q(y).

        That mean is over the reports y of all users; it is largest if all have the same one, where
        all of them may have it.
        """
        lower = upper = 0.0
        with precision():
            rows = zip(self.first, self.second, *(law for law, _ in self.others), strict=True)
            for p, q, *others in rows:
                if p.is_zero():
                    continue
                log = (p / q).log()  # not a number if q is 0, which is rounded to infinities
                upper = max(upper, upper_double(log))
                if all(mass > 0 for mass in (p, *others)):
                    lower = max(lower, lower_double(log))
        return Interval(lower, upper)

    def __str__(self) -> str:
        """Name it."""
        return f"attack({self.where})"


def _doubles(law: Sequence[arb]) -> FloatArray:
    return np.array([float(mass) for mass in law])


def _law(scores: FloatArray, masses: Sequence[arb]) -> Law:
    return Law.of((arb(float(x)), mass) for x, mass in zip(scores, masses, strict=True))


def _log_mgf(law: Law, s: arb) -> arb:
    return total(atom.mass * (s * atom.value).exp() for atom in law.atoms).log()
