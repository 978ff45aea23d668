"""Privacy loss distributions for dp_accounting, of one round or of several."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shuffledp.accounting import Rounds, ShuffleAccountant
from shuffledp.accounting.given import as_rounds
from shuffledp.accounting.rounds.many_rounds import ManyRounds
from shuffledp.basics.errors import (
    MAX_EPSILON0,
    AccuracyWarning,
    check_positive,
    warn_caller,
    wide_is_enough,
)
from shuffledp.basics.extras import import_extra
from shuffledp.basics.rounding import nearest, plain
from shuffledp.bounds.rounds import ComposedCurve
from shuffledp.mechanisms import LocalRandomizer, Relation
from shuffledp.outputs.pld.lattice import lattice_law

_COARSE = 0.25  # of the standard deviation of the loss: coarser multiples lose accuracy


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


def check_replaces(name: str, randomizer: LocalRandomizer) -> LocalRandomizer:
    """Return a randomizer whose neighbours are those of ``NeighboringRelation.REPLACE_ONE``.

    Raises:
        ValueError: if it protects less.
    """
    if not randomizer.relation.replaces_input:
        raise ValueError(
            f"{name} must protect datasets that {Relation()}, which is all that "
            f"NeighboringRelation.REPLACE_ONE can say, got {randomizer}, whose neighbours "
            f"{randomizer.relation}"
        )
    return randomizer


def to_pld(
    collected: ShuffleAccountant | Rounds, *, value_discretization_interval: float = 1e-4
) -> Any:
    """Return a pessimistic ``PrivacyLossDistribution`` of dp_accounting.

    It is made of certified deltas and our own convex hull: its profile is nowhere below that of any
    two datasets that differ in the inputs of one user, in either order. Several rounds are composed
    here, certified, and exported as one distribution, so export as many together as possible.

    Neighbours replace the inputs of one user. A distribution carries no note of that: compose it
    with others for ``NeighboringRelation.REPLACE_ONE`` only. :class:`ShuffledPLDAccountant`
    refuses all others. What protects less than that, as ``joint(..., at_most=1)`` does, no relation
    of dp_accounting can say, so it is refused. It rests on what a class of one's own states, if
    users run one, and carries no note of that either.

    Args:
        collected: one round, or several.
        value_discretization_interval: losses are multiples of it; distributions that are composed
            must have the same.

    Raises:
        MissingExtraError: if dp_accounting is not installed.
        ValueError: if neighbours do not replace the inputs of one user.
    """
    rounds = as_rounds(collected)
    for kind in rounds.kinds:
        check_replaces("collected", kind.accountant.randomizer)
    width = check_positive("value_discretization_interval", value_discretization_interval)
    pld = import_extra("dp_accounting").pld
    with wide_is_enough():
        end = rounds.epsilon_interval(0.0).upper
        law = lattice_law(upper_log_delta(rounds), end, width)
    if 0 < _COARSE * law.scale < width:
        warn_caller(
            f"value_discretization_interval = {plain(width)} is coarse for losses that deviate by "
            f"about {nearest(law.scale, 2)}: the distribution is valid, but far from tight",
            AccuracyWarning,
        )
    made = pld.pld_pmf.create_pmf(law.masses, width, law.infinite, pessimistic_estimate=True)
    return pld.privacy_loss_distribution.PrivacyLossDistribution(made)
