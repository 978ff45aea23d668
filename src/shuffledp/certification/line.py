"""Where the nodes of a contour go for a sum of noise, chosen in doubles: all choices are valid."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

from shuffledp.certification.balls import short

_MAX_NODES = 200_000
_MAX_PERIOD = 2.0**60
_INVISIBLE = 3000.0  # of -log delta: certificates claim no smaller ones
_STEPS = 100  # of a bisection
_SHORT = 40  # binary digits of the tilt


@dataclass(frozen=True)
class Line:
    """The contour: nodes at theta + 2 pi i k/period, k up to ``last`` in size."""

    theta: float
    period: int
    last: int


class Shape(ABC):
    """The moment generating function of one variable, which exists up to ``strip``."""

    strip: float

    @abstractmethod
    def slope(self, theta: float) -> float:
        """Return the derivative of its logarithm."""

    @abstractmethod
    def logarithm(self, theta: float) -> float:
        """Return its logarithm."""

    @abstractmethod
    def fall(self, theta: float, tau: float) -> float:
        """Return the logarithm of its modulus at theta minus that at theta + i tau."""

    @abstractmethod
    def farthest(self, period: int) -> int:
        """Return the number of the last node there is."""

    def deviation(self, n: int) -> float:
        """Return about the standard deviation of a sum of n."""
        return math.sqrt(2 * n) / self.strip + 1

    def threshold(self, n: int, shift: float, epsilon: float) -> float | None:
        """Return about where the ratio of likelihoods is e^epsilon; None if it is too far away."""
        theta = epsilon / shift
        if theta >= self.strip * (1 - 1e-9):
            return None
        return shift / 2 + n * self.slope(theta)

    def visible(self, n: int, shift: float, epsilon: float) -> int:
        """Return how many of n are enough for a delta that is too small to be written."""
        theta = epsilon / shift
        fall = theta * self.slope(theta) - self.logarithm(theta)
        return min(n, math.ceil(_INVISIBLE / fall)) if fall > 0 else n

    def line(self, n: int, t: float, epsilon: float, depth: float) -> Line | None:
        """Return a line whose errors are about e^(-depth) of the unit; None if it is too long."""
        theta = self._saddle(n, t)
        deep = depth + 1.5 * math.log(n)  # differences of probabilities are small, too
        fallen = deep + max(theta * t - n * self.logarithm(theta), 0.0) + epsilon
        length = max(fallen / theta, 2 * deep / (self.strip - theta))
        if not length < _MAX_PERIOD:
            return None
        period = math.ceil(short(length)) | 1
        step, last = 2 * math.pi / period, self.farthest(period)
        if n * self.fall(theta, step * last) > deep:
            low = 0
            while last - low > 1:
                middle = (low + last) // 2
                fallen = n * self.fall(theta, step * middle)
                low, last = (low, middle) if fallen > deep else (middle, last)
        return Line(theta, period, last) if last <= _MAX_NODES else None

    def _saddle(self, n: int, t: float) -> float:
        """Return where the slope of n variables is t + 1/theta, about."""
        low, high = 0.0, self.strip
        for _ in range(_STEPS):
            theta = 0.5 * (low + high)
            if n * self.slope(theta) < t + 1 / theta:
                low = theta
            else:
                high = theta
        return min(short(low, _SHORT), self.strip * (1 - 1e-10))


class LaplaceShape(Shape):
    """1/(1 - z^2)."""

    strip = 1.0

    def slope(self, theta: float) -> float:
        """Return the derivative of its logarithm."""
        return 2 * theta / ((1 - theta) * (1 + theta))

    def logarithm(self, theta: float) -> float:
        """Return its logarithm."""
        return -math.log1p(-theta * theta)

    def fall(self, theta: float, tau: float) -> float:
        """Return how far the logarithm of its modulus falls."""
        x, y = ((tau / (1 + sign * theta)) ** 2 for sign in (1, -1))
        return 0.5 * (math.log1p(x) + math.log1p(y))

    def farthest(self, period: int) -> int:
        """Return one more than the most: there is no last node."""
        return _MAX_NODES + 1


@dataclass(frozen=True)
class GeometricShape(Shape):
    """1/(1 - sinh^2(z/2)/sinh^2(strip/2))."""

    strip: float

    def slope(self, theta: float) -> float:
        """Return the derivative of its logarithm."""
        return math.sinh(theta) / (2 * self._gap(theta))

    def logarithm(self, theta: float) -> float:
        """Return its logarithm."""
        return 2 * math.log(math.sinh(self.strip / 2)) - math.log(self._gap(theta))

    def fall(self, theta: float, tau: float) -> float:
        """Return how far the logarithm of its modulus falls."""
        gap = self._gap(theta)
        x = math.cosh(theta) * math.sin(tau / 2) ** 2 / gap
        y = math.sinh(theta) * math.sin(tau) / (2 * gap)
        return 0.5 * math.log1p(2 * x + x * x + y * y)

    def farthest(self, period: int) -> int:
        """Return half the period."""
        return period // 2

    def _gap(self, theta: float) -> float:
        return math.sinh((self.strip - theta) / 2) * math.sinh((self.strip + theta) / 2)
