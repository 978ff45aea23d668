"""Estimates as a picture with error bars."""

from __future__ import annotations

import math
from collections.abc import Sequence

from shuffledp.basics.arrays import FloatArray
from shuffledp.basics.figures import Mark, Panel, RowChart
from shuffledp.basics.rounding import percent
from shuffledp.basics.wording import counted
from shuffledp.deployment.files import Estimation, Section


def estimate_chart(
    estimation: Estimation,
    tables: Sequence[tuple[Section, Sequence[str], Sequence[FloatArray]]],
    confidence: float,
    simultaneous: bool,
) -> RowChart:
    """Return the chart of all estimates.

    Args:
        estimation: what was estimated.
        tables: for each section the names of its rows, and values, standard errors and both ends of
            the intervals.
        confidence: the level of the intervals.
        simultaneous: whether it is that of all intervals of a section together.
    """
    panels = []
    for section, names, (values, _, lower, upper) in tables:
        marks = tuple(
            Mark(name, value, *((low, high) if math.isfinite(high - low) else ()))
            for name, value, low, high in zip(
                names, values.tolist(), lower.tolist(), upper.tolist(), strict=True
            )
            if math.isfinite(value)
        )
        title = f"mean of {section.column.name}" if section.is_mean else section.column.name
        panels.append(Panel(title, marks))
    together = ", all at once" if simultaneous else ""
    return RowChart(
        f"Estimates from {counted(estimation.n, 'user')}",
        f"estimate and {percent(confidence)} interval{together}",
        tuple(panels),
    )
