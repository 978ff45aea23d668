"""Numbers in sentences: shares and users."""

from __future__ import annotations

from shuffledp.basics.rounding import nearest

#: Relative width of the enclosures behind the numbers: smaller differences mean nothing.
RESOLUTION = 1e-4


def percent(share: float) -> str:
    """Return a share in percent, with one decimal place, more if it is small.

    Shares below ``RESOLUTION`` are not resolved.

    >>> percent(0.1234), percent(0.00057), percent(-0.02), percent(3e-8)
    ('12.3%', '0.057%', '-2.0%', 'less than 0.01%')
    """
    value = 100 * share
    if abs(share) < RESOLUTION:
        return "less than 0.01%"
    return f"{value:.1f}%" if abs(value) >= 1 else f"{nearest(value, 2)}%"


def users(n: float) -> str:
    """Return for example ``n = 10,000``.

    >>> users(10_000)
    'n = 10,000'
    """
    return f"n = {n:,.0f}"
