"""Solving for the largest epsilon0 and for the smallest number of users."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable

from shuffledp.accounting.accountant import ShuffleAccountant
from shuffledp.errors import (
    MAX_EPSILON0,
    MAX_USERS,
    AccuracyWarning,
    NoAnswerError,
    check_delta,
    check_epsilon,
    check_users,
)
from shuffledp.randomizers import LocalRandomizer, as_family

_EPSILON0_RTOL = 1e-6
_SMALLEST_EPSILON0 = 1e-9
_COARSE_RTOL, _FINE_RTOL = 1e-3, 1e-7

#: How far beyond a failing epsilon0 to look when a family re-tunes itself: 200 steps of 0.2%.
_LOOK_AHEAD_STEPS, _LOOK_AHEAD_FACTOR = 200, 1.002


def calibrate_epsilon0(
    family: Callable[[float], LocalRandomizer] | str,
    *,
    n: int,
    target_epsilon: float,
    target_delta: float,
) -> float:
    """Return the largest epsilon0 whose shuffled reports are (target_epsilon, target_delta)-DP.

    The returned value is itself certified, whatever the family does; it is the largest up to a
    relative 1e-6 for every built-in family with its other parameters fixed, because the bound then
    grows with epsilon0. Families that re-tune a discrete parameter (``olh()`` without buckets,
    ``subset(domain_size=...)`` without size, or a callable) can become safe again just after they
    fail: up to 1.5 times the failing epsilon0 is searched in steps of 0.2%.

    Args:
        family: a callable from epsilon0 to a randomizer, or a text without epsilon0 such as
            ``"krr(k=10)"``.
        n: number of users.
        target_epsilon: the epsilon to be met.
        target_delta: the delta to be met.

    Raises:
        NoAnswerError: if not even epsilon0 = 1e-9 meets the target.

    >>> round(calibrate_epsilon0("krr(k=10)", n=1000, target_epsilon=1.0, target_delta=1e-6), 4)
    3.5083
    """
    make = as_family(family)
    n = check_users(n)
    epsilon, delta = check_epsilon(target_epsilon), check_delta(target_delta)

    def is_safe(epsilon0: float, rtol: float = _COARSE_RTOL) -> bool:
        return _is_safe(make(epsilon0), n, epsilon, delta, rtol)

    safe = max(epsilon, _SMALLEST_EPSILON0)
    if not is_safe(safe):
        if safe == _SMALLEST_EPSILON0 or not is_safe(_SMALLEST_EPSILON0):
            raise NoAnswerError(
                f"no epsilon0 of at least {_SMALLEST_EPSILON0:g} meets epsilon = {epsilon!r}, "
                f"delta = {delta!r} with n = {n}"
            )
        safe = _SMALLEST_EPSILON0
    retunes = not isinstance(family, str) or not make(safe).monotone
    while safe < MAX_EPSILON0:
        unsafe = safe
        while is_safe(unsafe := min(2 * unsafe, MAX_EPSILON0)):
            safe = unsafe
            if safe == MAX_EPSILON0:
                return safe
        while unsafe > safe * (1 + _EPSILON0_RTOL):
            middle = math.sqrt(safe * unsafe)
            rtol = _evaluation_rtol(unsafe / safe - 1)
            safe, unsafe = (middle, unsafe) if is_safe(middle, rtol) else (safe, middle)
        if not retunes:
            break
        ahead = (unsafe * _LOOK_AHEAD_FACTOR**i for i in range(1, _LOOK_AHEAD_STEPS))
        found = next((e for e in ahead if e <= MAX_EPSILON0 and is_safe(e)), None)
        if found is None:
            break
        safe = found
    return safe


def required_users(
    randomizer: LocalRandomizer, *, target_epsilon: float, target_delta: float
) -> int:
    """Return the smallest n whose shuffled reports are (target_epsilon, target_delta)-DP.

    The bound falls with n, so n is found by bisection; the returned n is certified.

    Raises:
        NoAnswerError: if not even 2**53 users are enough.

    >>> from shuffledp import KRR
    >>> required_users(KRR(k=10, epsilon0=2.0), target_epsilon=0.1, target_delta=1e-6)
    6562
    """
    if not isinstance(randomizer, LocalRandomizer):
        raise TypeError(f"randomizer must be a local randomizer, got {randomizer!r}")
    epsilon, delta = check_epsilon(target_epsilon), check_delta(target_delta)
    if _is_safe(randomizer, 1, epsilon, delta):
        return 1
    unsafe, safe = 1, 2
    while not _is_safe(randomizer, safe, epsilon, delta):
        if safe == MAX_USERS:
            raise NoAnswerError(
                f"no number of users up to 2**53 meets epsilon = {epsilon!r}, delta = {delta!r} "
                f"with {randomizer}"
            )
        unsafe, safe = safe, min(4 * safe, MAX_USERS)
    while safe - unsafe > 1:
        middle = (safe + unsafe) // 2
        if _is_safe(randomizer, middle, epsilon, delta, _evaluation_rtol(safe / unsafe - 1)):
            safe = middle
        else:
            unsafe = middle
    return safe


def _evaluation_rtol(gap: float) -> float:
    """Return how closely to evaluate delta when the bracket has this relative width."""
    return min(max(0.01 * gap, _FINE_RTOL), _COARSE_RTOL)


def _is_safe(
    randomizer: LocalRandomizer, n: int, epsilon: float, delta: float, rtol: float = _COARSE_RTOL
) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AccuracyWarning)  # the comparison is certified anyway
        accountant = ShuffleAccountant(randomizer, n, rtol=rtol)
        return accountant.get_delta(epsilon) <= delta
