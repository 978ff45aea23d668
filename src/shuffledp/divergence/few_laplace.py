r"""How far a shift by :math:`\Delta` moves a sum S of a few Laplace variables of scale 1.

With :math:`w_j=\binom{n-1+j}j2^{-n-j}`, S is a gamma variable of shape n - j with probability
:math:`w_j` on either side of 0, so for :math:`t\ge0` its density is :math:`e^{-t}q(t)` and
:math:`P(S>t)=e^{-t}Q(t)` with polynomials of positive coefficients, of degree n - 1. The ratio of
:math:`f(t-\Delta)` and :math:`f(t)` grows with t from 1 at :math:`\Delta/2`, so that

.. math:: \delta=\max_tg(t),\qquad g(t)=P(S>t-\Delta)-\lambda P(S>t),

at the t where :math:`D(t)=f(t-\Delta)-\lambda f(t)` changes its sign. If that is between a and b,

.. math:: g(b)\le\delta\le g(b)+(b-a)\,\frac{f(a)}{f(b)}\,D(b).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from shuffledp.arrays import UNIT
from shuffledp.divergence.enclosure import LogEnclosure

#: So many variables are few.
MOST = 16

_WIDTHS = (1e-7, 1e-5, 1e-3, 0.03, 0.3)  # of the bracket, relative to t
_MAX_T = 1e5  # powers of it are doubles
_MAX_BRACKET = 10.0
_NARROW = 2e-7  # of the shift: below, derivatives serve
_HALVINGS = 200


def few_laplace_log_shift(n: int, shift: float, epsilon: float) -> LogEnclosure | None:
    """Enclose log delta for 2 to 16 variables; None where doubles are not enough.

    Args:
        n: number of variables.
        shift: the shift, in units of their scale.
        epsilon: at least 0 and below the shift.

    >>> found = few_laplace_log_shift(2, 1.0, 0.3)
    >>> found.lower <= math.log(0.127572657175195) <= found.upper, found.width < 1e-10
    (True, True)
    """
    sums = _Sums(n, shift, epsilon)
    t = sums.threshold()
    if t is None:
        return None
    # Closer to the threshold derivatives, or rounded densities, do not tell the sign.
    margin = 2 * shift if shift < _NARROW else 64 * n * (n + 8) * UNIT / shift
    for width in _WIDTHS:
        low, high = max(t * (1 - width) - margin, shift / 2), t * (1 + width) + margin
        difference = sums.difference(high)
        if difference[0] > 0 and (low == shift / 2 or sums.difference(low)[1] < 0):
            break
    else:
        return None
    if high - low > _MAX_BRACKET:
        return None
    value = sums.tails(high)
    between = (high - low) * sums.fall(low, high) * difference[1] * (1 + 32 * UNIT)
    lower, upper = value[0], value[1] + between
    if upper <= 0:
        return None
    unit = sums.unit(high)
    return LogEnclosure.rounded(
        math.log(lower) - unit if lower > 0 else -math.inf, math.log(upper) - unit, 8 * UNIT
    ).intersect(LogEnclosure(-math.inf, 0.0))


@lru_cache(maxsize=MOST)
def _polynomials(n: int) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return the coefficients of q and Q, those of the highest power first."""
    weights = [Fraction(math.comb(n - 1 + j, j), 2 ** (n + j)) for j in range(n)]
    density, tail = [], []
    for power in reversed(range(n)):
        factorial = math.factorial(power)
        density.append(float(weights[n - 1 - power] / factorial))
        tail.append(float(sum(weights[: n - power]) / factorial))
    return tuple(density), tuple(tail)


def _at(coefficients: tuple[float, ...], x: float) -> float:
    value = 0.0
    for coefficient in coefficients:
        value = value * x + coefficient
    return value


