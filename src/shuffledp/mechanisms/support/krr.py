"""k-ary randomized response."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from flint import arb
from numpy.typing import NDArray

from shuffledp.basics.arrays import IntArray
from shuffledp.basics.errors import check_size
from shuffledp.mechanisms.aggregate import Aggregate, SameAsMultiset
from shuffledp.mechanisms.base import Values
from shuffledp.mechanisms.sampling import Bits, Logistic, Probability, below, decide
from shuffledp.mechanisms.sampling.layout import unsigned
from shuffledp.mechanisms.support.counting import count_values
from shuffledp.mechanisms.support.support import SupportRandomizer


@dataclass(frozen=True, repr=False)
class KRR(SupportRandomizer):
    r"""k-ary randomized response (Kairouz, Bonawitz and Ramage 2016).

    Reports the true value of k with probability :math:`E/(E+k-1)`, :math:`E=e^{\varepsilon_0}`, and
    each other value with probability :math:`1/(E+k-1)`. An output supports itself.

    Args:
        k: number of values, at least 2.
        epsilon0: replace-one LDP level.

    >>> str(KRR(k=10, epsilon0=2.0))
    'krr(k=10, epsilon0=2.0)'
    """

    name: ClassVar[str] = "krr"
    example: ClassVar[str | None] = "krr(k=10, epsilon0=1.0)"

    k: int
    epsilon0: float

    def __post_init__(self) -> None:
        """Check the parameters."""
        super().__post_init__()
        object.__setattr__(self, "k", check_size("k", self.k))

    @property
    def inputs(self) -> int:
        """The number of values."""
        return self.k

    @property
    def triples_look_alike(self) -> bool:
        """True."""
        return True

    @property
    def blanket_shape(self) -> Hashable:
        """All levels share the uniform law; alpha is k/(E+k-1)."""
        # Exactly this class: one derived from it may state another law.
        return ("krr", self.k) if type(self) is KRR else self

    @property
    def aggregate(self) -> Aggregate:
        """The counts of all outputs are the multiset."""
        return SameAsMultiset("the sum of one-hot reports is the histogram of the reports")

    def support_mass(self, supported: int, named: int) -> arb:
        """Return 1/(E+k-1) per output: one supports a named input, k - named support none."""
        outputs = (self.k - named, 1, 0, 0)[supported]
        return outputs / (self.ratio + (self.k - 1))

    @property
    def full_support_mass(self) -> arb:
        """0: no output supports two inputs."""
        return arb(0)

    @property
    def report_dtype(self) -> np.dtype[Any]:
        """The smallest unsigned integer."""
        return unsigned(self.k)

    @property
    def truth_probability(self) -> Probability:
        r""":math:`1/(1+(k-1)e^{-\varepsilon_0})`."""
        return Logistic(-Fraction(self.epsilon0), Fraction(self.k - 1))

    def draw(self, values: Values, bits: Bits) -> NDArray[Any]:
        """Keep the value, or replace it by another one, all others alike."""
        reports = np.asarray(values).astype(self.report_dtype)
        lies = np.flatnonzero(~decide(bits, self.truth_probability, reports.size))
        others = below(bits, self.k - 1, lies.size).astype(self.report_dtype)
        others += others >= reports[lies]
        reports[lies] = others
        return reports

    def draw_dummies(self, count: int, bits: Bits) -> NDArray[Any]:
        """Return any value, all alike."""
        if type(self) is not KRR:
            return super().draw_dummies(count, bits)
        return below(bits, self.k, count).astype(self.report_dtype)

    def supports(self, reports: NDArray[Any], value: int) -> NDArray[np.bool_]:
        """Return which reports are the value."""
        equal: NDArray[np.bool_] = reports == value
        return equal

    def count_support(self, reports: NDArray[Any], candidates: IntArray | None) -> IntArray:
        """Count equal reports."""
        return count_values(reports, self.k, candidates)
