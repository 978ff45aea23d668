r"""Delta of continuous laws from the nodes of a quadrature instead of cells.

A law with unbounded ratios is followed up to some end; what lies beyond is put to G = 0. There
:math:`G_+\le a/c` and :math:`G_-\le e^\varepsilon b/c`, and :math:`x_+` moves by at most as much as
x, so with the masses a and b beyond the end

.. math:: \delta'-e^\varepsilon b\le\delta\le\delta'+a .
"""

from __future__ import annotations

import math
from contextlib import suppress

from shuffledp.arrays import UNIT
from shuffledp.decomposition import Decomposition, Smooth
from shuffledp.decomposition.smooth import Quadrature
from shuffledp.divergence.blocks import BlockSum
from shuffledp.divergence.contour import chernoff_log_mean, contour_log_mean
from shuffledp.divergence.elementary import can_be_positive
from shuffledp.divergence.enclosure import BEYOND_DOUBLES, LogEnclosure
from shuffledp.divergence.engine import log_delta, log_delta_bound, per_user
from shuffledp.divergence.proposals.panels import choose_jump_rule, choose_quadrature
from shuffledp.divergence.smooth_jumps import JumpRule, log_mean_with_jumps
from shuffledp.threads import one_thread

_MAX_WORK = 6e5
_MAX_WORK_WITH_JUMPS = 3e6

#: The least relative width to ask for where jumps rule.
FINEST_WITH_JUMPS = 3e-5

# Enclosures of steep laws by cells that nodes may improve: times the tolerance, and in any case.
_WIDE, _WIDEST = 50.0, 5e-3
_TOO_WIDE = 2.0  # times the tolerance: what a second plan of jumps may improve
_FEW_USERS = 1000  # with fewer, cells are quicker than such a second plan
# About the width of what cells can say where jumps rule, and one that shows that they failed.
_CELLS_WITH_JUMPS, _TOO_WIDE_CELLS = 5e-4, 6e-4

#: Of the tolerance; the rest is for what lies beyond the end.
SHARE_OF_CONTOUR = 0.8

#: How good a rule has to be for a bound from one tilt.
USUAL_RTOL = 1e-4


@one_thread
def log_delta_at(
    decomposition: Decomposition, n: int, epsilon: float, *, rtol: float = 1e-4
) -> LogEnclosure:
    """Enclose log delta at an epsilon: by quadrature if the law is smooth and that is enough.

    >>> from shuffledp.randomizers import Gaussian, Pair
    >>> noise = Gaussian(sigma=1.0).blanket(Pair(0, 1))
    >>> found = log_delta_at(noise, 10_000, 0.0601)
    >>> cells = log_delta(noise.at(0.0601), 10_000, rtol=1e-2)
    >>> found.width < 1e-4, cells.lower < found.lower < found.upper < cells.upper
    (True, True)
    """
    smooth, useful = decomposition.smooth, max(rtol, _CELLS_WITH_JUMPS)
    if smooth is None:
        return log_delta(decomposition.at(epsilon), n, rtol=rtol)
    if epsilon >= smooth.max_epsilon:
        return LogEnclosure(-math.inf, -math.inf)
    if smooth.is_steep:
        cells = log_delta(decomposition.at(epsilon), n, rtol=rtol)
        if cells.width <= accepted_width(decomposition, rtol):
            return cells
        return cells.intersect(_by_quadrature(smooth, n, epsilon, rtol, cells.width))
    found = _by_quadrature(smooth, n, epsilon, rtol, useful)
    if found.width <= useful:
        return found
    cells = log_delta(decomposition.at(epsilon), n, rtol=rtol)
    if found.width == math.inf and cells.width > max(rtol, _TOO_WIDE_CELLS):
        found = _by_quadrature(smooth, n, epsilon, rtol)
    return found.intersect(cells)


def accepted_width(decomposition: Decomposition, rtol: float) -> float:
    """Return how wide the first enclosure may be that is found without looking any further."""
    smooth = decomposition.smooth
    if smooth is None or not smooth.is_steep:
        return rtol
    return max(rtol, min(_WIDE * rtol, _WIDEST))


