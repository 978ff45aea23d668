"""The sums over the nodes of many contours, one in each row.

Stretches of nodes of all rows are bounded together, skipped or split together, and what is left is
evaluated together; :mod:`shuffledp.divergence.nodes` does the same for one sum, and says why.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from shuffledp.arrays import UNIT, FloatArray, IntArray
from shuffledp.divergence.characteristic import bound_far, bound_square, evaluate
from shuffledp.divergence.integrand import Integrand
from shuffledp.divergence.nodes import ROUND_UP, NodeSums
from shuffledp.divergence.proposals.rows import RowGrids, main_lobes, stretch_starts
from shuffledp.divergence.proposals.stretches import WIDTH
from shuffledp.divergence.row_sums import RowSums
from shuffledp.divergence.row_tilt import RowAtoms, TiltedRows
from shuffledp.divergence.stretches import listed, split

_SHORT = 10  # stretches of fewer nodes are evaluated
_PARTS = 4  # into which others are split
_SHARE_OF_STRETCH = 1 / 300  # of the allowance
_MOST_STRETCHES = 2000  # of one row, to begin with
_MOST_NODES = 4000  # of one row
_MOST_ANGLES = 1 << 18  # nodes times atoms of one row
_FEW_COPIES = 4  # of a law beside others, whose powers fall too slowly to be worth a bound
_CHUNK = 1 << 16  # nodes times atoms that are evaluated at a time


def sum_rows(
    tilted: TiltedRows | RowSums, taus: FloatArray, grids: RowGrids, allowances: FloatArray
) -> list[NodeSums | None]:
    """Sum over the nodes of every row; None where that takes too many.

    In each row nodes may be skipped while their bounds add up to about its allowance for the mean
    and ``allowance/tau**2`` for the density.
    """
    sums = RowSums((tilted,)) if isinstance(tilted, TiltedRows) else tilted
    found = _Rows(sums, taus, grids)
    found.select(allowances)
    found.add()
    return [found.sums(row) for row in range(taus.size)]


class _Rows:
    """The nodes of all rows, accumulated; ``left`` tells which rows are not given up."""

    def __init__(self, tilted: RowSums, taus: FloatArray, grids: RowGrids) -> None:
        self.tilted, self.taus, self.grids = tilted, taus, grids
        self.size = taus.size
        self.rows, self.nodes = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
        self.totals = {
            name: np.zeros(self.size)
            for name in ("mean", "density", "rounding_mean", "rounding_density")
        }
        self.skipped_mean, self.skipped_density = np.zeros(self.size), np.zeros(self.size)
        self.most = min(_MOST_NODES, _MOST_ANGLES // tilted.atoms)
        stretches = grids.count * grids.step * tilted.deviation / WIDTH
        self.left = (grids.count > 0) & (stretches < _MOST_STRETCHES)

    def integrand(self, rows: IntArray) -> Integrand:
        """Return the integrand of the given rows, one for every node."""
        return Integrand(
            theta=1.0,
            curvature=0.0,
            tau=self.taus[rows],
            step=self.grids.step[rows],
            times=[block.times[rows] for block in self.tilted.blocks],
            mean=self.tilted.mean[rows],
            mean_size=self.tilted.mean_size[rows],
        )

    def select(self, allowances: FloatArray) -> None:
        """Find the nodes that cannot be skipped, and bound the others."""
        deviation, step = np.sqrt(self.tilted.variance), self.grids.step
        main = np.minimum(self.grids.count, main_lobes(deviation, step))
        self.left &= main <= self.most
        main = np.where(self.left, main, -1)
        total = main + 1
        kept = [(np.arange(self.size), np.zeros(self.size, dtype=np.int64), total)]
        rows, starts, sizes = self._cover(main + 1)
        limit = allowances * _SHARE_OF_STRETCH
        if any(block.atoms.transform is not None for block in self.tilted.blocks):
            dropped = self._skip(rows, limit, *self.bounds(rows, starts, sizes, bound_far))
            rows, starts, sizes = rows[~dropped], starts[~dropped], sizes[~dropped]
        while rows.size:
            dropped = self._skip(rows, limit, *self.bounds(rows, starts, sizes, bound_square))
            short = ~dropped & (sizes < _SHORT)
            kept.append((rows[short], starts[short], sizes[short]))
            total = total + self._added(rows[short], sizes[short].astype(np.float64))
            self.left &= total <= self.most
            rest = ~dropped & ~short & self.left[rows]
            rows, starts, sizes = rows[rest], starts[rest], sizes[rest]
            parts = np.minimum(sizes, _PARTS)  # a stretch has no more parts than nodes
            starts, sizes = split(starts, sizes, _PARTS)
            rows = np.repeat(rows, parts)
        rows, starts, sizes = (np.concatenate(part) for part in zip(*kept, strict=True))
        inside = self.left[rows]
        rows, starts, sizes = rows[inside], starts[inside], sizes[inside]
        self.rows, self.nodes = np.repeat(rows, sizes), listed(starts, sizes)

    def _skip(
        self, rows: IntArray, limit: FloatArray, mean: FloatArray, density: FloatArray
    ) -> NDArray[np.bool_]:
        """Skip the stretches whose bounds are negligible; return which ones these are."""
        dropped = (mean <= limit[rows]) & (density <= (limit / self.taus**2)[rows])
        self.skipped_mean += self._added(rows[dropped], mean[dropped]) * ROUND_UP
        self.skipped_density += self._added(rows[dropped], density[dropped]) * ROUND_UP
        return dropped

    def _cover(self, begin: IntArray) -> tuple[IntArray, IntArray, IntArray]:
        """Return rows, starts and sizes of stretches that cover begin..count, as proposed."""
        count = np.where(self.left, self.grids.count, -1)
        own = np.flatnonzero(begin <= count)
        rows, starts = stretch_starts(
            self.tilted.deviation[own], self.grids.step[own], begin[own], count[own]
        )
        rows = own[rows]
        inner = (starts > begin[rows]) & (starts <= count[rows])
        rows, starts = np.append(rows[inner], own), np.append(starts[inner], begin[own])
        order = np.lexsort((starts, rows))
        rows, starts = rows[order], starts[order]
        ends = count[rows] + 1
        next_ = np.append(starts[1:], 0)
        same = np.append(rows[1:] == rows[:-1], False)
        sizes = np.where(same, next_, ends) - starts
        some = sizes > 0  # the same start twice
        return rows[some], starts[some], sizes[some]

    def bounds(
        self,
        rows: IntArray,
        starts: IntArray,
        sizes: IntArray,
        bound: Callable[[RowAtoms, FloatArray, FloatArray], FloatArray],
    ) -> tuple[FloatArray, FloatArray]:
        """Bound what the nodes of each stretch add to the two sums of its row.

        ``bound`` is what bounds the square of every characteristic function there.
        """
        half = np.multiply(0.5 * self.grids.step[rows], sizes - 1)
        centre = np.multiply(self.grids.step[rows], starts) + half
        squares = [
            np.ones(rows.size)  # as for all laws; that is enough for few copies beside many
            if block.times.max() <= _FEW_COPIES and len(self.tilted.blocks) > 1
            else bound(block.atoms_of(rows), centre, half)
            for block in self.tilted.blocks
        ]
        return self.integrand(rows).bounds(starts, sizes, squares)

    def _added(self, rows: IntArray, terms: FloatArray) -> FloatArray:
        """Return the sum of the terms of each row."""
        return np.bincount(rows, terms, self.size).astype(np.float64)

    def add(self) -> None:
        """Evaluate the nodes that are left."""
        count = self._added(self.rows, np.ones(self.rows.size))
        chunk = max(_CHUNK // self.tilted.atoms, 1)
        for begin in range(0, self.rows.size, chunk):
            rows, k = self.rows[begin : begin + chunk], self.nodes[begin : begin + chunk]
            integrand = self.integrand(rows)
            t = self.grids.step[rows] * k.astype(np.float64)
            found = [evaluate(block.atoms_of(rows), t) for block in self.tilted.blocks]
            terms = integrand.terms(k, t, found)
            # The terms of a row are added one after the other: one rounding of the sum for each.
            adding = (count[rows] + 64) * UNIT * terms.size
            for name, values in (
                ("mean", terms.mean),
                ("density", terms.density),
                ("rounding_density", terms.rounding_density + adding),
                ("rounding_mean", terms.rounding_mean + adding / integrand.kernel_size(t)),
            ):
                self.totals[name] += self._added(rows, values)

    def sums(self, row: int) -> NodeSums | None:
        """Return the sums of one row."""
        if not self.left[row]:
            return None
        return NodeSums(
            mean=float(self.totals["mean"][row]),
            density=float(self.totals["density"][row]),
            rounding_mean=float(self.totals["rounding_mean"][row]) * ROUND_UP,
            rounding_density=float(self.totals["rounding_density"][row]) * ROUND_UP,
            skipped_mean=float(self.skipped_mean[row]),
            skipped_density=float(self.skipped_density[row]),
        )
