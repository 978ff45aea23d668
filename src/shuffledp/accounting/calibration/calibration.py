"""Solving for the largest epsilon0 and for the smallest number of users."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Unpack

from shuffledp.accounting.calibration.crowd_size import smallest_crowd
from shuffledp.accounting.calibration.level import (
    SEARCH_RTOL,
    SMALLEST_EPSILON0,
    Trial,
    first_step,
    largest_level,
    settle_level,
)
from shuffledp.accounting.calibration.target import Target
from shuffledp.accounting.crowd import leaves_one_honest
from shuffledp.accounting.report import Report
from shuffledp.accounting.rounds.rounds_report import RoundsReport
from shuffledp.accounting.setting import Conditions, Setting
from shuffledp.basics.errors import (
    MAX_USERS,
    NoAnswerError,
    check_delta,
    check_epsilon,
    check_users,
)
from shuffledp.basics.rounding import plain
from shuffledp.mechanisms import LocalRandomizer, as_family, as_randomizer

_RTOL_OF_ROUNDS = 3e-4  # of epsilon0: bounds of several rounds are wider


@dataclass(frozen=True)
class Calibration:
    """The least local noise that is still safe.

    Attributes:
        epsilon0: the largest safe epsilon0; ``float`` of the whole is this number.
        setting: what was asked about, with the mechanism of this epsilon0.
        target_epsilon: the epsilon that is met.
        target_delta: the delta that is met.
    """

    epsilon0: float
    setting: Setting
    target_epsilon: float
    target_delta: float

    @property
    def mechanism(self) -> LocalRandomizer:
        """The mechanism of this epsilon0."""
        return self.setting.randomizer

    @property
    def n(self) -> int:
        """Number of users."""
        return self.setting.crowd.n

    @cached_property
    def report(self) -> Report | RoundsReport:
        """The epsilon that the mechanism has at ``target_delta``, computed when first asked for."""
        return _report(self)

    def __float__(self) -> float:
        """Return epsilon0."""
        return self.epsilon0


@dataclass(frozen=True)
class RequiredUsers:
    """The smallest crowd that is enough.

    Attributes:
        n: the smallest safe number of users; ``int`` of the whole is this number.
        setting: what was asked about, with so many users.
        target_epsilon: the epsilon that is met.
        target_delta: the delta that is met.
    """

    n: int
    setting: Setting
    target_epsilon: float
    target_delta: float

    @property
    def mechanism(self) -> LocalRandomizer:
        """What each user runs."""
        return self.setting.randomizer

    @cached_property
    def report(self) -> Report | RoundsReport:
        """The epsilon of n users at ``target_delta``, computed when first asked for."""
        return _report(self)

    def __int__(self) -> int:
        """Return n."""
        return self.n

    def __index__(self) -> int:
        """Return n."""
        return self.n


def calibrate_epsilon0(
    family: Callable[[float], LocalRandomizer] | str,
    *,
    n: int,
    target_epsilon: float,
    target_delta: float,
    **conditions: Unpack[Conditions],
) -> Calibration:
    """Find the largest epsilon0 whose shuffled reports are (target_epsilon, target_delta)-DP.

    The answer keeps its word, whatever the family does: for its mechanism, a new
    :class:`shuffledp.ShuffleAccountant` has ``get_epsilon(target_delta) <= target_epsilon`` and
    ``get_delta(target_epsilon) <= target_delta``, exactly. It is the largest up to a relative 1e-4,
    about the width of these bounds, for every built-in family with its other parameters fixed,
    because the bound then grows with epsilon0. Families that re-tune a discrete parameter
    (``olh()`` without buckets, ``subset(domain_size=...)`` without size, or a callable) can become
    safe again just after they fail: up to 1.5 times the failing epsilon0 is searched in steps of
    0.2%.

    Args:
        family: a callable from epsilon0 to a randomizer, or a text without epsilon0 such as
            ``"krr(k=10)"``.
        n: number of users.
        target_epsilon: the epsilon to be met.
        target_delta: the delta to be met.
        conditions: ``corrupted``, ``view``, ``rounds`` and so on, as in :class:`shuffledp.Setting`.
            Bounds of several rounds are wider, so the answer is the largest up to a relative 1e-3.

    Raises:
        NoAnswerError: if not even epsilon0 = 1e-9 meets the target.

    >>> found = calibrate_epsilon0("krr(k=10)", n=1000, target_epsilon=1.0, target_delta=1e-6)
    >>> round(found.epsilon0, 3), found.mechanism.name, found.report.guarantee.upper <= 1
    (3.509, 'krr', True)
    """
    # Both promises are about one mechanism, also if the family makes another at every call.
    make = cache(as_family(family))
    setting = Setting(n=check_users(n), **conditions)
    epsilon, delta = check_epsilon(target_epsilon), check_delta(target_delta)
    target = Target(epsilon, delta, setting)

    def attempt(epsilon0: float) -> Trial[LocalRandomizer]:
        gap = target.gap(made := make(epsilon0), n)
        return Trial(made if gap <= 0 else None, gap)

    start = max(epsilon, SMALLEST_EPSILON0)
    retunes = not isinstance(family, str) or not make(start).monotone
    rtol = SEARCH_RTOL if setting.rounds == 1 else _RTOL_OF_ROUNDS
    found = largest_level(attempt, start, look_ahead=retunes, rtol=rtol)
    if found is not None:
        found = settle_level(attempt, lambda epsilon0: target.excess(make(epsilon0), n), found)
    if found is None:
        raise NoAnswerError(
            f"no epsilon0 of at least {plain(SMALLEST_EPSILON0)} meets epsilon = {plain(epsilon)}, "
            f"delta = {plain(delta)} with n = {n}"
        )
    level, mechanism = found
    return Calibration(level, setting.of(mechanism), epsilon, delta)


def required_users(
    randomizer: LocalRandomizer | str,
    *,
    target_epsilon: float,
    target_delta: float,
    **conditions: Unpack[Conditions],
) -> RequiredUsers:
    """Find the smallest n whose shuffled reports are (target_epsilon, target_delta)-DP.

    The bound falls with n, which tells where to look, and n keeps its word: a new
    :class:`shuffledp.ShuffleAccountant` of n users has ``get_epsilon(target_delta) <=
    target_epsilon`` and ``get_delta(target_epsilon) <= target_delta``, exactly. It is the smallest
    up to a relative 1e-4, about the width of these bounds. Corrupted users count as users: of n,
    so many may be.

    Args:
        randomizer: what each user runs, or its text.
        target_epsilon: the epsilon to be met.
        target_delta: the delta to be met.
        conditions: ``corrupted``, ``view``, ``rounds`` and so on, as in :class:`shuffledp.Setting`.
            Bounds of several rounds are wider, so the answer is the smallest up to a relative 1e-3.

    Raises:
        NoAnswerError: if not even 2**53 users are enough.

    >>> found = required_users("krr(k=10, epsilon0=2)", target_epsilon=0.1, target_delta=1e-6)
    >>> found.n, found.report.guarantee.upper <= 0.1
    (6562, True)
    >>> targets = {"target_epsilon": 0.1, "target_delta": 1e-6}
    >>> required_users("krr(k=10, epsilon0=2)", **targets, corrupted=100).n
    6662
    """
    randomizer = as_randomizer(randomizer)
    epsilon, delta = check_epsilon(target_epsilon), check_delta(target_delta)
    setting = Setting(mechanism=randomizer, **conditions)
    target = Target(epsilon, delta, setting)

    def gap(n: int) -> float:
        honest = leaves_one_honest(n, setting.corrupted, setting.corrupted_adaptively)
        return target.gap(randomizer, n) if honest else math.inf

    safe = smallest_crowd(gap, MAX_USERS)
    if safe is None:
        raise _too_few(target, randomizer)
    step = 0
    while (above := target.excess(randomizer, safe)) > 0 or not target.is_met(randomizer, safe):
        if safe == MAX_USERS:
            raise _too_few(target, randomizer)
        # Epsilon falls like the root of n, or faster.
        step = 2 * step if step else math.ceil(first_step(4 * above) * safe)
        safe = min(safe + step, MAX_USERS)
    return RequiredUsers(safe, setting.of(n=safe), epsilon, delta)


def _report(found: Calibration | RequiredUsers) -> Report | RoundsReport:
    target = Target(found.target_epsilon, found.target_delta, found.setting)
    return target.report(found.mechanism, found.n)


def _too_few(target: Target, randomizer: LocalRandomizer) -> NoAnswerError:
    return NoAnswerError(
        f"no number of users up to 2**53 meets epsilon = {plain(target.epsilon)}, "
        f"delta = {plain(target.delta)} with {randomizer}"
    )
