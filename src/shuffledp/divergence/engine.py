r"""Certified evaluation of :math:`\delta=\frac1nE[(G_1+\dots+G_n)_+]` for one GPARV."""

from __future__ import annotations

import math

import numpy as np

from shuffledp.decomposition.arithmetic import UNIT
from shuffledp.decomposition.gparv import GPARV, Law
from shuffledp.divergence.coarsening import coarsen_law
from shuffledp.divergence.contour import chernoff_log_mean, contour_log_mean
from shuffledp.divergence.enclosure import LogEnclosure
from shuffledp.divergence.enumeration import enumerate_log_mean, enumeration_size
from shuffledp.divergence.tail import cut_tail

# Work is counted in nodes times atoms; 1e5 of them take about as long as 3000 enumerated sums.
_MAX_WORK = 1e7
_HEAVY_RTOL = 3e-4  # where single large values rule, more digits cost too much
_QUICK_WORK = 2e5
_QUICK_ENUMERATION = 3000
_MAX_ENUMERATION = 200_000


def log_delta(gparv: GPARV, n: int, *, rtol: float = 1e-4) -> LogEnclosure:
    """Enclose log delta; the width is at most ``rtol`` unless double precision or work forbid.

    The cost does not grow with n: typically 1e4 sines and cosines, never more than 1e8.

    >>> from shuffledp.decomposition import Decomposition
    >>> d = Decomposition.from_coefficients([0.75, 0.25], [0.25, 0.75], [0.25, 0.25])
    >>> one = log_delta(d.at(0.0), 1)
    >>> one.lower <= math.log(0.5) <= one.upper
    True
    """
    if n == 1:
        below, above = _log_mean_single(gparv.lower), _log_mean_single(gparv.upper)
        return _delta(gparv, n, LogEnclosure(below.lower, above.upper), 0.0)
    cut = cut_tail(gparv.lower, n, rtol)
    lower, upper = coarsen_law(cut.law, n, rtol, cut.log_delta)
    if upper is lower is gparv.upper:
        return _delta(gparv, n, _log_mean_positive(lower, n, rtol), 0.0)
    hint = cut.log_delta + math.log(n)
    if gparv.upper is not gparv.lower:
        cut = cut_tail(gparv.upper, n, rtol)
        _, upper = coarsen_law(cut.law, n, rtol, cut.log_delta)
    rtol = rtol / 2 if hint == math.inf else max(rtol / 2, _HEAVY_RTOL)
    below = _log_mean_positive(lower, n, rtol, hint)
    above = _log_mean_positive(upper, n, rtol, hint)
    return _delta(gparv, n, LogEnclosure(below.lower, above.upper), cut.mass)


def log_delta_bound(gparv: GPARV, n: int) -> float:
    """Return an upper bound on log delta from one tilt, some 20 times cheaper than `log_delta`."""
    cut = cut_tail(gparv.upper, n, 1e-2)
    law = cut.law
    single = _log_mean_single(law).upper + math.log(n)  # E S_+ <= n E G_+
    bound = min(single, chernoff_log_mean(law, n)) if _has_positive_value(law) else single
    return _delta(gparv, n, LogEnclosure(-math.inf, bound), cut.mass).widen(0.0).upper


def _delta(gparv: GPARV, n: int, total: LogEnclosure, tail: float) -> LogEnclosure:
    """Turn the enclosure of E[S_+] into that of delta: divide by n, add what was kept apart."""
    mean = LogEnclosure(total.lower - math.log(n), total.upper - math.log(n))
    mean = mean.widen(2 * UNIT * math.log(n))
    return mean.plus(gparv.singular_lower, gparv.singular_upper + tail)


def _log_mean_positive(law: Law, n: int, rtol: float, hint: float = math.inf) -> LogEnclosure:
    """Enclose log E[(G_1+...+G_n)_+], n > 1; ``hint`` is a guess of it that may be too large."""
    single = _log_mean_single(law).upper + math.log(n)  # E S_+ <= n E G_+
    if not _has_positive_value(law):
        return LogEnclosure(-math.inf, single).widen(0.0)
    terms = enumeration_size(law, n)
    if terms <= _QUICK_ENUMERATION:
        return enumerate_log_mean(law, n)
    if terms > _MAX_ENUMERATION:
        return contour_log_mean(law, n, rtol, _MAX_WORK, hint)
    quick = contour_log_mean(law, n, rtol, _QUICK_WORK, hint)
    return quick if quick.width <= rtol else enumerate_log_mean(law, n).intersect(quick)


def _has_positive_value(law: Law) -> bool:
    """Whether the largest value is positive beyond doubt, so that tilting makes sense."""
    top = int(np.argmax(law.values))
    return bool(law.values[top] > 8 * law.value_error[top])


def _log_mean_single(law: Law) -> LogEnclosure:
    """Enclose log E[G_+]."""
    slack = law.weight_error + (law.size + 4) * UNIT
    above = np.maximum(law.values + law.value_error, 0.0)
    below = np.maximum(law.values - law.value_error, 0.0)
    upper, lower = (
        float(law.weights @ (above * (1 + slack))),
        float(law.weights @ (below * (1 - slack))),
    )
    return LogEnclosure(
        math.log(lower) if lower > 0 else -math.inf, math.log(upper) if upper > 0 else -math.inf
    ).widen(0.0)
