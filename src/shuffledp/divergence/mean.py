r"""The mean of :math:`S_+` or of a hockey stick over a sum of blocks, certified.

It is enumerated if that is quick, else summed along the contour. For :math:`S_+` the sum is made
simple before (large values that are rare are cut, many atoms become few). Elementary bounds help
where almost all summands are 0 (:mod:`shuffledp.divergence.rare`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from shuffledp.arrays import UNIT
from shuffledp.decomposition.gparv import Law
from shuffledp.divergence.blocks import BlockSum
from shuffledp.divergence.coarsening import coarsen_law
from shuffledp.divergence.contour import chernoff_log_mean, contour_log_mean
from shuffledp.divergence.enclosure import BEYOND_DOUBLES, LogEnclosure
from shuffledp.divergence.enumeration import enumerate_log_mean, enumeration_size
from shuffledp.divergence.kernel import HINGE, Kernel
from shuffledp.divergence.proposals.cuts import choose_cut, cut_levels
from shuffledp.divergence.proposals.edges import edges_for
from shuffledp.divergence.rare import rare_log_mean
from shuffledp.divergence.tail import cut_above

# Work is counted in nodes times atoms; 1e5 of them take about as long as 3000 enumerated sums.
_MAX_WORK = 5e6
_MAX_ATOMS = 200  # laws with more are coarsened
_TINY, _HUGE = 1e-100, 1e100  # sums whose largest value is not between are scaled
_LARGEST_FACTOR = 1e300
_HEAVY_RTOL = 3e-4  # where single large values rule, more digits cost too much
_QUICK_RTOL = 1e-2
_QUICK_WORK = 2e5
_QUICK_ENUMERATION = 3000
_MAX_ENUMERATION = 200_000
_DOUBT = 8  # times its error is what the largest sum must exceed to be called positive
_HOPELESS = 2  # of two bounds, in logarithms: cutting less makes the larger only larger


@dataclass(frozen=True, slots=True)
class Sides:
    """A bound from below on log E[S_+] of one sum, and a bound from above on that of another one.

    They enclose what lies between the two sums. If parts of it are kept apart, of different size
    for the two, the sides can be compared only after these have been added.
    """

    lower: float
    upper: float

    @property
    def enclosure(self) -> LogEnclosure:
        """The enclosure, if nothing is kept apart."""
        return LogEnclosure(self.lower, self.upper)


def log_mean_positive(lower: BlockSum, upper: BlockSum, *, rtol: float) -> Sides:
    """Bound log E[S_+] from both sides, for two sums around S in convex order, or S twice.

    They are at most ``rtol`` apart, if the two means are, unless double precision or work forbid.
    The cost does not grow with the number of summands.

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
    least = _elementary(lower)
    most = least if upper is lower else _elementary(upper)
    if max(least.width, most.width) <= (rtol if upper is lower else rtol / 2):
        return Sides(least.lower, most.upper)
    if upper is lower and enumeration_size(upper) <= _QUICK_ENUMERATION:
        return _both_sides(_evaluate(upper, most, rtol))
    below = _simplify(lower, rtol)
    if below.lower is below.upper is upper:
        return _both_sides(_evaluate(upper, most, rtol))
    above = below if upper is lower else _simplify(upper, rtol)
    hint = below.log_mean
    rtol = rtol / 2 if hint == math.inf else max(rtol / 2, _HEAVY_RTOL)
    inner = _evaluate(below.lower, _elementary(below.lower), rtol, hint)
    outer = _evaluate(above.upper, _elementary(above.upper), rtol, hint)
    outer = outer.plus(0.0, above.cut_mass)
    return Sides(max(least.lower, inner.lower), min(most.upper, outer.upper))


def _both_sides(mean: LogEnclosure) -> Sides:
    return Sides(mean.lower, mean.upper)


