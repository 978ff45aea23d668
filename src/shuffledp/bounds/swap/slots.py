r"""The laws that the swap bound adds up: slot 0, and one law per type of background.

Let c be at most R(v) for every input v, :math:`\gamma=|c|` and g = R(x1) - e^epsilon R(x1'). Slot 0
has the law of g/c under :math:`c/\gamma`, a slot whose user holds v that of g/R(v) under R(v).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace

from flint import arb

from shuffledp.basics.balls import logarithm, precision
from shuffledp.decomposition.decomposition import Decomposition
from shuffledp.engine.coarsening import capped, sorted_law
from shuffledp.engine.sums import Atom, Law

#: Masses that differ by less than this, relatively, are alike; values compared with the largest.
_ALIKE = 2.0**-45


@dataclass(frozen=True, eq=False)
class Slots:
    """The laws at one epsilon, or laws above them in convex order.

    Attributes:
        first: the law of slot 0.
        types: one law per type of input that others may hold; the bound is linear in the law of
            each slot, so mixtures of types need no mention.
        gamma: the mass of c, above 0.
        rest: 1 - gamma, at least 0.
    """

    first: Law
    types: tuple[Law, ...]
    gamma: arb
    rest: arb

    @classmethod
    def of(
        cls, blanket: Decomposition, backgrounds: Iterable[Decomposition], epsilon: float
    ) -> Slots:
        """Return the slots of decompositions with c at most R(v), and with c = R(v) for each type.

        Raises:
            ValueError: if some outputs give an input away.

        >>> from fractions import Fraction
        >>> half, quarter = Fraction(1, 2), Fraction(1, 4)
        >>> rows = (half, quarter, quarter), (quarter, half, quarter)
        >>> blanket = Decomposition.from_coefficients(*rows, [quarter] * 3)
        >>> slots = Slots.of(
        ...     blanket, [Decomposition.from_coefficients(*rows, r) for r in rows], 0.0
        ... )
        >>> float(slots.gamma), slots.first.values.tolist(), slots.types[0].values.tolist()
        (0.75, [1.0, -1.0, 0.0], [-1.0, 0.0, 0.5])
        """
        upper, *others = (part.upper for part in (blanket, *backgrounds))
        if any(part.singular for part in (upper, *others)):
            raise ValueError("the swap bound needs laws without singular components")
        with precision():
            gamma = upper.mass
            if not gamma > 0:
                raise ValueError("the swap bound needs outputs that all inputs have in common")
            covered = tuple(c._replace(weight=c.weight / gamma) for c in upper.components)
            first = Decomposition(covered, arb(0)).at(epsilon).upper
            types = _different(part.at(epsilon).upper for part in others)
            return cls(first, types, gamma, 1 - gamma)

    def without_rare(self, limit: float, n: int) -> tuple[Slots, arb]:
        r"""Set the largest gains to 0; also return by how much delta of n users may fall by that.

        A positive sum falls by no more than what is cut off, of no law more than the limit. The
        weights :math:`\gamma(1-\gamma)^k` sum to at most 1, and there are n slots.
        """
        with precision():
            first, lost = capped(sorted_law(self.first), limit)
            found = [capped(sorted_law(law), limit) for law in self.types]
            cost = lost / n + max((cost.upper() for _, cost in found), default=arb(0))
            return replace(self, first=first, types=tuple(law for law, _ in found)), cost

    def without_twins(self) -> Slots:
        """Return slots in which types that hardly differ are one, whose balls contain all of them.

        Rounded entries of a matrix make types that differ in their last bits. Nothing can be gained
        from telling them apart, and mixtures of many such types are hard to bound.
        """
        scale = _ALIKE * max(float(abs(law.values).max()) for law in self.types)
        if not scale > 0:
            return self

        def value_of(atom: Atom) -> float:
            return round(float(atom.value) / scale)

        def seen_as(atom: Atom) -> tuple[float, float]:
            mass = float(atom.mass)
            log = math.log(mass) if mass > 0 else logarithm(atom.mass)
            return value_of(atom), round(log / _ALIKE) if log > -math.inf else log

        gathered = (_gathered(law, value_of) for law in self.types)
        return replace(self, types=_different(gathered, seen_as))


def _gathered(law: Law, value_of: Callable[[Atom], float]) -> Law:
    """Return the law in which values that are seen as equal are one, which contains all of them."""
    kept: dict[float, Atom] = {}
    for atom in law.atoms:
        known = kept.setdefault(value_of(atom), atom)
        if known is not atom:
            joined = Atom(known.value.union(atom.value), known.mass + atom.mass)
            kept[value_of(atom)] = joined
    return Law(tuple(kept.values()))


def _doubles(atom: Atom) -> tuple[float, float]:
    return float(atom.value), float(atom.mass)


def _different(
    laws: Iterable[Law], seen_as: Callable[[Atom], tuple[float, float]] = _doubles
) -> tuple[Law, ...]:
    """Return the laws; those that are seen as equal become one, whose balls contain all of them."""
    kept: dict[Hashable, list[Atom]] = {}
    for law in laws:
        atoms = sorted(law.atoms, key=seen_as)
        key = tuple(map(seen_as, atoms))
        kept[key] = _united(kept[key], atoms) if key in kept else atoms
    return tuple(Law(tuple(atoms)) for atoms in kept.values())


def _united(first: Sequence[Atom], second: Sequence[Atom]) -> list[Atom]:
    """Return atoms that contain those of both laws, one by one."""
    both = zip(first, second, strict=True)
    return [Atom(a.value.union(b.value), a.mass.union(b.mass)) for a, b in both]
