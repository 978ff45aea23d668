"""The discrete Laplace (two-sided geometric) mechanism."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any, ClassVar

import numpy as np

from shuffledp.basics.arrays import FloatArray, IntArray
from shuffledp.basics.balls import ball, precision, upper_double
from shuffledp.basics.errors import check_epsilon0, check_integer
from shuffledp.decomposition.decomposition import Component, Decomposition
from shuffledp.mechanisms.aggregate import Aggregate, GeometricSum, OnlyMultiset
from shuffledp.mechanisms.base import SlotLaws, Values
from shuffledp.mechanisms.input_types import InputTypes, NamedTypes
from shuffledp.mechanisms.noise.noise_laws import Place, discrete_laplace_decomposition
from shuffledp.mechanisms.noise.symmetric_noise import SymmetricNoise
from shuffledp.mechanisms.pair import Input, Pair
from shuffledp.mechanisms.sampling import Bits
from shuffledp.mechanisms.sampling.checks import check_integers
from shuffledp.mechanisms.sampling.geometric import two_sided_geometric

#: With more inputs there are too many types of background for the swap bound.
_MAX_SWAPPED = 20

#: With more inputs pairs are not looked at one by one, nor combined with other attributes.
_MAX_COMBINED = 10

#: Slower decay makes noise that does not fit into 64 bits.
_SLOWEST = Fraction(1, 1 << 40)


@dataclass(frozen=True, repr=False)
class DiscreteLaplace(SymmetricNoise):
    r"""Adds two-sided geometric noise to an integer in {0, ..., B}.

    :math:`P(Z=z)=\frac{1-\alpha}{1+\alpha}\alpha^{|z|}` with
    :math:`\alpha=e^{-\varepsilon_0/B}`. Clamping the report to {0, ..., B} changes no bound: all
    outputs beyond an end have the same ratios. Reports are not clamped, so that they stay unbiased;
    the noise is sampled exactly, for the rational number that is epsilon0/B.

    Args:
        epsilon0: replace-one LDP level for inputs B apart.
        bound: the largest input B, at least 1.

    >>> d = DiscreteLaplace(epsilon0=1.0, bound=2)
    >>> d.decomposition(d.neighbours()[0]).size
    3
    """

    name: ClassVar[str] = "discrete_laplace"
    example: ClassVar[str | None] = "discrete_laplace(epsilon0=1.0, bound=4)"

    epsilon0: float
    bound: int

    def __post_init__(self) -> None:
        """Check the parameters."""
        object.__setattr__(self, "epsilon0", check_epsilon0(self.epsilon0))
        object.__setattr__(self, "bound", check_integer("bound", self.bound, 1, 10**9))

    @property
    def largest_input(self) -> int:
        """B."""
        return self.bound

    @property
    def is_interval(self) -> bool:
        """False: inputs are integers."""
        return False

    @property
    def aggregate(self) -> Aggregate:
        """The sum of the values plus that of the noise."""
        # Exactly this class: one derived from it may state another law.
        return (
            GeometricSum(self.epsilon0, self.bound)
            if type(self) is DiscreteLaplace
            else OnlyMultiset()
        )

    def law_at(self, place: Place) -> Decomposition:
        """Return the decomposition into cells."""
        return discrete_laplace_decomposition(Fraction(self.epsilon0) / self.bound, place)

    @property
    def noise_variance(self) -> float:
        r""":math:`2\alpha/(1-\alpha)^2`."""
        return 0.5 / math.sinh(self.epsilon0 / self.bound / 2) ** 2

    @property
    def report_dtype(self) -> np.dtype[Any]:
        """An integer of 64 bits."""
        return np.dtype("<i8")

    def check_values(self, values: object) -> IntArray:
        """Return integers from 0 to B."""
        return check_integers("values", values, self.bound)

    def draw(self, values: Values, bits: Bits) -> IntArray:
        """Add two-sided geometric noise.

        Raises:
            ValueError: if epsilon0/B is below 2**-40, where noise may not fit into 64 bits.
        """
        rate = Fraction(self.epsilon0) / self.bound
        if rate < _SLOWEST:
            raise ValueError(f"epsilon0/bound must be at least 2**-40 to run, got {float(rate)!r}")
        inputs: IntArray = np.asarray(values)
        return inputs + two_sided_geometric(bits, rate, inputs.size)

    def log_density(self, noise: IntArray) -> FloatArray:
        r"""Return :math:`|z|\log\alpha`."""
        return -(self.epsilon0 / self.bound) * np.abs(noise)

    def slot_laws(self, pair: Pair) -> SlotLaws | None:
        """Return the laws of all pairs x < x' and all backgrounds v; reflection gives the rest.

        Few inputs are looked at pair by pair instead. Noise does not depend on the input, so a law
        depends on x' - x and v - x alone. Slot 0 is that of the end points, which dominates the
        others.
        """
        # Exactly this class: one derived from it may state another law.
        if type(self) is not DiscreteLaplace or self._is_combined:
            return super().slot_laws(pair)
        if self.bound > _MAX_SWAPPED or pair not in self.neighbours():
            return None
        types = lattice_types(Fraction(self.epsilon0) / self.bound, self.bound)
        return SlotLaws(self.decomposition(pair), *types)

    @property
    def _is_combined(self) -> bool:
        """Whether all inputs count where it is a part of another mechanism."""
        # Exactly this class: one derived from it may state another law.
        return type(self) is DiscreteLaplace and self.bound <= _MAX_COMBINED

    def accepts(self, other: Input) -> bool:
        """Whether ``other`` is an end point, or any input if they are few."""
        return other in self.input_domain if self._is_combined else super().accepts(other)

    def input_types(self, pair: Pair) -> InputTypes | None:
        """Keep all inputs apart, if they are few."""
        if not self._is_combined:
            return super().input_types(pair)
        return NamedTypes({x: x for x in range(self.bound + 1)})

    def pairs_to_swap(self) -> Sequence[Pair] | None:
        """Return all pairs x < x', if inputs are few: reflection gives the others."""
        if not self._is_combined:
            return super().pairs_to_swap()
        return tuple(Pair(x, y) for x, y in combinations(range(self.bound + 1), 2))

    def changes_to_swap(self) -> Sequence[Pair] | None:
        """Return the same pairs; None if inputs are many."""
        return self.pairs_to_swap() if self._is_combined or self.bound == 1 else None

    def stays_to_swap(self) -> Sequence[Pair]:
        """Return the inputs up to the middle, if they are few."""
        if not self._is_combined:
            return super().stays_to_swap()
        return tuple(Pair(x, x) for x in range(self.bound // 2 + 1))


def lattice_types(
    rate: Fraction, bound: int
) -> tuple[tuple[Decomposition, ...], tuple[float, ...]]:
    r"""Return the types of background, and for each the epsilon at which its pair reveals nothing.

    They are those of all pairs x < x' and all inputs v. Noise does not depend on the input, so a
    law depends on x' - x and v - x alone, and reflection gives the other pairs.

    Args:
        rate: :math:`\kappa`; noise z has a probability proportional to :math:`e^{-\kappa|z|}`.
        bound: inputs are 0, 1, ... up to this.

    >>> types, levels = lattice_types(Fraction(1, 2), 2)
    >>> len(types), sorted(set(levels))
    (7, [0.5, 1.0])
    """
    pairs = [(d, v) for d in range(1, bound + 1) for v in range(d - bound, bound + 1)]
    with precision():
        types = tuple(_decompose(rate, distance, holder) for distance, holder in pairs)
        return types, tuple(upper_double(ball(rate * distance)) for distance, _ in pairs)


def _decompose(rate: Fraction, distance: int, holder: int) -> Decomposition:
    """Return the decomposition with c = R(holder) for the pair of 0 and ``distance``.

    All outputs beyond all three inputs have the same ratios as the outermost input.
    """
    kappa = ball(rate)
    share = 1 / (1 + (-kappa).exp())
    lowest, highest = min(0, holder), max(distance, holder)
    components = []
    for output in range(lowest, highest + 1):
        far = abs(output - holder)
        first, second = (rate * (far - abs(output - x)) for x in (0, distance))
        log0 = ball(first)
        log1 = log0 if first == second else ball(second)
        mass = share * (-kappa * far).exp()
        if lowest < output < highest:
            mass = -mass * (-kappa).expm1()
        components.append(Component(log0, log1, mass))
    return Decomposition(tuple(components), ball(0))
