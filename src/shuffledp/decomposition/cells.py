"""Cells: how many atoms are replaced by few without losing the direction of a bound.

Atoms between two neighbouring edges are either moved to their mean, which contracts the law in
convex order, or split between the two edges with the same mean, which spreads it. Both orders
survive independent sums, and the bound is the mean of a convex function of such a sum.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shuffledp.arrays import FloatArray, IntArray

#: Lighter masses are kept apart, with their logarithms: products of them would leave the range of
#: normal doubles.
FAINT = 1e-290


class Corners(NamedTuple):
    """Corners of a grid, by the numbers of their edges, and their masses.

    Corners lighter than 1e-290 are listed apart, with the logarithms of their masses.
    """

    index_x: IntArray
    index_y: IntArray
    mass: FloatArray
    faint_x: IntArray
    faint_y: IntArray
    faint_log_mass: FloatArray


def choose_edges(values: FloatArray, mass: FloatArray, count: int) -> FloatArray:
    """Return about ``count`` of the ``values`` as edges, the smallest and the largest included.

    The loss of a cell is its mass times its squared width; the total is least when edges have
    the density mass^(1/3). Atoms that hold more than their share stay edges, so they are not moved.
    """
    order = np.argsort(values, kind="stable")
    ordered, start = np.unique(values[order], return_index=True)
    weights = np.add.reduceat(mass[order], start)
    if ordered.size <= count:
        return ordered
    local = np.maximum(weights[1:], weights[:-1])
    position = np.concatenate([[0.0], np.cumsum(np.cbrt(local * np.diff(ordered) ** 2))])
    heavy = np.flatnonzero(weights * (count // 2) >= weights.sum())
    targets = np.linspace(0.0, position[-1], max(count - heavy.size, 2))
    chosen = np.searchsorted(position, targets)
    picked = np.unique(np.concatenate([chosen, heavy, [0, ordered.size - 1]]))
    edges: FloatArray = ordered[np.minimum(picked, ordered.size - 1)]
    return edges


def boxes(values: FloatArray, edges: FloatArray) -> IntArray:
    """Label each value by the edge it sits on (odd labels) or the gap it lies in (even)."""
    below = np.searchsorted(edges, values, side="left")
    return below + np.searchsorted(edges, values, side="right")


def interpolate(values: FloatArray, edges: FloatArray) -> tuple[IntArray, FloatArray]:
    """Return for each value the index of the edge below it and its share of the gap above.

    A value beyond the edges counts as the nearest one; the caller states how far that moves it.
    """
    if edges.size == 1:
        return np.zeros(values.size, dtype=np.int64), np.zeros(values.size)
    index = np.clip(np.searchsorted(edges, values, side="right") - 1, 0, edges.size - 2)
    share = (values - edges[index]) / (edges[index + 1] - edges[index])
    return index, np.clip(share, 0.0, 1.0)


def split_to_corners(
    x: FloatArray, y: FloatArray, mass: FloatArray, edges_x: FloatArray, edges_y: FloatArray
) -> Corners:
    """Split points of the plane between the corners of their boxes with bilinear weights."""
    index_x, share_x = interpolate(x, edges_x)
    index_y, share_y = interpolate(y, edges_y)
    corners, parts, logs = [], [], []
    with np.errstate(divide="ignore"):
        log_mass = np.log(mass)
        for step_x, part_x in ((0, 1 - share_x), (1, share_x)):
            for step_y, part_y in ((0, 1 - share_y), (1, share_y)):
                corner = np.minimum(index_x + step_x, edges_x.size - 1) * edges_y.size
                corners.append(corner + np.minimum(index_y + step_y, edges_y.size - 1))
                parts.append(mass * part_x * part_y)
                logs.append(log_mass + np.log(part_x) + np.log(part_y))
    log_part = np.concatenate(logs)
    present = log_part > -np.inf
    used, position = np.unique(np.concatenate(corners)[present], return_inverse=True)
    total = np.bincount(position, np.concatenate(parts)[present]).astype(np.float64)
    kept = total >= FAINT
    lost = ~kept[position]
    faint = used[position[lost]]
    return Corners(
        used[kept] // edges_y.size,
        used[kept] % edges_y.size,
        total[kept],
        faint // edges_y.size,
        faint % edges_y.size,
        log_part[present][lost],
    )


def choose_axes(
    x: FloatArray, y: FloatArray, mass: FloatArray, max_corners: int
) -> tuple[FloatArray, FloatArray]:
    """Return edges for both axes whose grid has at most about ``max_corners`` corners."""
    distinct_x, distinct_y = np.unique(x).size, np.unique(y).size
    side = max(2, int(max_corners**0.5))
    count_x = min(distinct_x, side)
    count_y = min(distinct_y, max(2, max_corners // count_x))
    count_x = min(distinct_x, max(2, max_corners // count_y))
    spread_mass = mass * (1 + x + y)
    return choose_edges(x, spread_mass, count_x), choose_edges(y, spread_mass, count_y)
