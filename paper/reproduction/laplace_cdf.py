"""Figure 8: the privacy amplification random variable of Laplace noise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from reproduction.curve import OnDone
from reproduction.item import Item, Result
from reproduction.settings import Settings
from reproduction.table import Cell, Table, number
from shuffledp.basics.arrays import FloatArray
from shuffledp.basics.figures import Chart, Line
from shuffledp.basics.rounding import nearest
from shuffledp.mechanisms import Laplace

_LEVEL, _EPSILON = 1.0, 0.1
_STEPS = 200
_T, _CLOSED, _CELLS = "t", "closed form (paper)", "cells of the library"


def closed_form(t: float, level: float, epsilon: float) -> float:
    r"""Return :math:`\Pr[L\le t]`, appendix B of the paper.

    With :math:`\gamma=e^{-\varepsilon_0/2}` and :math:`\lambda=e^\varepsilon` the law has atoms at
    both ends, :math:`\gamma(1-\lambda e^{\varepsilon_0})` and
    :math:`\gamma(e^{\varepsilon_0}-\lambda)`, and passes 1/2 at :math:`\gamma(1-\lambda)`.
    """
    root, ratio = math.exp(level / 2), math.exp(epsilon)
    first, middle, last = support(level, epsilon)
    if t < first:
        return 0.0
    if t < middle:
        return 0.5 * math.sqrt(ratio / (1 - root * t))
    if t < last:
        return 1 - 0.5 / math.sqrt(root * t + ratio)
    return 1.0


def support(level: float, epsilon: float) -> tuple[float, float, float]:
    """Return the smallest value of L, where its law changes sides, and the largest value."""
    gamma, ratio, E = math.exp(-level / 2), math.exp(epsilon), math.exp(level)
    return gamma * (1 - E * ratio), gamma * (1 - ratio), gamma * (E - ratio)


def cell_law(ts: Sequence[float], level: float, epsilon: float) -> list[float]:
    """Return Pr[L <= t] of the cells behind our bounds, each at its mean.

    L is the GPARV on the blanket, times the mass gamma of the blanket.
    """
    laplace = Laplace(epsilon0=level)
    blanket = laplace.decomposition(laplace.neighbours()[0])
    law = blanket.at(epsilon).lower
    values, weights = law.values[: blanket.size], law.masses[: blanket.size]
    gamma = float(weights.sum())
    order = np.argsort(values)
    total: FloatArray = np.append(0.0, np.cumsum(weights[order]) / gamma)
    # The two end values are exact up to rounding; the slack keeps their atoms on the right side.
    slack = 1e-12
    index = np.searchsorted(gamma * values[order], np.asarray(ts) + slack, side="right")
    return [float(x) for x in total[index]]


@dataclass(frozen=True, kw_only=True)
class LaplaceLaw(Item):
    """The distribution function of L, in closed form and as our bounds use it."""

    def identity(self, settings: Settings) -> dict[str, object]:
        """Return the level, epsilon and the number of steps."""
        return {"epsilon0": _LEVEL, "epsilon": _EPSILON, "steps": _STEPS}

    def compute(self, settings: Settings, on_done: OnDone | None = None) -> Result:
        """Evaluate both on a grid that resolves the jumps at the ends."""
        ts = _grid()
        cells = cell_law(ts, _LEVEL, _EPSILON)
        rows: list[tuple[Cell, ...]] = [
            (t, closed_form(t, _LEVEL, _EPSILON), own) for t, own in zip(ts, cells, strict=True)
        ]
        return Result(Table((_T, _CLOSED, _CELLS), tuple(rows)))

    def chart(self, table: Table) -> Chart:
        """Draw both over t."""
        t, closed, cells = (_floats(table, name) for name in (_T, _CLOSED, _CELLS))
        lines = (
            Line(_CLOSED, t, closed, "upper", _CLOSED),
            Line(_CELLS, t, cells, "lower", _CELLS),
        )
        return Chart(self.title, "t", "Pr[L ≤ t]", lines)

    def findings(self, table: Table) -> list[str]:
        """Say how close the two are, and how large the jumps."""
        closed, cells = _floats(table, _CLOSED), _floats(table, _CELLS)
        largest = max(abs(a - b) for a, b in zip(closed, cells, strict=True))
        first, _, last = support(_LEVEL, _EPSILON)
        jump = closed_form(first, _LEVEL, _EPSILON)
        top = 1 - closed_form(np.nextafter(last, 0.0), _LEVEL, _EPSILON)
        return [
            f"The closed form and the cells behind our bounds differ by at most {nearest(largest)} "
            "on this grid: the mass of a cell.",
            f"L lies between {nearest(first)} and {nearest(last)}, with atoms of "
            f"{nearest(jump)} and {nearest(float(top))} at the ends.",
        ]

    def summary(self, table: Table) -> Table:
        """Return a few of the values."""
        rows = table.rows[:: max(len(table.rows) // 8, 1)]
        return Table(table.columns, tuple(tuple(nearest(number(x)) for x in r) for r in rows))


def _grid() -> list[float]:
    """Return steps across the support and a little beyond, with both sides of each jump."""
    first, middle, last = support(_LEVEL, _EPSILON)
    margin = 0.1 * (last - first)
    corners = (first - margin, first, middle, last, last + margin)
    ts: list[float] = []
    for left, right in pairwise(corners):
        count = max(round(_STEPS * (right - left) / (last - first)), 2)
        ts += [left + (right - left) * i / count for i in range(count)]
    sides = [end - 1e-9 for end in (first, last)]
    return sorted({*ts, *sides, corners[-1]})


def _floats(table: Table, name: str) -> tuple[float, ...]:
    return tuple(number(x) for x in table.column(name))


LAPLACE_CDF = LaplaceLaw(
    name="laplace-cdf",
    title=f"Distribution function of L for Laplace noise, ε0 = {_LEVEL:g}, ε = {_EPSILON:g}",
    place="Figure 8",
    caption=(
        "The privacy amplification random variable of Laplace noise on {0, 1}: the closed form of "
        "the paper's appendix B, and the cells into which the library cuts it."
    ),
    paper="The curve of the closed form.",
)
