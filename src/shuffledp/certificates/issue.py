"""Issuing certificates: answers of the accountant, proved, or nudged until they are."""

from __future__ import annotations

import math
from dataclasses import replace
from decimal import Context, Decimal
from fractions import Fraction

from shuffledp.accounting import Report, ShuffleAccountant
from shuffledp.accounting.assumptions import (
    COUNTED,
    EXACT_NUMBERS,
    ONE_ROUND,
    SEEN,
    particulars,
)
from shuffledp.accounting.report import in_words
from shuffledp.basics.errors import MAX_EPSILON0, NoAnswerError
from shuffledp.basics.rounding import plain
from shuffledp.bounds.curve import Proof as Bound
from shuffledp.certificates.cases import how_compared
from shuffledp.certificates.certificate import FORMAT, Certificate, Statement, current_versions
from shuffledp.certificates.inputs import inputs_of
from shuffledp.certificates.mechanism import self_contained
from shuffledp.certificates.proof import (
    CLAIMED,
    DOWN,
    UP,
    Claim,
    Proof,
    double_below,
    prove_guarantee,
    prove_leak,
)
from shuffledp.engine.progress import Progress
from shuffledp.mechanisms import LocalRandomizer, Relation

#: So often a claim is moved before it is given up.
_MAX_NUDGES = 8

#: What recorded ends, and deltas that are not the accountant's, are farther out than proved: more
#: than what proposals in doubles change from one machine to another.
_ROOM, _SLACK = Decimal("1.000000001"), Decimal("1.000001")


def issue_for_delta(accountant: ShuffleAccountant, delta: float, progress: Progress) -> Certificate:
    """Prove the epsilon of the accountant at a delta, or one that is a little larger.

    An epsilon below that of the blanket is proved by the swap bound, if that can be done.
    """
    report = accountant.epsilon_report(double_below(Decimal(repr(delta))))
    bound = _bound_of(accountant, report)
    found = _prove_at_delta(accountant, report.guarantee.upper, delta, bound, progress)
    if found is None:
        return issue_for_delta(_with_blanket(accountant), delta, progress)
    return _certificate(*found, _leak_at_delta(accountant, report, delta, progress))


def _prove_at_delta(
    accountant: ShuffleAccountant, epsilon: float, delta: float, bound: Bound, progress: Progress
) -> tuple[Claim, Proof] | None:
    """Prove an epsilon; None if the swap bound proves none below that of the blanket."""
    nudge = 0.0
    while True:
        claim = _claim(accountant, _at_least(epsilon), Decimal(repr(delta)), bound)
        try:
            proof = prove_guarantee(claim, progress, CLAIMED)
        except NoAnswerError:
            if bound == "swap":
                return None
            raise
        if proof.upper <= claim.delta:
            return claim, proof
        nudge = _nudge(nudge, claim, proof.upper)
        epsilon = max(epsilon + nudge, math.nextafter(epsilon, math.inf))
        if bound == "swap" and not epsilon < _with_blanket(accountant).get_epsilon(delta):
            return None


def issue_for_epsilon(
    accountant: ShuffleAccountant, epsilon: float, progress: Progress
) -> Certificate:
    """Prove the delta of the accountant at an epsilon, or one that is a little larger.

    A delta below that of the blanket is proved by the swap bound, if that can be done.
    """
    decimal = Decimal(repr(epsilon))
    report = accountant.delta_report(double_below(decimal))
    bound = _bound_of(accountant, report)
    claim = _claim(accountant, decimal, _at_least(report.guarantee.upper), bound)
    try:
        proof = prove_guarantee(claim, progress, CLAIMED)
    except NoAnswerError:
        if claim.bound != "swap":
            raise
        return issue_for_epsilon(_with_blanket(accountant), epsilon, progress)
    for _ in range(_MAX_NUDGES):
        if proof.upper <= claim.delta:
            break
        claim = replace(claim, delta=_double(proof.upper * _SLACK, math.inf))
        if claim.bound == "swap":
            blanket = _with_blanket(accountant)
            if not float(claim.delta) < blanket.get_delta(epsilon):
                return issue_for_epsilon(blanket, epsilon, progress)
        proof = prove_guarantee(claim, progress, CLAIMED)
    return _certificate(claim, proof, _leak_at_epsilon(accountant, report, epsilon, progress))


