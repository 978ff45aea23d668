"""Unary encodings: one bit per value, each bit randomized on its own."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from flint import arb
from numpy.typing import NDArray

from shuffledp.basics.arrays import IntArray
from shuffledp.basics.balls import upper_double
from shuffledp.basics.errors import check_epsilon0, check_probability
from shuffledp.mechanisms.aggregate import Aggregate, BitSums, OnlyMultiset
from shuffledp.mechanisms.base import Values
from shuffledp.mechanisms.finite.masses import DIGITS, working_digits
from shuffledp.mechanisms.sampling import (
    Bits,
    Logistic,
    Probability,
    Rational,
    decide,
    decide_packed,
)
from shuffledp.mechanisms.sampling.layout import as_bytes, packed_bits
from shuffledp.mechanisms.sampling.packed import check_packed, count_ones, get_bit, put_bits
from shuffledp.mechanisms.support.support import IndependentSupport


class _Unary(IndependentSupport):
    r"""The bit of the true value is 1 with probability a, every other bit with probability b < a.

    :math:`R(x)(y)=w(y)E^{y_x}` with :math:`w=\frac{1-a}{1-b}\prod_ib^{y_i}(1-b)^{1-y_i}`: an output
    supports the values whose bit is 1.
    """

    @property
    @abstractmethod
    def noise(self) -> tuple[arb, arb]:
        """The probabilities b and 1-b of a 1 and a 0 for a bit that should be 0."""

    @property
    @abstractmethod
    def low_ratio(self) -> arb:
        """(1-a)/(1-b), by how much the true input makes a 0 rarer."""

    @property
    def aggregate(self) -> Aggregate:
        """The counts of all bits."""
        # Exactly these classes: one derived from them may state another law.
        if type(self) not in (RAPPOR, OUE, UnaryEncoding):
            return OnlyMultiset()
        with working_digits(self.digits):
            one, zero = self.noise
            rest = self.low_ratio * zero
            return BitSums((1 - rest, rest), (one, zero), self.domain_size == 2, self.log_ratio)

    def support_mass(self, supported: int, named: int) -> arb:
        r"""Return :math:`\frac{1-a}{1-b}b^m(1-b)^{t-m}`."""
        one, zero = self.noise
        return self.low_ratio * one**supported * zero ** (named - supported)

    @property
    @abstractmethod
    def one_probabilities(self) -> tuple[Probability, Probability]:
        """The probabilities of a 1 at the true value and at any other value."""

    @property
    def supporting_bit(self) -> int:
        """The reported bit that supports its value."""
        return 1

    @property
    def report_dtype(self) -> np.dtype[Any]:
        """The bits, eight to a byte."""
        return packed_bits(self.known_inputs())

    def draw(self, values: Values, bits: Bits) -> NDArray[Any]:
        """Draw all bits as if their values were not the true one, then the true value's bit."""
        size, inputs = self.known_inputs(), np.asarray(values)
        true, other = self.one_probabilities
        width = self.report_dtype.itemsize
        rows = decide_packed(bits, other, inputs.size * width).reshape(inputs.size, width)
        if size % 8:
            rows[:, -1] &= np.uint8((1 << size % 8) - 1)
        put_bits(rows, np.arange(inputs.size), inputs, decide(bits, true, inputs.size))
        return rows.view(self.report_dtype).ravel()

    def supports(self, reports: NDArray[Any], value: int) -> NDArray[np.bool_]:
        """Return in which reports the value has the supporting bit."""
        ones = get_bit(as_bytes(reports), value)
        return ones if self.supporting_bit else ~ones

    def count_support(self, reports: NDArray[Any], candidates: IntArray | None) -> IntArray:
        """Count the supporting bits of each value."""
        size = self.known_inputs()
        check_packed(reports, size)
        ones = count_ones(reports, size)
        counts = ones if self.supporting_bit else reports.size - ones
        return counts if candidates is None else counts[candidates]


@dataclass(frozen=True, repr=False)
class RAPPOR(_Unary):
    r"""Basic one-time RAPPOR, symmetric unary encoding (Erlingsson, Pihur and Korolova 2014).

    Every bit is flipped with probability :math:`1/(1+e^{\varepsilon_0/2})`.

    Args:
        epsilon0: replace-one LDP level. Part of the literature states the deletion level instead,
            which is half as large.
        domain_size: number of bits D; None for the limit, an upper bound for every D.

    >>> str(RAPPOR(epsilon0=4.0, domain_size=5))
    'rappor(epsilon0=4.0, domain_size=5)'
    """

    name: ClassVar[str] = "rappor"
    example: ClassVar[str | None] = "rappor(epsilon0=1.0)"

    epsilon0: float
    domain_size: int | None = None

    @property
    def noise(self) -> tuple[arb, arb]:
        r""":math:`1/(1+e^{\varepsilon_0/2})` and its complement."""
        odds = self.low_ratio
        return odds / (1 + odds), 1 / (1 + odds)

    @property
    def low_ratio(self) -> arb:
        r""":math:`e^{-\varepsilon_0/2}`."""
        return 1 / self.ratio.sqrt()

    @property
    def one_probabilities(self) -> tuple[Probability, Probability]:
        r""":math:`1/(1+e^{\mp\varepsilon_0/2})`."""
        half = Fraction(self.epsilon0) / 2
        return Logistic(-half), Logistic(half)


