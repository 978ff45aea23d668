r"""Types of background for normal noise on [0, 1], in balls: for all pairs and all inputs.

Let :math:`s=1/\sigma`. By reflection x < x'. Normal noise is self-decomposable, so three families
stand for all pairs and inputs (:mod:`shuffledp.mechanisms.noise.interval_types`): v in [0, 1] with
the pair (0, 1); v = 0 on the left of a pair :math:`(\xi,1)`; v = 1 on the right of a pair (0, d).
Of the latter two every one is dominated by the types of v = 0 and v = 1 among the first.

*Between.* Others hold v in [0, 1]. Let :math:`h_i\le R(v_i)` for inputs :math:`0=v_0<v_1<\dots`. If
:math:`(1-t)h_i+th_{i+1}\le R(v)`, then the law of g/R(v) is dominated in convex order by the
mixture of those of :math:`g/h_i` and :math:`g/h_{i+1}` with the masses h and an atom at 0 for the
rest, because :math:`(g,h)\mapsto h\varphi(g/h)` is convex. So these laws are the types. Let v be at
the share t between a and b, y nearer to a, and :math:`q=\log\frac{R(a)}{R(b)}(y)\ge0`. R(v) is at
least the geometric mean :math:`R(b)e^{(1-t)q}\ge R(b)(1+(1-t)q)`. So :math:`h_b=R(b)` and
:math:`h_a=R(b)(1+q)` will do there, :math:`R(a)e^{-x}` with :math:`x=q-\log(1+q)`. Of two
neighbours the worse one counts. Every larger x will do, too, for example a chord: x is convex in y.

*On the left* the law of the gain, g/R(v) under R(v), is dominated by that of the pair (0, 1), in
convex order, if :math:`\varepsilon\ge\frac{s^2}2-1-\log\frac{s^2}2` or :math:`s^2\le2`. For S with
:math:`G>t` (or :math:`G<t`), :math:`E(G-t)_+=R(\xi)(S)-\lambda R(1)(S)-tR(0)(S)`, and the pair (0,
1) attains that for at least one other set S'. For :math:`t\le0` take S' = S, an upper half-line:
:math:`R(\xi)(S)\ge R(0)(S)`. For t > 0 take the lower half-line with R(0)(S') = R(0)(S), which has
the least R(1)(S'); S is an interval, and :math:`R(\xi)(S)\le R(0)(S)` if its middle is below
:math:`\xi/2`. It is, if the gain at :math:`\xi/2+y` is never above that at :math:`\xi/2-y`, that is
:math:`\sinh(\xi s^2y)\le\lambda e^{-s^2(1-\xi)/2}\sinh(s^2y)`: if
:math:`\varepsilon\ge\frac{s^2}2(1-\xi)+\log\xi`, whose largest value is the one above.

*On the right* the same argument with :math:`t\ge0` and t < 0 exchanged shows that a pair (0, d) is
dominated by (0, 1) if :math:`\varepsilon\le-\log(1-d)-\frac{s^2}2d`. Let d* be such a d, from which
on that grows. Nearer pairs are compared with mixtures of the types 0 and 1, those between
:math:`d_2=(1-\tau)d_1` and d1 with one of them. For t >= 0 their :math:`E(G-t)_+` is at most that
of d1, because R(d)(S) falls with d for an upper half-line S. For t < 0 their :math:`E(t-G)_+` is at
most that of R(0) less :math:`\lambda e^{(d_1s)^2/8}` times the larger one of R(d1) and
:math:`(1-\tau)R(d_1)+\tau R(0)`: log R(d) is quadratic in d, and the geometric mean of R(d1) and
R(0) below the arithmetic one. What these exceed those of the mixture by, at one of its atoms, E(G -
t)_+ exceeds nowhere by more, and n slots together add no more than that to delta.

In a cell of outputs, in which log h/R(v) is linear, the ratios :math:`(R(0)/h,R(d)/h)` run along a
curve :math:`(e^{\alpha y},e^{\beta y})`, which bends in one direction only. It lies in the triangle
of its ends and the point where the tangents at them meet, among whose corners the mass is split
with the same mean: a law above the true one in convex order.

The ratios are unbounded. Outputs more than :math:`z\sigma` away from the pair count as the
outermost ones. Where the gain falls by that, a slot loses at most :math:`E[G_+]` there, which is
what the user in question has there: since :math:`(a+b)_+\le a_++b_+`, delta loses at most
:math:`\bar\Phi(z)` on each side, and for slot 0 that divided by :math:`\gamma n`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise, takewhile

import numpy as np
from flint import arb, fmpq

from shuffledp.basics.arrays import FloatArray
from shuffledp.basics.balls import ball, precision, total, upper_double
from shuffledp.decomposition.decomposition import Component, Decomposition
from shuffledp.mechanisms.base import SlotLaws

#: z, and how far from a pair cells begin to grow, in standard deviations.
_FAR, _NEAR = 12.0, 3.0

#: Width of cells near a pair, in standard deviations.
_WIDTH = 0.12

#: The distance of an end point and the next input that has a type, in standard deviations.
_STEP = 0.1

#: Shares of the type 0 in mixtures that nearer pairs are compared with; beyond this level none are.
_SHARES, _MOST_EPSILON = np.geomspace(1e-6, 0.5, 24), 1.0

#: Bits that are needed where a triangle is small: with much noise its ratios hardly change.
_PRECISION = 256

#: Sums of positive doubles are known better than that, relatively.
_SURE = 1e-11

#: Distances of nearer pairs. Ranges of them are two steps long; the last of so many holds all
#: others.
_DISTANCES = [Fraction(2.0 ** (-i / 4)) for i in range(1, 200)]
_RANGES = 8


@dataclass(frozen=True)
class _Type:
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


def normal_types(sigma: Fraction) -> SlotLaws:
    """Return the laws of all slots.

    >>> found = normal_types(Fraction(1))
    >>> len(found.backgrounds), found.rest(0.01) < 1e-20
    (4, True)
    """
    inputs = _inputs(sigma)
    spans = list(pairwise(inputs))
    kinds = [
        _Type(Fraction(1), v, tuple(spans[max(i - 1, 0) : i + 1])) for i, v in enumerate(inputs)
    ]
    blanket = _decompose(sigma, _middle(Fraction(1), Fraction(0), Fraction(1)))
    types = tuple(_decompose(sigma, kind) for kind in kinds)
    with precision():
        tail = upper_double(_beyond(arb(_FAR)) * (20 + 2 / blanket.mass))
    return SlotLaws(blanket, types, rest=_Rest(sigma, types[0], types[-1], tail))


def _inputs(sigma: Fraction) -> list[Fraction]:
    """Return the inputs that have types; near 1, whose gains are largest, they matter most."""
    step, third = sigma * Fraction(_STEP), Fraction(1, 3)
    inner = [third, 1 - min(step, third)] if step < 1 else []
    return [Fraction(0), *inner, Fraction(1)]


def _middle(distance: Fraction, low: Fraction, high: Fraction) -> _Type:
    """Return the type of the smaller one of two laws."""
    return _Type(distance, (low + high) / 2, ((low, high),))


@dataclass(frozen=True, eq=False)
class _Rest:
    """By how much other pairs, and large ratios, may exceed what the types give.

    Attributes:
        sigma: the standard deviation.
        near: the type of 0.
        far: the type of 1.
        tail: what outputs far from a pair may add.
    """

    sigma: Fraction
    near: Decomposition
    far: Decomposition
    tail: float

    @lru_cache(maxsize=256)  # noqa: B019
    def __call__(self, epsilon: float) -> float:
        """Return it at an epsilon; infinite if it is not known."""
        with precision():
            half = 1 / (2 * ball(self.sigma) ** 2)
            known = half <= 1 or half - 1 - half.log() <= epsilon
            distances = self._distances(epsilon)
            if not (0 <= epsilon <= _MOST_EPSILON and known and distances):
                return math.inf
            mean = 1 - arb(epsilon).exp()
            laws = [part.at(epsilon).upper for part in (self.near, self.far)]
            missing = upper_double(max((mean - law.mean).upper() for law in laws))
        doubles = [(law.values, law.masses) for law in laws]
        found = 0.0
        for distance, following in pairwise([*distances, Fraction(0)]):
            with precision():
                stretch = upper_double((ball(distance / self.sigma) ** 2 / 8 + epsilon).exp())
                near = upper_double(1 - ball(following / distance))
            apart = _decompose(self.sigma, _middle(distance, distance - 1, distance - 1)).swap()
            found = max(found, _excess(apart, doubles, epsilon, stretch, near))
        return found + max(missing, 0.0) + self.tail

    def _distances(self, epsilon: float) -> list[Fraction]:
        """Return d* and the ends of ranges of nearer pairs; none if no d* is known."""
        least = max(1 - 2 * self.sigma**2, _DISTANCES[-1])
        dominated = 0
        for distance in takewhile(lambda d: d >= least, _DISTANCES):
            level = -(1 - ball(distance)).log() - ball(distance / (2 * self.sigma**2))
            if not level >= epsilon:
                break
            dominated += 1
        return _DISTANCES[dominated - 1 :: 2][:_RANGES] if dominated else []


def _excess(
    apart: Decomposition,
    ends: list[tuple[FloatArray, FloatArray]],
    epsilon: float,
    stretch: float,
    near: float,
) -> float:
    """Bound by how much E(G - t)_+ of nearer pairs exceeds that of a mixture, for the best share.

    Args:
        apart: the law of the farthest of these pairs.
        ends: the laws of G of the types 0 and 1.
        epsilon: the level.
        stretch: the factor of what R(d) is below, and of lambda.
        near: tau, rounded up.
    """
    at = np.concatenate([*(values for values, _ in ends), [0.0]])
    above, below = at[at >= 0][:, None], at[at <= 0][:, None]
    first, second = apart.ratio0, apart.ratio1
    gains = first - math.exp(epsilon) * second
    upper = np.maximum(gains - above, 0.0) @ apart.weight
    largest = np.maximum(second, (1 - near) * second + near * first)
    lower = np.maximum(below + stretch * largest - first, 0.0) @ apart.weight
    calls = [np.maximum(values - above, 0.0) @ masses for values, masses in ends]
    puts = [np.maximum(below - values, 0.0) @ masses for values, masses in ends]
    excesses = [
        max(
            float((side * (1 + _SURE) - (share * x + (1 - share) * y) * (1 - _SURE)).max())
            for side, (x, y) in ((upper, calls), (lower, puts))
        )
        for share in _SHARES
    ]
    return max(min(excesses), 0.0)


def _exact(x: Fraction) -> fmpq:
    return fmpq(*x.as_integer_ratio())


def _beyond(z: arb) -> arb:
    """Return the mass of the standard normal law beyond z."""
    return (z / arb(2).sqrt()).erfc() / 2


def _outputs(kind: _Type, sigma: float) -> list[Fraction]:
    """Cut evenly near the pair, and in ever longer steps farther out."""
    width = _WIDTH * sigma
    half, far, centre = float(kind.distance) / 2, _FAR * sigma, kind.distance / 2
    count = math.ceil((half + _NEAR * sigma) / width)
    steps = [(half + _NEAR * sigma) * i / count for i in range(1, count + 1)]
    while steps[-1] - half < far:
        steps.append(steps[-1] + (steps[-1] - half) * width / (_NEAR * sigma))
    sides = (centre + sign * Fraction(step) for step in steps for sign in (-1, 1))
    return sorted({centre, kind.holder, *sides})


@lru_cache(maxsize=1024)
def _decompose(sigma: Fraction, kind: _Type) -> Decomposition:
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
            weights[0] += _beyond(arb((high - outputs[0]) / scale))
            weights[-1] += _beyond(arb((outputs[-1] - low) / scale))
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
        return cls(_beyond(arb(abs(y - x) / sigma)), y > x)

    def __sub__(self, other: _Tail) -> arb:
        """Return the mass between two outputs, the smaller one first."""
        if self.is_above == other.is_above:
            return self.mass - other.mass if self.is_above else other.mass - self.mass
        return 1 - self.mass - other.mass