def _bound_of(accountant: ShuffleAccountant, report: Report) -> Bound:
    """Return which bound is to prove what an accountant says."""
    if accountant.view == "sum":
        return "exact"
    return "blanket" if report.bound == "blanket" else "swap"


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


def _claim(accountant: ShuffleAccountant, epsilon: Decimal, delta: Decimal, bound: Bound) -> Claim:
    if epsilon > MAX_EPSILON0:
        raise NoAnswerError(
            f"no epsilon up to {MAX_EPSILON0:g} is proved at delta = {plain(float(delta))} for "
            f"{accountant.n} users"
        )
    randomizer = self_contained(accountant.randomizer)
    return Claim(randomizer, accountant.n, epsilon, delta, bound)


def _at_least(double: float) -> Decimal:
    """Return a short decimal that is at least a double, and below the next one."""
    return _next_to(double, Decimal(repr(double)) >= Decimal(double), UP)


def _at_most(double: float) -> Decimal:
    """Return a short decimal that is at most a double, and above the one before."""
    return _next_to(double, Decimal(repr(double)) <= Decimal(double), DOWN)


def _next_to(double: float, is_short: bool, rounding: Context) -> Decimal:
    """Return the shortest decimal of a double, or 18 digits: neighbours differ in 17."""
    return Decimal(repr(double)) if is_short else rounding.create_decimal(Decimal(double))


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
    epsilon, nudge, bound = report.lower_bound, 0.0, _bound_of(accountant, report)
    for _ in range(_MAX_NUDGES):
        if report.datasets is None or not 0 < epsilon <= MAX_EPSILON0 or delta == 0:
            break
        claim = _claim(accountant, _at_most(epsilon), Decimal(repr(delta)), bound)
        proof = prove_leak(claim, report.datasets, progress, CLAIMED)
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
    bound = _bound_of(accountant, report)
    claim = _claim(accountant, Decimal(repr(epsilon)), _at_most(report.lower_bound), bound)
    for _ in range(_MAX_NUDGES):
        proof = prove_leak(claim, report.datasets, progress, CLAIMED)
        if proof.lower >= claim.delta:
            return _leak(claim, proof)
        lower = proof.lower / _SLACK
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
    guarantee = _statement(words, claim, proof)
    guarantee = replace(guarantee, upper=str(min(Decimal(guarantee.upper), claim.delta)))
    certificate = Certificate(
        format=FORMAT,
        mechanism=str(claim.randomizer),
        n=claim.n,
        relation=str(inputs_of(claim.randomizer).relation),
        bound=claim.bound,
        guarantee=guarantee,
        pairs=how_compared(claim.randomizer),
        lower_bound=leak,
        assumptions=assumed(claim.randomizer, claim.bound),
        versions=current_versions(),
        digest="",
    )
    return replace(certificate, digest=certificate.computed_digest())


def _leak(claim: Claim, proof: Proof) -> Statement:
    words = leak_in_words(*_in_words(claim))
    statement = _statement(words, claim, proof)
    return replace(statement, lower=str(max(Decimal(statement.lower), claim.delta)))


def _in_words(claim: Claim) -> tuple[int, str, str, Bound, Relation]:
    relation = inputs_of(claim.randomizer).relation
    return claim.n, str(claim.epsilon), str(claim.delta), claim.bound, relation


def _statement(words: str, claim: Claim, proof: Proof) -> Statement:
    return Statement(
        statement=words,
        epsilon=str(claim.epsilon),
        delta=str(claim.delta),
        where=in_words(proof.where),
        lower=str(DOWN.divide(proof.lower, _ROOM)) if proof.lower else "0",
        upper=str(min(UP.multiply(proof.upper, _ROOM), Decimal(1))),
    )
