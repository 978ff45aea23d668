"""Proofs of the two statements of a certificate, at ever higher accuracy until they hold.

The claims are exact decimals, curves are asked at doubles: delta falls with epsilon, so a bound
from above is proved at the next double below, one from below at the next double above.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

from flint import arb

from shuffledp.accounting.datasets import Datasets
from shuffledp.basics.balls import ball, precision
from shuffledp.basics.errors import NoAnswerError
from shuffledp.basics.wording import shorten
from shuffledp.bounds.curve import Proof as Bound
from shuffledp.bounds.decomposed import Decomposed
from shuffledp.certificates.cases import pairs_to_prove
from shuffledp.certificates.derivation import background, check_known
from shuffledp.certificates.known_sums import why_unknown
from shuffledp.certificates.sums import enclose_sum
from shuffledp.certificates.worst import knows_swaps, worst_pair
from shuffledp.engine.enclosure import PrecisionError
from shuffledp.engine.progress import Progress
from shuffledp.mechanisms import LocalRandomizer, Pair

#: Relative widths of epsilon that are tried one after the other. Proofs go one step beyond what is
#: tried when a claim is made: proposals in doubles differ a little on other machines and later.
CLAIMED = (1e-4, 1e-5, 1e-6)
_PROVED = (*CLAIMED, 1e-7)

#: A smaller width of the swap bound does not make up for more than this factor of delta.
_FAR = Decimal("1.05")

#: Bits that are tried for sums.
_PRECISIONS = (128, 256, 512, 1024)

#: Digits of proved decimals, and arithmetic that rounds them up or down.
_DIGITS = 18
UP = Context(prec=_DIGITS, rounding=ROUND_CEILING, Emin=MIN_EMIN, Emax=MAX_EMAX)
DOWN = Context(prec=_DIGITS, rounding=ROUND_FLOOR, Emin=MIN_EMIN, Emax=MAX_EMAX)


@dataclass(frozen=True)
class Claim:
    """What is claimed of n honest users of a randomizer: delta at epsilon, both exact decimals.

    ``bound`` is the one by which a guarantee is to be proved, ``recorded`` a known enclosure of
    delta, which is to be proved as well.
    """

    randomizer: LocalRandomizer
    n: int
    epsilon: Decimal
    delta: Decimal
    bound: Bound = "blanket"
    recorded: tuple[Decimal, Decimal] = (Decimal(0), Decimal(1))

    @property
    def epsilons(self) -> tuple[float, float]:
        """The doubles next to epsilon, from below and from above."""
        nearest = float(self.epsilon)
        above = nearest if Decimal(nearest) >= self.epsilon else math.nextafter(nearest, math.inf)
        return double_below(self.epsilon), above


@dataclass(frozen=True)
class Proof:
    """What was proved about delta at the epsilon of a claim.

    Attributes:
        lower: delta is at least this.
        upper: delta is at most this.
        where: the pair of inputs, or the datasets, that attain it; None if no two inputs differ.
    """

    lower: Decimal
    upper: Decimal
    where: Pair | Datasets | None


def double_below(number: Decimal) -> float:
    """Return the largest double that is at most a number of at least 0."""
    nearest = float(number)
    return nearest if Decimal(nearest) <= number else math.nextafter(nearest, 0.0)


def prove_guarantee(claim: Claim, progress: Progress, rtols: Sequence[float] = _PROVED) -> Proof:
    """Enclose the bound over all pairs; stop when it is proved to be at most delta.

    The swap bound is bounded from above only: the lower end of its enclosure is 0.

    Raises:
        NoAnswerError: if the law of the mechanism, its swap bound, or what its sum reveals is not
            known to the prover.
    """
    if claim.bound == "exact":
        return _prove_sum(claim, None, progress)
    check_known(claim.randomizer)
    swap = claim.bound == "swap"
    if swap and (claim.n < 2 or not knows_swaps(claim.randomizer)):
        raise NoAnswerError(
            f"the swap bound of {claim.n} users of {shorten(str(claim.randomizer))} is not known "
            "to the prover"
        )

    def attempt(rtol: float) -> Proof:
        worst = worst_pair(claim.randomizer, claim.n, claim.epsilons, rtol, progress, swap=swap)
        return between(worst.lower, worst.upper, worst.pair)

    def done(proof: Proof) -> bool:
        return proof.upper <= claim.delta or (swap and proof.upper > claim.delta * _FAR)

    return _prove(claim, attempt, done, rtols)


def prove_leak(
    claim: Claim, datasets: Datasets, progress: Progress, rtols: Sequence[float] = _PROVED
) -> Proof:
    """Enclose what two datasets reveal; stop when it is proved to be at least delta."""
    if claim.bound == "exact":
        return _prove_sum(claim, datasets, progress)
    check_known(claim.randomizer)
    law = background(claim.randomizer, datasets.pair, datasets.other)

    def attempt(rtol: float) -> Proof:
        curve, (low, high) = Decomposed(law, claim.n, rtol), claim.epsilons
        return between(curve.below(high).log, curve.above(low).log, datasets)

    return _prove(claim, attempt, lambda proof: proof.lower >= claim.delta, rtols)


def _prove(
    claim: Claim,
    attempt: Callable[[float], Proof],
    done: Callable[[Proof], bool],
    rtols: Sequence[float],
) -> Proof:
    """Try ever smaller tolerances until the proof is done, or settles that it cannot be."""
    for rtol in rtols:
        proof = attempt(rtol)
        settled = proof.lower > claim.delta or proof.upper < claim.delta
        lower, upper = claim.recorded
        within = lower <= proof.lower and proof.upper <= upper
        if (settled and not done(proof)) or (done(proof) and within):
            break
    return proof


def _prove_sum(claim: Claim, datasets: Datasets | None, progress: Progress) -> Proof:
    """Enclose what a sum reveals, over all datasets or for two of them."""
    if (reason := why_unknown(claim.randomizer, claim.n)) is not None:
        raise NoAnswerError(reason)
    (pair,) = pairs_to_prove(claim.randomizer)
    for bits in _PRECISIONS:
        with precision(bits):
            hint = ball(claim.delta)
            try:
                found = enclose_sum(
                    claim.randomizer, claim.n, Fraction(claim.epsilon), hint, datasets, progress
                )
            except PrecisionError:
                continue
            return _enclosed(found.lower, found.upper, datasets or pair)
    raise NoAnswerError(f"{_PRECISIONS[-1]} bits are not enough to prove anything")


def between(lower: float, upper: float, where: Pair | Datasets | None) -> Proof:
    """Return the proof that delta is between numbers of which the logarithms are given."""
    with precision():
        first, second = (arb(log).exp() if log > -math.inf else arb(0) for log in (lower, upper))
        return _enclosed(first, second, where)


def _enclosed(lower: arb, upper: arb, where: Pair | Datasets | None) -> Proof:
    # Delta is a probability.
    return Proof(_below(lower), min(_above(upper), Decimal(1)), where)


def _below(x: arb) -> Decimal:
    """Return a decimal that is at least 0 and at most the number that a ball encloses."""
    middle, radius, exponent = (int(part) for part in x.mid_rad_10exp(_DIGITS))
    return DOWN.create_decimal(f"{max(middle - radius, 0)}e{exponent}")


def _above(x: arb) -> Decimal:
    """Return a decimal that is at least the number that a ball encloses."""
    middle, radius, exponent = (int(part) for part in x.mid_rad_10exp(_DIGITS))
    return UP.create_decimal(f"{middle + radius}e{exponent}")
