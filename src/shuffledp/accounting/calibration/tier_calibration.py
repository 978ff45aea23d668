"""Solving for the level of some privacy tiers, given the others."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

from shuffledp.accounting.calibration.level import (
    SMALLEST_EPSILON0,
    Trial,
    largest_level,
    settle_level,
)
from shuffledp.accounting.mixed import MixedAccountant
from shuffledp.accounting.setting import Group
from shuffledp.basics.errors import (
    NoAnswerError,
    check_delta,
    check_epsilon,
    check_users,
    wide_is_enough,
)
from shuffledp.basics.rounding import plain
from shuffledp.mechanisms import LocalRandomizer, as_family


@dataclass(frozen=True)
class OpenGroup:
    """Users whose level is looked for.

    Args:
        family: a callable from epsilon0 to a randomizer, or a text without epsilon0 such as
            ``"krr(k=10)"``.
        n: how many they are.
    """

    family: Callable[[float], LocalRandomizer] | str
    n: int

    def __post_init__(self) -> None:
        """Refuse what is no family, and no number of users."""
        as_family(self.family)
        check_users(self.n)


@dataclass(frozen=True, eq=False)
class TierCalibration:
    """The largest level that some tiers can have together.

    Attributes:
        epsilon0: that level; ``float`` of the whole is this number.
        accountant: all tiers, with the level put in.
        target_epsilon: the epsilon that every tier meets.
        target_delta: the delta that every tier meets.
    """

    epsilon0: float
    accountant: MixedAccountant
    target_epsilon: float
    target_delta: float

    def __float__(self) -> float:
        """Return epsilon0."""
        return self.epsilon0


def calibrate_tiers(
    groups: Sequence[Group | OpenGroup],
    *,
    target_epsilon: float,
    target_delta: float,
    dummies: int = 0,
    corrupted: float | Fraction = 0,
) -> TierCalibration:
    """Find the largest level of all open groups together that keeps every tier safe.

    One open group among others gets the largest level that these allow; several get a common one.
    The answer keeps its word: its accountant has ``get_epsilon(target_delta) <= target_epsilon``
    and ``get_delta(target_epsilon) <= target_delta``, exactly, for the tiers of given levels, too.
    It is the largest up to a relative 1e-3 where the bound grows with the level, which it does for
    mechanisms whose other parameters stay: a user of a higher level is seen better, and hides
    others worse.

    Args:
        groups: tiers of given levels, and at least one :class:`OpenGroup`.
        target_epsilon: the epsilon to be met by every tier.
        target_delta: the delta to be met by every tier.
        dummies: as for :class:`shuffledp.MixedAccountant`.
        corrupted: likewise.

    Raises:
        NoAnswerError: if not even a level of 1e-9 is safe, for example because a given tier is not.

    >>> careful = Group("krr(k=10, epsilon0=1)", 500)
    >>> found = calibrate_tiers(
    ...     [careful, OpenGroup("krr(k=10)", 500)], target_epsilon=0.5, target_delta=1e-6
    ... )
    >>> round(found.epsilon0, 1), found.accountant.get_epsilon(1e-6) <= 0.5
    (3.0, True)
    """
    epsilon, delta = check_epsilon(target_epsilon), check_delta(target_delta)
    if not any(isinstance(group, OpenGroup) for group in groups):
        raise ValueError(
            f"groups must hold an OpenGroup, whose level is looked for, got {groups!r}"
        )

    @cache  # both promises are about one accountant
    def make(level: float) -> MixedAccountant:
        closed = [
            Group(as_family(group.family)(level), group.n)
            if isinstance(group, OpenGroup)
            else group
            for group in groups
        ]
        return MixedAccountant(closed, dummies=dummies, corrupted=corrupted)

    def attempt(level: float) -> Trial[MixedAccountant]:
        made = make(level)
        with wide_is_enough():
            found = made.get_delta(epsilon)
        if min(found, delta) == 0:
            return Trial.of(made if found <= delta else None)
        gap = math.log(found) - math.log(delta)
        return Trial(made, min(gap, 0.0)) if found <= delta else Trial(None, max(gap, 0.0))

    def excess(level: float) -> float:
        with wide_is_enough():
            found = make(level).get_epsilon(delta)
        return 0.0 if found <= epsilon else 1 - epsilon / found

    found = largest_level(attempt, max(epsilon, SMALLEST_EPSILON0))
    if found is not None:
        found = settle_level(attempt, excess, found)
    if found is None:
        raise NoAnswerError(
            f"no level of at least {plain(SMALLEST_EPSILON0)} keeps all tiers at epsilon = "
            f"{plain(epsilon)}, delta = {plain(delta)}"
        )
    return TierCalibration(*found, epsilon, delta)
