"""Unary encodings: one bit per value, each bit randomized on its own."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from shuffledp.decomposition.arithmetic import UNIT, IntArray
from shuffledp.errors import check_epsilon0, check_probability
from shuffledp.randomizers.base import Values
from shuffledp.randomizers.support import SupportRandomizer
from shuffledp.sampling import Bits, Logistic, Probability, Rational, decide, decide_packed
from shuffledp.sampling.layout import as_bytes, packed_bits
from shuffledp.sampling.packed import check_packed, count_ones, get_bit, put_bits


class _Unary(SupportRandomizer):
    r"""The bit of the true value is 1 with probability a, every other bit with probability b < a.

    :math:`R(x)(y)=w(y)E^{y_x}` with :math:`w=\frac{1-a}{1-b}\prod_ib^{y_i}(1-b)^{1-y_i}`: an output
    supports the values whose bit is 1.
    """

    domain_size: int | None

    @property
    @abstractmethod
    def noise_odds(self) -> float:
        """b/(1-b), the odds of a bit that should be 0."""

    @property
    @abstractmethod
    def low_ratio(self) -> float:
        """(1-a)/(1-b), by how much the true input makes a 0 rarer."""

    @property
    def inputs(self) -> int | None:
        """Number of bits."""
        return self.domain_size

    def support_mass(self, supported: int, named: int) -> float:
        r"""Return :math:`\frac{1-a}{1-b}b^m(1-b)^{t-m}`."""
        one, zero = self.noise_odds / (1 + self.noise_odds), 1 / (1 + self.noise_odds)
        return self.low_ratio * one**supported * zero ** (named - supported)

    @property
    def full_support_mass(self) -> float:
        r""":math:`\frac{1-a}{1-b}b^D`: all bits 1."""
        size = self.domain_size
        return 0.0 if size is None else self.support_mass(size, size)

    def partial_support_mass(self, named: int) -> float:
        r"""Return :math:`\frac{1-a}{1-b}b^m(1-b^{D-m})`."""
        mass = self.support_mass(named, named)
        if self.domain_size is None:
            return mass
        log_noise = -math.log1p(1 / self.noise_odds)
        return -mass * math.expm1((self.domain_size - named) * log_noise)

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


@dataclass(frozen=True)
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

    epsilon0: float
    domain_size: int | None = None

    @property
    def noise_odds(self) -> float:
        r""":math:`e^{-\varepsilon_0/2}`."""
        return math.exp(-self.epsilon0 / 2)

    @property
    def low_ratio(self) -> float:
        r""":math:`e^{-\varepsilon_0/2}`."""
        return math.exp(-self.epsilon0 / 2)

    @property
    def one_probabilities(self) -> tuple[Probability, Probability]:
        r""":math:`1/(1+e^{\mp\varepsilon_0/2})`."""
        half = Fraction(self.epsilon0) / 2
        return Logistic(-half), Logistic(half)


@dataclass(frozen=True)
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

    epsilon0: float
    domain_size: int | None = None

    @property
    def noise_odds(self) -> float:
        r""":math:`e^{-\varepsilon_0}`."""
        return math.exp(-self.epsilon0)

    @property
    def low_ratio(self) -> float:
        r""":math:`(1+e^{-\varepsilon_0})/2`."""
        return (1 + math.exp(-self.epsilon0)) / 2

    @property
    def one_probabilities(self) -> tuple[Probability, Probability]:
        r"""1/2 and :math:`1/(1+e^{\varepsilon_0})`."""
        return Rational(Fraction(1, 2)), Logistic(Fraction(self.epsilon0))


@dataclass(frozen=True)
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
        """|logit p - logit q|."""
        return abs(math.log(self.p / self.q) + math.log1p(-self.q) - math.log1p(-self.p))

    @property
    def ratio(self) -> float:
        """p(1-q)/(q(1-p)), or its inverse where a 0 is the supporting bit."""
        odds = self.p * (1 - self.q) / (self.q * (1 - self.p))
        return odds if self.p > self.q else 1 / odds

    @property
    def ratio_excess(self) -> float:
        """(p-q)/(q(1-p)), or (q-p)/(p(1-q)) where a 0 is the supporting bit."""
        if self.p > self.q:
            return (self.p - self.q) / (self.q * (1 - self.p))
        return (self.q - self.p) / (self.p * (1 - self.q))

    @property
    def log_ratio_error(self) -> float:
        """A few ulps of the logarithms that make up the level."""
        parts = math.log(self.p / self.q), math.log1p(-self.q), math.log1p(-self.p)
        return 4 * UNIT * (1 + sum(map(abs, parts)))

    @property
    def noise_odds(self) -> float:
        """q/(1-q), or its inverse where a 0 is the supporting bit."""
        return self.q / (1 - self.q) if self.p > self.q else (1 - self.q) / self.q

    @property
    def low_ratio(self) -> float:
        """(1-p)/(1-q), or p/q where a 0 is the supporting bit."""
        return (1 - self.p) / (1 - self.q) if self.p > self.q else self.p / self.q

    @property
    def one_probabilities(self) -> tuple[Probability, Probability]:
        """The doubles p and q as they are."""
        return Rational(Fraction(self.p)), Rational(Fraction(self.q))

    @property
    def supporting_bit(self) -> int:
        """0 if p is smaller than q."""
        return int(self.p > self.q)
