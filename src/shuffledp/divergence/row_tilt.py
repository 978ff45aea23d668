r"""Exponential tilting of many sums at once, one in each row.

Row i is n_i copies of a law G, in units in which its tilt is 1. All logarithms of transforms are

.. math:: K(s)=\log E e^{sG}=\mathrm{log1p}\Big(\sum_j w_j\,\mathrm{expm1}(s g_j)\Big),

whose error is known afterwards from the size of its terms. It is small where nothing large
cancels; what it is elsewhere is known, too, and :mod:`shuffledp.divergence.tilt` knows better.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from shuffledp.arrays import UNIT, FloatArray, IntArray
from shuffledp.decomposition.law_rows import LawRows
from shuffledp.decomposition.smooth_rows import SmoothRows
from shuffledp.divergence.proposals.rows import estimate_log_mgfs
from shuffledp.divergence.row_atoms import PlacedAtoms, RowAtoms
from shuffledp.divergence.row_transform import (
    RowTransform,
    TransformErrors,
    row_log_mgf_errors,
)
from shuffledp.divergence.tilt import LogMgfs, TiltedSum

_VAGUE = 1e-3  # the largest relative error of a transform that is of any use
_FAINT, _HUGE = 1e-290, 1e100  # values that are not between are left to others
_UNDERFLOW = 1e-300


@dataclass(frozen=True, eq=False)
class TiltedRows:
    """Sums of copies of laws, tilted by 1: the fields of ``TiltedLaw`` and of ``TiltedSum``.

    Attributes:
        laws: the values in units of the tilt, and their weights.
        times: the number of copies in each row.
        atoms: the tilted law of each row, centred.
        log_mgf: the logarithm of E e^S.
        log_mgf_error: bound on its error.
        mean: sum of all centres.
        log_zero: logarithm of the tilted probability that all summands are 0.
        zero_error: bound on its error.
        value_shift: bound on the mean error of S, under the tilted law.
        is_sound: whether the bounds of a row hold; the others are left to other means.
    """

    laws: LawRows
    times: FloatArray
    atoms: RowAtoms
    log_mgf: FloatArray
    log_mgf_error: FloatArray
    mean: FloatArray
    log_zero: FloatArray
    zero_error: FloatArray
    value_shift: FloatArray
    is_sound: NDArray[np.bool_]

    @property
    def variance(self) -> FloatArray:
        """Variance of each sum under its tilted law."""
        return self.times * self.atoms.variance

    def atoms_of(self, rows: IntArray) -> PlacedAtoms:
        """Return the tilted laws of the given rows, with repetitions."""
        return PlacedAtoms(self.atoms, rows)

    def chosen(self, rows: IntArray) -> TiltedRows:
        """Return some of the rows, by their numbers."""
        return TiltedRows(
            self.laws.chosen(rows),
            self.times[rows],
            self.atoms.chosen(rows),
            self.log_mgf[rows],
            self.log_mgf_error[rows],
            self.mean[rows],
            self.log_zero[rows],
            self.zero_error[rows],
            self.value_shift[rows],
            self.is_sound[rows],
        )

    def sum_of(self, row: int) -> TiltedSum:
        """Return one sum without its law, which only nodes need."""
        times, mean = int(self.times[row]), float(self.mean[row])
        return TiltedSum(
            theta=1.0,
            laws=(),
            times=(times,),
            log_mgf=float(self.log_mgf[row]),
            log_mgf_error=float(self.log_mgf_error[row]),
            mean=mean,
            mean_size=abs(mean),
            variance=float(self.variance[row]),
            log_zero=float(self.log_zero[row]),
            zero_error=float(self.zero_error[row]),
            value_shift=float(self.value_shift[row]),
        )


def tilt_rows(laws: LawRows, times: IntArray, thetas: FloatArray) -> TiltedRows:
    """Tilt every row by its theta > 0, and count in units of it."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore"):
        scaled = laws.scaled(thetas)
        sizes = np.abs(scaled.values)
        faint = (sizes < _FAINT) & (laws.values != 0)
        usable = ~faint.any(axis=1) & (sizes.max(axis=1) < _HUGE)
        return _tilt(scaled, times.astype(np.float64), usable)


