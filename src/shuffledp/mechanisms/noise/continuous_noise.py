"""Noise with a density, in reports that are rounded to a grid."""

from __future__ import annotations

import math
from abc import abstractmethod
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from shuffledp.basics.arrays import FloatArray, IntArray
from shuffledp.basics.errors import check_integer
from shuffledp.mechanisms.base import Values
from shuffledp.mechanisms.noise.symmetric_noise import SymmetricNoise
from shuffledp.mechanisms.sampling import Bits

#: Steps of the grid per scale of the noise: at least, unless something else is asked for, at most.
_COARSE, _USUAL, _FINE = 1 << 10, 1 << 16, 1 << 30


class ContinuousNoise(SymmetricNoise):
    r"""Noise with a density: a report is x + Z, rounded to the nearest multiple of 1/m.

    It is drawn exactly, see :mod:`~shuffledp.mechanisms.sampling.rounded_noise`, and is the integer
    that 1/m is multiplied by. So it is a function of the ideal report x + Z, and what holds for
    that one holds for it. Low digits tell nothing, as they do in sums of floating-point numbers
    (Mironov 2012).

    Rounding adds :math:`\frac1{12m^2}` to the variance, on the usual grid less than
    :math:`2\cdot10^{-11}` of it. The mean error is 0 for multiples of 1/m, so for 0 and 1. For an
    input f steps above one, :math:`|f|\le\frac12`, it is
    :math:`\frac{\sinh\kappa f}{2\sinh(\kappa/2)}-f` steps with Laplace noise of scale
    :math:`\frac1{\kappa m}`, which is less than :math:`0.01\kappa^2`, and less than
    :math:`10^{-1000000}` steps with normal noise.

    A subclass is a frozen dataclass with the field ``grid``, an integer or None for the usual m.
    """

    if TYPE_CHECKING:
        grid: int | None

    @property
    @abstractmethod
    def scale(self) -> Fraction:
        """The scale of the noise, exactly."""

    @abstractmethod
    def draw_rounded(self, places: FloatArray, bits: Bits) -> IntArray:
        """Return reports for inputs in steps of the grid."""

    @property
    def steps(self) -> int:
        """How many steps of the grid lie between 0 and 1: m, a power of two.

        The usual one is the least with :math:`2^{16}` steps to the scale of the noise.
        """
        return _least_power(_USUAL / self.scale) if self.grid is None else self.grid

    @property
    def unit(self) -> float:
        """The distance of two steps."""
        return 1 / self.steps

    @property
    def report_dtype(self) -> np.dtype[Any]:
        """An integer of 64 bits."""
        return np.dtype("<i8")

    def draw(self, values: Values, bits: Bits) -> IntArray:
        """Return rounded reports."""
        return self.draw_rounded(np.asarray(values) * self.steps, bits)

    def check_grid(self) -> int | None:
        """Return ``grid``, or None if it is the usual one; refuse what does not fit the noise.

        Raises:
            ValueError: if it is no power of two, or has less than 2**10 or more than about 2**30
                steps to the scale of the noise.
        """
        if self.grid is None:
            return None
        least, usual, most = (_least_power(n / self.scale) for n in (_COARSE, _USUAL, _FINE))
        grid = check_integer("grid", self.grid, least, most)
        if grid & (grid - 1):
            raise ValueError(f"grid must be a power of two from {least} to {most}, got {grid}")
        return None if grid == usual else grid


def _least_power(number: Fraction) -> int:
    """Return the least power of two that is not below a number, and at least 1."""
    return 1 << (max(math.ceil(number), 1) - 1).bit_length()
