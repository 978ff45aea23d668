"""Where to evaluate the swap bound: tilt, smoothing, nodes, and how many users are examined."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from shuffledp.arrays import IntArray
from shuffledp.decomposition.gparv import Law
from shuffledp.divergence.blocks import BlockSum
from shuffledp.divergence.proposals.grid import alias_points, choose_grid
from shuffledp.divergence.proposals.saddle import saddle_point
from shuffledp.divergence.proposals.stretches import main_lobe, stretch_count, stretch_starts
from shuffledp.divergence.tilt import log_mgf, log_mgf_of_sum, tilt_sum

TILTS = 13  # tried between those of the types
SPREAD = 1.4  # beyond them
CLOSE = 1.3  # of neighbouring tilts, the quotient at which no closer look is taken

# Shares of the tolerance.
_SHARE_OF_SMOOTHING = 0.2
SHARE_OF_GRID = 0.02
SHARE_OF_TAIL = 0.02
_SHARE_OF_CELLS = 0.3
_MOST_BIAS = 0.4

FEWEST_BLANKET_USERS = 3.0  # with fewer, nobody is there to swap seats with
_LARGEST_TAU = 0.3
_MAX_STRETCHES = 20_000
_MOST_SHRINK, _LEAST_SHRINK = 0.7, 0.1


class SwapProposal:
    """Parameters of the swap bound; any of them gives a valid bound."""

    def __init__(
        self, first: Law, types: Sequence[Law], gamma: float, n: int, tolerance: float
    ) -> None:
        self.tolerance, self.n, self.gamma = tolerance, n, gamma
        positive = [law for law in types if law.values.max() > 0]
        self.is_promising = bool(positive) and gamma * n > FEWEST_BLANKET_USERS
        if not self.is_promising:
            return
        own = [saddle_point(BlockSum.of((law, n))) for law in positive]
        low, high = min(own) / SPREAD, max(own) * SPREAD
        while True:
            tilts = np.geomspace(low, high, TILTS)
            heights = np.array([(n - 1) * log_mgf(law, tilts)[0] for law in types])
            total = heights.max(axis=0) + log_mgf(first, tilts)[0] - 2 * np.log(tilts)
            place = int(np.argmin(total))
            low, high = tilts[max(place - 1, 0)], tilts[min(place + 1, TILTS - 1)]
            if high <= CLOSE * low:
                break
        self.theta = float(tilts[place])
        lead = types[int(np.argmax(heights[:, place]))]
        self._lead = BlockSum.of((lead.scaled(self.theta), n - 1))
        self._tilted = tilt_sum(self._lead, 1.0)
        self._measure(float(total[place]) + 2 * math.log(self.theta))
        self.tau = first_tau(tolerance)
        self._place_nodes()

    def _measure(self, log_height: float) -> None:
        """Guess value and how many users may have to be examined."""
        self.value = 1 / math.sqrt(2 * math.pi * (self._tilted.variance + 2))
        log_delta = log_height + math.log(self.value / self.n / self.theta)
        self.last_examined = self.n - 1
        if self.gamma < 1:
            wanted = (log_delta + math.log(SHARE_OF_TAIL * self.tolerance)) / math.log1p(
                -self.gamma
            )
            self.last_examined = min(int(max(wanted, 0.0)) + 1, self.n - 1)

    def _place_nodes(self) -> None:
        mgfs = log_mgf_of_sum(self._lead, alias_points(self._tilted, self.tau))
        grid = choose_grid(mgfs, self._tilted, self.tau, self.allowance)
        self.step, self.count = (grid.step, grid.count) if grid else (1.0, 0)

    @property
    def allowance(self) -> float:
        """What aliases, truncation or skipped nodes may add."""
        return SHARE_OF_GRID * self.tolerance * self.value

    @property
    def share_of_cells(self) -> float:
        """What the subdivision may add, relatively."""
        return share_of_cells(self.tolerance)

    @property
    def main_nodes(self) -> int:
        """How many nodes next to 0 are surely needed."""
        return main_lobe(math.sqrt(self._tilted.variance), self.step)

    def stretch_starts(self, begin: int) -> IntArray:
        """Return where to cut the nodes from ``begin`` on."""
        if stretch_count(self._tilted.deviation, self.step, self.count) > _MAX_STRETCHES:
            return np.zeros(0, dtype=np.int64)
        return stretch_starts(self._tilted.deviation, self.step, begin, self.count)

    def improve(self, bias: float) -> bool:
        """Smooth less if smoothing cost too much; False if it did not."""
        shrink = shrink_of(bias, self.tolerance)
        self.tau *= shrink
        if shrink < 1:
            self._place_nodes()
        return shrink < 1


def first_tau(tolerance: float) -> float:
    """Return how much to smooth at first."""
    return min(math.sqrt(_SHARE_OF_SMOOTHING * tolerance), _LARGEST_TAU)


def share_of_cells(tolerance: float) -> float:
    """Return what the subdivision may add, relatively."""
    return _SHARE_OF_CELLS * tolerance


def shrink_of(bias: float, tolerance: float) -> float:
    """Return by what to multiply the smoothing, given about what it added; 1 if that is little."""
    if bias <= _MOST_BIAS * tolerance:
        return 1.0
    return min(max(_SHARE_OF_CELLS * tolerance / bias, _LEAST_SHRINK), _MOST_SHRINK)
