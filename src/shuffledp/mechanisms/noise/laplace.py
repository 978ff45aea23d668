"""The Laplace mechanism."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Literal

import numpy as np

from shuffledp.basics.arrays import FloatArray, IntArray
from shuffledp.basics.errors import check_epsilon0
from shuffledp.decomposition import Decomposition
from shuffledp.mechanisms.aggregate import Aggregate, LaplaceSum, OnlyMultiset
from shuffledp.mechanisms.base import SlotLaws
from shuffledp.mechanisms.noise.continuous_noise import ContinuousNoise
from shuffledp.mechanisms.noise.interval_types import interval_types
from shuffledp.mechanisms.noise.noise_laws import Place, laplace_decomposition
from shuffledp.mechanisms.pair import Pair
from shuffledp.mechanisms.sampling import Bits
from shuffledp.mechanisms.sampling.checks import check_reals
from shuffledp.mechanisms.sampling.rounded_noise import rounded_laplace

_DOMAINS = ("binary", "interval")


@dataclass(frozen=True, repr=False)
class Laplace(ContinuousNoise):
    r"""Adds Laplace noise of scale :math:`1/\varepsilon_0` to a value in {0, 1} or [0, 1].

    On the half near 0 let :math:`u=R(0)/R(1)=v^2` run from 1 to :math:`e^{\varepsilon_0}`. Between
    :math:`v_1` and :math:`v_2` the mass under R(1) is
    :math:`\frac12e^{-\varepsilon_0/2}(1/v_1-1/v_2)` and under R(0)
    :math:`\frac12e^{-\varepsilon_0/2}(v_2-v_1)`, so the mean ratio is :math:`v_1v_2`. Outputs below
    0 form an atom at :math:`e^{\varepsilon_0}` of masses :math:`\frac12e^{-\varepsilon_0}` and
    :math:`\frac12`.

    Reports are rounded to a grid, and drawn exactly, see :class:`shuffledp.ContinuousNoise`.

    An exponential variable is a geometric one plus an independent fraction. So in steps of the grid
    Z = D + V with two-sided geometric noise D and an independent V in (-1, 1), and the report of X
    is D plus the integer nearest to X + V. For any V these integers of two inputs differ by at most
    m. Therefore the sum of the reports reveals no more than that of ``discrete_laplace`` with the
    bound m.

    Args:
        epsilon0: replace-one LDP level.
        domain: "binary" for inputs {0, 1}, "interval" for [0, 1]. The blanket bounds are the same:
            the pair (0, 1) is the worst one of the interval, and its blanket is that of the end
            points.
        grid: how many steps of the grid lie between 0 and 1, a power of two; None for the least
            one with at least 2**16 steps to the scale of the noise.

    >>> str(Laplace(epsilon0=1.0)), str(Laplace(epsilon0=1.0, domain="interval"))
    ('laplace(epsilon0=1.0)', "laplace(epsilon0=1.0, domain='interval')")
    """

    name: ClassVar[str] = "laplace"
    example: ClassVar[str | None] = "laplace(epsilon0=1.0)"

    epsilon0: float
    domain: Literal["binary", "interval"] = "binary"
    grid: int | None = None

    def __post_init__(self) -> None:
        """Check the parameters."""
        object.__setattr__(self, "epsilon0", check_epsilon0(self.epsilon0))
        if self.domain not in _DOMAINS:
            raise ValueError(f"domain must be one of {', '.join(_DOMAINS)}, got {self.domain!r}")
        object.__setattr__(self, "domain", str(self.domain))
        object.__setattr__(self, "grid", self.check_grid())

    @property
    def largest_input(self) -> int:
        """1."""
        return 1

    @property
    def is_interval(self) -> bool:
        """Whether the domain says so."""
        return self.domain == "interval"

    @property
    def aggregate(self) -> Aggregate:
        """The sum of the values plus that of the noise."""
        # Exactly this class: one derived from it may state another law.
        return LaplaceSum(self.epsilon0, self.steps) if type(self) is Laplace else OnlyMultiset()

    def law_at(self, place: Place) -> Decomposition:
        """Return the decomposition into cells."""
        return laplace_decomposition(Fraction(self.epsilon0), place)

    @property
    def noise_variance(self) -> float:
        r""":math:`2/\varepsilon_0^2`."""
        return 2 / self.epsilon0**2

    @property
    def scale(self) -> Fraction:
        r""":math:`1/\varepsilon_0`."""
        return 1 / Fraction(self.epsilon0)

    def check_values(self, values: object) -> FloatArray:
        """Return numbers of the domain."""
        numbers = check_reals("values", values)
        inside = (numbers > 0) & (numbers < 1)
        if self.domain == "binary" and inside.any():
            position = int(np.argmax(inside))
            raise ValueError(
                f"values must be 0 or 1, got {numbers[position]} at position {position}; "
                'domain="interval" takes numbers in between'
            )
        return numbers

    def draw_rounded(self, places: FloatArray, bits: Bits) -> IntArray:
        """Return the integers nearest to reports."""
        return rounded_laplace(bits, places, Fraction(self.epsilon0) / self.steps)

    def log_density(self, noise: FloatArray) -> FloatArray:
        r"""Return :math:`-\varepsilon_0|z|`."""
        return -self.epsilon0 * np.abs(noise)

    def slot_laws(self, pair: Pair) -> SlotLaws | None:
        """Return the end points, or what stands for all pairs and inputs of the interval."""
        # Exactly this class: one derived from it may state another law.
        if type(self) is not Laplace:
            return super().slot_laws(pair)
        if self.is_interval:
            types = interval_types(self.epsilon0) if pair in self.neighbours() else None
            return None if types is None else SlotLaws(self.decomposition(pair), *types)
        blanket, *backgrounds = (self.decomposition(pair, v) for v in (None, 0, 1))
        return SlotLaws(blanket, tuple(backgrounds))
