"""Estimating the mean of numbers between 0 and 1."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import ClassVar

import numpy as np

from shuffledp.errors import check_size
from shuffledp.planning.prediction import Prediction
from shuffledp.planning.task import Family, Task, spread
from shuffledp.randomizers import KRR, DiscreteLaplace, LocalRandomizer

_FACTOR = 1.5
_MAX_BOUND = 256  # beyond it rounding is invisible and the noise that of the continuous law


@dataclass(frozen=True)
class Mean(Task):
    r"""The mean of values in [0, 1], or of the values 0, 1/(D-1), ..., 1 if there are D.

    Every user's report gives an unbiased estimate of their value, and the estimates are averaged:
    the expected squared error is 1/n times the mean of their variances, which are

    * ``discrete_laplace`` with bound B: x is rounded at random, without bias, to one of the two
      multiples of 1/B around it, which adds :math:`r_B(x)=t(1-t)/B^2` with t the fractional part
      of Bx; then the noise is :math:`1/(2B^2\sinh^2(\varepsilon_0/2B))`.
    * ``krr`` with k = 2: x is rounded to 0 or 1, :math:`r_1(x)+1/(4\sinh^2(\varepsilon_0/2))`.

    Values in [0, 1] have :math:`r_B\le1/(4B^2)`; of D values those with fractional part nearest to
    1/2 are worst, and none is rounded if D - 1 divides B.

    >>> task = Mean(n=100, domain_size=None)
    >>> round(task.worst_case(DiscreteLaplace(epsilon0=2.0, bound=256)).squared_error, 6)
    0.005
    >>> round(task.worst_case(KRR(k=2, epsilon0=300.0)).squared_error, 6)
    0.0025
    """

    name: ClassVar[str] = "mean"

    def __post_init__(self) -> None:
        """Check the domain."""
        if self.domain_size is not None:
            check_size("domain_size", self.domain_size)

    @property
    def subject(self) -> str:
        """The mean."""
        if self.domain_size is None:
            return "mean of values in [0, 1]"
        return f"mean of {self.domain_size:,} equidistant values in [0, 1]"

    def mechanisms(self) -> Mapping[str, Sequence[Family]]:
        """Return additive noise and randomized response of one bit.

        The noise is discrete: ``laplace`` and ``gaussian`` in doubles are for simulations only.
        Bounds of ``discrete_laplace`` start at 2 (with 1, the one bit of ``krr`` has less noise):
        all up to 16, then steps of 50% up to 256, and those that need no rounding.
        """
        bounds = spread(2, _MAX_BOUND, _FACTOR)
        if self.domain_size is not None:
            exact = (multiple * (self.domain_size - 1) for multiple in (1, 2, 3, 4))
            bounds = sorted({*bounds, *(bound for bound in exact if 2 <= bound <= _MAX_BOUND)})
        return {
            "krr": [partial(KRR, 2)],
            "discrete_laplace": [partial(DiscreteLaplace, bound=bound) for bound in bounds],
        }

    def worst_case(self, randomizer: LocalRandomizer) -> Prediction:
        r"""Predict the error if all users hold the value that is rounded most.

        Among D values the fractional parts of Bi/(D-1) are all multiples of 1/m, where
        m = (D-1)/gcd(B, D-1), and :math:`\lfloor m/2\rfloor\lceil m/2\rceil/m^2` is the largest
        :math:`t(1-t)`.
        """
        noise, bound = _noise(randomizer)
        largest = 0.25
        if self.domain_size is not None:
            parts = (self.domain_size - 1) // math.gcd(bound, self.domain_size - 1)
            largest = (parts // 2) * ((parts + 1) // 2) / parts**2
        return self._predict(noise, largest / bound**2)

    def expected(self, randomizer: LocalRandomizer) -> Prediction | None:
        """Predict the error: the rounding is averaged over the distribution."""
        if self.distribution is None:
            return None
        noise, bound = _noise(randomizer)
        return self._predict(noise, self._rounding(bound))

    def _predict(self, noise: float, rounding: float) -> Prediction:
        variance = (noise + rounding) / self.n
        return Prediction.of_variances(variance, variance, 1)

    def _rounding(self, bound: int) -> float:
        """Return the mean of r_B over the distribution."""
        if bound not in self._known_roundings:
            shares = np.array(self.distribution)
            steps = shares.size - 1
            part = np.arange(shares.size) * bound % steps / steps
            self._known_roundings[bound] = float(shares @ (part * (1 - part))) / bound**2
        return self._known_roundings[bound]

    @cached_property
    def _known_roundings(self) -> dict[int, float]:
        return {}


def _noise(randomizer: LocalRandomizer) -> tuple[float, int]:
    """Return the variance of the noise and the B of the grid."""
    match randomizer:
        case KRR(k=2):
            return 0.25 / math.sinh(randomizer.epsilon0 / 2) ** 2, 1
        case DiscreteLaplace(bound=bound):
            return randomizer.noise_variance / bound**2, bound
    raise TypeError(f"randomizer must be krr(k=2, ...) or discrete_laplace, got {randomizer}")
