"""The axes of a picture: where they come from, their ends, and what is written on them."""

from __future__ import annotations

import math
import sys
import textwrap
from typing import Any

from shuffledp.extras import import_extra
from shuffledp.figures.ticks import set_ticks

#: Width and height of a picture in inches.
INSIDE = (7.2, 4.6)

_TITLE_WIDTH = 90  # characters
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
    set_ticks(axis, low, high, log=log)


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
