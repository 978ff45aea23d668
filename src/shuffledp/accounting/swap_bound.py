"""The swap bound of a mechanism: pairs, types of background, and what is known of them."""

from __future__ import annotations

import math
from functools import cached_property, lru_cache

from shuffledp.accounting.binary_response import MOST_USERS, binary_response
from shuffledp.accounting.candidates import Candidates, blankets
from shuffledp.accounting.report import Proof
from shuffledp.bounds.swap.bound import swap_log_delta
from shuffledp.bounds.swap.slots import Slots
from shuffledp.randomizers import KRR, DiscreteLaplace, LocalRandomizer, Pair
from shuffledp.randomizers.base import SlotLaws

#: How much smoothing and subdivision may add to log delta: a few parts in 10,000 of epsilon.
_TOLERANCE = 2e-3

#: With more pairs, of which the blanket discards most, it takes too long.
_MAX_PAIRS = 240


class SwapBound:
    """Upper bounds on delta over all datasets, pair by pair, for n users.

    Binary randomized response of a few users is computed exactly instead.

    Attributes:
        pairs: the pairs that stand for all; empty if the bound is not available, see ``reason``.
        reason: why it is not available.
        proof: which of the two it is.
    """

    def __init__(self, randomizer: LocalRandomizer, n: int) -> None:
        self.randomizer, self.n = randomizer, n
        self.pairs, self.reason = _available(randomizer)
        self._known: dict[tuple[Pair, float], float] = {}
        self._level = _binary_level(randomizer) if 1 < n <= MOST_USERS else None
        self.proof: Proof = "swap" if self._level is None else "exact"

    @cached_property
    def candidates(self) -> Candidates:
        """The blankets of the pairs; that of a pair counts where it is smaller than its bound."""
        return blankets(self.randomizer, self.pairs)

    @property
    def is_available(self) -> bool:
        """Whether there is such a bound for this mechanism."""
        return bool(self.pairs) and self.n > 1

    def log_delta(self, pair: Pair, epsilon: float) -> float:
        """Return an upper bound on log delta for one pair; infinite if it is of no use."""
        if self._level is not None:
            return binary_response(self._level, self.n).log_delta(epsilon)
        if (pair, epsilon) not in self._known:
            laws = _slot_laws(self.randomizer, pair)
            backgrounds = () if laws is None else laws.revealing(epsilon)
            bound = math.inf
            if laws is not None and backgrounds:
                slots = Slots.of(laws.blanket, backgrounds, epsilon)
                bound = swap_log_delta(slots, self.n, _TOLERANCE)
            self._known[pair, epsilon] = bound
        return self._known[pair, epsilon]


def _binary_level(randomizer: LocalRandomizer) -> float | None:
    """Return the level of a mechanism that is binary randomized response, None of any other."""
    # Exactly these classes: one derived from them may state another law.
    if type(randomizer) is KRR and randomizer.k == 2:
        return randomizer.epsilon0
    # Reports of discrete noise on {0, 1} beyond an end tell as much as the end.
    if type(randomizer) is DiscreteLaplace and randomizer.bound == 1:
        return randomizer.epsilon0
    return None


@lru_cache(maxsize=512)
def _slot_laws(randomizer: LocalRandomizer, pair: Pair) -> SlotLaws | None:
    """Return the laws, which depend neither on n nor on epsilon; None if ratios are unbounded."""
    laws = randomizer.slot_laws(pair)
    if laws is None or any(part.is_singular for part in (laws.blanket, *laws.backgrounds)):
        return None
    return laws


@lru_cache(maxsize=64)
def _available(randomizer: LocalRandomizer) -> tuple[tuple[Pair, ...], str]:
    """Return the pairs of the swap bound, or none and why."""
    pairs = randomizer.pairs_to_swap()
    if pairs is None:
        return (), "which pairs are worst for the swap bound is not known"
    if len(pairs) > _MAX_PAIRS:
        return (), f"the swap bound would have to compare more than {_MAX_PAIRS} pairs"
    if pairs and _slot_laws(randomizer, pairs[0]) is None:
        return (), "which backgrounds are worst for the swap bound is not known"
    return tuple(pairs), ""
