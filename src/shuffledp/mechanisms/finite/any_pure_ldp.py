"""Any randomizer of a given LDP level."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from flint import arb

from shuffledp.basics.balls import ball, precision, total
from shuffledp.basics.errors import check_epsilon0
from shuffledp.basics.interval import exp_down
from shuffledp.decomposition.decomposition import Component, Decomposition
from shuffledp.mechanisms.base import LocalRandomizer, SlotLaws, Values
from shuffledp.mechanisms.domain import Domain, Integers
from shuffledp.mechanisms.pair import Input, Pair
from shuffledp.mechanisms.support.krr import KRR


@dataclass(frozen=True, repr=False)
class AnyPureLDP(LocalRandomizer):
    r"""The generic bound: valid for every epsilon0-LDP randomizer that is fixed in advance.

    With ``bound="blanket"`` it is also valid if users answer one after the other, in random order,
    and each randomizer may depend on earlier reports; for the swap bound that is not proved, nor if
    reports are learned adaptively.

    The GPARV of any epsilon0-LDP randomizer is dominated in convex order by that of binary
    randomized response, for :math:`|\varepsilon|\le\varepsilon_0`, and beyond that range both
    bounds are trivial; so binary randomized response gives the best blanket bound that depends on
    epsilon0 alone. It is never above the standard clone (Feldman, McMillan and Talwar 2021).

    The lower bound is what the worst of binary and ternary randomized response reveals (ternary if
    the others hold 2): no analysis that knows epsilon0 alone can claim less.

    Args:
        epsilon0: LDP level of the randomizer over *all* pairs of inputs. A level that holds only
            for some neighbours, as in ``joint(..., at_most=1)``, is not enough, because the other
            users may hold anything.

    >>> str(AnyPureLDP(epsilon0=1.0))
    'any_pure_ldp(epsilon0=1.0)'
    """

    name: ClassVar[str] = "any_pure_ldp"
    example: ClassVar[str | None] = "any_pure_ldp(epsilon0=1.0)"

    epsilon0: float

    def __post_init__(self) -> None:
        """Check the parameter."""
        object.__setattr__(self, "epsilon0", check_epsilon0(self.epsilon0))

    @property
    def input_domain(self) -> Domain:
        """Integers: it stands for mechanisms on any domain."""
        return Integers(None)

    @property
    def has_worst_pair(self) -> bool:
        """True: it stands for all pairs of all mechanisms of the level."""
        return True

    def neighbours(self) -> Sequence[Pair]:
        """Return one pair, standing for all."""
        return (Pair(0, 1),)

    @property
    def is_composable(self) -> bool:
        """False: the order that proves the bound holds only up to epsilon = epsilon0."""
        return False

    def unchanged(self) -> Sequence[Pair]:
        """Return one pair, standing for all."""
        return (Pair(0, 0),)

    @property
    def report_dtype(self) -> np.dtype[Any]:
        """None: it stands for all mechanisms of its level.

        Raises:
            TypeError: always.
        """
        raise TypeError(self._cannot_run())

    def check_values(self, values: object) -> Values:
        """Refuse to run, as ``report_dtype`` does."""
        raise TypeError(self._cannot_run())

    def _cannot_run(self) -> str:
        return f"{self} stands for many mechanisms and cannot run; give one of them, such as krr"

    def decomposition(self, pair: Pair, other: Input | None = None) -> Decomposition:
        """Return that of binary randomized response, or of ternary if others hold 2."""
        k = 3 if other == 2 else 2
        return KRR(k=k, epsilon0=self.epsilon0).decomposition(pair, other)

    @property
    def least_blanket_mass(self) -> float | None:
        r""":math:`1/E`, less than that of binary randomized response.

        All :math:`R(x)\le Ec`, so that :math:`1\le E\sum c`; subsets of all values but one come
        near it.
        """
        return exp_down(-self.epsilon0)

    def common_inputs(self, pair: Pair) -> Sequence[Input]:
        """Return the inputs of ternary randomized response; without 2 it is the binary one."""
        return (0, 1, 2)

    def slot_laws(self, pair: Pair) -> SlotLaws | None:
        """Return the five types that stand for all mechanisms of this level."""
        return SlotLaws(*ldp_types(self.epsilon0))

    def accepts(self, other: Input) -> bool:
        """Whether ``other`` is one of these."""
        return other in (0, 1, 2)


def ldp_types(epsilon0: float) -> tuple[Decomposition, tuple[Decomposition, ...]]:
    r"""Return the law of slot 0, and five types of background that stand for all of this level.

    With :math:`c=(R(x_1)+R(x_1'))/(2E)` the ratios of slot 0 add up to 2E, each is between
    :math:`2E/(E+1)` and E times that, and has the mean E: half of the mass is spread to either end.
    The ratios (a, b) of any other slot lie in the hexagon :math:`1/E\le a,b,a/b\le E` and have the
    mean (1, 1). They are spread to its corners, and a law on the corners with that mean is a
    mixture of five: on the three diagonals, and on the two triangles of every second corner.

    >>> blanket, types = ldp_types(1.0)
    >>> round(float(blanket.mass), 6), [round(float(x.mass), 6) for x in types]
    (0.367879, [1.0, 1.0, 1.0, 1.0, 1.0])
    """
    with precision():
        level, zero, one = ball(epsilon0), arb(0), arb(1)
        small, minus = (-level).exp(), -level
        types = (
            _law([(level, zero, small), (minus, zero, one)]),
            _law([(zero, level, small), (zero, minus, one)]),
            _law([(level, level, small), (minus, minus, one)]),
            _law([(level, zero, small), (zero, level, small), (minus, minus, one)]),
            _law([(level, level, small), (minus, zero, one), (zero, minus, one)]),
        )
        low = (2 / (1 + small)).log()
        corners = [(level + low, low), (low, level + low)]
        first = tuple(Component(*corner, small / 2) for corner in corners)
        return Decomposition(first, 1 - small), types


def _law(corners: Sequence[tuple[arb, arb, arb]]) -> Decomposition:
    """Return the law on corners with these logarithms and relative weights."""
    whole = total(weight for _, _, weight in corners)
    return Decomposition(
        tuple(Component(log0, log1, weight / whole) for log0, log1, weight in corners), arb(0)
    )
