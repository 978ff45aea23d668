"""Discrete parameters that follow epsilon0.

Clients and server must choose the same number, so it may not hang on the last bit of an
exponential, which differs from machine to machine.
"""

from __future__ import annotations

from decimal import Context, Decimal
from functools import lru_cache

_DIGITS = Context(prec=200)  # e^300 has 131 digits before the point


@lru_cache(maxsize=64)
def nearest_to_exp(epsilon0: float) -> int:
    r"""Return the integer nearest to :math:`e^{\varepsilon_0}` (to 200 digits of it).

    >>> nearest_to_exp(1.0), nearest_to_exp(2.0)
    (3, 7)
    """
    return round(_DIGITS.exp(Decimal(epsilon0)))


@lru_cache(maxsize=64)
def nearest_share(size: int, epsilon0: float) -> int:
    r"""Return the integer nearest to :math:`D/(e^{\varepsilon_0}+1)`.

    >>> nearest_share(10, 1.0)
    3
    """
    odds = _DIGITS.add(_DIGITS.exp(Decimal(epsilon0)), Decimal(1))
    return round(_DIGITS.divide(Decimal(size), odds))
