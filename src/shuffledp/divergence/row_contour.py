r"""Certified contour sums for many :math:`E[S_+]` at once, one in each row.

Row i is a sum S of n_i copies of a law, or of several blocks of copies. Formulas and errors are
those of :mod:`shuffledp.divergence.contour`; only tilting (:mod:`shuffledp.divergence.row_sums`)
and adding up (:mod:`shuffledp.divergence.row_nodes`) are done for all rows together. A row that is
not ready after a few rounds of less smoothing, or needs many nodes, is left to the engine for
single sums.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shuffledp.arrays import UNIT, FloatArray, IntArray
from shuffledp.decomposition.law_rows import LawRows
from shuffledp.divergence.contour import assemble, bound_grid
from shuffledp.divergence.enclosure import LogEnclosure
from shuffledp.divergence.proposals.grid import Grid
from shuffledp.divergence.proposals.rows import alias_points, choose_grids, saddle_points_of
from shuffledp.divergence.proposals.smoothing import Smoothing
from shuffledp.divergence.row_nodes import sum_rows
from shuffledp.divergence.row_sums import RowBlock, RowSums, tilt_blocks

_ROUNDS = 4


def contour_log_means(
    laws: LawRows, times: IntArray, rtols: list[float]
) -> list[LogEnclosure | None]:
    """Enclose log E[S_+] of every row to its relative width; None where that was not reached.

    >>> from shuffledp.randomizers import KRR, Pair
    >>> laws = KRR(k=10, epsilon0=2.0).blanket(Pair(0, 1)).rows_at(np.array([0.05, 0.08]))
    >>> found = contour_log_means(laws, np.array([10_000, 10_000]), [1e-4, 1e-4])
    >>> [f"{mean.upper - math.log(10_000):.3f}" for mean in found]
    ['-9.214', '-13.851']
    """
    found = contour_enclosures(SaddleRows.of([RowBlock(laws, times)]), rtols)
    pairs = zip(found, rtols, strict=True)
    return [mean if mean.width <= rtol else None for mean, rtol in pairs]


@dataclass(frozen=True, eq=False)
class SaddleRows:
    """Sums of blocks, each tilted at its saddle point and in units of it."""

    thetas: FloatArray
    sums: RowSums

    @classmethod
    def of(cls, blocks: Sequence[RowBlock]) -> SaddleRows:
        """Tilt every row where that is proposed."""
        thetas = saddle_points_of([(block.laws, block.times) for block in blocks])
        return cls(thetas, tilt_blocks(blocks, thetas))

    def chosen(self, rows: IntArray) -> SaddleRows:
        """Return some of the sums, by their numbers."""
        return SaddleRows(self.thetas[rows], self.sums.chosen(rows))


def contour_enclosures(saddles: SaddleRows, rtols: Sequence[float]) -> list[LogEnclosure]:
    """Enclose log E[S_+] of every row, as closely as a few rounds allow.

    Nothing is said, with infinite ends, where a row needs too many nodes.
    """
    thetas, tilted = saddles.thetas, saddles.sums
    found = [LogEnclosure(-math.inf, math.inf)] * thetas.size
    open_ = np.flatnonzero(tilted.is_sound)
    search = {row: _Search(tilted, row, rtols[row]) for row in open_.tolist()}
    for _ in range(_ROUNDS):
        if not open_.size:
            break
        some = tilted if open_.size == thetas.size else tilted.chosen(open_)
        _evaluate(some, [search[row] for row in open_.tolist()])
        open_ = np.array([row for row in open_.tolist() if search[row].goes_on], dtype=np.int64)
    for row, own in search.items():
        shift = math.log(thetas[row])
        # The logarithm is good to four units; `widen` rounds the sums.
        slack = UNIT * (4 * abs(shift) + 2)
        ends = LogEnclosure(own.best.lower - shift, own.best.upper - shift)
        found[row] = ends.widen(slack)
    return found


class _Search:
    """One row: its sum, how much it is smoothed, and what is known of it."""

    def __init__(self, tilted: RowSums, row: int, rtol: float) -> None:
        self.total, self.rtol = tilted.sum_of(row), rtol
        self.smoothing = Smoothing(self.total, rtol)
        self.best = LogEnclosure(-math.inf, math.inf)
        self.goes_on = True


def _evaluate(tilted: RowSums, searches: list[_Search]) -> None:
    """Evaluate all rows once, each with the smoothing that is proposed for it."""
    taus = np.array([own.smoothing.tau for own in searches])
    points = alias_points(tilted.variance, taus)
    allowed = np.array([own.smoothing.grid_allowance for own in searches])
    grids = choose_grids(points, tilted.estimate_log_mgfs(points), tilted.log_mgf, taus, allowed)
    # Only at the two tilts that are chosen transforms need bounds.
    chosen = np.take_along_axis(points, np.stack([grids.left, grids.right], axis=1), axis=1)
    mgfs = tilted.log_mgfs(chosen)
    allowed = np.array([own.smoothing.skip_allowance for own in searches])
    all_sums = sum_rows(tilted, taus, grids, allowed)
    for row, (own, sums) in enumerate(zip(searches, all_sums, strict=True)):
        if sums is None:
            own.goes_on = False
            continue
        tau = own.smoothing.tau
        grid = Grid(float(grids.step[row]), int(grids.count[row]), left=0, right=1)
        errors = bound_grid(mgfs[row], own.total, tau, grid)
        result = assemble(own.total, tau, errors, sums)
        own.best = own.best.intersect(result.enclosure)
        other = errors.alias + errors.tail_mean + sums.skipped_mean
        own.goes_on = own.best.width > own.rtol and own.smoothing.improve(
            result.bias, other, result.value
        )


def chernoff_log_means(laws: LawRows, times: IntArray) -> list[float]:
    """Return upper bounds on log E[S_+] of every row from one tilt; infinite if there is none."""
    return [bound.log_mean for bound in chernoff_bounds(SaddleRows.of([RowBlock(laws, times)]))]


@dataclass(frozen=True)
class ChernoffRow:
    """An upper bound on log E[S_+], infinite if there is none, and K of its first law there."""

    log_mean: float
    log_mgf: float
    log_mgf_error: float


def chernoff_bounds(saddles: SaddleRows) -> list[ChernoffRow]:
    """Bound log E[S_+] of every row by one tilt."""
    tilted = saddles.sums
    shift, first = np.log(saddles.thetas), tilted.blocks[0]
    value_shift = sum(block.value_shift for block in tilted.blocks)
    # x_+ <= e^x/e. Values with errors raise the transform by at most their mean error. Every term
    # is good to 8 units, and rounded once in each sum.
    errors = tilted.log_mgf_error + value_shift
    sizes = np.abs(tilted.log_mgf) + np.abs(shift) + 1 + errors
    bounds = tilted.log_mgf - 1 - shift + errors
    bounds = np.where(tilted.is_sound, bounds + 16 * UNIT * sizes, math.inf)
    # A quotient is rounded.
    own, errors = first.log_mgf / first.times, first.log_mgf_error / first.times
    errors = errors * (1 + 4 * UNIT) + 2 * UNIT * np.abs(own)
    return [ChernoffRow(*map(float, row)) for row in zip(bounds, own, errors, strict=True)]
