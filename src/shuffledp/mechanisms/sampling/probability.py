r"""Probabilities known to every binary digit.

The mechanisms need probabilities such as :math:`e^{\varepsilon_0}/(e^{\varepsilon_0}+k-1)`, which
are irrational. A decision that compares random bits with the binary digits of p, one after the
other, needs only as many digits as it takes until they differ; with all digits at hand it has the
probability p exactly (von Neumann 1951; Knuth and Yao 1976). Digits are computed when needed, from
enclosures in decimal arithmetic that are narrowed until they agree on the digit. They always do in
the end: :math:`e^x` is irrational for rational x other than 0, so no digit is a borderline case.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from functools import lru_cache

#: Digits are computed this many at a time.
_BLOCK = 128


class Probability(ABC):
    """A number in [0, 1) given by its binary digits."""

    @property
    def length(self) -> int | None:
        """How many binary digits there are; None without end."""
        return None

    @abstractmethod
    def scaled(self, digits: int) -> int:
        r"""Return :math:`\lfloor p\,2^{d}\rfloor` for a number d of binary digits."""

    def digit(self, position: int) -> int:
        """Return the binary digit at a position, counted from 0 after the point."""
        block, offset = divmod(position, _BLOCK)
        return _digits(self, block) >> (_BLOCK - 1 - offset) & 1


@lru_cache(maxsize=4096)
def _digits(probability: Probability, block: int) -> int:
    return probability.scaled(_BLOCK * (block + 1)) & ((1 << _BLOCK) - 1)


@dataclass(frozen=True)
class Rational(Probability):
    """A rational probability, below 1.

    >>> [Rational(Fraction(5, 8)).digit(i) for i in range(4)], Rational(Fraction(5, 8)).length
    ([1, 0, 1, 0], 3)
    """

    value: Fraction

    def __post_init__(self) -> None:
        """Check the value: 1 has no digits after the point."""
        if not 0 <= self.value < 1:
            raise ValueError(f"value must be at least 0 and below 1, got {self.value}")

    @property
    def length(self) -> int | None:
        """The exponent of a denominator that is a power of two."""
        power = self.value.denominator
        return power.bit_length() - 1 if power & (power - 1) == 0 else None

    def scaled(self, digits: int) -> int:
        """Return the exact integer part."""
        return (self.value.numerator << digits) // self.value.denominator


class Irrational(Probability):
    """A probability that involves an exponential."""

    @abstractmethod
    def _approximate(self, context: Context) -> tuple[Decimal, Fraction]:
        """Return a value and its relative error in units of the last place of the context."""

    def scaled(self, digits: int) -> int:
        """Return the integer part on which both ends of an enclosure agree."""
        precision = digits * 3 // 10 + 20
        while True:
            value, units = self._approximate(Context(prec=precision))
            error = units / 10 ** (precision - 1)
            middle = Fraction(value) * 2**digits
            lower, upper = (int(middle * (1 + sign * error)) for sign in (-1, 1))
            if lower == upper:
                return lower
            precision *= 2


@dataclass(frozen=True)
class Logistic(Irrational):
    r"""The probability :math:`1/(1+c\,e^x)` for rational c > 0 and rational x other than 0.

    >>> round(Logistic(Fraction(1)).scaled(50) / 2**50, 9)  # 1/(1+e)
    0.268941421
    """

    exponent: Fraction
    factor: Fraction = Fraction(1)

    def __post_init__(self) -> None:
        """Check the parameters: the digits of a rational result might never be settled."""
        if self.exponent == 0 or self.factor <= 0:
            raise ValueError(
                f"exponent must not be 0 and factor must be above 0, got {self.exponent} and "
                f"{self.factor}"
            )

    def _approximate(self, context: Context) -> tuple[Decimal, Fraction]:
        # Each of the six operations is off by less than a unit; an error of the exponent, which is
        # relative, counts as often as the exponent says, twice to cover products of errors.
        power = context.exp(_divide(context, self.exponent))
        odds = context.multiply(_divide(context, self.factor), power)
        value = context.divide(Decimal(1), context.add(Decimal(1), odds))
        return value, 2 * abs(self.exponent) + 12


@dataclass(frozen=True)
class Exponential(Irrational):
    r"""The probability :math:`e^{-x}` for rational x > 0.

    >>> round(Exponential(Fraction(1)).scaled(50) / 2**50, 9)
    0.367879441
    """

    exponent: Fraction

    def __post_init__(self) -> None:
        """Check the exponent."""
        if self.exponent <= 0:
            raise ValueError(f"exponent must be above 0, got {self.exponent}")

    def _approximate(self, context: Context) -> tuple[Decimal, Fraction]:
        return context.exp(_divide(context, -self.exponent)), 2 * self.exponent + 4


def _divide(context: Context, value: Fraction) -> Decimal:
    return context.divide(Decimal(value.numerator), Decimal(value.denominator))
