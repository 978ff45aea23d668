"""The smallest number of users that is safe, whatever "safe" means."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

_GROWTH = 4  # times as many users in each step, until they are enough
_NUDGE = 1e-3  # beside the guess, of what lies between


@dataclass(frozen=True)
class _Tried:
    """A number of users, and how far from its target something is."""

    n: int
    gap: float


def smallest_crowd(gap: Callable[[int], float], most: int) -> int | None:
    """Return an n that is safe while n - 1 is not; None if not even ``most`` is safe.

    Args:
        gap: how far above its target something is for n users: n is safe exactly if that is at most
            0. How far says where to look next: it falls about linearly with log n.
        most: how many users there may be.

    >>> tried = []
    >>> def gap(n):
    ...     tried.append(n)
    ...     return 10 - math.log(n)
    >>> smallest_crowd(gap, 2**53), math.ceil(math.exp(10)), len(tried) < 16
    (22027, 22027, True)
    """
    unsafe, safe = _Tried(0, math.inf), _Tried(1, gap(1))
    while not safe.gap <= 0:
        if safe.n == most:
            return None
        n = min(_GROWTH * safe.n, most)
        unsafe, safe = safe, _Tried(n, gap(n))
    guessed = True
    while (width := safe.n - unsafe.n) > 1:
        tried = _Tried(n := _between(unsafe, safe) if guessed else _middle(unsafe, safe), gap(n))
        unsafe, safe = (unsafe, tried) if tried.gap <= 0 else (tried, safe)
        guessed = not guessed or 2 * (safe.n - unsafe.n) <= width  # else the guess was not good
    return safe.n


def _between(unsafe: _Tried, safe: _Tried) -> int:
    """Return a number between: where the gap may vanish, moved a little towards the farther end.

    Then the farther end is the one that is replaced, if the guess is good.
    """
    if unsafe.n == 0 or not (-math.inf < safe.gap < 0 < unsafe.gap < math.inf):
        return _middle(unsafe, safe)
    share = unsafe.gap / (unsafe.gap - safe.gap)
    share += _NUDGE if share < 0.5 else -_NUDGE
    guess = unsafe.n * math.exp(share * math.log(safe.n / unsafe.n))
    rounded = math.ceil(guess) if share < 0.5 else math.floor(guess)
    return min(max(rounded, unsafe.n + 1), safe.n - 1)


def _middle(unsafe: _Tried, safe: _Tried) -> int:
    return (unsafe.n + safe.n) // 2
