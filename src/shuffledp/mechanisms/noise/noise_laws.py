r"""The exact laws of additive noise on a line, as cells of outputs in balls.

At a pair of inputs and an input v of the others, or the blanket of the pair, the outputs are cut
at all points where a ratio has a kink: at the inputs, and for the blanket half way between the two
laws of which it is the smaller one. Between these points both ratios run along a segment of the
plane. Exponential tails have constant ratios beyond all inputs; those of normal noise are
unbounded.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from flint import arb

from shuffledp.basics.balls import ball, precision
from shuffledp.decomposition.cells import Cell, Logs, decompose_cells
from shuffledp.decomposition.decomposition import Decomposition

#: Cells between two kinks, and how many more per unit of the level.
_CELLS, _CELLS_PER_LEVEL = 64, 32

#: Normal noise: width of cells up to a distance, in standard deviations; beyond, cells grow with
#: the distance. What is farther out than the last number is a tail.
_WIDTH, _NEAR, _FAR = 0.04, 4.0, 37.0


@dataclass(frozen=True)
class Place:
    """A pair of inputs, and what c is: the law of an input, or the smaller one of two laws."""

    first: Fraction
    second: Fraction
    holders: tuple[Fraction, ...]

    @property
    def kinks(self) -> list[Fraction]:
        """All points at which ratios have a kink."""
        middle = sum(self.holders, Fraction(0)) / len(self.holders)
        return sorted({self.first, self.second, *self.holders, middle})

    def holder(self, output: Fraction) -> Fraction:
        """Return whose law c is near an output that is no kink: the farther one's."""
        return max(self.holders, key=lambda x: abs(output - x))

    def inputs(self, output: Fraction) -> tuple[Fraction, Fraction, Fraction]:
        """Return whose laws a, b and c are near an output that is no kink."""
        return self.first, self.second, self.holder(output)

    @property
    def is_law(self) -> bool:
        """Whether c is a law, so that nothing is left over."""
        return len(self.holders) == 1


def laplace_decomposition(
    rate: Fraction, place: Place, points: Sequence[float] | None = None
) -> Decomposition:
    r"""Return that of noise with the density :math:`\frac\kappa2e^{-\kappa|z|}`.

    Args:
        rate: kappa.
        place: the inputs.
        points: where to cut; evenly in the square root of ratios if not given.

    >>> ends = Fraction(0), Fraction(1)
    >>> d = laplace_decomposition(Fraction(1), Place(*ends, holders=ends))
    >>> round(float(d.residual), 6) == round(1 - math.exp(-0.5), 6)
    True
    """
    with precision():
        cells, cut_at = [], [float(place.kinks[0])]
        for low, high in pairwise(place.kinks):
            if points is None:
                inner = _exponential_points(place, low, high, float(rate))
            else:
                inner = [y for y in points if low < y < high]
            edges = [ball(low), *map(arb, inner), ball(high)]
            inputs = place.inputs((low + high) / 2)
            tails = [[_decay(rate, x, low, y) for y in edges] for x in inputs]
            logs = [_logs(rate, inputs, low, y) for y in edges]
            for i in range(len(edges) - 1):
                a, b, c = (abs(tail[i] - tail[i + 1]) / 2 for tail in tails)
                cells.append(Cell(a, b, c, logs[i], logs[i + 1]))
            cut_at += map(float, edges[1:])
        ends = [_end(rate, place, end, arb(2)) for end in _outer(place)]
        return decompose_cells(
            cells,
            ends,
            is_law=place.is_law,
            cut_at=cut_at,
            again=lambda chosen: laplace_decomposition(rate, place, chosen),
        )


def discrete_laplace_decomposition(rate: Fraction, place: Place) -> Decomposition:
    r"""Return that of :math:`P(Z=z)=\tanh(\kappa/2)\,e^{-\kappa|z|}`, z whole.

    A run of outputs that no input separates has a geometric sum for its mass. All outputs beyond
    the outermost input count as that input itself.
    """
    with precision():
        norm = 1 + (-ball(rate)).exp()
        cells = []
        for low, start, stop in _runs(place, rate):
            inputs = place.inputs((start + stop) / 2)
            a, b, c = (_run(rate, abs(start - x), abs(stop - x)) / norm for x in inputs)
            logs = [_logs(rate, inputs, low, ball(y)) for y in (start, stop)]
            cells.append(Cell(a, b, c, logs[0], logs[1] if start < stop else None))
        ends = [_end(rate, place, end, norm) for end in _outer(place)]
        return decompose_cells(cells, ends, is_law=place.is_law)


