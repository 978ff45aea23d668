"""The swap bound of one pair of inputs, or of all pairs that some laws stand for, as a curve."""

from __future__ import annotations

import math
from functools import cached_property, lru_cache

import numpy as np
from flint import arb

from shuffledp.basics.balls import precision, upper_log
from shuffledp.basics.interval import Interval
from shuffledp.bounds.curve import Curve, Proved
from shuffledp.bounds.swap.bound import swap_log_delta
from shuffledp.bounds.swap.plan import DoubleLaw, Proposal, without_rare
from shuffledp.bounds.swap.slots import Slots
from shuffledp.decomposition.decomposition import Decomposition
from shuffledp.mechanisms.base import SlotLaws

#: What the bound may add to log delta: an epsilon of some width asks for no less and no more.
_FINEST, _COARSEST = 1e-4, 1e-2

#: Slopes are taken over this share of epsilon.
_SHIFT = 1e-3

#: Which share of delta cutting off rare gains may add; how often delta is estimated for that at
#: most, and when it is known well enough.
_RARE, _LOOKS, _STILL = 3e-2, 12, 0.1

#: Where gains are cut off, what that and all else may add, in units of what is allowed for.
_MORE, _LESS = 10.0, 4.0

#: The saddle-point formula is far off for so few users.
_FEW_USERS = 10

#: Means have a logarithm. With this share of delta left out the blanket is better.
_TINY, _TOO_MUCH = 1e-12, 0.5


class Swapped(Curve):
    """The swap bound of n users: an upper bound over all datasets that differ in one input.

    Args:
        laws: of the slots.
        n: number of users.
        rtol: relative width of epsilon to aim for.
        where: what the curve belongs to.
    """

    def __init__(self, laws: SlotLaws, n: int, rtol: float, where: object = None) -> None:
        self.laws, self.n, self.rtol, self.where = laws, n, rtol, where
        #: From here on too much is left out: estimates believe what a proof found.
        self._most = math.inf

    def above(self, epsilon: float) -> Proved:
        """Prove the bound; infinite where nothing better than the blanket can be expected."""
        if epsilon >= self.end.upper:
            return Proved(-math.inf, self.where, "swap")
        log = self.estimate(epsilon)
        if not log < math.inf:
            return Proved(math.inf, self.where, "swap")
        rest = 0.0 if self.laws.rest is None else self.laws.rest(epsilon)
        if rest > _TOO_MUCH * math.exp(min(log, 0.0)):
            self._most = min(self._most, epsilon)
            return Proved(math.inf, self.where, "swap")
        slots = Slots.of(self.laws.blanket, self.laws.revealing(epsilon), epsilon)
        if self.laws.rest is None:
            found = swap_log_delta(slots, self.n, self._accuracy(epsilon))
            return Proved(found, self.where, "swap")
        accuracy = self._accuracy(epsilon)
        slots, cost = slots.without_rare(min(_MORE * accuracy / _RARE, 1) * _rare(log), self.n)
        found = swap_log_delta(slots, self.n, min(_LESS * accuracy, _COARSEST))
        with precision():
            found = upper_log(arb(found).exp() + cost + rest)
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
        backgrounds = self.laws.revealing(epsilon)
        if not backgrounds or not self.laws.least <= epsilon < self._most:
            return math.inf
        estimate = _estimate if self.laws.rest is None else _capped_estimate
        return estimate(self.laws.blanket, backgrounds, self.n, epsilon)

    @cached_property
    def end(self) -> Interval:
        """Enclose where delta becomes 0: no later than for the blanket."""
        return Interval(0.0, self.laws.blanket.max_epsilon if self.laws.rest is None else math.inf)

    def __str__(self) -> str:
        """Name it."""
        return f"swap({self.where})"


@lru_cache(maxsize=1024)
def _estimate(
    blanket: Decomposition, backgrounds: tuple[Decomposition, ...], n: int, epsilon: float
) -> float:
    proposal = Proposal(*_doubles(blanket, backgrounds, epsilon), n)
    return proposal.log_measured if n <= _FEW_USERS else proposal.log_estimate


@lru_cache(maxsize=1024)
def _capped_estimate(
    blanket: Decomposition, backgrounds: tuple[Decomposition, ...], n: int, epsilon: float
) -> float:
    """Return the same where the largest gains are cut off, and what that costs."""
    first, types, gamma = _doubles(blanket, backgrounds, epsilon)
    alone = max(float(np.maximum(values, 0.0) @ masses) for values, masses in types)
    log = math.log(max(alone, _TINY))
    for is_rough in (True, False):
        for _ in range(_LOOKS):
            limit = _rare(log)
            kept = [without_rare(law, limit) for law in types]
            proposal = Proposal(without_rare(first, limit), kept, gamma, n)
            found = proposal.log_estimate if is_rough else proposal.log_measured
            before, log = log, float(np.logaddexp(found, math.log(limit)))
            if not log < before - _STILL:
                break
    return log


def _rare(log: float) -> float:
    """Return what may be cut off where log delta is about so much."""
    return _RARE * math.exp(max(min(log, 0.0), -700.0))


def _doubles(
    blanket: Decomposition, backgrounds: tuple[Decomposition, ...], epsilon: float
) -> tuple[DoubleLaw, list[DoubleLaw], float]:
    """Return slot 0, the types, and the mass of the blanket."""
    gamma = float(blanket.upper.weight.sum())
    values, masses = _covered(blanket.upper, epsilon)
    types = [_slot(part.upper, epsilon) for part in backgrounds]
    return (values, masses / gamma), types, gamma


def _covered(decomposition: Decomposition, epsilon: float) -> DoubleLaw:
    return decomposition.rough_gains(epsilon), decomposition.weight


def _slot(decomposition: Decomposition, epsilon: float) -> DoubleLaw:
    """Return the law of a type, of which thinned ones have a residual."""
    values, masses = _covered(decomposition, epsilon)
    rest = float(decomposition.residual)
    return (np.append(values, 0.0), np.append(masses, rest)) if rest else (values, masses)
