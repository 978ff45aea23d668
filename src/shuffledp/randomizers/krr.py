"""k-ary randomized response."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from shuffledp.errors import check_size
from shuffledp.randomizers.support import SupportRandomizer


@dataclass(frozen=True)
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

    def support_mass(self, supported: int, named: int) -> float:
        """Return 1/(E+k-1) per output: one supports a named input, k - named support none."""
        outputs = (self.k - named, 1, 0, 0)[supported]
        return outputs / (math.exp(self.epsilon0) + (self.k - 1))

    @property
    def full_support_mass(self) -> float:
        """0: no output supports two inputs."""
        return 0.0

    def partial_support_mass(self, named: int) -> float:
        """Return the mass of the one output that supports an input; none supports two."""
        return self.support_mass(named, named)
