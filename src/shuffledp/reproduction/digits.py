"""Numbers in sentences and tables: few digits, bounds rounded to their safe side."""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal

#: Relative width of the enclosures behind the numbers: smaller differences mean nothing.
RESOLUTION = 1e-4

_PLAIN = range(-4, 7)  # decimal exponents shown without a power of ten


def rounded_up(number: float, digits: int = 4) -> str:
    """Return a decimal that is at least ``number``.

    >>> rounded_up(0.0798031), rounded_up(3.9003e-22)
    ('0.07981', '3.901e-22')
    """
    return _show(number, Context(prec=digits, rounding=ROUND_CEILING))


def rounded_down(number: float, digits: int = 4) -> str:
    """Return a decimal that is at most ``number``.

    >>> rounded_down(0.0798079)
    '0.07980'
    """
    return _show(number, Context(prec=digits, rounding=ROUND_FLOOR))


def rounded(number: float, digits: int = 4) -> str:
    """Return the nearest decimal; short ones stay as they are.

    >>> rounded(0.0798079), rounded(100.0), rounded(0.1)
    ('0.07981', '100', '0.1')
    """
    return _show(Decimal(repr(number)).normalize(), Context(prec=digits, rounding=ROUND_HALF_EVEN))


def percent(share: float) -> str:
    """Return a share in percent, with one decimal place, more if it is small.

    Shares below ``RESOLUTION`` are not resolved.

    >>> percent(0.1234), percent(0.00057), percent(-0.02), percent(3e-8)
    ('12.3%', '0.057%', '-2.0%', 'less than 0.01%')
    """
    value = 100 * share
    if abs(share) < RESOLUTION:
        return "less than 0.01%"
    return f"{value:.1f}%" if abs(value) >= 1 else f"{rounded(value, 2)}%"


def users(n: float) -> str:
    """Return for example ``n = 10,000``.

    >>> users(10_000)
    'n = 10,000'
    """
    return f"n = {n:,.0f}"


def _show(number: float | Decimal, context: Context) -> str:
    value = context.create_decimal(Decimal(number))
    return format(value, "f" if not value or value.adjusted() in _PLAIN else "e")
