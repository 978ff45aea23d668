"""Local hashing: hash the value into few buckets, then randomized response."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from shuffledp.errors import check_size
from shuffledp.randomizers.support import SupportRandomizer


class _LocalHash(SupportRandomizer):
    """Hash uniformly into g buckets and report the hash function and a g-RR of the bucket."""

    epsilon0: float
    domain_size: int | None

    @property
    @abstractmethod
    def hash_buckets(self) -> int:
        """Number of buckets g."""

    @property
    def inputs(self) -> int | None:
        """Size of the hashed domain."""
        return self.domain_size

    def support_mass(self, supported: int, named: int) -> float:
        r"""Return :math:`\frac{g}{E+g-1}\,g^{-m}(1-1/g)^{t-m}`: hash values are independent."""
        g = self.hash_buckets
        hit = (1 / g) ** supported * ((g - 1) / g) ** (named - supported)
        return hit * g / (math.exp(self.epsilon0) + (g - 1))

    @property
    def full_support_mass(self) -> float:
        r""":math:`g^{1-D}/(E+g-1)`: the constant functions."""
        if self.domain_size is None:
            return 0.0
        g = self.hash_buckets
        return float(g) ** (1 - self.domain_size) / (math.exp(self.epsilon0) + (g - 1))

    def partial_support_mass(self, named: int) -> float:
        r"""Return :math:`\frac{g}{E+g-1}(g^{-m}-g^{-D})`."""
        mass = self.support_mass(named, named)
        if self.domain_size is None:
            return mass
        return -mass * math.expm1((named - self.domain_size) * math.log(self.hash_buckets))


@dataclass(frozen=True)
class BinaryLocalHash(_LocalHash):
    r"""Binary local hashing (Bassily and Smith 2015; Wang et al. 2017).

    Args:
        epsilon0: replace-one LDP level.
        domain_size: size D of the input domain; None for the limit, which is an upper bound for
            every D.

    >>> str(BinaryLocalHash(epsilon0=1.0))
    'blh(epsilon0=1.0)'
    """

    name: ClassVar[str] = "blh"

    epsilon0: float
    domain_size: int | None = None

    @property
    def hash_buckets(self) -> int:
        """2."""
        return 2


@dataclass(frozen=True)
class LocalHash(_LocalHash):
    r"""Local hashing into g buckets (OLH; Wang, Blocki, Li and Jha 2017).

    Args:
        epsilon0: replace-one LDP level.
        buckets: number of buckets g, at least 2; None chooses
            :math:`\mathrm{round}(e^{\varepsilon_0})+1`, the value of least variance. The choice
            jumps with epsilon0, so that the bound is not monotone in epsilon0 unless ``buckets`` is
            given.
        domain_size: size D of the input domain; None for the limit, an upper bound for every D.

    >>> str(LocalHash(epsilon0=1.0, buckets=4))
    'olh(epsilon0=1.0, buckets=4)'
    """

    name: ClassVar[str] = "olh"

    epsilon0: float
    buckets: int | None = None
    domain_size: int | None = None

    def __post_init__(self) -> None:
        """Check the parameters."""
        super().__post_init__()
        if self.buckets is not None:
            object.__setattr__(self, "buckets", check_size("buckets", self.buckets))

    @property
    def monotone(self) -> bool:
        """False if the number of buckets follows epsilon0: it jumps, and the bound with it."""
        return self.buckets is not None

    @property
    def hash_buckets(self) -> int:
        """``buckets`` or its default."""
        return self.buckets if self.buckets is not None else round(math.exp(self.epsilon0)) + 1
