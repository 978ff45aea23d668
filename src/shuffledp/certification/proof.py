"""Proofs of the two statements of a certificate, at ever higher accuracy until they hold."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import partial

from flint import arb, ctx

from shuffledp.accounting.datasets import Datasets
from shuffledp.accounting.report import Proof as Bound
from shuffledp.certification.balls import above, below
from shuffledp.certification.bound import Question, enclose
from shuffledp.certification.cases import pairs_to_prove
from shuffledp.certification.derivation import background, check_known, has_unbounded_ratios
from shuffledp.certification.known_sums import is_noise, why_unknown
from shuffledp.certification.slots import cases_of
from shuffledp.certification.sums import BitCounts, enclose_noise
from shuffledp.certification.worst_pair import bound_worst_swap, enclose_worst_pair
from shuffledp.engine.balls import ball
from shuffledp.engine.enclosure import Enclosure, Method, PrecisionError
from shuffledp.engine.progress import Progress
from shuffledp.errors import NoAnswerError
from shuffledp.randomizers import LocalRandomizer, Pair
from shuffledp.wording import shorten

_PRECISIONS = (128, 256, 512, 1024)
_RTOLS = (5e-5, 5e-6, 5e-7)
_SWAP_TOLERANCES = (1e-3, 2e-4)  # of log delta
_FAR = Decimal("1.05")  # a smaller tolerance does not make up for more than this
_HEAVY_RTOLS = (4.5e-4,)  # where single large values may rule, more digits cost too much


@dataclass(frozen=True)
class Claim:
    """What is claimed of n users of a randomizer: delta at epsilon, both exact decimals.

    ``bound`` is the one by which a guarantee is to be proved, ``recorded`` a known enclosure of
    delta, which is to be proved as well.
    """

    randomizer: LocalRandomizer
    n: int
    epsilon: Decimal
    delta: Decimal
    bound: Bound = "blanket"
    recorded: tuple[Decimal, Decimal] = (Decimal(0), Decimal(1))

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


#: The enclosure of a bound, and where it is attained.
_Found = tuple[Enclosure, Pair | Datasets | None]

#: Encloses a bound up to a relative width.
_Attempt = Callable[[float], _Found]


def prove_guarantee(claim: Claim, progress: Progress) -> Proof:
    """Enclose the optimal decomposition bound; stop when it is proved to be at most delta.

    The swap bound is bounded from above only: the lower end of its enclosure is 0.

    Raises:
        NoAnswerError: if the law of the mechanism, its swap bound, or what its sum reveals is not
            known to the prover.
    """
    if claim.bound == "exact":
        _check_sum(claim)
        (pair,) = pairs_to_prove(claim.randomizer)
        return _prove_sum(claim, pair, progress)
    check_known(claim.randomizer)
    if claim.bound == "swap":
        return _prove_swap(claim, progress)

    def attempt(rtol: float) -> tuple[Enclosure, Pair | None]:
        question = Question(claim.n, rtol, claim.hint(), progress)
        worst = enclose_worst_pair(claim.randomizer, ball(claim.epsilon), question)
        return worst.enclosure, worst.pair

    return _prove(claim, attempt, lambda proof: proof.upper <= claim.delta, rtols(claim.randomizer))


def _prove_swap(claim: Claim, progress: Progress) -> Proof:
    if claim.n < 2 or not cases_of(claim.randomizer):
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


def _check_sum(claim: Claim) -> None:
    if (reason := why_unknown(claim.randomizer, claim.n)) is not None:
        raise NoAnswerError(reason)


def _prove_sum(claim: Claim, where: Pair | Datasets, progress: Progress) -> Proof:
    """Enclose what a sum reveals, over all datasets or for two of them."""
    epsilon = Fraction(claim.epsilon)

    def attempt() -> Enclosure:
        if is_noise(claim.randomizer):
            return enclose_noise(claim.randomizer, claim.n, epsilon)
        counts = BitCounts(claim.randomizer, claim.n, epsilon, claim.hint())
        if isinstance(where, Datasets):
            return counts.enclose_datasets(where)
        return counts.enclose(ball(claim.delta), progress)

    return _with_enough_bits(lambda: (attempt(), where))


def prove_leak(claim: Claim, datasets: Datasets, progress: Progress) -> Proof:
    """Enclose what two datasets reveal; stop when it is proved to be at least delta."""
    if claim.bound == "exact":
        _check_sum(claim)
        return _prove_sum(claim, datasets, progress)
    check_known(claim.randomizer)
    pair, other = datasets.pair, datasets.other

    def attempt(rtol: float) -> tuple[Enclosure, Datasets]:
        question = Question(claim.n, rtol, claim.hint(), progress)
        lower, upper = (
            background(claim.randomizer, pair, other, side).at(ball(claim.epsilon))
            for side in ("lower", "upper")
        )
        return enclose(lower, upper, question), datasets

    return _prove(claim, attempt, lambda proof: proof.lower >= claim.delta, rtols(claim.randomizer))


def rtols(randomizer: LocalRandomizer) -> Sequence[float]:
    """Return the relative widths to try for delta of the multiset."""
    return _HEAVY_RTOLS if has_unbounded_ratios(randomizer) else _RTOLS


def _prove(
    claim: Claim, attempt: _Attempt, done: Callable[[Proof], bool], rtols: Sequence[float]
) -> Proof:
    """Try ever smaller tolerances until the proof is done, or settles that it cannot be."""
    for rtol in rtols:
        proof = _with_enough_bits(partial(attempt, rtol))
        settled = proof.lower > claim.delta or proof.upper < claim.delta
        lower, upper = claim.recorded
        if settled or (done(proof) and lower <= proof.lower and proof.upper <= upper):
            break
    return proof


def _with_enough_bits(attempt: Callable[[], _Found]) -> Proof:
    """Compute with more bits where balls get too wide."""
    for precision in _PRECISIONS:
        with ctx.workprec(precision):
            try:
                enclosure, where = attempt()
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
