r"""The laws of additive noise in balls: cells whose edges are exact and whose masses are proved.

With inputs 0 and B the logarithm of R(0)/R(B) at an output y is :math:`s(B-2y)`: everywhere for
normal noise, s = 1/(2 sigma^2), and between the inputs, beyond which it is constant, for Laplace
and discrete Laplace noise, s = epsilon0/B. So both ratios run along a segment of the plane between
any two outputs of which c is the law of the same input, and
:func:`shuffledp.decomposition.cells.decompose_cells` encloses them. Masses are differences of
Q(d) = P(N >= d), taken on the side where Q is small:

- Laplace: :math:`\frac12e^{-\varepsilon_0d}` for d of at least 0,
- discrete Laplace: :math:`\alpha^d/(1+\alpha)`, :math:`\alpha=e^{-\varepsilon_0/B}`,
- normal: half of the complementary error function of :math:`d/(\sigma\sqrt2)`.

Where cells lie is a matter of accuracy only.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import TypeGuard

from flint import arb

from shuffledp.basics.balls import ball, precision, total
from shuffledp.decomposition.cells import Cell, Logs, decompose_cells
from shuffledp.decomposition.decomposition import Component, Decomposition
from shuffledp.mechanisms import DiscreteLaplace, Gaussian, Input, Laplace, LocalRandomizer, Pair

#: Cells of a half of the outputs, how many more per unit of the level, and at most.
_CELLS, _CELLS_PER_LEVEL, _MOST_CELLS = 64, 32, 2048

#: Normal noise: width of cells up to a distance from the middle, in standard deviations; beyond,
#: they grow with the distance. What is farther from the far input than the last number is a tail.
_WIDTH, _NEAR, _REACH = 0.04, 4.0, 37.0

#: Discrete noise of at most this bound is looked at input by input.
_MOST_LISTED = 4

#: One object, so that laws which are equal are known to be.
_EQUAL = arb(0)


class _Line(ABC):
    """Noise that is added to one of two inputs, 0 and ``bound``."""

    bound: int
    slope: arb

    @abstractmethod
    def beyond(self, distance: arb) -> arb:
        """Return P(N >= distance)."""

    @property
    @abstractmethod
    def outputs(self) -> list[float]:
        """Where to cut if nothing else is proposed, in ascending order."""

    #: Whether ratios are constant beyond the inputs; if not, they are unbounded.
    has_flat_ends = True
    #: The distance of neighbouring outputs.
    gap = 0

    def edges(self, points: Sequence[float]) -> list[arb]:
        """Return the inputs, the middle and the points between."""
        below, above = ([arb(y) for y in points if 0 < sign * (y - 0.5) < 0.5] for sign in (-1, 1))
        return [arb(0), *below, ball(0.5), *above, arb(1)]

    def ranges(self, points: Sequence[float]) -> list[tuple[arb, arb]]:
        """Return first and last outputs of cells that lie one after the other."""
        return list(pairwise(self.edges(points)))

    def mass(self, x: int, first: arb, last: arb) -> arb:
        """Return the mass of the outputs from one to another under an input."""
        near, far = (first - x, last - x) if first >= x else (x - last, x - first)
        return self.beyond(near) - self.beyond(far + self.gap)

    def log_ratio(self, y: arb) -> arb:
        """Return log R(0)(y)/R(bound)(y)."""
        return self.slope * (self.bound - 2 * y)


class _Laplace(_Line):
    """Equal widths in the root of the ratio, which is steep near the inputs."""

    def __init__(self, randomizer: Laplace) -> None:
        self.bound, self.level = 1, randomizer.epsilon0
        self.slope = ball(self.level)

    def beyond(self, distance: arb) -> arb:
        return (-self.slope * distance).exp() / 2

    @property
    def outputs(self) -> list[float]:
        count = min(_CELLS + math.ceil(_CELLS_PER_LEVEL * self.level), _MOST_CELLS)
        width = math.expm1(self.level / 2) / count
        steps = [math.log1p(width * i) / self.level for i in range(1, count)]
        return [*(0.5 - step for step in reversed(steps)), *(0.5 + step for step in steps)]


class _DiscreteLaplace(_Line):
    """Runs of consecutive outputs, in none of which the middle lies beside others."""

    gap = 1

    def __init__(self, randomizer: DiscreteLaplace) -> None:
        self.bound, self.level = randomizer.bound, randomizer.epsilon0
        self.slope = ball(self.level) / self.bound

    def beyond(self, distance: arb) -> arb:
        return (-self.slope * distance).exp() / (1 + (-self.slope).exp())

    @property
    def outputs(self) -> list[float]:
        return []

    def ranges(self, points: Sequence[float]) -> list[tuple[arb, arb]]:
        inside = (self.bound - 1) // 2  # outputs 1..inside are nearer to 0
        count = min(_CELLS + math.ceil(_CELLS_PER_LEVEL * self.level), _MOST_CELLS)
        size = max(1, -(-inside // count))
        runs = [(y, min(y + size - 1, inside)) for y in range(1, inside + 1, size)]
        middle = [(self.bound // 2,) * 2] if self.bound % 2 == 0 else []
        mirrored = [(self.bound - last, self.bound - first) for first, last in reversed(runs)]
        return [(arb(first), arb(last)) for first, last in (*runs, *middle, *mirrored)]


class _Normal(_Line):
    """Cells that are dense near the middle, on both sides."""

    has_flat_ends = False

    def __init__(self, randomizer: Gaussian) -> None:
        self.bound, self.deviation = 1, randomizer.sigma
        self.sigma = ball(self.deviation)
        self.slope = 1 / (2 * self.sigma**2)

    def beyond(self, distance: arb) -> arb:
        return (distance / (self.sigma * arb(2).sqrt())).erfc() / 2

    @property
    def outputs(self) -> list[float]:
        distances = [0.0]
        while distances[-1] < _REACH:
            distances.append(distances[-1] + _WIDTH * max(1.0, distances[-1] / _NEAR))
        steps = [self.deviation * d for d in distances[1:]]
        return [*(0.5 - step for step in reversed(steps)), *(0.5 + step for step in steps)]

    def edges(self, points: Sequence[float]) -> list[arb]:
        below, above = ([arb(y) for y in points if sign * (y - 0.5) > 0] for sign in (-1, 1))
        return [*(below or [arb(0)]), ball(0.5), *(above or [arb(1)])]


def noise_decomposition(
    randomizer: Laplace | DiscreteLaplace | Gaussian, pair: Pair, holder: Input | None
) -> Decomposition:
    """Return the decomposition with c the law of the holder, None for the blanket.

    Inputs in between have the blanket of the end points, which dominates theirs, and no law of
    their own, unless they are few.
    """
    if is_listed(randomizer):
        return _lattice(randomizer, pair, holder)
    line = NOISE_LAWS[type(randomizer)](randomizer)
    ends = (0, line.bound)
    if holder is None and not (pair.first in ends and pair.second in ends):
        pair = Pair(*ends)
    if any(x not in ends for x in (pair.first, pair.second, ends[0] if holder is None else holder)):
        raise ValueError(f"inputs must be {ends[0]} or {ends[1]}, got {pair} and {holder}")
    return _cut(line, pair, holder, line.outputs)


def _cut(line: _Line, pair: Pair, holder: Input | None, points: Sequence[float]) -> Decomposition:
    """Return the decomposition into cells between some outputs."""

    def inputs(near_zero: bool) -> tuple[int, int, int]:
        """Return whose laws a, b and c are: without a holder c is the farther input's."""
        c = (line.bound if near_zero else 0) if holder is None else holder
        return _number(pair.first), _number(pair.second), _number(c)

    def logs(laws: tuple[int, int, int], y: arb) -> Logs:
        """Return the logarithms of a/c and b/c at an output."""
        ratio = line.log_ratio(y)
        first, second = (_EQUAL if x == laws[2] else ratio if x == 0 else -ratio for x in laws[:2])
        return first, first if laws[0] == laws[1] else second

    with precision():
        ranges = line.ranges(points)
        cells, ends = [], []
        for first, last in ranges:
            laws = inputs(2 * last <= line.bound)
            a, b, c = (line.mass(x, first, last) for x in laws)
            stop = None if first == last else logs(laws, last)
            cells.append(Cell(a, b, c, logs(laws, first), stop))
        for near_zero in (True, False):
            laws, edge = inputs(near_zero), arb(0 if near_zero else line.bound)
            if not line.has_flat_ends:
                edge = ranges[0][0] if near_zero else ranges[-1][1]
            a, b, c = (line.beyond(x - edge if near_zero else edge - x) for x in laws)
            ends.append(Cell(a, b, c, logs(laws, edge)))
        return decompose_cells(
            cells,
            ends if line.has_flat_ends else (),
            () if line.has_flat_ends else [(end.a, end.b, end.c) for end in ends],
            is_law=holder is not None,
            cut_at=[float(y) for y in dict.fromkeys(edge for both in ranges for edge in both)],
            again=None if line.gap else lambda chosen: _cut(line, pair, holder, chosen),
        )


