r"""Certified evaluation of :math:`\delta=\frac1nE[(G_1+\dots+G_n)_+]` for one GPARV."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from shuffledp.arrays import UNIT
from shuffledp.decomposition.gparv import GPARV, Law
from shuffledp.divergence.coarsening import coarsen_law
from shuffledp.divergence.contour import chernoff_log_mean, contour_log_mean
from shuffledp.divergence.enclosure import BEYOND_DOUBLES, LogEnclosure
from shuffledp.divergence.enumeration import enumerate_log_mean, enumeration_size
from shuffledp.divergence.proposals.cuts import choose_cut, cut_levels
from shuffledp.divergence.proposals.edges import edges_for
from shuffledp.divergence.rare import rare_log_mean
from shuffledp.divergence.tail import cut_above

# Work is counted in nodes times atoms; 1e5 of them take about as long as 3000 enumerated sums.
_MAX_WORK = 5e6
_MAX_ATOMS = 200  # laws with more are coarsened
_HUGE = 1e100  # larger values are scaled down, so that squares stay finite
_HEAVY_RTOL = 3e-4  # where single large values rule, more digits cost too much
_QUICK_RTOL = 1e-2
_QUICK_WORK = 2e5
_QUICK_ENUMERATION = 3000
_MAX_ENUMERATION = 200_000


def log_delta(gparv: GPARV, n: int, *, rtol: float = 1e-4) -> LogEnclosure:
    """Enclose log delta; the width is at most ``rtol`` unless double precision or work forbid.

    Where it is wider, the upper end is still no worse than :func:`log_delta_bound`. The answer is a
    function of the arguments: what one evaluation shows, the next one shows again. The cost does
    not grow with n: typically 1e4 sines and cosines, never more than 1e8.

    >>> from shuffledp.decomposition import Decomposition
    >>> d = Decomposition.from_coefficients([0.75, 0.25], [0.25, 0.75], [0.25, 0.25])
    >>> one = log_delta(d.at(0.0), 1)
    >>> one.lower <= math.log(0.5) <= one.upper
    True
    """
    if (top := _largest(gparv)) > _HUGE:
        scaled = log_delta(gparv.scaled(1 / top), n, rtol=rtol)
        shift = math.log(top)
        return LogEnclosure(scaled.lower + shift, scaled.upper + shift).widen(4 * UNIT * shift)
    single = _log_mean_single(gparv.lower), _log_mean_single(gparv.upper)
    alone = _between(gparv, 1, single[0].lower, single[1].upper)
    if n == 1:
        return alone
    result = LogEnclosure(-math.inf, alone.upper)  # delta falls with n
    with suppress(*BEYOND_DOUBLES):  # the bounds of one user and of one tilt are left
        result = result.intersect(_log_delta_of_many(gparv, n, rtol))
    if result.width > rtol:
        result = result.intersect(LogEnclosure(-math.inf, log_delta_bound(gparv, n)))
    return result


def _log_delta_of_many(gparv: GPARV, n: int, rtol: float) -> LogEnclosure:
    """Enclose log delta for n > 1, without any integral where few users count."""
    below, above = (rare_log_mean(law, n) for law in (gparv.lower, gparv.upper))
    rare = _between(gparv, n, below.lower, above.upper)
    return rare if rare.width <= rtol else _evaluate(gparv, n, rtol).intersect(rare)


def _evaluate(gparv: GPARV, n: int, rtol: float) -> LogEnclosure:
    """Enclose log delta for n > 1: cut large values, coarsen, add up."""
    first = _simplify(gparv.lower, n, rtol)
    if first.lower is first.upper is gparv.upper:
        return _delta(gparv, n, _log_mean_positive(first.lower, n, rtol), 0.0)
    second = first if gparv.upper is gparv.lower else _simplify(gparv.upper, n, rtol)
    hint = first.log_delta + math.log(n)
    rtol = rtol / 2 if hint == math.inf else max(rtol / 2, _HEAVY_RTOL)
    below = _log_mean_positive(first.lower, n, rtol, hint)
    above = _log_mean_positive(second.upper, n, rtol, hint)
    return _between(gparv, n, below.lower, above.upper, second.cut_mass)


@dataclass(frozen=True, eq=False)
class _Simplified:
    """Laws below and above one without its largest values, whose E[G; cut] is ``cut_mass``.

    ``log_delta`` is a guess of the answer; infinite if there is none.
    """

    lower: Law
    upper: Law
    cut_mass: float
    log_delta: float


def _simplify(law: Law, n: int, rtol: float) -> _Simplified:
    """Cut large values that are rare and coarsen what has many atoms."""
    proposal = choose_cut(law, n, rtol)
    cut = cut_above(law, proposal.level)
    lower = upper = cut.law
    if lower.size > _MAX_ATOMS and lower.values.max() > 0:
        lower, upper = coarsen_law(cut.law, edges_for(cut.law, n, rtol, proposal.log_delta))
    return _Simplified(lower, upper, cut.mass, proposal.log_delta)


def log_delta_bound(gparv: GPARV, n: int) -> float:
    """Return an upper bound on log delta from one tilt, some 10 times cheaper than `log_delta`."""
    if (top := _largest(gparv)) > _HUGE:
        return log_delta_bound(gparv.scaled(1 / top), n) + math.log(top) * (1 + 4 * UNIT)
    law = gparv.upper
    bound = _log_mean_single(law).upper
    if _has_positive_value(law):
        with suppress(*BEYOND_DOUBLES):  # the bound of one user is left
            if choose_cut(law, n, _QUICK_RTOL).level == math.inf:
                bound = min(bound, chernoff_log_mean(law, n) - math.log(n))
            else:
                bound = _bound_with_jumps(law, n, bound)
    return _delta(gparv, 1, LogEnclosure(-math.inf, bound), 0.0).widen(UNIT * math.log(n)).upper


def _largest(gparv: GPARV) -> float:
    return max(float(np.abs(law.values).max()) for law in (gparv.lower, gparv.upper))


def _bound_with_jumps(law: Law, n: int, best: float) -> float:
    """Return the best bound E[G; cut] + M^n/(e theta n) over several depths of the cut."""
    for level in cut_levels(law):
        cut = cut_above(law, level)
        rest = LogEnclosure(-math.inf, chernoff_log_mean(cut.law, n) - math.log(n))
        bound = rest.plus(0.0, cut.mass).upper
        if cut.law is law or (best < math.inf and rest.upper > best + 2):
            break
        best = min(best, bound)
    return best


def _between(gparv: GPARV, n: int, below: float, above: float, tail: float = 0.0) -> LogEnclosure:
    """Enclose delta by log E[S_+] of the lower law and of the upper one.

    What the upper law counts as singular may be in the lower law, so the two are only comparable
    after that has been added.
    """
    least = _delta(gparv, n, LogEnclosure(below, math.inf), 0.0).lower
    most = _delta(gparv, n, LogEnclosure(-math.inf, above), tail).upper
    return LogEnclosure(least, most)


def _delta(gparv: GPARV, n: int, total: LogEnclosure, tail: float) -> LogEnclosure:
    """Turn the enclosure of E[S_+] into that of delta: divide by n, add what was kept apart."""
    mean = LogEnclosure(total.lower - math.log(n), total.upper - math.log(n))
    mean = mean.widen(2 * UNIT * math.log(n))
    return mean.plus(gparv.singular_lower, gparv.singular_upper + tail)


def _log_mean_positive(law: Law, n: int, rtol: float, hint: float = math.inf) -> LogEnclosure:
    """Enclose log E[(G_1+...+G_n)_+], n > 1; ``hint`` is a guess of it that may be too large."""
    elementary = rare_log_mean(law, n)
    if elementary.width <= rtol or not _has_positive_value(law):
        return elementary
    terms = enumeration_size(law, n)
    if terms <= _QUICK_ENUMERATION:
        return enumerate_log_mean(law, n)
    small = terms <= _MAX_ENUMERATION
    result = contour_log_mean(law, n, rtol, _QUICK_WORK if small else _MAX_WORK, hint)
    if small and result.width > rtol:
        result = result.intersect(enumerate_log_mean(law, n))
    return result.intersect(elementary)


def _has_positive_value(law: Law) -> bool:
    """Whether the largest value is positive beyond doubt, so that tilting makes sense."""
    top = int(np.argmax(law.values))
    return bool(law.values[top] > 8 * law.value_error[top])


def _log_mean_single(law: Law) -> LogEnclosure:
    """Enclose log E[G_+]."""
    above = np.maximum(law.values + law.value_error, 0.0)
    below = np.maximum(law.values - law.value_error, 0.0)
    # In units near the largest value the largest product is about a weight and does not underflow;
    # what underflows elsewhere is less than the least double per atom.
    exponent = max(math.frexp(float(above.max()))[1], -1000)
    unit, shift, least = 0.5**exponent, exponent * math.log(2), law.size * 5e-324
    slack = law.weight_error + (law.size + 4) * UNIT
    upper = float(law.weights @ (above * unit * (1 + slack))) + least * bool(above.any())
    lower = float(law.weights @ (below * unit * (1 - slack))) - least
    return LogEnclosure(
        math.log(lower) + shift if lower > 0 else -math.inf,
        math.log(upper) + shift if upper > 0 else -math.inf,
    ).widen(4 * UNIT * abs(shift))
