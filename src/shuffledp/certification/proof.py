"""Proofs of the two statements of a certificate, at ever higher accuracy until they hold."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal

from flint import arb, ctx

from shuffledp.accounting.datasets import Datasets
from shuffledp.accounting.report import Proof as Bound
from shuffledp.certification.balls import above, ball, below
from shuffledp.certification.bound import Question, enclose
from shuffledp.certification.derivation import background, check_known
from shuffledp.certification.enclosure import Enclosure, Method, PrecisionError
from shuffledp.certification.normal_sum import enclose_normal_sum
from shuffledp.certification.progress import Progress
from shuffledp.certification.slots import pairs_to_swap
from shuffledp.certification.worst_pair import bound_worst_swap, enclose_worst_pair
from shuffledp.errors import NoAnswerError
from shuffledp.randomizers import LocalRandomizer, Pair
from shuffledp.randomizers.aggregate import NormalSum
from shuffledp.wording import shorten

_PRECISIONS = (128, 256, 512, 1024)
_RTOLS = (5e-5, 5e-6, 5e-7)
_SUM_RTOLS = (1e-15,)
_SWAP_TOLERANCES = (1e-3, 2e-4)  # of log delta
_FAR = Decimal("1.05")  # a smaller tolerance does not make up for more than this
_HEAVY_RTOLS = (1e-3, 2e-4)  # where single large values may rule, more digits cost too much


@dataclass(frozen=True)
class Claim:
    """What is claimed of n users of a randomizer: delta at epsilon, both exact decimals.

    ``bound`` is the one by which a guarantee is to be proved.
    """

    randomizer: LocalRandomizer
    n: int
    epsilon: Decimal
    delta: Decimal
    bound: Bound = "blanket"

    def hint(self) -> arb:
        """Return a guess of delta."""
        return ball(self.delta) if self.delta else arb(1)


@dataclass(frozen=True)
class Proof:
    """What was proved about delta at the epsilon of a claim.

    Attributes:
        lower: delta is at least this.
        upper: delta is at most this.
        where: the pair of inputs, or the datasets, that attain it; None if no two inputs differ.
        methods: how the two bounds were computed, and with how many bits.
    """

    lower: Decimal
    upper: Decimal
    where: Pair | Datasets | None
    methods: Method


#: Encloses a bound up to a relative width, and tells where it is attained.
_Attempt = Callable[[float], tuple[Enclosure, Pair | Datasets | None]]


def prove_guarantee(claim: Claim, progress: Progress) -> Proof:
    """Enclose the optimal decomposition bound; stop when it is proved to be at most delta.

    The swap bound is bounded from above only: the lower end of its enclosure is 0.

    Raises:
        NoAnswerError: if the law of the mechanism, or its swap bound, is not known to the prover.
    """
    if claim.bound == "exact":
        pair = claim.randomizer.neighbours()[0]
        return _prove_sum(claim, pair, lambda proof: proof.upper <= claim.delta)
    check_known(claim.randomizer)
    if claim.bound == "swap":
        return _prove_swap(claim, progress)

    def attempt(rtol: float) -> tuple[Enclosure, Pair | None]:
        question = Question(claim.n, rtol, claim.hint(), progress)
        worst = enclose_worst_pair(claim.randomizer, ball(claim.epsilon), question)
        return worst.enclosure, worst.pair

    return _prove(claim, attempt, lambda proof: proof.upper <= claim.delta, _rtols(claim))


def _prove_swap(claim: Claim, progress: Progress) -> Proof:
    if claim.n < 2 or not pairs_to_swap(claim.randomizer):
        raise NoAnswerError(
            f"the swap bound of {claim.n} users of {shorten(str(claim.randomizer))} is not known "
            "to the prover"
        )

    def attempt(tolerance: float) -> tuple[Enclosure, Pair | None]:
        worst = bound_worst_swap(
            claim.randomizer, ball(claim.epsilon), claim.n, tolerance, progress
        )
        return worst.enclosure, worst.pair

    def done(proof: Proof) -> bool:
        return proof.upper <= claim.delta or proof.upper > claim.delta * _FAR

    return _prove(claim, attempt, done, _SWAP_TOLERANCES)


def _prove_sum(claim: Claim, where: Pair | Datasets, done: Callable[[Proof], bool]) -> Proof:
    """Enclose what a sum reveals, which is the same for all datasets."""
    seen = claim.randomizer.aggregate
    if not isinstance(seen, NormalSum):
        raise NoAnswerError(
            f"what the sum of reports of {shorten(str(claim.randomizer))} reveals is not known to "
            "the prover"
        )

    def attempt(rtol: float) -> tuple[Enclosure, Pair | Datasets]:
        return enclose_normal_sum(ball(seen.sigma), claim.n, ball(claim.epsilon), rtol), where

    return _prove(claim, attempt, done, _SUM_RTOLS)


def prove_leak(claim: Claim, datasets: Datasets, progress: Progress) -> Proof:
    """Enclose what two datasets reveal; stop when it is proved to be at least delta."""
    if claim.bound == "exact":
        return _prove_sum(claim, datasets, lambda proof: proof.lower >= claim.delta)
    check_known(claim.randomizer)
    pair, other = datasets.pair, datasets.other

    def attempt(rtol: float) -> tuple[Enclosure, Datasets]:
        question = Question(claim.n, rtol, claim.hint(), progress)
        lower, upper = (
            background(claim.randomizer, pair, other, side).at(ball(claim.epsilon))
            for side in ("lower", "upper")
        )
        return enclose(lower, upper, question), datasets

    return _prove(claim, attempt, lambda proof: proof.lower >= claim.delta, _rtols(claim))


def _rtols(claim: Claim) -> Sequence[float]:
    return _RTOLS if math.isfinite(claim.randomizer.epsilon0) else _HEAVY_RTOLS


def _prove(
    claim: Claim, attempt: _Attempt, done: Callable[[Proof], bool], rtols: Sequence[float]
) -> Proof:
    """Try ever smaller tolerances until the proof is done, or settles that it cannot be."""
    for rtol in rtols:
        proof = _with_enough_bits(attempt, rtol)
        settled = proof.lower > claim.delta or proof.upper < claim.delta
        if done(proof) or settled:
            break
    return proof


def _with_enough_bits(attempt: _Attempt, rtol: float) -> Proof:
    """Compute with more bits where balls get too wide."""
    for precision in _PRECISIONS:
        with ctx.workprec(precision):
            try:
                enclosure, where = attempt(rtol)
            except PrecisionError:
                continue
            methods = {
                "precision": precision,
                "lower": enclosure.lower_method,
                "upper": enclosure.upper_method,
            }
            upper = min(above(enclosure.upper), Decimal(1))  # delta is a probability
            return Proof(below(enclosure.lower), upper, where, methods)
    raise NoAnswerError(f"{_PRECISIONS[-1]} bits are not enough to prove anything")
