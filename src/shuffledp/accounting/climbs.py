"""Several searches for the epsilon of the best bound, whose swap bounds are evaluated together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from shuffledp.accounting.best_bound import BestBound
from shuffledp.accounting.swap_bound import prepare_swaps


def climb_together(bounds: Sequence[BestBound], deltas: Sequence[float]) -> None:
    """Let every bound know its epsilon at a delta.

    All searches take their steps at the same time; what they find is certified as if each had been
    alone.

    >>> from shuffledp import ShuffleAccountant
    >>> accountants = [ShuffleAccountant("krr(k=10, epsilon0=2)", n) for n in (9_999, 10_000)]
    >>> bounds = [accountant.known.climbing for accountant in accountants]
    >>> climb_together(bounds, [1e-6, 1e-6])
    >>> print(f"{accountants[1].get_epsilon(1e-6):.4f}")
    0.0798
    """
    searches = {i: bound.steps(deltas[i]) for i, bound in enumerate(bounds)}
    while searches:
        asked: dict[int, float] = {}
        for i, search in searches.items():
            try:
                asked[i] = next(search)
            except StopIteration as end:
                bounds[i].remember_epsilon(deltas[i], end.value)
        _prepare(bounds, asked)
        searches = {i: searches[i] for i in asked}


def prepare_profile(bound: BestBound, epsilons: Sequence[float]) -> None:
    """Let a bound know what it will be asked for at several epsilons."""
    prepare_swaps([point for epsilon in epsilons for point in bound.points_at(epsilon)])


def _prepare(bounds: Sequence[BestBound], asked: Mapping[int, float]) -> None:
    prepare_swaps([point for i, epsilon in asked.items() for point in bounds[i].points_at(epsilon)])
