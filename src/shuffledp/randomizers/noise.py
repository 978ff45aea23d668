r"""Additive symmetric unimodal noise on an interval or a grid.

For R(x) = x + Z on inputs in [0, B], Z symmetric with a density that falls with |z|, the blanket is
:math:`c(y)=\min(f(y),f(y-B))` and the end points 0, B are the worst pair for every n and epsilon. A
mechanism therefore states one thing: how the outputs nearer to 0 than to B fall into cells, and how
far these numbers may be off if elementary functions are good to two units in the last place (four
units round-off).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from shuffledp import newdec
from shuffledp.arrays import FloatArray
from shuffledp.decomposition import (
    Atom,
    Continuous,
    Decomposition,
    Piece,
    Smooth,
    decompose_segments,
)
from shuffledp.randomizers.base import LocalRandomizer
from shuffledp.randomizers.domain import Domain, Integers, UnitInterval
from shuffledp.randomizers.input_types import InputTypes, NamedTypes
from shuffledp.randomizers.noise_laws import Place
from shuffledp.randomizers.pair import Input, Pair

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
        residual: 1 minus the mass of the blanket, which is twice the sum of ``far``; computed
            without cancellation, to 24 units round-off.
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


@dataclass(frozen=True)
class HalfDensity:
    r"""The outputs nearer to input 0 (the near input) than to B, where R(far) has a smooth density.

    At :math:`s\in[0,L]` the far input has the density
    :math:`e^{\gamma-\frac\alpha2s^2-\beta s}` and R(near)/R(far) is :math:`e^{\kappa s}`.

    Attributes:
        log_scale: gamma.
        curvature: alpha.
        slope: beta.
        rate: kappa.
        length: L.
        residual: 1 minus the mass of the blanket, to 24 units round-off.
        panel: the widest panel of a quadrature that is worth trying.
        end: masses (near, far) of an atom with the ratio at L, to 8 units round-off, if alpha is 0.
    """

    log_scale: float
    curvature: float
    slope: float
    rate: float
    length: float
    residual: float
    panel: float
    end: tuple[float, float] | None = None


class SymmetricNoise(LocalRandomizer):
    """Additive noise; subclasses give the cells of one half of the outputs."""

    estimates: ClassVar[Literal["frequencies", "mean"] | None] = "mean"

    @property
    @abstractmethod
    def largest_input(self) -> int:
        """The input B; the smallest is 0."""

    @property
    def input_domain(self) -> Domain:
        """The integers up to B, or the interval if any number in it is an input."""
        return UnitInterval() if self.is_interval else Integers(self.largest_input + 1)

    @property
    @abstractmethod
    def is_interval(self) -> bool:
        """Whether all numbers from 0 to B = 1 are inputs, and not integers alone."""

    @abstractmethod
    def half_cells(self) -> HalfCells:
        """Return the cells of the outputs nearer to 0 than to B."""

    def half_density(self) -> HalfDensity | None:
        """Return the density of the same outputs, if it is smooth and worth the while."""
        return None

    @property
    @abstractmethod
    def noise_variance(self) -> float:
        """The variance of the noise."""

    @property
    def unit(self) -> float:
        """The number that a report of 1 stands for, a power of two; reports are integers."""
        return 1.0

    @abstractmethod
    def log_density(self, noise: NDArray[Any]) -> FloatArray:
        """Return the log density of noise, or its log probability on a grid, up to a constant."""

    def log_likelihood(self, reports: NDArray[Any], value: Input) -> FloatArray:
        """Return the log density of the noise that turns the value into each report."""
        return self.log_density(reports * self.unit - value)

    def neighbours(self) -> Sequence[Pair]:
        """Return the end points: the universally worst pair for symmetric unimodal noise."""
        return (Pair(0, self.largest_input),)

    @property
    def has_worst_pair(self) -> bool:
        """True: the end points, by the theorem on symmetric noise that falls."""
        return True

    def is_worst(self, pair: Pair) -> bool:
        """Whether it holds both end points: reflection exchanges the two orders."""
        return {pair.first, pair.second} == {0, self.largest_input}

    def unchanged(self) -> Sequence[Pair]:
        """Return an end point: its ratio to the blanket varies most."""
        return (Pair(0, 0),)

    def blanket(self, pair: Pair) -> Decomposition:
        """Return c = R(B) on the half near 0, where R(0)/c = u, and its mirror image.

        A pair of other inputs gets the decomposition of the end points, which dominates it.
        """
        known = self.accepts(pair.first) and self.accepts(pair.second)
        return self.decompose(pair if known else self.neighbours()[0], None, self.half_cells)

    def decomposition(self, pair: Pair, other: Input | None = None) -> newdec.Decomposition:
        """Return cells of the outputs in balls; other pairs get the end points, as above."""
        known = self.accepts(pair.first) and self.accepts(pair.second)
        if not known and other is None:
            return self.decomposition(self.neighbours()[0])
        inputs = (pair.first, pair.second) if other is None else (pair.first, pair.second, other)
        if not all(self.accepts(x) for x in inputs):
            raise ValueError(
                f"inputs must be end points 0 or {self.largest_input}, got {pair} and {other}"
            )
        if other is not None and len(set(inputs)) == 1:
            return newdec.Decomposition.silent()
        first, second, *held = (Fraction(x) for x in inputs if not isinstance(x, tuple))
        ends = (Fraction(0), Fraction(self.largest_input))
        return self.law_at(Place(first, second, tuple(held) or ends))

    @abstractmethod
    def law_at(self, place: Place) -> newdec.Decomposition:
        """Return the decomposition into cells in balls: of two inputs, and c that of the others."""

    def common_inputs(self, pair: Pair) -> Sequence[Input]:
        """Return the end points, inputs in between reveal less; none for another pair."""
        known = self.accepts(pair.first) and self.accepts(pair.second)
        return (0, self.largest_input) if known else ()

    def input_types(self, pair: Pair) -> InputTypes | None:
        """Keep the end points apart, if there are no other inputs."""
        return NamedTypes({0: 0, 1: 1}) if self.input_domain == Integers(2) else None

    def accepts(self, other: Input) -> bool:
        """Whether ``other`` is an end point."""
        return other in (0, self.largest_input)

    def background(self, pair: Pair, other: Input) -> Decomposition:
        """Return the decomposition with c = R(0) or c = R(B)."""
        return self.decompose(pair, other, self.half_cells)

    def decompose(
        self, pair: Pair, holder: Input | None, half_cells: Callable[[], HalfCells]
    ) -> Decomposition:
        """Decompose with c the law of the holder, None for the blanket, and cells when needed."""
        if not self.accepts(pair.first) or not self.accepts(pair.second):
            raise ValueError(f"pair must hold end points 0 or {self.largest_input}, got {pair}")
        density = self.half_density()
        if density is None or pair.first == pair.second:
            return _cells(pair, holder, half_cells)
        powers = [
            (
                _factor(pair.first, half) - _factor(holder, half),
                _factor(pair.second, half) - _factor(holder, half),
                _factor(holder, half),
            )
            for half in (0, 1)
        ]
        smooth = _smooth(density, powers, blanket=holder is None)
        return Continuous.of(smooth, partial(_cells, pair, holder, half_cells))


def _cells(pair: Pair, holder: Input | None, half_cells: Callable[[], HalfCells]) -> Decomposition:
    """Decompose into cells with c the law of the holder, None for the blanket.

    On the half near 0 the log densities of R(0) and R(B) are log u and 0, on the other half 0
    and log u, up to a common term; ratios to c follow by subtraction.
    """
    cells = half_cells()

    def logs(x: Input, values: FloatArray) -> FloatArray:
        """Return the log ratios of R(x) to c on both halves."""
        return _join(*((_factor(x, half) - _factor(holder, half)) * values for half in (0, 1)))

    masses = [(cells.far, cells.near)[_factor(holder, half)] for half in (0, 1)]
    tails = []
    if cells.tail is not None:
        near, far = cells.tail
        for half in (0, 1):
            a, b, c = (near if _factor(x, half) else far for x in (pair.first, pair.second, holder))
            tails.append((a, b, c))
    return decompose_segments(
        (logs(pair.first, cells.log_ratio), logs(pair.second, cells.log_ratio)),
        _join(*masses),
        start=(logs(pair.first, cells.inner), logs(pair.second, cells.inner)),
        stop=(logs(pair.first, cells.outer), logs(pair.second, cells.outer)),
        residual=cells.residual if holder is None else 0.0,
        log_ratio_error=_join(cells.error, cells.error),
        weight_error=_join(cells.mass_error, cells.mass_error),
        tails=tails,
    )


def _factor(x: Input | None, half: int) -> int:
    """Return 1 if the law of x is u times the smaller one on this half (0: near 0)."""
    return int(x is not None and (x == 0) == (half == 0))


def _smooth(
    density: HalfDensity, powers: Sequence[tuple[int, int, int]], *, blanket: bool
) -> Smooth:
    """Return the continuous law.

    Args:
        density: of the far input on one half, and the ratio u of the near one to it.
        powers: which powers of u are, on both halves, a/c, b/c and c over the far input's density.
        blanket: whether c is the blanket and not a law.
    """
    rate = density.rate
    pieces = tuple(
        Piece(density.log_scale, density.curvature, density.slope - c * rate, a * rate, b * rate)
        for a, b, c in powers
    )
    atoms: tuple[Atom, ...] = ()
    if density.end is not None:
        near, far = density.end
        last = rate * density.length
        atoms = tuple(Atom(a * last, b * last, near if c else far) for a, b, c in powers)
    residual = density.residual if blanket else 0.0
    return Smooth(pieces, density.length, atoms, residual, density.panel)


def _join(first: FloatArray, second: FloatArray) -> FloatArray:
    return np.concatenate([first, second])
