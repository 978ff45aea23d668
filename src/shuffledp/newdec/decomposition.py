r"""General-clone decompositions of a local randomizer at a pair of inputs, in balls."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

import numpy as np
from flint import arb

from shuffledp.arrays import FloatArray
from shuffledp.engine.balls import ball, lower_double, positive_part, precision, total, upper_double
from shuffledp.engine.sums import Law
from shuffledp.errors import MAX_EPSILON0, check_real


class Component(NamedTuple):
    """Logarithms of a/c and b/c, None where a or b is 0, and the weight c > 0.

    Where a = b both logarithms are one object, so that their difference is known to be 0.
    """

    log0: arb | None
    log1: arb | None
    weight: arb


class Singular(NamedTuple):
    """a and b of outputs that no other user can produce: c = 0."""

    a: arb
    b: arb


class Cut(NamedTuple):
    """How a continuous law is cut into cells: for proposals of better cuts.

    Attributes:
        points: the outputs between which the cells lie, one after the other.
        a: masses of the cells under the first input.
        b: those under the second one.
        c: those under c.
        again: returns the decomposition that is cut at other outputs.
    """

    points: FloatArray
    a: FloatArray
    b: FloatArray
    c: FloatArray
    again: Callable[[Sequence[float]], Decomposition]

    def swap(self) -> Cut:
        """Return that of the reversed pair."""
        return self._replace(a=self.b, b=self.a, again=lambda points: self.again(points).swap())


@dataclass(frozen=True, eq=False)
class Gains:
    r"""The law of :math:`G=(a-e^\varepsilon b)/c` at one epsilon, enclosed in convex order."""

    decomposition: Decomposition
    epsilon: arb

    @cached_property
    def lower(self) -> Law:
        """A law below that of G in convex order, or G's own."""
        return self._law(self.decomposition)

    @cached_property
    def upper(self) -> Law:
        """A law above that of G in convex order, or G's own."""
        spread = self.decomposition.spread
        return self.lower if spread is None else self._law(spread)

    @cached_property
    def exposed(self) -> tuple[arb, arb]:
        r"""The sum of :math:`(a-e^\varepsilon b)_+` over c = 0, for either law.

        It is added to delta.
        """
        return self._exposed(self.decomposition), self._exposed(self.decomposition.upper)

    def _law(self, side: Decomposition) -> Law:
        with precision():
            cost = self.epsilon.exp()
            atoms = [(_gain(c, self.epsilon, cost), c.weight) for c in side.components]
            return Law.of([*atoms, (arb(0), side.residual)])

    def _exposed(self, side: Decomposition) -> arb:
        with precision():
            cost = self.epsilon.exp()
            return total(positive_part(a - cost * b) for a, b in side.singular)


