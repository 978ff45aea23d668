"""Numbers with names, one dot each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from shuffledp.basics.figures.axes import axes_or_new, can_show, describe, set_axis
from shuffledp.basics.figures.style import styles
from shuffledp.basics.rounding import round_down, round_up

_WIDTH, _ROW, _REST = 7.2, 0.28, 1.2  # inches
_TITLE_WIDTH = 40  # characters: the names of the rows take half of the width


@dataclass(frozen=True)
class Dot:
    """One named number.

    Attributes:
        label: its name.
        value: the number; None where there is no answer.
        kind: whether it bounds the truth from above or from below.
    """

    label: str
    value: float | None
    kind: Literal["upper", "lower"]


def plot_dots(dots: Sequence[Dot], *, title: str, label: str, ax: Any = None) -> Any:
    """Draw one row per number, the first at the top, on matplotlib Axes and return them.

    Upper bounds are filled, lower bounds open. The axis is logarithmic; what it cannot show, and
    what is missing, is said in its row.

    Args:
        dots: what to show.
        title: what stands above it.
        label: what the numbers are.
        ax: where to draw; None makes new axes.

    Raises:
        MissingExtraError: if matplotlib is not installed.
    """
    axes = axes_or_new(ax, (_WIDTH, _ROW * len(dots) + _REST))
    (style,) = styles(1)
    rows = range(len(dots))
    shown = [dot.value for dot in dots if dot.value is not None and can_show(dot.value, log=True)]
    for row, dot in zip(rows, dots, strict=True):
        if dot.value is not None and can_show(dot.value, log=True):
            face = style.colour if dot.kind == "upper" else "white"
            axes.plot([dot.value], [row], "o", color=style.colour, markerfacecolor=face)
        else:
            note = "no answer" if dot.value is None else _shown(dot.value, dot.kind)
            axes.text(0.01, row, note, transform=axes.get_yaxis_transform(), va="center")
    set_axis(axes.xaxis, shown, log=True)
    axes.set_yticks(list(rows), [dot.label for dot in dots])
    for text in axes.get_yticklabels():
        text.set_parse_math(False)
    axes.set_ylim(len(dots) - 0.5, -0.5)
    describe(axes, title, label, "", title_width=_TITLE_WIDTH)
    return axes


def _shown(value: float, kind: Literal["upper", "lower"]) -> str:
    return round_up(value) if kind == "upper" else round_down(value)
