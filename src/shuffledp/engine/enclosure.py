"""What is proved about a number: between which bounds it lies, and by which method."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from flint import arb

#: The name of a method and its parameters.
Method = Mapping[str, Any]


class PrecisionError(ArithmeticError):
    """Balls are too wide for the width asked for: compute again with more bits."""


@dataclass(frozen=True)
class Enclosure:
    """``lower`` <= number <= ``upper``, and how each of the two was proved."""

    lower: arb
    upper: arb
    lower_method: Method
    upper_method: Method

    @staticmethod
    def between(lower: arb, upper: arb, method: Method) -> Enclosure:
        """Return the enclosure of a number >= 0 between the numbers that two balls enclose."""
        return Enclosure(_at_least_0(lower.lower()), _at_least_0(upper.upper()), method, method)

    def is_narrow(self, rtol: float) -> bool:
        """Whether the width is at most ``rtol`` times the lower end."""
        return bool(self.upper - self.lower <= rtol * self.lower)

    def plus(self, extra: arb) -> Enclosure:
        """Return the enclosure of the number plus another one."""
        lower, upper = (self.lower + extra).lower(), (self.upper + extra).upper()
        return Enclosure(
            _at_least_0(lower), _at_least_0(upper), self.lower_method, self.upper_method
        )

    def from_below(self, other: Enclosure) -> Enclosure:
        """Return the enclosure with the lower end of another one, of a smaller number."""
        return Enclosure(other.lower, self.upper, other.lower_method, self.upper_method)


def _at_least_0(x: arb) -> arb:
    return x if x > 0 else arb(0)
