"""The largest epsilon0 that is safe, whatever "safe" means."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

from shuffledp.basics.errors import MAX_EPSILON0

#: Where searches for epsilon0 begin.
SMALLEST_EPSILON0 = 1e-9

#: How closely the largest safe epsilon0 is looked for, unless said otherwise.
SEARCH_RTOL = 1e-5

_MIN_FIRST_STEP, _MAX_FIRST_STEP = 2.0**-23, 2.0**-13  # relative, of epsilon0

_DIGITS = 7  # of the levels that are tried: outcomes hang on no last bit, and read well
_NUDGE, _WIDEN = 0.4, 4.0  # a step beside the guess, of the tolerance, and its growth

#: How far beyond a failing epsilon0 to look when a family re-tunes itself: 200 steps of 0.2%.
_LOOK_AHEAD_STEPS, _LOOK_AHEAD_FACTOR = 200, 1.002

#: Why an epsilon0 is safe.
Proof = TypeVar("Proof")


@dataclass(frozen=True)
class Trial(Generic[Proof]):
    """What was found out about an epsilon0.

    Attributes:
        proof: why it is safe, None where it is not.
        gap: about how far above its target something is, below 0 where it is safe; infinite where
            that is not known. It says where to look next, and decides nothing.
    """

    proof: Proof | None
    gap: float

    @classmethod
    def of(cls, proof: Proof | None) -> Trial[Proof]:
        """Return one of which nothing else is known."""
        return cls(proof, math.inf if proof is None else -math.inf)


def largest_level(
    attempt: Callable[[float], Trial[Proof]],
    start: float,
    *,
    look_ahead: bool = False,
    rtol: float = SEARCH_RTOL,
) -> tuple[float, Proof] | None:
    """Return an epsilon0 that is safe while one larger by ``rtol`` is not, and why it is safe.

    Args:
        attempt: tries an epsilon0.
        start: an epsilon0 of at least 1e-9 that may well be safe.
        look_ahead: whether larger ones may be safe again; then up to 1.5 times the failing one is
            looked at in steps of 0.2%.
        rtol: how close the two shall be.

    Returns:
        None if not even epsilon0 = 1e-9 is safe; 300 if that is.

    >>> level, why = largest_level(lambda e: Trial.of("small" if e <= 2.5 else None), start=1.0)
    >>> 2.49997 < level <= 2.5, why
    (True, 'small')
    """
    found = _first(attempt, (start, SMALLEST_EPSILON0))
    while found is not None:
        found, unsafe = _narrow(attempt, found, rtol)
        if not look_ahead:
            break
        ahead = (unsafe * _LOOK_AHEAD_FACTOR**i for i in range(1, _LOOK_AHEAD_STEPS))
        again = _first(attempt, (level for level in ahead if level <= MAX_EPSILON0))
        if again is None:
            break
        found = again
    return None if found is None else (found.level, found.proof)


def settle_level(
    attempt: Callable[[float], Trial[Proof]],
    excess: Callable[[float], float],
    found: tuple[float, Proof],
) -> tuple[float, Proof] | None:
    """Lower a safe epsilon0 until there is no excess either, by ever larger parts.

    Args:
        attempt: tries an epsilon0.
        excess: by which part of itself something is still too large; 0 if it is not.
        found: a safe epsilon0, and why it is safe.

    Returns:
        None if there is an excess down to epsilon0 = 1e-9.

    >>> level, _ = settle_level(
    ...     lambda e: Trial.of(True), lambda e: max(0.0, 1 - 1 / e), (1.00001, True)
    ... )
    >>> 0.9999 < level <= 1
    True
    """
    level, step = found[0], 0.0
    why: Proof | None = found[1]
    while (above := excess(level)) > 0 or why is None:
        step = 2 * step if step else first_step(2 * above)
        level = _rounded(level * (1 - min(step, 0.5)))
        if level < SMALLEST_EPSILON0:
            return None
        why = attempt(level).proof
    return level, why


def first_step(wanted: float) -> float:
    """Return a part by which to change what does not keep its word yet: a power of two.

    So the outcome does not depend on the last digits of how much is wanted.

    >>> first_step(3e-6) == 2.0**-18, first_step(0.5) == 2.0**-13
    (True, True)
    """
    power = math.ldexp(1.0, math.frexp(wanted)[1])
    return max(min(power, _MAX_FIRST_STEP), _MIN_FIRST_STEP)


@dataclass(frozen=True)
class _Safe(Generic[Proof]):
    """A safe level, why it is safe, and how far from its target."""

    level: float
    proof: Proof
    gap: float


def _first(
    attempt: Callable[[float], Trial[Proof]], levels: Iterable[float]
) -> _Safe[Proof] | None:
    """Return the first safe level."""
    for level in levels:
        trial = attempt(level)
        if trial.proof is not None:
            return _Safe(level, trial.proof, trial.gap)
    return None


def _narrow(
    attempt: Callable[[float], Trial[Proof]], safe: _Safe[Proof], rtol: float
) -> tuple[_Safe[Proof], float]:
    """Raise a safe level until it is within ``rtol`` of an unsafe one; return both."""
    unsafe, gap = math.inf, math.inf
    least = nudge = _NUDGE * rtol
    was_safe = None
    while safe.level < MAX_EPSILON0 and unsafe > safe.level * (1 + rtol):
        if unsafe == math.inf:
            level = min(2 * safe.level, MAX_EPSILON0)
        else:
            level = _between(safe.level, safe.gap, unsafe, gap, nudge)
        trial = attempt(level)
        nudge = nudge * _WIDEN if (trial.proof is not None) == was_safe else least
        was_safe = trial.proof is not None
        if trial.proof is None:
            unsafe, gap = level, trial.gap
        else:
            safe = _Safe(level, trial.proof, trial.gap)
    return safe, unsafe


def _between(safe: float, safe_gap: float, unsafe: float, unsafe_gap: float, nudge: float) -> float:
    """Return a level between the two: where the gap may vanish, moved towards the farther end.

    Then the farther end is the one that is replaced, if the guess is good.
    """
    width = math.log(unsafe / safe)
    share = 0.5
    if -math.inf < safe_gap < 0 < unsafe_gap < math.inf:
        share = safe_gap / (safe_gap - unsafe_gap)
        share += (nudge if share < 0.5 else -nudge) / width
    level = _rounded(safe * math.exp(share * width))
    return level if safe < level < unsafe else math.sqrt(safe * unsafe)


def _rounded(level: float) -> float:
    return float(f"{level:.{_DIGITS}g}")
