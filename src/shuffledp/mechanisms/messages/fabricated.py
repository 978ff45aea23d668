"""Fabricated messages, and the reports among which they are shuffled.

The law of what is fabricated is stated once: bounds, samplers and estimates read it here.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.basics.arrays import FloatArray, IntArray
from shuffledp.basics.errors import MAX_USERS, check_integer, check_real, check_size
from shuffledp.basics.rounding import plain
from shuffledp.basics.wording import counted
from shuffledp.mechanisms.sampling import Bits, Categorical, Rational, below, decide
from shuffledp.mechanisms.sampling.poisson import poisson
from shuffledp.mechanisms.support.krr import KRR
from shuffledp.mechanisms.text import as_randomizer

#: The largest number of values among which a law is written out.
_MAX_LAW = 1 << 16

#: The largest mean per device.
_MAX_MEAN = 1e6


@dataclass(frozen=True)
class Identity:
    """Clear values: every report is the value itself, and what hides it is added by others.

    **The local level is infinite**: whoever sees the messages of one user knows the value.

    Args:
        k: number of values, at least 2.

    >>> str(Identity(10)), Identity(10).epsilon0
    ('identity(k=10)', inf)
    """

    k: int

    def __post_init__(self) -> None:
        """Check the size."""
        object.__setattr__(self, "k", check_size("k", self.k))

    @property
    def epsilon0(self) -> float:
        """Infinite."""
        return math.inf

    def randomize(self, values: object, rng: np.random.Generator | None = None) -> NDArray[Any]:
        """Return the values, once they are checked."""
        return KRR(self.k, 1.0).check_values(values).copy()

    def __str__(self) -> str:
        """Return the text form."""
        return f"identity(k={self.k})"


#: What users send of their own.
Reports = Identity | KRR


def as_reports(reports: Reports | str) -> Reports:
    """Return clear values or k-ary randomized response, from an object or its text.

    >>> as_reports("identity(k=4)"), as_reports("krr(k=4, epsilon0=2)")
    (Identity(k=4), KRR(k=4, epsilon0=2.0))
    """
    if isinstance(reports, Identity):
        return reports
    if isinstance(reports, str) and reports.replace(" ", "").startswith("identity("):
        inside = reports.replace(" ", "").removeprefix("identity(").removesuffix(")")
        digits = inside.removeprefix("k=")
        if not digits.isascii() or not digits.isdigit():
            raise ValueError(f"identity must be written like identity(k=10), got {reports!r}")
        return Identity(int(digits))
    found = as_randomizer(reports)
    if type(found) is not KRR:
        raise ValueError(
            "reports must be identity(k=...) or krr(k=..., epsilon0=...), whose fabricated "
            f"messages are values, got {found}"
        )
    return found


@dataclass(frozen=True)
class Fabricated(ABC):
    """How many messages are fabricated, each a value of a law.

    A subclass has a field ``law``: weights of the values, exactly as they are given; None for all
    values alike.
    """

    if TYPE_CHECKING:

        @property
        def law(self) -> Sequence[float] | None:
            """Weights of the values."""

    def __post_init__(self) -> None:
        """Check the weights."""
        if self.law is not None:
            object.__setattr__(self, "law", _checked(self.law))

    def shares(self, k: int) -> tuple[Fraction, ...] | None:
        """Return the probabilities of k values, None if all are alike; refuse another number."""
        if self.law is None:
            return None
        if len(self.law) != k:
            raise ValueError(
                f"law must have one weight for each of k = {k} values, got {len(self.law)}"
            )
        exact = [Fraction(weight) for weight in self.law]
        whole = sum(exact)
        return tuple(weight / whole for weight in exact)

    def rarest(self, k: int) -> tuple[Fraction, Fraction]:
        """Return the two smallest probabilities of values: those of the worst pair."""
        law = self.shares(k)
        if law is None:
            return Fraction(1, k), Fraction(1, k)
        first, second, *_ = sorted(law)
        return first, second

    @property
    @abstractmethod
    def amount(self) -> float:
        """How much is fabricated: the parameter that is not the law."""

    @abstractmethod
    def moments(self, devices: int, k: int) -> tuple[FloatArray, FloatArray]:
        """Return means and variances of the fabricated counts of all values."""

    @abstractmethod
    def draw(self, devices: int, k: int, bits: Bits) -> IntArray:
        """Draw the fabricated messages of so many devices, exactly."""

    @property
    @abstractmethod
    def in_words(self) -> str:
        """What is fabricated by whom."""

    def _means(self, k: int) -> FloatArray:
        law = self.shares(k)
        return np.full(k, 1 / k) if law is None else np.array([float(share) for share in law])

    def _values(self, number: int, k: int, bits: Bits) -> IntArray:
        if self.law is None:
            return below(bits, k, number).astype(np.int64)
        self.shares(k)
        return Categorical(self.law).draw(bits, number)

    @property
    def _of_law(self) -> str:
        return "" if self.law is None else " of the given law"


def _checked(law: object) -> tuple[float, ...]:
    if isinstance(law, str) or not isinstance(law, Sequence | np.ndarray):
        raise TypeError(f"law must be a list of weights, got {law!r}")
    weights = tuple(check_real("law", weight) for weight in law)
    if not 2 <= len(weights) <= _MAX_LAW or min(weights) <= 0:
        raise ValueError(
            f"law must be 2 to {_MAX_LAW} weights above 0, as what is never fabricated is not "
            f"hidden, got {len(weights)} with a minimum of {min(weights, default=0.0)!r}"
        )
    return weights


@dataclass(frozen=True)
class FixedNumber(Fabricated):
    """So many fabricated messages in all, as of fake users.

    >>> FixedNumber(2128).in_words
    '2,128 messages are fabricated'
    """

    number: int
    law: Sequence[float] | None = None

    def __post_init__(self) -> None:
        """Check the number."""
        super().__post_init__()
        object.__setattr__(self, "number", check_integer("number", self.number, 0, MAX_USERS - 1))

    @property
    def amount(self) -> float:
        """The number."""
        return self.number

    def moments(self, devices: int, k: int) -> tuple[FloatArray, FloatArray]:
        """Return those of multinomial counts."""
        p = self._means(k)
        return self.number * p, self.number * p * (1 - p)

    def draw(self, devices: int, k: int, bits: Bits) -> IntArray:
        """Draw so many values."""
        return self._values(self.number, k, bits)

    @property
    def in_words(self) -> str:
        """The number."""
        return f"{counted(self.number, 'message')}{self._of_law} are fabricated"


@dataclass(frozen=True)
class PerDevice(Fabricated):
    """One fabricated message of every device, with a probability.

    >>> PerDevice(0.25).in_words
    'every honest device fabricates a message with probability 0.25'
    """

    probability: float
    law: Sequence[float] | None = None

    def __post_init__(self) -> None:
        """Check the probability."""
        super().__post_init__()
        share = check_real("probability", self.probability)
        if not 0 < share <= 1:
            raise ValueError(f"probability must be above 0 and at most 1, got {self.probability!r}")
        object.__setattr__(self, "probability", share)

    @property
    def amount(self) -> float:
        """The probability."""
        return self.probability

    def moments(self, devices: int, k: int) -> tuple[FloatArray, FloatArray]:
        """Return those of binomial counts."""
        p = self.probability * self._means(k)
        return devices * p, devices * p * (1 - p)

    def draw(self, devices: int, k: int, bits: Bits) -> IntArray:
        """Decide for every device, and draw values."""
        number = devices
        if self.probability < 1:
            number = int(decide(bits, Rational(Fraction(self.probability)), devices).sum())
        return self._values(number, k, bits)

    @property
    def in_words(self) -> str:
        """The probability."""
        return (
            f"every honest device fabricates a message{self._of_law} with probability "
            f"{plain(self.probability)}"
        )


@dataclass(frozen=True)
class PoissonPerValue(Fabricated):
    """A Poisson number of fabricated messages of every device for every value, all independent.

    Args:
        mean: the mean per device and value, over all values: ``poisson_mean`` where all are alike.
        law: weights of the values: the mean of a value is k times its share of ``mean``.

    >>> PoissonPerValue(0.5).mean_of(Fraction(1, 4), 4, 1000)
    Fraction(500, 1)
    """

    mean: float
    law: Sequence[float] | None = None

    def __post_init__(self) -> None:
        """Check the mean."""
        super().__post_init__()
        rate = check_real("mean", self.mean)
        if not 0 < rate <= _MAX_MEAN:
            raise ValueError(f"mean must be above 0 and at most {_MAX_MEAN:g}, got {self.mean!r}")
        object.__setattr__(self, "mean", rate)

    def mean_of(self, share: Fraction, k: int, devices: int) -> Fraction:
        """Return the mean of the count of a value with this share, exactly."""
        return Fraction(self.mean) * share * k * devices

    @property
    def amount(self) -> float:
        """The mean."""
        return self.mean

    def moments(self, devices: int, k: int) -> tuple[FloatArray, FloatArray]:
        """Return those of Poisson counts."""
        means = self.mean * k * devices * self._means(k)
        return means, means

    def draw(self, devices: int, k: int, bits: Bits) -> IntArray:
        """Draw Poisson numbers for every value: sums of independent ones are Poisson, too."""
        law = self.shares(k) or (Fraction(1, k),) * k
        counts = [int(poisson(bits, self.mean_of(share, k, devices), 1)[0]) for share in law]
        return np.repeat(np.arange(k, dtype=np.int64), counts)

    @property
    def in_words(self) -> str:
        """The mean."""
        return (
            "every honest device fabricates, for every value, a Poisson number of messages"
            f"{self._of_law} of mean {plain(self.mean)}"
        )
