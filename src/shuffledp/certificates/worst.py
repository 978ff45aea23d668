r"""The largest delta over all pairs of inputs that have to be looked at, proved for each of them.

A pair is settled by a cheap proof, with any :math:`\theta>0`,

.. math:: \delta\le\min\Big(E\,G_+,\ \frac{(E\,e^{\theta G})^n}{e\,\theta\,n}\Big)
          +\sum_{c_j=0}(a_j-e^\varepsilon b_j)_+,

because :math:`x_+\le e^{\theta x}/(e\theta)`, if that is below what is proved of another pair.
Pairs whose decompositions consist of the same balls are looked at once: every statement about a
ball holds for all numbers in it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from flint import arb

from shuffledp.basics.balls import positive_part, precision, total, upper_log
from shuffledp.bounds.decomposed import Decomposed
from shuffledp.bounds.swap.curve import Swapped
from shuffledp.certificates.cases import cases_to_swap, pairs_to_prove
from shuffledp.certificates.derivation import background, blanket
from shuffledp.decomposition.decomposition import Decomposition
from shuffledp.engine.progress import Progress
from shuffledp.engine.proposals import Doubles
from shuffledp.engine.sums import Sum
from shuffledp.mechanisms import LocalRandomizer, Pair
from shuffledp.mechanisms.base import SlotLaws

#: With more pairs, or more types of others, a proof of the swap bound takes too long.
_MAX_PAIRS, _MAX_TYPES = 32, 16


@dataclass(frozen=True)
class Candidate:
    """A pair, its blanket and, for the swap bound, the laws of its slots."""

    pair: Pair
    blanket: Decomposition
    slots: SlotLaws | None = None

    def above(self, n: int, epsilon: float, rtol: float) -> float:
        """Prove an upper bound on log delta: the swap bound, or the blanket's where there is none.

        Where some output gives an input away, nobody can swap seats.
        """
        if self.slots is not None and not self.slots.is_singular:
            swapped = Swapped(self.slots, n, rtol).above(epsilon).log
            if swapped < math.inf:
                return swapped
        return Decomposed(self.blanket, n, rtol).above(epsilon).log

    def below(self, n: int, epsilon: float, rtol: float) -> float:
        """Prove a lower bound on the blanket's log delta; minus infinity for a swap bound."""
        if self.slots is not None:
            return -math.inf
        return Decomposed(self.blanket, n, rtol).below(epsilon).log

    def cheap(self, n: int, epsilon: float) -> float:
        """Prove an upper bound on log delta that takes little time."""
        gains = self.blanket.at(epsilon)
        law = gains.upper
        theta = arb(Doubles.of(Sum.of(law, n)).theta) if law.values.max() > 0 else arb(1)
        with precision():
            mean = total(atom.mass * positive_part(atom.value) for atom in law.atoms).upper()
            moment = total(atom.mass * (theta * atom.value).exp() for atom in law.atoms)
            chernoff = ((n * moment.log() - 1).exp() / (theta * n)).upper()
            return upper_log((chernoff if chernoff < mean else mean) + gains.exposed[1])


@dataclass(frozen=True)
class Worst:
    """Logarithms between which the largest delta lies, and a pair; None if no two inputs differ."""

    lower: float
    upper: float
    pair: Pair | None


def knows_swaps(randomizer: LocalRandomizer) -> bool:
    """Whether it is known what all others may hold, and of few types."""
    return bool(_swaps(randomizer))


def worst_pair(
    randomizer: LocalRandomizer,
    n: int,
    epsilons: tuple[float, float],
    rtol: float,
    progress: Progress,
    *,
    swap: bool,
) -> Worst:
    """Bound the largest delta over all pairs by the blanket, or also by the swap bound.

    Args:
        randomizer: what each user runs.
        n: number of users.
        epsilons: what an upper bound, and what a lower bound is asked for.
        rtol: relative width to aim for, of an epsilon.
        progress: is told how many pairs are settled.
        swap: whether seats may be swapped: then nothing is proved from below.
    """
    candidates = _swaps(randomizer) if swap else _blankets(randomizer)
    ranked = [(math.inf, one) for one in candidates]
    if len(candidates) > 1:
        ranked = [(one.cheap(n, epsilons[0]), one) for one in candidates]
        ranked.sort(key=lambda both: both[0], reverse=True)
    upper, worst = -math.inf, None
    for i, (cheap, one) in enumerate(ranked):
        progress("pairs", i / len(ranked))
        if worst is not None and cheap <= upper:
            break
        found = min(cheap, one.above(n, epsilons[0], rtol))
        if worst is None or found > upper:
            upper, worst = found, one
    if worst is None:
        return Worst(-math.inf, -math.inf, None)
    return Worst(worst.below(n, epsilons[1], rtol), upper, worst.pair)


@lru_cache(maxsize=4)
def _blankets(randomizer: LocalRandomizer) -> tuple[Candidate, ...]:
    """Return one pair for every different law."""
    different: dict[Hashable, Candidate] = {}
    for pair in pairs_to_prove(randomizer):
        found = blanket(randomizer, pair)
        different.setdefault(_balls(found), Candidate(pair, found))
    return tuple(different.values())


@lru_cache(maxsize=4)
def _swaps(randomizer: LocalRandomizer) -> tuple[Candidate, ...]:
    """Return the cases of the swap bound."""
    return tuple(_cases(randomizer))


def _cases(randomizer: LocalRandomizer) -> Iterator[Candidate]:
    for case in cases_to_swap(randomizer, _MAX_PAIRS, _MAX_TYPES):
        backgrounds = tuple(background(randomizer, case.pair, v) for v in case.others)
        own = blanket(randomizer, case.pair)
        yield Candidate(case.pair, own, SlotLaws(own, backgrounds))


def _balls(law: Decomposition) -> Hashable:
    """Return a key that two decompositions share only if they consist of the same balls."""
    components = Counter(tuple(map(_ball, component)) for component in law.components)
    singular = Counter(tuple(map(_ball, both)) for both in law.singular)
    spread = None if law.spread is None else _balls(law.spread)
    return frozenset(components.items()), frozenset(singular.items()), _ball(law.residual), spread


def _ball(x: arb | None) -> Hashable:
    return None if x is None else (*x.mid().man_exp(), *x.rad().man_exp())
