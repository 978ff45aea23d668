"""Several searches for the epsilon of the best bound, whose swap bounds are evaluated together."""

from __future__ import annotations

from collections.abc import Sequence

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
    searches = {}
    for i, bound in enumerate(bounds):
        if bound.swap.proof == "exact":  # from laws that are kept for a few n only
            bound.remember_epsilon(deltas[i], bound.epsilon(deltas[i]))
        else:
            searches[i] = bound.steps(deltas[i])
    while searches:
        asked: dict[int, tuple[float, float]] = {}
        for i, search in searches.items():
            try:
                asked[i] = next(search)
            except StopIteration as end:
                bounds[i].remember_epsilon(deltas[i], end.value)
        prepare_swaps([point for i, step in asked.items() for point in bounds[i].points_at(*step)])
        searches = {i: searches[i] for i in asked}


def prepare_profile(bound: BestBound, epsilons: Sequence[float]) -> None:
    """Let a bound know what it will be asked for at several epsilons."""
    prepare_swaps([point for epsilon in epsilons for point in bound.points_of(epsilon)])