def _tilt(laws: LawRows, times: FloatArray, usable: NDArray[np.bool_]) -> TiltedRows:
    x, weights = laws.values, laws.weights
    sizes = np.abs(x)
    transforms = _log_mgf(laws, np.ones((times.size, 1)))
    k, k_error = transforms.log_mgf[:, 0], transforms.error[:, 0]
    probability = weights * np.exp(x - k[:, None])
    # 4 units of the exponential, one of the product; the distance of the exponent from k; the
    # error of k, which all probabilities share.
    errors = UNIT * (6 + 2 * sizes + np.abs(k)[:, None]) + laws.weight_error + k_error[:, None]
    mean = (probability * x).sum(axis=1)
    centred = x - mean[:, None]
    distance = np.abs(centred)
    deviation = (probability * distance).sum(axis=1)
    # Errors of probabilities act through sums of p |e^{itc} - 1| <= p min(t|c|, 2). Those of
    # factors multiply.
    weighted = probability * np.expm1(errors)
    by_distance = (weighted * distance).sum(axis=1) / deviation
    is_zero = x == 0
    zero = np.where(is_zero, probability, 0.0).sum(axis=1)
    log_zero = times * np.log(zero)
    zero_error = times * (np.where(is_zero, errors, 0.0).max(axis=1) + laws.size * UNIT)
    # Values with errors d: the sum of p e^d d, p with its relative errors; roundings of sums.
    most = (errors + laws.value_error).max(axis=1)
    shift = (probability * laws.value_error).sum(axis=1) * np.exp(most) * (1 + 1e-9) + _UNDERFLOW
    atoms = RowAtoms(
        probability=probability,
        probability_error=np.fmax(weighted.sum(axis=1), by_distance),
        centred=centred,
        mean_deviation=deviation,
        variance=((probability + weighted) * centred**2).sum(axis=1),
    )
    log_mgf = times * k
    tilted = TiltedRows(
        laws=laws,
        times=times,
        atoms=atoms,
        log_mgf=log_mgf,
        log_mgf_error=times * k_error + 4 * UNIT * np.abs(log_mgf),
        mean=times * mean,
        log_zero=log_zero,
        # A logarithm is good to 4 units, the product to one.
        zero_error=np.where(zero > 0, zero_error + 8 * UNIT * np.abs(log_zero), 0.0),
        value_shift=times * shift,
        is_sound=usable & (k_error < _VAGUE) & (most < 1) & (atoms.variance > 0),
    )
    return _with_transform(tilted, laws, k, shift) if isinstance(laws, SmoothRows) else tilted


def _with_transform(
    tilted: TiltedRows, laws: SmoothRows, log_mgf: FloatArray, shift: FloatArray
) -> TiltedRows:
    """Add the errors of the transforms, which take in those of the values."""
    atoms = tilted.atoms
    found = TransformErrors(laws, log_mgf, shift, np.sqrt(atoms.variance))
    # A product and a sum are rounded up.
    error = tilted.times * found.log_mgf_error * (1 + 4 * UNIT)
    return replace(
        tilted,
        atoms=replace(atoms, transform=RowTransform(found, np.arange(tilted.times.size))),
        log_mgf_error=(tilted.log_mgf_error + error) * (1 + 4 * UNIT),
        zero_error=(tilted.zero_error + error) * (1 + 4 * UNIT),
        value_shift=np.zeros_like(tilted.value_shift),
        is_sound=tilted.is_sound & (found.log_mgf_error < math.inf),
    )


@dataclass(frozen=True, eq=False)
class _LogMgfs:
    """K of every row at some points, bounds on the errors, and the numbers w e^{sg} behind it."""

    log_mgf: FloatArray
    error: FloatArray
    shift: FloatArray


def _log_mgf(laws: LawRows, points: FloatArray) -> _LogMgfs:
    """Evaluate K of every row at the points of its row.

    K and its error are infinite where an exponential overflows. ``shift`` bounds the sums of the
    errors of values under w e^{sg}.
    """
    exponents = points[:, :, None] * laws.values[:, None, :]
    weights, weight_error = laws.weights[:, None, :], laws.weight_error[:, None, :]
    raised = np.expm1(exponents)
    growth = weights * raised
    excess = growth.sum(axis=2)
    # A sum of `size` products with an exponential to 4 units and a product each. An exponent x is
    # rounded once, which moves e^x by that much; wrong weights sum to 1, too.
    rounded = np.abs(growth) * (np.expm1(weight_error) + (laws.size + 8) * UNIT)
    moved = 2 * UNIT * weights * np.abs(exponents) * (1 + np.maximum(raised, 0.0))
    total = 1 + excess
    relative = (rounded + moved).sum(axis=2) / total
    k = np.log1p(excess)
    # -log(1 - r) <= 1.001 r for r up to 0.001, and these sums are rounded themselves; the logarithm
    # is good to 4 units.
    error = 1.01 * relative + 8 * UNIT * np.abs(k)
    is_known = (total > 0) & (relative < _VAGUE) & np.isfinite(excess)
    # e^x is at most 1 + raised and 8 units of both; roundings of the sum are left to the caller.
    vague = (laws.weights * np.exp(laws.weight_error) * laws.value_error)[:, None, :]
    shift = (vague * (1 + raised + 8 * UNIT * (1 + np.abs(raised)))).sum(axis=2)
    return _LogMgfs(np.where(is_known, k, math.inf), np.where(is_known, error, math.inf), shift)


def log_mgfs_of(tilted: TiltedRows, points: FloatArray) -> list[LogMgfs]:
    """Evaluate the logarithm of E e^{sS} of each row at the points of its row."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore"):
        found = _log_mgf(tilted.laws, points)
    k, error = found.log_mgf, found.error
    if isinstance(tilted.laws, SmoothRows):
        error = error + row_log_mgf_errors(tilted.laws, points, k, found.shift)
    values = tilted.times[:, None] * k
    errors = tilted.times[:, None] * error + 4 * UNIT * np.abs(values)
    return [LogMgfs(*row) for row in zip(points, values, errors, strict=True)]


def estimate_log_mgfs_of(tilted: TiltedRows, points: FloatArray) -> FloatArray:
    """Estimate what ``log_mgfs_of`` may be sure to be above, for a fraction of its cost."""
    k = estimate_log_mgfs(tilted.laws, points)
    if isinstance(tilted.laws, SmoothRows):
        k = k + row_log_mgf_errors(tilted.laws, points, k, np.zeros_like(points))
    return tilted.times[:, None] * k
