r"""The largest value in a simplex of a function that is nearly linear, from its corners.

Let f differ from linear interpolation at the weights :math:`\alpha_i` by at most
:math:`\sum_{i<j}\alpha_i\alpha_je_{ij}`, let corner 0 have the largest value :math:`u_0`, the
others :math:`u_i=u_0-g_i`, and let e be the largest :math:`e_{ij}` without corner 0. With s the
weight of all k - 1 other corners, those have :math:`\sum_{0<i<j}\alpha_i\alpha_j\le\kappa s^2`,
:math:`\kappa=\frac{k-2}{2(k-1)}`, so

.. math:: f\le u_0+\max_{i>0,\ 0\le s\le1}\big(s(e_{0i}-g_i)-s^2(e_{0i}-\kappa e)\big).

Near a corner the error vanishes: next to the largest value of all no small simplices are needed.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shuffledp.basics.arrays import FloatArray
from shuffledp.bounds.swap.examined import UP

_LESS = 2 - UP

# Squared distances from which on twice the weight is less. Products of the weights of two corners
# are at most 1/4; a variance in the plane is at most a third of the largest squared distance.
_FAR_OF_TWO, _FAR = 16, 12


def largest_sums(
    corners: FloatArray, weight: FloatArray, squares: FloatArray, edges: Sequence[tuple[int, int]]
) -> FloatArray:
    """Bound sums over nodes in each of several simplices; NaN where that overflows.

    A node of this weight differs from interpolation by at most half the squared distances that
    belong to a pair of corners, times their weights, and by at most twice its weight.

    Args:
        corners: upper bounds at the corners, one row per simplex.
        weight: of every node, one row per simplex.
        squares: squared distances, one table of simplices and nodes for every edge.
        edges: which two corners each of them joins, all pairs.
    """
    capped = squares.max(axis=0) >= (_FAR_OF_TWO if corners.shape[1] == 2 else _FAR)
    bent = np.einsum("cn,ecn->ec", np.where(capped, 0.0, weight), squares)
    bounds = largest_values(corners, 0.5 * bent * UP, edges)
    far: FloatArray = bounds + np.where(capped, 2 * weight, 0.0).sum(axis=1) * UP
    return far


def largest_values(
    corners: FloatArray, errors: FloatArray, edges: Sequence[tuple[int, int]]
) -> FloatArray:
    """Bound f in each of several simplices of two corners or more.

    Args:
        corners: upper bounds on f at the corners, one row per simplex.
        errors: the e of every edge, one column per simplex.
        edges: which two corners each of them joins, all pairs.

    >>> steep = largest_values(np.array([[5.0, 1.0]]), np.array([[4.0]]), [(0, 1)])
    >>> flat = largest_values(np.array([[5.0, 5.0]]), np.array([[4.0]]), [(0, 1)])
    >>> np.round([steep, flat], 6).tolist()
    [[5.0], [6.0]]
    """
    rows, count = np.arange(len(corners)), corners.shape[1]
    table = np.zeros((len(corners), count, count))
    for (i, j), error in zip(edges, errors, strict=True):
        table[:, i, j] = table[:, j, i] = error * UP
    top = corners.argmax(axis=1)
    highest = corners[rows, top]
    own = table[rows, top]
    table[rows, top] = 0.0
    table[rows, :, top] = 0.0
    others = table.max(axis=(1, 2)) * ((count - 2) / (2 * (count - 1)))
    slope = own - (highest[:, None] - corners) * _LESS
    slope[rows, top] = 0.0
    bend = own * _LESS**2 - others[:, None] * UP
    # The largest value is at s = 0, at s = 1, or between where the parabola is bent down.
    inside = (slope > 0) & (slope < 2 * bend)
    middle = np.divide(slope * slope, 4 * bend, out=np.zeros_like(slope), where=inside)
    end = slope - bend
    end[rows, top] = 0.0
    gain = np.maximum(np.where(inside, middle, end), 0.0).max(axis=1)
    bound: FloatArray = highest + gain * UP + 1e-15 * np.abs(highest)
    return bound
