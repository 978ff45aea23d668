"""The Laplace mechanism."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np

from shuffledp.arrays import UNIT, FloatArray
from shuffledp.errors import check_epsilon0
from shuffledp.randomizers.aggregate import Aggregate, LaplaceSum, OnlyMultiset
from shuffledp.randomizers.base import SlotLaws
from shuffledp.randomizers.laplace_slots import interval_slots
from shuffledp.randomizers.noise import CELLS, HalfCells, HalfDensity, SymmetricNoise
from shuffledp.randomizers.pair import Pair
from shuffledp.sampling import Bits
from shuffledp.sampling.checks import check_reals
from shuffledp.sampling.doubles import laplace

_DOMAINS = ("binary", "interval")

#: Cells of the swap bound up to a level: they raise epsilon by less than 2e-5 of itself.
_CELLS_OF_SLOTS, _MAX_COARSE = 512, 6.0

#: Beyond this level the law spreads over so many orders of magnitude that cells do better.
_MAX_SMOOTH = 8.0


@dataclass(frozen=True, repr=False)
class Laplace(SymmetricNoise):
    r"""Adds Laplace noise of scale :math:`1/\varepsilon_0` to a value in {0, 1} or [0, 1].

    On the half near 0 let :math:`u=R(0)/R(1)=v^2` run from 1 to :math:`e^{\varepsilon_0}`. Between
    :math:`v_1` and :math:`v_2` the mass under R(1) is
    :math:`\frac12e^{-\varepsilon_0/2}(1/v_1-1/v_2)` and under R(0)
    :math:`\frac12e^{-\varepsilon_0/2}(v_2-v_1)`, so the mean ratio is :math:`v_1v_2`. Outputs below
    0 form an atom at :math:`e^{\varepsilon_0}` of masses :math:`\frac12e^{-\varepsilon_0}` and
    :math:`\frac12`.

    Reports of this class are for simulations: noise in doubles does not have the density above, and
    the digits of a report can reveal its input (Mironov 2012). To collect data about people round
    their values to a grid and use ``discrete_laplace``, which is sampled exactly.

    Args:
        epsilon0: replace-one LDP level.
        domain: "binary" for inputs {0, 1}, "interval" for [0, 1]. The blanket bounds are the same:
            the pair (0, 1) is the worst one of the interval, and its blanket is that of the end
            points.

    >>> str(Laplace(epsilon0=1.0)), str(Laplace(epsilon0=1.0, domain="interval"))
    ('laplace(epsilon0=1.0)', "laplace(epsilon0=1.0, domain='interval')")
    """

    name: ClassVar[str] = "laplace"
    example: ClassVar[str | None] = "laplace(epsilon0=1.0)"

    epsilon0: float
    domain: Literal["binary", "interval"] = "binary"

    def __post_init__(self) -> None:
        """Check the parameters."""
        object.__setattr__(self, "epsilon0", check_epsilon0(self.epsilon0))
        if self.domain not in _DOMAINS:
            raise ValueError(f"domain must be one of {', '.join(_DOMAINS)}, got {self.domain!r}")
        object.__setattr__(self, "domain", str(self.domain))

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
        return LaplaceSum(self.epsilon0) if type(self) is Laplace else OnlyMultiset()

    @property
    def noise_variance(self) -> float:
        r""":math:`2/\varepsilon_0^2`."""
        return 2 / self.epsilon0**2

    @property
    def report_dtype(self) -> np.dtype[Any]:
        """A double."""
        return np.dtype("<f8")

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

    def draw_noise(self, bits: Bits, size: int) -> FloatArray:
        r"""Return Laplace noise of scale :math:`1/\varepsilon_0`, rounded to doubles."""
        return laplace(bits, size) / self.epsilon0

    def log_density(self, noise: FloatArray) -> FloatArray:
        r"""Return :math:`-\varepsilon_0|z|`."""
        return -self.epsilon0 * np.abs(noise)

    def slot_laws(self, pair: Pair) -> SlotLaws | None:
        """Return the end points, or what stands for all pairs and inputs of the interval."""
        # Exactly this class: one derived from it may state another law.
        if type(self) is not Laplace:
            return super().slot_laws(pair)
        if self.is_interval:
            types = interval_slots(self.epsilon0) if pair in self.neighbours() else None
            return None if types is None else SlotLaws(self.blanket(pair), *types)
        coarse = self.epsilon0 <= _MAX_COARSE
        half_cells = partial(self.half_cells, _CELLS_OF_SLOTS if coarse else CELLS)
        blanket, *backgrounds = (self.decompose(pair, v, half_cells) for v in (None, 0, 1))
        return SlotLaws(blanket, tuple(backgrounds))

    def half_cells(self, count: int = CELLS) -> HalfCells:
        """Return cells of equal width in v, the placement of least loss, and the atom.

        Errors in units: the width 4, its multiples 5, their logarithms 9 of themselves, the sum of
        two 10; the masses 9 and 14 besides the absolute error of the logarithm;
        the residual 4.
        """
        scale = math.exp(-self.epsilon0 / 2) / 2
        width = math.expm1(self.epsilon0 / 2) / count
        log_v = np.log1p(width * np.arange(count + 1))
        log_v[-1] = self.epsilon0 / 2
        log_ratio = log_v[1:] + log_v[:-1]
        near = np.full(count, scale * width)
        far = near * np.exp(-log_ratio)
        return HalfCells(
            outer=np.append(2 * log_v[1:], self.epsilon0),
            inner=np.append(2 * log_v[:-1], self.epsilon0),
            log_ratio=np.append(log_ratio, self.epsilon0),
            near=np.append(near, 0.5),
            far=np.append(far, math.exp(-self.epsilon0) / 2),
            error=np.append(20 * UNIT * log_v[1:], 0.0),
            mass_error=np.append(UNIT * (16 + 10 * log_ratio), 8 * UNIT),
            residual=-math.expm1(-self.epsilon0 / 2),
        )

    def half_density(self) -> HalfDensity | None:
        r"""Return the density :math:`\frac14e^{-\varepsilon_0/2-s/2}`, s = log u, and the atom."""
        # Exactly this class: one derived from it may state another law.
        if type(self) is not Laplace or self.epsilon0 > _MAX_SMOOTH:
            return None
        return HalfDensity(
            log_scale=-math.log(4) - self.epsilon0 / 2,
            curvature=0.0,
            slope=0.5,
            rate=1.0,
            length=self.epsilon0,
            residual=-math.expm1(-self.epsilon0 / 2),
            panel=2.0,
            end=(0.5, math.exp(-self.epsilon0) / 2),
        )
