"""Certified deltas of several questions at once, for a fraction of what each costs alone."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from shuffledp.arrays import IntArray
from shuffledp.decomposition import Decomposition, LawRows, SmoothRows
from shuffledp.decomposition.smooth import Quadrature
from shuffledp.divergence.enclosure import LogEnclosure
from shuffledp.divergence.engine import per_user
from shuffledp.divergence.proposals.rules import RuleQuestion, choose_finenesses
from shuffledp.divergence.row_contour import chernoff_log_means, contour_log_means
from shuffledp.divergence.smooth import (
    SHARE_OF_CONTOUR,
    USUAL_RTOL,
    log_delta_at,
    log_delta_bound_at,
    with_tails,
)

_FEWEST_ROWS = 3
_FEWEST_USERS = 64  # sums of fewer are enumerated
_MOST_ATOMS = 64
_MOST_NODES = 1024  # of a rule

_Item, _Key = TypeVar("_Item"), TypeVar("_Key")


@dataclass(frozen=True, eq=False)
class Point:
    """Where delta is asked for."""

    decomposition: Decomposition
    n: int
    epsilon: float


def log_deltas_at(points: Sequence[Point], rtols: Sequence[float]) -> list[LogEnclosure]:
    """Enclose log delta at every point to its relative width, as ``log_delta_at`` does one by one.

    Decompositions into few atoms and continuous noise are evaluated together, which takes a fifth
    of the time; the others, and what that does not settle, one after the other. The ends differ from those of single
    answers by less than the relative width; both enclosures hold.

    >>> from shuffledp.randomizers import KRR, Pair
    >>> blanket = KRR(k=10, epsilon0=2.0).blanket(Pair(0, 1))
    >>> points = [Point(blanket, 10_000, epsilon) for epsilon in (0.04, 0.05, 0.06, 0.07)]
    >>> together = log_deltas_at(points, [1e-4] * 4)
    >>> alone = [log_delta_at(point.decomposition, point.n, point.epsilon) for point in points]
    >>> max(abs(x.upper - y.upper) for x, y in zip(together, alone)) < 1e-4
    True
    """
    found: list[LogEnclosure | None] = [None] * len(points)
    for batch in _batches(points, rtols):
        own = [rtols[i] if rule is None else SHARE_OF_CONTOUR * rtols[i] for i, rule in batch.rows]
        means = contour_log_means(batch.laws, batch.times(points), own)
        for (i, rule), mean in zip(batch.rows, means, strict=True):
            if mean is not None:
                value = _per_user(points[i], rule, mean)
                found[i] = value if value.width <= rtols[i] else None
    return [
        log_delta_at(point.decomposition, point.n, point.epsilon, rtol=rtol) if own is None else own
        for point, rtol, own in zip(points, rtols, found, strict=True)
    ]


def log_delta_bounds_at(points: Sequence[Point]) -> list[float]:
    """Return upper bounds on log delta from one tilt at every point, cheaper than enclosures."""
    found = [math.inf] * len(points)
    for batch in _batches(points, [USUAL_RTOL] * len(points)):
        bounds = chernoff_log_means(batch.laws, batch.times(points))
        for (i, rule), bound in zip(batch.rows, bounds, strict=True):
            found[i] = _per_user(points[i], rule, LogEnclosure(-math.inf, bound)).upper
    return [
        log_delta_bound_at(point.decomposition, point.n, point.epsilon) if own == math.inf else own
        for point, own in zip(points, found, strict=True)
    ]


def _per_user(point: Point, rule: Quadrature | None, mean: LogEnclosure) -> LogEnclosure:
    """Turn an enclosure of log E[S_+] into that of log delta."""
    if rule is None:
        return per_user(mean, point.n)
    return with_tails(rule, point.n, point.epsilon, mean)


@dataclass(frozen=True, eq=False)
class _Batch:
    """Points that are evaluated together, by their numbers, and their laws.

    Each has the rule whose nodes stand for its law, or none where its atoms are all there is.
    """

    rows: list[tuple[int, Quadrature | None]]
    laws: LawRows

    def times(self, points: Sequence[Point]) -> IntArray:
        """Return the number of summands in each row."""
        return np.array([points[i].n for i, _ in self.rows])


def _batches(points: Sequence[Point], rtols: Sequence[float]) -> Iterator[_Batch]:
    """Yield points whose laws have equally many atoms, if they can be evaluated together."""
    groups: defaultdict[int, list[int]] = defaultdict(list)
    noise: defaultdict[object, list[int]] = defaultdict(list)
    for i, point in enumerate(points):
        decomposition = point.decomposition
        if point.n < _FEWEST_USERS:
            continue
        if decomposition.smooth is not None:
            noise[decomposition.smooth.kind].append(i)
        elif (
            decomposition.spread is None
            and decomposition.singular0.size == 0
            and 0 < decomposition.size <= _MOST_ATOMS
        ):
            groups[decomposition.size + (decomposition.residual > 0)].append(i)
    for group in _large(groups.values()):
        yield _Batch([(i, None) for i in group], _laws([points[i] for i in group]))
    for group in _large(noise.values()):
        yield from _noise_batches(points, rtols, group)


def _noise_batches(
    points: Sequence[Point], rtols: Sequence[float], group: Sequence[int]
) -> Iterator[_Batch]:
    """Yield points with continuous laws of one kind whose rules have equally many nodes."""
    smooths = {i: smooth for i in group if (smooth := points[i].decomposition.smooth) is not None}
    questions = [
        RuleQuestion(smooth, points[i].n, points[i].epsilon, rtols[i])
        for i, smooth in smooths.items()
    ]
    rules: defaultdict[int, dict[int, Quadrature]] = defaultdict(dict)
    pairs = zip(smooths.items(), choose_finenesses(questions), strict=True)
    for (i, smooth), fineness in pairs:
        if fineness is not None:
            rule = fineness.rule(smooth)
            if rule.nodes.size <= _MOST_NODES:
                rules[rule.nodes.size + (rule.nodes.residual > 0)][i] = rule
    for own in rules.values():
        if len(own) >= _FEWEST_ROWS:
            parts = [
                rule.rows(np.array([points[i].epsilon for i in run]))
                for rule, run in _runs(list(own), lambda i, own=own: own[i])
            ]
            yield _Batch(list(own.items()), SmoothRows.together(parts))


def _large(groups: Iterable[list[int]]) -> list[list[int]]:
    return [group for group in groups if len(group) >= _FEWEST_ROWS]


def _laws(points: Sequence[Point]) -> LawRows:
    """Return the laws of all points; those of one decomposition in a row are made together."""
    parts = [
        decomposition.rows_at(np.array([point.epsilon for point in run]))
        for decomposition, run in _runs(points, lambda point: point.decomposition)
    ]
    return LawRows.joined(parts)


def _runs(
    items: Sequence[_Item], key: Callable[[_Item], _Key]
) -> Iterator[tuple[_Key, Sequence[_Item]]]:
    """Yield runs of items that share an object, and this."""
    begin = 0
    for end in range(1, len(items) + 1):
        if end == len(items) or key(items[end]) is not key(items[begin]):
            yield key(items[begin]), items[begin:end]
            begin = end
