r"""General-clone decompositions of a local randomizer at a pair of inputs, in balls."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

import numpy as np
from flint import arb, fmpq

from shuffledp.basics.arrays import FloatArray
from shuffledp.basics.balls import lower_double, precision, total, upper_double
from shuffledp.basics.errors import MAX_EPSILON0, check_real
from shuffledp.decomposition.coefficients import Numbers, exact_coefficients, exact_shares
from shuffledp.decomposition.gains import Gains


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


@dataclass(frozen=True, eq=False, repr=False)
class Decomposition:
    r"""A decomposition :math:`R(x_1^0)=\sum a_jQ_j,\ R(x_1^1)=\sum b_jQ_j,\ R(x_i)\ge\sum c_jQ_j`.

    The blanket decomposition, with :math:`c=\inf_xR(x)`, is the optimal one (paper, section 4).

    Two decompositions are equal only if they are the same object: balls have no equality.

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
        one = arb(0)  # the logarithm of 1; a = b, so it stands there twice
        return cls((Component(one, one, arb(1)),), arb(0))

    @classmethod
    def from_coefficients(cls, a: Numbers, b: Numbers, c: Numbers) -> Decomposition:
        """Build a decomposition from the coefficients a, b, c of its components.

        Numbers count as the exact numbers that they are. a and b stand for the laws that they are
        proportional to: they are divided by their exact sums, which are 1 up to rounding.
        Components with c = 0 become singular ones.

        >>> d = Decomposition.from_coefficients([0.5, 0.5], [0.5, 0.5], [0.0, 0.5])
        >>> d
        Decomposition(components=1, singular=1, residual=0.5)

        Raises:
            TypeError: if an entry is no real number.
            ValueError: if one is negative, or if the sums or the lengths do not fit.
        """
        rows, rest = exact_coefficients(a, b, c)
        components, singular = [], []
        with precision():
            for first, second, common in rows:
                if common > 0:
                    log0 = _log(first / common) if first > 0 else None
                    log1 = _log(second / common) if second > 0 else None
                    log1 = log0 if first == second else log1
                    components.append(Component(log0, log1, arb(common)))
                elif first > 0 or second > 0:
                    singular.append(Singular(arb(first), arb(second)))
            return cls(tuple(components), arb(rest), tuple(singular)).merged()

    def __repr__(self) -> str:
        """Return how many components there are, and the residual, about."""
        return (
            f"Decomposition(components={self.size}, singular={len(self.singular)}, "
            f"residual={float(self.residual):.6g})"
        )

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
    def _losses(self) -> FloatArray:
        """log(a/b) of each component, for estimates; infinite where a or b is 0."""
        with precision():
            return np.array([_loss(c.log0, c.log1) for c in self.components])

    def rough_gains(self, epsilon: float) -> FloatArray:
        """Return G of each component in doubles, for estimates; small ones have digits, too."""
        above, costs = self._losses - epsilon, math.exp(epsilon) * self.ratio1
        gains: FloatArray = np.where(
            np.abs(above) < 1, costs * np.expm1(np.clip(above, -1, 1)), self.ratio0 - costs
        )
        return gains

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
        """Return the decomposition of the reversed pair.

        >>> d = Decomposition.from_coefficients([0.75, 0.25], [0.5, 0.5], [0.5, 0.25])
        >>> d.swap().ratio0.tolist() == d.ratio1.tolist()
        True
        """
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
    def mixture(
        weights: Sequence[float | Fraction], parts: Sequence[Decomposition]
    ) -> Decomposition:
        """Return the weighted combination: parallel composition (paper, section 4.6).

        The weights are divided by their exact sum, which is 1 up to rounding.

        >>> d = Decomposition.from_coefficients([0.6, 0.4], [0.4, 0.6], [0.4, 0.4])
        >>> Decomposition.mixture([0.5, 0.5], [d, d]).size
        2
        """
        exact = exact_shares(weights, len(parts))
        with precision():
            shares = [arb(share) for share in exact]
            spread = None
            if any(part.spread is not None for part in parts):
                spread = _mixed(shares, [part.upper for part in parts])
            return replace(_mixed(shares, parts), spread=spread).merged()

    def times(self, other: Decomposition) -> Decomposition:
        """Return the Cartesian product: two reports of one user (paper, section 4.5).

        >>> d = Decomposition.from_coefficients([0.6, 0.4], [0.4, 0.6], [0.4, 0.4])
        >>> d.times(d).size
        3
        """
        spread = None
        if self.spread is not None or other.spread is not None:
            spread = _multiplied(self.upper, other.upper)
        return replace(_multiplied(self, other), spread=spread).merged()


def _log(ratio: fmpq) -> arb:
    """Return a logarithm that has all digits where a ratio is next to 1, too."""
    return arb(ratio - 1).log1p() if 1 < 2 * ratio < 4 else arb(ratio).log()


def _difference(log0: arb, log1: arb) -> arb:
    return arb(0) if log0 is log1 else log0 - log1


def _loss(log0: arb | None, log1: arb | None) -> float:
    if log0 is None or log1 is None:
        return math.inf
    return float(_difference(log0, log1))


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