@dataclass(frozen=True, repr=False)
class OUE(_Unary):
    r"""Optimised unary encoding (Wang, Blocki, Li and Jha 2017).

    The true bit stays 1 with probability 1/2, a 0 turns into 1 with probability
    :math:`1/(e^{\varepsilon_0}+1)`.

    Args:
        epsilon0: replace-one LDP level.
        domain_size: number of bits D; None for the limit, an upper bound for every D.

    >>> str(OUE(epsilon0=4.0))
    'oue(epsilon0=4.0)'
    """

    name: ClassVar[str] = "oue"
    example: ClassVar[str | None] = "oue(epsilon0=1.0)"

    epsilon0: float
    domain_size: int | None = None

    @property
    def noise(self) -> tuple[arb, arb]:
        r""":math:`1/(e^{\varepsilon_0}+1)` and its complement."""
        return 1 / (self.ratio + 1), self.ratio / (self.ratio + 1)

    @property
    def low_ratio(self) -> arb:
        r""":math:`(1+e^{-\varepsilon_0})/2`."""
        return (1 + 1 / self.ratio) / 2

    @property
    def one_probabilities(self) -> tuple[Probability, Probability]:
        r"""1/2 and :math:`1/(1+e^{\varepsilon_0})`."""
        return Rational(Fraction(1, 2)), Logistic(Fraction(self.epsilon0))


@dataclass(frozen=True, repr=False)
class UnaryEncoding(_Unary):
    r"""Unary encoding with any two probabilities.

    Args:
        p: probability that the bit of the true value is reported as 1.
        q: probability that any other bit is reported as 1; it must differ from p.
        domain_size: number of bits D; None for the limit, an upper bound for every D.

    >>> round(UnaryEncoding(p=0.75, q=0.25).epsilon0, 12) == round(2 * math.log(3), 12)
    True
    """

    name: ClassVar[str] = "unary"
    example: ClassVar[str | None] = "unary(p=0.75, q=0.25)"

    p: float
    q: float
    domain_size: int | None = None

    def __post_init__(self) -> None:
        """Check the parameters."""
        object.__setattr__(self, "p", check_probability("p", self.p))
        object.__setattr__(self, "q", check_probability("q", self.q))
        if self.p == self.q:
            raise ValueError(f"p and q must differ, got {self.p!r} for both")
        super().__post_init__()
        check_epsilon0(self.epsilon0, "the LDP level log(p(1-q)/(q(1-p)))")

    @property
    def epsilon0(self) -> float:
        """|logit p - logit q|, rounded up."""
        return _level(self.p, self.q)

    @property
    def digits(self) -> int:
        """Enough for differences of 1 and a number within min(p, q) of it."""
        return DIGITS - math.floor(math.log10(min(self.p, self.q)))

    @property
    def ratio(self) -> arb:
        """p(1-q)/(q(1-p)), or its inverse where a 0 is the supporting bit."""
        return _odds_ratio(self.p, self.q)

    @property
    def log_ratio(self) -> arb:
        """|logit p - logit q|."""
        return self.ratio.log()

    @property
    def noise(self) -> tuple[arb, arb]:
        """The noise q and 1-q, the other way round where a 0 is the supporting bit."""
        one, zero = arb(self.q), 1 - arb(self.q)
        return (one, zero) if self.p > self.q else (zero, one)

    @property
    def low_ratio(self) -> arb:
        """(1-p)/(1-q), or p/q where a 0 is the supporting bit."""
        p, q = arb(self.p), arb(self.q)
        return (1 - p) / (1 - q) if self.p > self.q else p / q

    @property
    def one_probabilities(self) -> tuple[Probability, Probability]:
        """The doubles p and q as they are."""
        return Rational(Fraction(self.p)), Rational(Fraction(self.q))

    @property
    def supporting_bit(self) -> int:
        """0 if p is smaller than q."""
        return int(self.p > self.q)


def _odds_ratio(p: float, q: float) -> arb:
    """Return the ratio of the odds of p and q, the larger one on top."""
    large, small = arb(max(p, q)), arb(min(p, q))
    return large * (1 - small) / (small * (1 - large))


@lru_cache(maxsize=256)
def _level(p: float, q: float) -> float:
    """Return the logarithm of the odds ratio, rounded up."""
    with working_digits():
        return upper_double(_odds_ratio(p, q).log())
