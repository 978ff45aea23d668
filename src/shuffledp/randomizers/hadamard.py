"""Hadamard response."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from shuffledp.randomizers.base import Input, Pair
from shuffledp.randomizers.support import SupportRandomizer


@dataclass(frozen=True)
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

    def support_mass(self, supported: int, named: int) -> float:
        r"""Return :math:`2^{1-t}/(E+1)`: every pattern over independent inputs is as likely."""
        return 2.0 ** (1 - named) / (math.exp(self.epsilon0) + 1)

    @property
    def full_support_mass(self) -> float:
        r""":math:`2/(N(E+1))`: the output 0."""
        return 0.0 if self.outputs is None else 2 / self.outputs / (math.exp(self.epsilon0) + 1)

    def partial_support_mass(self, named: int) -> float:
        r"""Return :math:`(2^{1-m}-2/N)/(E+1)`."""
        share = 1.0 if self.outputs is None else 1 - 2**named / self.outputs
        return share * self.support_mass(named, named)

    def common_inputs(self, pair: Pair) -> Sequence[Input]:
        """Return 0 to 3: codeword 3 is the sum of codewords 1 and 2, codeword 4 is independent."""
        return tuple(x for x in range(4) if self.accepts(x))

    def _patterns(self, named: tuple[Input, ...]) -> dict[tuple[int, ...], float]:
        """Return masses of support patterns; a third codeword may be the sum of two others."""
        patterns = super()._patterns(named)
        words = [int(x) + 1 for x in named if isinstance(x, int)]
        if len(words) == 3 and words[0] ^ words[1] == words[2]:
            # An output supports the sum iff it supports both or none: an odd number in all.
            return {supports: 2 * mass * (sum(supports) % 2) for supports, mass in patterns.items()}
        return patterns
