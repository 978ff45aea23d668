"""Subset selection."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from flint import arb
from numpy.typing import NDArray

from shuffledp.basics.arrays import IntArray
from shuffledp.basics.errors import check_integer, check_size
from shuffledp.mechanisms.base import Values
from shuffledp.mechanisms.sampling import Bits, Logistic, Probability, below, decide
from shuffledp.mechanisms.sampling.layout import as_bytes, blob, packed_bits, unsigned
from shuffledp.mechanisms.sampling.packed import check_packed, count_ones, get_bit, ones_of
from shuffledp.mechanisms.sampling.subsets import listed_subsets, packed_subsets
from shuffledp.mechanisms.support.counting import count_values
from shuffledp.mechanisms.support.support import SupportRandomizer, nearest_share


@dataclass(frozen=True, repr=False)
class SubsetSelection(SupportRandomizer):
    r"""Subset selection (Ye and Barg 2018; Wang et al. 2019).

    Reports one of the subsets of ``size`` values; a subset that holds the true value is
    :math:`e^{\varepsilon_0}` times as likely as one that does not. A subset supports its members.

    Args:
        epsilon0: replace-one LDP level.
        domain_size: number of values D, at least 2.
        size: number of values in a report, from 1 to D-1; None chooses
            :math:`\mathrm{round}(D/(e^{\varepsilon_0}+1))`, the value of least variance. The
            choice jumps with epsilon0, so that the bound is not monotone in epsilon0 unless
            ``size`` is given.

    >>> SubsetSelection(epsilon0=1.0, domain_size=10).subset_size
    3
    """

    name: ClassVar[str] = "subset"
    example: ClassVar[str | None] = "subset(epsilon0=1.0, domain_size=10)"

    epsilon0: float
    domain_size: int
    size: int | None = None

    def __post_init__(self) -> None:
        """Check the parameters."""
        super().__post_init__()
        object.__setattr__(self, "domain_size", check_size("domain_size", self.domain_size))
        if self.size is not None:
            size = check_integer("size", self.size, 1, self.domain_size - 1)
            object.__setattr__(self, "size", size)

    @property
    def monotone(self) -> bool:
        """False if the size of a report follows epsilon0: it jumps, and the bound with it."""
        return self.size is not None

    @property
    def subset_size(self) -> int:
        """``size`` or its default."""
        if self.size is not None:
            return self.size
        best = nearest_share(self.domain_size, self.epsilon0)
        return min(max(best, 1), self.domain_size - 1)

    @property
    def inputs(self) -> int:
        """D."""
        return self.domain_size

    @property
    def triples_look_alike(self) -> bool:
        """True."""
        return True

    @property
    def blanket_shape(self) -> Hashable:
        """All levels share the uniform law on subsets of one size."""
        # Exactly this class: one derived from it may state another law.
        if type(self) is not SubsetSelection:
            return self
        return ("subset", self.domain_size, self.subset_size)

    def support_mass(self, supported: int, named: int) -> arb:
        r"""Return :math:`\binom{D-t}{\omega-m}` over the sum of all weights."""
        size, rest = self.subset_size, self.domain_size - self.subset_size
        share = arb(self.domain_size)
        for i in range(supported):
            share *= arb(max(size - i, 0)) / (self.domain_size - i)
        for i in range(named - supported):
            share *= arb(max(rest - i, 0)) / (self.domain_size - supported - i)
        return share / (self.ratio * size + rest)

    @property
    def full_support_mass(self) -> arb:
        """0: every subset misses somebody."""
        return arb(0)

    @property
    def is_packed(self) -> bool:
        """Whether one bit per value takes no more room than a list of the members."""
        listed = self.subset_size * unsigned(self.domain_size).itemsize
        return 8 * listed >= self.domain_size

    @property
    def report_dtype(self) -> np.dtype[Any]:
        """One bit per value or the sorted members, whichever is shorter."""
        if self.is_packed:
            return packed_bits(self.domain_size)
        return blob(self.subset_size * unsigned(self.domain_size).itemsize)

    @property
    def truth_probability(self) -> Probability:
        r""":math:`1/(1+\frac{D-\omega}{\omega}e^{-\varepsilon_0})`: the report holds the value."""
        rest = Fraction(self.domain_size - self.subset_size, self.subset_size)
        return Logistic(-Fraction(self.epsilon0), rest)

    def draw(self, values: Values, bits: Bits) -> NDArray[Any]:
        """Decide whether the subset holds the value; the other members are uniform."""
        inputs = np.asarray(values)
        held = decide(bits, self.truth_probability, inputs.size)
        choose = packed_subsets if self.is_packed else listed_subsets
        rows = choose(bits, inputs, held, self.domain_size, self.subset_size)
        return rows.view(self.report_dtype).ravel()

    def draw_dummies(self, count: int, bits: Bits) -> NDArray[Any]:
        """Return any subset, all alike: reports of uniform inputs."""
        if type(self) is not SubsetSelection:
            return super().draw_dummies(count, bits)
        return self.draw(below(bits, self.domain_size, count).astype(np.int64), bits)

    def supports(self, reports: NDArray[Any], value: int) -> NDArray[np.bool_]:
        """Return which reports hold the value."""
        if self.is_packed:
            return get_bit(as_bytes(reports), value)
        held: NDArray[np.bool_] = (self._members(reports) == value).any(axis=1)
        return held

    def _refuse(self, wrong: NDArray[np.bool_], what: str) -> None:
        if wrong.any():
            place = int(np.argmax(wrong))
            raise ValueError(f"reports of {self} must hold {what}, got another at position {place}")

    def _members(self, reports: NDArray[Any]) -> NDArray[Any]:
        """Return the members of listed subsets, one row per report."""
        return as_bytes(reports).view(unsigned(self.domain_size))

    def count_support(self, reports: NDArray[Any], candidates: IntArray | None) -> IntArray:
        """Count in how many reports each value is a member.

        Raises:
            ValueError: if a report is no set of so many values: some have more say than others.
        """
        size, rows = self.subset_size, as_bytes(reports)
        if not self.is_packed:
            members = self._members(reports)
            repeated = np.any(members[:, 1:] <= members[:, :-1], axis=1)
            self._refuse(np.asarray(repeated), f"{size} different values in order")
            return count_values(members.ravel(), self.domain_size, candidates)
        check_packed(reports, self.domain_size)
        self._refuse(ones_of(rows) != size, f"{size} different values")
        counts = count_ones(reports, self.domain_size)
        return counts if candidates is None else counts[candidates]
