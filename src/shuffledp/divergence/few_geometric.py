r"""How far a shift by B moves a sum S of a few two-sided geometric variables.

With :math:`\alpha=e^{-\rho}` and the weights

.. math:: q_n=(1+\alpha)^{-n},\qquad
   q_{n-j}=(1+\alpha)^{-n-j}\sum_{i=1}^j\binom ni\binom{j-1}{i-1}\alpha^{2i}

the positive half of S is a mixture of negative binomial laws, so there is nothing but positive
terms in

.. math:: P(S\ge t)=\alpha^t\sum_{i<n}\binom{t-1+i}i(1-\alpha)^i\sum_{r>i}q_r,\qquad
   p(t)=\alpha^t(1-\alpha)\sum_{i<n}\binom{t+i}i(1-\alpha)^iq_{i+1}

for :math:`t\ge1` and :math:`t\ge0`; the other half follows by symmetry,
:math:`P(S\ge t)=1-P(S\ge1-t)`. As :math:`D(k)=p(k-B)-\lambda p(k)` changes its sign once, delta is
:math:`g(t)=P(S\ge t-B)-\lambda P(S\ge t)` for the first t with :math:`D(t)>0`. If that is above a
and at most b,

.. math:: g(b)\le\delta\le g(b)+(b-a-1)\,e^{\rho(b-a)}D(b),

because :math:`D(k)/p(k)` grows and :math:`p(k)\le e^\rho p(k+1)`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate

from shuffledp.arrays import UNIT
from shuffledp.divergence.enclosure import LogEnclosure

#: So many variables are few.
MOST = 16

_MAX_T = 1e15  # in units of 1/rate: powers of it are doubles
_MAX_LEVEL = 600.0  # of rate times shift: e^-600 is a double
_LEAST_RATE = 1e-100
_MAX_BRACKET = 10.0  # in units of 1/rate
_NARROW = 1e-4  # of rate times shift: below, masses say more than differences of tails
_NARROWEST = 2e-7  # below, the slope of log p says more than differences of masses


@dataclass(frozen=True)
class Shift:
    """The enclosure of log delta, and the threshold at which it is attained, None if unknown."""

    log_delta: LogEnclosure
    threshold: int | None = None


#: delta is at most 1.
NOTHING_KNOWN = Shift(LogEnclosure(-math.inf, 0.0))


def few_geometric_log_shift(n: int, rate: float, bound: int, epsilon: float) -> Shift:
    r"""Enclose log delta for 2 to 16 variables; where doubles are not enough, nothing is known.

    Args:
        n: number of variables.
        rate: :math:`\rho`, exactly.
        bound: the shift.
        epsilon: at least 0.

    >>> found = few_geometric_log_shift(5, 1 / 3, 3, 0.2).log_delta
    >>> found.lower <= math.log(0.061917207927957) <= found.upper, found.width < 1e-11
    (True, True)
    """
    if rate < _LEAST_RATE or rate * bound > _MAX_LEVEL:
        return NOTHING_KNOWN
    below = float(Fraction(epsilon) - Fraction(rate) * bound)
    if below >= 0:
        return NOTHING_KNOWN
    sums = _Sums(_law(n, rate), bound, epsilon, below)
    bracket = sums.sign_change()
    if bracket is None:
        return NOTHING_KNOWN
    low, high = bracket
    lower, upper = sums.tails(high)
    found = sums.in_logs(lower, upper + sums.between(low, high), high)
    return Shift(found.intersect(NOTHING_KNOWN.log_delta), high)


#: A coefficient, what the sum of all later terms is multiplied with besides t + i, and i.
_Row = tuple[float, float, int]


@dataclass(frozen=True)
class _Law:
    """The law of S; sums by its rows are known to 26 n units."""

    n: int
    rate: float
    success: float  # 1 - alpha
    weights: tuple[_Row, ...]
    rests: tuple[_Row, ...]
    steps: tuple[_Row, ...]

    def mass(self, t: int) -> float:
        """Return p(t) for t of at least 0, in units of (1 - alpha) alpha^t."""
        return _at(self.weights, float(t + 1))

    def tail(self, t: int) -> float:
        """Return P(S >= t) for t of at least 1, in units of alpha^t."""
        return _at(self.rests, float(t))

    def fall(self, k: int) -> float:
        r"""Return log p(k) - log p(k+1), which grows with k, to (52 n + 20) rate units.

        Sums of positive terms also give
        :math:`\alpha^{-k-1}p(k+1)-\alpha^{-k}p(k)
        =(1-\alpha)\sum_{i<n-1}\binom{k+1+i}i(1-\alpha)^{i+1}q_{i+2}`.
        """
        if k < 0:
            return -self.fall(-k - 1)
        return self.rate - math.log1p(self.success * _at(self.steps, float(k + 2)) / self.mass(k))


@lru_cache(maxsize=64)
def _law(n: int, rate: float) -> _Law:
    """Return the law.

    Powers of 1/(1 + alpha) are known to 8 n units, sums over i to 6 n, so weights to 14 n, their
    sums to 15 n. Each of the terms of a row adds 10 units.
    """
    success, square, scale = -math.expm1(-rate), math.exp(-2 * rate), 1 / (1 + math.exp(-rate))
    weights = [scale**n]
    for j in range(1, n):
        mixed = 0.0
        for i in range(j, 0, -1):
            mixed = (mixed + math.comb(n, i) * math.comb(j - 1, i - 1)) * square
        weights.append(scale ** (n + j) * mixed)

    def rows(coefficients: list[float]) -> tuple[_Row, ...]:
        numbers = reversed(range(len(coefficients)))
        return tuple((c, success / (i + 1), i) for c, i in zip(coefficients, numbers, strict=True))

    rests = list(accumulate(weights))
    return _Law(n, rate, success, rows(weights), rows(rests), rows(weights[:-1]))


def _at(rows: tuple[_Row, ...], t: float) -> float:
    value = 0.0
    for coefficient, step, i in rows:
        value = value * (step * (t + i)) + coefficient
    return value


@dataclass(frozen=True)
class _Sums:
    """Values at a threshold t above B/2, in units of alpha^(t-B) if it is beyond the shift B."""

    law: _Law
    bound: int
    epsilon: float
    below: float  # epsilon - rate B, negative

    def sign_change(self) -> tuple[int, int] | None:
        """Return integers with D <= 0 and D > 0, certified, as close as can be told."""
        start = self.bound // 2  # p(k-B) <= p(k) up to B/2
        high = self.bound
        while not self.difference(high)[0] > 0:
            high += high
            if self.law.rate * high > _MAX_T:
                return None
        low = last = start
        while high - last > 1:
            middle = (last + high) // 2
            least, most = self.difference(middle)
            if least > 0:
                high = middle
                continue
            last = middle
            if most <= 0:
                low = middle
        first = high
        while first - low > 1:  # rounding hides some signs
            middle = (low + first) // 2
            if self.difference(middle)[1] <= 0:
                low = middle
            else:
                first = middle
        return low, high

    def difference(self, t: int) -> tuple[float, float]:
        """Enclose D(t), in units of 1 - alpha besides."""
        if self._level < _NARROWEST:
            return self._narrow_difference(t)
        near, far = self._factors(t, abs(t - self.bound))
        first, second = near * self.law.mass(abs(t - self.bound)), far * self.law.mass(t)
        slack = self._error() * (first + second)
        return first - second - slack, first - second + slack

    def _narrow_difference(self, t: int) -> tuple[float, float]:
        """Enclose D(t) by p(t-B)/p(t): the logarithm of p falls ever more steeply."""
        law, growth = self.law, math.expm1(self.epsilon)
        here = math.exp(-law.rate * min(t, self.bound)) * law.mass(t)
        error = UNIT * (52 * law.n + 32) * self._level
        least = math.expm1(self.bound * law.fall(t - self.bound) - error)
        most = math.expm1(self.bound * law.fall(t - 1) + error)
        slack = self._error() * here * (self._level + growth)
        return here * (least - growth) - slack, here * (most - growth) + slack

    def tails(self, t: int) -> tuple[float, float]:
        """Enclose g(t), which is positive where D is, and so is the upper end."""
        if self.bound == 1 or self._level < _NARROW:
            return self._narrow_tails(t)
        beyond, rest = t > self.bound, 0.0
        apart = t - self.bound if beyond else self.bound - t + 1
        near, far = self._factors(t, apart)
        first, second = near * self.law.tail(apart), far * self.law.tail(t)
        if not beyond:
            first, rest = 1 - first, first
        slack = self._error() * (first + rest + second)
        return first - second - slack, first - second + slack

    def _narrow_tails(self, t: int) -> tuple[float, float]:
        r"""Enclose g(t) as the B masses below t, less (lambda - 1) P(S >= t).

        Pairs of masses with the same middle have products that grow inwards, and neighbours differ
        by a factor of at most e^rate. So the masses' mean is at least the root of the product of
        the outermost two, and at most that of the innermost two times cosh(rate (B - 1)/2).
        """
        law, away, reach = self.law, max(t - self.bound, 0), self.bound - 1

        def mass(k: int) -> float:
            return math.exp(-law.rate * (abs(k) - away)) * law.mass(abs(k))

        first, last, half = t - self.bound, t - 1, reach // 2
        outer = math.sqrt(mass(first) * mass(last))
        inner = math.sqrt(mass(first + half) * mass(last - half)) * math.cosh(law.rate * reach / 2)
        rest = math.expm1(self.epsilon) * math.exp(-law.rate * min(t, self.bound)) * law.tail(t)
        least, most = (self.bound * law.success * mean for mean in (outer, inner))
        slack = self._error() * (most + rest)
        return least - rest - slack, most - rest + slack

    def between(self, low: int, high: int) -> float:
        """Bound the sum of D_+ strictly between."""
        if high - low <= 1:
            return 0.0
        exponent = self.law.rate * (high - low)
        if exponent > _MAX_BRACKET:
            return math.inf
        last = self.law.success * self.difference(high)[1]
        return (high - low - 1) * math.exp(exponent) * last * (1 + self._error())

    def in_logs(self, lower: float, upper: float, t: int) -> LogEnclosure:
        """Return the logarithms of two values in units at t; the second is positive."""
        least, most = math.log(lower) if lower > 0 else -math.inf, math.log(upper)
        unit = self.law.rate * max(t - self.bound, 0)
        largest = max((abs(log) for log in (least, most) if math.isfinite(log)), default=0.0)
        return LogEnclosure.rounded(least - unit, most - unit, 4 * UNIT * (2 + largest + unit))

    def _factors(self, t: int, apart: int) -> tuple[float, float]:
        """Return alpha^apart and lambda alpha^t in units at t."""
        if t > self.bound:
            return 1.0, math.exp(self.below)
        return math.exp(-self.law.rate * apart), math.exp(self.epsilon - self.law.rate * t)

    def _error(self) -> float:
        """Bound the relative error of either term: sums, exponents, and the rest."""
        return UNIT * (26 * self.law.n + 32 + 4 * (self._level + self.epsilon))

    @property
    def _level(self) -> float:
        return self.law.rate * self.bound
