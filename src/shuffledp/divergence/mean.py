r"""The mean of :math:`S_+` or of a hockey stick over a sum of blocks, certified.

It is enumerated if that is quick, else summed along the contour. For :math:`S_+` the sum is made
simple before: large values that are rare are taken for jumps (:mod:`shuffledp.divergence.jumps`),
many atoms become few. Elementary bounds help where almost all summands are 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress

import numpy as np

from shuffledp.arrays import UNIT, FloatArray
from shuffledp.decomposition.gparv import Law
from shuffledp.divergence.blocks import BlockSum
from shuffledp.divergence.coarsening import contract, spread
from shuffledp.divergence.contour import chernoff_log_mean, contour_log_mean
from shuffledp.divergence.elementary import (
    bound_by_singles,
    can_be_positive,
    elementary_log_mean,
    is_crowded,
    log_sum,
)
from shuffledp.divergence.enclosure import BEYOND_DOUBLES, LogEnclosure, Sides
from shuffledp.divergence.enumeration import enumerate_log_mean, enumeration_size
from shuffledp.divergence.jumps import DividedSum, JumpTerm, Key
from shuffledp.divergence.kernel import HINGE, Kernel
from shuffledp.divergence.proposals.edges import edges_for
from shuffledp.divergence.proposals.jumps import (
    MERGED,
    JumpPlan,
    choose_jumps,
    class_edges,
    jump_levels,
)
from shuffledp.divergence.proposals.windows import has_few_gains
from shuffledp.divergence.terms import TermPair, add_terms
from shuffledp.divergence.usual import usual_log_mean
from shuffledp.threads import one_thread

# Work is counted in nodes times atoms; 1e5 of them take about as long as 3000 enumerated sums.
_MAX_WORK, _MOST_WORK = 2.5e6, 5e6  # usually, and for more digits
_MANY_DIGITS = 3e-5
_MAX_ATOMS = 200  # laws with more are coarsened
_TINY, _HUGE = 1e-100, 1e100  # sums whose largest value is not between are scaled
_LARGEST_FACTOR = 1e300
_HEAVY_RTOL = 4e-4  # with jumps and many atoms, more digits cost too much
_QUICK_RTOL = 1e-2
_QUICK_WORK = 2e5
_QUICK_ENUMERATION = 3000
_MAX_ENUMERATION = 200_000
_HOPELESS = 2  # of two bounds, in logarithms: fewer jumps make the larger only larger
_PLANS = 3  # a plan that misjudged the size of the answer is made again


@one_thread
def log_mean_positive(lower: BlockSum, upper: BlockSum, *, rtol: float) -> Sides:
    """Bound log E[S_+] from both sides, for two sums around S in convex order, or S twice.

    They are at most ``rtol`` apart, if the two means are, unless double precision or work forbid.
    The cost does not grow with the number of summands.

    >>> from shuffledp.decomposition import Law
    >>> law = Law(np.array([1.0, -1.0]), np.array([0.5, 0.5]), np.zeros(2), np.zeros(2))
    >>> total = BlockSum.of((law, 1), (law, 1))
    >>> mean = log_mean_positive(total, total, rtol=1e-4)
    >>> mean.lower <= math.log(0.5) <= mean.upper
    True
    """
    if (factor := _safe_factor({lower, upper})) != 1:
        small = lower.in_units(factor)
        large = small if upper is lower else upper.in_units(factor)
        return _in_old_units(log_mean_positive(small, large, rtol=rtol), factor)
    crowded = is_crowded(lower) and is_crowded(upper)
    if not crowded:
        widest = max(elementary_log_mean(lower).width, elementary_log_mean(upper).width)
        if widest <= (rtol if upper is lower else rtol / 2):
            return _elementary(lower, upper)
    if upper is lower and enumeration_size(upper) <= _QUICK_ENUMERATION:
        return _both_sides(_evaluate(upper, rtol))
    plan = choose_jumps(upper, rtol) if can_be_positive(upper) else JumpPlan()
    if plan.level == math.inf:
        found = _pair(lower, upper, rtol)
    else:
        many = max(lower.atoms, upper.atoms) > _MAX_ATOMS
        found = _with_jumps(lower, upper, plan, max(rtol, _HEAVY_RTOL) if many else rtol)
    if crowded and found.upper - found.lower <= rtol:
        return found
    elementary = _elementary(lower, upper)
    return Sides(max(elementary.lower, found.lower), min(elementary.upper, found.upper))


def _elementary(lower: BlockSum, upper: BlockSum) -> Sides:
    """Bound the same without any integral."""
    return Sides(elementary_log_mean(lower).lower, elementary_log_mean(upper).upper)


def _pair(lower: BlockSum, upper: BlockSum, rtol: float) -> Sides:
    """Bound the mean of one sum from below and that of another one from above."""
    below, above = _coarsened(lower, upper, rtol)
    if below is above:
        return _both_sides(_evaluate(above, rtol))
    inner, outer = _evaluate(below, rtol / 2), _evaluate(above, rtol / 2)
    return Sides(inner.lower, outer.upper)


def _with_jumps(lower: BlockSum, upper: BlockSum, plan: JumpPlan, rtol: float) -> Sides:
    """Bound the same with values above a level taken for jumps."""
    best = Sides(-math.inf, math.inf)
    for _ in range(_PLANS):
        edges = class_edges(DividedSum(upper, np.array([plan.level])).rest, plan.level)
        above = DividedSum(upper, edges)
        most = _terms(above, edges, plan.orders)
        least = most if lower is upper else _terms(DividedSum(lower, edges), edges, plan.orders)
        terms = [TermPair(least.get(key), most.get(key)) for key in {**least, **most}]
        remainder = above.log_remainder(plan.orders)
        found = add_terms(terms, remainder, plan.log_mean, rtol, _pair)
        best = Sides(max(best.lower, found.lower), min(best.upper, found.upper))
        if remainder <= best.upper + math.log(rtol):
            break
        plan = choose_jumps(upper, rtol, _guess(best))
        if plan.level == math.inf:
            break
    return best


def _terms(divided: DividedSum, edges: FloatArray, orders: int) -> dict[Key, JumpTerm]:
    """Return what fewer than so many jumps add; where there are several, classes are merged."""
    found = divided.terms(min(orders, 2))
    if orders > 2:
        found |= DividedSum(divided.total, edges, MERGED).terms(orders, 2)
    return found


def _guess(sides: Sides) -> float:
    return sides.lower if sides.lower > -math.inf else sides.upper


def _both_sides(mean: LogEnclosure) -> Sides:
    return Sides(mean.lower, mean.upper)


@one_thread
def log_mean(total: BlockSum, kernel: Kernel, *, rtol: float) -> LogEnclosure:
    r"""Enclose log E f(S) for any kernel f; all atoms are used as they are.

    The delta of several rounds is the mean of the hockey stick over the sum of their privacy
    losses, less epsilon. Laws have mass 1: for rounds whose loss is finite with probability m only,
    normalise it, and put the m of all rounds together. A response kept with probability 3/4, twice:

    >>> from shuffledp.decomposition import Law
    >>> from shuffledp.divergence import HOCKEY_STICK
    >>> loss = math.log(3.0)
    >>> law = Law(np.array([loss, -loss]), np.array([0.75, 0.25]), np.full(2, 1e-15), np.zeros(2))
    >>> twice = log_mean(BlockSum.of((law, 2), offset=1.0), HOCKEY_STICK, rtol=1e-6)
    >>> exact = math.log(0.75**2 * (1 - math.exp(1 - 2 * loss)))
    >>> twice.lower <= exact <= twice.upper
    True
    """
    if (factor := _safe_factor({total})) != 1:
        small = log_mean(total.in_units(factor), kernel.in_units(factor), rtol=rtol)
        return _in_old_units(_both_sides(small), factor).enclosure
    with suppress(*BEYOND_DOUBLES):  # else the elementary bounds are left
        return _evaluate(total, rtol, kernel)
    return elementary_log_mean(total, kernel)


@one_thread
def log_mean_bound(total: BlockSum) -> float:
    """Return an upper bound on log E[S_+] from one tilt, much cheaper than an enclosure."""
    if (factor := _safe_factor({total})) == 0:
        return math.inf  # values beyond doubles
    if factor != 1:
        bound = log_mean_bound(total.in_units(factor))
        return _in_old_units(Sides(-math.inf, bound), factor).upper
    bound = bound_by_singles(total)
    if can_be_positive(total):
        with suppress(*BEYOND_DOUBLES):  # the bound by single summands is left
            if choose_jumps(total, _QUICK_RTOL).level == math.inf:
                return min(bound, chernoff_log_mean(total))
            return _bound_with_jumps(total, bound)
    return bound


def _safe_factor(totals: set[BlockSum]) -> float:
    """Return what to multiply with so that squares of the values stay within doubles."""
    sizes = [float(np.abs(law.values).max()) for total in totals for law in total.laws]
    top = max(*sizes, *(abs(total.offset) for total in totals))
    return 1.0 if _TINY <= top <= _HUGE or top == 0 else min(1 / top, _LARGEST_FACTOR)


def _in_old_units(log_mean: Sides, factor: float) -> Sides:
    """Turn the mean of ``factor`` times the sum into that of the sum."""
    shift = math.log(factor)
    # Two units in the last place of the logarithm; one for a curvature.
    slack = UNIT * (4 * abs(shift) + 2)
    lower = LogEnclosure(log_mean.lower - shift, math.inf).widen(slack).lower
    return Sides(lower, LogEnclosure(-math.inf, log_mean.upper - shift).widen(slack).upper)


def _bound_with_jumps(total: BlockSum, best: float) -> float:
    """Return the best bound from one tilt of the rest, and from all jumps, over several levels."""
    for level in jump_levels(total):
        divided = DividedSum(total, np.array([level]))
        if not any(law.jumps for law in divided.laws):
            break
        rest = divided.bound.log_mean
        if best < math.inf and rest > best + _HOPELESS:
            break
        bound = LogEnclosure(-math.inf, log_sum([rest, divided.log_remainder(1)]))
        best = min(best, bound.widen(8 * UNIT).upper)
    return best


def _coarsened(lower: BlockSum, upper: BlockSum, rtol: float) -> tuple[BlockSum, BlockSum]:
    """Return sums of few atoms, below the one and above the other in convex order."""
    small = all(law.size <= _MAX_ATOMS for law in (*lower.laws, *upper.laws))
    if small or not can_be_positive(upper):
        return lower, upper
    edges = edges_for(upper, rtol)
    alike = edges if len(lower.laws) == len(upper.laws) else edges_for(lower, rtol)
    return _in_cells(lower, alike, contract), _in_cells(upper, edges, spread)


def _in_cells(
    total: BlockSum, edges: Sequence[FloatArray], coarsen: Callable[[Law, FloatArray], Law]
) -> BlockSum:
    return total.with_laws(
        [
            coarsen(law, own) if law.size > _MAX_ATOMS else law
            for law, own in zip(total.laws, edges, strict=True)
        ]
    )


def _evaluate(total: BlockSum, rtol: float, kernel: Kernel = HINGE) -> LogEnclosure:
    """Enclose log E f(S), by elementary bounds if they suffice."""
    possible = can_be_positive(total)
    if not (possible and is_crowded(total)):
        elementary = elementary_log_mean(total, kernel)
        if elementary.width <= rtol or not possible:
            return elementary
    terms = enumeration_size(total)
    if terms <= _QUICK_ENUMERATION:
        return enumerate_log_mean(total, kernel)
    result = _by_usual_or_contour(total, rtol, kernel)
    if result.width > rtol and terms <= _MAX_ENUMERATION:
        result = result.intersect(enumerate_log_mean(total, kernel))
    return result if result.width <= rtol else result.intersect(elementary_log_mean(total, kernel))


def _by_usual_or_contour(total: BlockSum, rtol: float, kernel: Kernel) -> LogEnclosure:
    """Enclose log E f(S) by what seems quick, then by what has not been tried."""
    first = has_few_gains(total)
    usual = usual_log_mean(total, rtol, kernel) if first else None
    if usual is not None:
        return usual
    result = contour_log_mean(total, rtol, _QUICK_WORK, kernel)
    if result.width <= rtol or enumeration_size(total) <= _MAX_ENUMERATION:
        return result
    if not first and (usual := usual_log_mean(total, rtol, kernel)) is not None:
        return usual.intersect(result)
    work = _MOST_WORK if rtol < _MANY_DIGITS else _MAX_WORK
    return result.intersect(contour_log_mean(total, rtol, work, kernel))
