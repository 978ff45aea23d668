r"""What the sum of all reports reveals by itself, in balls: noise, or counts of independent bits.

With noise it is the same for all datasets. Bits of a user are independent, 1 with probability
:math:`a=E\,W_1[1]` at the value and :math:`b=E\,W_2[2]+W_2[1]` elsewhere, where :math:`W_t[m]` is
the w-mass of reports that support m given of t inputs, see :mod:`shuffledp.certificates.support`.
"""

from __future__ import annotations

from fractions import Fraction

from flint import arb

from shuffledp.accounting.datasets import Datasets
from shuffledp.basics.balls import ball
from shuffledp.bounds.sums.counts import Bit
from shuffledp.bounds.sums.noise import (
    enclose_geometric_sum,
    enclose_laplace_sum,
    enclose_normal_sum,
)
from shuffledp.bounds.sums.worst import CountSearch
from shuffledp.certificates.known_sums import has_bits, is_noise
from shuffledp.certificates.support import SUPPORT_LAWS
from shuffledp.engine.enclosure import Enclosure
from shuffledp.engine.progress import Progress
from shuffledp.mechanisms import DiscreteLaplace, Gaussian, Laplace, LocalRandomizer

_RTOL = 1e-15  # of what noise reveals


def enclose_sum(
    randomizer: LocalRandomizer,
    n: int,
    epsilon: Fraction,
    hint: arb,
    datasets: Datasets | None,
    progress: Progress,
) -> Enclosure:
    """Enclose delta of the sum of n reports, over all datasets or for two of them.

    Args:
        randomizer: what each user runs; its sum must be known.
        n: number of users.
        epsilon: at least 0.
        hint: what delta is compared with: a search for the worst datasets ends where that is known.
        datasets: two of them, None for all.
        progress: is told how far a search is.

    Raises:
        PrecisionError: if more bits are needed.
    """
    if is_noise(randomizer):
        return enclose_noise(randomizer, n, epsilon)
    counts = BitCounts(randomizer, n, epsilon, hint if hint > 0 else arb(1))
    if datasets is not None:
        return counts.enclose_datasets(datasets)
    return counts.enclose(hint, progress)


def enclose_noise(randomizer: LocalRandomizer, n: int, epsilon: Fraction) -> Enclosure:
    """Enclose delta of the sum of n values with noise.

    Raises:
        PrecisionError: if more bits are needed.
    """
    match randomizer:
        case Gaussian():
            return enclose_normal_sum(ball(randomizer.sigma), n, ball(epsilon), _RTOL)
        case Laplace():
            level = Fraction(randomizer.epsilon0)
            return enclose_laplace_sum(level, randomizer.steps, n, epsilon, _RTOL)
        case DiscreteLaplace():
            level = Fraction(randomizer.epsilon0)
            return enclose_geometric_sum(level, randomizer.bound, n, epsilon, _RTOL)
    raise TypeError(f"{randomizer} does not add noise")


class BitCounts:
    """The counts of the bits of n reports, and what they reveal at one epsilon.

    Args:
        randomizer: a unary encoding, or hashing by all functions.
        n: number of users.
        epsilon: at least 0.
        hint: a guess of delta; a bad one costs time or width, never the proof.
    """

    def __init__(self, randomizer: LocalRandomizer, n: int, epsilon: Fraction, hint: arb) -> None:
        if not has_bits(randomizer):
            raise TypeError(f"the bits of {randomizer} are not independent")
        table = SUPPORT_LAWS[type(randomizer)](randomizer)
        ratio, loss = table.level.exp(), ball(epsilon)
        mixed = table.mass(1, 2)
        own = Bit(ratio * table.mass(1, 1), table.mass(0, 1))
        other = Bit(ratio * table.mass(2, 2) + mixed, ratio * mixed + table.mass(0, 2))
        self.is_private = bool(loss >= table.level)  # by each report itself
        self.search = CountSearch(own, other, n, table.inputs == 2, loss.exp(), hint)

    def enclose(self, enough: arb, progress: Progress) -> Enclosure:
        """Enclose the largest delta of all datasets, as far as it takes to compare it.

        Raises:
            PrecisionError: if more bits are needed.
        """
        if self.is_private:
            return _nothing()
        found = self.search.run(enough, progress)
        method = {"name": "branch and bound", "rectangles": found.rectangles}
        counts = Enclosure.between(found.lower, found.lower, {"name": "counts"})
        return Enclosure.between(found.upper, found.upper, method).from_below(counts)

    def enclose_datasets(self, datasets: Datasets) -> Enclosure:
        """Enclose delta of two datasets.

        Raises:
            PrecisionError: if more bits are needed.
        """
        if self.is_private:
            return _nothing()
        pair, other = datasets.pair, datasets.other
        found = self.search.all_hold((other == pair.first, other == pair.second))
        return Enclosure.between(found.lower, found.upper, {"name": "counts"})


def _nothing() -> Enclosure:
    return Enclosure.between(arb(0), arb(0), {"name": "elementary"})
