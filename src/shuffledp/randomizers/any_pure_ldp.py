"""Any randomizer of a given LDP level."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from shuffledp.arrays import UNIT
from shuffledp.decomposition import Decomposition
from shuffledp.errors import check_epsilon0
from shuffledp.interval import exp_down
from shuffledp.randomizers.base import LocalRandomizer, SlotLaws, Values
from shuffledp.randomizers.domain import Domain, Integers
from shuffledp.randomizers.krr import KRR
from shuffledp.randomizers.pair import Input, Pair


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

    def blanket(self, pair: Pair) -> Decomposition:
        """Return the blanket of binary randomized response."""
        return KRR(k=2, epsilon0=self.epsilon0).blanket(pair)

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
        r"""Return the five types that stand for all mechanisms of this level.

        With :math:`c=(R(x_1)+R(x_1'))/(2E)` the ratios of slot 0 add up to 2E, each is between
        :math:`2E/(E+1)` and E times that, and has the mean E: half of the mass is spread to either
        end. The ratios (a, b) of any other slot lie in
        the hexagon :math:`1/E\le a,b,a/b\le E` and have the mean (1, 1). They are spread to its
        corners, and a law on the corners with that mean is a mixture of five: on the three
        diagonals, and on the two triangles of every second corner.
        """
        level, small = self.epsilon0, math.exp(-self.epsilon0)
        types = (
            {(level, 0.0): small, (-level, 0.0): 1.0},
            {(0.0, level): small, (0.0, -level): 1.0},
            {(level, level): small, (-level, -level): 1.0},
            {(level, 0.0): small, (0.0, level): small, (-level, -level): 1.0},
            {(level, level): small, (-level, 0.0): 1.0, (0.0, -level): 1.0},
        )
        low = math.log(2) - math.log1p(small)
        first = {(level + low, low): 0.5, (low, level + low): 0.5}
        blanket = _atoms(first, mass=small, residual=-math.expm1(-level), units=8 * (1 + level))
        return SlotLaws(blanket, tuple(map(_atoms, types)))

    def accepts(self, other: Input) -> bool:
        """Whether ``other`` is one of these."""
        return other in (0, 1, 2)

    def background(self, pair: Pair, other: Input) -> Decomposition:
        """Return what binary (others hold 0 or 1) or ternary (2) randomized response reveals."""
        k = 3 if other == 2 else 2
        return KRR(k=k, epsilon0=self.epsilon0).background(pair, other)


def _atoms(
    shares: Mapping[tuple[float, float], float],
    mass: float = 1.0,
    residual: float = 0.0,
    units: float = 0.0,
) -> Decomposition:
    """Return a decomposition into atoms with given log ratios, whose weights sum to ``mass``.

    ``units`` bounds the error of the log ratios, in units round-off.
    """
    weights = np.array(list(shares.values()))
    log0, log1 = np.array(list(shares)).T
    return Decomposition(
        log_ratio0=log0,
        log_ratio1=log1,
        weight=weights * (mass / weights.sum()),
        residual=residual,
        log_ratio_error=np.array(units * UNIT),
        weight_error=np.array(16 * UNIT),  # two exponentials, a sum, a quotient, a product
        residual_error=4 * UNIT,
    )
