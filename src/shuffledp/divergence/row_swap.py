"""Many swap bounds at once, one in each row.

Formulas and errors are those of :mod:`shuffledp.divergence.swap`; tilting, selecting and adding up
nodes, and the argument that no mixture is worse (:mod:`shuffledp.divergence.row_lead`) are done for
all rows together, and so are mixtures of two types (:mod:`shuffledp.divergence.row_mixtures`). Rows
in which mixtures of more types matter, or that take many nodes, are left to it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shuffledp.arrays import FloatArray, IntArray
from shuffledp.decomposition.law_rows import LawRows
from shuffledp.divergence.characteristic import Characteristic, bound_square, evaluate
from shuffledp.divergence.proposals.row_swap import (
    RowSwapProposals,
    RowTilts,
    are_promising,
    choose_tilts,
)
from shuffledp.divergence.proposals.rows import RowGrids
from shuffledp.divergence.proposals.swap import share_of_cells, shrink_of
from shuffledp.divergence.rough_bound import MANY_ATOMS, bound_roughly, loses_little
from shuffledp.divergence.row_lead import RowLeads, RowNodes
from shuffledp.divergence.row_mixtures import RowMixtures, sums_at
from shuffledp.divergence.row_selection import Selection, add_rows, select_nodes
from shuffledp.divergence.row_tilt import TiltedRows, tilt_rows
from shuffledp.divergence.slots import SlotRows
from shuffledp.divergence.swap_integrand import (
    ROUND_UP,
    SlotValues,
    SwapIntegrand,
    SwapScale,
)
from shuffledp.threads import one_thread

_LARGEST = 1e100  # values beyond it are left to the blanket
_ROUNDS = 6
_TWO = 2  # types whose mixtures are looked at
_CHUNK = 1 << 17  # nodes times atoms that are evaluated at a time


@one_thread
def swap_log_deltas(
    slots: SlotRows, users: IntArray, tolerance: float, ceilings: FloatArray
) -> list[float | None]:
    """Return upper bounds on log delta over all datasets, as ``swap_log_delta`` does for one row.

    None where that has to be asked; infinite where nothing better than the blanket can be expected.

    Args:
        slots: the laws.
        users: number of users of every row, at least 2.
        tolerance: how much smoothing may add to log delta, about.
        ceilings: bounds above these are of no use, and not made as small as they could be; any
            others do not depend on them.
    """
    found: list[float | None] = [None] * users.size
    laws = (slots.first, *slots.types)
    moderate = np.max([np.abs(law.values).max(axis=1) for law in laws], axis=0) <= _LARGEST
    rows = are_promising(slots, users)
    for row in set(range(users.size)) - set(rows.tolist()):
        found[row] = math.inf
    rows = rows[(moderate & (slots.blanket_mass < 1))[rows]]
    if not rows.size:
        return found
    with np.errstate(all="ignore"):  # what comes out as no number is left to others
        bounds = _Bounds(slots.chosen(rows), users[rows], tolerance)
        for row, bound in zip(rows.tolist(), bounds.log_deltas(ceilings[rows]), strict=True):
            found[row] = bound if bound < math.inf else None
    return found


class _Bounds:
    """Swap bounds of several rows, all slots of which have equally many atoms."""

    def __init__(self, slots: SlotRows, users: IntArray, tolerance: float) -> None:
        self.users, self.gamma, self.tolerance = users, slots.blanket_mass, tolerance
        self.types = len(slots.types)
        tilts = choose_tilts(slots, users)
        self.slots = _tilted(slots, tilts)
        kinds = self.types + 1
        self.log_mgf, errors, shifts, means = (
            field.reshape(kinds, users.size)
            for field in (
                self.slots.log_mgf,
                self.slots.log_mgf_error,
                self.slots.value_shift,
                self.slots.mean,
            )
        )
        self.means = means
        self.others = (users - 1).astype(np.float64)
        self.lead = np.argmax(self.log_mgf[:-1], axis=0)
        self.top = self.log_mgf[:-1].max(axis=0)
        self.scale = SwapScale(
            tilts.theta,
            self.log_mgf[-1],
            errors[-1] + self.others * errors[:-1].max(axis=0),
            shifts[-1] + self.others * shifts[:-1].max(axis=0),
        )
        self.is_sound = self.slots.is_sound.reshape(kinds, users.size).all(axis=0)
        lead = self.slots.chosen(self.place(tilts.lead, np.arange(users.size)))
        self.proposals = RowSwapProposals(lead, tilts, self.gamma, users, tolerance)

    def place(self, kind: IntArray | int, rows: IntArray) -> IntArray:
        """Return where the slots of some rows are; slot 0 comes after all types."""
        places: IntArray = np.multiply(kind, self.users.size) + rows
        return places

    def log_deltas(self, ceilings: FloatArray) -> list[float]:
        """Try ever less smoothing until that costs little; infinite where this does not answer."""
        best = np.full(self.users.size, math.inf)
        open_ = np.flatnonzero(self.is_sound)
        for _ in range(_ROUNDS):
            if not open_.size:
                break
            limits = np.where(best[open_] <= ceilings[open_], math.inf, ceilings[open_])
            found = self._found(open_, limits)
            best[open_] = np.fmin(best[open_], found.log_delta)
            best[open_[found.hopeless]] = np.maximum(best[open_], np.nextafter(limits, math.inf))[
                found.hopeless
            ]
            shrink = np.array([shrink_of(bias, self.tolerance) for bias in found.bias.tolist()])
            self.proposals.tau[open_] *= shrink
            goes_on = (shrink < 1) & (found.log_delta < math.inf) & ~found.hopeless
            # What a smoother sum has settled, a rougher one may not: none of it is given up.
            open_ = open_[goes_on]
        return [float(value) for value in best]

    def _found(self, rows: IntArray, ceilings: FloatArray) -> _Found:
        """Bound log delta of some rows, each with the smoothing that is proposed for it."""
        sums = _Sums(self, rows)
        if not (left := sums.selection.left).any():
            return _Found.nothing(rows.size)
        upper, density = sums.of_leading()
        hopeless = left & (upper > 0) & (sums.log_delta(upper) > ceilings)
        worst = self._worst(sums, upper, hopeless)
        total = worst + sums.left_out + sums.integrand.moved(sums.scale)
        log_delta = np.where(left & (worst < math.inf), sums.log_delta(total), math.inf)
        bias = self.proposals.tau[rows] ** 2 * density / upper
        return _Found(log_delta, bias, hopeless & (log_delta < math.inf))

    def _worst(self, sums: _Sums, upper: FloatArray, hopeless: NDArray[np.bool_]) -> FloatArray:
        """Bound the sums for all mixtures; infinite where that is left to others."""
        share = share_of_cells(self.tolerance)
        lost = sums.leads.losses(sums.nodes)
        led = upper + lost
        if self.types != _TWO:
            return np.where(hopeless | (lost <= share * upper), led, math.inf)
        rows = np.flatnonzero(sums.selection.left & ~(lost <= share * upper))
        if rows.size:
            mixed = RowMixtures(sums.nodes, sums.integrand, share).worst(rows, hopeless[rows])
            led[rows] = np.where(mixed < math.inf, np.fmin(led[rows], mixed), math.inf)
        return led


@dataclass(frozen=True, eq=False)
class _Found:
    """Upper bounds, about what smoothing added to them, relatively, and which are of no use."""

    log_delta: FloatArray
    bias: FloatArray
    hopeless: NDArray[np.bool_]

    @classmethod
    def nothing(cls, size: int) -> _Found:
        """Say that no row is answered."""
        return cls(np.full(size, math.inf), np.zeros(size), np.zeros(size, dtype=np.bool_))


class _Sums:
    """The sums over the nodes of some rows, which have numbers of their own here."""

    def __init__(self, bounds: _Bounds, rows: IntArray) -> None:
        self.bounds, self.rows, self.size = bounds, rows, rows.size
        grids = bounds.proposals.grids(rows)
        self.integrand = SwapIntegrand(
            others=bounds.others[rows],
            gamma=bounds.gamma[rows],
            log_rest=np.log1p(-bounds.gamma[rows]),
            top=bounds.top[rows],
            terms=bounds.proposals.terms[rows],
            tau=bounds.proposals.tau[rows],
            step=grids.step,
        )
        self.scale = SwapScale(
            *(
                np.asarray(field)[rows]
                for field in (
                    bounds.scale.theta,
                    bounds.scale.log_mgf,
                    bounds.scale.log_mgf_error,
                    bounds.scale.value_shift,
                )
            )
        )
        whole = self.integrand.height(np.zeros(self.size))
        self.selection = self._select(grids)
        self.left_out = self.selection.skipped[0] + self.integrand.cut(grids.count, whole)
        self.nodes = self._evaluate()
        lead = bounds.lead[rows]
        margins = bounds.top[rows] - bounds.log_mgf[:-1, rows]
        self.leads = RowLeads(
            lead,
            margins,
            bounds.others[rows],
            bounds.proposals.terms[rows],
            np.log1p(-bounds.gamma[rows]) - bounds.top[rows],
            bounds.gamma[rows],
        )

    def _select(self, grids: RowGrids) -> Selection:
        """Return the nodes that cannot be skipped."""
        lead = self.bounds.proposals.lead.chosen(self.rows)
        deviations = np.sqrt(lead.atoms.variance), np.sqrt(lead.variance)
        allowances = self.bounds.proposals.allowance[self.rows]
        return select_nodes(grids, deviations, [self._bound_stretches], allowances[None, :])

    def _bound_stretches(self, rows: IntArray, starts: IntArray, sizes: IntArray) -> FloatArray:
        """Bound what the nodes of each stretch add, whatever the others hold."""
        many = self.bounds.slots.laws.size >= MANY_ATOMS
        rough = many and loses_little(self.bounds.others[self.rows].max())
        bound = bound_roughly if rough else bound_square
        integrand = self.integrand.of(rows)
        half = np.multiply(0.5 * np.asarray(integrand.step), sizes - 1)
        centre = np.multiply(integrand.step, starts) + half
        squares = []
        for kind in range(self.bounds.types):
            own = self.bounds.slots.atoms_of(self.bounds.place(kind, self.rows[rows]))
            squares.append(bound(own, centre, half))
        return integrand.bounds(starts, sizes, np.max(squares, axis=0))[None, :]

    def _evaluate(self) -> RowNodes:
        """Evaluate all transforms at the nodes; bound those that rounding makes useless."""
        row, numbers = self.selection.rows, self.selection.nodes
        integrand = self.integrand.of(row)
        t = np.multiply(integrand.step, numbers.astype(np.float64))
        *types, first = (
            SlotValues(
                self._phi(kind, row, t),
                self.bounds.means[kind, self.rows[row]],
                self.bounds.log_mgf[kind, self.rows[row]],
            )
            for kind in range(self.bounds.types + 1)
        )
        nodes, useful, left_out = integrand.evaluate(numbers, first, types)
        if left_out.size:
            self.left_out = self.left_out + add_rows(row[~useful], left_out, self.size) * ROUND_UP
        row = row[useful]
        own = nodes.exponent[self.bounds.lead[self.rows[row]], np.arange(row.size)]
        return RowNodes(nodes, row, own)

    def _phi(self, kind: int, row: IntArray, t: FloatArray) -> Characteristic:
        """Evaluate the characteristic function of one slot of every row."""
        chunk = max(_CHUNK // self.bounds.slots.laws.size, 1)
        parts = []
        for begin in range(0, max(row.size, 1), chunk):
            part = slice(begin, begin + chunk)
            atoms = self.bounds.slots.atoms_of(self.bounds.place(kind, self.rows[row[part]]))
            parts.append(evaluate(atoms, t[part]))
        return Characteristic(
            np.concatenate([part.log_modulus for part in parts]),
            np.concatenate([part.argument for part in parts]),
            np.concatenate([part.error for part in parts]),
        )

    def log_delta(self, total: FloatArray) -> FloatArray:
        """Return the bounds on log delta for bounds on the sums."""
        return self.integrand.log_delta(total, self.scale)

    def of_leading(self) -> tuple[FloatArray, FloatArray]:
        """Return upper bounds on the sums of the leading types, and the densities at 0."""
        row, nodes = self.nodes.row, self.nodes.nodes
        largest = nodes.largest[self.bounds.lead[self.rows[row]], np.arange(row.size)]
        return sums_at(self.integrand.of(row), nodes, row, self.nodes.own, largest, self.size)


def _tilted(slots: SlotRows, tilts: RowTilts) -> TiltedRows:
    """Tilt all slots, those of type 0 in all rows first, slot 0 last, each by that of its row."""
    laws = LawRows.joined([*slots.types, slots.first])
    kinds = len(slots.types) + 1
    times = np.ones(laws.values.shape[0], dtype=np.int64)
    return tilt_rows(laws, times, np.tile(tilts.theta, kinds))
