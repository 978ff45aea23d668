"""Balls: exact numbers in, safe decimals out.

A ball (Arb's ``arb``) is a midpoint and a radius; every operation returns a ball that contains the
exact result for every choice of numbers in its operands. So what is computed here is proved,
rounding included.
"""

from __future__ import annotations

from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal

from flint import arb

_DIGITS = 18
_UP = Context(prec=_DIGITS, rounding=ROUND_CEILING, Emin=MIN_EMIN, Emax=MAX_EMAX)
_DOWN = Context(prec=_DIGITS, rounding=ROUND_FLOOR, Emin=MIN_EMIN, Emax=MAX_EMAX)


def hull(lower: arb, upper: arb) -> arb:
    """Return a ball that contains everything between two balls."""
    return lower.union(upper)


def rounded(x: arb, bits: int) -> arb:
    """Return an exact number of few bits near the midpoint of a ball."""
    mantissa, exponent = x.mid().man_exp()
    excess = int(mantissa).bit_length() - bits
    if excess <= 0:
        return x.mid()
    return arb(((int(mantissa) + (1 << (excess - 1))) >> excess, int(exponent) + excess))


def below(x: arb) -> Decimal:
    """Return a decimal of 18 digits that is at least 0 and at most the number x >= 0 encloses.

    >>> from shuffledp.engine.balls import ball
    >>> from fractions import Fraction
    >>> below(ball(Fraction(1, 3))) <= Fraction(1, 3)
    True
    """
    middle, radius, exponent = _decimal_parts(x)
    return _DOWN.create_decimal(f"{max(middle - radius, 0)}e{exponent}")


def above(x: arb) -> Decimal:
    """Return a decimal of 18 digits that is at least the number x encloses.

    >>> from shuffledp.engine.balls import ball
    >>> from fractions import Fraction
    >>> above(ball(Fraction(1, 3))) >= Fraction(1, 3)
    True
    """
    middle, radius, exponent = _decimal_parts(x)
    return _UP.create_decimal(f"{middle + radius}e{exponent}")


def _decimal_parts(x: arb) -> tuple[int, int, int]:
    middle, radius, exponent = (int(part) for part in x.mid_rad_10exp(_DIGITS))
    return middle, radius, exponent
