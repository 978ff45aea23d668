"""What certificates say in words, which are made again when they are checked."""

from __future__ import annotations

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
from shuffledp.bounds.curve import Proof as Bound
from shuffledp.certificates.certificate import Certificate
from shuffledp.certificates.inputs import inputs_of
from shuffledp.mechanisms import LocalRandomizer, Relation


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
