"""The laws that the swap bound adds up: slot 0, and one law per type of background."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from shuffledp.arrays import UNIT
from shuffledp.decomposition import Decomposition
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
        if any(part.upper.singular0.size for part in (blanket, *backgrounds)):
            raise ValueError("the swap bound needs laws without singular components")
        law = blanket.at(epsilon).upper
        covered = slice(0, blanket.upper.size)
        weights = law.weights[covered]
        mass = math.fsum(weights)
        slack = float(np.expm1(law.weight_error[covered]).max()) + 4 * UNIT
        values = law.values[covered]
        first = Law(
            values,
            weights / mass,
            law.value_error[covered] + 3 * slack * np.abs(values),
            law.weight_error[covered] + 2 * slack,
        )
        types = tuple(background.at(epsilon).upper for background in backgrounds)
        return cls(first, types, mass * (1 - slack))
