"""Closed forms in 60 decimal digits, so that only the last conversion to a double rounds.

Formulas lose a few digits to cancellation and none of the 16 that are shown; the direction of a
bound is then kept by widening it by a relative 1e-30 before the conversion.
"""

from __future__ import annotations

import math
from decimal import MAX_EMAX, MIN_EMIN, ROUND_HALF_EVEN, Context, Decimal, localcontext
from typing import Any

#: 60 digits, and exponents that hold e**-(2**53).
PRECISE = Context(
    prec=60, rounding=ROUND_HALF_EVEN, Emin=MIN_EMIN, Emax=MAX_EMAX, capitals=1, clamp=0
)

_SLACK = Decimal("1e-30")


def precise() -> Any:
    """Return a context manager in which decimals have 60 digits."""
    return localcontext(PRECISE)


def float_up(number: Decimal) -> float:
    """Return a double that is at least ``number`` and at most a few ulps above.

    >>> float_up(Decimal("0.1")) >= Decimal("0.1"), float_up(Decimal("1e-400"))
    (True, 5e-324)
    """
    with precise():
        target = number + _SLACK * abs(number)
        result = float(target)
        return result if Decimal(result) >= target else math.nextafter(result, math.inf)


def power_up(base: Decimal, exponent: int) -> Decimal:
    """Return an upper bound on base**exponent for a base of at least 0, good to many digits.

    >>> 1024 < power_up(Decimal(2), 10) < Decimal("1024.000001")
    True
    """
    with precise():
        value, slack = _power(base, exponent)
        return value * (1 + slack)


def power_down(base: Decimal, exponent: int) -> Decimal:
    """Return a lower bound on base**exponent for a base of at least 0, good to many digits.

    >>> Decimal("1023.999999") < power_down(Decimal(2), 10) < 1024
    True
    """
    with precise():
        value, slack = _power(base, exponent)
        return value * max(1 - slack, Decimal(0))


def _power(base: Decimal, exponent: int) -> tuple[Decimal, Decimal]:
    """Return base**exponent and its relative error, that of a base good to 38 digits included."""
    if base == 0:
        return Decimal(0), Decimal(0)
    log = exponent * base.ln()
    return log.exp(), Decimal("1e-38") * (exponent + abs(log) + 1)
