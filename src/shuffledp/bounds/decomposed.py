r"""The curve of one decomposition: :math:`\delta(\varepsilon)=\frac1nE[(G_1+\dots+G_n)_+]`.

With the blanket of a pair of inputs it is an upper bound over all datasets that differ in this
pair (paper, theorem 5); with the law of an input in place of the blanket it is what two concrete
datasets reveal, all other users holding that input (paper, theorem 14).
"""

from __future__ import annotations

import math
from functools import cached_property, lru_cache

import numpy as np
from flint import arb

from shuffledp.basics.balls import lower_log, precision, total, upper_log
from shuffledp.basics.interval import Interval
from shuffledp.bounds.curve import Curve, Proved
from shuffledp.bounds.delta import log_delta
from shuffledp.bounds.sketch import Sketch
from shuffledp.decomposition.decomposition import Decomposition
from shuffledp.engine.coarsening import Side

#: Relative widths of delta: an epsilon of some width asks for no less, and no more than these.
FINEST, _COARSEST = 1e-7, 1e-2

#: Slopes are taken over this share of epsilon.
_SHIFT = 1e-3


class Decomposed(Curve):
    """The curve of n users.

    Args:
        decomposition: of a pair of inputs.
        n: number of users.
        rtol: relative width of epsilon to aim for.
        where: what the curve belongs to.
        finest: no relative width of delta below this is aimed for.
    """

    def __init__(
        self,
        decomposition: Decomposition,
        n: int,
        rtol: float,
        where: object = None,
        finest: float = FINEST,
    ) -> None:
        self.decomposition, self.n, self.rtol = decomposition, n, rtol
        self.where, self.finest = where, finest

    def above(self, epsilon: float) -> Proved:
        """Prove an upper bound on log delta."""
        return self._proved(epsilon, "upper")

    def below(self, epsilon: float) -> Proved:
        """Prove a lower bound on log delta."""
        return self._proved(epsilon, "lower")

    def _proved(self, epsilon: float, side: Side) -> Proved:
        if epsilon >= self.end.upper:
            return Proved(-math.inf, self.where)
        accuracy = self._accuracy(epsilon)
        return Proved(log_delta(self.decomposition, self.n, epsilon, accuracy, side), self.where)

    def _accuracy(self, epsilon: float) -> float:
        """Return which relative width of delta an epsilon of relative width ``rtol`` needs."""
        if epsilon == 0:
            return self.rtol
        here, before = self.estimate(epsilon), self.estimate(epsilon * (1 - _SHIFT))
        if not math.isfinite(here):
            return self.rtol
        return min(max(self.rtol * (before - here) / _SHIFT / 2, self.finest), _COARSEST)

    def estimate(self, epsilon: float, like: Proved | None = None) -> float:
        """Return log delta in doubles, about."""
        return _estimate(self.decomposition, self.n, epsilon)

    @cached_property
    def floor(self) -> float:
        """The logarithm of the mass of outputs that only the first input can produce."""
        with precision():
            only_first = (s.a for s in self.decomposition.singular if s.b.is_zero())
            return lower_log(total(only_first))

    def quick(self, epsilon: float) -> float:
        r"""Return the logarithm of :math:`M(\theta)^n/(e\theta n)`, and of what is singular."""
        if epsilon >= self.end.upper:
            return -math.inf
        sketch = Sketch.of(self.decomposition, self.n, epsilon)
        if sketch.values[-1] <= 0:
            return math.inf
        gains = self.decomposition.at(epsilon)
        with precision():
            theta = arb(sketch.tilted.theta)
            mgf = total(mass * (theta * gain).exp() for gain, mass in gains.upper.atoms)
            chernoff = mgf**self.n / (arb(1).exp() * theta * self.n)
            return upper_log(chernoff + gains.exposed[1])

    @cached_property
    def end(self) -> Interval:
        """Enclose the smallest epsilon from which on delta is 0."""
        return Interval(self.decomposition.min_end, self.decomposition.max_epsilon)

    def __str__(self) -> str:
        return f"decomposition({self.where})"


@lru_cache(maxsize=1024)
def _estimate(decomposition: Decomposition, n: int, epsilon: float) -> float:
    hidden = Sketch.of(decomposition, n, epsilon).log_delta
    if not decomposition.singular:
        return hidden
    cost = math.exp(epsilon)
    exposed = sum(max(float(s.a) - cost * float(s.b), 0.0) for s in decomposition.singular)
    return float(np.logaddexp(hidden, math.log(exposed))) if exposed > 0 else hidden
