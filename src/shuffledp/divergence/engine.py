r"""Certified evaluation of :math:`\delta=\frac1nE[(G_1+\dots+G_n)_+]` for one GPARV."""

from __future__ import annotations

import math
from contextlib import suppress

from shuffledp.arrays import UNIT
from shuffledp.decomposition.gparv import GPARV
from shuffledp.divergence.blocks import BlockSum
from shuffledp.divergence.elementary import log_mean_single
from shuffledp.divergence.enclosure import BEYOND_DOUBLES, LogEnclosure, Sides
from shuffledp.divergence.mean import log_mean_bound, log_mean_positive
from shuffledp.threads import one_thread

_NARROW = 1e-2  # enclosures that bounds from one tilt cannot improve


@one_thread
def log_delta(gparv: GPARV, n: int, *, rtol: float = 1e-4) -> LogEnclosure:
    """Enclose log delta; the width is at most ``rtol`` unless double precision or work forbid.

    Where it is much wider, the upper end is no worse than :func:`log_delta_bound`. The answer is a
    function of the arguments: what one evaluation shows, the next one shows again. The cost does
    not grow with n: typically 1e4 sines and cosines, never more than 1e8.

    >>> from shuffledp.decomposition import Decomposition
    >>> d = Decomposition.from_coefficients([0.75, 0.25], [0.25, 0.75], [0.25, 0.25])
    >>> one = log_delta(d.at(0.0), 1)
    >>> one.lower <= math.log(0.5) <= one.upper
    True
    """
    upper = log_mean_single(gparv.upper)
    lower = upper if gparv.lower is gparv.upper else log_mean_single(gparv.lower)
    alone = _between(gparv, 1, Sides(lower.lower, upper.upper))
    if n == 1:
        return alone
    result = LogEnclosure(-math.inf, alone.upper)  # delta falls with n
    with suppress(*BEYOND_DOUBLES):  # the bounds of one user and of one tilt are left
        result = result.intersect(_log_delta_of_many(gparv, n, rtol))
    if result.width > max(rtol, _NARROW):
        result = result.intersect(LogEnclosure(-math.inf, log_delta_bound(gparv, n)))
    return result


def _log_delta_of_many(gparv: GPARV, n: int, rtol: float) -> LogEnclosure:
    """Enclose log delta for n > 1."""
    lower = BlockSum.of((gparv.lower, n))
    upper = lower if gparv.upper is gparv.lower else BlockSum.of((gparv.upper, n))
    return _between(gparv, n, log_mean_positive(lower, upper, rtol=rtol))


@one_thread
def log_delta_bound(gparv: GPARV, n: int) -> float:
    """Return an upper bound on log delta from one tilt, some 10 times cheaper than `log_delta`."""
    bound = log_mean_bound(BlockSum.of((gparv.upper, n)))
    return _delta(gparv, n, LogEnclosure(-math.inf, bound)).upper


def _between(gparv: GPARV, n: int, sides: Sides) -> LogEnclosure:
    """Enclose delta by log E[S_+] of the lower law and of the upper one.

    What the upper law counts as singular may be in the lower law, so the two are only comparable
    after that has been added.
    """
    least = _delta(gparv, n, LogEnclosure(sides.lower, math.inf)).lower
    most = _delta(gparv, n, LogEnclosure(-math.inf, sides.upper)).upper
    return LogEnclosure(least, most)


def _delta(gparv: GPARV, n: int, total: LogEnclosure) -> LogEnclosure:
    """Turn the enclosure of E[S_+] into that of delta: divide by n, add what was kept apart."""
    return per_user(total, n).plus(gparv.singular_lower, gparv.singular_upper)


def per_user(total: LogEnclosure, n: int) -> LogEnclosure:
    """Enclose the logarithm of a mean over n users from that of their sum."""
    log_n = math.log(n)
    # The logarithm is good to two units in the last place.
    return LogEnclosure(total.lower - log_n, total.upper - log_n).widen(4 * UNIT * log_n)
