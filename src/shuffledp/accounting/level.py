"""The largest epsilon0 that is safe, whatever "safe" means."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import TypeVar

from shuffledp.errors import MAX_EPSILON0

#: Where searches for epsilon0 begin.
SMALLEST_EPSILON0 = 1e-9

_RTOL = 1e-5  # of the largest safe epsilon0
_MIN_FIRST_STEP, _MAX_FIRST_STEP = 2.0**-23, 2.0**-13

#: How far beyond a failing epsilon0 to look when a family re-tunes itself: 200 steps of 0.2%.
_LOOK_AHEAD_STEPS, _LOOK_AHEAD_FACTOR = 200, 1.002

#: Why an epsilon0 is safe.
Proof = TypeVar("Proof")


def largest_level(
    proof: Callable[[float], Proof | None],
    excess: Callable[[float], float],
    start: float,
    *,
    look_ahead: bool = False,
) -> tuple[float, Proof] | None:
    """Return an epsilon0 that is safe while one larger by 1e-5 is not, and why it is safe.

    Args:
        proof: returns why an epsilon0 is safe, None where it is not.
        excess: what the safe epsilon0 must also bring down to 0; if it does not, smaller ones are
            tried, by a part of about as much and then by ever larger ones.
        start: an epsilon0 of at least 1e-9 that may well be safe.
        look_ahead: whether larger ones may be safe again; then up to 1.5 times the failing one is
            looked at in steps of 0.2%.

    Returns:
        None if not even epsilon0 = 1e-9 is safe; 300 if that is.

    >>> level, why = largest_level(lambda e: "low" if e <= 2.5 else None, lambda e: 0.0, start=1.0)
    >>> round(level, 4), why
    (2.5, 'low')
    """
    found = _first(proof, (start, SMALLEST_EPSILON0))
    while found is not None:
        found, unsafe = _bisect(proof, found)
        if not look_ahead:
            break
        ahead = (unsafe * _LOOK_AHEAD_FACTOR**i for i in range(1, _LOOK_AHEAD_STEPS))
        again = _first(proof, (level for level in ahead if level <= MAX_EPSILON0))
        if again is None:
            break
        found = again
    return None if found is None else _settle(proof, excess, found)


def first_step(wanted: float) -> float:
    """Return a part by which to change what does not keep its word yet: a power of two.

    So the outcome does not depend on the last digits of how much is wanted.

    >>> first_step(3e-6) == 2.0**-18, first_step(0.5) == 2.0**-13
    (True, True)
    """
    power = math.ldexp(1.0, math.frexp(wanted)[1])
    return max(min(power, _MAX_FIRST_STEP), _MIN_FIRST_STEP)


def _first(
    proof: Callable[[float], Proof | None], levels: Iterable[float]
) -> tuple[float, Proof] | None:
    """Return the first safe level, and why it is safe."""
    return next(
        ((level, why) for level in levels if (why := proof(level)) is not None),
        None,
    )


def _bisect(
    proof: Callable[[float], Proof | None], found: tuple[float, Proof]
) -> tuple[tuple[float, Proof], float]:
    """Raise a safe level until it is within 1e-5 of an unsafe one; return both."""
    safe, why = found
    unsafe = math.inf
    while safe < MAX_EPSILON0 and unsafe > safe * (1 + _RTOL):
        level = min(2 * safe, MAX_EPSILON0) if unsafe == math.inf else math.sqrt(safe * unsafe)
        better = proof(level)
        if better is None:
            unsafe = level
        else:
            safe, why = level, better
    return (safe, why), unsafe


def _settle(
    proof: Callable[[float], Proof | None],
    excess: Callable[[float], float],
    found: tuple[float, Proof],
) -> tuple[float, Proof] | None:
    """Lower a safe level until there is no excess, in steps that grow."""
    level, step = found[0], 0.0
    why: Proof | None = found[1]
    while (above := excess(level)) > 0 or why is None:
        step = 2 * step if step else first_step(2 * above)
        level *= 1 - min(step, 0.5)
        if level < SMALLEST_EPSILON0:
            return None
        why = proof(level)
    return level, why
