"""What the analyst sees: the shuffled multiset of reports, or nothing but their sum."""

from __future__ import annotations

from functools import partial
from typing import Literal

from shuffledp.accounting.crowd import Crowd
from shuffledp.accounting.datasets import Datasets
from shuffledp.bounds.curve import Proof
from shuffledp.bounds.sums.counts import Bit
from shuffledp.bounds.sums.sum_curves import (
    MAX_USERS,
    BitSum,
    Noise,
    NoisySum,
    geometric_noise,
    laplace_noise,
    normal_noise,
)
from shuffledp.mechanisms import LocalRandomizer
from shuffledp.mechanisms.aggregate import (
    BitSums,
    GeometricSum,
    LaplaceSum,
    NormalSum,
    OnlyMultiset,
    SameAsMultiset,
    SeparateSums,
)

#: What the analyst sees.
View = Literal["multiset", "sum"]
VIEWS: tuple[View, ...] = ("multiset", "sum")


def check_view(view: View) -> View:
    """Return a view; refuse others."""
    if view not in VIEWS:
        raise ValueError(f"view must be one of {', '.join(VIEWS)}, got {view!r}")
    return view


def view_in_words(randomizer: LocalRandomizer, view: View, crowd: Crowd) -> str:
    """Return what the analyst sees and what follows from it."""
    if view == "multiset":
        return "the shuffled multiset of whole reports"
    seen = randomizer.aggregate
    if isinstance(seen, SameAsMultiset):
        return f"the sum of the reports, which is as good as the multiset: {seen.reason}"
    if isinstance(seen, OnlyMultiset):
        return f"the sum of the reports; the guarantee is that of the multiset: {seen.reason}"
    if is_exact(randomizer, crowd):
        attributes = isinstance(seen, SeparateSums)
        return (
            "the sums of the reports alone, one for each attribute"
            if attributes
            else "the sum of the reports alone"
        )
    why = (
        "reports are learned adaptively"
        if crowd.corrupted_adaptively
        else f"sums of bits are analysed for up to {MAX_USERS:,} users"
    )
    return f"the sum of the reports; the guarantee is that of the multiset: {why}"


def tells_less(randomizer: LocalRandomizer) -> bool:
    """Whether the sum may tell less than the multiset."""
    return not isinstance(randomizer.aggregate, SameAsMultiset)


def is_exact(randomizer: LocalRandomizer, crowd: Crowd) -> bool:
    """Whether the privacy of the sum itself is computed."""
    seen = randomizer.aggregate
    if isinstance(seen, SameAsMultiset | OnlyMultiset) or crowd.corrupted_adaptively:
        return False
    return not isinstance(seen, BitSums) or crowd.honest <= MAX_USERS


def is_one_number(randomizer: LocalRandomizer, crowd: Crowd) -> bool:
    """Whether all that is seen of honest users is one noisy number, in either view.

    >>> from shuffledp import Laplace
    >>> is_one_number(Laplace(1.0), Crowd(9, corrupted=8)), is_one_number(Laplace(1.0), Crowd(9))
    (True, False)
    """
    return noise_of(randomizer, 1) is not None and crowd.honest == 1


def noise_of(randomizer: LocalRandomizer, n: int) -> Noise | None:
    """Return the sum of n noisy numbers; None if reports are something else."""
    match randomizer.aggregate:
        case NormalSum(sigma):
            return normal_noise(sigma, n)
        case LaplaceSum(epsilon0, steps):
            return laplace_noise(epsilon0, steps, n)
        case GeometricSum(epsilon0, bound):
            return geometric_noise(epsilon0, bound, n)
    return None


def held_by_all(randomizer: LocalRandomizer, held: tuple[bool, bool]) -> Datasets:
    """Return the datasets in which all others hold a user's first value, the second, or neither.

    The user's values are those of the worst pair; a third one of bits is 2.
    """
    pair = randomizer.neighbours()[0]
    others = {(True, False): pair.first, (False, True): pair.second}
    return Datasets(pair, others.get(held, 2))


def sum_of_noise(randomizer: LocalRandomizer, n: int, proof: Proof = "exact") -> NoisySum | None:
    """Return the curve of the sum of n noisy numbers, at datasets that are as bad as any."""
    noise = noise_of(randomizer, n)
    return NoisySum(noise, held_by_all(randomizer, (True, False)), proof) if noise else None


def sum_of_bits(randomizer: LocalRandomizer, n: int) -> BitSum | None:
    """Return the curve of the counts of bits of n reports, None if they have no such bits."""
    seen = randomizer.aggregate
    if not isinstance(seen, BitSums):
        return None
    own, other = Bit(*seen.own), Bit(*seen.other)
    return BitSum(own, other, seen.two_values, seen.level, n, partial(held_by_all, randomizer))
