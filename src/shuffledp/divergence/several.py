"""Certified deltas of several questions at once, for a fraction of what each costs alone."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from shuffledp.decomposition import LawRows
from shuffledp.divergence.enclosure import LogEnclosure
from shuffledp.divergence.engine import per_user
from shuffledp.divergence.noise_points import NoisePoints
from shuffledp.divergence.point import Point
from shuffledp.divergence.row_contour import chernoff_log_means, contour_log_means
from shuffledp.divergence.smooth import log_delta_at, log_delta_bound_at
from shuffledp.threads import one_thread

_FEWEST_ROWS = 3
_FEWEST_USERS = 64  # sums of fewer are enumerated
_MOST_ATOMS = 1024


@one_thread
def log_deltas_at(points: Sequence[Point], rtols: Sequence[float]) -> list[LogEnclosure]:
    """Enclose log delta at every point to its relative width, as ``log_delta_at`` does one by one.

    Decompositions into few atoms and continuous noise are evaluated together, which takes a fifth
    of the time; the others, and what that does not settle, one after the other. The ends differ
    from those of single answers by less than the relative width; both enclosures hold.

    >>> from shuffledp.randomizers import KRR, Pair
    >>> blanket = KRR(k=10, epsilon0=2.0).blanket(Pair(0, 1))
    >>> points = [Point(blanket, 10_000, epsilon) for epsilon in (0.04, 0.05, 0.06, 0.07)]
    >>> together = log_deltas_at(points, [1e-4] * 4)
    >>> alone = [log_delta_at(point.decomposition, point.n, point.epsilon) for point in points]
    >>> max(abs(x.upper - y.upper) for x, y in zip(together, alone)) < 1e-4
    True
    """
    found: list[LogEnclosure | None] = [None] * len(points)
    for group in _groups(points):
        own = [points[i] for i in group]
        times = np.array([point.n for point in own])
        means = contour_log_means(_laws(own), times, [rtols[i] for i in group])
        for i, mean in zip(group, means, strict=True):
            found[i] = None if mean is None else per_user(mean, points[i].n)
    for noise in _noise(points):
        for i, value in noise.log_deltas(rtols).items():
            found[i] = value
    return [
        log_delta_at(point.decomposition, point.n, point.epsilon, rtol=rtol) if own is None else own
        for point, rtol, own in zip(points, rtols, found, strict=True)
    ]


@one_thread
def log_delta_bounds_at(points: Sequence[Point]) -> list[float]:
    """Return upper bounds on log delta from one tilt at every point, cheaper than enclosures."""
    found = [math.inf] * len(points)
    for group in _groups(points):
        own = [points[i] for i in group]
        bounds = chernoff_log_means(_laws(own), np.array([point.n for point in own]))
        for i, bound in zip(group, bounds, strict=True):
            found[i] = per_user(LogEnclosure(-math.inf, bound), points[i].n).upper
    for noise in _noise(points):
        for i, bound in noise.log_delta_bounds().items():
            found[i] = bound
    return [
        log_delta_bound_at(point.decomposition, point.n, point.epsilon) if own == math.inf else own
        for point, own in zip(points, found, strict=True)
    ]


def _groups(points: Sequence[Point]) -> list[list[int]]:
    """Return which points have laws with equally many atoms, if they can be evaluated together."""
    groups = defaultdict(list)
    for i, point in enumerate(points):
        decomposition = point.decomposition
        if (
            point.n >= _FEWEST_USERS
            and decomposition.smooth is None
            and decomposition.spread is None
            and decomposition.singular0.size == 0
            and 0 < decomposition.size <= _MOST_ATOMS
        ):
            groups[decomposition.size + (decomposition.residual > 0)].append(i)
    return [group for group in groups.values() if len(group) >= _FEWEST_ROWS]


def _noise(points: Sequence[Point]) -> list[NoisePoints]:
    """Return the points with continuous laws of each kind."""
    kinds = defaultdict(list)
    for i, point in enumerate(points):
        smooth = point.decomposition.smooth
        if smooth is not None and not smooth.is_steep and point.n >= _FEWEST_USERS:
            kinds[smooth.kind].append((i, smooth))
    return [NoisePoints(points, own) for own in kinds.values()]


def _laws(points: Sequence[Point]) -> LawRows:
    """Return the laws of all points; those of one decomposition in a row are made together."""
    parts, begin = [], 0
    for end in range(1, len(points) + 1):
        if end == len(points) or points[end].decomposition is not points[begin].decomposition:
            epsilons = np.array([point.epsilon for point in points[begin:end]])
            parts.append(points[begin].decomposition.rows_at(epsilons))
            begin = end
    return LawRows.joined(parts)
