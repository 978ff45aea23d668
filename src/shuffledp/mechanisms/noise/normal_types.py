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
of d1, because R(d)(S) falls with d for a lower half-line S. For t < 0 their :math:`E(t-G)_+` is at
most that of R(0) less :math:`\lambda e^{(d_1s)^2/8}` times the larger one of R(d1) and
:math:`(1-\tau)R(d_1)+\tau R(0)`: log R(d) is quadratic in d, and the geometric mean of R(d1) and
R(0) below the arithmetic one. What these exceed those of the mixture by, at one of its atoms, E(G -
t)_+ exceeds nowhere by more, and n slots together add no more than that to delta. Doubles propose
the mixture; what it falls short by is computed in balls.

The ratios are unbounded. Outputs more than :math:`z\sigma` away from the pair count as the
outermost ones. Where the gain falls by that, a slot loses at most :math:`E[G_+]` there, which is
what the user in question has there: since :math:`(a+b)_+\le a_++b_+`, delta loses at most
:math:`\bar\Phi(z)` on each side, and for slot 0 that divided by :math:`\gamma n`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise, takewhile

import numpy as np
from flint import arb

from shuffledp.basics.arrays import FloatArray
from shuffledp.basics.balls import ball, precision, total, upper_double
from shuffledp.decomposition.decomposition import Decomposition
from shuffledp.engine.sums import Atom, Law
from shuffledp.mechanisms.base import SlotLaws
from shuffledp.mechanisms.noise.normal_slots import FAR, NormalType, beyond, decompose

#: The distance of an end point and the next input that has a type, in standard deviations.
_STEP = 0.1

#: Shares of the type 0 in mixtures that nearer pairs are compared with; beyond this level none are.
_SHARES, _MOST_EPSILON = np.geomspace(1e-6, 0.5, 24), 1.0

#: Distances of nearer pairs. Ranges are so many steps long; the last of so many holds all others.
_DISTANCES = [Fraction(2.0 ** (-i / 4)) for i in range(1, 200)]
_STEPS, _RANGES = 4, 3


def normal_types(sigma: Fraction) -> SlotLaws:
    """Return the laws of all slots.

    >>> found = normal_types(Fraction(1))
    >>> len(found.backgrounds), found.rest(0.01) < 1e-20
    (4, True)
    """
    inputs = _inputs(sigma)
    spans = list(pairwise(inputs))
    kinds = [
        NormalType(Fraction(1), v, tuple(spans[max(i - 1, 0) : i + 1]))
        for i, v in enumerate(inputs)
    ]
    blanket = decompose(sigma, _middle(Fraction(1), Fraction(0), Fraction(1)))
    types = tuple(decompose(sigma, kind) for kind in kinds)
    with precision():
        tail = upper_double(beyond(arb(FAR)) * (20 + 2 / blanket.mass))
        half = 1 / (2 * ball(sigma) ** 2)
        least = 0.0 if half <= 1 else upper_double(half - 1 - half.log())
    return SlotLaws(
        blanket, types, rest=_Rest(sigma, types[0], types[-1], tail, least), least=least
    )


def _inputs(sigma: Fraction) -> list[Fraction]:
    """Return the inputs that have types; near 1, whose gains are largest, they matter most."""
    step, third = sigma * Fraction(_STEP), Fraction(1, 3)
    inner = [third, 1 - min(step, third)] if step < 1 else []
    return [Fraction(0), *inner, Fraction(1)]


def _middle(distance: Fraction, low: Fraction, high: Fraction) -> NormalType:
    """Return the type of the smaller one of two laws."""
    return NormalType(distance, (low + high) / 2, ((low, high),))


