"""Which bound answers? One function, whose result is an expression of curves and prints as such."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache

from shuffledp.accounting.crowd import Crowd
from shuffledp.accounting.datasets import Datasets
from shuffledp.accounting.joint_sums import JointSums
from shuffledp.accounting.setting import Bound
from shuffledp.accounting.sum_view import (
    View,
    is_exact,
    is_one_number,
    sum_of_bits,
    sum_of_noise,
    tells_less,
)
from shuffledp.basics.balls import lower_double
from shuffledp.basics.interval import Interval
from shuffledp.bounds.binary_response import MOST_USERS, BinaryResponse
from shuffledp.bounds.chernoff import users_aside
from shuffledp.bounds.curve import (
    UNKNOWN,
    Curve,
    Deferred,
    Proof,
    Proved,
    Remembered,
    largest,
    smallest,
)
from shuffledp.bounds.decomposed import FINEST, Decomposed
from shuffledp.bounds.sums.sum_curves import NoisySum
from shuffledp.bounds.swap.curve import Swapped
from shuffledp.decomposition import Decomposition
from shuffledp.mechanisms import (
    KRR,
    DiscreteLaplace,
    Input,
    LocalRandomizer,
    Pair,
    pairs_to_compare,
)
from shuffledp.mechanisms.base import SlotLaws
from shuffledp.mechanisms.composed.joint import Joint

#: The probabilities that too few of those set aside are in the pool; the best one is taken.
_RISKS = tuple(10.0**-exponent for exponent in (3, 6, 12, 24, 48, 96, 192, 300))

#: Up to this many pairs, what datasets attain is looked for at all of them; beyond, at the pair
#: whose blanket is worst.
_MAX_ATTACKED = 90

#: With more pairs, of which the blanket discards most, the swap bound takes too long.
_MAX_SWAPPED = 240


@dataclass(frozen=True, eq=False)
class Choice:
    """What is proved and what is attained by one mechanism, one crowd and one view.

    Attributes:
        guarantee: what is proved from above.
        attack: what concrete datasets attain, from below.
        blanket: the bound over all neighbours, whatever else is known.
        pairs: the pairs that stand for all.
        encloses_blanket: whether intervals enclose the blanket bound, not the truth.
        reason: why the blanket stands, if more was asked for; None if it need not.
        is_sharp: whether guarantee and attack are one number, but for the computation.

    >>> from shuffledp import KRR
    >>> print(choose(KRR(k=10, epsilon0=2.0), Crowd(1000), "multiset", "best", 1e-4).guarantee)
    smallest(decomposition(x1 = 0 vs 1), swap(x1 = 0 vs 1))
    """

    guarantee: Curve
    attack: Curve
    blanket: Curve
    pairs: Sequence[Pair]
    encloses_blanket: bool
    reason: str | None = None
    is_sharp: bool = False

    @property
    def is_blanket(self) -> bool:
        """Whether the guarantee is the blanket, and nothing else is known."""
        return self.guarantee is self.blanket


def choose(
    randomizer: LocalRandomizer,
    crowd: Crowd,
    view: View,
    bound: Bound,
    rtol: float,
    finest: float = FINEST,
) -> Choice:
    """Return the bounds that answer.

    Args:
        randomizer: what each user runs.
        crowd: the users, and how many of them are corrupted.
        view: what the analyst sees.
        bound: which bound of the multiset counts, where that is what answers.
        rtol: relative width of epsilon to aim for.
        finest: no relative width of delta below this is aimed for.
    """
    multiset = _of_multiset(randomizer, crowd, bound, rtol, finest)
    known = is_exact if view == "sum" else is_one_number
    if known(randomizer, crowd):
        name: Proof = "blanket" if view == "multiset" and bound == "blanket" else "exact"
        return _of_sum(randomizer, crowd, bound, rtol, multiset, name)
    if view == "sum" and tells_less(randomizer):
        return replace(multiset, attack=largest([]), encloses_blanket=False)
    return multiset


def _of_sum(
    randomizer: LocalRandomizer,
    crowd: Crowd,
    bound: Bound,
    rtol: float,
    multiset: Choice,
    name: Proof,
) -> Choice:
    """Return what is known of the sum itself; a sum reveals no more than the multiset."""
    noise = sum_of_noise(randomizer, crowd.honest, name)
    if noise is not None:
        return replace(_alone(multiset, noise), is_sharp=True)
    bits = sum_of_bits(randomizer, crowd.honest)
    if bits is not None:
        return _alone(multiset, bits)
    if isinstance(randomizer, Joint):
        return _alone(multiset, JointSums(randomizer, crowd, bound, rtol))
    raise TypeError(f"what the sum of reports of {randomizer} reveals is not known")


def _alone(multiset: Choice, own: Curve) -> Choice:
    """Return the bounds on a sum whose own curve is known."""
    own = Remembered(own)
    return replace(
        multiset,
        guarantee=own if isinstance(own.curve, NoisySum) else smallest([own, multiset.guarantee]),
        attack=own,
        encloses_blanket=False,
        reason=None,
    )


def _of_multiset(
    randomizer: LocalRandomizer, crowd: Crowd, bound: Bound, rtol: float, finest: float
) -> Choice:
    """Return the bounds on what all shuffled reports reveal."""
    pairs, adaptive = tuple(pairs_to_compare(randomizer)), crowd.corrupted_adaptively

    @cache
    def blanket_of(pair: Pair, n: int) -> Curve:
        law = _law(randomizer, type(randomizer), pair, None)
        return Remembered(Decomposed(law, n, rtol, pair, finest))

    def all_neighbours(n: int) -> Curve:
        return largest([blanket_of(pair, n) for pair in pairs])

    own = all_neighbours(crowd.honest)
    if adaptive and pairs:
        own = _adaptive(all_neighbours, crowd.honest, adaptive, _pool(randomizer, pairs))
    blanket = Remembered(own)
    # As if those whose reports are learned afterwards were fixed, too: that reveals less.
    attack = Remembered(_attack(randomizer, blanket, crowd.honest - adaptive, rtol, finest))
    if bound == "blanket":
        return Choice(blanket, attack, blanket, pairs, encloses_blanket=True)
    if adaptive:
        return Choice(blanket, attack, blanket, pairs, True, "reports are learned adaptively")
    n = crowd.honest
    known = _pairs_to_swap(randomizer, pairs, n)
    if isinstance(known, str):
        return Choice(blanket, attack, blanket, pairs, False, known or None)
    level = _binary_level(randomizer)
    if level is not None and n <= MOST_USERS:
        exact = Remembered(BinaryResponse(level, n, known[0]))
        return Choice(exact, attack, blanket, pairs, encloses_blanket=False)
    curves = [smallest([blanket_of(p, n), _swap(randomizer, p, n, rtol)]) for p in known]
    guarantee = largest(curves)
    if tuple(known) != pairs:
        guarantee = smallest([blanket, guarantee])
    return Choice(Remembered(guarantee), attack, blanket, pairs, encloses_blanket=False)


def _adaptive(curve_of: Callable[[int], Curve], n: int, f: int, pool: float) -> Curve:
    r"""Return the bound if the analyst chooses whose reports to learn after seeing them shuffled.

    Let every other user be in the pool with probability :math:`\gamma`, the mass of the blanket,
    and :math:`\varphi(m)` be the bound for a pool of m. Seen from the pool's multiset, the reports
    of its members are assigned to them at random, so the f that are learned, in whatever order they
    are chosen, might as well be any fixed f, and :math:`\delta\le E\varphi(\max(1,1+K-f))` with
    :math:`K\sim\mathrm{Bin}(n-1,\gamma)`. Split off m users, X of whom are in the pool: where
    :math:`X\ge f` the other users' pool is left whole, so

    .. math:: \delta\le\delta_{n-m}+P(\mathrm{Bin}(m,\gamma)<f)\qquad\text{for every }m.
    """
    curves = [curve_of(1)]  # all others are exposed
    for risk in _RISKS:
        aside = users_aside(f, pool, risk, n)
        if aside is not None:
            curves.append(curve_of(n - aside).plus(risk))
    return smallest(curves)


def _attack(
    randomizer: LocalRandomizer, blanket: Curve, n: int, rtol: float, finest: float
) -> Curve:
    """Return what datasets attain in which all others hold the same input."""

    def at(chosen: Sequence[Pair]) -> Curve:
        return largest(
            [
                Decomposed(
                    _law(randomizer, type(randomizer), pair, v), n, rtol, Datasets(pair, v), finest
                )
                for pair in chosen
                for v in randomizer.common_inputs(pair)
            ]
        )

    tried = randomizer.pairs_to_attack()
    return at(tried) if len(tried) <= _MAX_ATTACKED else _AtWorst(blanket, at)


class _AtWorst(Curve):
    """What datasets attain that differ in the pair whose blanket is worst, or its reverse.

    Which pair that is decides how good the bound is, never whether it is valid.
    """

    def __init__(self, blanket: Curve, at: Callable[[Sequence[Pair]], Curve]) -> None:
        self.blanket, self.where = blanket, blanket.where
        self._at = lru_cache(maxsize=64)(lambda pair: at((pair, pair.reversed)))

    def above(self, epsilon: float) -> Proved:
        """Prove nothing: other datasets may reveal more."""
        return Proved(math.inf, self.where)

    def below(self, epsilon: float) -> Proved:
        """Prove what these datasets attain."""
        return self._curve(epsilon).below(epsilon)

    def estimate(self, epsilon: float, like: Proved | None = None) -> float:
        """Return that of the datasets."""
        return self._curve(epsilon).estimate(epsilon, like)

    @property
    def end(self) -> Interval:
        """That of the datasets that reveal most at epsilon = 0."""
        return Interval(self._curve(0.0).end.lower, math.inf)

    def _curve(self, epsilon: float) -> Curve:
        return self._at(self.blanket.above(epsilon).where)

    def __str__(self) -> str:
        return f"attack on the worst pair of {self.blanket}"


def _pairs_to_swap(
    randomizer: LocalRandomizer, pairs: Sequence[Pair], n: int
) -> Sequence[Pair] | str:
    """Return the pairs of the swap bound; if there is none, why, which may need no words."""
    if n < 2 or not pairs:
        return ""
    known = randomizer.pairs_to_swap()
    if known is None:
        return "which pairs are worst for the swap bound is not known"
    if len(known) > _MAX_SWAPPED:
        return f"the swap bound would have to compare more than {_MAX_SWAPPED} pairs"
    if not known or _slot_laws(randomizer, type(randomizer), known[0]) is None:
        return "which backgrounds are worst for the swap bound is not known"
    return known


def _swap(randomizer: LocalRandomizer, pair: Pair, n: int, rtol: float) -> Curve:
    """Return the swap bound of a pair, which needs many laws, not before it is asked."""

    def make() -> Curve:
        laws = _slot_laws(randomizer, type(randomizer), pair)
        if laws is None:
            return UNKNOWN
        return Swapped(laws, n, rtol, pair)

    return Deferred(make, pair)


def _binary_level(randomizer: LocalRandomizer) -> float | None:
    """Return the level of a mechanism that is binary randomized response, None of any other."""
    # Exactly these classes: one derived from them may state another law.
    if type(randomizer) is KRR and randomizer.k == 2:
        return randomizer.epsilon0
    # Reports of discrete noise on {0, 1} beyond an end tell as much as the end.
    if type(randomizer) is DiscreteLaplace and randomizer.bound == 1:
        return randomizer.epsilon0
    return None


def _pool(randomizer: LocalRandomizer, pairs: Sequence[Pair]) -> float:
    """Return a probability with which, at least, a report is in the blanket of any pair."""
    least = randomizer.least_blanket_mass
    masses = [lower_double(_law(randomizer, type(randomizer), p, None).upper.mass) for p in pairs]
    return max(min([1.0, *masses, *([] if least is None else [least])]), 0.0)


# Laws depend on no number of users: along a curve, or in a search for n, they are made once. The
# class is part of the key, as one that is derived may state another law.


@lru_cache(maxsize=4096)
def _law(randomizer: LocalRandomizer, kind: type, pair: Pair, other: Input | None) -> Decomposition:
    return randomizer.decomposition(pair, other)


@lru_cache(maxsize=512)
def _slot_laws(randomizer: LocalRandomizer, kind: type, pair: Pair) -> SlotLaws | None:
    """Return the laws of the swap bound; None if they are not known or ratios are unbounded."""
    laws = randomizer.slot_laws(pair)
    return None if laws is None or laws.is_singular else laws
