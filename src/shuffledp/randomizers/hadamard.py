"""Hadamard response."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from shuffledp.decomposition import Decomposition
from shuffledp.errors import check_epsilon0
from shuffledp.randomizers.base import Background, Pair
from shuffledp.randomizers.support import SupportRandomizer, check_domain_size


@dataclass(frozen=True)
class HadamardResponse(SupportRandomizer):
    r"""Hadamard response (Acharya, Sun and Zhang 2019).

    Inputs are 1..D, outputs 0..N-1 with N the smallest power of two above D. An output y supports
    x if the bits they share are even in number; the N/2 supported outputs have probability
    :math:`2E/(N(E+1))` each, the others :math:`2/(N(E+1))`. Two different inputs are linearly
    independent over GF(2), so all pairs look alike; y = 0 supports everybody.

    Args:
        epsilon0: replace-one LDP level.
        domain_size: number of inputs D; None for the limit, an upper bound for every D.

    >>> HadamardResponse(epsilon0=1.0, domain_size=5).outputs
    8
    """

    name: ClassVar[str] = "hadamard"

    epsilon0: float
    domain_size: int | None = None

    def __post_init__(self) -> None:
        """Check the parameters."""
        object.__setattr__(self, "epsilon0", check_epsilon0(self.epsilon0))
        object.__setattr__(self, "domain_size", check_domain_size(self.domain_size))

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

    def neighbours(self) -> tuple[Pair]:
        """Return one pair: all look alike."""
        return (Pair(1, 2),)

    def backgrounds(self, pair: Pair) -> Iterator[Background]:
        """Yield the others holding 1, 2, 3 = 1 xor 2, and 4, which is independent of both."""
        for holder in (0, 1):
            yield Background(f"all others hold {holder + 1}", self._background(2, holder))
        if self.inputs is None or self.inputs > 2:
            yield Background("all others hold 3", self._dependent_background())
        if self.inputs is None or self.inputs > 3:
            yield Background("all others hold 4", self._background(3, holder=2))

    def _dependent_background(self) -> Decomposition:
        """Decompose with c = R(3): an output supports 3 = 1 xor 2 iff it supports both or none."""
        level, mass = self.epsilon0, self.support_mass(0, 2)
        components = [
            (
                level * (first - (first == second)),
                level * (second - (first == second)),
                mass * math.exp(level * (first == second)),
            )
            for first in (0, 1)
            for second in (0, 1)
        ]
        return self._decomposition(components, 0.0)
