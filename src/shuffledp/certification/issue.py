"""Issuing certificates: answers of the accountant, proved, or nudged until they are."""

from __future__ import annotations

import math
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

from shuffledp.accounting import Report, ShuffleAccountant
from shuffledp.accounting.assumptions import (
    COUNTED,
    EXACT_NUMBERS,
    ONE_ROUND,
    SEEN,
    particulars,
)
from shuffledp.accounting.inversion import enclose_epsilon, log_target
from shuffledp.accounting.report import Proof as Bound
from shuffledp.accounting.report import in_words
from shuffledp.certification.cases import how_compared
from shuffledp.certification.certificate import FORMAT, Certificate, Statement, current_versions
from shuffledp.certification.inputs import inputs_of
from shuffledp.certification.mechanism import self_contained
from shuffledp.certification.proof import Claim, Proof, prove_guarantee, prove_leak, rtols
from shuffledp.decomposition import Decomposition
from shuffledp.engine.progress import Progress
from shuffledp.errors import MAX_EPSILON0, NoAnswerError
from shuffledp.interval import Interval
from shuffledp.randomizers import LocalRandomizer, Relation
from shuffledp.randomizers.noise import SymmetricNoise
from shuffledp.rounding import plain

_MAX_NUDGES = 8
_SLACK = Decimal("1.000001")
_EXPECTED = 1.4  # widths of an enclosure, by how much a claim may miss


def issue_for_delta(accountant: ShuffleAccountant, delta: float, progress: Progress) -> Certificate:
    """Prove the epsilon of the accountant at a delta, or one that is a little larger.

    An epsilon below that of the blanket is proved by the swap bound, if that can be done.
    """
    report = accountant.epsilon_report(delta)
    proved = None
    if report.bound != "blanket" and accountant.view == "multiset":
        proved = _prove_swap_at_delta(accountant, report, delta, progress)
        if proved is None:
            return issue_for_delta(_with_blanket(accountant), delta, progress)
    claim, proof = proved or _prove_at_delta(accountant, report, delta, progress)
    return _certificate(claim, proof, _leak_at_delta(accountant, report, delta, progress))


def _prove_at_delta(
    accountant: ShuffleAccountant, report: Report, delta: float, progress: Progress
) -> tuple[Claim, Proof]:
    bound = _own_bound(accountant)
    epsilon = report.guarantee.upper
    if isinstance(accountant.randomizer, SymmetricNoise) and bound != "exact":
        blanket = accountant.randomizer.blanket(accountant.randomizer.neighbours()[0])
        if blanket.smooth is not None and 0 < delta < 1:
            epsilon = max(epsilon, _by_cells(accountant, blanket, delta).upper)
            epsilon *= 1 + _expected_share(accountant.randomizer, delta)
    claim = _claim(accountant, epsilon, delta, bound)
    proof = prove_guarantee(claim, progress)
    nudge = 0.0
    while not proof.upper <= claim.delta:
        nudge = _nudge(nudge, claim, proof.upper)
        claim = _claim(accountant, _moved(claim, nudge), delta, bound)
        proof = prove_guarantee(claim, progress)
    return claim, proof


def _prove_swap_at_delta(
    accountant: ShuffleAccountant, report: Report, delta: float, progress: Progress
) -> tuple[Claim, Proof] | None:
    """Prove an epsilon below that of the blanket; None if the swap bound does not."""
    epsilon, ceiling, nudge = report.guarantee.upper, None, 0.0
    for _ in range(_MAX_NUDGES):
        claim = _claim(accountant, epsilon, delta, "swap")
        try:
            proof = prove_guarantee(claim, progress)
        except NoAnswerError:
            return None
        if proof.upper <= claim.delta:
            return claim, proof
        nudge = _nudge(nudge, claim, proof.upper)
        epsilon = _moved(claim, nudge)
        if ceiling is None:
            ceiling = _with_blanket(accountant).get_epsilon(delta)
        if not epsilon < ceiling:
            break
    return None


