r"""Types of background for normal noise on [0, 1], in balls: for all pairs and all inputs.

Let :math:`s=1/\sigma`. By reflection x < x'. Normal noise is self-decomposable, so three families
stand for all pairs and inputs (:mod:`shuffledp.mechanisms.noise.interval_types`): v in [0, 1] with
the pair (0, 1); v = 0 on the left of a pair :math:`(\xi,1)`; v = 1 on the right of a pair (0, d).

*Between.* Others hold v in [0, 1]. Let :math:`h_i\le R(v_i)` for inputs :math:`0=v_0<v_1<\dots`. If
:math:`(1-t)h_i+th_{i+1}\le R(v)`, then the law of g/R(v) is dominated in convex order by the mixture
of those of :math:`g/h_i` and :math:`g/h_{i+1}` with the masses h and an atom at 0 for the rest,
because :math:`(g,h)\mapsto h\varphi(g/h)` is convex. So these laws are the types. With v at the share
t between inputs w apart, m their middle, R(v) is at least the geometric mean of their laws, and by
Hoeffding's lemma the arithmetic mean is at most :math:`e^{q^2/8}` times the geometric one, q the
logarithm of their ratio: :math:`h=R(v_i)e^{-w^2s^4(y-m)^2/8}` will do, with the worse one of two
neighbours. Of a bound that is concave in y the logarithm may be replaced by its chords.

*On the left* the law of the gain, g/R(v) under R(v), is dominated by that of the pair (0, 1), in
convex order, if :math:`\varepsilon\ge\frac{s^2}2-1-\log\frac{s^2}2` or :math:`s^2\le2`. For S with
:math:`G>t` (or :math:`G<t`), :math:`E(G-t)_+=R(\xi)(S)-\lambda R(1)(S)-tR(0)(S)`, and the pair
(0, 1) attains that for at least one other set S'. For :math:`t\le0` take S' = S, an upper half-line:
:math:`R(\xi)(S)\ge R(0)(S)`. For t > 0 take the lower half-line with R(0)(S') = R(0)(S), which has
the least R(1)(S'); S is an interval, and :math:`R(\xi)(S)\le R(0)(S)` if its middle is below
:math:`\xi/2`. It is, if the gain at :math:`\xi/2+y` is never above that at :math:`\xi/2-y`, that is
:math:`\sinh(\xi s^2y)\le\lambda e^{-s^2(1-\xi)/2}\sinh(s^2y)`: if
:math:`\varepsilon\ge\frac{s^2}2(1-\xi)+\log\xi`, whose largest value is the one above.

*On the right* the same argument with :math:`t\ge0` and t < 0 exchanged shows that a pair (0, d) is
dominated by (0, 1) if :math:`\varepsilon\le-\log(1-d)-\frac{s^2}2d`. Nearer pairs have types of their
own: v = 1 and d in [a, b] scaled to the pair (0, b) and v in [1, b/a], whose laws are at least the
smaller one h of those at both ends. Pairs that are so
near that one user alone is protected need none: beyond the level
:math:`dzs+\frac{(ds)^2}2` a pair reveals no more than :math:`\bar\Phi(z)`.

In a cell of outputs, in which log h/R(v) is linear, the ratios :math:`(R(0)/h,R(d)/h)` run along a curve
:math:`(e^{\alpha y},e^{\beta y})`, which bends in one direction only. It lies in the triangle of its
ends and the point where the tangents at them meet, among whose corners the mass is split with the
same mean: a law above the true one in convex order.

The ratios are unbounded. Outputs more than :math:`z\sigma` away from the pair count as the outermost
ones. Where the gain falls by that, a slot loses at most :math:`E[G_+]` there, which is what the user
in question has there: since :math:`(a+b)_+\le a_++b_+`, delta loses at most :math:`\bar\Phi(z)` on
each side, and for slot 0 that divided by :math:`\gamma n`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise

from flint import arb

from shuffledp.basics.balls import ball, precision, total, upper_double
from shuffledp.decomposition.decomposition import Component, Decomposition
from shuffledp.mechanisms.base import SlotLaws

#: z, and how far from a pair cells begin to grow, in standard deviations.
_FAR, _NEAR = 12.0, 3.0

#: Width of cells in standard deviations: of the end points, and of types far below them.
_WIDTH, _COARSE_WIDTH = 0.12, 0.4

#: The distance of an end point and the next input that has a type, in standard deviations, and by
#: how much the next distances are longer.
_STEP, _LONGER = 0.06, 3

#: Pairs this far apart or more have no type on the right. How far from the middle those of others
#: may be as large as the end point's, in standard deviations, and which share they use up.
_CLOSE, _TAIL, _SHARE_OF_TAIL = Fraction(19, 20), 5.0, 0.5


@dataclass(frozen=True)
class _Type:
    """h = R(holder) e^(-x): the pair is (0, distance).

    Attributes:
        distance: of the pair.
        holder: the input whose law is thinned.
        spans: ranges of inputs. If the holder is an end of one or two, x is the largest
            :math:`w^2s^4(y-m)^2/8`. If it is the middle of one, h is the smaller law of its ends.
        is_far_below: whether accuracy does not matter.
    """

    distance: Fraction
    holder: Fraction
    spans: tuple[tuple[Fraction, Fraction], ...]
    is_far_below: bool = False

    @property
    def is_middle(self) -> bool:
        """Whether h is the smaller one of two laws."""
        return sum(self.spans[0]) == 2 * self.holder

    @property
    def top(self) -> Fraction:
        """The output at which x is smallest."""
        if len(self.spans) == 1:
            return sum(self.spans[0]) / 2
        (low, _), (_, high) = self.spans
        return (low + high) / 2

    def lost(self, y: Fraction, variance: Fraction) -> Fraction:
        """Return x at an output."""
        far, width = max((abs(y - (a + b) / 2) * (b - a), b - a) for a, b in self.spans)
        if self.is_middle:
            return (4 * far + width**2) / (8 * variance)
        return (far / variance) ** 2 / 8


def normal_types(sigma: Fraction) -> SlotLaws:
    """Return the laws of all slots.

    >>> found = normal_types(Fraction(1))
    >>> len(found.backgrounds), found.rest < 1e-30
    (6, True)
    """
    inputs = list(_inputs(sigma))
    spans = list(pairwise(inputs))
    kinds = [
        _Type(Fraction(1), v, tuple(spans[max(i - 1, 0) : i + 1])) for i, v in enumerate(inputs)
    ]
    blanket = _decompose(sigma, _middle(Fraction(1), Fraction(0), Fraction(1)))
    with precision():
        rest = upper_double(_beyond(arb(_FAR)) * (3 + 2 / blanket.mass))
    types = tuple(_decompose(sigma, kind) for kind in kinds)
    return SlotLaws(blanket, types, rest=rest, nearer=_Nearer(sigma))


def _inputs(sigma: Fraction) -> Iterator[Fraction]:
    """Yield the inputs that have types, from 0 to 1, symmetrically."""
    left, step = [Fraction(0)], sigma * Fraction(_STEP)
    while left[-1] + step < Fraction(1, 2):
        left.append(left[-1] + step)
        step *= _LONGER
    yield from left
    yield from (1 - x for x in reversed(left))


def _middle(distance: Fraction, low: Fraction, high: Fraction) -> _Type:
    """Return the type of the smaller one of two laws."""
    far_below = distance < 1
    return _Type(distance, (low + high) / 2, ((low, high),), is_far_below=far_below)


@dataclass(frozen=True)
class _Nearer:
    """The types on the right of a pair that (0, 1) does not dominate."""

    sigma: Fraction

    def __call__(self, epsilon: float) -> tuple[Decomposition, ...] | None:
        """Return those at an epsilon; None if they, or types on the left, are not known."""
        with precision():
            half = 1 / (2 * ball(self.sigma) ** 2)
            if not (half <= 1 or half - 1 - half.log() <= epsilon):
                return None
            if not (2 * half * (1 - ball(_CLOSE)) <= 1 and epsilon <= self._dominated(_CLOSE)):
                return None
            kinds = []
            for kind, following in self._kinds():
                level = ball(kind.distance / self.sigma)
                if level * _FAR + level * level / 2 <= epsilon:
                    break
                if not epsilon <= self._dominated(following):
                    kinds.append(kind)
        return tuple(_decompose(self.sigma, kind).swap() for kind in kinds)

    def _dominated(self, distance: Fraction) -> arb:
        """Return up to which epsilon (0, 1) dominates the pair and, where that grows, wider ones."""
        return -(1 - ball(distance)).log() - ball(distance / (2 * self.sigma**2))

    def _kinds(self) -> Iterator[tuple[_Type, Fraction]]:
        """Yield all kinds, seen from the left, with the distance from which on they are needed."""
        scale, distance = float(self.sigma), _CLOSE
        while True:
            tail = math.exp(-_TAIL * float(distance) / scale)
            width = -scale * _SHARE_OF_TAIL / _TAIL * math.log1p(-tail)
            following = Fraction(float(distance / (1 + Fraction(min(width, scale)))))
            furthest = distance - distance / following
            yield _middle(distance, furthest, distance - 1), following
            distance = following


def _beyond(z: arb) -> arb:
    """Return the mass of the standard normal law beyond z."""
    return (z / arb(2).sqrt()).erfc() / 2


def _outputs(kind: _Type, sigma: float) -> list[Fraction]:
    """Cut evenly near the pair, and in ever longer steps farther out."""
    width = (_COARSE_WIDTH if kind.is_far_below else _WIDTH) * sigma
    half, far, centre = float(kind.distance) / 2, _FAR * sigma, kind.distance / 2
    count = math.ceil((half + _NEAR * sigma) / width)
    steps = [(half + _NEAR * sigma) * i / count for i in range(1, count + 1)]
    while steps[-1] - half < far:
        steps.append(steps[-1] + (steps[-1] - half) * width / (_NEAR * sigma))
    sides = (centre + sign * Fraction(step) for step in steps for sign in (-1, 1))
    return sorted({centre, kind.top, *sides})


@lru_cache(maxsize=1024)
def _decompose(sigma: Fraction, kind: _Type) -> Decomposition:
    """Return the law of a type, its cells split between the corners of triangles."""
    variance, v, inputs = sigma**2, kind.holder, (Fraction(0), kind.distance)
    outputs = _outputs(kind, float(sigma))
    lost = [kind.lost(y, variance) for y in outputs]
    with precision():
        tails = [[_Tail.of(y, x, sigma) for y in outputs] for x in inputs]
        logs = [
            [ball((x - v) * (2 * y - x - v) / (2 * variance) + less) for x in inputs]
            for y, less in zip(outputs, lost, strict=True)
        ]
        weights, components = [arb(0)] * len(outputs), []
        for i, (start, stop) in enumerate(pairwise(outputs)):
            bend = (lost[i] - lost[i + 1]) / (stop - start)  # of log h/R(v)
            moved = v + bend * variance  # h is a multiple of R(moved)
            factor = ball(bend * (v - start) + bend**2 * variance / 2 - lost[i]).exp()
            c = factor * (_Tail.of(start, moved, sigma) - _Tail.of(stop, moved, sigma))
            slopes = [(x - v) / variance - bend for x in inputs]
            means = [
                (tail[i] - tail[i + 1]) / (c * log.exp()) - 1
                for tail, log in zip(tails, logs[i], strict=True)
            ]
            at_stop, corner = _split([ball(slope) for slope in slopes], means, ball(stop - start))
            if corner is not None:
                place, share = corner
                log0, log1 = (x + y.log1p() for x, y in zip(logs[i], place, strict=True))
                components.append(Component(log0, log1, c * share))
                weights[i] -= c * share
            weights[i] += c * (1 - at_stop)
            weights[i + 1] += c * at_stop
        if kind.is_middle:  # all else is beyond
            (low, high), (first, last) = kind.spans[0], (outputs[0], outputs[-1])
            weights[0] += _beyond(ball((high - first) / sigma))
            weights[-1] += _beyond(ball((last - low) / sigma))
        components += [Component(*both, weight) for both, weight in zip(logs, weights, strict=True)]
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
    def of(cls, y: Fraction, x: Fraction, sigma: Fraction) -> _Tail:
        """Return that of R(x)."""
        return cls(_beyond(ball(abs(y - x) / sigma)), y > x)

    def __sub__(self, other: _Tail) -> arb:
        """Return the mass between two outputs, the smaller one first."""
        if self.is_above == other.is_above:
            return self.mass - other.mass if self.is_above else other.mass - self.mass
        return 1 - self.mass - other.mass
