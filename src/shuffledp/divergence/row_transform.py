r"""The errors of the transforms of many continuous laws, one in each row, tilted by 1.

The bounds are those of :mod:`shuffledp.divergence.transform`. Rows keep the form
:math:`M_Q=1+\sum_jw_j(e^{g_j}-1)` for every tilt, so that tilted weights :math:`p_j` add up to
:math:`1+(\sum_jw_j-1)/M_Q`. With E(t) the bound on the error of :math:`\int(e^{zG}-1)c`, that of
:math:`\int e^{zG}c` is smaller by half of E(0) at least, in every panel: by E(t)/2 where the
ellipse bounds both, and by twice the weights and E(0)/2 where all that a panel adds does. It is
also at most E(0)/2 for :math:`\int c`, so

.. math:: \Big|1+\sum_jp_j(e^{itc_j}-1)-e^{-itm}\frac{M(1+it)}{M(1)}\Big|
          \le\frac{E(0)/2+(E(t)-E(0)/2)+E(0)}{M_Q}=\frac{E(t)+E(0)}{M_Q},

as for a single law.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from shuffledp.arrays import FloatArray, IntArray
from shuffledp.decomposition.smooth_rows import SmoothRows
from shuffledp.divergence.transform import GROUPS, LARGEST, ROUND_UP, tabulated_times


@dataclass(frozen=True, eq=False)
class RowTransform:
    """What ``TransformError`` says of one law, for one in each row; see there.

    Attributes:
        log_mgf_error: the bound on the error of log M(1), infinite if the nodes say nothing.
        times: increasing t.
        errors: bounds on the error of the characteristic function up to each of them, and one more
            for all t, but for what grows with t.
        shift: what the errors of values add for each unit of t.
        still: what atoms can add to the modulus of the true characteristic function.
        falling: what all else adds is at most this over t.
    """

    log_mgf_error: FloatArray
    times: FloatArray
    errors: FloatArray
    shift: FloatArray
    still: FloatArray
    falling: FloatArray

    @classmethod
    def of(
        cls, laws: SmoothRows, log_mgf: FloatArray, value_shift: FloatArray, deviation: FloatArray
    ) -> RowTransform:
        """Return the bounds for laws that are tilted by 1; see ``TransformError`` for the rest."""
        ones = np.ones(log_mgf.size)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            shrink = np.exp(-log_mgf)
            times = tabulated_times(laws.nodes, laws.size) / deviation[:, None]
            columns = np.hstack([np.zeros((ones.size, 1)), times, np.full((ones.size, 1), math.inf)])
            raw = laws.transform_errors(ones, columns)
            errors = raw * shrink[:, None] * ROUND_UP + value_shift[:, None]
            errors = np.where(np.isnan(errors), math.inf, errors)
            at_0 = errors[:, 0]
            known = at_0 < LARGEST
            room = np.where(known, 1 / (1 - at_0) * ROUND_UP, 0.0)
            others = slice(laws.nodes, None)
            slack = laws.weight_error[:, others] + laws.value_error[:, others]
            exponents = laws.values[:, others] - log_mgf[:, None] + slack
            still = (laws.weights[:, others] * np.exp(exponents)).sum(axis=1)
            falling = laws.bound.variation(ones) * shrink
            return cls(
                log_mgf_error=np.where(known, at_0 * room, math.inf),
                times=times,
                errors=np.where(
                    known[:, None], (errors[:, 1:] + at_0[:, None]) * room[:, None], math.inf
                ),
                shift=np.where(known, value_shift * room, 0.0),
                still=np.where(known, still * room, 1.0),
                falling=np.where(known, falling * room, 0.0),
            )

    def chosen(self, rows: IntArray) -> RowTransform:
        """Return the bounds of the given rows, with repetitions."""
        return RowTransform(
            self.log_mgf_error[rows],
            self.times[rows],
            self.errors[rows],
            self.shift[rows],
            self.still[rows],
            self.falling[rows],
        )

    def at(self, t: FloatArray) -> FloatArray:
        """Bound the error of the characteristic function of each row at its t >= 0."""
        place = (self.times < t[:, None]).sum(axis=1)
        bounds: FloatArray = self.errors[np.arange(t.size), place]
        return bounds + self.shift * t

    def modulus(self, t: FloatArray) -> FloatArray:
        """Bound the modulus of the true characteristic function of each row from its t > 0 on."""
        with np.errstate(divide="ignore", invalid="ignore"):
            bounds: FloatArray = self.still + self.falling / t
        return np.where(t > 0, bounds, 1.0)


def row_log_mgf_errors(laws: SmoothRows, points: FloatArray, log_mgfs: FloatArray) -> FloatArray:
    """Bound the errors of K of every row at the points of its row, as ``log_mgf_errors`` does."""
    order = np.argsort(points, axis=1)
    groups = [group for group in np.array_split(np.arange(points.shape[1]), GROUPS) if group.size]
    increasing = np.take_along_axis(points, order, axis=1)
    ranked = np.empty_like(points)
    nothing = np.zeros((len(points), 1))
    with np.errstate(over="ignore", invalid="ignore"):
        for group in groups:
            ranked[:, group] = laws.transform_errors(increasing[:, group[-1]], nothing)
        errors = np.empty_like(points)
        np.put_along_axis(errors, order, ranked, axis=1)
        vague = laws.values + laws.value_error
        log_weights = np.log(laws.weights)
        shift = np.empty_like(points)
        for column in range(points.shape[1]):
            moved = points[:, column, None] * vague + log_weights - log_mgfs[:, column, None]
            shift[:, column] = (np.exp(moved) * laws.value_error).sum(axis=1)
        # Roundings of exponents below 700 and of sums: 1e-9 of the small numbers they make.
        total = (errors * np.exp(-log_mgfs) + points * shift) * ROUND_UP
        return np.where(total < LARGEST, total / (1 - total) * ROUND_UP, math.inf)
