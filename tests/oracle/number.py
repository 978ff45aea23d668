"""Probabilities as integers in units of 2**-BITS, and exponentials as fractions."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

import mpmath

#: Probabilities are integers in units of 2**-BITS.
BITS = 640
ONE = 1 << BITS

#: Columns whose shares agree to 2**-SHARE_BITS are taken as proportional.
SHARE_BITS = 400

#: More than all roundings of a channel, of merged columns and of an enumeration together.
ALLOWANCE = Fraction(1, 1 << 360)

_context = mpmath.MPContext()
_context.prec = BITS + 520


def _to_fraction(number: mpmath.mpf) -> Fraction:
    sign, mantissa, exponent, _ = number._mpf_
    value = Fraction(int(mantissa)) * Fraction(2) ** exponent
    return -value if sign else value


@lru_cache(maxsize=4096)
def exponential(exponent: Fraction) -> Fraction:
    """e to a rational power, to a relative 2**-BITS.

    >>> exponential(Fraction(0))
    Fraction(1, 1)
    """
    ratio = _context.mpf(exponent.numerator) / exponent.denominator
    return _to_fraction(_context.exp(ratio))


def logarithm(value: Fraction) -> Fraction:
    """The natural logarithm, to some 190 digits."""
    ratio = _context.mpf(value.numerator) / value.denominator
    return _to_fraction(_context.log(ratio))


def normal_share(point: Fraction) -> Fraction:
    """The probability that a standard normal variable is below a point."""
    return _to_fraction(_context.ncdf(_context.mpf(point.numerator) / point.denominator))


def units(value: Fraction) -> int:
    """A probability in units of 2**-BITS.

    >>> units(Fraction(1, 4)) == ONE // 4
    True
    """
    return (value.numerator << BITS) // value.denominator
