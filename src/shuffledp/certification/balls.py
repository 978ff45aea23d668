"""Balls: exact numbers in, safe decimals out.

A ball (Arb's ``arb``) is a midpoint and a radius; every operation returns a ball that contains the
exact result for every choice of numbers in its operands. So what is computed here is proved,
rounding included.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

from flint import arb, fmpq

_DIGITS = 18
_UP = Context(prec=_DIGITS, rounding=ROUND_CEILING, Emin=MIN_EMIN, Emax=MAX_EMAX)
_DOWN = Context(prec=_DIGITS, rounding=ROUND_FLOOR, Emin=MIN_EMIN, Emax=MAX_EMAX)


def ball(number: float | Fraction | Decimal) -> arb:
    """Return a ball around a rational number; its radius is 0 if the number is dyadic.

    >>> ball(0.5).is_exact(), ball(Decimal("0.1")).contains(fmpq(1, 10))
    (True, True)
    """
    return arb(fmpq(*number.as_integer_ratio()))


def total(balls: Iterable[arb]) -> arb:
    """Return the sum."""
    return sum(balls, arb(0))


def hull(lower: arb, upper: arb) -> arb:
    """Return a ball that contains everything between two balls."""
    return lower.union(upper)


def positive_part(x: arb) -> arb:
    """Return max(x, 0).

    >>> positive_part(arb(-1)), positive_part(arb(2)) == 2
    (0, True)
    """
    if x <= 0:
        return arb(0)
    return x if x >= 0 else hull(arb(0), x.upper())


def rounded(x: arb, bits: int) -> arb:
    """Return an exact number of few bits near the midpoint of a ball."""
    mantissa, exponent = x.mid().man_exp()
    excess = int(mantissa).bit_length() - bits
    if excess <= 0:
        return x.mid()
    return arb(((int(mantissa) + (1 << (excess - 1))) >> excess, int(exponent) + excess))


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


def below(x: arb) -> Decimal:
    """Return a decimal of 18 digits that is at least 0 and at most the number x >= 0 encloses.

    >>> below(ball(Fraction(1, 3))) <= Fraction(1, 3)
    True
    """
    middle, radius, exponent = _decimal_parts(x)
    return _DOWN.create_decimal(f"{max(middle - radius, 0)}e{exponent}")


def above(x: arb) -> Decimal:
    """Return a decimal of 18 digits that is at least the number x encloses.

    >>> above(ball(Fraction(1, 3))) >= Fraction(1, 3)
    True
    """
    middle, radius, exponent = _decimal_parts(x)
    return _UP.create_decimal(f"{middle + radius}e{exponent}")


def _decimal_parts(x: arb) -> tuple[int, int, int]:
    middle, radius, exponent = (int(part) for part in x.mid_rad_10exp(_DIGITS))
    return middle, radius, exponent
