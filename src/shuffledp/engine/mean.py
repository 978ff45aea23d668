r"""Which way to :math:`E f(S)`: a closed form, all likely outcomes, or the contour."""

from __future__ import annotations

import math

from flint import arb

from shuffledp.basics.arrays import usual_errors
from shuffledp.basics.balls import (
    PRECISION,
    lower_log,
    positive_part,
    precision,
    total,
    upper_double,
    upper_log,
)
from shuffledp.basics.interval import Interval
from shuffledp.engine.contour import Contour
from shuffledp.engine.enumeration import Enumeration
from shuffledp.engine.jumps import Jumps
from shuffledp.engine.proposals import Doubles
from shuffledp.engine.sums import Sum

#: An outcome costs about as much as this many nodes of a contour, or waves (nodes times atoms).
_NODES_PER_OUTCOME, _WAVES_PER_OUTCOME = 0.5, 20

#: More outcomes, or waves, than this take longer than anybody waits; the answer becomes wider.
_MAX_OUTCOMES, _MAX_WAVES = 2e5, 4e5

#: A contour that is wider than this many times what is asked for is tried again, with less noise.
_NARROW, _ATTEMPTS, _SMALLEST_STEP = 2.0, 3, 0.05

#: Sums with more large values than this are only bounded.
_MAX_JUMPS = 8

#: Of what is asked for, what all sums that are only bounded may add; how far off one of little
#: weight may be.
_LITTLE, _LOOSEST = 0.05, 0.3

#: Where one way gives a wider answer than this, another one is tried, too.
_VAGUE = 0.01

_ZERO = Interval(-math.inf, -math.inf)


@usual_errors
def log_mean(mean: Sum, rtol: float, level: float = math.inf) -> Interval:
    """Enclose log E f(S), about as closely as ``rtol`` where that does not take too long.

    Args:
        mean: the sum; of copies of one law, under :math:`x_+`, if there is a level.
        rtol: relative width to aim for.
        level: values above it are large and rare, and the sum is split by how many there are.

    >>> from shuffledp.engine.sums import Law
    >>> with precision():
    ...     coin = Law.of([(arb(1), arb(0.5)), (arb(-1), arb(0.5))])
    >>> two = log_mean(Sum.of(coin, 2), 1e-6)  # E (S)_+ = 2 / 4
    >>> round(two.lower, 9) == round(two.upper, 9) == round(math.log(0.5), 9)
    True
    """
    with precision(PRECISION):
        if level == math.inf:
            return _log_mean(mean, rtol)
        ((law, times),) = mean.blocks
        found = _split(Jumps.at(law, times, level), rtol)
        return found if _is_close(found, rtol) else _both(found, _log_mean(mean, rtol))


def _split(jumps: Jumps, rtol: float) -> Interval:
    """Enclose the mean of a sum, by the number of its large values."""
    parts = [(n, part, _estimate(n, part)) for n, part in jumps.terms(_MAX_JUMPS)]
    whole = max(estimate for *_, estimate in parts)
    lower, upper, rest = arb(0), arb(0), arb(0)
    for most, (ways, part, estimate) in enumerate(parts):
        found = _log_mean(part, min(rtol * math.exp(min(whole - estimate, 20.0)), _LOOSEST))
        lower += ways * (arb(found.lower).exp() if found.lower > -math.inf else arb(0))
        upper += ways * (arb(found.upper).exp() if found.upper > -math.inf else arb(0))
        rest = jumps.rest(most)
        size = lower if lower > 0 else arb(min(whole, 700.0)).exp()
        if rest <= _LITTLE * rtol * size:
            break
    return Interval(lower_log(lower), upper_log(upper + rest))


def _estimate(ways: int, mean: Sum) -> float:
    return -math.inf if _is_never_positive(mean) else math.log(ways) + Doubles.of(mean).log_estimate


def _largest(mean: Sum) -> arb:
    tops = total(max(a.value.upper() for a in law.atoms) * n for law, n in mean.blocks)
    return tops - mean.offset


def _is_never_positive(mean: Sum) -> bool:
    return bool(_largest(mean) <= 0)


