"""Hadamard response."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from flint import arb
from numpy.typing import NDArray

from shuffledp.basics.arrays import IntArray
from shuffledp.mechanisms.aggregate import Aggregate, OnlyMultiset, SameAsMultiset
from shuffledp.mechanisms.base import Values
from shuffledp.mechanisms.input_types import InputTypes, NamedTypes
from shuffledp.mechanisms.pair import Input, Pair
from shuffledp.mechanisms.sampling import Bits, Logistic, Probability, below, decide
from shuffledp.mechanisms.sampling.layout import unsigned
from shuffledp.mechanisms.support.counting import count_values
from shuffledp.mechanisms.support.support import SupportRandomizer

#: Above so many outputs, single candidates are counted one by one.
_MANY_OUTPUTS = 1 << 20


@dataclass(frozen=True, repr=False)
class HadamardResponse(SupportRandomizer):
    r"""Hadamard response (Acharya, Sun and Zhang 2019).

    Value v has the codeword v + 1; outputs are 0..N-1 with N the smallest power of two above the
    largest codeword D. An output y supports a codeword if the bits they share are even in number;
    the N/2 supported outputs have probability :math:`2E/(N(E+1))` each, the others
    :math:`2/(N(E+1))`. Two different codewords are linearly independent over GF(2), so all pairs
    look alike; y = 0 supports everybody.

    Args:
        epsilon0: replace-one LDP level.
        domain_size: number of inputs D; None for the limit, an upper bound for every D.

    >>> HadamardResponse(epsilon0=1.0, domain_size=5).outputs
    8
    """

    name: ClassVar[str] = "hadamard"
    example: ClassVar[str | None] = "hadamard(epsilon0=1.0)"

    epsilon0: float
    domain_size: int | None = None

    @property
    def inputs(self) -> int | None:
        """D."""
        return self.domain_size

    @property
    def outputs(self) -> int | None:
        """Number of outputs N; None in the limit."""
        return None if self.domain_size is None else 1 << self.domain_size.bit_length()

    @property
    def aggregate(self) -> Aggregate:
        """The multiset, if all codewords are inputs: the counts are its Walsh transform."""
        # Exactly this class: one derived from it may state another law.
        if type(self) is not HadamardResponse:
            return OnlyMultiset()
        if self.outputs is None or self.inputs != self.outputs - 1:
            return OnlyMultiset("not all codewords are inputs, so the sum tells less than is known")
        return SameAsMultiset("the counts and n are the Walsh transform of the histogram")

    def support_mass(self, supported: int, named: int) -> arb:
        r"""Return :math:`2^{1-t}/(E+1)`: every pattern over independent inputs is as likely."""
        return arb(2) ** (1 - named) / (self.ratio + 1)

    @property
    def full_support_mass(self) -> arb:
        r""":math:`2/(N(E+1))`: the output 0."""
        return arb(0) if self.outputs is None else arb(2) / self.outputs / (self.ratio + 1)

    def common_inputs(self, pair: Pair) -> Sequence[Input]:
        """Return 0 to 3: codeword 3 is the sum of codewords 1 and 2, codeword 4 is independent."""
        return tuple(x for x in range(4) if self.accepts(x))

    @property
    def covers_unchanged(self) -> bool:
        """Whether there is a third input: any two are independent."""
        return self.inputs is None or self.inputs > 2

    def input_types(self, pair: Pair) -> InputTypes | None:
        """Keep the inputs of the pair and their sum apart; all others are independent of both."""
        first, second = (int(x) + 1 for x in (pair.first, pair.second) if isinstance(x, int))
        named: dict[Input, Hashable] = {pair.first: "first", pair.second: "second"}
        if pair.changes:
            named[(first ^ second) - 1] = "sum"
        return NamedTypes(named, "independent")

    def _patterns(self, named: tuple[Input, ...]) -> dict[tuple[int, ...], arb]:
        """Return masses of support patterns; a third codeword may be the sum of two others."""
        patterns = super()._patterns(named)
        words = [int(x) + 1 for x in named if isinstance(x, int)]
        if len(words) == 3 and words[0] ^ words[1] == words[2]:
            # An output supports the sum iff it supports both or none: an odd number in all.
            return {supports: 2 * mass * (sum(supports) % 2) for supports, mass in patterns.items()}
        return patterns

    @property
    def report_dtype(self) -> np.dtype[Any]:
        """The smallest unsigned integer that holds an output."""
        return unsigned(1 << self.known_inputs().bit_length())

    @property
    def truth_probability(self) -> Probability:
        r""":math:`1/(1+e^{-\varepsilon_0})`: the report supports the input."""
        return Logistic(-Fraction(self.epsilon0))

    def draw(self, values: Values, bits: Bits) -> NDArray[Any]:
        """Draw any output; where it supports the input but should not, or vice versa, flip a bit.

        Flipping the lowest bit of the codeword pairs off supporting and other outputs, so both
        kinds stay uniform.
        """
        dtype = self.report_dtype
        words = (np.asarray(values) + 1).astype(dtype)
        outputs = below(bits, 1 << self.known_inputs().bit_length(), words.size)
        supports = decide(bits, self.truth_probability, words.size)
        wrong = _odd(outputs & words) == supports
        return np.where(wrong, outputs ^ (words & (~words + dtype.type(1))), outputs).astype(dtype)

    def supports(self, reports: NDArray[Any], value: int) -> NDArray[np.bool_]:
        """Return which outputs have an even number of ones in common with the codeword."""
        return ~_odd(reports & reports.dtype.type(value + 1))

    def count_support(self, reports: NDArray[Any], candidates: IntArray | None) -> IntArray:
        """Transform the counts of the outputs: even minus odd is a Walsh-Hadamard coefficient."""
        outputs = 1 << self.known_inputs().bit_length()
        if candidates is None or outputs <= _MANY_OUTPUTS:
            even = (reports.size + _walsh_hadamard(count_values(reports, outputs))) // 2
            return even[1 : self.known_inputs() + 1] if candidates is None else even[candidates + 1]
        return super().count_support(reports, candidates)


def _odd(words: NDArray[Any]) -> NDArray[np.bool_]:
    """Return whether the number of ones of each word is odd."""
    folded = words.copy()
    width = 4 * words.dtype.itemsize
    while width:
        folded ^= folded >> words.dtype.type(width)
        width //= 2
    odd: NDArray[np.bool_] = (folded & words.dtype.type(1)).astype(np.bool_)
    return odd


def _walsh_hadamard(counts: IntArray) -> IntArray:
    """Return sum over y of counts[y] (-1)^(ones of x & y) for every x.

    >>> _walsh_hadamard(np.array([1, 2, 3, 4])).tolist()
    [10, -2, -4, 0]
    """
    width = 1
    while width < counts.size:
        even, odd = counts.reshape(-1, 2, width).swapaxes(0, 1)
        counts = np.stack([even + odd, even - odd], axis=1).ravel()
        width *= 2
    return counts
