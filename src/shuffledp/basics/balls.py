"""Balls: exact numbers in, proved numbers out.

A ball (Arb's ``arb``) is a midpoint and a radius; every operation returns a ball that contains the
exact result for every choice of numbers in its operands. So whatever is computed with balls is
proved, rounding included. A comparison of balls is true only if it holds for all their numbers:
write conditions so that "unsure" takes the safe branch.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from fractions import Fraction

from flint import arb, ctx, fmpq

#: Bits of a ball's midpoint. A power chi**n loses log2(n) of them, 53 at most.
PRECISION = 128

_lock = threading.RLock()


@contextmanager
def precision(bits: int = PRECISION) -> Iterator[None]:
    """Compute with so many bits; the precision is global, so threads take turns."""
    with _lock, ctx.workprec(bits):
        yield


def ball(number: float | Fraction | Decimal) -> arb:
    """Return a ball around a rational number; its radius is 0 if the number is dyadic.

    >>> ball(0.5).is_exact(), ball(Decimal("0.1")).contains(fmpq(1, 10))
    (True, True)
    """
    if isinstance(number, float | int):
        return arb(number)
    return arb(fmpq(*number.as_integer_ratio()))


def total(balls: Iterable[arb]) -> arb:
    """Return the sum."""
    return sum(balls, arb(0))


def positive_part(x: arb) -> arb:
    """Return max(x, 0).

    >>> positive_part(arb(-1)), positive_part(arb(2)) == 2
    (0, True)
    """
    if x <= 0:
        return arb(0)
    return x if x >= 0 else arb(0).union(x.upper())


def short(x: float, bits: int = 12) -> float:
    """Return a double of few bits near x, so that the last digits of x do not matter.

    >>> short(1 / 3, 4)
    0.34375
    """
    mantissa, exponent = math.frexp(x)
    return math.ldexp(round(math.ldexp(mantissa, bits)), exponent - bits)


def logarithm(x: arb) -> float:
    """Return a rough natural logarithm of a number that may be beyond the range of doubles."""
    return float(x.log().mid()) if x > 0 else -math.inf


def upper_double(x: arb) -> float:
    """Return a double that is at least every number of a ball; NaN becomes infinity.

    >>> upper_double(ball(Fraction(1, 3))) >= Fraction(1, 3)
    True
    """
    if x.is_nan():
        return math.inf
    double = float(x.upper())
    while not x <= double:
        double = math.nextafter(double, math.inf)
    return double


def lower_double(x: arb) -> float:
    """Return a double that is at most every number of a ball; NaN becomes minus infinity."""
    return -upper_double(-x)


def upper_log(x: arb) -> float:
    """Return an upper bound on the logarithm of a number that is at least 0; infinity for NaN.

    >>> upper_log(arb(0)), upper_log(arb(1)), upper_log(arb("nan"))
    (-inf, 0.0, inf)
    """
    top = x.upper()
    return -math.inf if top <= 0 else upper_double(top.log())


def lower_log(x: arb) -> float:
    """Return a lower bound on the logarithm of a number that is at least 0."""
    bottom = x.lower()
    return lower_double(bottom.log()) if bottom > 0 else -math.inf
