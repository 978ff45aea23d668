"""The Gaussian mechanism as a local randomizer."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from shuffledp.basics.arrays import FloatArray, IntArray
from shuffledp.basics.errors import check_positive
from shuffledp.decomposition import Decomposition
from shuffledp.mechanisms.aggregate import Aggregate, NormalSum, OnlyMultiset
from shuffledp.mechanisms.base import SlotLaws
from shuffledp.mechanisms.noise.continuous_noise import ContinuousNoise
from shuffledp.mechanisms.noise.noise_laws import Place, normal_decomposition
from shuffledp.mechanisms.noise.normal_types import normal_types
from shuffledp.mechanisms.pair import Pair
from shuffledp.mechanisms.sampling import Bits
from shuffledp.mechanisms.sampling.checks import check_reals
from shuffledp.mechanisms.sampling.rounded_noise import rounded_normal

_MIN_SIGMA, _MAX_SIGMA = 0.3, 1e6  # of values in [0, 1]


@dataclass(frozen=True, repr=False)
class Gaussian(ContinuousNoise):
    r"""Adds normal noise of standard deviation sigma to a value in [0, 1].

    At distance s from 1/2 on the side of 0, :math:`\log R(0)/R(1)=s/\sigma^2`, which is
    unbounded: the mechanism is not pure LDP. Outputs beyond 37 sigma of the far input are given to
    the adversary. Below sigma of about 0.7, with few users and a small delta, single large ratios
    rule; answers then take longer, and where enclosures are wide they say so.

    Reports are rounded to a grid, and drawn exactly, see :class:`shuffledp.ContinuousNoise`.

    Args:
        sigma: standard deviation, between 0.3 and 1e6 times the length of the domain.
        grid: how many steps of the grid lie between 0 and 1, a power of two; None for the least
            one with at least 2**16 steps to sigma.

    >>> Gaussian(sigma=1.0).epsilon0
    inf
    """

    name: ClassVar[str] = "gaussian"
    example: ClassVar[str | None] = "gaussian(sigma=1.0)"

    sigma: float
    grid: int | None = None

    def __post_init__(self) -> None:
        """Check the parameter."""
        sigma = check_positive("sigma", self.sigma)
        if not _MIN_SIGMA <= sigma <= _MAX_SIGMA:
            raise ValueError(
                f"sigma must be between {_MIN_SIGMA:g} and {_MAX_SIGMA:g}, got {self.sigma!r}"
            )
        object.__setattr__(self, "sigma", sigma)
        object.__setattr__(self, "grid", self.check_grid())

    @property
    def epsilon0(self) -> float:
        """Infinity: no pure LDP level."""
        return math.inf

    @property
    def largest_input(self) -> int:
        """1."""
        return 1

    @property
    def is_interval(self) -> bool:
        """True."""
        return True

    @property
    def aggregate(self) -> Aggregate:
        """The sum of the values plus that of the noise."""
        # Exactly this class: one derived from it may state another law.
        return NormalSum(self.sigma) if type(self) is Gaussian else OnlyMultiset()

    def slot_laws(self, pair: Pair) -> SlotLaws | None:
        """Return what stands for all pairs and inputs, at the end points."""
        # Exactly this class: one derived from it may state another law.
        if type(self) is not Gaussian or pair not in self.neighbours():
            return super().slot_laws(pair)
        return normal_types(Fraction(self.sigma))

    def law_at(self, place: Place) -> Decomposition:
        """Return the decomposition into cells."""
        return normal_decomposition(Fraction(self.sigma), place)

    @property
    def noise_variance(self) -> float:
        """Sigma squared."""
        return self.sigma**2

    @property
    def scale(self) -> Fraction:
        """Sigma."""
        return Fraction(self.sigma)

    def check_values(self, values: object) -> FloatArray:
        """Return numbers from 0 to 1."""
        return check_reals("values", values)

    def draw_rounded(self, places: FloatArray, bits: Bits) -> IntArray:
        """Return the integers nearest to reports."""
        return rounded_normal(bits, places, self.scale * self.steps)

    def log_density(self, noise: FloatArray) -> FloatArray:
        r"""Return :math:`-z^2/(2\sigma^2)`."""
        return -np.square(noise / self.sigma) / 2
