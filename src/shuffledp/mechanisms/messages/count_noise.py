r"""Noise that is added to counts, its law in balls.

All laws are log-concave on the integers: :math:`f(j-1)/f(j)` rises. So one more in a count is worth
more the larger the count is seen, and beyond a table masses fall faster than a geometric series.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np
from flint import arb

from shuffledp.basics.arrays import FloatArray, IntArray
from shuffledp.basics.balls import ball, precision, total
from shuffledp.basics.errors import check_integer, check_positive, check_real
from shuffledp.basics.rounding import written
from shuffledp.mechanisms.sampling import Bits, Exponential, decide
from shuffledp.mechanisms.sampling.geometric import two_sided_geometric
from shuffledp.mechanisms.sampling.poisson import poisson

#: Masses below e to the power of minus this, in units of the largest one, are not listed: of laws
#: with at most the deviation, and of wider ones.
_DEEP, _NARROW, _DEPTH = 700.0, 200.0, 160.0

#: Tables of wider laws take too long.
MAX_DEVIATION = 20_000.0

#: Flipped by all contributors together.
MAX_COINS = 1 << 53


@dataclass(frozen=True, eq=False)
class Table:
    """The masses of a law on the integers, from ``start`` on.

    Attributes:
        start: the first integer.
        masses: their probabilities.
        below: the probability of what comes before, a ball.
        beyond: the probability of what comes after.
    """

    start: int
    masses: tuple[arb, ...]
    below: arb
    beyond: arb

    @cached_property
    def doubles(self) -> FloatArray:
        """The masses, about."""
        return np.array([float(mass) for mass in self.masses])


@dataclass(frozen=True)
class CountNoise(ABC):
    """Independent noise in every count."""

    @property
    @abstractmethod
    def amount(self) -> float:
        """The parameter."""

    @property
    def level(self) -> float:
        """The largest privacy loss where one count changes by one."""
        return math.inf

    @property
    @abstractmethod
    def mean(self) -> float:
        """What is subtracted from a count to estimate it."""

    @property
    @abstractmethod
    def variance(self) -> float:
        """The variance of a count."""

    @abstractmethod
    def draw(self, size: int, bits: Bits) -> IntArray:
        """Draw the noise of so many counts, exactly."""

    @abstractmethod
    def repeated(self, times: int) -> CountNoise:
        """Return noise that hides no more than so many independent copies added up."""

    @abstractmethod
    def _mode(self) -> tuple[int, arb | None]:
        """Return a most likely integer and its mass; None if that is what makes the sum 1."""

    @abstractmethod
    def _ratio(self, j: int) -> arb:
        """Return f(j)/f(j-1); 0 at the end of the support."""

    @property
    def table(self) -> Table:
        """The masses that count.

        Raises:
            ValueError: if there are too many.
        """
        if self.variance > MAX_DEVIATION**2:
            raise ValueError(
                f"noise must have a standard deviation of at most {MAX_DEVIATION:g}, "
                f"got {math.sqrt(self.variance):.6g} of {self}"
            )
        return _tabulate(self)


@lru_cache(maxsize=64)
def _tabulate(noise: CountNoise) -> Table:
    with precision():
        mode, mass = noise._mode()
        least = (-arb(_DEEP if noise.variance <= _NARROW**2 else _DEPTH)).exp()
        up, beyond = _fall(noise._ratio, mode, least)
        down, below = _fall(lambda j: 1 / noise._ratio(2 * mode + 1 - j), mode, least)
        shape = [*reversed(down), arb(1), *up]
        if mass is None:
            mass = 1 / (total(shape) + below + beyond)
        return Table(mode - len(down), tuple(mass * x for x in shape), mass * below, mass * beyond)


def _fall(ratio: Callable[[int], arb], mode: int, least: arb) -> tuple[list[arb], arb]:
    """Return the masses on one side of the mode, in units of it, and the mass of what follows.

    Those below the least are left out.
    """
    found: list[arb] = []
    last = arb(1)
    while True:
        step = ratio(mode + len(found) + 1)
        if step.is_zero() or step.is_nan():
            return found, arb(0)
        if step < 1 and last < least:
            return found, arb(0).union((last * step / (1 - step)).upper())
        last = last * step
        found.append(last)


@dataclass(frozen=True)
class Coins(CountNoise):
    r"""The number of heads among so many fair coins, as flipped inside MPC.

    >>> Coins(80).mean, Coins(80).variance
    (40.0, 20.0)
    """

    number: int

    def __post_init__(self) -> None:
        """Check the number."""
        object.__setattr__(self, "number", check_integer("number", self.number, 1, MAX_COINS))

    @property
    def amount(self) -> float:
        """The number."""
        return self.number

    @property
    def mean(self) -> float:
        """Half of them."""
        return self.number / 2

    @property
    def variance(self) -> float:
        """A quarter of them."""
        return self.number / 4

    def draw(self, size: int, bits: Bits) -> IntArray:
        """Count the ones among fair bits."""
        found = np.zeros(size, dtype=np.int64)
        left = self.number
        while left:
            width = min(left, 64)
            mask = np.uint64((1 << width) - 1)
            found += np.bitwise_count(bits.words(size) & mask).astype(np.int64)
            left -= width
        return found

    def repeated(self, times: int) -> Coins:
        """Return all coins together."""
        return Coins(times * self.number)

    def _mode(self) -> tuple[int, arb]:
        k = self.number // 2
        return k, arb.bin_uiui(self.number, k) * arb(2) ** -self.number

    def _ratio(self, j: int) -> arb:
        if j == 0:
            return arb("inf")
        return arb(max(self.number - j + 1, 0)) / j

    def __str__(self) -> str:
        """Return the text form."""
        return f"coins({self.number})"


@dataclass(frozen=True)
class PoissonNoise(CountNoise):
    """A Poisson number of messages for every value, independent."""

    rate: Fraction

    def __post_init__(self) -> None:
        """Check the rate."""
        if not self.rate > 0:
            raise ValueError(f"rate must be above 0, got {self.rate}")

    @property
    def amount(self) -> float:
        """The rate."""
        return float(self.rate)

    @property
    def mean(self) -> float:
        """The rate."""
        return float(self.rate)

    @property
    def variance(self) -> float:
        """The rate."""
        return float(self.rate)

    def draw(self, size: int, bits: Bits) -> IntArray:
        """Draw Poisson numbers."""
        return poisson(bits, self.rate, size)

    def repeated(self, times: int) -> PoissonNoise:
        """Return that of all together."""
        return PoissonNoise(times * self.rate)

    def _mode(self) -> tuple[int, arb]:
        k = math.floor(self.rate)
        rate = ball(self.rate)
        return k, (k * rate.log() - rate - arb(k + 1).lgamma()).exp()

    def _ratio(self, j: int) -> arb:
        return ball(self.rate) / j if j else arb("inf")

    def __str__(self) -> str:
        """Return the text form."""
        return f"poisson({float(self.rate)!r})"


@dataclass(frozen=True)
class GeometricNoise(CountNoise):
    r"""Discrete Laplace noise, :math:`P(Z=z)\propto e^{-\varepsilon|z|}`.

    Args:
        epsilon: the level for counts of which one changes, by one.
    """

    epsilon: float

    def __post_init__(self) -> None:
        """Check the level."""
        object.__setattr__(self, "epsilon", check_positive("epsilon", self.epsilon))

    @property
    def amount(self) -> float:
        """The epsilon."""
        return self.epsilon

    @property
    def level(self) -> float:
        """The level: the privacy loss is never larger."""
        return self.epsilon

    @property
    def mean(self) -> float:
        """0."""
        return 0.0

    @property
    def variance(self) -> float:
        r""":math:`2\alpha/(1-\alpha)^2`."""
        return 0.5 / math.sinh(self.epsilon / 2) ** 2

    def draw(self, size: int, bits: Bits) -> IntArray:
        """Draw two-sided geometric variables."""
        return two_sided_geometric(bits, Fraction(self.epsilon), size)

    def repeated(self, times: int) -> GeometricNoise:
        """Return one of them: further noise hides more."""
        return self

    def _mode(self) -> tuple[int, arb]:
        alpha = (-arb(self.epsilon)).exp()
        return 0, (1 - alpha) / (1 + alpha)

    def _ratio(self, j: int) -> arb:
        return (arb(self.epsilon) * (-1 if j > 0 else 1)).exp()

    def __str__(self) -> str:
        """Return the text form."""
        return f"discrete_laplace({self.epsilon!r})"


@dataclass(frozen=True)
class NormalNoise(CountNoise):
    r"""Discrete Gaussian noise, :math:`P(Z=z)\propto e^{-z^2/(2\sigma^2)}`.

    Canonne, Kamath and Steinke (2020), "The discrete Gaussian for differential privacy".

    Args:
        sigma: the parameter; about the standard deviation.
    """

    sigma: float

    def __post_init__(self) -> None:
        """Check sigma."""
        object.__setattr__(self, "sigma", check_positive("sigma", check_real("sigma", self.sigma)))

    @property
    def amount(self) -> float:
        """The sigma."""
        return self.sigma

    @property
    def mean(self) -> float:
        """0."""
        return 0.0

    @property
    def variance(self) -> float:
        """That of the law; sigma squared bounds it."""
        if self.sigma > 10:
            return self.sigma**2
        z = np.arange(-200, 201)
        masses = np.exp(-(z**2) / (2 * self.sigma**2))
        return float(masses @ z**2 / masses.sum())

    def draw(self, size: int, bits: Bits) -> IntArray:
        r"""Keep discrete Laplace proposals z of rate 1/t with the probability that is left.

        It is :math:`\exp(-(|z|-\sigma^2/t)^2/(2\sigma^2))`, :math:`t=\lfloor\sigma\rfloor+1`.
        """
        square, t = Fraction(self.sigma) ** 2, math.floor(self.sigma) + 1
        drawn, left = np.zeros(size, dtype=np.int64), np.arange(size)
        while left.size:
            proposed = two_sided_geometric(bits, Fraction(1, t), left.size)
            kept = np.zeros(left.size, dtype=np.bool_)
            for z in np.unique(np.abs(proposed)).tolist():
                same = np.flatnonzero(np.abs(proposed) == z)
                power = (z - square / t) ** 2 / (2 * square)
                kept[same] = True if not power else decide(bits, Exponential(power), same.size)
            drawn[left[kept]] = proposed[kept]
            left = left[~kept]
        return drawn

    def repeated(self, times: int) -> NormalNoise:
        """Return one of them: further noise hides more."""
        return self

    def _mode(self) -> tuple[int, None]:
        return 0, None

    def _ratio(self, j: int) -> arb:
        return (-arb(2 * j - 1) / (2 * arb(self.sigma) ** 2)).exp()

    def __str__(self) -> str:
        """Return the text form."""
        return f"discrete_gaussian({self.sigma!r})"


def as_noise(noise: CountNoise | str) -> CountNoise:
    """Return noise, from an object or its text.

    >>> as_noise("coins(80)"), as_noise("discrete_gaussian(2.5)")
    (Coins(number=80), NormalNoise(sigma=2.5))
    """
    if isinstance(noise, CountNoise):
        return noise
    if not isinstance(noise, str):
        raise TypeError(f"noise must be noise in counts or its text, got {noise!r}")
    name, _, rest = noise.strip().partition("(")
    kinds: dict[str, Callable[[float], CountNoise]] = {
        "coins": lambda x: Coins(check_integer("number", x, 1, MAX_COINS)),
        "poisson": lambda x: PoissonNoise(Fraction(x)),
        "discrete_laplace": GeometricNoise,
        "discrete_gaussian": NormalNoise,
    }
    if name not in kinds or not rest.endswith(")"):
        raise ValueError(f"noise must be one of {', '.join(kinds)} with a number, got {noise!r}")
    return kinds[name](float(written(rest[:-1])))