def _by_quadrature(
    smooth: Smooth, n: int, epsilon: float, rtol: float, useful: float = math.inf
) -> LogEnclosure:
    """Enclose log delta by nodes; nothing is said soon where that is wider than ``useful``."""
    with suppress(*BEYOND_DOUBLES):
        return _log_delta(smooth, n, epsilon, rtol, useful)
    return LogEnclosure(-math.inf, math.inf)


def _log_delta(smooth: Smooth, n: int, epsilon: float, rtol: float, useful: float) -> LogEnclosure:
    """Enclose log delta by the rule that is proposed, with jumps or without.

    A second plan of jumps may improve the first. With few users cells come between the two.
    """
    found = LogEnclosure(-math.inf, math.inf)
    rule = choose_quadrature(smooth, n, epsilon, rtol)
    if rule is not None:
        found = log_delta_by_rule(rule, n, epsilon, rtol)
        if found.width <= rtol:
            return found
    rtol = max(rtol, FINEST_WITH_JUMPS)
    plan = choose_jump_rule(smooth, n, epsilon, rtol)
    if plan is None:
        return found
    jumps, few = LogEnclosure(-math.inf, math.inf), n < _FEW_USERS
    if not few or useful < math.inf:
        jumps = log_delta_by_jumps(plan, n, epsilon, rtol, useful)
    if jumps.width > _TOO_WIDE * rtol and (not few or useful == math.inf):
        plan = choose_jump_rule(smooth, n, epsilon, rtol, (jumps.lower, jumps.upper))
        if plan is not None:
            jumps = jumps.intersect(log_delta_by_jumps(plan, n, epsilon, rtol, useful))
    return found.intersect(jumps)


def log_delta_by_rule(rule: Quadrature, n: int, epsilon: float, rtol: float) -> LogEnclosure:
    """Enclose log delta by the nodes of a quadrature."""
    law = rule.law(epsilon)
    total = BlockSum.of((law, n))
    if not (law.is_moderate and can_be_positive(total)):
        return LogEnclosure(-math.inf, math.inf)
    mean = contour_log_mean(total, SHARE_OF_CONTOUR * rtol, _MAX_WORK)
    return with_tails(rule, n, epsilon, mean)


def log_delta_by_jumps(
    plan: JumpRule, n: int, epsilon: float, rtol: float, useful: float = math.inf
) -> LogEnclosure:
    """Enclose log delta by the nodes of a quadrature whose last panels are jumps."""
    tolerance = SHARE_OF_CONTOUR * rtol
    mean = log_mean_with_jumps(plan, n, epsilon, tolerance, _MAX_WORK_WITH_JUMPS, useful)
    return with_tails(plan.rule, n, epsilon, mean)


@one_thread
def log_delta_bound_at(decomposition: Decomposition, n: int, epsilon: float) -> float:
    """Return an upper bound on log delta from one tilt, much cheaper than an enclosure."""
    if decomposition.smooth is not None and not decomposition.smooth.is_steep:
        rule = choose_quadrature(decomposition.smooth, n, epsilon, USUAL_RTOL)
        if rule is not None:
            law = rule.law(epsilon)
            total = BlockSum.of((law, n))
            with suppress(*BEYOND_DOUBLES):
                if law.is_moderate and can_be_positive(total):
                    bound = LogEnclosure(-math.inf, chernoff_log_mean(total))
                    return with_tails(rule, n, epsilon, bound).upper
    return log_delta_bound(decomposition.at(epsilon), n)


def with_tails(rule: Quadrature, n: int, epsilon: float, mean: LogEnclosure) -> LogEnclosure:
    """Turn the enclosure of log E[S_+] of the law up to its end into that of log delta."""
    kept = per_user(mean, n)
    if rule.exposed == 0:
        return kept
    lost = epsilon + math.log(rule.exposed)  # the logarithm of e^epsilon b, or more
    lower = -math.inf
    if kept.lower > lost + 1:
        lower = kept.lower + math.log1p(-math.exp(lost - kept.lower + 1e-9))
    ends = LogEnclosure(lower, kept.plus(0.0, rule.exposed).upper)
    return ends.widen(8 * UNIT * (1 + abs(lost)))
