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
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from shuffledp.arrays import FloatArray, IntArray
from shuffledp.decomposition.smooth_rows import SmoothRows
from shuffledp.divergence.transform import (
    LARGEST,
    ROUND_UP,
    TIMES,
    last_of_groups,
)


@dataclass(frozen=True, eq=False)
class TransformErrors:
    """What ``TransformError`` says of one law, for one in each row; see there.

    Attributes:
        laws: the nodes.
        log_mgf: of the nodes.
        value_shift: bound on the mean error of the values under each tilted law.
        deviation: of one summand under it; any numbers give valid bounds.
    """

    laws: SmoothRows
    log_mgf: FloatArray
    value_shift: FloatArray
    deviation: FloatArray

    def _relative(self, raw: FloatArray) -> FloatArray:
        """Return E(1, t) over M(1), but for errors of values that grow with t."""
        with np.errstate(over="ignore", invalid="ignore"):
            errors = raw * np.exp(-self.log_mgf)[:, None] * ROUND_UP + self.value_shift[:, None]
        return np.where(np.isnan(errors), math.inf, errors)

    @property
    def _ones(self) -> FloatArray:
        return np.ones(self.log_mgf.size)

    @cached_property
    def _at_0(self) -> FloatArray:
        e = self._relative(self.laws.bound.errors_at_0(self._ones)[:, None])[:, 0]
        return np.where(e < LARGEST, e, math.inf)

    @cached_property
    def _is_known(self) -> NDArray[np.bool_]:
        return self._at_0 < LARGEST

    @cached_property
    def _room(self) -> FloatArray:
        with np.errstate(divide="ignore"):
            return np.where(self._is_known, 1 / (1 - self._at_0) * ROUND_UP, 0.0)

    @cached_property
    def log_mgf_error(self) -> FloatArray:
        """The bounds on the errors of log M, infinite where the nodes say nothing."""
        with np.errstate(invalid="ignore"):
            return np.where(self._is_known, self._at_0 * self._room, math.inf)

    @cached_property
    def times(self) -> FloatArray:
        """Increasing t of each row, up to which there are bounds, and one more for all t."""
        with np.errstate(divide="ignore"):
            times = TIMES / self.deviation[:, None]
        return np.hstack([times, np.full((self.log_mgf.size, 1), math.inf)])

    @cached_property
    def _table(self) -> FloatArray:
        """Bounds up to each of the times; NaN where nobody has asked for one."""
        return np.full_like(self.times, math.nan)

    def up_to(self, columns: IntArray) -> FloatArray:
        """Return bounds for all t up to each of the times, with some columns filled in."""
        new = np.unique(columns)
        new = new[np.isnan(self._table[0, new])]
        if new.size:
            with np.errstate(invalid="ignore", over="ignore"):
                raw = self.laws.transform_errors(self._ones, self.times[:, new])
                bounds = (self._relative(raw) + self._at_0[:, None]) * self._room[:, None]
            self._table[:, new] = np.where(self._is_known[:, None], bounds, math.inf)
        return self._table

    @cached_property
    def shift(self) -> FloatArray:
        """What the errors of values add for each unit of t."""
        return self.value_shift * self._room

    @cached_property
    def decay(self) -> tuple[FloatArray, FloatArray]:
        """What atoms can add to the modulus; what all else adds is at most the second over t."""
        laws, others = self.laws, slice(self.laws.nodes, None)
        slack = laws.weight_error[:, others] + laws.value_error[:, others]
        with np.errstate(over="ignore", invalid="ignore"):
            exponents = laws.values[:, others] - self.log_mgf[:, None] + slack
            still = (laws.weights[:, others] * np.exp(exponents)).sum(axis=1)
            falling = laws.bound.variation(self._ones) * np.exp(-self.log_mgf)
            still, falling = still * self._room, falling * self._room
        return np.where(self._is_known, still, 1.0), np.where(self._is_known, falling, 0.0)


@dataclass(frozen=True, eq=False)
class RowTransform:
    """The same for some of the rows, by their numbers, with repetitions."""

    errors: TransformErrors
    rows: IntArray

    def chosen(self, rows: IntArray) -> RowTransform:
        """Return those of these rows."""
        return RowTransform(self.errors, self.rows[rows])

    def at(self, t: FloatArray) -> FloatArray:
        """Bound the error of the characteristic function of each row at its t >= 0."""
        place = (self.errors.times[self.rows] < t[:, None]).sum(axis=1)
        bounds: FloatArray = self.errors.up_to(place)[self.rows, place]
        return bounds + self.errors.shift[self.rows] * t

    def modulus(self, t: FloatArray) -> FloatArray:
        """Bound the modulus of the true characteristic function of each row from its t > 0 on."""
        still, falling = self.errors.decay
        with np.errstate(divide="ignore", invalid="ignore"):
            bounds: FloatArray = still[self.rows] + falling[self.rows] / t
        return np.where(t > 0, bounds, 1.0)


def row_log_mgf_errors(
    laws: SmoothRows, points: FloatArray, log_mgfs: FloatArray, shifts: FloatArray
) -> FloatArray:
    """Bound the errors of K of every row at the points of its row, as ``log_mgf_errors`` does.

    ``shifts`` bound the sums of the errors of values under w e^{sg}.
    """
    order = np.argsort(points, axis=1)
    increasing = np.take_along_axis(points, order, axis=1)
    ends = np.unique(last_of_groups(points.shape[1]))
    with np.errstate(over="ignore", invalid="ignore"):
        at_ends = laws.bound.errors_at_0(increasing[:, ends].T)
        ranked = at_ends[np.searchsorted(ends, np.arange(points.shape[1]))].T
        errors = np.empty_like(points)
        np.put_along_axis(errors, order, ranked, axis=1)
        # The values that count may be larger by their errors.
        most = points * laws.value_error.max(axis=1, keepdims=True)
        # Roundings of exponents below 700 and of sums: 1e-9 of the small numbers they make.
        total = (errors + points * shifts * np.exp(most)) * np.exp(-log_mgfs) * ROUND_UP
        return np.where(total < LARGEST, total / (1 - total) * ROUND_UP, math.inf)
