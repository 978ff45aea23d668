r"""What the engine encloses: :math:`E f(S)`, S a sum of independent summands of finite laws."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
from flint import arb

from shuffledp.basics.arrays import FloatArray
from shuffledp.basics.balls import total


class Atom(NamedTuple):
    """A value and its probability."""

    value: arb
    mass: arb


@dataclass(frozen=True, eq=False)
class Law:
    """A probability law on finitely many values, or a part of one: masses may sum to less than 1.

    >>> coin = Law.of([(arb(1), arb(0.5)), (arb(-1), arb(0.5))])
    >>> coin.values.tolist(), coin.mean == 0
    ([1.0, -1.0], True)
    """

    atoms: tuple[Atom, ...]

    @classmethod
    def of(cls, atoms: Iterable[tuple[arb, arb]]) -> Law:
        """Return the law with these values and masses; masses that are exactly 0 are left out."""
        return cls(tuple(Atom(*atom) for atom in atoms if not atom[1].is_zero()))

    @cached_property
    def values(self) -> FloatArray:
        """The values as doubles, for proposals."""
        return np.array([float(atom.value) for atom in self.atoms])

    @cached_property
    def masses(self) -> FloatArray:
        """The masses as doubles, for proposals."""
        return np.array([float(atom.mass) for atom in self.atoms])

    @cached_property
    def mean(self) -> arb:
        """The mean."""
        return total(atom.value * atom.mass for atom in self.atoms)

    @cached_property
    def mass_at_zero(self) -> arb:
        """The mass of the values that are exactly 0."""
        return total(atom.mass for atom in self.atoms if atom.value.is_zero())


class Block(NamedTuple):
    """``times`` independent copies of a law."""

    law: Law
    times: int


@dataclass(frozen=True, eq=False)
class Sum:
    r"""The mean :math:`E f_c(S)`, S a sum of blocks less an ``offset``.

    The kernel :math:`f_c(x)=(1-e^{-cx})_+/c` is :math:`x_+` for c = 0, one round of shuffled
    reports, and the hockey stick for c = 1: :math:`E f_1(L-\varepsilon)` is the divergence of two
    laws with privacy loss L. Its Laplace transform is :math:`1/(z(z+c))`.
    """

    blocks: tuple[Block, ...]
    offset: arb = field(default_factory=arb)
    curvature: int = 0

    def __post_init__(self) -> None:
        """Refuse sums of nothing, and kernels that nobody needs."""
        if not self.blocks or min(block.times for block in self.blocks) < 1:
            times = [block.times for block in self.blocks]
            raise ValueError(f"a sum needs blocks of at least one copy each, got {times}")
        if self.curvature not in (0, 1):
            raise ValueError(f"curvature must be 0 or 1, got {self.curvature!r}")

    @classmethod
    def of(cls, law: Law, times: int) -> Sum:
        """Return the sum of copies of one law, under :math:`x_+`."""
        return cls((Block(law, times),))

    @property
    def laws(self) -> Sequence[Law]:
        """The law of each block."""
        return [block.law for block in self.blocks]

    @property
    def times(self) -> Sequence[int]:
        """The number of copies in each block."""
        return [block.times for block in self.blocks]

    def kernel(self, x: arb) -> arb:
        """Return f_c(x)."""
        if x <= 0:
            return arb(0)
        positive = x if x >= 0 else arb(0).union(x.upper())
        return positive if self.curvature == 0 else -(-positive).expm1()

    def peak(self, s: arb) -> arb:
        r"""Return the largest :math:`f_c(x)e^{-sx}`: :math:`1/(es)`, or :math:`s^s(1+s)^{-s-1}`."""
        if self.curvature == 0:
            return 1 / (s * arb(1).exp())
        return (s / (s + 1)) ** s / (s + 1)
