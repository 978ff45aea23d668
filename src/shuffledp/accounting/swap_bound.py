"""The swap bound of a mechanism: pairs, types of background, and what is known of them."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from shuffledp.accounting.binary_response import MOST_USERS, binary_response
from shuffledp.accounting.report import Proof
from shuffledp.divergence.row_swap import swap_log_deltas
from shuffledp.divergence.slots import SlotRows, Slots
from shuffledp.divergence.swap import swap_log_delta
from shuffledp.randomizers import KRR, DiscreteLaplace, LocalRandomizer, Pair
from shuffledp.randomizers.base import SlotLaws

#: How much smoothing and subdivision may add to log delta: a few parts in 10,000 of epsilon.
_TOLERANCE = 2e-3

#: Laws of so many atoms or fewer are evaluated together, and finer ones are coarsened to as many
#: where that adds less to log delta than smoothing does: for many users, and at small levels.
_MOST_ATOMS = 256
_LOG_USERS, _LOG_USERS_PER_LEVEL = 3.4, 2.0

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
        self._known: dict[tuple[Pair, float], tuple[float, float]] = {}  # bound and ceiling
        self._level = _binary_level(randomizer) if 1 < n <= MOST_USERS else None
        self.proof: Proof = "swap" if self._level is None else "exact"

    @property
    def is_available(self) -> bool:
        """Whether there is such a bound for this mechanism."""
        return bool(self.pairs) and self.n > 1

    def log_delta(self, pair: Pair, epsilon: float, ceiling: float = math.inf) -> float:
        """Return an upper bound on log delta for one pair; infinite if it is of no use.

        A bound above the ceiling is not made as small as it could be. Any other does not depend on
        the ceiling.
        """
        if self._level is not None:
            return binary_response(self._level, self.n).log_delta(epsilon)
        key = (pair, epsilon)
        known, met = self._known.get(key, (math.inf, -math.inf))
        if known > met and ceiling > met:
            found = self._slots(pair, epsilon)
            bound = math.inf
            if found is not None:
                slots = Slots.of(found.blanket, found.backgrounds, epsilon)
                bound = swap_log_delta(slots, self.n, _TOLERANCE, ceiling)
            self._known[key] = known, _ = bound, ceiling
        return known

    def _slots(self, pair: Pair, epsilon: float) -> SlotLaws | None:
        """Return the laws that count at an epsilon; None if there are none."""
        laws = _slot_laws(self.randomizer, pair, self._is_coarse)
        backgrounds = () if laws is None else laws.revealing(epsilon)
        return SlotLaws(laws.blanket, backgrounds) if laws is not None and backgrounds else None

    @property
    def _is_coarse(self) -> bool:
        """Whether coarse cells cost little."""
        level = max(self.randomizer.epsilon0 - 1, 0.0)
        return math.log(self.n) >= _LOG_USERS + _LOG_USERS_PER_LEVEL * level

    def remember(self, point: SwapPoint, bound: float) -> None:
        """Answer :meth:`log_delta` with what was found together with others."""
        self._known[point.pair, point.epsilon] = bound, point.ceiling

    def laws_at(self, pair: Pair, epsilon: float) -> SlotLaws | None:
        """Return the laws of a bound that can be evaluated together with others, else None."""
        if self._level is not None or not self.is_available or (pair, epsilon) in self._known:
            return None
        found = self._slots(pair, epsilon)
        if found is None or max(_sizes(found)) > _MOST_ATOMS:
            return None
        return found


@dataclass(frozen=True)
class SwapPoint:
    """Where a swap bound will be asked for, and above which ceiling it is of no use."""

    swap: SwapBound
    pair: Pair
    epsilon: float
    ceiling: float = math.inf


def prepare_swaps(points: Sequence[SwapPoint]) -> None:
    """Evaluate together what several swap bounds will be asked for, where that is quicker.

    What comes out is certified as single answers are, and differs from them by a small part of the
    tolerance. Bounds in which mixtures of several backgrounds matter are left to single questions.
    """
    groups = defaultdict(list)
    for point in points:
        laws = point.swap.laws_at(point.pair, point.epsilon)
        if laws is not None:
            first, *types = _sizes(laws)
            groups[len(types), _rounded(first), _rounded(max(types))].append((point, laws))
    for group in groups.values():
        asked = [point for point, _ in group]
        users = np.array([point.swap.n for point in asked])
        ceilings = np.array([point.ceiling for point in asked])
        bounds = swap_log_deltas(_rows(group), users, _TOLERANCE, ceilings)
        for point, bound in zip(asked, bounds, strict=True):
            if bound is not None:
                point.swap.remember(point, bound)


def _rows(group: Sequence[tuple[SwapPoint, SlotLaws]]) -> SlotRows:
    """Return the slots of all points; those of the same laws in a row are made together."""
    parts, begin = [], 0
    for end in range(1, len(group) + 1):
        _, laws = group[begin]
        if end == len(group) or not _is_same(group[end][1], laws):
            epsilons = np.array([point.epsilon for point, _ in group[begin:end]])
            parts.append(SlotRows.of(laws.blanket, laws.backgrounds, epsilons))
            begin = end
    return SlotRows.joined(parts)


def _is_same(laws: SlotLaws, others: SlotLaws) -> bool:
    """Whether these are the same decompositions, not only equal ones."""
    pairs = zip(laws.backgrounds, others.backgrounds, strict=True)
    return laws.blanket is others.blanket and all(one is other for one, other in pairs)


def _sizes(laws: SlotLaws) -> list[int]:
    """Return the number of atoms of slot 0 and of every type, at most."""
    return [part.upper.size + 1 for part in (laws.blanket, *laws.backgrounds)]


def _rounded(size: int) -> int:
    """Return the next power of two, so that laws of about the same size are together."""
    return 1 << (size - 1).bit_length()


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
def _slot_laws(randomizer: LocalRandomizer, pair: Pair, is_coarse: bool = False) -> SlotLaws | None:
    """Return the laws, which depend neither on n nor on epsilon; None if ratios are unbounded.

    Coarse ones are larger in convex order, as cells are, and so is the bound.
    """
    if is_coarse:
        laws = _slot_laws(randomizer, pair)
        if laws is None or max(_sizes(laws)) <= _MOST_ATOMS:
            return laws
        blanket, *backgrounds = (
            part.coarsen(_MOST_ATOMS - 1) for part in (laws.blanket, *laws.backgrounds)
        )
        if any(part.is_singular for part in (blanket, *backgrounds)):  # weights became faint
            return laws
        return SlotLaws(blanket, tuple(backgrounds), laws.levels)
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
