"""Small error-aware array operations on logarithms of ratios."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from shuffledp.arrays import FloatArray, IntArray


def vector(name: str, values: ArrayLike) -> FloatArray:
    """Return a fresh one-dimensional array of doubles."""
    try:
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be a sequence of real numbers, got {values!r}") from None
    if array.ndim != 1:
        raise ValueError(f"{name} must be one-dimensional, got shape {array.shape}")
    return array


def log_quotient(numerator: FloatArray, denominator: FloatArray) -> FloatArray:
    """Return log(numerator/denominator), 0 <= numerator, 0 < denominator, to 8 UNIT of itself.

    The difference of numbers within a factor of two is exact. Quotients beyond the range of normal
    doubles are taken apart.
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
        quotient = numerator / denominator
        near = np.abs(quotient - 1) < 0.5
        difference = np.where(near, numerator - denominator, 0.0)
        logs = np.where(near, np.log1p(difference / denominator), np.log(quotient))
        far = (numerator > 0) & ~((quotient > 1e-290) & (quotient < 1e290))
        if far.any():
            logs[far] = np.log(numerator[far]) - np.log(denominator[far])
        return logs


def two_sum(x: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the rounded sum and the size of its rounding error (Knuth); 0 at infinities."""
    total = x + y
    with np.errstate(invalid="ignore"):
        part = total - x
        error = np.abs((x - (total - part)) + (y - part))
    return total, np.where(np.isfinite(total), error, 0.0)


def outer_sum(x: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return all sums x_i + y_j in one vector, and their rounding errors."""
    grid_x, grid_y = np.meshgrid(x, y, indexing="ij")
    return two_sum(grid_x.ravel(), grid_y.ravel())


def distance(x: FloatArray, y: FloatArray) -> FloatArray:
    """Return |x - y|, 0 where both are the same infinity."""
    same = x == y
    return np.where(same, 0.0, np.abs(np.where(same, 0.0, x) - np.where(same, 0.0, y)))


def clusters(values: FloatArray, error: FloatArray) -> IntArray:
    """Label values so that neighbours share a label if their errors let them be equal."""
    order = np.argsort(values, kind="stable")
    ordered, slack = values[order], error[order]
    apart = distance(ordered[1:], ordered[:-1]) > slack[1:] + slack[:-1]
    labels = np.empty(values.size, dtype=np.int64)
    labels[order] = np.concatenate([[0], np.cumsum(apart)])
    return labels


def finite_or_zero(x: FloatArray) -> FloatArray:
    """Return x with infinities replaced by 0."""
    return np.where(np.isfinite(x), x, 0.0)
