"""What certificates say: numbers as decimals on their safe side, words, and all fields together."""

from __future__ import annotations

import math
from dataclasses import replace
from decimal import Context, Decimal

from shuffledp.accounting import Setting, ShuffleAccountant
from shuffledp.accounting.assumptions import (
    COUNTED,
    EXACT_NUMBERS,
    ONE_ROUND,
    PLANNED,
    ROUNDS,
    SEEN,
    limited,
    particulars,
)
from shuffledp.accounting.crowd import Corruption
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
from shuffledp.certificates.proof import DOWN, UP, Claim, Proof
from shuffledp.mechanisms import LocalRandomizer, Relation

#: What recorded ends, and deltas that are not the accountant's, are farther out than proved: more
#: than what proposals in doubles change from one machine to another.
_ROOM, SLACK = Decimal("1.000000001"), Decimal("1.000001")


def assumed(certificate: Certificate, randomizer: LocalRandomizer) -> tuple[str, ...]:
    """Return what a certificate is based on."""
    seen = SEEN["sum" if certificate.is_of_sums else "multiset"]
    relation = inputs_of(randomizer).relation
    who = Corruption(certificate.corrupted).assumptions
    own = (*particulars(randomizer, _least_sharp(certificate)), *EXACT_NUMBERS)
    if certificate.rounds == 1:
        return (COUNTED, f"neighbouring datasets {relation}", seen, *who, ONE_ROUND, *own)
    some = () if certificate.at_most is None else (limited(certificate.at_most),)
    among = (f"in each round {fact}" for fact in who)
    neighbours = f"neighbouring datasets {relation.in_rounds}"
    return (COUNTED, neighbours, seen, *among, *ROUNDS, PLANNED, *some, *own)


def _least_sharp(certificate: Certificate) -> Bound:
    """Return the bound of which something is assumed, if one of them is."""
    used = {certificate.bound, *(point.bound for point in certificate.one_round)}
    return "swap" if "swap" in used else certificate.bound if len(used) == 1 else "blanket"


def bound_in_words(bound: Bound) -> str:
    """Return what a certificate proves besides the words of its statements."""
    return {
        "blanket": "blanket, the optimal decomposition",
        "swap": "swap, over everything that others may hold",
        "exact": "exact, for the sum of the reports and nothing else",
        "composition": "composition of proved deltas of one round",
    }[bound]


def guarantee_in_words(certificate: Certificate, relation: Relation) -> str:
    """Return what a guarantee says."""
    found, users = certificate.guarantee, _users(certificate)
    private = f"({found.epsilon}, {found.delta})-differentially private"
    if certificate.rounds == 1:
        comma = "," if certificate.corrupted else ""
        what = f"the shuffled reports of {users}{comma} are"
        if certificate.is_of_sums:
            what = f"the sum of the reports of {users}, if nothing else is seen, is"
        return f"{what} {private} for neighbouring datasets that {relation}"
    seen = "shuffled reports"
    if certificate.is_of_sums:
        seen = "sums of the reports, if nothing else is seen,"
    users += "," if certificate.corrupted else ""
    what = f"after {certificate.rounds} rounds of {users} all {seen} together are {private}"
    some = "" if certificate.at_most is None else f", in at most {certificate.times} of them each"
    return f"{what} for neighbouring datasets that {relation.in_rounds}{some}"


def leak_in_words(certificate: Certificate, relation: Relation) -> str:
    """Return what a lower bound says."""
    found = certificate.lower_bound
    if found is None:
        return ""
    what = f"two datasets of {_users(certificate)}, neighbours as they {relation},"
    if certificate.is_of_sums:
        what = f"the sums of {what}"
    what += f" have a delta of at least {found.delta} at epsilon = {found.epsilon}"
    return f"{what}: no analysis can prove less"


def _users(certificate: Certificate) -> str:
    users = "1 user" if certificate.n == 1 else f"{certificate.n} users"
    return f"{users}, {certificate.corrupted} of them corrupted" if certificate.corrupted else users


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
