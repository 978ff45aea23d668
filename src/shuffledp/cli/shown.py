"""The guarantee of an answer, as people read it."""

from __future__ import annotations

from decimal import Decimal

from shuffledp.rounding import plain


def shown_guarantee(guarantee: Decimal, rounded: str, met: float | None) -> str:
    """Return the guarantee rounded up; the target that is met, if that takes it there or beyond.

    >>> shown_guarantee(Decimal("0.09996"), "0.1000", 0.1), shown_guarantee(Decimal(2), "2", None)
    ('0.1', '2')
    """
    if met is None or guarantee > met or Decimal(rounded) < Decimal(plain(met)):
        return rounded
    return plain(met)