def issue_for_epsilon(
    accountant: ShuffleAccountant, epsilon: float, progress: Progress
) -> Certificate:
    """Prove the delta of the accountant at an epsilon, or one that is a little larger.

    A delta below that of the blanket is proved by the swap bound, if that can be done.
    """
    report = accountant.delta_report(epsilon)
    bound: Bound = "blanket" if report.bound == "blanket" else "swap"
    if accountant.view == "sum":
        bound = "exact"
    claim = _claim(accountant, epsilon, report.guarantee.upper, bound)
    try:
        proof = prove_guarantee(claim, progress)
    except NoAnswerError:
        if claim.bound != "swap":
            raise
        return issue_for_epsilon(_with_blanket(accountant), epsilon, progress)
    slack = Decimal(1)
    for _ in range(_MAX_NUDGES):
        if proof.upper <= claim.delta:
            break
        claim = replace(claim, delta=_double(proof.upper * slack, math.inf))
        if claim.bound == "swap":
            blanket = _with_blanket(accountant)
            if not float(claim.delta) < blanket.get_delta(epsilon):
                return issue_for_epsilon(blanket, epsilon, progress)
        proof, slack = prove_guarantee(claim, progress), _SLACK
    return _certificate(claim, proof, _leak_at_epsilon(accountant, report, epsilon, progress))


def _own_bound(accountant: ShuffleAccountant) -> Bound:
    """Return what stands for all datasets, where it is no matter which is smaller."""
    return "blanket" if accountant.view == "multiset" else "exact"


def _with_blanket(accountant: ShuffleAccountant) -> ShuffleAccountant:
    return ShuffleAccountant(
        accountant.randomizer, accountant.n, rtol=accountant.rtol, bound="blanket"
    )


def assumed(randomizer: LocalRandomizer, bound: Bound) -> tuple[str, ...]:
    """Return what a certificate is based on."""
    seen = SEEN["sum" if bound == "exact" else "multiset"]
    facts = (COUNTED, f"neighbouring datasets {inputs_of(randomizer).relation}", seen)
    return (*facts, ONE_ROUND, *particulars(randomizer, bound), *EXACT_NUMBERS)


def bound_in_words(bound: Bound) -> str:
    """Return what a certificate proves besides the words of its statements."""
    return {
        "blanket": "blanket, the optimal decomposition",
        "swap": "swap, over everything that others may hold",
        "exact": "exact, for the sum of the reports and nothing else",
    }[bound]


def guarantee_in_words(n: int, epsilon: str, delta: str, bound: Bound, relation: Relation) -> str:
    """Return what a guarantee says."""
    what = f"the shuffled reports of {_users(n)} are"
    if bound == "exact":
        what = f"the sum of the reports of {_users(n)}, if nothing else is seen, is"
    private = f"({epsilon}, {delta})-differentially private"
    return f"{what} {private} for neighbouring datasets that {relation}"


def leak_in_words(n: int, epsilon: str, delta: str, bound: Bound, relation: Relation) -> str:
    """Return what a lower bound says."""
    what = f"two datasets of {_users(n)}, neighbours as they {relation},"
    if bound == "exact":
        what = f"the sums of {what}"
    what += f" have a delta of at least {delta} at epsilon = {epsilon}"
    return f"{what}: no analysis can prove less"


def _users(n: int) -> str:
    return "1 user" if n == 1 else f"{n} users"


def _claim(
    accountant: ShuffleAccountant, epsilon: float, delta: float, bound: Bound = "blanket"
) -> Claim:
    if epsilon > MAX_EPSILON0:
        raise NoAnswerError(
            f"no epsilon up to {MAX_EPSILON0:g} is proved at delta = {plain(delta)} for "
            f"{accountant.n} users"
        )
    randomizer = self_contained(accountant.randomizer)
    return Claim(randomizer, accountant.n, Decimal(repr(epsilon)), Decimal(repr(delta)), bound)


def _by_cells(
    accountant: ShuffleAccountant, decomposition: Decomposition, delta: float
) -> Interval:
    """Enclose the epsilon of the cells that proofs are made of: a copy knows of no smooth law."""
    return enclose_epsilon(replace(decomposition), accountant.n, log_target(delta), accountant.rtol)


def _moved(claim: Claim, nudge: float) -> float:
    epsilon = float(claim.epsilon)
    return max(epsilon + nudge, math.nextafter(epsilon, math.inf))


def _nudge(previous: float, claim: Claim, found: Decimal) -> float:
    """Return how far to move epsilon: by what the relative miss asks for, then ever further."""
    if previous > 0:
        return 4 * previous
    epsilon = float(claim.epsilon)
    ulp = max(epsilon, 1e-12) * 2.0**-52
    if claim.delta == 0:
        return ulp
    miss = float(Fraction(found) / Fraction(claim.delta)) - 1 if found < 2 * claim.delta else 1.0
    return max(epsilon * _share(miss, claim.delta), float(found - claim.delta), ulp)