def log_mean(total: BlockSum, kernel: Kernel, *, rtol: float) -> LogEnclosure:
    r"""Enclose log E f(S) for any kernel f; all atoms are used as they are.

    The delta of several rounds is the mean of the hockey stick over the sum of their privacy
    losses, less epsilon. Laws have mass 1: for rounds whose loss is finite with probability m only,
    normalise it, and put the m of all rounds together. A response kept with probability 3/4, twice:

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
    elementary = _elementary(total, kernel)
    with suppress(*BEYOND_DOUBLES):  # else the elementary bounds are left
        return _evaluate(total, elementary, rtol, kernel=kernel)
    return elementary


def log_mean_bound(total: BlockSum) -> float:
    """Return an upper bound on log E[S_+] from one tilt, much cheaper than an enclosure."""
    if (factor := _safe_factor({total})) != 1:
        bound = log_mean_bound(total.in_units(factor))
        return _in_old_units(Sides(-math.inf, bound), factor).upper
    bound = _bound_by_singles(total)
    if _can_be_positive(total):
        with suppress(*BEYOND_DOUBLES):  # the bound by single summands is left
            if choose_cut(total, _QUICK_RTOL).level == math.inf:
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
    """Return the best bound E[cut] + E e^{theta S'}/(e theta) over several depths of the cut."""
    for level in cut_levels(total):
        cut = _cut(total, level)
        if cut.total is total:
            break
        rest = chernoff_log_mean(cut.total)
        if best < math.inf and rest > best + _HOPELESS:
            break
        best = min(best, LogEnclosure(-math.inf, rest).plus(0.0, cut.mass).upper)
    return best


@dataclass(frozen=True, eq=False)
class _CutSum:
    """A sum without large values; ``mass`` bounds the sum of all E[G; cut]."""

    total: BlockSum
    mass: float


def _cut(total: BlockSum, level: float) -> _CutSum:
    """Set values above the level to 0 in all laws."""
    if level == math.inf:
        return _CutSum(total, 0.0)
    cuts = [cut_above(law, level) for law in total.laws]
    if all(cut.law is law for cut, law in zip(cuts, total.laws, strict=True)):
        return _CutSum(total, 0.0)
    mass = sum(block.times * cut.mass for block, cut in zip(total.blocks, cuts, strict=True))
    # A product and a sum per block.
    mass *= 1 + (len(cuts) + 1) * UNIT
    return _CutSum(total.with_laws([cut.law for cut in cuts]), mass)


@dataclass(frozen=True, eq=False)
class _Simplified:
    """Sums below and above one without its largest values, whose mean is at most ``cut_mass``.

    ``log_mean`` is a guess of the answer; infinite if there is none.
    """

    lower: BlockSum
    upper: BlockSum
    cut_mass: float
    log_mean: float


def _simplify(total: BlockSum, rtol: float) -> _Simplified:
    """Cut large values that are rare and coarsen what has many atoms."""
    if not _can_be_positive(total):
        return _Simplified(total, total, 0.0, math.inf)
    proposal = choose_cut(total, rtol)
    cut = _cut(total, proposal.level)
    lower = upper = cut.total
    if any(law.size > _MAX_ATOMS for law in lower.laws) and _can_be_positive(lower):
        edges = edges_for(lower, rtol, proposal.log_mean)
        cells = [
            coarsen_law(law, chosen) if law.size > _MAX_ATOMS else (law, law)
            for law, chosen in zip(cut.total.laws, edges, strict=True)
        ]
        lower = cut.total.with_laws([below for below, _ in cells])
        upper = cut.total.with_laws([above for _, above in cells])
    return _Simplified(lower, upper, cut.mass, proposal.log_mean)


def _can_be_positive(total: BlockSum) -> bool:
    """Whether the largest sum is positive beyond doubt, so that tilting makes sense."""
    value, error = total.largest
    return value > _DOUBT * error


def _evaluate(
    total: BlockSum,
    elementary: LogEnclosure,
    rtol: float,
    hint: float = math.inf,
    kernel: Kernel = HINGE,
) -> LogEnclosure:
    """Enclose log E f(S), if the elementary bounds do not suffice.

    ``hint`` is a guess of it that may be too large.
    """
    if elementary.width <= rtol or not _can_be_positive(total):
        return elementary
    terms = enumeration_size(total)
    if terms <= _QUICK_ENUMERATION:
        return enumerate_log_mean(total, kernel)
    small = terms <= _MAX_ENUMERATION
    result = contour_log_mean(total, rtol, _QUICK_WORK if small else _MAX_WORK, hint, kernel)
    if small and result.width > rtol:
        result = result.intersect(enumerate_log_mean(total, kernel))
    return result.intersect(elementary)


def _elementary(total: BlockSum, kernel: Kernel = HINGE) -> LogEnclosure:
    """Enclose log E f(S) without any integral: narrow where few summands count."""
    rare = LogEnclosure(-math.inf, math.inf)
    if not (kernel.curvature or total.offset or total.offset_error):
        rare = rare_log_mean(total)
        if rare.upper < math.inf and _can_be_positive(total):
            return rare
    return rare.intersect(LogEnclosure(-math.inf, _bound_by_singles(total, kernel)))


def _bound_by_singles(total: BlockSum, kernel: Kernel = HINGE) -> float:
    r"""Bound log E f(S) from above.

    :math:`E f(S)\le E S_+\le\sum E G_++(-l)_+` for the offset l; at most the largest sum, and 1/c.
    """
    value, error = total.largest
    most = value + error
    if most <= 0:
        return -math.inf
    if kernel.curvature > 0:
        most = min(most, 1 / kernel.curvature)
    counts = [math.log(block.times) for block in total.blocks]
    logs = [n + log_mean_single(law).upper for n, law in zip(counts, total.laws, strict=True)]
    if total.offset < total.offset_error:
        logs.append(math.log(total.offset_error - total.offset))
    bound = LogEnclosure(-math.inf, min(_log_sum(logs), math.log(most)))
    # Logarithms are good to 4 units, and every summand of a sum is rounded once more.
    return bound.widen((len(counts) + 6) * UNIT * (1 + max(counts))).upper


def _log_sum(logs: Iterable[float]) -> float:
    """Return the logarithm of a sum of exponentials."""
    terms = [log for log in logs if log > -math.inf]
    if len(terms) < 2:
        return max(terms, default=-math.inf)
    top = max(terms)
    return top + math.log(math.fsum(math.exp(term - top) for term in terms))


def log_mean_single(law: Law) -> LogEnclosure:
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
