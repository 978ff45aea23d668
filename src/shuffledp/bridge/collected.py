"""What can be exported: one round, or several."""

from __future__ import annotations

from collections.abc import Callable

from shuffledp.accounting import Rounds, ShuffleAccountant
from shuffledp.accounting.one_round import bound_profile
from shuffledp.accounting.round_kind import RoundKind
from shuffledp.errors import MAX_EPSILON0
from shuffledp.rounds import ComposedCurve


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


def counted_kinds(rounds: Rounds) -> list[RoundKind]:
    """Return the rounds in which a user takes part, at most.

    >>> rounds = ShuffleAccountant("krr(k=3, epsilon0=1)", 10).rounds(52, at_most=4)
    >>> [kind.times for kind in counted_kinds(rounds)]
    [4]
    """
    limit = rounds.total if rounds.at_most is None else rounds.at_most
    return [RoundKind(kind.accountant, min(kind.times, limit)) for kind in rounds.kinds]


def upper_log_delta(rounds: Rounds) -> Callable[[float], float]:
    """Return the certified upper bound on log delta as a function of epsilon, and nothing more.

    It holds for neighbours in both orders. Lower ends, which would take longer, are left out.
    """
    kinds = counted_kinds(rounds)
    if sum(kind.times for kind in kinds) == 1:
        one = kinds[0].accountant
        # Delta falls, so its bound at the largest epsilon that is asked holds beyond.
        return lambda epsilon: one.log_delta_interval(min(epsilon, MAX_EPSILON0)).upper
    profiles = [
        (bound_profile(a.randomizer, a.crowd, a.bound, a.view, rounds.rtol), kind.times)
        for kind in kinds
        for a in [kind.accountant]
    ]
    curve, end = ComposedCurve(profiles, "upper", rounds.rtol), rounds.epsilon_interval(0.0).upper
    return lambda epsilon: float("-inf") if epsilon >= end else curve.log_delta(epsilon, 0)
