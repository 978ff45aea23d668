"""Issuing certificates: answers of the accountant, proved, or nudged until they are."""

from __future__ import annotations

import math
from dataclasses import replace
from decimal import Context, Decimal
from fractions import Fraction

from shuffledp.accounting import Report, Setting, ShuffleAccountant
from shuffledp.accounting.report import in_words
from shuffledp.basics.errors import MAX_EPSILON0, NoAnswerError
from shuffledp.basics.rounding import plain
from shuffledp.bounds.curve import Proof as Bound
from shuffledp.certificates.cases import how_compared
from shuffledp.certificates.certificate import (
    FORMAT,
    Certificate,
    ProvedPoint,
    Statement,
    current_versions,
)
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
from shuffledp.certificates.words import assumed, guarantee_in_words, leak_in_words
from shuffledp.engine.progress import Progress

#: What recorded ends, and deltas that are not the accountant's, are farther out than proved: more
#: than what proposals in doubles change from one machine to another.
_ROOM, _SLACK = Decimal("1.000000001"), Decimal("1.000001")

#: So often a claim is moved before it is given up.
_MAX_NUDGES = 8


def issue_for_delta(accountant: ShuffleAccountant, delta: float, progress: Progress) -> Certificate:
    """Prove the epsilon of the accountant at a delta, or one that is a little larger.

    An epsilon below that of the blanket is proved by the swap bound, if that can be done.
    """
    report = accountant.epsilon_report(double_below(Decimal(repr(delta))))
    bound = _bound_of(accountant, report)
    found = _prove_at_delta(accountant, report.guarantee.upper, delta, bound, progress)
    if found is None:
        return issue_for_delta(_with_blanket(accountant), delta, progress)
    return write_certificate(
        accountant.setting, *found, _leak_at_delta(accountant, report, delta, progress)
    )


def _prove_at_delta(
    accountant: ShuffleAccountant, epsilon: float, delta: float, bound: Bound, progress: Progress
) -> tuple[Claim, Proof] | None:
    """Prove an epsilon; None if the swap bound proves none below that of the blanket."""
    nudge = 0.0
    while True:
        claim = claim_about(accountant, at_least(epsilon), Decimal(repr(delta)), bound)
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
    claim = claim_about(accountant, decimal, at_least(report.guarantee.upper), bound)
    try:
        proof = prove_guarantee(claim, progress, CLAIMED)
    except NoAnswerError:
        if claim.bound != "swap":
            raise
        return issue_for_epsilon(_with_blanket(accountant), epsilon, progress)
    for _ in range(_MAX_NUDGES):
        if proof.upper <= claim.delta:
            break
        claim = replace(claim, delta=next_double(proof.upper * _SLACK, math.inf))
        if claim.bound == "swap":
            blanket = _with_blanket(accountant)
            if not float(claim.delta) < blanket.get_delta(epsilon):
                return issue_for_epsilon(blanket, epsilon, progress)
        proof = prove_guarantee(claim, progress, CLAIMED)
    return write_certificate(
        accountant.setting, claim, proof, _leak_at_epsilon(accountant, report, epsilon, progress)
    )


def _bound_of(accountant: ShuffleAccountant, report: Report) -> Bound:
    """Return which bound is to prove what an accountant says."""
    if accountant.view == "sum":
        return "exact"
    return "blanket" if report.bound == "blanket" else "swap"


def _with_blanket(accountant: ShuffleAccountant) -> ShuffleAccountant:
    return ShuffleAccountant.of(replace(accountant.setting, bound="blanket"), accountant.rtol)


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


def _leak_at_delta(
    accountant: ShuffleAccountant, report: Report, delta: float, progress: Progress
) -> Statement | None:
    epsilon, nudge, bound = report.lower_bound, 0.0, _bound_of(accountant, report)
    for _ in range(_MAX_NUDGES):
        if report.datasets is None or not 0 < epsilon <= MAX_EPSILON0 or delta == 0:
            break
        claim = claim_about(accountant, at_most(epsilon), Decimal(repr(delta)), bound)
        proof = prove_leak(claim, report.datasets, progress, CLAIMED)
        if proof.lower >= claim.delta:
            return leak_of(claim, proof)
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
    claim = claim_about(accountant, Decimal(repr(epsilon)), at_most(report.lower_bound), bound)
    for _ in range(_MAX_NUDGES):
        proof = prove_leak(claim, report.datasets, progress, CLAIMED)
        if proof.lower >= claim.delta:
            return leak_of(claim, proof)
        lower = proof.lower / _SLACK
        if float(lower) == 0:
            break
        claim = replace(claim, delta=next_double(lower, -math.inf))
    return None


