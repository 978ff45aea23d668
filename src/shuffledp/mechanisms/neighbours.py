"""The pairs of inputs that stand for all, and the alarm if a mechanism forgets to name them."""

from __future__ import annotations

from collections.abc import Sequence

from shuffledp.basics.errors import ContradictionError
from shuffledp.mechanisms.base import LocalRandomizer
from shuffledp.mechanisms.claims import check_claims
from shuffledp.mechanisms.finite.identity import foreign_classes, stated_by
from shuffledp.mechanisms.pair import Pair


def pairs_to_compare(randomizer: LocalRandomizer) -> Sequence[Pair]:
    """Return the ordered pairs whose bounds, together, are those of all neighbours.

    No pairs would mean that nothing leaks. So they may be missing only where no two inputs are
    neighbours.

    >>> from shuffledp import KRR, MatrixRandomizer
    >>> pairs_to_compare(KRR(k=10, epsilon0=2.0))
    (Pair(first=0, second=1),)
    >>> pairs_to_compare(MatrixRandomizer([[0.5, 0.5]]))
    ()

    Raises:
        ContradictionError: if the mechanism names no pairs, but has inputs that are neighbours.
        ClaimError: if a class of one's own states what is found to be false.
    """
    check_claims(randomizer)
    pairs = randomizer.neighbours()
    if not pairs and randomizer.input_domain.has_neighbours:
        raise ContradictionError(
            f"{randomizer} names no pairs of inputs to compare, but some of its inputs, "
            f"{randomizer.input_domain}, are neighbours"
        )
    return pairs


def why_no_other_is_worse(randomizer: LocalRandomizer, pairs: Sequence[Pair]) -> str:
    """Return how it is known that no pair is worse than those to compare, in words.

    >>> from shuffledp import KRR
    >>> randomizer = KRR(k=10, epsilon0=2.0)
    >>> why_no_other_is_worse(randomizer, pairs_to_compare(randomizer))
    'proved'
    """
    if kinds := foreign_classes(randomizer):
        return stated_by(kinds)
    if randomizer.has_worst_pair:
        return "proved"
    return f"compared {len(pairs)} pair{'' if len(pairs) == 1 else 's'}"
