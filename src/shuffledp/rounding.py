"""Numbers for people: few digits, rounded to the safe side."""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal

#: Significant digits of a displayed guarantee or lower bound.
DIGITS = 4

_WORKING = Context(prec=50, rounding=ROUND_CEILING)
_FIXED = range(-4, 7)  # decimal exponents shown without a power of ten


def round_up(number: float, digits: int = DIGITS) -> str:
    """Return a decimal that is at least ``number``.

    >>> round_up(0.0798031), round_up(3.9003e-22), round_up(2.0)
    ('0.07981', '3.901e-22', '2')
    """
    return _show(_above(digits).create_decimal(Decimal(number)))


def round_down(number: float, digits: int = DIGITS) -> str:
    """Return a decimal that is at most ``number``.

    >>> round_down(0.0798079), round_down(3.9009e-22), round_down(2.0)
    ('0.07980', '3.900e-22', '2')
    """
    return _show(Context(prec=digits, rounding=ROUND_FLOOR).create_decimal(Decimal(number)))


def nearest(number: float, digits: int = DIGITS) -> str:
    """Return the nearest decimal, for numbers that bound nothing; short ones stay as they are.

    >>> nearest(0.0798079), nearest(100.0), nearest(0.1)
    ('0.07981', '100', '0.1')
    """
    context = Context(prec=digits, rounding=ROUND_HALF_EVEN)
    return _show(context.create_decimal(Decimal(repr(number)).normalize()))


def plain(number: float) -> str:
    """Return ``number`` itself: the shortest decimal that reads back as it.

    >>> plain(1e-6), plain(0.2), plain(1.0)
    ('1e-6', '0.2', '1')
    """
    return _show(Decimal(repr(number)).normalize())


def power_of_ten(log: float) -> str:
    """Return the smallest power of ten that is at least e**log.

    >>> power_of_ten(-1000.0)
    '1e-434'
    """
    exponent = _WORKING.divide(Decimal(log), _WORKING.ln(Decimal(10)))
    return f"1e{int(exponent.to_integral_value(ROUND_CEILING))}"


def gap(upper: float, lower: float) -> str:
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
        return f"factor {_show(_above(DIGITS).add(excess, Decimal(1)))}"
    percent = _above(2).multiply(excess, Decimal(100))
    return f"{_show(max(percent, percent.quantize(Decimal('0.01'), ROUND_CEILING)))}%"


def _above(digits: int) -> Context:
    return Context(prec=digits, rounding=ROUND_CEILING)


def _show(number: Decimal) -> str:
    return format(number, "f" if not number or number.adjusted() in _FIXED else "e")
