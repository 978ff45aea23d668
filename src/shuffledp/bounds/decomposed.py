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

from shuffledp.basics.arrays import usual_errors
from shuffledp.basics.balls import lower_log, positive_part, precision, total, upper_log
from shuffledp.basics.interval import Interval
from shuffledp.bounds.curve import Curve, Proved
from shuffledp.bounds.sketch import Sketch
from shuffledp.decomposition.decomposition import Decomposition
from shuffledp.engine.coarsening import FEW, Side, capped, coarse, sorted_law
from shuffledp.engine.mean import log_mean
from shuffledp.engine.sums import Sum

#: Relative widths of delta: an epsilon of some width asks for no less, and no more than these.
FINEST, _COARSEST = 1e-7, 1e-2

#: Slopes are taken over this share of epsilon.
_SHIFT = 1e-3

#: Of the relative error asked for, what cutting off rare gains and cells may add.
_CAP_SHARE, _CELLS_SHARE = 0.1, 0.5

#: Where cells cost more than was asked for, the contour need not be closer, up to this width.
_COARSEST_CONTOUR = 0.01

#: If an estimate of log delta is so far off, it is made again, so often at most.
_FAR_OFF, _LOOKS = 1.0, 4

#: Of so few users contours skip nothing, and more waves (nodes times cells) than this take too
#: long. Both nodes and cells go with the inverse root of the relative error.
_NOTHING_SKIPPED, _MAX_WAVES = 30, 700_000

#: Cells do not enclose delta more closely than this.
_FINEST_CELLS = 2e-5


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


@usual_errors
def log_delta(
    decomposition: Decomposition, n: int, epsilon: float, rtol: float, side: Side
) -> float:
    """Return a proved bound on log delta from one side, about as close as ``rtol``."""
    if decomposition.spread is not None:
        rtol = max(rtol, _FINEST_CELLS)
    whole = Sketch.of(decomposition, n, epsilon)
    sketch, log = whole.bounded(_CAP_SHARE * rtol), whole.log_delta
    bounds: list[float] = []
    for _ in range(_LOOKS):
        bounds.append(_bound(decomposition, sketch, log, epsilon, rtol, side))
        if not -math.inf < bounds[-1] < log - _FAR_OFF or whole.level == math.inf:
            break
        log = bounds[-1]  # too much was cut off for so small a delta
        sketch = whole.without_rare(_share(log, _CAP_SHARE * rtol))
    return max(bounds) if side == "lower" else min(*bounds, _log_alone(decomposition, epsilon))


def _bound(
    decomposition: Decomposition,
    sketch: Sketch,
    log: float,
    epsilon: float,
    rtol: float,
    side: Side,
) -> float:
    """Return a proved bound; what is said to be log delta decides what is cut off, and how."""
    n, cells = sketch.n, decomposition
    if decomposition.cut is not None:
        points = sketch.points(decomposition.cut, epsilon, _CELLS_SHARE * rtol, log)
        if n <= _NOTHING_SKIPPED and not sketch.tilted.is_extreme:
            waves = len(points.places) * sketch.tilted.first_plan(rtol / 2).nodes
            if waves > _MAX_WAVES:
                rtol *= waves / _MAX_WAVES
                points = sketch.points(decomposition.cut, epsilon, _CELLS_SHARE * rtol, log)
        rtol = max(rtol, min(points.loss, _COARSEST_CONTOUR))
        cells = decomposition.cut.again(points.places)
    gains = cells.at(epsilon)
    law, cost = gains.lower if side == "lower" else gains.upper, arb(0)
    if len(law.atoms) > FEW:
        with precision():
            law, cost = capped(sorted_law(law), _share(log, _CAP_SHARE * rtol))
            if cells is decomposition:
                law = coarse(law, n, _CELLS_SHARE * rtol, side)
    found = log_mean(Sum.of(law, n), rtol / 2, sketch.level)
    with precision():
        if side == "lower":
            return lower_log(_exp(found.lower) / n + gains.exposed[0])
        return upper_log(_exp(found.upper) / n + gains.exposed[1] + cost)


def _log_alone(decomposition: Decomposition, epsilon: float) -> float:
    """Return the logarithm of what one user alone reveals: others only hide."""
    gains = decomposition.at(epsilon)
    with precision():
        mean = total(atom.mass * positive_part(atom.value) for atom in gains.upper.atoms)
        return upper_log(mean + gains.exposed[1])


def _share(log: float, share: float) -> float:
    """Return a share of what log delta is said to be."""
    return share * math.exp(max(min(log, 0.0), -700.0))


def _exp(log: float) -> arb:
    return arb(0) if log == -math.inf else arb(log).exp()
