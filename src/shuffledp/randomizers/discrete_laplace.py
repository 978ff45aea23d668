"""The discrete Laplace (two-sided geometric) mechanism."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from shuffledp import newdec
from shuffledp.arrays import UNIT, FloatArray, IntArray
from shuffledp.errors import check_epsilon0, check_integer
from shuffledp.randomizers.aggregate import Aggregate, GeometricSum, OnlyMultiset
from shuffledp.randomizers.base import SlotLaws, Values
from shuffledp.randomizers.lattice_types import lattice_types
from shuffledp.randomizers.noise import CELLS, HalfCells, SymmetricNoise
from shuffledp.randomizers.noise_laws import Place, discrete_laplace_decomposition
from shuffledp.randomizers.pair import Pair
from shuffledp.sampling import Bits
from shuffledp.sampling.checks import check_integers
from shuffledp.sampling.geometric import two_sided_geometric

#: With more inputs there are too many types of background for the swap bound.
_MAX_SWAPPED = 20

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
    >>> d.blanket(d.neighbours()[0]).size
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

    def law_at(self, place: Place) -> newdec.Decomposition:
        """Return the decomposition into cells in balls."""
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

        Noise does not depend on the input, so a law depends on x' - x and v - x alone. Slot 0 is
        that of the end points, which dominates the others.
        """
        # Exactly this class: one derived from it may state another law.
        if type(self) is not DiscreteLaplace:
            return super().slot_laws(pair)
        if self.bound > _MAX_SWAPPED or pair not in self.neighbours():
            return None
        types = lattice_types(Fraction(self.epsilon0) / self.bound, self.bound)
        return SlotLaws(self.decomposition(pair), *types)

    def half_cells(self) -> HalfCells:
        """Return runs of consecutive outputs (single ones up to B = 8192) and the end atom.

        Errors in units: the rate 1, logarithms 2 of themselves, which are at most twice the mean of
        a run; exponents as much, ``count`` 6, ``share`` 5, masses 17 besides the exponent's,
        the residual 19.
        """
        rate, bound = self.epsilon0 / self.bound, self.bound
        inside = (bound - 1) // 2  # outputs 1..inside are nearer to 0; B/2 belongs to both
        run = max(1, math.ceil(inside / CELLS))
        first = np.arange(1, inside + 1, run, dtype=np.float64)
        last = np.minimum(first + run - 1, inside)
        # A run has the masses kappa (alpha^first - alpha^(last+1)) / (1 - alpha) under R(0).
        count = -np.expm1(-rate * (last - first + 1))
        share = 1 / (1 + math.exp(-rate))
        near = share * np.exp(-rate * first) * count
        far = share * np.exp(-rate * (bound - last)) * count
        outer, inner = rate * (bound - 2 * first), rate * (bound - 2 * last)
        mean = rate * (bound - first - last)
        middle = bound % 2 == 0
        # Half of the mass of the output B/2, which is (1-alpha)/(1+alpha) alpha^(B/2).
        half = -math.expm1(-rate) * share * math.exp(-self.epsilon0 / 2) / 2
        centre = np.zeros(int(middle))
        # 1 - 2 alpha^((B+1)/2)/(1+alpha) for odd B, 1 - alpha^(B/2) for even B.
        residual = -math.expm1(-self.epsilon0 / 2)
        if not middle:
            shifted = math.exp(-rate) * math.expm1(-rate * inside)
            residual = -share * (math.expm1(-rate * (inside + 1)) + shifted)
        log_ratio = np.concatenate([mean, centre, [self.epsilon0]])
        return HalfCells(
            outer=np.concatenate([outer, centre, [self.epsilon0]]),
            inner=np.concatenate([inner, centre, [self.epsilon0]]),
            log_ratio=log_ratio,
            near=np.concatenate([near, centre + half, [share]]),
            far=np.concatenate([far, centre + half, [share * math.exp(-self.epsilon0)]]),
            error=np.concatenate([4 * UNIT * mean, centre, [0.0]]),
            mass_error=np.full(log_ratio.size, UNIT * (24 + 2 * self.epsilon0)),
            residual=residual,
        )
