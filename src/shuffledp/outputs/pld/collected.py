"""The bound of one round, or of several, as it is exported."""

from __future__ import annotations

from collections.abc import Callable

from shuffledp.accounting import Rounds
from shuffledp.accounting.rounds.many_rounds import ManyRounds
from shuffledp.basics.errors import MAX_EPSILON0
from shuffledp.bounds.rounds import ComposedCurve


def upper_log_delta(rounds: Rounds) -> Callable[[float], float]:
    """Return the certified upper bound on log delta as a function of epsilon, and nothing more.

    It holds for neighbours in both orders. Lower ends, which would take longer, are left out.
    """
    if rounds.limit == 1:
        accountants = [kind.accountant for kind in rounds.kinds]

        def largest(epsilon: float) -> float:
            # Delta falls, so its bound at the largest epsilon that is asked holds beyond.
            asked = min(epsilon, MAX_EPSILON0)
            return max(one.proved_log_delta(asked)[0] for one in accountants)

        return largest
    profiles = ManyRounds(rounds.kinds, rounds.limit, rounds.rtol).profiles()
    curve, end = ComposedCurve(profiles, "upper", rounds.rtol), rounds.epsilon_interval(0.0).upper
    return lambda epsilon: float("-inf") if epsilon >= end else curve.log_delta(epsilon, 0)
