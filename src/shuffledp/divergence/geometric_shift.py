r"""How far a shift by B moves a sum S of n two-sided geometric variables.

S has the log-concave law p, so :math:`D(k)=p(k-B)-\lambda p(k)` changes its sign once, and
:math:`\delta=g(t)=P(S\ge t-B)-\lambda P(S\ge t)` for the first t with :math:`D(t)>0`. Both D and g
are Fourier coefficients. For :math:`0<\theta<\rho`, with :math:`\alpha=e^{-\rho}` and
:math:`z=\theta+i\tau`,

.. math:: g(t)=\frac1{2\pi}\int_{-\pi}^\pi M(z)^ne^{-zt}\,\frac{e^{zB}-\lambda}{1-e^{-z}}\,d\tau,
   \qquad M(z)=\frac1{1-\sinh^2(z/2)/\sinh^2(\rho/2)},

and without the denominator it is D(t). With
:math:`v=\sinh\frac{\rho-\theta}2\sinh\frac{\rho+\theta}2`,
:math:`M(\theta)/M(z)=1+x-iy`, :math:`x=\cosh\theta\sin^2(\tau/2)/v`,
:math:`y=\sinh\theta\sin\tau/(2v)`. The modulus grows with :math:`|\tau|`.

L equidistant nodes count :math:`\sum_me^{\theta mL}g(t+mL)`. What is not wanted is bounded:
:math:`|g|\le\lambda` for m < 0, and :math:`P(S\ge x)\le M(s)^ne^{-sx}` with any s above
:math:`\theta` for m > 0. Nodes that are left out are at most as large as the last one before. So
the number of nodes does not grow with n. For few variables it is large, and
:mod:`shuffledp.divergence.few_geometric` is asked first.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from shuffledp.arrays import UNIT, FloatArray
from shuffledp.divergence.enclosure import LogEnclosure
from shuffledp.divergence.few_geometric import (
    MOST,
    NOTHING_KNOWN,
    Shift,
    few_geometric_log_shift,
)

# e^-46 of M(theta)^n e^(-theta t) is what aliases and missing nodes may add, or less where that
# hides the sign of D.
_DEPTHS = (46.0, 92.0, 184.0)
_VAGUE = 0.1  # of log delta
_CLOSE = 1e-5  # of log delta, where no contour is asked
_MAX_NODES = 1 << 22
_MAX_STEPS = 200
_TILTS = (0.01, 0.03, 0.1, 0.3, 0.6, 0.9)
_MAX_UNIT_ERROR = 0.02  # of the logarithm of the units, which bounds of aliases can bear
_MAX_PERIOD = 2.0**52
_MAX_EXPONENT = 300.0  # of the growth of p between two thresholds


def geometric_log_shift(n: int, rate: float, bound: int, epsilon: float) -> Shift:
    r"""Enclose log delta for the noise :math:`\alpha=e^{-rate}` exactly and a shift by ``bound``.

    >>> found = geometric_log_shift(1, 1.0, 1, 0.3).log_delta
    >>> found.lower <= math.log(0.368025632271708) <= found.upper, found.width < 1e-10
    (True, True)
    """
    if epsilon >= rate * bound * (1 + 2 * UNIT):
        return Shift(LogEnclosure(-math.inf, -math.inf))
    if n == 1:
        return Shift(_alone(rate, bound, epsilon))
    best = few_geometric_log_shift(n, rate, bound, epsilon) if n <= MOST else NOTHING_KNOWN
    if best.log_delta.width <= _CLOSE:
        return best
    guess = _threshold(n, rate, bound, epsilon)
    if guess is None:
        return best
    for depth in _DEPTHS:
        contour = _Contour.near(n, rate, bound, epsilon, guess, depth)
        if contour is None:
            break
        found = _along(contour, guess)
        best = min(best, found, key=lambda shift: shift.log_delta.width)
        if found.log_delta.width <= _VAGUE:
            break
    return best


def _along(contour: _Contour, guess: int) -> Shift:
    """Enclose log delta by one contour, which serves thresholds near ``guess``."""
    low, high = _sign_change(contour, guess, contour.bound)
    if low is None or high is None:
        return NOTHING_KNOWN
    value = contour.evaluate(high, tail=True)
    found = contour.in_logs(value.lower, value.upper + _between(contour, low, high), high)
    return Shift(found.intersect(NOTHING_KNOWN.log_delta), high)


def _alone(rate: float, bound: int, epsilon: float) -> LogEnclosure:
    r"""Enclose log delta of one variable: the largest g(t), t from 1 to B.

    :math:`(1+\alpha)\,g(t)=(1-\lambda\alpha^t)+\alpha(1-\alpha^{B-t})`. The ratio of p(t-B) and
    p(t) is :math:`e^{\rho(2t-B)}`, so that t is the first one above
    :math:`(B+\varepsilon/\rho)/2`, or B if there is none; then no term is below 0.
    """
    exact, above = Fraction(rate), Fraction(epsilon)
    t = min(max(math.floor((bound + above / exact) / 2) + 1, 1), bound)
    own = -math.expm1(float(above - exact * t))
    other = math.exp(-rate) * -math.expm1(float(exact * (t - bound)))
    # Exponents are rounded once, so that everything is known to some units.
    if (value := (own + other) / (1 + math.exp(-rate))) <= 0:
        return LogEnclosure(-math.inf, -math.inf)
    return LogEnclosure(math.log(value), math.log(value)).widen(32 * UNIT)


def _threshold(n: int, rate: float, bound: int, epsilon: float) -> int | None:
    """Return about where the likelihood ratio is e^epsilon: the saddle point with theta = eps/B."""
    theta = min(epsilon / bound, rate * (1 - 1e-9))
    centre = n * math.sinh(theta) / (2 * _v(rate, theta))
    return math.ceil(bound / 2 + centre) if centre < _MAX_PERIOD else None


def _v(rate: float, theta: float) -> float:
    return math.sinh((rate - theta) / 2) * math.sinh((rate + theta) / 2)


def _sign_change(contour: _Contour, guess: int, bound: int) -> tuple[int | None, int | None]:
    """Return integers with D < 0 and D > 0, certified, as close to each other as can be told."""
    low, high = None, None
    if guess <= bound // 2 + 1:
        low = bound // 2  # p(k-B) <= p(k) up to B/2
    step, k = 1, guess
    for _ in range(_MAX_STEPS):
        value = contour.evaluate(k, tail=False)
        if value.lower > 0:
            high = k if high is None else min(high, k)
        elif value.upper <= 0:
            low = k if low is None else max(low, k)
        elif low is not None and high is not None:
            break  # rounding hides the sign
        if low is not None and high is not None:
            if high - low <= 1:
                break
            k = (low + high) // 2
        else:
            k = guess + step if high is None else max(guess - step, bound // 2)
            if high is not None and k == bound // 2:
                low = k
                k = (low + high) // 2
                if high - low <= 1:
                    break
            step *= 2
    return low, high


def _between(contour: _Contour, low: int, high: int) -> float:
    """Bound the sum of D_+ strictly between, in the units of the contour at ``high``.

    There D(k) = p(k) (ratio - lambda) is at most p(k)/p(high) D(high).
    """
    if high - low <= 1:
        return 0.0
    if contour.rate * (high - low) > _MAX_EXPONENT:
        return math.inf
    last = contour.evaluate(high, tail=False).upper
    # Ratios of neighbours are at least alpha.
    growth = math.exp(contour.rate * (high - low))
    return (high - low - 1) * last * growth * (1 + 1e-12)


@dataclass(frozen=True)
class _Value:
    lower: float
    upper: float


@dataclass(frozen=True, eq=False)
class _Nodes:
    """Weighted values at the nodes, bounds on their errors and on what was left out."""

    terms: NDArray[np.complex128]
    error: FloatArray
    dropped: float


@dataclass(frozen=True, eq=False)
class _Contour:
    """Nodes on one line parallel to the imaginary axis; values are in units of M^n e^(-theta t)."""

    n: int
    rate: float
    bound: int
    epsilon: float
    theta: float
    period: int
    tau: FloatArray
    log_modulus: FloatArray  # of (M(z)/M(theta))^n
    phase: FloatArray
    dropped: float  # bound on |M(z)/M(theta)|^n at the nodes that were left out

    @classmethod
    def near(
        cls, n: int, rate: float, bound: int, epsilon: float, t: int, depth: float
    ) -> _Contour | None:
        """Return nodes that serve thresholds near t; None if there would be too many."""
        theta = _saddle(n, rate, t)
        v = _v(rate, theta)
        farthest = theta + _TILTS[-1] * min(theta, rate - theta)
        if n * _cumulant_error(rate, farthest) + 8 * UNIT * theta * t > _MAX_UNIT_ERROR:
            return None
        deep = depth + 1.5 * math.log(n)  # probabilities and their differences are small, too
        fallen = deep + max(theta * t - n * _cumulant(rate, theta), 0.0) + epsilon
        length = max(fallen / theta, 2 * deep / (rate - theta))
        if length > _MAX_PERIOD:
            return None
        period = math.ceil(length) | 1
        half = period // 2

        def fall(j: int) -> float:
            x, y = _xy(np.array([2 * math.pi * j / period]), theta, v)
            return float(0.5 * n * np.log1p(2 * x + x * x + y * y)[0])

        low, last = 0, half
        if fall(half) > deep:
            while last - low > 1:
                middle = (low + last) // 2
                low, last = (low, middle) if fall(middle) > deep else (middle, last)
        if last > _MAX_NODES:
            return None
        tau = 2 * math.pi / period * np.arange(last + 1, dtype=np.float64)
        x, y = _xy(tau, theta, v)
        log_modulus = -0.5 * n * np.log1p(2 * x + x * x + y * y)
        dropped = math.exp(float(log_modulus[-1]) + 1e-9) if last < half else 0.0
        phase = n * np.arctan2(y, 1 + x)
        return cls(n, rate, bound, epsilon, theta, period, tau, log_modulus, phase, dropped)

    def evaluate(self, t: int, *, tail: bool) -> _Value:
        """Enclose g(t), or D(t) if not ``tail``."""
        nodes = self._tail if tail else self._difference
        turn = self.tau * t
        terms = (nodes.terms * np.exp(-1j * turn)).real
        error = nodes.error + 8 * UNIT * np.abs(nodes.terms) * turn
        slack = float(error.sum()) + UNIT * turn.size * float(np.abs(terms).sum())
        slack += nodes.dropped + self._aliases(t)
        value = float(terms.sum())
        slack *= 1 + 1e-6
        return _Value(value - slack, value + slack)

    @cached_property
    def _tail(self) -> _Nodes:
        """What is summed for g, without the turn by t."""
        theta, tau = self.theta, self.tau
        least = -math.expm1(-theta)
        divisor = least + math.exp(-theta) * (2 * np.sin(tau / 2) ** 2 + 1j * np.sin(tau))
        nodes = self._difference
        error = nodes.error + 16 * UNIT * np.abs(nodes.terms)
        return _Nodes(nodes.terms / divisor, error / np.abs(divisor), nodes.dropped / least)

    @cached_property
    def _difference(self) -> _Nodes:
        """What is summed for D, without the turn by t."""
        tau, exponent, growth = self.tau, self.theta * self.bound, math.expm1(self.epsilon)
        angle, tilted = tau * self.bound, math.exp(exponent)
        swing = 2 * np.sin(angle / 2) ** 2
        # e^{zB} - lambda as a difference of expm1, in real and imaginary part.
        kernel = math.expm1(exponent) - growth - tilted * swing + 1j * tilted * np.sin(angle)
        size = math.expm1(exponent) + growth + tilted * (swing + np.abs(np.sin(angle)))
        kernel_error = UNIT * (16 * size + 4 * tilted * (angle + exponent))
        weight = np.exp(self.log_modulus) * (2.0 / self.period)
        weight[0] = 1.0 / self.period
        # Twelve units for x, y and their functions, each times what it is multiplied with.
        rotation = UNIT * (40 + 40 * np.abs(self.log_modulus) + 24 * np.abs(self.phase))
        return _Nodes(
            terms=weight * kernel * np.exp(1j * self.phase),
            error=weight * (np.abs(kernel) * rotation + kernel_error),
            dropped=self.dropped * (tilted + math.exp(self.epsilon)),
        )

    def _aliases(self, t: int) -> float:
        """Bound what the nodes count besides, in the same units."""
        theta, rate, period = self.theta, self.rate, self.period
        log_unit = self.n * _cumulant(rate, theta) - theta * t
        before = -theta * period + self.epsilon - log_unit
        room = min(theta, rate - theta)
        after = math.inf
        for gap in (part * room for part in _TILTS):
            if gap * period >= 1:
                s = theta + gap
                exponent = self.n * _cumulant(rate, s) - s * t - log_unit - gap * period
                largest = math.exp(s * self.bound) + math.exp(self.epsilon)
                after = min(after, exponent + math.log(largest))
        # Geometric series with ratios of at most e^-1, and some units of rounding.
        return 2 * (math.exp(min(before, 700.0)) + math.exp(min(after, 700.0)))

    def in_logs(self, lower: float, upper: float, t: int) -> LogEnclosure:
        """Return the logarithms of two values in units, with the error of the unit."""
        cumulant, tilt = _cumulant(self.rate, self.theta), self.theta * t
        unit = self.n * cumulant - tilt
        error = self.n * _cumulant_error(self.rate, self.theta) + 8 * UNIT * (1 + tilt + abs(unit))
        return LogEnclosure.rounded(
            math.log(lower) + unit if lower > 0 else -math.inf,
            math.log(upper) + unit if upper > 0 else -math.inf,
            error,
        )


def _xy(tau: FloatArray, theta: float, v: float) -> tuple[FloatArray, FloatArray]:
    x = math.cosh(theta) / v * np.sin(tau / 2) ** 2
    y = math.sinh(theta) / (2 * v) * np.sin(tau)
    return x, y


def _cumulant(rate: float, theta: float) -> float:
    """Return log M(theta)."""
    w = (math.sinh(theta / 2) / math.sinh(rate / 2)) ** 2
    if w < 0.5:
        return -math.log1p(-w)
    return 2 * math.log(math.sinh(rate / 2)) - math.log(_v(rate, theta))


def _cumulant_error(rate: float, theta: float) -> float:
    """Bound the rounding error of ``_cumulant``: hyperbolic sines and logarithms to 4 units."""
    cumulant = _cumulant(rate, theta)
    if cumulant < 1:
        return 64 * UNIT * cumulant
    logs = abs(math.log(math.sinh(rate / 2))) + abs(math.log(_v(rate, theta)))
    return UNIT * (32 + 8 * logs + 64 * cumulant)


def _saddle(n: int, rate: float, t: int) -> float:
    """Return where n K' = t + 1/theta, about: the tilt at which the integrand is smallest."""
    low, high = 0.0, rate
    for _ in range(100):
        theta = 0.5 * (low + high)
        if n * math.sinh(theta) / (2 * _v(rate, theta)) < t + 1 / theta:
            low = theta
        else:
            high = theta
    return 0.5 * (low + high)
