"""Large values of continuous laws as jumps, for many sums at once that share one plan.

Terms and bounds are those of :mod:`shuffledp.divergence.smooth_jumps`; the contours of a term are
those of rows, one for each sum.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np

from shuffledp.arrays import FloatArray, IntArray
from shuffledp.decomposition.smooth_rows import SmoothRows
from shuffledp.divergence.enclosure import LogEnclosure
from shuffledp.divergence.row_contour import SaddleRows, chernoff_bounds, contour_enclosures
from shuffledp.divergence.row_sums import RowBlock
from shuffledp.divergence.smooth_jumps import Division, JumpRule, Terms, divide


def log_means_with_jumps(
    plan: JumpRule, times: IntArray, epsilons: FloatArray, rtols: Sequence[float]
) -> list[LogEnclosure]:
    """Enclose log E[S_+] of every row up to the end of the quadrature; any plan gives valid ones.

    Row i is a sum of ``times[i]`` copies of the law at ``epsilons[i]``.
    """
    division = divide(plan)
    if division is None or int(times.min()) <= plan.orders:
        return [LogEnclosure(-math.inf, math.inf)] * times.size
    rows = _Rows(division, plan.rule.rows(epsilons), plan.fine.rows(epsilons), times)
    choices = division.choices()
    saddles = [rows.saddles(chosen) for chosen in choices]
    bounds = [[row.log_mean for row in chernoff_bounds(own)] for own in saddles]
    terms = [
        Terms([division.coefficient(n, chosen) for chosen in choices], own, rtol)
        for n, own, rtol in zip(times.tolist(), zip(*bounds, strict=True), rtols, strict=True)
    ]
    # One order for all rows, so that each term is evaluated once; any order would do.
    for i in sorted(range(len(choices)), key=lambda i: -sum(own.above[i] for own in terms)):
        asked = {row: own.tolerance(i) for row, own in enumerate(terms)}
        tolerances = {row: wanted for row, wanted in asked.items() if wanted is not None}
        if tolerances:
            every = len(tolerances) == times.size
            some = saddles[i] if every else saddles[i].chosen(np.array(list(tolerances)))
            found = contour_enclosures(some, list(tolerances.values()))
            for row, value in zip(tolerances, found, strict=True):
                terms[row].learn(i, value)
    alone = chernoff_bounds(SaddleRows.of([RowBlock(rows.rest, times)]))
    return [
        own.enclosure(division.remainder(n, bound.log_mean, bound.log_mgf, bound.log_mgf_error))
        for own, n, bound in zip(terms, times.tolist(), alone, strict=True)
    ]


class _Rows:
    """The laws of the rest and of all classes, one in each row."""

    def __init__(
        self, division: Division, coarse: SmoothRows, fine: SmoothRows, times: IntArray
    ) -> None:
        self.rest, self.times = division.rest.of_rows(coarse), times
        self.classes = [part.of_rows(fine) for part in division.classes]

    def saddles(self, chosen: Counter[int]) -> SaddleRows:
        """Return the sums of one term, tilted."""
        blocks = [RowBlock(self.rest, self.times - chosen.total())]
        blocks += [
            RowBlock(self.classes[c], np.full(self.times.size, number))
            for c, number in chosen.items()
        ]
        return SaddleRows.of(blocks)