@dataclass(frozen=True, eq=False)
class Decomposition:
    r"""A decomposition :math:`R(x_1^0)=\sum a_jQ_j,\ R(x_1^1)=\sum b_jQ_j,\ R(x_i)\ge\sum c_jQ_j`.

    The blanket decomposition, with :math:`c=\inf_xR(x)`, is the optimal one (paper, section 4).

    Attributes:
        components: those with c > 0.
        residual: the mass of the left-over laws, :math:`1-\sum c_j`.
        singular: those with c = 0.
        spread: None if components are atoms. If they are cells, each at the mean of its ratios, a
            decomposition into the ends of the cells with the same means, which dominates it in
            convex order; the true law is between the two.
        cut: how cells came about, if they can be cut again.

    >>> half, quarter = Fraction(1, 2), Fraction(1, 4)
    >>> d = Decomposition.from_coefficients(
    ...     [half, quarter, quarter], [quarter, half, quarter], [quarter] * 3
    ... )
    >>> d.ratio0.tolist(), float(d.residual)
    ([2.0, 1.0, 1.0], 0.25)
    >>> d.at(0.0).lower.values.tolist()
    [1.0, -1.0, 0.0, 0.0]
    """

    components: tuple[Component, ...]
    residual: arb
    singular: tuple[Singular, ...] = ()
    spread: Decomposition | None = None
    cut: Cut | None = None

    @classmethod
    def silent(cls) -> Decomposition:
        """Return that of one output, which all inputs produce: it reveals nothing."""
        return cls((Component(arb(0), arb(0), arb(1)),), arb(0))

    @classmethod
    def from_coefficients(
        cls,
        a: Sequence[Fraction | float],
        b: Sequence[Fraction | float],
        c: Sequence[Fraction | float],
    ) -> Decomposition:
        """Build a decomposition from exact coefficients; those of a and of b sum to 1."""
        rows = [(Fraction(x), Fraction(y), Fraction(z)) for x, y, z in zip(a, b, c, strict=True)]
        components, singular = [], []
        with precision():
            for first, second, common in rows:
                if common > 0:
                    log0 = ball(first / common).log() if first else None
                    log1 = ball(second / common).log() if second else None
                    log1 = log0 if first == second else log1
                    components.append(Component(log0, log1, ball(common)))
                elif first or second:
                    singular.append(Singular(ball(first), ball(second)))
            rest = 1 - sum((common for _, _, common in rows), Fraction(0))
            return cls(tuple(components), ball(rest), tuple(singular)).merged()

    @property
    def upper(self) -> Decomposition:
        """The decomposition that dominates in convex order: ``spread``, or itself for atoms."""
        return self if self.spread is None else self.spread

    @property
    def size(self) -> int:
        """Number of components with c > 0."""
        return len(self.components)

    @cached_property
    def ratio0(self) -> FloatArray:
        """a/c of each component, for estimates."""
        return np.array([_double(c.log0) for c in self.components])

    @cached_property
    def ratio1(self) -> FloatArray:
        """b/c of each component, for estimates."""
        return np.array([_double(c.log1) for c in self.components])

    @cached_property
    def weight(self) -> FloatArray:
        """The weight of each component, for estimates."""
        return np.array([float(c.weight) for c in self.components])

    @cached_property
    def mass(self) -> arb:
        """The mass of c."""
        with precision():
            return total(c.weight for c in self.components)

    @property
    def is_singular(self) -> bool:
        """Whether some outputs cannot be produced by any other user."""
        return bool(self.singular or self.upper.singular)

    @cached_property
    def max_epsilon(self) -> float:
        """An epsilon at which the bound is 0, rounded up; infinite if some b is 0."""
        with precision():
            largest = 0.0
            for log0, log1, _ in self.upper.components:
                if log0 is not None:
                    level = math.inf if log1 is None else upper_double(_difference(log0, log1))
                    largest = max(largest, level)
            for a, b in self.upper.singular:
                if not a.is_zero():
                    largest = max(largest, upper_double((a / b).log()) if b > 0 else math.inf)
            return largest

    @cached_property
    def min_end(self) -> float:
        """An epsilon below which delta is above 0, as ``max_epsilon`` of the lower law."""
        with precision():
            largest = 0.0
            for log0, log1, _ in self.components:
                if log0 is not None:
                    level = math.inf if log1 is None else lower_double(_difference(log0, log1))
                    largest = max(largest, level)
            for a, b in self.singular:
                if a > 0:
                    largest = max(largest, math.inf if b.is_zero() else lower_double((a / b).log()))
            return largest

    def at(self, epsilon: float) -> Gains:
        r"""Return the law of :math:`G=(a-e^\varepsilon b)/c`."""
        epsilon = check_real("epsilon", epsilon)
        if abs(epsilon) > MAX_EPSILON0:
            raise ValueError(f"epsilon must lie in [-300, 300], got {epsilon!r}")
        return Gains(self, arb(epsilon))

    def swap(self) -> Decomposition:
        """Return the decomposition of the reversed pair."""
        reversed_pair = self._with(
            lambda c: Component(c.log1, c.log0, c.weight), lambda s: Singular(s.b, s.a)
        )
        return replace(reversed_pair, cut=None if self.cut is None else self.cut.swap())

    def scaled(self, factor: arb) -> Decomposition:
        """Return the decomposition with all masses but the residual's times a factor."""
        return self._with(
            lambda c: c._replace(weight=factor * c.weight),
            lambda s: Singular(factor * s.a, factor * s.b),
        )

    def _with(
        self,
        change: Callable[[Component], Component],
        change_singular: Callable[[Singular], Singular],
    ) -> Decomposition:
        return replace(
            self,
            components=tuple(map(change, self.components)),
            singular=tuple(map(change_singular, self.singular)),
            spread=None if self.spread is None else self.spread._with(change, change_singular),
            cut=None,
        )

    def merged(self) -> Decomposition:
        """Merge components whose ratios cannot be told apart: the simplified decomposition.

        The merged ball contains the ratios of all its members, and all uses of a component are
        means of functions of its ratios, so nothing is lost. Components with a = b = 0 reveal
        nothing and join the residual.
        """
        groups: dict[tuple[int, int], Component] = {}
        silent = arb(0)
        for c, key in zip(self.components, self._labels(), strict=True):
            if c.log0 is None and c.log1 is None:
                silent += c.weight
            elif not c.weight.is_zero():
                groups[key] = _united(groups[key], c) if key in groups else c
        spread = None if self.spread is None else self.spread.merged()
        return Decomposition(tuple(groups.values()), self.residual + silent, self.singular, spread)

    def _labels(self) -> list[tuple[int, int]]:
        columns = ([c.log0 for c in self.components], [c.log1 for c in self.components])
        return list(zip(*map(_cluster, columns), strict=True))

    @staticmethod
    def mixture(weights: Sequence[Fraction], parts: Sequence[Decomposition]) -> Decomposition:
        """Return the weighted combination: parallel composition (paper, section 4.6)."""
        with precision():
            shares = [ball(weight) for weight in weights]
            spread = None
            if any(part.spread is not None for part in parts):
                spread = _mixed(shares, [part.upper for part in parts])
            return replace(_mixed(shares, parts), spread=spread).merged()

    def times(self, other: Decomposition) -> Decomposition:
        """Return the Cartesian product: two reports of one user (paper, section 4.5)."""
        spread = None
        if self.spread is not None or other.spread is not None:
            spread = _multiplied(self.upper, other.upper)
        return replace(_multiplied(self, other), spread=spread).merged()


