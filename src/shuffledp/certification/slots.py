r"""The laws of the swap bound in balls: slot 0, and one law per type of input that others may hold.

Which inputs stand for all is what the mechanism states, :meth:`LocalRandomizer.background_types`
and :meth:`LocalRandomizer.pairs_to_swap`; their laws are derived again, as all laws here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from flint import arb

from shuffledp.certification.balls import total
from shuffledp.certification.decomposition import BallDecomposition
from shuffledp.certification.derivation import background, blanket
from shuffledp.certification.law import Law
from shuffledp.randomizers import LocalRandomizer, MatrixRandomizer, Pair

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


def pairs_to_swap(randomizer: LocalRandomizer) -> tuple[Pair, ...]:
    """Return the pairs that stand for all in the swap bound; none if it cannot be proved.

    It cannot where the mechanism does not state which backgrounds stand for all.
    """
    pairs: Sequence[Pair] | None
    if isinstance(randomizer, MatrixRandomizer):
        rows = randomizer.distinct_rows()
        pairs = [Pair(x, y) for x in rows for y in rows if x != y]
    else:
        pairs = randomizer.pairs_to_swap()
    if pairs is None or len(pairs) > _MAX_PAIRS:
        return ()
    types = [randomizer.background_types(pair) for pair in pairs]
    known = all(inputs is not None and 0 < len(inputs) <= _MAX_TYPES for inputs in types)
    return tuple(pairs) if known else ()


def slots_of(randomizer: LocalRandomizer, pair: Pair, epsilon: arb) -> Slots | None:
    """Return the slots of a pair, None if the swap bound does not apply."""
    types = randomizer.background_types(pair)
    if not types:
        return None
    backgrounds = [background(randomizer, pair, v, "upper") for v in types]
    return Slots.of(blanket(randomizer, pair, "upper"), backgrounds, epsilon)


def _reveals(decomposition: BallDecomposition) -> bool:
    return any(not (a.is_zero() and b.is_zero()) for a, b in decomposition.singular)
