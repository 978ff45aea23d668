"""The curve of all ordered pairs of rows of a table: what no tilt settles is proved."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

import numpy as np

from shuffledp.arrays import FloatArray
from shuffledp.bounds.curve import NOTHING, Curve, Proved
from shuffledp.bounds.decomposed import Decomposed
from shuffledp.bounds.rows import Rows
from shuffledp.bounds.sketch import Sketch
from shuffledp.interval import Interval
from shuffledp.newdec.decomposition import Decomposition

#: Tilts that are tried, as multiples of that of the leading pair.
_TILTS = np.geomspace(0.4, 2.5, 7)

#: So many pairs are looked at for an estimate, besides the leading one.
_ESTIMATED = 3


class _Ranking(NamedTuple):
    """The pair that is likely the worst, and what may be as bad, the largest bound first."""

    pair: tuple[int, int]
    others: list[tuple[float, tuple[int, int]]]


class MatrixPairs(Curve):
    """The largest curve of all ordered pairs of different rows of a table.

    Args:
        rows: the laws of the rows, no two of them equal.
        decomposition_of: returns the decomposition of a pair, by the numbers of its rows.
        n: number of users.
        rtol: relative width of epsilon to aim for.
        end: an enclosure of the smallest epsilon from which on delta is 0.
        where: returns what a pair is called.
    """

    def __init__(
        self,
        rows: Rows,
        decomposition_of: Callable[[int, int], Decomposition],
        n: int,
        rtol: float,
        end: Interval,
        where: Callable[[int, int], object] = lambda x, y: (x, y),
    ) -> None:
        self.rows, self.n, self._end = rows, n, end
        self._leader = rows.leader()
        self._known: dict[object, tuple[int, int]] = {}

        def curve(x: int, y: int) -> Decomposed:
            name = where(x, y)
            self._known[name] = x, y
            return Decomposed(decomposition_of(x, y), n, rtol, name)

        self._curve = lru_cache(maxsize=None)(curve)
        self._above = lru_cache(maxsize=64)(self._proved_above)
        self._ranking = lru_cache(maxsize=64)(self._ranked)

    @property
    def end(self) -> Interval:
        """Enclose the smallest epsilon from which on delta is 0."""
        return self._end

    def above(self, epsilon: float) -> Proved:
        """Prove the pair that is likely the worst, and all that no bound in doubles settles."""
        return self._above(epsilon)

    def _proved_above(self, epsilon: float) -> Proved:
        if epsilon >= self.end.upper:
            return NOTHING
        likely, others = self._ranking(epsilon)
        worst = self._curve(*likely).above(epsilon)
        for bound, pair in others:
            if bound <= worst.log:
                break
            worst = max(worst, self._curve(*pair).above(epsilon), key=lambda found: found.log)
        return worst

    def below(self, epsilon: float) -> Proved:
        """Prove a lower bound for the pair that is likely the worst."""
        if epsilon >= self.end.upper:
            return NOTHING
        return self._curve(*self._ranking(epsilon).pair).below(epsilon)

    def estimate(self, epsilon: float, like: Proved | None = None) -> float:
        """Return log delta in doubles, about: of the pair that was proved nearby, or of a few."""
        if epsilon >= self.end.upper:
            return -math.inf
        if like is not None and like.where in self._known:
            return self._curve(*self._known[like.where]).estimate(epsilon)
        bounds = self._bounds(epsilon, [self._tilt(epsilon)])
        return self._sketch(self._likely(epsilon, bounds), epsilon).log_delta

    def _likely(self, epsilon: float, bounds: FloatArray) -> tuple[int, int]:
        """Return the pair with the largest estimate, of the leading one and of a few."""
        order = (divmod(int(i), self.rows.count) for i in np.argsort(-bounds, axis=None))
        return max(
            (self._leader, *islice(order, _ESTIMATED)),
            key=lambda pair: self._sketch(pair, epsilon).log_delta,
        )

    def _bounds(self, epsilon: float, tilts: Sequence[float]) -> FloatArray:
        """Return an upper bound on log delta of every pair, minus infinity on the diagonal."""
        found = [self.rows.by_tilt(self.n, epsilon, theta) for theta in tilts]
        bounds: FloatArray = np.minimum.reduce([self.rows.by_one(epsilon), *found])
        np.fill_diagonal(bounds, -math.inf)
        return bounds

    def _sketch(self, pair: tuple[int, int], epsilon: float) -> Sketch:
        values, masses = self.rows.gains(*pair, epsilon), self.rows.common
        left = max(1 - float(masses.sum()), 0.0)
        return Sketch(np.append(values, 0.0), np.append(masses, left), self.n)

    def _tilt(self, epsilon: float) -> float:
        """Return a tilt that suits the leading pair."""
        sketch = self._sketch(self._leader, epsilon)
        return sketch.parts.doubles.theta if sketch.values[-1] > 0 else 1.0

    def _ranked(self, epsilon: float) -> _Ranking:
        """Bound all pairs by a few tilts."""
        bounds = self._bounds(epsilon, (_TILTS * self._tilt(epsilon)).tolist())
        likely = self._likely(epsilon, bounds)
        order = (divmod(int(i), self.rows.count) for i in np.argsort(-bounds, axis=None))
        others = [(float(bounds[x, y]), (x, y)) for x, y in order if x != y and (x, y) != likely]
        return _Ranking(likely, others)

    def __str__(self) -> str:
        return f"largest({self.rows.count * (self.rows.count - 1)} pairs of rows)"