@dataclass(frozen=True)
class _Sums:
    """Values at a threshold t of at least half the shift, in units of e^-t if it is beyond it.

    Polynomials are known to 2n + 4 units, and to n - 1 more where t - shift was rounded.
    """

    n: int
    shift: float
    epsilon: float

    def threshold(self) -> float | None:
        """Return about where the likelihood ratio is e^epsilon."""
        low, high = self.shift / 2, max(self.shift, 1.0)
        while self._log_ratio(high) <= self.epsilon:
            low, high = high, 2 * high
            if high > _MAX_T:
                return None
        for _ in range(_HALVINGS):
            middle = 0.5 * (low + high)
            if not low < middle < high:
                break
            low, high = (low, middle) if self._log_ratio(middle) > self.epsilon else (middle, high)
        return high

    def _log_ratio(self, t: float) -> float:
        if self.shift < _NARROW:
            return self.shift * self._slope(t - self.shift / 2)
        density, _ = _polynomials(self.n)
        apart = abs(t - self.shift)
        exponent = self.shift if t >= self.shift else 2 * t - self.shift
        return exponent + math.log(_at(density, apart) / _at(density, t))

    def unit(self, t: float) -> float:
        """Return minus the logarithm of the unit."""
        return t if t >= self.shift else 0.0

    def difference(self, t: float) -> tuple[float, float]:
        """Enclose D(t)."""
        density, _ = _polynomials(self.n)
        near, far = self._factors(t)
        if self.shift < _NARROW:
            # The logarithm of f falls ever more steeply: by so much at least, and at most.
            here, growth = far / math.exp(self.epsilon) * _at(density, t), math.expm1(self.epsilon)
            error = UNIT * (6 * self.n + 16)
            least, most = self._slope(t - self.shift) - error, self._slope(t) + error
            slack = self._error(t) * here * (self.shift + growth)
            return (
                here * (math.expm1(self.shift * least) - growth) - slack,
                here * (math.expm1(self.shift * most) - growth) + slack,
            )
        first = near * _at(density, abs(t - self.shift))
        second = far * _at(density, t)
        slack = self._error(t) * (first + second)
        return first - second - slack, first - second + slack

    def _slope(self, x: float) -> float:
        """Return minus the derivative of log f, to 6n + 16 units of 1."""
        density, _ = _polynomials(self.n)
        powers = zip(density[:-1], range(self.n - 1, 0, -1), strict=True)
        derivative = _at(tuple(coefficient * power for coefficient, power in powers), abs(x))
        return math.copysign(1 - derivative / _at(density, abs(x)), x)

    def tails(self, t: float) -> tuple[float, float]:
        """Enclose g(t)."""
        density, tail = _polynomials(self.n)
        near, far = self._factors(t)
        apart, error = abs(t - self.shift), self._error(t)
        if self.shift < _NARROW:  # what lies between t - shift and t, less (lambda - 1) P(S > t)
            here = far / math.exp(self.epsilon)
            least = here * _at(density, t)
            most = near * _at(density, apart) if t >= self.shift else _at(density, 0.0)
            rest = math.expm1(self.epsilon) * here * _at(tail, t)
            slack = 2 * error * (self.shift * most + rest)
            return self.shift * least - rest - slack, self.shift * most - rest + slack
        first, second = near * _at(tail, apart), far * _at(tail, t)
        if t < self.shift:
            first = 1 - first
        slack = error * (1 + second if t < self.shift else first + second)
        return first - second - slack, first - second + slack

    def _factors(self, t: float) -> tuple[float, float]:
        """Return what the polynomials at t - shift and at t are multiplied with."""
        if t >= self.shift:
            return math.exp(self.shift), math.exp(self.epsilon)
        return math.exp(t - self.shift), math.exp(self.epsilon - t)

    def _error(self, t: float) -> float:
        """Bound the relative error of either term."""
        rounded = 0.0 if t >= self.shift else self.shift + self.epsilon
        return UNIT * (4 * self.n + 32 + 4 * rounded)

    def fall(self, low: float, high: float) -> float:
        """Return f(low)/f(high), rounded up."""
        density, _ = _polynomials(self.n)
        ratio = math.exp(high - low) * _at(density, low) / _at(density, high)
        return ratio * (1 + 2 * self._error(high))