@dataclass(frozen=True, eq=False)
class _Rest:
    """By how much other pairs, and large ratios, may exceed what the types give.

    Attributes:
        sigma: the standard deviation.
        near: the type of 0.
        far: the type of 1.
        tail: what outputs far from a pair may add.
        least: below this epsilon slots on the left are not dominated.
    """

    sigma: Fraction
    near: Decomposition
    far: Decomposition
    tail: float
    least: float

    @lru_cache(maxsize=256)  # noqa: B019
    def __call__(self, epsilon: float) -> float:
        """Return it at an epsilon; infinite if it is not known."""
        with precision():
            distances = self._distances(epsilon)
            if not (self.least <= epsilon <= _MOST_EPSILON and distances):
                return math.inf
            laws = [part.at(epsilon).upper for part in (self.near, self.far)]
            missing = max(upper_double(1 - arb(epsilon).exp() - law.mean) for law in laws)
            above, below = (_Ends.of(laws, sign) for sign in (1, -1))
            ranges = pairwise([*distances, Fraction(0)])
            excess = max(self._excess(above, below, epsilon, *both) for both in ranges)
            return upper_double(arb(max(excess, 0.0)) + max(missing, 0.0) + self.tail)

    def _distances(self, epsilon: float) -> list[Fraction]:
        """Return d* and the ends of ranges of nearer pairs; none if no d* is known."""
        least = max(1 - 2 * self.sigma**2, _DISTANCES[-1])
        dominated = 0
        for distance in takewhile(lambda d: d >= least, _DISTANCES):
            level = -(1 - ball(distance)).log() - ball(distance / (2 * self.sigma**2))
            if not level >= epsilon:
                break
            dominated += 1
        return _DISTANCES[dominated - 1 :: _STEPS][:_RANGES] if dominated else []

    def _excess(
        self, above: _Ends, below: _Ends, epsilon: float, distance: Fraction, following: Fraction
    ) -> float:
        """Bound by how much E(G - t)_+ of nearer pairs exceeds that of a mixture, for a good share.

        Args:
            above: the laws of G of the types 0 and 1.
            below: those of -G.
            epsilon: the level.
            distance: that of the farthest of these pairs.
            following: that of the nearest one, or 0.
        """
        cost = arb(epsilon).exp()
        stretch = cost * (ball(distance / self.sigma) ** 2 / 8).exp()
        near = 1 - ball(following / distance)  # tau
        gains, losses = [], []
        for first, second, mass in _ratios(self.sigma, distance):
            gains.append(Atom(first - cost * second, mass))
            losses.append(
                Atom(stretch * second.max(second + near * (first - second)) - first, mass)
            )
        means = [(above, *above.means_of(gains)), (below, *below.means_of(losses))]
        rough = np.max([ends.rough_excesses(found) for ends, found, _ in means], axis=0)
        share = arb(float(_SHARES[int(rough.argmin())]))
        return max(upper_double(ends.excess(found, share) + lost) for ends, found, lost in means)


@lru_cache(maxsize=1024)
def _ratios(sigma: Fraction, distance: Fraction) -> list[tuple[arb, arb, arb]]:
    """Return R(0)/R(1), R(d)/R(1) and the mass of every cell, by reflection."""
    holder = distance - 1
    law = decompose(sigma, _middle(distance, holder, holder)).swap()
    with precision():
        return [(_power(x), _power(y), mass) for x, y, mass in law.components]


def _power(log: arb | None) -> arb:
    return arb(0) if log is None else log.exp()


@dataclass(frozen=True, eq=False)
class _Ends:
    """E(G - t)_+ of the types 0 and 1 at t = 0 and their atoms above it.

    Between these, and beyond, a convex function exceeds a mixture's by no more than there.

    Attributes:
        places: the t, in falling order.
        means: those of either type.
        lost: by how much any of these may be less than it should.
    """

    places: Sequence[arb]
    means: tuple[Sequence[arb], Sequence[arb]]
    lost: arb

    @classmethod
    def of(cls, laws: Iterable[Law], sign: int) -> _Ends:
        """Return those of the laws of G, or of -G."""
        near, far = (_exact((Atom(sign * x, mass) for x, mass in law.atoms)) for law in laws)
        values = (x for x, _ in (*near[0], *far[0]) if x > 0)
        places = [*sorted(values, reverse=True), arb(0)]
        means = _means(near[0], places), _means(far[0], places)
        return cls(places, means, near[1] + far[1])

    def means_of(self, atoms: Iterable[Atom]) -> tuple[list[arb], arb]:
        """Return E(G - t)_+ of another law at the same places, and what values may be off by."""
        law, lost = _exact(atoms)
        return _means(law, self.places), lost + self.lost

    def rough_excesses(self, found: Sequence[arb]) -> FloatArray:
        """Return about by how much another law's means exceed a mixture's, for every share."""
        x, y, z = (np.array([float(mean) for mean in means]) for means in (*self.means, found))
        shares = _SHARES[:, None]
        excesses: FloatArray = (z - shares * x - (1 - shares) * y).max(axis=1)
        return excesses

    def excess(self, found: Sequence[arb], share: arb) -> arb:
        """Bound it for one share."""
        both = zip(found, *self.means, strict=True)
        return arb(max(upper_double(z - y - share * (x - y)) for z, x, y in both))


def _exact(atoms: Iterable[Atom]) -> tuple[list[Atom], arb]:
    """Return a law with exact values in falling order, and how much E(G - t)_+ changes by that."""
    law = sorted(atoms, key=lambda atom: atom.value.mid(), reverse=True)
    lost = total(atom.value.rad() * atom.mass for atom in law)
    return [Atom(atom.value.mid(), atom.mass) for atom in law], lost


def _means(law: Sequence[Atom], places: Iterable[arb]) -> list[arb]:
    """Return E(G - t)_+ at places in falling order."""
    found, mass, moment, i = [], arb(0), arb(0), 0
    for place in places:
        while i < len(law) and law[i].value > place:
            mass, moment = mass + law[i].mass, moment + law[i].value * law[i].mass
            i += 1
        found.append(moment - mass * place)
    return found
