r"""What n users reveal: :math:`\delta=\frac1nE[(G_1+\dots+G_n)_+]`, G the gains."""

from __future__ import annotations

import math

from flint import arb

from shuffledp.basics.arrays import usual_errors
from shuffledp.basics.balls import lower_log, positive_part, precision, total, upper_log
from shuffledp.bounds.sketch import Sketch
from shuffledp.decomposition.decomposition import Decomposition
from shuffledp.engine.coarsening import FEW, Side, capped, coarse, sorted_law
from shuffledp.engine.mean import log_mean
from shuffledp.engine.sums import Sum

#: Of the relative error asked for, what cutting off rare gains and cells may add.
_CAP_SHARE, _CELLS_SHARE = 0.1, 0.5

#: Where cells cost more than was asked for, the contour need not be closer, up to this width.
_COARSEST = 0.01

#: If an estimate of log delta is so far off, it is made again, so often at most.
_FAR_OFF, _LOOKS = 1.0, 4

#: Of so few users contours skip nothing, and more waves (nodes times cells) than this take too
#: long. Both nodes and cells go with the inverse root of the relative error.
_NOTHING_SKIPPED, _MAX_WAVES = 30, 700_000

#: Cells do not enclose delta more closely than this.
_FINEST_CELLS = 2e-5


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
        rtol = max(rtol, min(points.loss, _COARSEST))
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
