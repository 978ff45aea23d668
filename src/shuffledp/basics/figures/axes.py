"""The axes of a picture: where they come from, their ends and ticks, and what is written there."""

from __future__ import annotations

import math
import sys
import textwrap
from decimal import Decimal
from typing import Any

from shuffledp.basics.extras import import_extra
from shuffledp.basics.rounding import decade

#: Width and height of a picture in inches.
INSIDE = (7.2, 4.6)

_TITLE_WIDTH = 90  # characters
_PLAIN = range(-4, 7)  # decimal exponents written without a power of ten
_MARGIN = 0.03  # of an axis, beyond the curves


def axes_or_new(ax: Any, size: tuple[float, float]) -> Any:
    """Return the given axes, or new ones of pyplot, which notebooks show by themselves."""
    import_extra("matplotlib")
    if ax is not None:
        return ax
    return import_extra("matplotlib.pyplot").subplots(figsize=size, layout="constrained")[1]


def can_show(value: float, log: bool) -> bool:
    """Tell whether an axis has a place for a number; those that underflow have no logarithm."""
    return not log or value >= sys.float_info.min


def set_axis(axis: Any, values: list[float], *, log: bool) -> None:
    """Choose the ends and ticks of an axis that shows some numbers."""
    low, high = _limits(values, log=log)
    name = axis.axis_name
    axis.axes.set(**{f"{name}scale": "log" if log else "linear"})
    axis.axes.set(**{f"{name}lim": (low, high)})
    _set_ticks(axis, low, high, log=log)


def describe(
    axes: Any, title: str, x_label: str, y_label: str, *, title_width: int = _TITLE_WIDTH
) -> None:
    """Write what the axes show; no text is read as a formula."""
    wrapped = "\n".join(textwrap.wrap(title, title_width, max_lines=3))
    axes.set_title(wrapped, loc="left", parse_math=False)
    axes.set_xlabel(x_label, parse_math=False)
    axes.set_ylabel(y_label, parse_math=False)
    axes.grid(which="major", color="0.85", linewidth=0.7)
    axes.grid(which="minor", color="0.94", linewidth=0.5)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def _limits(values: list[float], *, log: bool) -> tuple[float, float]:
    """Return the ends of an axis: those of the curves with a margin, never equal."""
    if not values:
        return (0.1, 1.0) if log else (0.0, 1.0)
    low, high = min(values), max(values)
    if not log:
        margin = _MARGIN * (high - low) or 0.1 * abs(high) or 1.0
        return low - margin, high + margin
    low, high = math.log10(low), math.log10(high)
    margin = _MARGIN * (high - low) or 0.1
    return max(10 ** (low - margin), sys.float_info.min / 10), 10 ** min(high + margin, 308.0)


def _set_ticks(axis: Any, low: float, high: float, *, log: bool) -> None:
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
