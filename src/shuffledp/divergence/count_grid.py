r"""Cells of counts, and the nodes at which a characteristic function tells their probabilities."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from shuffledp.arrays import FloatArray
from shuffledp.divergence.two_counts import Bit

_CELL = 0.05  # of the smallest standard deviation
_DEPTH = 46.0  # nodes at which the characteristic function is below e^-46 are left out

_MOST_TURNS = 2_000_000  # of which every cell has one for every node, on one side

#: How many standard deviations there are cells for on either side.
REACH = 9.0

#: Up to this angle the cube of it is computed, beyond it the difference from the mean.
SMALL_ANGLE = 0.1


@dataclass(frozen=True)
class Part:
    """So many independent bits of one law.

    Attributes:
        number: how many.
        bit: the law.
        exact: the probability of 1, to more digits.
    """

    number: int
    bit: Bit
    exact: Fraction

    @property
    def variance(self) -> float:
        """That of their sum."""
        return self.number * self.bit.one * self.bit.zero


@dataclass(frozen=True, eq=False)
class Grid:
    """Cells around a centre, and nodes, for all laws of about the same variance.

    Attributes:
        width: how many counts are in a cell.
        half: how many cells are on either side of the centre.
        period: L.
        nodes: k from 0 on.
    """

    width: int
    half: int
    period: int
    nodes: NDArray[np.int64]
    _angles: dict[float, FloatArray] = field(default_factory=dict, repr=False)

    @staticmethod
    def between(least: float, largest: float, halvings: int = 0) -> Grid | None:
        """Return a grid for standard deviations between these.

        It is None if cells would be single, or if there would be too many.

        Args:
            least: the smallest one.
            largest: the largest one.
            halvings: how often cells are halved at most, for counts far from the mean.
        """
        for k in range(halvings, -1, -1):
            width = math.floor(_CELL / 2**k * least)
            if width < 2:
                continue
            half = math.ceil(REACH * largest / width)
            period = 2 * (half + 2) * width
            # 2 sin^2(tau/2) least^2 >= depth at the last node, which is far below half the period.
            sine = math.sqrt(_DEPTH / 2) / least
            last = math.ceil(math.asin(sine) / math.pi * period) + 1
            if half * last <= _MOST_TURNS:
                return Grid(width, half, period, np.arange(last + 1, dtype=np.int64))
        return None

    @cached_property
    def tau(self) -> FloatArray:
        """The nodes as angles."""
        return 2 * math.pi / self.period * self.nodes.astype(np.float64)

    def turns(self, half: int) -> NDArray[np.complex128]:
        """Return the factors at the edges of so many cells on either side of the centre."""
        return self._turns[self.half - half : self.half + half + 1]

    @cached_property
    def _turns(self) -> NDArray[np.complex128]:
        """The factors at all edges, relative to the centre; whole numbers are reduced exactly."""
        edges = np.arange(-self.half, self.half + 1, dtype=np.int64) * self.width
        steps = np.multiply.outer(edges, self.nodes) % self.period
        return np.exp(-2j * math.pi / self.period * steps)

    def kernel(self, tilt: float) -> NDArray[np.complex128]:
        r"""Return :math:`\sum_{j<s}e^{-(\theta+i\tau)j}`, the sum of the factors over a cell.

        With :math:`z=\theta+i\tau` it is :math:`e^{-z(s-1)/2}\sinh(zs/2)/\sinh(z/2)`. A cell turns
        by half a radian at most and is tilted by less than one unit, so that these have small
        relative errors.
        """
        z, s = tilt + 1j * self.tau, self.width
        if tilt == 0:
            z[0] = 1.0  # any number, for the limit below
        kernel: NDArray[np.complex128] = np.exp(-0.5 * (s - 1) * z) * (
            np.sinh(0.5 * s * z) / np.sinh(0.5 * z)
        )
        if tilt == 0:
            kernel[0] = s
        return kernel

    def centred_angle(self, p: float) -> FloatArray:
        r"""Return :math:`\arg(1-p+pe^{i\tau})-p\tau`, which is like :math:`\tau^3` at 0."""
        if p in self._angles:
            return self._angles[p]
        tau = self.tau
        half = np.sin(tau / 2) ** 2
        tangent = p * np.sin(tau) / (1 - 2 * p * half)
        direct = np.arctan2(p * np.sin(tau), 1 - 2 * p * half) - p * tau
        # tan - p tau and atan - tan, both without cancellation.
        square = tau * tau
        series = np.ones_like(tau)
        for k in (14, 12, 10, 8, 6, 4):  # sin x - x = -x^3/6 (1 - x^2/20 (1 - x^2/42 (...)))
            series = 1 - square / (k * (k + 1)) * series
        sine = -tau * square / 6 * series
        first = p * (sine + 2 * p * tau * half) / (1 - 2 * p * half)
        squared = tangent * tangent
        tail = np.zeros_like(tau)
        for k in range(19, 1, -2):  # atan t - t = -t^3 (1/3 - t^2/5 + ...)
            tail = 1 / k - squared * tail
        second = -tangent * squared * tail
        self._angles[p] = np.where(tau < SMALL_ANGLE, first + second, direct)
        return self._angles[p]
