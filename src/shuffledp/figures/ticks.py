"""Ticks of an axis: round numbers that can be read, also within one decade."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

from shuffledp.rounding import decade

_PLAIN = range(-4, 7)  # decimal exponents written without a power of ten


def set_ticks(axis: Any, low: float, high: float, *, log: bool) -> None:
    """Choose the ticks of a matplotlib axis that shows ``low`` to ``high``."""
    from matplotlib.ticker import (
        AutoMinorLocator,
        FixedLocator,
        FuncFormatter,
        LogLocator,
        MaxNLocator,
        NullFormatter,
        NullLocator,
    )

    decades = math.log10(high) - math.log10(low) if log else 0.0
    within_decades = LogLocator(subs=range(2, 10), numticks=100)
    major: Any = MaxNLocator(nbins=7, steps=[1, 2, 2.5, 5, 10])
    minor: Any = NullLocator() if log else AutoMinorLocator()
    if decades >= 2.5:
        major = FixedLocator([10.0**k for k in whole_decades(low, high)])
        minor = within_decades if decades < 11 else NullLocator()
    elif decades >= 0.7:
        major, minor = LogLocator(subs=(1, 2, 5), numticks=100), within_decades
    axis.set_major_locator(major)
    axis.set_minor_locator(minor)
    ends = (decade(low), decade(high)) if log else (0, 0)
    plain = all(end in _PLAIN for end in ends)
    axis.set_major_formatter(FuncFormatter(lambda value, _: tick_label(value, plain=plain)))
    axis.set_minor_formatter(NullFormatter())


def whole_decades(low: float, high: float) -> list[int]:
    """Return at most nine equidistant exponents of the powers of ten from ``low`` to ``high``.

    >>> whole_decades(0.9, 1100.0), whole_decades(1e-300, 1.0)
    ([0, 1, 2, 3], [-300, -250, -200, -150, -100, -50, 0])
    """
    first, last = math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9)
    step = next(s for s in (1, 2, 5, 10, 20, 50, 100) if (last - first) / s <= 8)
    return list(range(-(-first // step) * step, last + 1, step))


def tick_label(value: float, *, plain: bool = True) -> str:
    r"""Return a number as it stands on an axis.

    Args:
        value: the number.
        plain: whether to avoid powers of ten as long as the number is not too long without.

    >>> [tick_label(value) for value in (0.0, 0.0025, 12_000.0, 1e-6)]
    ['0', '0.0025', '12,000', '$10^{-6}$']
    >>> print(tick_label(0.25, plain=False))
    $2.5 \times 10^{-1}$
    """
    number = Decimal(f"{value:.9g}").normalize()
    exponent = number.adjusted()
    if not number or (plain and exponent in _PLAIN):
        return f"{number:,f}"
    mantissa = number.scaleb(-exponent)
    factor = "" if mantissa == 1 else rf"{mantissa:f} \times "
    return f"${factor}10^{{{exponent}}}$"
