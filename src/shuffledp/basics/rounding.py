"""Numbers for people: few digits, rounded to the safe side; and numbers from people."""

from __future__ import annotations

import math
import re
from decimal import (
    MAX_EMAX,
    MIN_EMIN,
    ROUND_CEILING,
    ROUND_FLOOR,
    ROUND_HALF_EVEN,
    Context,
    Decimal,
)
from typing import TypeGuard

#: Significant digits of a displayed guarantee or lower bound.
DIGITS = 4

_FIXED = range(-4, 7)  # decimal exponents shown without a power of ten
_SMALLEST_LOG = -690.0  # below 1e-299 doubles lose digits

_NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,9})?")


def written(text: str) -> Decimal:
    """Return the number that a text writes, exactly: 12, -0.5 or 1e-6.

    Python reads digits of all scripts, which are easily taken for other letters, and "1_0" as 10;
    this does not.

    >>> written("1e-6"), written("-12.50")
    (Decimal('0.000001'), Decimal('-12.50'))

    Raises:
        ValueError: if it is no such number.
    """
    digits = text.strip(" \t\r\n")
    if not _NUMBER.fullmatch(digits):
        raise ValueError(f"{text!r} is not a number")
    return Decimal(digits)


def written_at_most(text: str) -> float:
    """Return the double that a text writes, or the one below a number with more digits than that.

    A double means its shortest decimal, or itself. As a target of privacy it is as strict as the
    text, or stricter.

    >>> written_at_most("0.1"), written_at_most("0.99999999999999999999")
    (0.1, 0.9999999999999999)

    Raises:
        ValueError: if the text is no number.
    """
    number = written(text)
    double = float(number)
    if min(Decimal(repr(double)), Decimal(double)) <= number:
        return double
    return math.nextafter(double, -math.inf)


def round_up(number: float | Decimal, digits: int = DIGITS) -> str:
    """Return a decimal that is at least ``number``.

    >>> round_up(0.0798031), round_up(3.9003e-22), round_up(2.0), round_up(math.inf)
    ('0.07981', '3.901e-22', '2', 'infinity')
    """
    return _show(_context(digits, ROUND_CEILING).create_decimal(Decimal(number)))


def round_down(number: float | Decimal, digits: int = DIGITS) -> str:
    """Return a decimal that is at most ``number``.

    >>> round_down(0.0798079), round_down(3.9009e-22), round_down(2.0)
    ('0.07980', '3.900e-22', '2')
    """
    return _show(_context(digits, ROUND_FLOOR).create_decimal(Decimal(number)))


def given_or_up(number: float) -> str:
    """Return a number itself if it is short, as what people type is, else rounded up.

    >>> given_or_up(2.6), given_or_up(5.2249081), round_up(2.6)  # this double is above 2.6
    ('2.6', '5.225', '2.601')
    """
    short = len(_decimal(number).normalize().as_tuple().digits) <= DIGITS
    return plain(number) if short else round_up(number)


def nearest(number: float, digits: int = DIGITS) -> str:
    """Return the nearest decimal, for numbers that bound nothing; short ones stay as they are.

    >>> nearest(0.0798079), nearest(100.0), nearest(0.1)
    ('0.07981', '100', '0.1')
    """
    return _show(_context(digits, ROUND_HALF_EVEN).create_decimal(_decimal(number).normalize()))


def plain(number: float) -> str:
    """Return ``number`` itself: the shortest decimal that reads back as it.

    >>> plain(1e-6), plain(0.2), plain(1.0)
    ('1e-6', '0.2', '1')
    """
    return _show(_decimal(number).normalize())


def percent(share: float | Decimal) -> str:
    """Return a share as it was given, in percent.

    >>> percent(0.95), percent(0.999), percent(1.0)
    ('95%', '99.9%', '100%')
    """
    return f"{_show(_decimal(share).scaleb(2).normalize())}%"


def share_up(part: int, whole: int) -> str:
    """Return a decimal that is at least ``part / whole``.

    >>> share_up(1, 3), share_up(10, 1000)
    ('0.3334', '0.01')
    """
    return _show(_context(DIGITS, ROUND_CEILING).divide(Decimal(part), Decimal(whole)))


def decade(number: float) -> int:
    """Return the decimal exponent of a positive number, of which ten digits count.

    >>> decade(0.01), decade(0.009999999999999998), decade(0.0099)
    (-2, -2, -3)
    """
    return Decimal(f"{number:.9e}").adjusted()


def exp_above(log: float) -> Decimal:
    """Return a decimal that is at least e**log, a number that may be too small for doubles.

    >>> round_up(exp_above(-1000.0))
    '5.076e-435'
    """
    return _WORKING.next_plus(_WORKING.exp(Decimal(log)))


def exp_below(log: float) -> Decimal:
    """Return a decimal that is at most e**log.

    >>> round_down(exp_below(-1000.0))
    '5.075e-435'
    """
    return _WORKING.next_minus(_WORKING.exp(Decimal(log)))


def above(number: float, log: float | None) -> Decimal:
    """Return an upper bound that is a double, or from its logarithm where doubles lose digits.

    >>> round_up(above(5e-324, -1000.0)), round_up(above(0.25, math.log(0.25))), above(0.5, None)
    ('5.076e-435', '0.25', Decimal('0.5'))
    """
    return exp_above(log) if _is_tiny(log) else Decimal(number)


def below(number: float, log: float | None) -> Decimal:
    """Return a lower bound that is a double, or from its logarithm where doubles lose digits.

    >>> round_down(below(0.0, -1000.0)), below(0.0, -math.inf)
    ('5.075e-435', Decimal('0'))
    """
    return exp_below(log) if _is_tiny(log) else Decimal(number)


def _is_tiny(log: float | None) -> TypeGuard[float]:
    """Whether this is the logarithm of a number for which doubles have too few digits."""
    return log is not None and -math.inf < log < _SMALLEST_LOG


def gap(upper: float | Decimal, lower: float | Decimal) -> str:
    """Return how far ``upper`` lies above ``lower``, rounded up.

    >>> gap(0.101001, 0.1), gap(3.0, 1.0), gap(0.5, 0.5), gap(0.5, 0.0)
    ('1.1%', 'factor 3', 'none', 'no lower bound above 0')
    """
    if upper == lower:
        return "none"
    if lower == 0:
        return "no lower bound above 0"
    excess = _WORKING.divide(_WORKING.subtract(Decimal(upper), Decimal(lower)), Decimal(lower))
    if excess >= 1:
        return f"factor {_show(_context(DIGITS, ROUND_CEILING).add(excess, Decimal(1)))}"
    percent = _context(2, ROUND_CEILING).multiply(excess, Decimal(100))
    return f"{_show(max(percent, percent.quantize(Decimal('0.01'), ROUND_CEILING)))}%"


def _context(digits: int, rounding: str) -> Context:
    """Return arithmetic of so many digits, with exponents of any size."""
    return Context(prec=digits, rounding=rounding, Emin=MIN_EMIN, Emax=MAX_EMAX)


_WORKING = _context(50, ROUND_CEILING)


def _decimal(number: float | Decimal) -> Decimal:
    """Return the shortest decimal that reads back as ``number``, which numpy may have made."""
    return number if isinstance(number, Decimal) else Decimal(repr(float(number)))


def _show(number: Decimal) -> str:
    if number.is_infinite():
        return "infinity"
    return format(number, "f" if not number or number.adjusted() in _FIXED else "e")
