"""The Gaussian mechanism as a local randomizer."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from shuffledp import newdec
from shuffledp.arrays import UNIT, FloatArray, IntArray
from shuffledp.errors import check_positive
from shuffledp.randomizers.aggregate import Aggregate, NormalSum, OnlyMultiset
from shuffledp.randomizers.continuous_noise import ContinuousNoise
from shuffledp.randomizers.noise import HalfCells, HalfDensity
from shuffledp.randomizers.noise_laws import Place, normal_decomposition
from shuffledp.sampling import Bits
from shuffledp.sampling.checks import check_reals
from shuffledp.sampling.rounded_noise import rounded_normal

#: Beyond this many standard deviations from the far input, masses leave the range of doubles.
_REACH = 37.0

_CELLS = 4096
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(20)
_MIN_SIGMA, _MAX_SIGMA = 0.3, 1e6


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

    def law_at(self, place: Place) -> newdec.Decomposition:
        """Return the decomposition into cells in balls."""
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

    def half_cells(self) -> HalfCells:
        """Return cells that are dense where tilted masses are and reach 37 sigma."""
        from scipy.special import ndtr

        half = 0.5 / self.sigma  # of the distance between the inputs, in units of sigma
        edges = self._edges(half)
        log_ratio_edges = 2 * half * edges
        middle, radius = (edges[1:] + edges[:-1]) / 2, np.diff(edges) / 2
        offset = np.multiply.outer(radius, _NODES)
        near = _relative_density(middle - half, offset)
        far = _relative_density(middle + half, offset)
        # near/far is e^(2 half middle) times a ratio near 1, of which the excess is integrated.
        excess = (far * np.expm1(2 * half * offset)) @ _WEIGHTS / (far @ _WEIGHTS)
        log_ratio = 2 * half * middle + np.log1p(excess)
        return HalfCells(
            outer=log_ratio_edges[1:],
            inner=log_ratio_edges[:-1],
            log_ratio=log_ratio,
            near=_mass(middle - half, radius, near),
            far=_mass(middle + half, radius, far),
            error=UNIT * (8 * log_ratio_edges[1:] + 128 * half * radius),
            mass_error=UNIT * (96 + 6 * (middle + half) ** 2),
            residual=math.erf(half / math.sqrt(2)),
            tail=(float(ndtr(half - edges[-1])), float(ndtr(-half - edges[-1]))),
        )

    def half_density(self) -> HalfDensity | None:
        """Return the density in units of sigma from the middle of the inputs."""
        # Exactly this class: one derived from it may state another law.
        if type(self) is not Gaussian:
            return None
        half = 0.5 / self.sigma
        return HalfDensity(
            log_scale=-(half**2 + math.log(2 * math.pi)) / 2,
            curvature=1.0,
            slope=half,
            rate=2 * half,
            length=_REACH - half,
            residual=math.erf(half / math.sqrt(2)),
            panel=1.2,
        )

    @staticmethod
    def _edges(half: float) -> FloatArray:
        """Place edges by equal increments of a wide normal density plus a uniform one.

        The placement of least loss has density mass^(1/3), a normal one with mean 3 ``half`` and
        variance 3; tilting moves it outwards.
        """
        from scipy.special import ndtr

        reach = _REACH - half
        fine = np.linspace(0.0, reach, 64 * _CELLS + 1)
        position = ndtr((fine - 4 * half) / 5.0) + 0.1 * fine / reach
        position -= position[0]
        return np.interp(np.linspace(0.0, position[-1], _CELLS + 1), position, fine)


def _relative_density(centre: FloatArray, offset: FloatArray) -> FloatArray:
    r"""Return the normal density at centre + offset over that at the centre.

    :math:`e^{-x^2/2}=e^{-c^2/2}e^{-(x-c)(x+c)/2}` keeps the tail accurate.
    """
    return np.exp(-offset * (centre[:, None] + offset / 2))


def _mass(centre: FloatArray, radius: FloatArray, relative: FloatArray) -> FloatArray:
    """Return the standard normal mass of centre +- radius.

    Cells are at most 0.1 wide and end at 37, so that twenty Gauss-Legendre nodes leave an error of
    (37/20)^40/40! or 1e-37. The error of the sum is that of an exponent of at most 2 and of twenty
    terms; the exponent c^2/2 suffers from the rounding of c, of the middle of the cell and of c^2.
    """
    return radius * (relative @ _WEIGHTS) * np.exp(-(centre**2) / 2) / math.sqrt(2 * math.pi)
