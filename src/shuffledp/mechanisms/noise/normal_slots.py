r"""One slot before normal noise, in balls: the law of the ratios of a pair, a little thinned.

In a cell of outputs, in which log h/R(v) is linear, the ratios :math:`(R(0)/h,R(d)/h)` run along a
curve :math:`(e^{\alpha y},e^{\beta y})`, which bends in one direction only. It lies in the triangle
of its ends and the point where the tangents at them meet, among whose corners the mass is split
with the same mean: a law above the true one in convex order.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise

from flint import arb, fmpq

from shuffledp.basics.balls import precision, total, upper_double
from shuffledp.decomposition.decomposition import Component, Decomposition

#: z, and how far from a pair cells begin to grow, in standard deviations.
FAR, _NEAR = 12.0, 3.0

#: Width of cells near a pair, in standard deviations.
_WIDTH = 0.12

#: Bits that are needed where a triangle is small: with much noise its ratios hardly change.
_PRECISION = 256


@dataclass(frozen=True)
class NormalType:
    """h = R(holder) e^(-x): the pair is (0, distance).

    Attributes:
        distance: of the pair.
        holder: the input whose law is thinned.
        spans: ranges of inputs that end at the holder, or one whose middle it is: then h is the
            smaller one of the laws of its ends.
    """

    distance: Fraction
    holder: Fraction
    spans: tuple[tuple[Fraction, Fraction], ...]

    @property
    def is_middle(self) -> bool:
        """Whether h is the smaller one of two laws."""
        return sum(self.spans[0]) == 2 * self.holder

    def lost(self, y: fmpq, variance: fmpq) -> fmpq:
        """Return x at an output, rounded up."""
        if self.is_middle:
            width = _exact(self.spans[0][1] - self.spans[0][0])
            return (4 * abs(y - _exact(self.holder)) * width + width * width) / (8 * variance)
        largest = 0.0
        for low, high in self.spans:
            far = _exact((low + high) / 2) - y
            q = arb((far if self.holder == low else -far) * _exact(high - low) / variance)
            if q > 0:
                largest = max(largest, upper_double(q - q.log1p()))
        return _exact(Fraction(largest))


def _exact(x: Fraction) -> fmpq:
    return fmpq(*x.as_integer_ratio())


def beyond(z: arb) -> arb:
    """Return the mass of the standard normal law beyond z."""
    return (z / arb(2).sqrt()).erfc() / 2


def _outputs(kind: NormalType, sigma: float) -> list[Fraction]:
    """Cut evenly near the pair, and in ever longer steps farther out."""
    width = _WIDTH * sigma
    half, far, centre = float(kind.distance) / 2, FAR * sigma, kind.distance / 2
    count = math.ceil((half + _NEAR * sigma) / width)
    steps = [(half + _NEAR * sigma) * i / count for i in range(1, count + 1)]
    while steps[-1] - half < far:
        steps.append(steps[-1] + (steps[-1] - half) * width / (_NEAR * sigma))
    sides = (centre + sign * Fraction(step) for step in steps for sign in (-1, 1))
    return sorted({centre, kind.holder, *sides})


@lru_cache(maxsize=1024)
def decompose(sigma: Fraction, kind: NormalType) -> Decomposition:
    """Return the law of a type, its cells split between the corners of triangles."""
    scale, v = _exact(sigma), _exact(kind.holder)
    variance, inputs = scale * scale, (fmpq(0), _exact(kind.distance))
    outputs = [_exact(y) for y in _outputs(kind, float(sigma))]
    with precision(_PRECISION):
        lost = [kind.lost(y, variance) for y in outputs]
        tails = [[_Tail.of(y, x, scale) for y in outputs] for x in inputs]
        logs = [
            [arb((x - v) * (2 * y - x - v) / (2 * variance) + less) for x in inputs]
            for y, less in zip(outputs, lost, strict=True)
        ]
        weights, components = [arb(0)] * len(outputs), []
        for i, (start, stop) in enumerate(pairwise(outputs)):
            bend = (lost[i] - lost[i + 1]) / (stop - start)  # of log h/R(v)
            moved = v + bend * variance  # h is a multiple of R(moved)
            factor = arb(bend * (v - start) + bend * bend * variance / 2 - lost[i]).exp()
            c = factor * (_Tail.of(start, moved, scale) - _Tail.of(stop, moved, scale))
            slopes = [(x - v) / variance - bend for x in inputs]
            means = [
                (tail[i] - tail[i + 1]) / (c * log.exp()) - 1
                for tail, log in zip(tails, logs[i], strict=True)
            ]
            at_stop, corner = _split([arb(slope) for slope in slopes], means, arb(stop - start))
            if corner is not None:
                place, share = corner
                log0, log1 = (x + y.log1p() for x, y in zip(logs[i], place, strict=True))
                components.append(Component(log0, log1, c * share))
                weights[i] -= c * share
            weights[i] += c * (1 - at_stop)
            weights[i + 1] += c * at_stop
        if kind.is_middle:  # all else is beyond
            low, high = map(_exact, kind.spans[0])
            weights[0] += beyond(arb((high - outputs[0]) / scale))
            weights[-1] += beyond(arb((outputs[-1] - low) / scale))
        components += [
            Component(log0, log1, weight)
            for (log0, log1), weight in zip(logs, weights, strict=True)
        ]
        return Decomposition(tuple(components), 1 - total(c.weight for c in components))


def _split(
    slopes: list[arb], means: list[arb], length: arb
) -> tuple[arb, tuple[list[arb], arb] | None]:
    """Split the mass of a cell whose ratios begin at 1, and have means above 1 by so much.

    Return the share of the last output, and where the tangents meet, above 1 by so much, and its
    share; None where the ratios run along a segment.
    """
    p, q = slopes
    u, v = ends = [(slope * length).expm1() for slope in slopes]
    for i in (0, 1):
        if slopes[1 - i].is_zero():
            return means[i] / ends[i], None
    t = (u * (1 + v) * q - v * (1 + u) * p) / (p * q * (v - u))
    turn = u * q - v * p
    at_stop = (means[0] * q - means[1] * p) / turn
    return at_stop, ([p * t, q * t], (u * means[1] - v * means[0]) / (turn * t))


@dataclass(frozen=True)
class _Tail:
    """The mass above an output, or that below it, whichever is smaller."""

    mass: arb
    is_above: bool

    @classmethod
    def of(cls, y: fmpq, x: fmpq, sigma: fmpq) -> _Tail:
        """Return that of R(x)."""
        return cls(beyond(arb(abs(y - x) / sigma)), y > x)

    def __sub__(self, other: _Tail) -> arb:
        """Return the mass between two outputs, the smaller one first."""
        if self.is_above == other.is_above:
            return self.mass - other.mass if self.is_above else other.mass - self.mass
        return 1 - self.mass - other.mass
