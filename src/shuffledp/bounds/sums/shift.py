r"""How far a shift moves a sum of noise, in balls: a search for the best threshold.

The sum S of all noise does not depend on the inputs, so delta is that of a shift of S by
:math:`\Delta`, whatever the others hold. S has a log-concave law f, so
:math:`D(t)=f(t-\Delta)-e^\varepsilon f(t)` changes its sign once, from minus to plus, and

.. math:: \delta=\max_tg(t),\qquad g(t)=P(S\ge t-\Delta)-e^\varepsilon P(S\ge t)=\int_t^\infty D .

Every g(t) is a lower bound. If :math:`D(t_0)\le0\le D(t_1)` is proved for two thresholds next to
each other, delta is at most :math:`g(t_1)` plus the part of D above 0 in between.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from flint import arb

from shuffledp.basics.balls import positive_part
from shuffledp.engine.enclosure import Enclosure, Method, PrecisionError

_MAX_UNDECIDED = 3  # thresholds between which balls cannot tell
_MAX_STEPS = 2000  # binary digits of a threshold


class ShiftedSum(ABC):
    """g and D at equidistant thresholds, numbered such that D at number 0 is not positive."""

    @abstractmethod
    def tail(self, number: int) -> arb:
        """Enclose g."""

    @abstractmethod
    def difference(self, number: int) -> arb:
        """Enclose D."""

    @abstractmethod
    def between(self, low: int, high: int) -> arb:
        """Bound the part of D above 0 between two thresholds, D being positive at the second."""

    @property
    @abstractmethod
    def method(self) -> Method:
        """How g and D are computed."""


def enclose_shift(sums: ShiftedSum, guess: int, step: int, rtol: float) -> Enclosure:
    """Enclose delta.

    Args:
        sums: the sum of all noise.
        guess: about the number of the best threshold.
        step: about how far that may be from it.
        rtol: the relative width to reach.

    Raises:
        PrecisionError: if more bits are needed.
    """
    low, high = _last_negative(sums, max(guess, 1), max(step, 1))
    while not sums.difference(high) >= 0:
        high += 1
        if high - low > _MAX_UNDECIDED:
            raise PrecisionError("the sign of a difference cannot be told")
    value = sums.tail(high)
    found = Enclosure.between(value, value + positive_part(sums.between(low, high)), sums.method)
    if not found.is_narrow(rtol):
        raise PrecisionError("the tails of the sum have too wide a ball")
    return found


def _last_negative(sums: ShiftedSum, guess: int, step: int) -> tuple[int, int]:
    """Return neighbours of which the first has a D that is proved to be 0 or less.

    The second has none. Where D cannot be told from 0, the first is 0 at worst.
    """
    low, high = 0, guess
    if _is_negative(sums, guess):
        while _is_negative(sums, high):
            low, high, step = high, high + step, 2 * step
            if high.bit_length() > _MAX_STEPS:
                raise PrecisionError("no difference is positive")
    else:
        lower = guess - step
        while lower > 0 and not _is_negative(sums, lower):
            high, step = lower, 2 * step
            lower = high - step
        low = max(lower, 0)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _is_negative(sums, middle) else (low, middle)
    return low, high


def _is_negative(sums: ShiftedSum, number: int) -> bool:
    return bool(sums.difference(number) <= 0)
