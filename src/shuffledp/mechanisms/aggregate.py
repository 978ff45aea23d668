"""What is left of the reports if the analyst sees nothing but the sum of what users submit."""

from __future__ import annotations

from dataclasses import dataclass

from flint import arb


@dataclass(frozen=True)
class SameAsMultiset:
    """The sum tells the multiset of reports: nothing is gained, nothing is lost."""

    reason: str


@dataclass(frozen=True)
class OnlyMultiset:
    """The sum is a function of the multiset, and no better bound than that one's is known."""

    reason: str = "no bound of the sum alone is known for this mechanism"


@dataclass(frozen=True)
class NormalSum:
    """The sum of values in [0, 1] plus normal noise of standard deviation sigma each.

    Reports may be rounded to a grid with at least 2**10 steps to sigma: that adds less than
    10**-1000000 to a delta, see docs/sums.md.
    """

    sigma: float


@dataclass(frozen=True)
class LaplaceSum:
    """The sum of values in [0, 1] plus Laplace noise of scale 1/epsilon0 each, rounded to a grid.

    It reveals no more than a sum of two-sided geometric noise, see :class:`shuffledp.Laplace`.

    Attributes:
        epsilon0: the LDP level.
        steps: how many steps of the grid lie between 0 and 1.
    """

    epsilon0: float
    steps: int


@dataclass(frozen=True)
class GeometricSum:
    """The sum of integers from 0 to B plus two-sided geometric noise, alpha = e^(-epsilon0/B)."""

    epsilon0: float
    bound: int


@dataclass(frozen=True, eq=False)
class BitSums:
    """How many reports have the bit of each value, bits being independent.

    Attributes:
        own: the probabilities of 1 and 0 at the true value.
        other: the probabilities at any other value; 1 is rarer there.
        two_values: whether there are no more than two values.
        level: the exact LDP level.
    """

    own: tuple[arb, arb]
    other: tuple[arb, arb]
    two_values: bool
    level: arb


@dataclass(frozen=True)
class SeparateSums:
    """One sum for each of several attributes, independent of each other given the data."""


#: What the sum of n reports is.
Aggregate = (
    SameAsMultiset | OnlyMultiset | NormalSum | LaplaceSum | GeometricSum | BitSums | SeparateSums
)
