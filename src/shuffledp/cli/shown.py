"""The guarantee of an answer, as people read it, and what it is about."""

from __future__ import annotations

from decimal import Decimal

from shuffledp.accounting.sum_view import View
from shuffledp.rounding import plain


def what_is_seen(view: View) -> str:
    """Return the subject of "... (epsilon, delta)-differentially private"."""
    return "the sum of the reports is" if view == "sum" else "the shuffled reports are"


def shown_guarantee(guarantee: Decimal, rounded: str, met: float | None) -> str:
    """Return the guarantee rounded up; the target that is met, if that takes it there or beyond.

    >>> shown_guarantee(Decimal("0.09996"), "0.1000", 0.1), shown_guarantee(Decimal(2), "2", None)
    ('0.1', '2')
    """
    if met is None or guarantee > met or Decimal(rounded) < Decimal(plain(met)):
        return rounded
    return plain(met)
