r"""The delta of a sum of values with noise, in balls.

The end points of the domain are the worst inputs, whatever the others hold, see
:mod:`shuffledp.bounds.sums.shift`. Normal noise of n users is normal with deviation
:math:`s=\sigma\sqrt n`, and a user moves the sum by 1 at most, so

.. math:: \delta=\bar\Phi\big(\varepsilon s-\tfrac1{2s}\big)
          -e^\varepsilon\bar\Phi\big(\varepsilon s+\tfrac1{2s}\big).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from fractions import Fraction

from flint import arb, ctx

from shuffledp.basics.balls import PRECISION, ball, lower_log, precision, upper_log
from shuffledp.basics.interval import Interval
from shuffledp.bounds.sums.few import FewGeometric
from shuffledp.bounds.sums.line import Shape
from shuffledp.bounds.sums.many import ManyGeometric
from shuffledp.bounds.sums.shift import ShiftedSum, enclose_shift
from shuffledp.engine.enclosure import Enclosure, PrecisionError

#: Relative width of delta, and bits that are tried.
_RTOL, _BITS = 1e-9, (PRECISION, 256, 512, 1024, 2048)

#: More than what rounding normal reports to a grid adds to delta, see docs/sums.md.
_ROUNDED = arb((1, -3_300_000))  # 2**-3300000

_FEW = 64  # users, for whom finite sums are quicker
_DEPTH = 0.5 * math.log(2)  # per bit, of what aliases and missing nodes may add
_LAST_STEP = 1.0 / 16  # of a standard deviation, about the error of a guess


def normal_log_delta(sigma: float, n: int, epsilon: float) -> Interval:
    """Enclose log delta for values in [0, 1] and normal noise of standard deviation sigma.

    >>> one = normal_log_delta(1.0, 1, 1.0)
    >>> abs(one.upper - math.log(0.126936737506644)) < 1e-13, one.width < 1e-8
    (True, True)
    """
    found = _in_logs(lambda: enclose_normal_sum(ball(sigma), n, ball(epsilon), _RTOL))
    return found if found.upper < 0 else Interval(-math.inf, _log_normal_tail(sigma, n, epsilon))


def _log_normal_tail(sigma: float, n: int, epsilon: float) -> float:
    r"""Return a bound for tails that take too many bits: :math:`\bar\Phi(x)\le e^{-x^2/2}/2`."""
    with precision():
        deviation = ball(sigma) * arb(n).sqrt()
        x = ball(epsilon) * deviation - 1 / (2 * deviation)
        return upper_log((-x * x / 2).exp() / 2 + _ROUNDED) if x > 0 else 0.0


def laplace_log_delta(epsilon0: float, steps: int, n: int, epsilon: float) -> Interval:
    """Enclose log delta for values in [0, 1] and Laplace noise of scale 1/epsilon0, on a grid."""
    level, loss = Fraction(epsilon0), Fraction(epsilon)
    return _in_logs(lambda: enclose_laplace_sum(level, steps, n, loss, _RTOL))


def geometric_log_delta(epsilon0: float, bound: int, n: int, epsilon: float) -> Interval:
    """Enclose log delta for integers up to ``bound`` and noise with alpha = e^(-epsilon0/bound)."""
    level, loss = Fraction(epsilon0), Fraction(epsilon)
    return _in_logs(lambda: enclose_geometric_sum(level, bound, n, loss, _RTOL))


def _in_logs(enclose: Callable[[], Enclosure]) -> Interval:
    """Return the logarithms of an enclosure, with as many bits as it takes."""
    for bits in _BITS:
        with precision(bits), suppress(PrecisionError):
            found = enclose()
            return Interval(lower_log(found.lower), upper_log(found.upper))
    return Interval(-math.inf, 0.0)


def enclose_normal_sum(sigma: arb, n: int, epsilon: arb, rtol: float) -> Enclosure:
    """Enclose delta for values in [0, 1] and normal noise, of reports that may be rounded.

    Raises:
        PrecisionError: if more bits are needed.
    """
    deviation = sigma * arb(n).sqrt()
    centre, half, root = epsilon * deviation, 1 / (2 * deviation), arb(2).sqrt()
    near, far = (((centre + side * half) / root).erfc() for side in (-1, 1))
    delta = (near - epsilon.exp() * far) / 2
    method = {"name": "normal sum"}
    if not Enclosure.between(delta, delta, method).is_narrow(rtol):
        raise PrecisionError
    return Enclosure.between(delta, delta + _ROUNDED, method)


def enclose_laplace_sum(
    epsilon0: Fraction, steps: int, n: int, epsilon: Fraction, rtol: float
) -> Enclosure:
    """Enclose delta for values in [0, 1] and Laplace noise of scale 1/epsilon0, on a grid.

    One number reveals no more than before it was rounded, a sum no more than geometric noise does.

    Raises:
        PrecisionError: if more bits are needed.

    >>> with ctx.workprec(128):
    ...     found = enclose_laplace_sum(Fraction(1), 1 << 16, 1, Fraction(1, 2), 1e-15)
    >>> abs(float(found.upper) - 0.221199216928595) < 1e-14
    True
    """
    if n > 1 or epsilon >= epsilon0:
        return enclose_geometric_sum(epsilon0, steps, n, epsilon, rtol)
    delta = -ball((epsilon - epsilon0) / 2).expm1()
    return Enclosure.between(delta, delta, {"name": "elementary"})


def enclose_geometric_sum(
    epsilon0: Fraction, bound: int, n: int, epsilon: Fraction, rtol: float
) -> Enclosure:
    """Enclose delta for integers up to ``bound`` and noise with alpha = e^(-epsilon0/bound).

    Raises:
        PrecisionError: if more bits are needed.

    >>> with ctx.workprec(128):
    ...     found = enclose_geometric_sum(Fraction(1), 1, 1, Fraction(3, 10), 1e-15)
    >>> abs(float(found.upper) - 0.368025632271708) < 1e-14
    True
    """
    if epsilon >= epsilon0:
        return _nothing()
    rate, loss = epsilon0 / bound, float(epsilon)
    shape = Shape(float(rate))
    guess = shape.threshold(n, bound, loss)
    if guess is None:
        if n > 1:
            return _of_level(epsilon0, epsilon)
        guess = float(bound)
    elif (fewer := shape.visible(n, bound, loss)) < n:
        return _at_most(enclose_geometric_sum(epsilon0, bound, fewer, epsilon, rtol))
    growth = ball(epsilon).exp()
    sums: ShiftedSum = FewGeometric(n, ball(rate), bound, growth)
    if n > _FEW:
        line = shape.line(n, guess, loss, _DEPTH * ctx.prec)
        if line is None:
            return _of_level(epsilon0, epsilon)
        sums = ManyGeometric(n, ball(rate), bound, growth, line)
    step = round(_LAST_STEP * shape.deviation(n))
    return enclose_shift(sums, round(guess) - bound // 2, step, rtol)


def _nothing() -> Enclosure:
    return Enclosure.between(arb(0), arb(0), {"name": "elementary"})


def _at_most(fewer: Enclosure) -> Enclosure:
    """Return what is known from fewer users: the noise of more of them hides more."""
    return Enclosure(arb(0), fewer.upper, {"name": "elementary"}, fewer.upper_method)


def _of_level(epsilon0: Fraction, epsilon: Fraction) -> Enclosure:
    """Return the largest delta of all mechanisms of the level, that of randomized response."""
    level = ball(epsilon0).exp()
    return Enclosure.between(arb(0), (level - ball(epsilon).exp()) / (level + 1), {"name": "level"})
