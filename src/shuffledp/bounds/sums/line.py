"""Where the nodes of a contour go for a sum of noise, chosen in doubles: all choices are valid."""

from __future__ import annotations

import math
from dataclasses import dataclass

from shuffledp.basics.balls import short

_MAX_NODES = 200_000  # of one line; longer ones take too long
_MAX_PERIOD = 2.0**60  # in steps of the sum
_INVISIBLE = 3000.0  # of -log delta: certificates claim no smaller ones
_STEPS = 100  # of a bisection
_SHORT = 40  # binary digits of the tilt


@dataclass(frozen=True)
class Line:
    """The contour: nodes at theta + 2 pi i k/period, k up to ``last`` in size."""

    theta: float
    period: int
    last: int


@dataclass(frozen=True)
class Shape:
    """The moment generating function of one variable, 1/(1 - sinh^2(z/2)/sinh^2(rate/2))."""

    rate: float

    def deviation(self, n: int) -> float:
        """Return about the standard deviation of a sum of n."""
        return math.sqrt(2 * n) / self.rate + 1

    def threshold(self, n: int, shift: float, epsilon: float) -> float | None:
        """Return about where the ratio of likelihoods is e^epsilon; None if it is too far away."""
        theta = epsilon / shift
        if theta >= self.rate * (1 - 1e-9):
            return None
        return shift / 2 + n * self._slope(theta)

    def visible(self, n: int, shift: float, epsilon: float) -> int:
        """Return how many of n are enough for a delta that is too small to be written."""
        theta = epsilon / shift
        fall, _ = self.fall_and_bend(theta)
        return min(n, math.ceil(_INVISIBLE / fall)) if fall > 0 else n

    def fall_and_bend(self, theta: float) -> tuple[float, float]:
        """Return theta K' - K and K'', K being the logarithm."""
        gap = self._gap(theta)
        slope = self._slope(theta)
        return theta * slope - self._logarithm(theta), math.cosh(theta) / (2 * gap) + slope**2

    def line(self, n: int, t: float, epsilon: float, depth: float) -> Line | None:
        """Return a line whose errors are about e^(-depth) of the unit; None if it is too long."""
        theta = self._saddle(n, t)
        deep = depth + 1.5 * math.log(n)  # differences of probabilities are small, too
        fallen = deep + max(theta * t - n * self._logarithm(theta), 0.0) + epsilon
        length = max(fallen / theta, 2 * deep / (self.rate - theta))
        if not length < _MAX_PERIOD:
            return None
        period = math.ceil(short(length)) | 1
        step, last = 2 * math.pi / period, period // 2
        if n * self._fall(theta, step * last) > deep:
            low = 0
            while last - low > 1:
                middle = (low + last) // 2
                fallen = n * self._fall(theta, step * middle)
                low, last = (low, middle) if fallen > deep else (middle, last)
        return Line(theta, period, last) if last <= _MAX_NODES else None

    def _saddle(self, n: int, t: float) -> float:
        """Return where the slope of n variables is t + 1/theta, about."""
        low, high = 0.0, self.rate
        for _ in range(_STEPS):
            theta = 0.5 * (low + high)
            if n * self._slope(theta) < t + 1 / theta:
                low = theta
            else:
                high = theta
        return min(short(low, _SHORT), self.rate * (1 - 1e-10))

    def _slope(self, theta: float) -> float:
        """Return the derivative of its logarithm."""
        return math.sinh(theta) / (2 * self._gap(theta))

    def _logarithm(self, theta: float) -> float:
        return 2 * math.log(math.sinh(self.rate / 2)) - math.log(self._gap(theta))

    def _fall(self, theta: float, tau: float) -> float:
        """Return the logarithm of its modulus at theta minus that at theta + i tau."""
        gap = self._gap(theta)
        x = math.cosh(theta) * math.sin(tau / 2) ** 2 / gap
        y = math.sinh(theta) * math.sin(tau) / (2 * gap)
        return 0.5 * math.log1p(2 * x + x * x + y * y)

    def _gap(self, theta: float) -> float:
        return math.sinh((self.rate - theta) / 2) * math.sinh((self.rate + theta) / 2)
