r"""The laws of the swap bound in balls: slot 0, and one law per type of input that others may hold.

Which inputs stand for all is derived in :mod:`shuffledp.certification.inputs`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from flint import arb

from shuffledp.certification.cases import Case, cases_to_swap
from shuffledp.certification.decomposition import BallDecomposition
from shuffledp.certification.derivation import background, blanket
from shuffledp.certification.law import Law
from shuffledp.engine.balls import total
from shuffledp.randomizers import LocalRandomizer

#: With more pairs, or more types, a proof takes too long.
_MAX_PAIRS, _MAX_TYPES = 32, 16


@dataclass(frozen=True)
class Slots:
    r"""The laws of the swap bound at one epsilon.

    Attributes:
        first: the law of g/c under c/gamma, or one above it in convex order.
        types: the laws of g/R(v) under R(v), or laws above them.
        blanket_mass: gamma, the mass of c.
        rest: 1 - gamma, positive.
    """

    first: Law
    types: tuple[Law, ...]
    blanket_mass: arb
    rest: arb

    @staticmethod
    def of(
        common: BallDecomposition, backgrounds: Sequence[BallDecomposition], epsilon: arb
    ) -> Slots | None:
        """Return the slots of decompositions, None if some outputs give an input away.

        Types whose balls are the same are one: every statement about a ball holds for all laws in
        it, and for any of their averages.
        """
        gamma = total(c.weight for c in common.components)
        if any(map(_reveals, (common, *backgrounds))) or not (gamma > 0 and common.residual > 0):
            return None
        covered = tuple(c._replace(weight=c.weight / gamma) for c in common.components)
        first = BallDecomposition(covered, arb(0)).at(epsilon)
        laws = [found.at(epsilon) for found in backgrounds]
        different = {law.signature(): law for law in laws}
        return Slots(first, tuple(different.values()), gamma, common.residual)

    @property
    def slack(self) -> arb:
        """What values that may be 0, and were set to 0, can have added to delta."""
        return max(abs(law.extra).upper() for law in (self.first, *self.types))


def cases_of(randomizer: LocalRandomizer) -> Sequence[Case]:
    """Return the cases that stand for all in the swap bound; none if it cannot be proved.

    It cannot where laws of what others hold are not known, or where cases are many.
    """
    return cases_to_swap(randomizer, _MAX_PAIRS, _MAX_TYPES)


def slots_of(randomizer: LocalRandomizer, case: Case, epsilon: arb) -> Slots | None:
    """Return the slots of a case, None if the swap bound does not apply."""
    backgrounds = [background(randomizer, case.pair, v, "upper") for v in case.others]
    return Slots.of(blanket(randomizer, case.pair, "upper"), backgrounds, epsilon)


def _reveals(decomposition: BallDecomposition) -> bool:
    return any(not (a.is_zero() and b.is_zero()) for a, b in decomposition.singular)
