"""Accountants that are given as such, or as a mechanism and a number of users."""

from __future__ import annotations

from shuffledp.accounting.accountant import ShuffleAccountant
from shuffledp.accounting.crowd import Crowd
from shuffledp.accounting.rounds.rounds import Rounds
from shuffledp.mechanisms import LocalRandomizer


def as_accountant(
    value: ShuffleAccountant | LocalRandomizer | str, n: int | None
) -> ShuffleAccountant:
    """Return an accountant that was given as such, or as a mechanism or its text, and n.

    It is for proofs and runs of n honest users and the multiset: others are refused.

    >>> as_accountant("krr(k=10, epsilon0=2)", 1000)
    ShuffleAccountant(KRR(k=10, epsilon0=2.0), n=1000)
    """
    if isinstance(value, ShuffleAccountant) and n is None:
        if value.view != "multiset":
            raise ValueError(
                f"accountant must have view='multiset' here, got {value!r}: what holds for the "
                "multiset holds for the sum"
            )
        if value.crowd != Crowd(value.n):
            raise ValueError(
                f"accountant must be one of honest users here, got {value.crowd}; of users fixed "
                f"in advance, n = {value.crowd.honest} honest ones are what is left"
            )
        return value
    if isinstance(value, ShuffleAccountant) or n is None:
        raise TypeError(
            "accountant must be a ShuffleAccountant, or a mechanism or its text together with n, "
            f"got {value!r} and n = {n!r}"
        )
    return ShuffleAccountant(value, n)


def as_rounds(collected: ShuffleAccountant | Rounds) -> Rounds:
    """Return the rounds; an accountant stands for one.

    >>> as_rounds(ShuffleAccountant("krr(k=3, epsilon0=1)", 10)).total
    1
    """
    if isinstance(collected, Rounds):
        return collected
    if isinstance(collected, ShuffleAccountant):
        return Rounds([(collected, 1)])
    raise TypeError(f"collected must be a ShuffleAccountant or Rounds, got {collected!r}")
