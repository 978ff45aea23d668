"""The swap bound of one pair of inputs, or of all pairs that some laws stand for, as a curve."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property, lru_cache

import numpy as np

from shuffledp.basics.interval import Interval
from shuffledp.bounds.curve import Curve, Proved
from shuffledp.bounds.swap.bound import swap_log_delta
from shuffledp.bounds.swap.plan import DoubleLaw, Proposal
from shuffledp.bounds.swap.slots import Slots
from shuffledp.decomposition.decomposition import Decomposition

#: What the bound may add to log delta: an epsilon of some width asks for no less and no more.
_FINEST, _COARSEST = 1e-4, 1e-2

#: Slopes are taken over this share of epsilon.
_SHIFT = 1e-3


class Swapped(Curve):
    """The swap bound of n users: an upper bound over all datasets that differ in one input.

    Args:
        blanket: a decomposition with c at most R(v) for every input v.
        backgrounds: decompositions with c = R(v), one per type of input that others may hold, or
            what dominates them in convex order.
        n: number of users.
        rtol: relative width of epsilon to aim for.
        where: what the curve belongs to.
        levels: for each background, the largest epsilon at which its pair reveals anything; beyond
            it the pair needs no bound. Empty if all belong to one pair.
    """

    def __init__(
        self,
        blanket: Decomposition,
        backgrounds: Sequence[Decomposition],
        n: int,
        rtol: float,
        where: object = None,
        levels: Sequence[float] = (),
    ) -> None:
        self.blanket, self.backgrounds, self.levels = blanket, tuple(backgrounds), tuple(levels)
        self.n, self.rtol, self.where = n, rtol, where

    def revealing(self, epsilon: float) -> tuple[Decomposition, ...]:
        """Return the backgrounds of pairs that reveal something at an epsilon."""
        if not self.levels:
            return self.backgrounds
        both = zip(self.backgrounds, self.levels, strict=True)
        return tuple(background for background, level in both if level > epsilon)

    def above(self, epsilon: float) -> Proved:
        """Prove the bound; infinite where nothing better than the blanket can be expected."""
        backgrounds = self.revealing(epsilon)
        if epsilon >= self.end.upper:
            return Proved(-math.inf, self.where, "swap")
        if not self.estimate(epsilon) < math.inf:
            return Proved(math.inf, self.where, "swap")
        slots = Slots.of(self.blanket, backgrounds, epsilon)
        found = swap_log_delta(slots, self.n, self._accuracy(epsilon))
        return Proved(found, self.where, "swap")

    def below(self, epsilon: float) -> Proved:
        """Prove nothing: what a bound leaves open may be 0."""
        return Proved(-math.inf, self.where, "swap")

    def _accuracy(self, epsilon: float) -> float:
        """Return how much of log delta an epsilon of relative width ``rtol`` allows for."""
        if epsilon == 0:
            return max(self.rtol, _FINEST)
        change = self.estimate(epsilon * (1 - _SHIFT)) - self.estimate(epsilon)
        return min(max(self.rtol / _SHIFT * change, _FINEST), _COARSEST)

    def estimate(self, epsilon: float, like: Proved | None = None) -> float:
        """Return the saddle-point formula of the worst type at the tilt."""
        backgrounds = self.revealing(epsilon)
        if not backgrounds:
            return math.inf
        return _estimate(self.blanket, backgrounds, self.n, epsilon)

    @cached_property
    def end(self) -> Interval:
        """Enclose where delta becomes 0: no later than for the blanket."""
        return Interval(0.0, self.blanket.max_epsilon)

    def __str__(self) -> str:
        """Name it."""
        return f"swap({self.where})"


@lru_cache(maxsize=1024)
def _estimate(
    blanket: Decomposition, backgrounds: tuple[Decomposition, ...], n: int, epsilon: float
) -> float:
    gamma = float(blanket.upper.weight.sum())
    values, masses = _covered(blanket.upper, epsilon)
    return Proposal(
        (values, masses / gamma), [_slot(part.upper, epsilon) for part in backgrounds], gamma, n
    ).log_estimate


def _covered(decomposition: Decomposition, epsilon: float) -> DoubleLaw:
    return decomposition.rough_gains(epsilon), decomposition.weight


def _slot(decomposition: Decomposition, epsilon: float) -> DoubleLaw:
    """Return the law of a type, of which thinned ones have a residual."""
    values, masses = _covered(decomposition, epsilon)
    rest = float(decomposition.residual)
    return (np.append(values, 0.0), np.append(masses, rest)) if rest else (values, masses)