def is_listed(randomizer: LocalRandomizer) -> TypeGuard[DiscreteLaplace]:
    """Whether all inputs have a law here: those of discrete noise, if they are few."""
    return type(randomizer) is DiscreteLaplace and randomizer.bound <= _MOST_LISTED


def _lattice(randomizer: DiscreteLaplace, pair: Pair, holder: Input | None) -> Decomposition:
    """Return the law of discrete noise output by output; outputs beyond an end are the end."""
    bound, rate = randomizer.bound, Fraction(randomizer.epsilon0) / randomizer.bound
    first, second = _number(pair.first), _number(pair.second)
    held = None if holder is None else _number(holder)
    if not all(0 <= x <= bound for x in (first, second, 0 if held is None else held)):
        raise ValueError(f"inputs must be from 0 to {bound}, got {pair} and {holder}")
    components = []
    with precision():
        decay = (-ball(rate)).exp()
        for y in range(bound + 1):
            x = held if held is not None else bound if 2 * y <= bound else 0
            mass = (-ball(rate * abs(y - x))).exp() / (1 + decay)
            if 0 < y < bound:
                mass *= 1 - decay
            log0 = ball(rate * (abs(y - x) - abs(y - first)))
            log1 = ball(rate * (abs(y - x) - abs(y - second)))
            same = abs(y - first) == abs(y - second)
            components.append(Component(log0, log0 if same else log1, mass))
        rest = arb(0) if held is not None else 1 - total(c.weight for c in components)
        return Decomposition(tuple(components), rest)


def _number(x: Input) -> int:
    if not isinstance(x, int):
        raise TypeError(f"inputs of noise are integers here, got {x!r}")
    return x


#: The law of every kind of noise.
NOISE_LAWS: Mapping[type[Laplace | DiscreteLaplace | Gaussian], Callable[..., _Line]] = {
    Laplace: _Laplace,
    DiscreteLaplace: _DiscreteLaplace,
    Gaussian: _Normal,
}
