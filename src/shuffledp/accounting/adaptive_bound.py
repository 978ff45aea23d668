r"""What is left if the analyst chooses whose reports to learn after seeing the shuffled ones.

Let every other user be in the pool with probability :math:`\gamma`, the mass of the blanket, and
:math:`\varphi(m)` be the bound for a pool of m. Seen from the pool's multiset, the reports of its
members are assigned to them at random, so the f that are learned, in whatever order they are
chosen, might as well be any fixed f, and :math:`\delta\le E\varphi(\max(1,1+K-f))` with
:math:`K\sim\mathrm{Bin}(n-1,\gamma)`. Split off m users, X of whom are in the pool: where
:math:`X\ge f` the other users' pool is left whole, so

.. math:: \delta\le\delta_{n-m}+P(\mathrm{Bin}(m,\gamma)<f)\qquad\text{for every }m.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from shuffledp.accounting.candidates import Candidate
from shuffledp.accounting.crossing import cross
from shuffledp.accounting.worst_case import WorstCase
from shuffledp.arrays import UNIT
from shuffledp.divergence import LogEnclosure
from shuffledp.errors import MAX_EPSILON0
from shuffledp.interval import Interval, exp_down

#: The probabilities that too few of those set aside are in the pool; the best one is taken.
_RISKS = tuple(10.0**-exponent for exponent in (3, 6, 12, 24, 48, 96, 192, 300))

_NEGLIGIBLE = 1e-6  # relative to delta
_FINE = 1e-3  # relative to delta, where to look first
_LOG_SLACK = 1e-12  # more than the rounding of the logarithm of a risk


@dataclass(frozen=True)
class _Step:
    """A bound on delta: that of ``worst`` plus ``risk``."""

    worst: WorstCase
    risk: float


class AdaptiveBound:
    """Bounds for n users, the reports of f of whom are learned after the fact.

    Args:
        all_hidden: the bounds for the same users if no report is learned.
        f: how many reports are learned.
    """

    def __init__(self, all_hidden: WorstCase, f: int) -> None:
        self.candidates = candidates = all_hidden.candidates
        n, self.rtol = all_hidden.n, all_hidden.rtol
        rtol, pool = self.rtol, candidates.pool()
        self._steps = [_Step(WorstCase(candidates, 1, rtol), 0.0)]  # all others are exposed
        for risk in _RISKS:
            aside = users_aside(f, pool, risk, n)
            if aside is not None:
                self._steps.append(_Step(WorstCase(candidates, n - aside, rtol), risk))

    def log_delta(self, epsilon: float) -> tuple[LogEnclosure, Candidate | None]:
        """Enclose the smallest of the bounds on log delta; also return its worst candidate."""
        best, worst = LogEnclosure(math.inf, math.inf), None
        for step in self._steps:
            if step.risk and math.log(step.risk) > best.upper:
                continue
            value, candidate = step.worst.log_delta(epsilon)
            value = value.plus(step.risk, step.risk)
            if value.upper < best.upper:
                worst = candidate
            best = LogEnclosure(min(best.lower, value.lower), min(best.upper, value.upper))
            if 0 < step.risk < _NEGLIGIBLE * exp_down(best.lower):
                break  # further steps have fewer users
        return best, worst

    def epsilon(self, delta: float) -> tuple[Interval, Candidate | None]:
        """Enclose the smallest epsilon at which the bound is at most ``delta``."""
        end = self.candidates.max_epsilon()
        if self.candidates.leader() is None or delta in (0.0, 1.0):
            return self._steps[0].worst.epsilon(delta)
        fine = [step for step in self._steps if step.risk <= _FINE * delta]
        start = min(fine, key=lambda step: -step.risk).worst.epsilon(delta)[0].upper
        found = cross(
            lambda epsilon: self.log_delta(epsilon)[0],
            delta,
            rtol=self.rtol,
            start=min(start, MAX_EPSILON0),
            end=end.upper,
        )
        at = min(found.upper, MAX_EPSILON0)
        return found, self.log_delta(at)[1]


def users_aside(f: int, pool: float, risk: float, n: int) -> int | None:
    """Return m below n - 1 with P(Bin(m, pool) < f) at most ``risk``, None if there is none.

    The smallest one by the bound of Chernoff, which is certified.

    >>> users_aside(1, 0.5, 1e-3, 100), users_aside(3, 1.0, 1e-3, 100), users_aside(3, 0.1, 1e-3, 9)
    (10, 3, None)
    """
    low, high = f - 1, n - 2  # the bound is not met at low
    target = math.log(risk) - _LOG_SLACK
    if high < f or log_risk(f, pool, high) > target:
        return None
    while high - low > 1:
        middle = (low + high) // 2
        if log_risk(f, pool, middle) <= target:
            high = middle
        else:
            low = middle
    return high


def log_risk(f: int, pool: float, m: int) -> float:
    r"""Return a bound on log P(Bin(m, pool) < f) for m >= f >= 1.

    With :math:`g=f-1\le m\gamma` it is
    :math:`g\log\frac{m\gamma}g+(m-g)\log\frac{m(1-\gamma)}{m-g}`, at most 0.
    """
    rest = f - 1
    if pool >= 1:
        return -math.inf
    if rest >= m * pool:
        return 0.0
    first = rest * math.log(m * pool / rest) if rest else 0.0
    second = (m - rest) * (math.log1p(-pool) - math.log1p(-rest / m))
    # Logarithms and quotients to 4 units each; those near 1 are off by units of 1.
    size = abs(first) + abs(second) + 2 * m + (m - rest) * abs(math.log1p(-pool))
    return first + second + 16 * UNIT * size
