r"""Additive symmetric unimodal noise on an interval or a grid.

For R(x) = x + Z on inputs in [0, B], Z symmetric with a density that falls with |z|, the blanket is
:math:`c(y)=\min(f(y),f(y-B))` and the end points 0, B are the worst pair for every n and epsilon. A
mechanism therefore states one thing: how the outputs nearer to 0 than to B fall into cells.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from shuffledp.decomposition import Decomposition, decompose_segments
from shuffledp.decomposition.arithmetic import FloatArray
from shuffledp.randomizers.base import Background, LocalRandomizer, Pair

#: Cells per half of the output range: fine enough for 1e-5 of delta at common settings.
CELLS = 2048


@dataclass(frozen=True, eq=False)
class HalfCells:
    """Cells of the outputs nearer to input 0 (the near input) than to B (the far one).

    Attributes:
        outer: log of R(near)/R(far) at the outer edge of each cell.
        inner: the same at the inner edge; equal to ``outer`` in an atom.
        log_ratio: log of the mean of R(near)/R(far) in the cell, weighted by R(far).
        near: mass of the cell under the near input.
        far: mass under the far input.
        error: absolute error of all logarithms.
        mass_error: relative error of both masses of each cell.
        residual: 1 minus the mass of the blanket, which is twice the sum of ``far``.
        tail: masses (near, far) beyond the outermost cell, where the ratio is unbounded.
    """

    outer: FloatArray
    inner: FloatArray
    log_ratio: FloatArray
    near: FloatArray
    far: FloatArray
    error: FloatArray
    mass_error: FloatArray
    residual: float
    tail: tuple[float, float] | None = None


class SymmetricNoise(LocalRandomizer):
    """Additive noise; subclasses give the cells of one half of the outputs."""

    @property
    @abstractmethod
    def largest_input(self) -> int:
        """The input B; the smallest is 0."""

    @abstractmethod
    def half_cells(self) -> HalfCells:
        """Return the cells of the outputs nearer to 0 than to B."""

    def neighbours(self) -> Sequence[Pair]:
        """Return the end points: the universally worst pair for symmetric unimodal noise."""
        return (Pair(0, self.largest_input),)

    def blanket(self, pair: Pair) -> Decomposition:
        """Return c = R(B) on the half near 0, with ratios (u, 1), and its mirror image."""
        cells = self.half_cells()
        one = np.zeros_like(cells.far)
        tails = []
        if cells.tail is not None:
            near, far = cells.tail
            tails = [(near, far, far), (far, near, far)]
        return decompose_segments(
            (_join(cells.log_ratio, one), _join(one, cells.log_ratio)),
            _join(cells.far, cells.far),
            start=(_join(cells.inner, one), _join(one, cells.inner)),
            stop=(_join(cells.outer, one), _join(one, cells.outer)),
            residual=cells.residual,
            log_ratio_error=_join(cells.error, cells.error),
            weight_error=_join(cells.mass_error, cells.mass_error),
            tails=tails,
        )

    def backgrounds(self, pair: Pair) -> Iterator[Background]:
        """Yield the others holding 0 and B; inputs in between reveal less."""
        decomposition = self._near_background()
        yield Background(f"all others hold {pair.first}", decomposition)
        # Mirrored: the divergence of the reversed pair with the others at 0.
        yield Background(f"all others hold {pair.second}", decomposition.swap())

    def _near_background(self) -> Decomposition:
        """Decompose with c = R(0): ratios (1, 1/u) on the near half and (1, u) on the far half."""
        cells = self.half_cells()
        one = np.zeros(2 * cells.far.size)
        tails = []
        if cells.tail is not None:
            near, far = cells.tail
            tails = [(near, far, near), (far, near, far)]
        return decompose_segments(
            (one, _join(-cells.log_ratio, cells.log_ratio)),
            _join(cells.near, cells.far),
            start=(one, _join(-cells.inner, cells.inner)),
            stop=(one, _join(-cells.outer, cells.outer)),
            residual=0.0,
            log_ratio_error=_join(cells.error, cells.error),
            weight_error=_join(cells.mass_error, cells.mass_error),
            tails=tails,
        )


def _join(first: FloatArray, second: FloatArray) -> FloatArray:
    return np.concatenate([first, second])
