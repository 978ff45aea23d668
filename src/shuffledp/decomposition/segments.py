"""Decompositions of continuous laws: cells whose ratios run along segments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from shuffledp.arrays import UNIT, FloatArray
from shuffledp.decomposition.arithmetic import log_quotient, vector
from shuffledp.decomposition.decomposition import Decomposition

#: Relative error of the masses of tails: normal probabilities at 37 standard deviations.
_TAIL_ERROR = 8e-13

#: Relative error of residuals, in units round-off.
_RESIDUAL_UNITS = 24

#: Log of the largest ratio of the two parts of a mean for which ends, not shares, are moved.
_BALANCED = 2.0


def decompose_segments(
    mean: tuple[ArrayLike, ArrayLike],
    weight: ArrayLike,
    *,
    start: tuple[ArrayLike, ArrayLike],
    stop: tuple[ArrayLike, ArrayLike],
    residual: float,
    log_ratio_error: ArrayLike = 0.0,
    weight_error: ArrayLike = 4 * UNIT,
    tails: Sequence[tuple[float, float, float]] = (),
) -> Decomposition:
    r"""Build a decomposition from cells of a continuous law.

    A cell stands for outputs whose ratios (a/c, b/c) lie on a segment of the plane and have a
    known mean there. Moving its mass to the mean contracts the law of G in convex order; moving it
    to the two ends with the same mean spreads it (``Decomposition.spread``). Both statements hold
    for every epsilon, because G is linear in the ratios.

    Args:
        mean: logs of the means of (a/c, b/c) in each cell.
        weight: c-mass of each cell.
        start: logs of (a/c, b/c) at the first end of each cell.
        stop: logs of (a/c, b/c) at the second end.
        residual: mass of the left-over laws, to 24 units round-off.
        log_ratio_error: bound on the absolute error of all logs of a cell. The two ratios of a cell
            must depend on one number, as (u, 1) or (u, u) do, with errors of that number.
        weight_error: bound on the relative error of the weights.
        tails: (a, b, c) of further cells whose ratios are unbounded. The contraction keeps them
            as atoms; the spread gives their c-mass to the residual and lets every output give the
            input away, which is a smaller blanket and so still an upper bound.

    >>> import math
    >>> one = decompose_segments(  # ratios (u, 1) and (1, u), u from 1 to 4 with mean 2
    ...     ([math.log(2), 0.0], [0.0, math.log(2)]),
    ...     [1 / 3, 1 / 3],
    ...     start=([0.0, 0.0], [0.0, 0.0]),
    ...     stop=([math.log(4), 0.0], [0.0, math.log(4)]),
    ...     residual=1 / 3,
    ... )
    >>> one.size, one.upper.size
    (2, 3)
    """
    log0, log1 = vector("mean", mean[0]), vector("mean", mean[1])
    mass = vector("weight", weight)
    start0, start1, stop0, stop1 = (
        np.broadcast_to(np.asarray(ends, dtype=np.float64), mass.shape) for ends in (*start, *stop)
    )
    along0 = np.abs(stop0 - start0) >= np.abs(stop1 - start1)
    first, middle, last = (
        np.where(along0, *logs) for logs in ((start0, start1), (log0, log1), (stop0, stop1))
    )
    error = np.broadcast_to(np.asarray(log_ratio_error, dtype=np.float64), mass.shape)
    mass_error = np.broadcast_to(np.asarray(weight_error, dtype=np.float64), mass.shape)
    split = _split(first, middle, last, error)
    residual_error = _RESIDUAL_UNITS * UNIT
    if not tails and (first == last).all():  # nothing but atoms
        # Means and ends may be two roundings of one number.
        moved = np.maximum(np.abs(log0 - start0), np.abs(log1 - start1))
        return Decomposition(
            log_ratio0=log0,
            log_ratio1=log1,
            weight=mass,
            residual=residual,
            log_ratio_error=error + moved,
            weight_error=mass_error,
            residual_error=residual_error,
        ).merge()
    kept = np.concatenate([split.to_start, split.to_stop]) > 0  # all but one end of an atom
    a, b, c = np.array(tails, dtype=np.float64).reshape(-1, 3).T
    given = float(c.sum())
    spread_error = residual_error
    if given > 0:
        spread_error = (residual * residual_error + given * _TAIL_ERROR) / (residual + given)
    spread = Decomposition(
        log_ratio0=np.concatenate([start0, stop0])[kept],
        log_ratio1=np.concatenate([start1, stop1])[kept],
        weight=np.concatenate([mass * split.to_start, mass * split.to_stop])[kept],
        residual=residual + given,
        log_ratio_error=np.tile(split.end_error, 2)[kept],
        weight_error=np.tile(mass_error + split.share_error, 2)[kept] + 2 * UNIT,
        residual_error=spread_error + 4 * UNIT,
        # Ratios within a tail are unbounded, so nothing of b may be set against a.
        singular0=np.concatenate([a, np.zeros_like(a)]),
        singular1=np.concatenate([np.zeros_like(b), b]),
        singular_error=_TAIL_ERROR,
    )
    tail0, tail1 = log_quotient(a, c), log_quotient(b, c)
    return Decomposition(
        log_ratio0=np.append(log0, tail0),
        log_ratio1=np.append(log1, tail1),
        weight=np.append(mass, c),
        residual=residual,
        log_ratio_error=np.append(
            error, 2 * _TAIL_ERROR + 8 * UNIT * (np.abs(tail0) + np.abs(tail1))
        ),
        weight_error=np.append(mass_error, np.full(c.size, _TAIL_ERROR)),
        residual_error=residual_error,
        spread=spread.merge(),
    ).merge()


@dataclass(frozen=True, eq=False)
class _Split:
    """How the mass of each cell is shared between its ends, and which errors cover the result."""

    to_start: FloatArray
    to_stop: FloatArray
    share_error: FloatArray
    end_error: FloatArray


def _split(start: FloatArray, mean: FloatArray, stop: FloatArray, error: FloatArray) -> _Split:
    r"""Share the mass between the ends such that the mean is kept.

    If all three logs have an error e, the shares s, t of the ends u, v are only right for slightly
    other numbers. With :math:`b=su/(tv)` there are two ways to say so.

    - The shares are exact for ends that are moved outwards, by e at least so that they enclose the
      true cell, and by so much more that the mean is the true one: :math:`(1+2\max(b,1/b))e` is
      enough. In narrow cells b is near 1.
    - The ends are moved outwards by e, and the shares have a relative error of 4e over the relative
      distance of the mean from its nearer end, to first order. Wide cells have large distances.

    Raises:
        ValueError: if a mean is not strictly inside a cell that is no atom.
    """
    width = stop - start
    empty = width == 0
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        to_stop = np.where(empty, 0.0, np.expm1(mean - start) / np.expm1(width))
        to_start = np.where(empty, 1.0, np.expm1(mean - stop) / np.expm1(-width))
        inside = (to_stop > 0) & (to_stop <= 1) & (to_start > 0) & (to_start <= 1)
        if not (inside | empty).all():
            raise ValueError("the mean of every cell must lie between its ends")
        balance = np.abs(np.log(to_stop / to_start) + width)
        nearest = np.minimum(np.abs(mean - start), np.abs(stop - mean))
        narrow = ~empty & (balance < _BALANCED)
        wide = ~empty & ~narrow
        share_error = np.where(wide, 5 * error / -np.expm1(-nearest), 0.0)
        end_error = np.where(narrow, error * (1 + 2.1 * np.exp(balance)), error)
        end_error += np.where(empty, np.abs(mean - start), 0.0)  # two roundings of one number
    rounding = np.where(empty, 0.0, UNIT * (12 + 2 * np.abs(width)))
    return _Split(to_start, to_stop, share_error + rounding, end_error)
