"""Where a falling function of epsilon comes down to a target."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

_MAX_STEPS = 60
_PATIENCE = 5  # evaluations above the target, then the end is tried
_ALMOST_0 = 1e-12  # of the end; nothing is known below but the value at 0


@dataclass(frozen=True)
class Guess:
    """Where a function may come down to the target, and how steeply it may fall there."""

    epsilon: float
    slope: float


def find_crossing(
    value: Callable[[float], float], target: float, guess: Guess, end: float, rtol: float
) -> tuple[float, float]:
    """Return an epsilon where the value is above the target, and a larger one where it is not.

    They are ``rtol`` apart unless the function is not monotone. The first is 0 if the value is at
    most the target there; the second is infinite if it is above the target even at ``end``.
    Whatever is returned was evaluated, but for a 0 and the infinite one.

    Args:
        value: the logarithm of a bound on delta.
        target: the logarithm it shall come down to.
        guess: where that may be; nothing depends on it but time.
        end: the largest epsilon worth looking at.
        rtol: how far apart the two may be.

    >>> low, high = find_crossing(lambda e: -e * e, -4.0, Guess(1.0, -1.0), 100.0, 1e-6)
    >>> low < 2.0 <= high, high - low < 1e-5
    (True, True)
    """
    low, high = 0.0, math.inf
    seen: list[tuple[float, float]] = []
    smallest = _ALMOST_0 * end
    probe = min(max(guess.epsilon, smallest), end)
    for _ in range(_MAX_STEPS):
        found = value(probe)
        if found <= target:
            high = min(high, probe)
        else:
            low = max(low, probe)
        if -math.inf < found < math.inf:
            seen.append((probe, found - target))
        if low == end or high - low <= rtol * high < math.inf:
            break
        if low == 0 and high <= smallest and probe != 0:
            probe = 0.0
        else:
            probe = _next(seen, guess.slope, low, high, end, rtol)
    return low, high


def _next(
    seen: list[tuple[float, float]],
    slope: float,
    low: float,
    high: float,
    end: float,
    rtol: float,
) -> float:
    """Return where to look next, inside the bracket."""
    ceiling = min(high, end)
    nearest = sorted(seen, key=lambda point: abs(point[1]))[:2]
    if len(nearest) == 2:
        slope = _slope(*nearest)
    if nearest and slope < 0:
        root = nearest[0][0] - nearest[0][1] / slope
        beside = 0.4 * rtol * root
        # First close the side that is further away from the root.
        root += beside if high - root > root - low else -beside
        if low < root < ceiling and (high < math.inf or len(seen) < _PATIENCE):
            return root
    if high == math.inf:
        return end
    if ceiling > 4 * low:
        return ceiling / 16 if low == 0 else math.sqrt(low * ceiling)
    middle = 0.5 * (low + ceiling)
    return middle if low < middle < ceiling else ceiling


def _slope(first: tuple[float, float], second: tuple[float, float]) -> float:
    if first[0] == second[0]:
        return 0.0
    return (second[1] - first[1]) / (second[0] - first[0])
