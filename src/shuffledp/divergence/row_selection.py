"""Which nodes of many contours must be evaluated; bounds on all others, one row per contour.

Stretches of nodes of all rows are bounded together, skipped or split together;
:mod:`shuffledp.divergence.nodes` does the same for one sum, and says why.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shuffledp.arrays import FloatArray, IntArray
from shuffledp.divergence.nodes import ROUND_UP
from shuffledp.divergence.proposals.rows import RowGrids, main_lobes, stretch_starts
from shuffledp.divergence.proposals.stretches import WIDTH
from shuffledp.divergence.stretches import listed, split

_SHORT = 10  # stretches of fewer nodes are evaluated
_PARTS = 4  # into which others are split
_SHARE_OF_STRETCH = 1 / 300  # of the allowance
_MOST_STRETCHES = 2000  # of one row, to begin with
_MOST_NODES = 4000  # of one row

#: Bounds what the nodes of stretches add, given rows, starts and sizes: one row per kind of sum.
StretchBound = Callable[[IntArray, IntArray, IntArray], FloatArray]


@dataclass(frozen=True, eq=False)
class Selection:
    """The nodes that are left.

    Attributes:
        rows: the row of each.
        nodes: their numbers.
        skipped: bounds on what the others add, for every kind of sum and every row.
        left: which rows do not take too many nodes; the others have none.
    """

    rows: IntArray
    nodes: IntArray
    skipped: FloatArray
    left: NDArray[np.bool_]


def add_rows(rows: IntArray, terms: FloatArray, size: int) -> FloatArray:
    """Return the sum of the terms of each row; one is added after the other."""
    return np.bincount(rows, terms, size).astype(np.float64)


def select_nodes(
    grids: RowGrids,
    deviations: tuple[FloatArray, FloatArray],
    bounds: Sequence[StretchBound],
    allowances: FloatArray,
    most: int = _MOST_NODES,
) -> Selection:
    """Find the nodes that cannot be skipped, and bound the others.

    Args:
        grids: all nodes.
        deviations: of a summand and of the sum, in every row; they only say where to look.
        bounds: bounds on what stretches of nodes add; the last one is tried again on their parts.
        allowances: about what may be skipped, for every kind of sum and every row.
        most: how many nodes a row may have, at most.
    """
    deviation, whole = deviations
    size, most = deviation.size, min(most, _MOST_NODES)
    left = (grids.count > 0) & (grids.count * grids.step * deviation / WIDTH < _MOST_STRETCHES)
    main = np.minimum(grids.count, main_lobes(whole, grids.step))
    left &= main <= most
    main = np.where(left, main, -1)
    total = (main + 1).astype(np.float64)
    kept = [(np.arange(size), np.zeros(size, dtype=np.int64), main + 1)]
    rows, starts, sizes = _cover(grids, deviation, main + 1, left)
    limit, skipped = allowances * _SHARE_OF_STRETCH, np.zeros_like(allowances)

    def skip(bound: StretchBound) -> NDArray[np.bool_]:
        found = bound(rows, starts, sizes)
        dropped: NDArray[np.bool_] = np.all(found <= limit[:, rows], axis=0)
        for kind, own in enumerate(found):
            skipped[kind] += add_rows(rows[dropped], own[dropped], size) * ROUND_UP
        return dropped

    for bound in bounds[:-1]:
        left_over = ~skip(bound)
        rows, starts, sizes = rows[left_over], starts[left_over], sizes[left_over]
    while rows.size:
        dropped = skip(bounds[-1])
        short = ~dropped & (sizes < _SHORT)
        kept.append((rows[short], starts[short], sizes[short]))
        total += add_rows(rows[short], sizes[short].astype(np.float64), size)
        left &= total <= most
        rest = ~dropped & ~short & left[rows]
        rows, starts, sizes = rows[rest], starts[rest], sizes[rest]
        parts = np.minimum(sizes, _PARTS)  # a stretch has no more parts than nodes
        starts, sizes = split(starts, sizes, _PARTS)
        rows = np.repeat(rows, parts)
    rows, starts, sizes = (np.concatenate(part) for part in zip(*kept, strict=True))
    inside = left[rows]
    rows, starts, sizes = rows[inside], starts[inside], sizes[inside]
    return Selection(np.repeat(rows, sizes), listed(starts, sizes), skipped, left)


def _cover(
    grids: RowGrids, deviation: FloatArray, begin: IntArray, left: NDArray[np.bool_]
) -> tuple[IntArray, IntArray, IntArray]:
    """Return rows, starts and sizes of stretches that cover begin..count, as proposed."""
    count = np.where(left, grids.count, -1)
    own = np.flatnonzero(begin <= count)
    rows, starts = stretch_starts(deviation[own], grids.step[own], begin[own], count[own])
    rows = own[rows]
    inner = (starts > begin[rows]) & (starts <= count[rows])
    rows, starts = np.append(rows[inner], own), np.append(starts[inner], begin[own])
    order = np.lexsort((starts, rows))
    rows, starts = rows[order], starts[order]
    ends = count[rows] + 1
    next_ = np.append(starts[1:], 0)
    same = np.append(rows[1:] == rows[:-1], False)
    sizes = np.where(same, next_, ends) - starts
    some = sizes > 0  # the same start twice
    return rows[some], starts[some], sizes[some]