def claim_about(
    accountant: ShuffleAccountant, epsilon: Decimal, delta: Decimal, bound: Bound
) -> Claim:
    """Return the claim that the users of an accountant have this delta at an epsilon."""
    if epsilon > MAX_EPSILON0:
        raise NoAnswerError(
            f"no epsilon up to {MAX_EPSILON0:g} is proved at delta = {plain(float(delta))} for "
            f"{accountant.crowd}"
        )
    randomizer = self_contained(accountant.randomizer)
    return Claim(randomizer, accountant.crowd.honest, epsilon, delta, bound)


def at_least(double: float) -> Decimal:
    """Return a short decimal that is at least a double, and below the next one."""
    return _next_to(double, Decimal(repr(double)) >= Decimal(double), UP)


def at_most(double: float) -> Decimal:
    """Return a short decimal that is at most a double, and above the one before."""
    return _next_to(double, Decimal(repr(double)) <= Decimal(double), DOWN)


def _next_to(double: float, is_short: bool, rounding: Context) -> Decimal:
    """Return the shortest decimal of a double, or 18 digits: neighbours differ in 17."""
    return Decimal(repr(double)) if is_short else rounding.create_decimal(Decimal(double))


def next_double(number: Decimal, direction: float) -> Decimal:
    """Return the decimal of a double on one side of a number."""
    value = float(number)
    while Decimal(repr(value)) < number if direction > 0 else Decimal(repr(value)) > number:
        value = math.nextafter(value, direction)
    return Decimal(repr(value))


def write_certificate(
    setting: Setting,
    claim: Claim,
    proof: Proof,
    leak: Statement | None,
    points: tuple[ProvedPoint, ...] = (),
) -> Certificate:
    """Write down what was proved, of one round or of several."""
    if not proof.upper <= claim.delta:
        raise NoAnswerError(
            f"delta at epsilon = {claim.epsilon} is proved to be at most {proof.upper} only"
        )
    guarantee = _statement(claim, proof)
    guarantee = replace(guarantee, upper=str(min(Decimal(guarantee.upper), claim.delta)))
    relation = inputs_of(claim.randomizer).relation
    found = Certificate(
        format=FORMAT,
        mechanism=str(claim.randomizer),
        n=setting.crowd.n,
        corrupted=setting.crowd.corrupted,
        rounds=setting.rounds,
        at_most=setting.at_most,
        relation=str(relation),
        bound=claim.bound,
        guarantee=guarantee,
        one_round=points,
        pairs=how_compared(claim.randomizer),
        lower_bound=leak,
        assumptions=(),
        versions=current_versions(),
        digest="",
    )
    guarantee = replace(guarantee, statement=guarantee_in_words(found, relation))
    if leak is not None:
        leak = replace(leak, statement=leak_in_words(found, relation))
    assumptions = assumed(found, claim.randomizer)
    found = replace(found, guarantee=guarantee, lower_bound=leak, assumptions=assumptions)
    return replace(found, digest=found.computed_digest())


def leak_of(claim: Claim, proof: Proof) -> Statement:
    """Return the statement about a lower bound, but for its words."""
    statement = _statement(claim, proof)
    return replace(statement, lower=str(max(Decimal(statement.lower), claim.delta)))


def _statement(claim: Claim, proof: Proof) -> Statement:
    return Statement(
        statement="",
        epsilon=str(claim.epsilon),
        delta=str(claim.delta),
        where=in_words(proof.where),
        lower=str(DOWN.divide(proof.lower, _ROOM)) if proof.lower else "0",
        upper=str(min(UP.multiply(proof.upper, _ROOM), Decimal(1))),
    )