def _gain(component: Component, epsilon: arb, cost: arb) -> arb:
    r"""Return :math:`(b/c)e^\varepsilon\,\mathrm{expm1}(\log(a/b)-\varepsilon)`.

    It is exactly 0 where the logarithms say so.
    """
    log0, log1, _ = component
    if log0 is None or log1 is None:
        return _exp(log0) - cost * _exp(log1)
    if log0 is log1:
        return -log1.exp() * epsilon.expm1()
    return (log1 + epsilon).exp() * (log0 - log1 - epsilon).expm1()


def _difference(log0: arb, log1: arb) -> arb:
    return arb(0) if log0 is log1 else log0 - log1


def _mixed(weights: Sequence[arb], parts: Sequence[Decomposition]) -> Decomposition:
    scaled = [part.scaled(weight) for weight, part in zip(weights, parts, strict=True)]
    return Decomposition(
        tuple(c for part in scaled for c in part.components),
        total(w * part.residual for w, part in zip(weights, parts, strict=True)),
        tuple(s for part in scaled for s in part.singular),
    )


def _multiplied(one: Decomposition, other: Decomposition) -> Decomposition:
    components = tuple(_product(x, y) for x in one.components for y in other.components)
    mine, theirs = _masses(one), _masses(other)
    pairs = [(x, y) for x in one.singular for y in (*theirs, *other.singular)]
    pairs += [(x, y) for x in mine for y in other.singular]
    singular = tuple(Singular(x.a * y.a, x.b * y.b) for x, y in pairs)
    residual = one.residual + other.residual * (1 - one.residual)
    return Decomposition(components, residual, singular)


def _product(x: Component, y: Component) -> Component:
    log0 = _sum(x.log0, y.log0)
    equal = x.log0 is x.log1 and y.log0 is y.log1
    return Component(log0, log0 if equal else _sum(x.log1, y.log1), x.weight * y.weight)


def _masses(decomposition: Decomposition) -> list[Singular]:
    """Return a and b of each component."""
    return [
        Singular(c.weight * _exp(c.log0), c.weight * _exp(c.log1)) for c in decomposition.components
    ]


def _cluster(logs: Sequence[arb | None]) -> list[int]:
    """Number the balls so that overlapping neighbours share a number; None has its own, -1."""
    labels = [-1] * len(logs)
    known = sorted((float(log), i) for i, log in enumerate(logs) if log is not None)
    reach: arb | None = None
    number = 0
    for _, i in known:
        log = logs[i]
        if reach is not None and log is not None and not reach < log:
            reach = reach.union(log)
        else:
            number, reach = number + 1, log
        labels[i] = number
    return labels


def _united(x: Component, y: Component) -> Component:
    log0 = _union(x.log0, y.log0)
    equal = x.log0 is x.log1 and y.log0 is y.log1
    return Component(log0, log0 if equal else _union(x.log1, y.log1), x.weight + y.weight)


def _union(x: arb | None, y: arb | None) -> arb | None:
    if x is None or y is None:
        return x
    return x if x.contains(y) else x.union(y)


def _sum(x: arb | None, y: arb | None) -> arb | None:
    return None if x is None or y is None else x + y


def _exp(log: arb | None) -> arb:
    return arb(0) if log is None else log.exp()


def _double(log: arb | None) -> float:
    return 0.0 if log is None else float(log.exp())
