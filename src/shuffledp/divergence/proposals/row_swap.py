"""Where to evaluate many swap bounds at once, one in each row.

The same choices as :mod:`shuffledp.divergence.proposals.swap` makes for one; nothing here is
trusted either.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from shuffledp.arrays import FloatArray, IntArray
from shuffledp.decomposition.law_rows import LawRows
from shuffledp.divergence.proposals.rows import (
    RowGrids,
    alias_points,
    choose_grids,
    saddle_points,
)
from shuffledp.divergence.proposals.swap import (
    CLOSE,
    FEWEST_BLANKET_USERS,
    SHARE_OF_GRID,
    SHARE_OF_TAIL,
    SPREAD,
    TILTS,
    first_tau,
)
from shuffledp.divergence.row_tilt import TiltedRows, estimate_log_mgfs_of
from shuffledp.divergence.slots import SlotRows

_MAX_LOOKS = 20


@dataclass(frozen=True, eq=False)
class RowTilts:
    """The tilt of every row, the type that leads there, and the logarithm of the transform."""

    theta: FloatArray
    lead: IntArray
    log_height: FloatArray


def are_promising(slots: SlotRows, users: IntArray) -> IntArray:
    """Return the rows whose bound may be better than the blanket."""
    positive = np.max([law.values.max(axis=1) for law in slots.types], axis=0) > 0
    return np.flatnonzero(positive & (slots.blanket_mass * users > FEWEST_BLANKET_USERS))


def choose_tilts(slots: SlotRows, users: IntArray) -> RowTilts:
    """Choose where the largest transform of a type times that of slot 0 is smallest."""
    own = np.array([saddle_points(law, users) for law in slots.types])
    own = np.where([law.values.max(axis=1) > 0 for law in slots.types], own, math.nan)
    low, high = np.nanmin(own, axis=0) / SPREAD, np.nanmax(own, axis=0) * SPREAD
    shares = np.linspace(0.0, 1.0, TILTS)
    rows, others = np.arange(users.size), (users - 1)[:, None]
    for _ in range(_MAX_LOOKS):
        tilts = low[:, None] * (high / low)[:, None] ** shares
        heights = np.array([others * _log_mgf(law, tilts) for law in slots.types])
        total = heights.max(axis=0) + _log_mgf(slots.first, tilts) - 2 * np.log(tilts)
        place = np.argmin(total, axis=1)
        low = tilts[rows, np.maximum(place - 1, 0)]
        high = tilts[rows, np.minimum(place + 1, TILTS - 1)]
        if (high <= CLOSE * low).all():
            break
    theta = tilts[rows, place]
    lead = np.argmax(heights[:, rows, place], axis=0)
    return RowTilts(theta, lead, total[rows, place] + 2 * np.log(theta))


def _log_mgf(laws: LawRows, tilts: FloatArray) -> FloatArray:
    """Return K of every row at its tilts, about."""
    exponents = tilts[:, :, None] * laws.values[:, None, :]
    top = exponents.max(axis=2)
    with np.errstate(divide="ignore"):
        total = np.einsum("ijk,ik->ij", np.exp(exponents - top[:, :, None]), laws.weights)
        k: FloatArray = top + np.log(total)
    return k


class RowSwapProposals:
    """Smoothing, nodes and numbers of users examined for every row.

    Args:
        lead: the leading types, tilted.
        tilts: by which tilts.
        gamma: mass of the blanket.
        users: number of users.
        tolerance: how much all that may add to log delta, about.
    """

    def __init__(
        self,
        lead: TiltedRows,
        tilts: RowTilts,
        gamma: FloatArray,
        users: IntArray,
        tolerance: float,
    ) -> None:
        others = (users - 1).astype(np.float64)
        self.lead = replace(lead, times=others, log_mgf=others * lead.log_mgf)
        self.tolerance = tolerance
        self.value = 1 / np.sqrt(2 * math.pi * (self.lead.variance + 2))
        log_delta = tilts.log_height + np.log(self.value / users / tilts.theta)
        wanted = (log_delta + math.log(SHARE_OF_TAIL * tolerance)) / np.log1p(-gamma)
        self.terms = np.minimum(np.floor(np.maximum(wanted, 0.0)) + 1, others) + 1
        self.tau = np.full(users.size, first_tau(tolerance))

    @property
    def allowance(self) -> FloatArray:
        """What aliases, truncation or skipped nodes may add."""
        return SHARE_OF_GRID * self.tolerance * self.value

    def grids(self, rows: IntArray) -> RowGrids:
        """Return the nodes of some rows."""
        lead, tau = self.lead.chosen(rows), self.tau[rows]
        points = alias_points(lead.variance, tau)
        log_mgfs = estimate_log_mgfs_of(lead, points)
        return choose_grids(points, log_mgfs, lead.log_mgf, tau, self.allowance[rows])