def _expected_share(randomizer: LocalRandomizer, delta: float) -> float:
    """Return by which share of itself epsilon has to move for the first proof to succeed."""
    return _share(_EXPECTED * rtols(randomizer)[0], Decimal(repr(delta)))


def _share(miss: float, delta: Decimal) -> float:
    """Return by which share of itself epsilon has to move to change delta by a relative miss.

    For many users log delta falls about as fast as its own size, or twice as fast, with log
    epsilon; some more is safe.
    """
    return 1.5 * miss / max(-float(delta.ln()), 1.0)


def _double(number: Decimal, direction: float) -> Decimal:
    """Return the decimal of a double on one side of a number."""
    value = float(number)
    while Decimal(repr(value)) < number if direction > 0 else Decimal(repr(value)) > number:
        value = math.nextafter(value, direction)
    return Decimal(repr(value))


def _leak_at_delta(
    accountant: ShuffleAccountant, report: Report, delta: float, progress: Progress
) -> Statement | None:
    epsilon, nudge, bound = report.lower_bound, 0.0, _own_bound(accountant)
    noise = isinstance(accountant.randomizer, SymmetricNoise)
    if noise and bound != "exact" and report.datasets is not None:
        found = accountant.randomizer.background(report.datasets.pair, report.datasets.other)
        if found.smooth is not None and 0 < delta < 1:
            epsilon = min(epsilon, _by_cells(accountant, found, delta).lower)
            epsilon *= 1 - _expected_share(accountant.randomizer, delta)
    for _ in range(_MAX_NUDGES):
        if report.datasets is None or not 0 < epsilon <= MAX_EPSILON0 or delta == 0:
            break
        claim = _claim(accountant, epsilon, delta, bound)
        proof = prove_leak(claim, report.datasets, progress)
        if proof.lower >= claim.delta:
            return _leak(claim, proof)
        miss = 1 - float(Fraction(proof.lower) / Fraction(claim.delta))
        nudge = max(4 * nudge, epsilon * _share(miss, claim.delta), epsilon * 2.0**-52)
        epsilon = max(math.nextafter(epsilon - nudge, 0.0), 0.0)
    return None


def _leak_at_epsilon(
    accountant: ShuffleAccountant, report: Report, epsilon: float, progress: Progress
) -> Statement | None:
    if report.datasets is None or report.lower_bound == 0:
        return None
    bound = _own_bound(accountant)
    claim, slack = _claim(accountant, epsilon, report.lower_bound, bound), Decimal(1)
    for _ in range(_MAX_NUDGES):
        proof = prove_leak(claim, report.datasets, progress)
        if proof.lower >= claim.delta:
            return _leak(claim, proof)
        lower, slack = proof.lower / slack, _SLACK
        if float(lower) == 0:
            break
        claim = replace(claim, delta=_double(lower, -math.inf))
    return None


def _certificate(claim: Claim, proof: Proof, leak: Statement | None) -> Certificate:
    if not proof.upper <= claim.delta:
        raise NoAnswerError(
            f"delta at epsilon = {claim.epsilon} is proved to be at most {proof.upper} only"
        )
    words = guarantee_in_words(*_in_words(claim))
    certificate = Certificate(
        format=FORMAT,
        mechanism=str(claim.randomizer),
        n=claim.n,
        relation=str(inputs_of(claim.randomizer).relation),
        bound=claim.bound,
        guarantee=_statement(words, claim, proof),
        pairs=how_compared(claim.randomizer),
        lower_bound=leak,
        assumptions=assumed(claim.randomizer, claim.bound),
        versions=current_versions(),
        digest="",
    )
    return replace(certificate, digest=certificate.computed_digest())


def _leak(claim: Claim, proof: Proof) -> Statement:
    words = leak_in_words(*_in_words(claim))
    return _statement(words, claim, proof)


def _in_words(claim: Claim) -> tuple[int, str, str, Bound, Relation]:
    relation = inputs_of(claim.randomizer).relation
    return claim.n, str(claim.epsilon), str(claim.delta), claim.bound, relation


def _statement(words: str, claim: Claim, proof: Proof) -> Statement:
    return Statement(
        statement=words,
        epsilon=str(claim.epsilon),
        delta=str(claim.delta),
        where=in_words(proof.where),
        lower=str(proof.lower),
        upper=str(proof.upper),
    )
