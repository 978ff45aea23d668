"""Decompositions of continuous laws: cells whose ratios run along segments."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from shuffledp.decomposition.arithmetic import UNIT, FloatArray, log_quotient, vector
from shuffledp.decomposition.decomposition import Decomposition

#: Relative error of the masses of tails: normal probabilities at 37 standard deviations.
_TAIL_ERROR = 4e-13


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
        residual: mass of the left-over laws, to 16 ulps.
        log_ratio_error: bound on the absolute error of all logs.
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
    length = np.maximum(np.abs(stop0 - start0), np.abs(stop1 - start1))
    along0 = np.abs(stop0 - start0) >= np.abs(stop1 - start1)
    share = np.where(along0, _share(start0, log0, stop0), _share(start1, log1, stop1))
    # Not 1 - share, whose relative error is large where the share is nearly 1.
    rest = np.where(along0, _share(stop0, log0, start0), _share(stop1, log1, start1))
    rest = np.where(length == 0, 1.0, rest)
    if not ((share >= 0) & (rest >= 0)).all():
        raise ValueError("the mean of every cell must lie between its ends")
    error = np.broadcast_to(np.asarray(log_ratio_error, dtype=np.float64), mass.shape)
    mass_error = np.broadcast_to(np.asarray(weight_error, dtype=np.float64), mass.shape)
    split = np.concatenate([mass * rest, mass * share])
    kept = split > 0
    a, b, c = np.array(tails, dtype=np.float64).reshape(-1, 3).T
    # The ends and the mean, from which the share follows, are off by the error each, which moves
    # mass along the cell: the mean of the ends by up to five times as much, the ends by it.
    end_error = 6 * error
    # Rounded exponents of at most the length, four elementary functions and some operations.
    split_error = mass_error + UNIT * (24 + 4 * length)
    far = float(c.sum())
    share_of_tails = far / (residual + far) if far > 0 else 0.0
    spread = Decomposition(
        log_ratio0=np.concatenate([start0, stop0])[kept],
        log_ratio1=np.concatenate([start1, stop1])[kept],
        weight=split[kept],
        residual=residual + far,
        log_ratio_error=np.tile(end_error, 2)[kept],
        weight_error=np.tile(split_error, 2)[kept],
        residual_error=20 * UNIT + share_of_tails * _TAIL_ERROR,
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
        residual_error=16 * UNIT,
        spread=spread.merge(),
    ).merge()


def _share(start: FloatArray, mean: FloatArray, stop: FloatArray) -> FloatArray:
    """Return where exp(mean) lies between exp(start) and exp(stop), 0 in an empty cell."""
    width = np.expm1(stop - start)
    return np.divide(np.expm1(mean - start), width, out=np.zeros_like(width), where=width != 0)
