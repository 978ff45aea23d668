"""Shares of the types of a background: points of a simplex, and cells that are cut in two."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shuffledp.arrays import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Points:
    """Shares of the types, and at every node their exponent and the sums they lead to.

    ``height`` bounds the moduli of what is summed, but for the kernel.
    """

    shares: FloatArray
    exponent: NDArray[np.complex128]
    height: FloatArray
    upper: FloatArray
    density: FloatArray

    @staticmethod
    def joined(parts: Sequence[Points]) -> Points:
        """Return the points of all parts, one after the other."""
        return Points(
            np.concatenate([part.shares for part in parts]),
            np.concatenate([part.exponent for part in parts]),
            np.concatenate([part.height for part in parts]),
            np.concatenate([part.upper for part in parts]),
            np.concatenate([part.density for part in parts]),
        )


def halve(cells: IntArray, edges: IntArray, count: int) -> tuple[IntArray, IntArray]:
    """Cut each cell in the middle of an edge; middles get the numbers from ``count`` on.

    Args:
        cells: the numbers of the corners of each cell.
        edges: which two of its corners the edge to cut joins.
        count: number of points so far.

    Returns:
        The halves, and the two ends of the edge of each new point.

    >>> halves, ends = halve(np.array([[0, 1, 2]]), np.array([[0, 2]]), 3)
    >>> halves.tolist(), ends.tolist()
    ([[3, 1, 2], [0, 1, 3]], [[0, 2]])
    """
    rows = np.arange(len(cells))
    ends = np.sort(cells[rows[:, None], edges], axis=1)
    codes, place = np.unique(ends[:, 0] * count + ends[:, 1], return_inverse=True)
    pairs = np.stack(np.divmod(codes, count), axis=1)
    halves = []
    for side in (0, 1):
        half = cells.copy()
        half[rows, edges[:, side]] = count + place
        halves.append(half)
    return np.concatenate(halves), pairs
