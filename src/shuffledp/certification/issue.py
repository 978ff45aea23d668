"""Issuing certificates: answers of the accountant, proved, or nudged until they are."""

from __future__ import annotations

import math
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

from shuffledp.accounting import Report, ShuffleAccountant
from shuffledp.accounting.assumptions import ASSUMPTIONS, EXACT_NUMBERS
from shuffledp.accounting.report import in_words
from shuffledp.certification.certificate import FORMAT, Certificate, Statement, current_versions
from shuffledp.certification.mechanism import self_contained
from shuffledp.certification.progress import Progress
from shuffledp.certification.proof import Claim, Proof, prove_guarantee, prove_leak
from shuffledp.certification.worst_pair import pairs_looked_at
from shuffledp.errors import MAX_EPSILON0, NoAnswerError

_MAX_NUDGES = 8
_SLACK = Decimal("1.000001")


def issue_for_delta(accountant: ShuffleAccountant, delta: float, progress: Progress) -> Certificate:
    """Prove the epsilon of the accountant at a delta, or one that is a little larger."""
    report = accountant.epsilon_report(delta)
    claim = _claim(accountant, report.guarantee.upper, delta)
    proof = prove_guarantee(claim, progress)
    nudge = 0.0
    while not proof.upper <= claim.delta:
        nudge = _nudge(nudge, claim, proof.upper)
        epsilon = float(claim.epsilon)
        epsilon = max(epsilon + nudge, math.nextafter(epsilon, math.inf))
        claim = _claim(accountant, epsilon, delta)
        proof = prove_guarantee(claim, progress)
    return _certificate(claim, proof, _leak_at_delta(accountant, report, delta, progress))


def issue_for_epsilon(
    accountant: ShuffleAccountant, epsilon: float, progress: Progress
) -> Certificate:
    """Prove the delta of the accountant at an epsilon, or one that is a little larger."""
    report = accountant.delta_report(epsilon)
    claim = _claim(accountant, epsilon, report.guarantee.upper)
    proof = prove_guarantee(claim, progress)
    slack = Decimal(1)
    for _ in range(_MAX_NUDGES):
        if proof.upper <= claim.delta:
            break
        claim = replace(claim, delta=_double(proof.upper * slack, math.inf))
        proof, slack = prove_guarantee(claim, progress), _SLACK
    return _certificate(claim, proof, _leak_at_epsilon(accountant, report, epsilon, progress))


def guarantee_in_words(n: int, epsilon: str, delta: str) -> str:
    """Return what a guarantee says."""
    return f"the shuffled reports of {_users(n)} are ({epsilon}, {delta})-differentially private"


def leak_in_words(n: int, epsilon: str, delta: str) -> str:
    """Return what a lower bound says."""
    return (
        f"two datasets of {_users(n)} have a delta of at least {delta} at epsilon = {epsilon}: "
        "no analysis can prove less"
    )


def _users(n: int) -> str:
    return "1 user" if n == 1 else f"{n} users"


def _claim(accountant: ShuffleAccountant, epsilon: float, delta: float) -> Claim:
    if epsilon > MAX_EPSILON0:
        raise NoAnswerError(
            f"no epsilon up to {MAX_EPSILON0:g} is proved at delta = {delta!r} for {accountant.n} "
            "users"
        )
    randomizer = self_contained(accountant.randomizer)
    return Claim(randomizer, accountant.n, Decimal(repr(epsilon)), Decimal(repr(delta)))


def _nudge(previous: float, claim: Claim, found: Decimal) -> float:
    """Return how far to move epsilon: a fraction of the relative miss, then ever further."""
    if previous > 0:
        return 4 * previous
    epsilon = float(claim.epsilon)
    ulp = max(epsilon, 1e-12) * 2.0**-52
    if claim.delta == 0:
        return ulp
    miss = float(Fraction(found) / Fraction(claim.delta)) - 1 if found < 2 * claim.delta else 1.0
    return max(epsilon * miss / 16, float(found - claim.delta), ulp)


def _double(number: Decimal, direction: float) -> Decimal:
    """Return the decimal of a double on one side of a number."""
    value = float(number)
    while Decimal(repr(value)) < number if direction > 0 else Decimal(repr(value)) > number:
        value = math.nextafter(value, direction)
    return Decimal(repr(value))


def _leak_at_delta(
    accountant: ShuffleAccountant, report: Report, delta: float, progress: Progress
) -> Statement | None:
    epsilon, nudge = report.lower_bound, 0.0
    for _ in range(_MAX_NUDGES):
        if report.datasets is None or not 0 < epsilon <= MAX_EPSILON0 or delta == 0:
            break
        claim = _claim(accountant, epsilon, delta)
        proof = prove_leak(claim, report.datasets, progress)
        if proof.lower >= claim.delta:
            return _leak(claim, proof)
        nudge = max(8 * nudge, epsilon * 2.0**-26)
        epsilon = math.nextafter(epsilon - nudge, 0.0)
    return None


def _leak_at_epsilon(
    accountant: ShuffleAccountant, report: Report, epsilon: float, progress: Progress
) -> Statement | None:
    if report.datasets is None or report.lower_bound == 0:
        return None
    claim, slack = _claim(accountant, epsilon, report.lower_bound), Decimal(1)
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
    words = guarantee_in_words(claim.n, str(claim.epsilon), str(claim.delta))
    certificate = Certificate(
        format=FORMAT,
        mechanism=str(claim.randomizer),
        n=claim.n,
        guarantee=_statement(words, claim, proof),
        pairs=pairs_looked_at(claim.randomizer),
        lower_bound=leak,
        assumptions=(*ASSUMPTIONS, *EXACT_NUMBERS),
        versions=current_versions(),
        digest="",
    )
    return replace(certificate, digest=certificate.computed_digest())


def _leak(claim: Claim, proof: Proof) -> Statement:
    return _statement(leak_in_words(claim.n, str(claim.epsilon), str(claim.delta)), claim, proof)


def _statement(words: str, claim: Claim, proof: Proof) -> Statement:
    return Statement(
        statement=words,
        epsilon=str(claim.epsilon),
        delta=str(claim.delta),
        where=in_words(proof.where),
        lower=str(proof.lower),
        upper=str(proof.upper),
        method=proof.methods,
    )
