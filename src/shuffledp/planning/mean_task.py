"""Estimating the mean of numbers between 0 and 1."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import ClassVar

import numpy as np

from shuffledp.basics.arrays import FloatArray
from shuffledp.basics.errors import check_size
from shuffledp.mechanisms import KRR, DiscreteLaplace, LocalRandomizer
from shuffledp.planning.prediction import Prediction
from shuffledp.planning.task import Family, Task, spread

_FACTOR = 1.5
_MAX_BOUND = 256  # beyond it rounding is invisible and the noise that of the continuous law
_MAX_LEVELS = 64  # of krr: its noise grows with their number
_MAX_LISTED = 4096  # so many values are looked at one by one; more of them as all of [0, 1]


@dataclass(frozen=True)
class Mean(Task):
    r"""The mean of values in [0, 1], or of the values 0, 1/(D-1), ..., 1 if there are D.

    Every user's report gives an unbiased estimate of their value, and the estimates are averaged:
    the expected squared error is 1/n times the mean of their variances, which are

    * ``discrete_laplace`` with bound B: x is rounded at random, without bias, to one of the two
      multiples of 1/B around it, which adds :math:`r_B(x)=t(1-t)/B^2` with t the fractional part
      of Bx; then the noise is :math:`1/(2B^2\sinh^2(\varepsilon_0/2B))`.
    * ``krr`` with k levels :math:`l_j=j/(k-1)`: x is rounded to a multiple of 1/(k-1), and a level
      v is reported as :math:`y` with :math:`(y-\sum_jl_j/(E+k-1))(E+k-1)/(E-1)` as its estimate,
      of variance :math:`\sum_j(v-l_j)^2/(E-1)+(k\sum_jl_j^2-(\sum_jl_j)^2)/(E-1)^2`. With k = 2
      that is :math:`1/(4\sinh^2(\varepsilon_0/2))`.

    Values in [0, 1] have :math:`r_B\le1/(4B^2)`; of D values those with fractional part nearest to
    1/2 are worst, and none is rounded if D - 1 divides B.

    >>> task = Mean(n=100, domain_size=None)
    >>> round(task.worst_case(DiscreteLaplace(epsilon0=2.0, bound=256)).squared_error, 6)
    0.005
    >>> round(task.worst_case(KRR(k=2, epsilon0=300.0)).squared_error, 6)
    0.0025
    """

    name: ClassVar[str] = "mean"

    #: Values of a report of ``krr`` beyond its levels.
    spare: ClassVar[int] = 0

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
        """Return additive noise, and randomized response of levels.

        The noise is discrete: that of ``laplace`` has the same error where bounds are large.
        Bounds of ``discrete_laplace`` start at 2 (with 1, the one bit of ``krr`` has less noise):
        all up to 16, then steps of 50% up to 256, and those that need no rounding. Levels of
        ``krr``: all up to 16, then steps of 50% up to 64, and those that need no rounding.
        """
        bounds = spread(2, _MAX_BOUND, _FACTOR)
        if self.domain_size is not None:
            exact = (multiple * (self.domain_size - 1) for multiple in (1, 2, 3, 4))
            bounds = sorted({*bounds, *(bound for bound in exact if 2 <= bound <= _MAX_BOUND)})
        return {
            "krr": self._level_families(),
            "discrete_laplace": [partial(DiscreteLaplace, bound=bound) for bound in bounds],
        }

    def _level_families(self) -> Sequence[Family]:
        levels = set(spread(2, _MAX_LEVELS, _FACTOR))
        if self.domain_size is not None and self.domain_size <= _MAX_BOUND:
            levels.add(self.domain_size)
        return [partial(KRR, count + self.spare) for count in sorted(levels)]

    def worst_case(self, randomizer: LocalRandomizer) -> Prediction:
        r"""Predict the error if all users hold the value whose estimate varies most.

        With additive noise it is the one that is rounded most: among D values the fractional parts
        of Bi/(D-1) are all multiples of 1/m, where m = (D-1)/gcd(B, D-1), and
        :math:`\lfloor m/2\rfloor\lceil m/2\rceil/m^2` is the largest :math:`t(1-t)`.
        """
        if isinstance(randomizer, DiscreteLaplace):
            bound, largest = randomizer.bound, 0.25
            if self.domain_size is not None:
                parts = (self.domain_size - 1) // math.gcd(bound, self.domain_size - 1)
                largest = (parts // 2) * ((parts + 1) // 2) / parts**2
            return self._predict(randomizer.noise_variance / bound**2 + largest / bound**2)
        noise = _level_variances(self._levels(randomizer), self.spare, randomizer.epsilon0)
        if self.domain_size is not None and self.domain_size <= _MAX_LISTED:
            return self._predict(float(self._at_values(noise).max()))
        return self._predict(_largest_between(noise))

    def expected(self, randomizer: LocalRandomizer) -> Prediction | None:
        """Predict the error: noise and rounding are averaged over the distribution."""
        if self.distribution is None:
            return None
        if isinstance(randomizer, DiscreteLaplace):
            bound = randomizer.bound
            return self._predict(randomizer.noise_variance / bound**2 + self._rounding(bound))
        noise = _level_variances(self._levels(randomizer), self.spare, randomizer.epsilon0)
        return self._predict(float(np.array(self.distribution) @ self._at_values(noise)))

    def _levels(self, randomizer: LocalRandomizer) -> int:
        if not isinstance(randomizer, KRR):
            raise TypeError(f"randomizer must be krr or discrete_laplace, got {randomizer}")
        return randomizer.k - self.spare

    def _predict(self, variance: float) -> Prediction:
        return Prediction.of_variances(variance / self.n, variance / self.n, 1)

    def _at_values(self, noise: FloatArray) -> FloatArray:
        """Return the variance of the estimate at each of the D values, rounding included."""
        size, steps = check_size("domain_size", self.domain_size), noise.size - 1
        place = np.arange(size) * steps
        below, part = place // (size - 1), place % (size - 1) / (size - 1)
        above = np.minimum(below + 1, steps)
        total: FloatArray = (1 - part) * noise[below] + part * noise[above]
        return total + part * (1 - part) / steps**2

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


class AnsweredMean(Mean):
    r"""The mean among those who answer, where to have no answer is one more value of the report.

    Only ``krr`` can say it: k - 1 levels, and one value for no answer. The mean is a ratio of two
    estimates, so that the prediction is for large n and bounds the error over all means; it is for
    a share of answers near 1, and grows in inverse proportion to that share.

    >>> task = AnsweredMean(n=100, domain_size=None)
    >>> round(task.worst_case(KRR(k=3, epsilon0=300.0)).squared_error, 6)
    0.0025
    """

    spare: ClassVar[int] = 1

    def mechanisms(self) -> Mapping[str, Sequence[Family]]:
        """Return randomized response."""
        return {"krr": self._level_families()}


def _level_variances(levels: int, spare: int, epsilon0: float) -> FloatArray:
    """Return the variance of the estimate for one user at each level, without rounding.

    Spare values of the report count as level 0.
    """
    known = np.arange(levels) / (levels - 1)
    first, second, ratio = known.sum(), np.square(known).sum(), math.expm1(epsilon0)
    outputs = levels + spare
    apart = outputs * known**2 - 2 * known * first + second
    noise: FloatArray = apart / ratio + (outputs * second - first**2) / ratio / ratio
    return noise


def _largest_between(noise: FloatArray) -> float:
    """Return the largest variance over all of [0, 1], rounding included.

    Between two levels it is the line between their variances plus t(1-t)/B^2.
    """
    steps = noise.size - 1
    rise = np.diff(noise)
    part = np.clip(0.5 + 0.5 * rise * steps**2, 0.0, 1.0)
    return float((noise[:-1] + part * rise + part * (1 - part) / steps**2).max())
