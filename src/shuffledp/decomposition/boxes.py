"""Few components for many: the plane of ratios is cut into boxes."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from shuffledp.arrays import UNIT, FloatArray
from shuffledp.decomposition.cells import boxes, choose_axes, split_to_corners
from shuffledp.decomposition.components import MAX_LOG_RATIO
from shuffledp.decomposition.faint import Faint

if TYPE_CHECKING:
    from shuffledp.decomposition.decomposition import Decomposition


def choose_log_edges(upper: Decomposition, limit: int) -> tuple[FloatArray, FloatArray]:
    """Return logarithms of some of the ratios as edges of at most about ``limit`` boxes."""
    axes = choose_axes(upper.ratio0, upper.ratio1, upper.weight, limit)
    found = []
    for logs, edges in zip((upper.log_ratio0, upper.log_ratio1), axes, strict=True):
        known = np.unique(logs)
        position = np.searchsorted(np.exp(known), edges)
        found.append(known[np.unique(np.minimum(position, known.size - 1))])
    return found[0], found[1]


def lattice_edges(upper: Decomposition, step: float) -> tuple[FloatArray, FloatArray]:
    """Return the multiples of ``step`` that enclose the logarithms, with that of 0 if it occurs."""
    found = []
    for logs in (upper.log_ratio0, upper.log_ratio1):
        finite = logs[np.isfinite(logs)]
        low, high = np.floor(finite.min() / step), np.ceil(finite.max() / step)
        points = np.unique(np.minimum(step * np.arange(low, high + 1), MAX_LOG_RATIO))
        found.append(np.append(-np.inf, points) if finite.size < logs.size else points)
    return found[0], found[1]


def gather(fine: Decomposition, log_edges0: FloatArray, log_edges1: FloatArray) -> Decomposition:
    """Gather components in boxes at their means; the spread goes to the corners of the boxes."""
    edges0, edges1 = np.exp(log_edges0), np.exp(log_edges1)
    box = boxes(fine.ratio0, edges0) * (2 * edges1.size + 1) + boxes(fine.ratio1, edges1)
    _, group = np.unique(box, return_inverse=True)
    weight, weight_error = fine.group_weights(group)
    error = np.zeros(weight.size)
    # A mean is a quotient of sums: of masses a, off by the errors of ratio and weight, and of
    # weights.
    np.maximum.at(error, group, fine.log_ratio_error + 2 * fine.weight_error)
    with np.errstate(divide="ignore"):
        mean0 = np.log(np.bincount(group, fine.weight * fine.ratio0) / weight)
        mean1 = np.log(np.bincount(group, fine.weight * fine.ratio1) / weight)
    size = np.maximum(*(np.abs(np.where(np.isfinite(x), x, 0.0)) for x in (mean0, mean1)))
    return replace(
        fine,
        log_ratio0=mean0,
        log_ratio1=mean1,
        weight=weight,
        log_ratio_error=error + (2 * np.bincount(group) + 16 + 4 * size) * UNIT,
        weight_error=weight_error,
        spread=_corners(fine.upper, log_edges0, log_edges1),
    )


def _corners(upper: Decomposition, log_edges0: FloatArray, log_edges1: FloatArray) -> Decomposition:
    """Split the components between the corners of their boxes.

    An error e of the logarithm of a ratio multiplies all parts of a component by up to exp(e), and
    so does what is lost where rounding put a ratio beyond the last edge. Corners too light for
    doubles become singular, which is a smaller blanket and so still a spread.
    """
    ratios = upper.ratio0, upper.ratio1
    corners = split_to_corners(*ratios, upper.weight, np.exp(log_edges0), np.exp(log_edges1))
    beyond = max(
        _beyond(upper.log_ratio0, log_edges0),
        _beyond(upper.log_ratio1, log_edges1),
    )
    rounding = (upper.size + 32) * UNIT
    error = float(upper.log_ratio_error.max()) + beyond + rounding
    weight_error = float(upper.weight_error.max()) + rounding
    faint = Faint(
        corners.faint_log_mass,
        log_edges0[corners.faint_x],
        log_edges1[corners.faint_y],
        error - math.log1p(-weight_error),
    )
    fields = faint.exposed_in(
        {
            "weight": corners.mass,
            "residual": upper.residual,
            "residual_error": upper.residual_error,
            "singular0": upper.singular0,
            "singular1": upper.singular1,
            "singular_error": upper.singular_error,
        }
    )
    return replace(
        upper,
        log_ratio0=log_edges0[corners.index_x],
        log_ratio1=log_edges1[corners.index_y],
        log_ratio_error=np.array(error),
        weight_error=np.array(weight_error),
        **fields,
    )


def _beyond(logs: FloatArray, edges: FloatArray) -> float:
    """Return by how much finite logarithms lie outside the range of the edges."""
    finite = logs[np.isfinite(logs)]
    if finite.size == 0:
        return 0.0
    return float(max(edges[0] - finite.min(), finite.max() - edges[-1], 0.0))
