r"""Sums of many Laplace or two-sided geometric variables in balls: a sum along a contour.

Let M be the moment generating function of one variable, :math:`z=\theta+i\tau` with a real part
:math:`\theta>0` inside the strip where M exists, and d(z) = z for densities, :math:`1-e^{-z}` on
the integers. In units of :math:`M(\theta)^ne^{-\theta t}`,

.. math:: g(t)=\frac1{2\pi}\int\Big(\frac{M(z)}{M(\theta)}\Big)^ne^{-i\tau t}\,
          \frac{e^{z\Delta}-e^\varepsilon}{d(z)}\,d\tau ,

over all :math:`\tau`, or one period of the integers; without d it is D(t). Every error is counted:

1. The trapezoidal rule with step :math:`2\pi/L` gives :math:`\sum_me^{\theta mL}g(t+mL)` (Poisson).
   For m < 0, :math:`|g|\le e^\varepsilon`. For m > 0 and any s between :math:`\theta` and the end
   of the strip, :math:`P(S\ge x)\le M(s)^ne^{-sx}`, so
   :math:`|g(x)|\le M(s)^ne^{-sx}\max(e^{s\Delta},e^\varepsilon)`. The same holds for D: masses are
   at most tails, and the density of a Laplace sum is at most :math:`\frac12M(s)^{n-1}e^{-sx}`, by
   the last of its variables.
2. Nodes beyond the last one: :math:`|M|` falls with :math:`|\tau|`, and 1/|d|, too. On the integers
   they weigh 1 together. For Laplace noise :math:`|1-z^2|^2=((1-\theta)^2+\tau^2)((1+\theta)^2+
   \tau^2)`, so the integral of :math:`|M/M(\theta)|^n` beyond T is at most its value at T times
   :math:`\frac{(1-\theta)^2+T^2}{T(n-2)}`.

Where the nodes are is a matter of width only, see :mod:`shuffledp.certification.line`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property

from flint import acb, acb_poly, arb

from shuffledp.certification.balls import positive_part, total
from shuffledp.certification.enclosure import Method
from shuffledp.certification.finite_shift import laplace_between
from shuffledp.certification.line import Line
from shuffledp.certification.shifted_sum import ShiftedSum

_PARTS = (0.01, 0.03, 0.1, 0.3, 0.6, 0.9)  # of the way to the next end of the strip


class ManyVariables(ShiftedSum, ABC):
    """The sum of n independent variables, moved by ``shift``, along a line.

    Attributes:
        n: how many there are.
        shift: by how much the sum moves.
        growth: e^epsilon.
        line: where the nodes are.
    """

    n: int
    shift: arb
    growth: arb
    line: Line

    @abstractmethod
    def inverse(self, z: acb) -> acb:
        """Return 1/M."""

    @abstractmethod
    def divisor(self, z: acb) -> acb:
        """Return d."""

    @property
    @abstractmethod
    def strip(self) -> arb:
        """Where M ends to exist."""

    @abstractmethod
    def threshold(self, number: int) -> arb:
        """Return t."""

    @abstractmethod
    def weight_beyond(self) -> arb:
        """Bound the weight of the nodes left out, by the modulus at the last one that is not."""

    def tail(self, number: int) -> arb:
        """Enclose g."""
        return self._evaluate(number, self._tails, self._dropped / abs(self.divisor(self._end)))

    def difference(self, number: int) -> arb:
        """Enclose D."""
        return self._evaluate(number, self._differences, self._dropped)

    @property
    def method(self) -> Method:
        """The nodes."""
        theta, period = self.line.theta.hex(), self.line.period
        return {"name": "contour", "theta": theta, "period": period, "nodes": self.line.last + 1}

    def _evaluate(self, number: int, nodes: acb_poly, dropped: arb) -> arb:
        t = self.threshold(number)
        rotation = acb(0, -2 * arb.pi() * t / self.line.period).exp()
        value = (2 * nodes(rotation).real - nodes[0].real) / self.line.period
        unit = (-self.n * self._inverse.log() - self.line.theta * t).exp()
        error = (unit * dropped + self._aliases(t)).upper()
        return unit * value + arb(0, error)

    @cached_property
    def _inverse(self) -> arb:
        """1/M at theta."""
        return self.inverse(acb(self.line.theta)).real

    def _node(self, k: int) -> acb:
        return acb(self.line.theta, 2 * arb.pi() * k / self.line.period)

    @property
    def _end(self) -> acb:
        return self._node(self.line.last)

    @cached_property
    def _points(self) -> list[tuple[acb, acb]]:
        """The nodes and the integrand of D without its rotation."""
        points = map(self._node, range(self.line.last + 1))
        return [(z, (self._inverse / self.inverse(z)) ** self.n * self._bracket(z)) for z in points]

    @cached_property
    def _differences(self) -> acb_poly:
        return acb_poly([value for _, value in self._points])

    @cached_property
    def _tails(self) -> acb_poly:
        return acb_poly([value / self.divisor(z) for z, value in self._points])

    def _bracket(self, z: acb) -> acb:
        return (z * self.shift).exp() - self.growth

    @cached_property
    def _dropped(self) -> arb:
        """A bound on what the nodes left out add to D, in units."""
        power = abs(self._inverse / self.inverse(self._end)) ** self.n
        largest = (self.line.theta * self.shift).exp() + self.growth
        return (power * largest * self.weight_beyond()).upper()

    def _aliases(self, t: arb) -> arb:
        """Bound the terms m < 0 and m > 0 of the Poisson sum."""
        theta, period = self.line.theta, self.line.period
        before = (-arb(theta) * period).exp()
        gap = min((self.strip - theta).lower(), arb(theta))
        found = [self._after(t, theta + gap * part) for part in _PARTS]
        return self.growth * before / (1 - before) + min(found)

    def _after(self, t: arb, s: arb) -> arb:
        largest = max((s * self.shift).exp().upper(), self.growth.upper())
        decay = (-(s - self.line.theta) * self.line.period).exp()
        power = (-self.n * self.inverse(acb(s)).real.log() - s * t).exp()
        return (largest * power * decay / (1 - decay)).upper()


@dataclass(frozen=True)
class ManyLaplace(ManyVariables):
    """The sum of n > 2 Laplace variables of scale 1; thresholds are shift/2 + number * width."""

    n: int
    shift: arb
    growth: arb
    width: arb
    line: Line

    def inverse(self, z: acb) -> acb:
        """Return 1 - z^2."""
        return 1 - z * z

    def divisor(self, z: acb) -> acb:
        """Return z."""
        return z

    @property
    def strip(self) -> arb:
        """It is 1."""
        return arb(1)

    def threshold(self, number: int) -> arb:
        """Return shift/2 + number * width."""
        return self.shift / 2 + number * self.width

    def weight_beyond(self) -> arb:
        """Bound the integral, on both sides."""
        end = self._end.imag
        near = (1 - arb(self.line.theta)) ** 2 + end**2
        return near / (end * (self.n - 2)) / arb.pi()

    def between(self, low: int, high: int) -> arb:
        """Bound the integral of D above 0."""
        return laplace_between(self.difference(high), (high - low) * self.width)


@dataclass(frozen=True)
class ManyGeometric(ManyVariables):
    """The sum of n two-sided geometric variables, alpha = e^(-rate); thresholds are integers."""

    n: int
    rate: arb
    bound: int
    growth: arb
    line: Line

    @property
    def shift(self) -> arb:  # type: ignore[override]
        """The bound."""
        return arb(self.bound)

    @cached_property
    def _alpha(self) -> arb:
        return (-self.rate).exp()

    def inverse(self, z: acb) -> acb:
        r"""Return :math:`(1-\alpha e^z)(1-\alpha e^{-z})/(1-\alpha)^2`."""
        return (z - self.rate).expm1() * (-z - self.rate).expm1() / (-self.rate).expm1() ** 2

    def divisor(self, z: acb) -> acb:
        """Return 1 - e^(-z)."""
        return -(-z).expm1()

    @property
    def strip(self) -> arb:
        """It is the rate."""
        return self.rate

    def threshold(self, number: int) -> arb:
        """Return an integer from half the bound on."""
        return arb(self.bound // 2 + number)

    def weight_beyond(self) -> arb:
        """All nodes together weigh 1."""
        return arb(0) if 2 * self.line.last + 1 >= self.line.period else arb(1)

    def between(self, low: int, high: int) -> arb:
        """Bound the sum of what is above 0."""
        return total(positive_part(self.difference(k)) for k in range(low + 1, high))
