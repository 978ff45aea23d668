r"""The delta of a sum of values with Laplace or two-sided geometric noise, in balls.

The end points of the domain are the worst inputs, whatever the others hold, see
:mod:`shuffledp.certification.shifted_sum`.
"""

from __future__ import annotations

import math
from fractions import Fraction

from flint import arb, ctx

from shuffledp.certification.balls import ball
from shuffledp.certification.contour_shift import ManyGeometric, ManyLaplace
from shuffledp.certification.enclosure import Enclosure
from shuffledp.certification.finite_shift import FewGeometric, FewLaplace
from shuffledp.certification.line import GeometricShape, LaplaceShape
from shuffledp.certification.shifted_sum import ShiftedSum, enclose_shift

_FEW = 64  # users, for whom finite sums are quicker
_DEPTH = 0.5 * math.log(2)  # per bit, of what aliases and missing nodes may add
_FINENESS = 4  # a threshold of a density is known to this root of what bits resolve
_LAST_STEP = 1.0 / 16  # of a standard deviation, about the error of a guess


def enclose_laplace_sum(epsilon0: Fraction, n: int, epsilon: Fraction, rtol: float) -> Enclosure:
    """Enclose delta for values in [0, 1] and Laplace noise of scale 1/epsilon0.

    Raises:
        PrecisionError: if more bits are needed.

    >>> with ctx.workprec(128):
    ...     found = enclose_laplace_sum(Fraction(1), 1, Fraction(1, 2), 1e-15)
    >>> abs(float(found.upper) - 0.221199216928595) < 1e-14
    True
    """
    if epsilon >= epsilon0:
        return _nothing()
    shape, level, loss = LaplaceShape(), float(epsilon0), float(epsilon)
    guess = shape.threshold(n, level, loss)
    if guess is None:
        return _of_level(epsilon0, epsilon)
    if (fewer := shape.visible(n, level, loss)) < n:
        return _at_most(enclose_laplace_sum(epsilon0, fewer, epsilon, rtol))
    exponent = math.frexp(shape.deviation(n))[1] - ctx.prec // _FINENESS
    shift, growth, width = ball(epsilon0), ball(epsilon).exp(), arb((1, exponent))
    sums: ShiftedSum = FewLaplace(n, shift, growth, width)
    if n > _FEW:
        line = shape.line(n, guess, loss, _DEPTH * ctx.prec)
        if line is None:
            return _of_level(epsilon0, epsilon)
        sums = ManyLaplace(n, shift, growth, width, line)
    number = Fraction(guess - level / 2) / Fraction(2) ** exponent
    step = math.ldexp(_LAST_STEP * shape.deviation(n), -exponent)
    return enclose_shift(sums, round(number), round(step), rtol)


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
    shape = GeometricShape(float(rate))
    guess = shape.threshold(n, bound, loss)
    if guess is None:
        return _of_level(epsilon0, epsilon)
    if (fewer := shape.visible(n, bound, loss)) < n:
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