def normal_decomposition(
    sigma: Fraction, place: Place, points: Sequence[float] | None = None
) -> Decomposition:
    """Return that of normal noise; there must be two different inputs in all.

    With three of them ratios do not run along a segment.

    Args:
        sigma: the standard deviation.
        place: the inputs.
        points: where to cut; what lies beyond the first and the last one is a tail.
    """
    low, high = place.kinks[0], place.kinks[-1]
    if len({place.first, place.second, *place.holders}) != 2:
        raise ValueError(f"normal noise knows two inputs at a time, got {place!r}")
    centre = (low + high) / 2
    if points is None:
        points = _normal_points(float(centre), float(sigma))
    with precision():
        scale, middle = ball(sigma), ball(centre)
        edges = [arb(y) for y in points if y < centre] + [middle]
        at_centre = len(edges) - 1
        edges += [arb(y) for y in points if y > centre]
        root = scale * arb(2).sqrt()
        above = {x: [((y - ball(x)) / root).erfc() / 2 for y in edges] for x in (low, high)}
        below = {x: [((ball(x) - y) / root).erfc() / 2 for y in edges] for x in (low, high)}
        slope = ball((low - high) / sigma**2)  # of log R(low)/R(high)
        levels = [slope * (y - middle) for y in edges]

        def mass(x: Fraction, i: int) -> arb:
            inner = above[x][i] - above[x][i + 1], below[x][i + 1] - below[x][i]
            return inner[0] if edges[i] > ball(x) else inner[1]

        def log_ratio(x: Fraction, v: Fraction, i: int) -> arb:
            return _ZERO if x == v else levels[i] if x == low else -levels[i]

        cells = []
        for i in range(len(edges) - 1):
            a, b, v = place.inputs(low if i < at_centre else high)
            logs = [(log_ratio(a, v, j), log_ratio(b, v, j)) for j in (i, i + 1)]
            cells.append(Cell(mass(a, i), mass(b, i), mass(v, i), logs[0], logs[1]))
        tails = []
        for end, beyond, i in ((low, below, 0), (high, above, -1)):
            first, second, holder = (beyond[x][i] for x in place.inputs(end))
            tails.append((first, second, holder))
        return decompose_cells(
            cells,
            (),
            tails,
            is_law=place.is_law,
            cut_at=[float(y) for y in edges],
            again=lambda chosen: normal_decomposition(sigma, place, chosen),
        )


#: One object, so that ratios which are equal are known to be.
_ZERO = arb(0)


def _exp(exponent: Fraction) -> arb:
    return ball(exponent).exp()


def _run(rate: Fraction, start: Fraction, stop: Fraction) -> arb:
    """Return the sum of e^(-rate k) over whole numbers k between two of them, times 1 - e^-rate."""
    return _exp(-rate * min(start, stop)) - _exp(-rate * (max(start, stop) + 1))


def _outer(place: Place) -> list[Fraction]:
    """Return the outermost inputs."""
    return [place.kinks[0], place.kinks[-1]]


def _decay(rate: Fraction, x: Fraction, low: Fraction, y: arb) -> arb:
    """Return e^(-rate |y - x|) in an interval from ``low`` on that does not hold x inside."""
    distance = y - ball(x) if x <= low else ball(x) - y
    return (-ball(rate) * distance).exp()


def _logs(
    rate: Fraction, inputs: tuple[Fraction, Fraction, Fraction], low: Fraction, y: arb
) -> Logs:
    """Return the logs of a/c and b/c at an output of an interval that begins at ``low``."""
    first, second, v = inputs

    def log_ratio(x: Fraction) -> arb:
        if x == v:
            return _ZERO
        if (x <= low) == (v <= low):
            return ball(rate * (x - v if x <= low else v - x))
        change = ball(rate) * (2 * y - ball(x + v))
        return change if v <= low else -change

    log0 = log_ratio(first)
    return log0, log0 if first == second else log_ratio(second)


def _end(rate: Fraction, place: Place, end: Fraction, norm: arb) -> Cell:
    """Return the atom of all outputs beyond the outermost input."""
    inputs = place.inputs(end)
    a, b, c = (_exp(-rate * abs(x - end)) / norm for x in inputs)
    v = inputs[2]
    log0, log1 = (
        _ZERO if x == v else ball(rate * (abs(end - v) - abs(end - x))) for x in inputs[:2]
    )
    return Cell(a, b, c, (log0, log0 if place.first == place.second else log1))


def _count(level: float) -> int:
    return _CELLS + math.ceil(_CELLS_PER_LEVEL * level)


def _exponential_points(place: Place, low: Fraction, high: Fraction, rate: float) -> list[float]:
    """Cut an interval evenly in the square root of the ratios, which grow away from the holder."""
    length, start = float(high - low), float(low)
    count = _count(rate * length)
    grown = math.expm1(rate * length)
    steps = [math.log1p(grown * i / count) / rate for i in range(1, count)]
    if place.holder((low + high) / 2) >= high:
        steps = [length - step for step in reversed(steps)]
    return [y for step in steps if low < (y := start + step) < high]


def _runs(place: Place, rate: Fraction) -> Iterator[tuple[Fraction, Fraction, Fraction]]:
    """Yield runs of whole outputs strictly between the outermost inputs, no kink inside a run.

    Each with the kink from which on it lies.
    """
    for low, high in pairwise(place.kinks):
        first, last = math.floor(low) + 1, math.ceil(high) - 1
        count = _count(float(rate * (high - low)))
        size = max(1, -(-(last - first + 1) // count))
        for start in range(first, last + 1, size):
            yield low, Fraction(start), Fraction(min(start + size - 1, last))
    for kink in place.kinks[1:-1]:
        if kink.denominator == 1:
            yield kink, kink, kink


def _normal_points(centre: float, sigma: float) -> list[float]:
    """Cut outputs evenly near the middle, and in ever longer steps farther out."""
    distances = [0.0]
    while distances[-1] < _FAR:
        distances.append(distances[-1] + _WIDTH * max(1.0, distances[-1] / _NEAR))
    right = [sigma * d for d in distances[1:]]
    return [*(centre - y for y in reversed(right)), *(centre + y for y in right)]
