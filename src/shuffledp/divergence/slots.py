"""The laws that the swap bound adds up: slot 0, and one law per type of background."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from shuffledp.arrays import UNIT, FloatArray, IntArray
from shuffledp.decomposition import Decomposition, LawRows
from shuffledp.decomposition.gparv import Law


@dataclass(frozen=True, eq=False)
class Slots:
    """The laws of the swap bound at one epsilon.

    Attributes:
        first: the law of g/c under c/gamma, slot 0.
        types: the laws of g/R(v) under R(v), one per type of input that other users may hold.
        blanket_mass: gamma, or less: any part of the blanket will do.
    """

    first: Law
    types: tuple[Law, ...]
    blanket_mass: float

    @classmethod
    def of(
        cls, blanket: Decomposition, backgrounds: Iterable[Decomposition], epsilon: float
    ) -> Slots:
        """Return the slots of decompositions that have no singular components.

        Slot 0 is the law of the blanket without its residual. Rounding leaves gamma uncertain; the
        smallest value it can have belongs to a part c' of the blanket, and g/c' exceeds g/c by the
        quotient of the two masses.

        Raises:
            ValueError: if there are singular components.
        """
        backgrounds = tuple(backgrounds)
        _check_that_all_is_covered(blanket, *backgrounds)
        law = blanket.at(epsilon).upper
        part = _Part.of(blanket, law.weights, law.weight_error)
        values, errors = law.values[part.covered], law.value_error[part.covered]
        first = Law(values, part.weights, part.moved(values, errors), part.weight_error)
        types = tuple(background.at(epsilon).upper for background in backgrounds)
        return cls(first, types, part.mass)


@dataclass(frozen=True, eq=False)
class SlotRows:
    """The laws of several swap bounds with equally many types, one row for each bound.

    Attributes:
        first: slot 0.
        types: the types, each with one row for every bound.
        blanket_mass: gamma of every bound.
    """

    first: LawRows
    types: tuple[LawRows, ...]
    blanket_mass: FloatArray

    @classmethod
    def of(
        cls, blanket: Decomposition, backgrounds: Iterable[Decomposition], epsilons: FloatArray
    ) -> SlotRows:
        """Return the slots of decompositions at several epsilons, as :meth:`Slots.of` does at one.

        >>> from shuffledp.randomizers import KRR, Pair
        >>> laws = KRR(k=10, epsilon0=2.0).slot_laws(Pair(0, 1))
        >>> rows = SlotRows.of(laws.blanket, laws.backgrounds, np.array([0.1, 0.2]))
        >>> one = Slots.of(laws.blanket, laws.backgrounds, 0.2)
        >>> len(rows.types) == len(one.types), bool(rows.blanket_mass[1] == one.blanket_mass)
        (True, True)
        """
        backgrounds = tuple(backgrounds)
        _check_that_all_is_covered(blanket, *backgrounds)
        rows = blanket.upper.rows_at(epsilons)
        part = _Part.of(blanket, rows.weights[0], rows.weight_error[0])
        values, errors = rows.values[:, part.covered], rows.value_error[:, part.covered]
        first = LawRows(
            values,
            np.broadcast_to(part.weights, values.shape),
            part.moved(values, errors),
            np.broadcast_to(part.weight_error, values.shape),
        )
        types = tuple(background.upper.rows_at(epsilons) for background in backgrounds)
        return cls(first, types, np.full(epsilons.size, part.mass))

    @classmethod
    def joined(cls, parts: Sequence[SlotRows]) -> SlotRows:
        """Return all rows of several parts, whose laws get equally many atoms."""
        size = max(law.size for part in parts for law in (part.first, *part.types))
        first = LawRows.joined([part.first.padded(size) for part in parts])
        kinds = zip(*(part.types for part in parts), strict=True)
        types = tuple(LawRows.joined([law.padded(size) for law in kind]) for kind in kinds)
        return cls(first, types, np.concatenate([part.blanket_mass for part in parts]))

    def chosen(self, rows: IntArray) -> SlotRows:
        """Return some of the rows, by their numbers."""
        types = tuple(law.chosen(rows) for law in self.types)
        return SlotRows(self.first.chosen(rows), types, self.blanket_mass[rows])


def _check_that_all_is_covered(*parts: Decomposition) -> None:
    if any(part.upper.singular0.size for part in parts):
        raise ValueError("the swap bound needs laws without singular components")


@dataclass(frozen=True, eq=False)
class _Part:
    """A part of the blanket whose mass is known."""

    covered: slice
    weights: FloatArray
    weight_error: FloatArray
    mass: float
    slack: float

    @classmethod
    def of(cls, blanket: Decomposition, weights: FloatArray, errors: FloatArray) -> _Part:
        covered = slice(0, blanket.upper.size)
        mass = math.fsum(weights[covered])
        slack = float(np.expm1(errors[covered]).max()) + 4 * UNIT
        return cls(
            covered,
            weights[covered] / mass,
            errors[covered] + 2 * slack,
            mass * (1 - slack),
            slack,
        )

    def moved(self, values: FloatArray, errors: FloatArray) -> FloatArray:
        """Return the errors of values over the part instead of the whole."""
        return errors + 3 * self.slack * np.abs(values)
