r"""What the bits of all users have in common, whatever they hold, in balls.

A bit is 1 with probability a or b, so with probability :math:`g=1-a+b` it is drawn from a common
law: 1 with probability b/g. Of m users at least k draw it, but for

.. math:: P(\mathrm{Bin}(m,g)<k)\le e^{-m\,KL((k-1)/m\,\|\,g)} .
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

from flint import arb

from shuffledp.basics.balls import short
from shuffledp.bounds.sums.counts import Bit

_LARGEST = 1 - 2.0**-40  # of the mass that bits have in common, where k is chosen

#: A number of users is between these.
Side = tuple[int, int]


def cut(side: Side, last: int) -> list[Side]:
    """Cut the numbers in two, nearer to an end of all numbers from 0 to the last one.

    >>> cut((0, 99), 99), cut((7, 7), 99)
    ([(0, 24), (25, 99)], [(7, 7)])
    """
    low, high = side
    if low == high:
        return [side]
    part = (high - low) // 2
    if low == 0:
        part = (high - low) // 4
    elif high == last:
        part = 3 * (high - low) // 4
    return [(low, low + part), (low + part + 1, high)]


@dataclass(frozen=True)
class CommonBits:
    """What the bits at a user's own value and at other values have in common."""

    own: Bit
    other: Bit

    @cached_property
    def mass(self) -> arb:
        """The probability g."""
        return self.own.zero + self.other.one

    @cached_property
    def bit(self) -> Bit:
        """The common law."""
        return Bit(self.other.one / self.mass, self.own.zero / self.mass)

    def surely(self, number: int, log_risk: float) -> int:
        """Return about the largest k with P(Bin(number, g) < k) small enough."""
        mass = min(short(float(self.mass.mid()), 40), _LARGEST)
        low, high = 0, math.floor(number * mass) + 1
        while high - low > 1:
            middle = (low + high) // 2
            rare = _log_risk(number, middle, mass) <= log_risk
            low, high = (middle, high) if rare else (low, middle)
        return low

    def risk(self, number: int, sure: int) -> arb:
        """Bound P(Bin(number, g) < sure), which falls with g."""
        mass, seen = self.mass.lower(), sure - 1
        if sure == 0:
            return arb(0)
        if not 0 < mass < 1 or not seen < number * mass:
            return arb(1)
        log = (number - seen) * ((1 - mass) * number / (number - seen)).log()
        if seen > 0:
            log += seen * (mass * number / seen).log()
        return log.exp().upper()


def _log_risk(number: int, sure: int, mass: float) -> float:
    seen = sure - 1
    log = (number - seen) * math.log((1 - mass) * number / (number - seen))
    return log + (seen * math.log(mass * number / seen) if seen else 0.0)