def _log_mean(mean: Sum, rtol: float) -> Interval:
    if _is_never_positive(mean):
        return _ZERO
    known = total(max(a.value.lower() for a in law.atoms) * n for law, n in mean.blocks)
    if not known - mean.offset > 0:  # above 0 by rounding, if at all
        return Interval(-math.inf, upper_log(mean.kernel(_largest(mean))))
    if len(mean.blocks) == 1 and mean.blocks[0].times == 1:
        return _of_one(mean)
    smallest = total(min(a.value.lower() for a in law.atoms) * n for law, n in mean.blocks)
    if mean.curvature == 0 and smallest - mean.offset >= 0:
        return _of_positive(mean)
    return _by_outcomes_or_contour(mean, rtol)


def _by_outcomes_or_contour(mean: Sum, rtol: float) -> Interval:
    doubles, best = Doubles.of(mean), _roughly(mean)
    if doubles.is_extreme:
        return best
    plan = doubles.plan(rtol)
    enumeration = Enumeration(mean, doubles, rtol, doubles.log_estimate)
    atoms = sum(len(law.atoms) for law in mean.laws)
    effort = plan.nodes / _NODES_PER_OUTCOME + plan.nodes * atoms / _WAVES_PER_OUTCOME
    if enumeration.outcomes <= min(_MAX_OUTCOMES, effort):
        return _enumerated(mean, doubles, rtol)
    for _ in range(_ATTEMPTS):
        contour = Contour(mean, plan)
        found = _in_units(contour.lower(), contour.upper(), contour.log_factor)
        best = _both(best, found)
        missing = best.width / rtol
        if missing <= _NARROW or plan.nodes * atoms > _MAX_WAVES:
            break
        plan = plan.finer(max(_SMALLEST_STEP, 1 / missing))
    return best if _is_close(best, rtol) else _both(best, _enumerated(mean, doubles, rtol))


def _enumerated(mean: Sum, doubles: Doubles, rtol: float) -> Interval:
    """List outcomes; where the estimate is far off, what was found says how many."""
    log, best = doubles.log_estimate, Interval(-math.inf, math.inf)
    for _ in range(_ATTEMPTS):
        enumeration = Enumeration(mean, doubles, rtol, log)
        if enumeration.outcomes > _MAX_OUTCOMES:
            break
        enclosure, log_factor = enumeration.enclose()
        best = _both(best, _in_units(enclosure.lower, enclosure.upper, log_factor))
        if best.width <= rtol or not math.isfinite(best.lower):
            break
        log = best.lower
    return best


def _is_close(found: Interval, rtol: float) -> bool:
    return found.width <= max(_VAGUE, _NARROW * rtol)


def _both(one: Interval, other: Interval) -> Interval:
    return Interval(max(one.lower, other.lower), min(one.upper, other.upper))


def _in_units(lower: arb, upper: arb, log_factor: arb) -> Interval:
    low = lower.lower()
    log_low = -upper_double(-(low.log() + log_factor)) if low > 0 else -math.inf
    return Interval(log_low, upper_double(upper.upper().log() + log_factor))


def _of_one(mean: Sum) -> Interval:
    value = total(a.mass * mean.kernel(a.value - mean.offset) for a in mean.laws[0].atoms)
    return Interval(lower_log(value), upper_log(value))


def _of_positive(mean: Sum) -> Interval:
    """Return the mean of a sum that is never negative."""
    value = _mean_of_sum(mean)
    return Interval(lower_log(value), upper_log(value))


def _roughly(mean: Sum) -> Interval:
    r"""Return :math:`(E S)_+\le E f_0(S)`, and :math:`E f_c(S)\le E(S)_+\le\sum E(X_i)_+`."""
    lower = arb(0) if mean.curvature else _mean_of_sum(mean)
    upper = total(
        n * total(a.mass * positive_part(a.value) for a in law.atoms) for law, n in mean.blocks
    )
    return Interval(lower_log(lower), upper_log(upper + positive_part(-mean.offset)))


def _mean_of_sum(mean: Sum) -> arb:
    """Return E S, where laws may lack mass."""
    whole = [total(atom.mass for atom in law.atoms) for law in mean.laws]
    first = total(
        n * law.mean / mass for law, n, mass in zip(mean.laws, mean.times, whole, strict=True)
    )
    value = first - mean.offset
    for mass, n in zip(whole, mean.times, strict=True):
        value *= mass**n
    return value
