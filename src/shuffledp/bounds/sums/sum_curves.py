r"""The curves of sums: of noisy numbers, the same for all datasets, and of bits, at the worst one.

Estimates tilt the sum, which is moved by :math:`\Delta`, at :math:`\theta=\varepsilon/\Delta`. It
is then about normal with a mean m and a deviation s, and the move by :math:`\Delta=2h` is worth
:math:`e^\varepsilon` at :math:`m+h`, so that

.. math:: \delta\approx M(\theta)^ne^{-\theta m+\theta h}\,(I(h)-I(-h)),\qquad
          I(c)=\int_0^\infty e^{-\theta u}\varphi_s(u-c)\,du .
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from flint import arb

from shuffledp.basics.balls import ball, lower_log, precision, upper_double, upper_log
from shuffledp.basics.interval import Interval
from shuffledp.bounds.curve import Curve, Proof, Proved
from shuffledp.bounds.sums.count_cover import CellLaws, CellSearch, cells_depth
from shuffledp.bounds.sums.counts import Bit, Bounds
from shuffledp.bounds.sums.line import Shape
from shuffledp.bounds.sums.noise import geometric_log_delta, laplace_log_delta, normal_log_delta
from shuffledp.bounds.sums.worst import CountSearch
from shuffledp.engine.progress import silent

#: How much wider than the datasets of a corner a bound may be: of epsilon, and of log delta, where
#: closer is not worth the time, and farther says little.
_RTOL, _CLOSEST, _WIDEST = 7e-4, 0.03, 0.3

#: Relative width of what the datasets of a corner reveal, and over which share slopes are taken.
_NARROW, _SHIFT = 1e-4, 1e-3

#: Beyond so many users the sum is not analysed.
MAX_USERS = 10**12

#: Up to this variance of a count every single one is looked at.
_SINGLE = 200

_MAX_DEPTHS = 4  # of which laws are kept for later

#: By which factor delta may be smaller than guessed.
_OFF = 100

#: Up to this variance of a count estimates are what corners attain.
_COUNTED = 100


@dataclass(frozen=True)
class Noise:
    """A sum of noise moved by the input: an enclosure of log delta, its end, an estimate."""

    log_delta: Callable[[float], Interval]
    end: float
    estimate: Callable[[float], float]


def normal_noise(sigma: float, n: int) -> Noise:
    """Return the sum of values in [0, 1] and normal noise."""
    variance = n * sigma**2

    def estimate(epsilon: float) -> float:
        return _log_shifted(epsilon, 1.0, -(epsilon**2) * variance / 2, variance)

    return Noise(lambda epsilon: normal_log_delta(sigma, n, epsilon), math.inf, estimate)


def laplace_noise(epsilon0: float, steps: int, n: int) -> Noise:
    """Return the sum of values in [0, 1] and Laplace noise, rounded to a grid."""
    return _geometric(lambda e: laplace_log_delta(epsilon0, steps, n, e), epsilon0, steps, n)


def geometric_noise(epsilon0: float, bound: int, n: int) -> Noise:
    """Return the sum of integers from 0 to ``bound`` and two-sided geometric noise."""
    return _geometric(lambda e: geometric_log_delta(epsilon0, bound, n, e), epsilon0, bound, n)


def _geometric(
    log_delta: Callable[[float], Interval], epsilon0: float, bound: int, n: int
) -> Noise:
    if n == 1:  # far from normal near its end
        return Noise(log_delta, epsilon0, lambda epsilon: log_delta(epsilon).upper)
    shape = Shape(epsilon0 / bound)

    def estimate(epsilon: float) -> float:
        if epsilon >= epsilon0 * (1 - 1e-9):
            return -math.inf
        fall, bend = shape.fall_and_bend(epsilon / bound)
        return _log_shifted(epsilon / bound, bound, -n * fall, n * bend)

    return Noise(log_delta, epsilon0, estimate)


def _log_shifted(theta: float, shift: float, log_height: float, variance: float) -> float:
    r"""Return log delta by the formula above, given :math:`\log M(\theta)^n-\theta m`."""
    from scipy.special import log_ndtr

    deviation, half = math.sqrt(variance), shift / 2

    def log_integral(c: float) -> float:
        below = float(log_ndtr((c - theta * variance) / deviation))
        return -theta * c + theta**2 * variance / 2 + below

    gain, loss = log_integral(half), log_integral(-half)
    return log_height + theta * half + gain + math.log(max(-math.expm1(loss - gain), 1e-300))


class NoisySum(Curve):
    r"""The privacy of a sum of noisy values, which depends on no dataset.

    The sum is that of the values plus that of the noise. So delta is that of a shift of the noise's
    sum by :math:`x_1-x_1'`, whatever the others hold, and the noise being log-concave it grows with
    the shift: the end points are the worst inputs.
    """

    def __init__(self, noise: Noise, where: object = None, proof: Proof = "exact") -> None:
        self.noise, self.where, self.proof = noise, where, proof

    def above(self, epsilon: float) -> Proved:
        """Prove an upper bound on log delta."""
        return Proved(self._enclosed(epsilon).upper, self.where, self.proof)

    def below(self, epsilon: float) -> Proved:
        """Prove a lower bound on log delta."""
        return Proved(self._enclosed(epsilon).lower, self.where, self.proof)

    def _enclosed(self, epsilon: float) -> Interval:
        if epsilon >= self.noise.end:
            return Interval(-math.inf, -math.inf)
        return self.noise.log_delta(epsilon)

    def estimate(self, epsilon: float, like: Proved | None = None) -> float:
        """Return log delta in doubles, about."""
        return self.noise.estimate(epsilon)

    @property
    def end(self) -> Interval:
        """The level of one report, or infinity."""
        return Interval(self.noise.end, self.noise.end)

    def __str__(self) -> str:
        """Name it."""
        return f"sum of noise({self.where})"


class BitSum(Curve):
    """The privacy of the counts of bits, over all datasets: see :mod:`shuffledp.bounds.sums.worst`.

    Args:
        own: the bit at a user's own value.
        other: the bit at any other value.
        two_values: whether there are no other values than those of the pair.
        level: the exact LDP level.
        n: number of users.
        where: returns what the curve belongs to, given which of three values all others hold: the
            first or second of the pair, or neither.
    """

    def __init__(
        self,
        own: Bit,
        other: Bit,
        two_values: bool,
        level: arb,
        n: int,
        where: Callable[[tuple[bool, bool]], object],
    ) -> None:
        self.own, self.other, self.two_values, self.n = own, other, two_values, n
        self._level, self._where = level, where
        self.where = where((True, False))

    def above(self, epsilon: float) -> Proved:
        """Prove an upper bound on log delta."""
        if epsilon >= self.end.upper:
            return Proved(-math.inf, self.where, "exact")
        held, corner = self.corner(epsilon)
        with precision():
            factor = arb(self._tolerance(epsilon)).exp()
            if self._is_large:
                bound = self._cells(epsilon, corner.lower).run(corner.lower * factor)
                return Proved(upper_log(bound), self._where(held), "exact")
            found = self._search(epsilon, corner.lower).run(corner.lower * factor, silent)
            if found.lower > corner.lower * factor:  # other datasets reveal clearly more
                found = self._search(epsilon, found.lower).run(found.lower * factor, silent)
            return Proved(upper_log(found.upper), self._where(held), "exact")

    def below(self, epsilon: float) -> Proved:
        """Prove what datasets attain in which all others hold the same value."""
        if epsilon >= self.end.lower:
            return Proved(-math.inf, self.where, "exact")
        held, corner = self.corner(epsilon)
        with precision():
            return Proved(lower_log(corner.lower), self._where(held), "exact")

    def corner(self, epsilon: float) -> tuple[tuple[bool, bool], Bounds]:
        """Return the worst of the datasets in which all others hold the same, and its delta."""
        choices = [(True, False), (False, True), *([] if self.two_values else [(False, False)])]
        found = [(held, self.all_hold(held, epsilon)) for held in choices]
        return max(found, key=lambda pair: float(pair[1].lower))

    def all_hold(self, held: tuple[bool, bool], epsilon: float) -> Bounds:
        """Enclose delta if all others hold the first value, the second, or neither."""
        hint = ball(max(math.exp(max(self._normal(epsilon), -700.0)), 1e-300))
        with precision():
            if self._is_large:
                found = self._cells(epsilon, hint).all_hold(held)
                if not found.lower * _OFF > hint:  # delta is much smaller than guessed
                    hint = max(found.lower, found.upper * ball(1e-6))
                    found = self._cells(epsilon, hint).all_hold(held)
                return found
            found = self._search(epsilon, hint).all_hold(held)
            if found.lower * (1 + _NARROW) < found.upper:  # delta is much smaller than guessed
                hint = max(found.lower, found.upper * ball(1e-6))
                found = self._search(epsilon, hint).all_hold(held)
            return found

    def _tolerance(self, epsilon: float) -> float:
        """Return by how much log delta may be too large."""
        fall = self._normal(epsilon * (1 - _SHIFT)) - self._normal(epsilon)
        return min(max(_RTOL / _SHIFT * fall, _CLOSEST), _WIDEST)

    @property
    def _is_large(self) -> bool:
        return self._variances[1] > _SINGLE

    @cached_property
    def _variances(self) -> tuple[float, float]:
        """Those of counts, the smallest and the largest."""
        least, most = sorted(_variance(self.own, self.other, share) for share in (0, 1))
        return self.n * least, self.n * most

    def _cells(self, epsilon: float, hint: arb) -> CellSearch:
        depth = cells_depth(hint)
        if depth not in self._laws:
            if len(self._laws) >= _MAX_DEPTHS:
                self._laws.clear()
            self._laws[depth] = CellLaws(self.own, self.other, self.n, self.two_values, depth)
        return CellSearch(self._laws[depth], ball(epsilon).exp())

    @cached_property
    def _laws(self) -> dict[float, CellLaws]:
        return {}

    def _search(self, epsilon: float, hint: arb) -> CountSearch:
        growth = ball(epsilon).exp()
        return CountSearch(self.own, self.other, self.n, self.two_values, growth, hint)

    def estimate(self, epsilon: float, like: Proved | None = None) -> float:
        """Return log delta in doubles, about."""
        if epsilon >= self.end.upper:
            return -math.inf
        if self._variances[0] <= _COUNTED:
            return self.below(epsilon).log
        return self._normal(epsilon)

    def _normal(self, epsilon: float) -> float:
        """Return log delta as if losses were normal: all others hold what hides least."""
        move = float(self.own.one - self.other.one)
        rate = 0.0
        for held in ((1.0, 0.0), (0.0, 0.0)):
            noise = (_variance(self.own, self.other, share) * self.n for share in held)
            rate = max(rate, sum(move**2 / x for x in noise))
        return _log_shifted(epsilon, 1.0, -(epsilon**2) / (2 * rate), 1 / rate)

    @cached_property
    def end(self) -> Interval:
        """Enclose the level of one report."""
        with precision():
            return Interval(-upper_double(-self._level), upper_double(self._level))

    def __str__(self) -> str:
        """Name it."""
        return f"sum of bits({self.where})"


def _variance(own: Bit, other: Bit, share: float) -> float:
    parts = (float(bit.one * bit.zero) for bit in (own, other))
    return share * next(parts) + (1 - share) * next(parts)
