r"""Sums of many two-sided geometric variables in balls: a sum along a contour.

Let M be the moment generating function of one variable, :math:`z=\theta+i\tau` with a real part
between 0 and the rate, where M exists. In units of :math:`M(\theta)^ne^{-\theta t}`,

.. math:: g(t)=\frac1{2\pi}\int_{-\pi}^\pi\Big(\frac{M(z)}{M(\theta)}\Big)^ne^{-i\tau t}\,
          \frac{e^{z\Delta}-e^\varepsilon}{1-e^{-z}}\,d\tau ;

without the denominator it is D(t). Every error is counted:

1. The trapezoidal rule with step :math:`2\pi/L` gives :math:`\sum_me^{\theta mL}g(t+mL)` (Poisson).
   For m < 0, :math:`|g|\le e^\varepsilon`. For m > 0 and any s between :math:`\theta` and the rate,
   :math:`P(S\ge x)\le M(s)^ne^{-sx}`, so
   :math:`|g(x)|\le M(s)^ne^{-sx}\max(e^{s\Delta},e^\varepsilon)`. The same holds for D, as masses
   are at most tails.
2. Nodes beyond the last one: :math:`|M|` falls with :math:`|\tau|`, and the denominator grows.
   Together they weigh 1.

Where the nodes are is a matter of width only, see :mod:`shuffledp.bounds.sums.line`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from flint import acb, acb_poly, arb

from shuffledp.basics.balls import positive_part, total
from shuffledp.bounds.sums.line import Line
from shuffledp.bounds.sums.shift import ShiftedSum
from shuffledp.engine.enclosure import Method

_PARTS = (0.01, 0.03, 0.1, 0.3, 0.6, 0.9)  # of the way to the next end of the strip


@dataclass(frozen=True)
class ManyGeometric(ShiftedSum):
    """The sum of n two-sided geometric variables, alpha = e^(-rate), along a line.

    Attributes:
        n: how many there are.
        rate: minus the logarithm of alpha.
        shift: by how much the sum moves; thresholds are the integers from half of it on.
        growth: e^epsilon.
        line: where the nodes are.
    """

    n: int
    rate: arb
    shift: int
    growth: arb
    line: Line

    def tail(self, number: int) -> arb:
        """Enclose g."""
        return self._evaluate(number, self._tails, self._dropped / abs(_divisor(self._end)))

    def difference(self, number: int) -> arb:
        """Enclose D."""
        return self._evaluate(number, self._differences, self._dropped)

    def between(self, low: int, high: int) -> arb:
        """Bound the sum of what is above 0."""
        return total(positive_part(self.difference(k)) for k in range(low + 1, high))

    @property
    def method(self) -> Method:
        """The nodes."""
        theta, period = self.line.theta.hex(), self.line.period
        return {"name": "contour", "theta": theta, "period": period, "nodes": self.line.last + 1}

    def _evaluate(self, number: int, nodes: acb_poly, dropped: arb) -> arb:
        t = arb(self.shift // 2 + number)
        rotation = acb(0, -2 * arb.pi() * t / self.line.period).exp()
        value = (2 * nodes(rotation).real - nodes[0].real) / self.line.period
        unit = (-self.n * self._least.log() - self.line.theta * t).exp()
        error = (unit * dropped + self._aliases(t)).upper()
        return unit * value + arb(0, error)

    def _inverse(self, z: acb) -> acb:
        r"""Return :math:`1/M=(1-\alpha e^z)(1-\alpha e^{-z})/(1-\alpha)^2`."""
        return (z - self.rate).expm1() * (-z - self.rate).expm1() / (-self.rate).expm1() ** 2

    @cached_property
    def _least(self) -> arb:
        """1/M at theta."""
        return self._inverse(acb(self.line.theta)).real

    def _node(self, k: int) -> acb:
        return acb(self.line.theta, 2 * arb.pi() * k / self.line.period)

    @property
    def _end(self) -> acb:
        return self._node(self.line.last)

    @cached_property
    def _points(self) -> list[tuple[acb, acb]]:
        """The nodes and the integrand of D without its rotation."""
        points = map(self._node, range(self.line.last + 1))
        return [(z, (self._least / self._inverse(z)) ** self.n * self._bracket(z)) for z in points]

    @cached_property
    def _differences(self) -> acb_poly:
        return acb_poly([value for _, value in self._points])

    @cached_property
    def _tails(self) -> acb_poly:
        return acb_poly([value / _divisor(z) for z, value in self._points])

    def _bracket(self, z: acb) -> acb:
        return (z * self.shift).exp() - self.growth

    @cached_property
    def _dropped(self) -> arb:
        """A bound on what the nodes left out add to D, in units."""
        if 2 * self.line.last + 1 >= self.line.period:
            return arb(0)
        power = abs(self._least / self._inverse(self._end)) ** self.n
        largest = (arb(self.line.theta) * self.shift).exp() + self.growth
        return (power * largest).upper()

    def _aliases(self, t: arb) -> arb:
        """Bound the terms m < 0 and m > 0 of the Poisson sum."""
        theta, period = self.line.theta, self.line.period
        before = (-arb(theta) * period).exp()
        gap = min((self.rate - theta).lower(), arb(theta))
        found = [self._after(t, theta + gap * part) for part in _PARTS]
        return self.growth * before / (1 - before) + min(found)

    def _after(self, t: arb, s: arb) -> arb:
        largest = max((s * self.shift).exp().upper(), self.growth.upper())
        decay = (-(s - self.line.theta) * self.line.period).exp()
        power = (-self.n * self._inverse(acb(s)).real.log() - s * t).exp()
        return (largest * power * decay / (1 - decay)).upper()


def _divisor(z: acb) -> acb:
    """Return 1 - e^(-z)."""
    return -(-z).expm1()
