"""The sums over the nodes of many contours, one in each row.

What :mod:`shuffledp.divergence.row_selection` leaves is evaluated together;
:mod:`shuffledp.divergence.nodes` does the same for one sum, and says why.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from shuffledp.arrays import UNIT, FloatArray, IntArray
from shuffledp.divergence.characteristic import bound_far, bound_square
from shuffledp.divergence.integrand import Integrand
from shuffledp.divergence.nodes import ROUND_UP, NodeSums
from shuffledp.divergence.proposals.rows import RowGrids
from shuffledp.divergence.rough_bound import MANY_ATOMS, bound_roughly, loses_little
from shuffledp.divergence.row_atoms import PlacedAtoms
from shuffledp.divergence.row_characteristic import evaluate_rows
from shuffledp.divergence.row_selection import add_rows, select_nodes
from shuffledp.divergence.row_sums import RowSums
from shuffledp.divergence.row_tilt import TiltedRows

_MOST_ANGLES = 1 << 22  # nodes times atoms of one row
_FEW_COPIES = 4  # of a law beside others, whose powers fall too slowly to be worth a bound


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
    found.add(allowances)
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
        self.left = np.zeros(self.size, dtype=np.bool_)

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
        bounds = [partial(self.bounds, bound=bound_square)]
        if self.tilted.atoms >= MANY_ATOMS:
            bounds.insert(0, partial(self.bounds, bound=bound_roughly))
            if all(loses_little(own.times.max()) for own in self.tilted.blocks):
                bounds.pop()
        if any(block.atoms.transform is not None for block in self.tilted.blocks):
            bounds.insert(0, partial(self.bounds, bound=bound_far))
        found = select_nodes(
            self.grids,
            (self.tilted.deviation, np.sqrt(self.tilted.variance)),
            bounds,
            np.array([allowances, allowances / self.taus**2]),
            _MOST_ANGLES // self.tilted.atoms,
        )
        self.rows, self.nodes, self.left = found.rows, found.nodes, found.left
        self.skipped_mean, self.skipped_density = found.skipped

    def bounds(
        self,
        rows: IntArray,
        starts: IntArray,
        sizes: IntArray,
        bound: Callable[[PlacedAtoms, FloatArray, FloatArray], FloatArray],
    ) -> FloatArray:
        """Bound what the nodes of each stretch add to the two sums of its row, mean first.

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
        return np.array(self.integrand(rows).bounds(starts, sizes, squares))

    def add(self, allowances: FloatArray) -> None:
        """Evaluate the nodes that are left; products may be off by the allowances, about."""
        rows, k, step = self.rows, self.nodes, self.grids.step
        count = add_rows(rows, np.ones(rows.size), self.size)
        found = [evaluate_rows(own, rows, k, step, allowances) for own in self.tilted.blocks]
        t, integrand = step[rows] * k.astype(np.float64), self.integrand(rows)
        terms = integrand.terms(k, t, found)
        # The terms of a row are added one after the other: one rounding of the sum for each.
        adding = (count[rows] + 64) * UNIT * terms.size
        for name, values in (
            ("mean", terms.mean),
            ("density", terms.density),
            ("rounding_density", terms.rounding_density + adding),
            ("rounding_mean", terms.rounding_mean + adding / integrand.kernel_size(t)),
        ):
            self.totals[name] = add_rows(rows, values, self.size)

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
