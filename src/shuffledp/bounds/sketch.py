r"""The gains at one epsilon in doubles: about how large delta is, and which cells matter.

Nothing here is proved. Where gains are unbounded, delta has two parts: many ordinary gains add up,
or one user's rare gain exceeds what all others lose. One tilt suits the ordinary gains only.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import NamedTuple

import numpy as np

from shuffledp.basics.arrays import FloatArray, usual_errors
from shuffledp.decomposition.decomposition import Cut, Decomposition
from shuffledp.engine.proposals import Doubles

#: If gains are tilted by more than e to this power, sums are split by how many are large; by how
#: many there are at all, if so few of all users have any.
_RARE, _FEW_GAINS = 12.0, 0.05

#: Gains that are tilted by less than e to this power are usual.
_USUAL = 13.0

#: Estimates look at up to so many large gains.
_LARGE = 2

#: Losses that this many of all users have are not seen; gains worth so little are left out.
_UNSEEN, _ROUGH = 0.1, 1e-3

#: The sums of so few users are listed.
_FEW_USERS = 6

#: The sums of up to so many others are listed for densities, if no single tilt suits them.
_LISTED = 100_000

#: Others seldom make up for a loss of more than so many of the largest gains.
_FAR_BELOW = 2.0

#: More cells than this are taken together, for estimates; but not the largest ones, which count
#: even if they are rare.
_MANY, _APART = 128, 16

#: Cells reach so far beyond the largest gain of a sketch, in which some are taken together.
_BEYOND = 1.2

#: Cells that a proof cuts: at least, at most, and which share of them everywhere alike.
_FEWEST, _MOST, _EVENLY = 64, 1500, 0.3


class Points(NamedTuple):
    """Where to cut, and about by how much cells between these points move log delta."""

    places: list[float]
    loss: float


class Sketch:
    """The gains of n users, sorted, in doubles, and up to where they reach."""

    def __init__(
        self, values: FloatArray, masses: FloatArray, n: int, reach: float = math.inf
    ) -> None:
        order = np.argsort(values)
        self.values, self.masses, self.n, self.reach = values[order], masses[order], n, reach

    @classmethod
    def of(cls, decomposition: Decomposition, n: int, epsilon: float) -> Sketch:
        """Return the sketch of a decomposition."""
        values = decomposition.rough_gains(epsilon)
        seen = values > -n * values.max(initial=0.0)  # no others make up for less
        values, masses = values[seen], decomposition.weight[seen]
        if n > _FEW_USERS:
            values, masses = _together(values, masses)
        residual = float(decomposition.residual)
        return cls(np.append(values, 0.0), np.append(masses, residual), n)

    @cached_property
    def tilted(self) -> Doubles:
        """All gains, under one tilt."""
        return Doubles([(self.values, self.masses, self.n)])

    @cached_property
    @usual_errors
    def level(self) -> float:
        """From where on gains are so rare that sums are split by how many there are."""
        if self.n == 1 or self.values[-1] <= 0 or self.tilted.theta * self.values[-1] < _RARE:
            return math.inf
        low = int(np.searchsorted(self.values, 0.0, side="right"))
        if self.n * float(self.masses[low:].sum()) <= _FEW_GAINS:
            return 0.0
        high = self.values.size - 1
        while low + 1 < high:
            place = (low + high) // 2
            usual = Doubles([(self.values[:place], self.masses[:place], self.n)])
            tilt = usual.theta * self.values[place - 1]
            low, high = (place, high) if tilt < _USUAL else (low, place)
        return float(self.values[low - 1]) if self.values[low - 1] > 0 else math.inf

    @cached_property
    @usual_errors
    def log_delta(self) -> float:
        """About log delta."""
        if self.values[-1] <= 0:
            return -math.inf
        return min(self._log_together, self._log_alone)

    @property
    def _log_together(self) -> float:
        if self.n <= _FEW_USERS:
            return self._log_of_few
        logs = [self.tilted.log_estimate]
        if self.level < math.inf:
            rough = min(self._log_single, self._log_alone)
            logs = self.without_rare(_ROUGH * _exp(rough))._log_terms(self.level)
        return float(np.logaddexp.reduce(logs)) - math.log(self.n)

    @cached_property
    def _log_alone(self) -> float:
        """The logarithm of the mean of one user's positive gains, below which log delta is."""
        alone = float(np.maximum(self.values, 0.0) @ self.masses)
        return math.log(max(alone, 1e-300))

    @property
    def _log_single(self) -> float:
        """About log delta if one gain is large, and the sum of all others normal."""
        place = int(np.searchsorted(self.values, self.level, side="right"))
        first = int(np.searchsorted(np.cumsum(self.masses), _UNSEEN / self.n))
        masses, values = self.masses[first:place], self.values[first:place]
        mean = float(masses @ values)
        variance = float(masses @ np.square(values)) - mean**2
        deviation = math.sqrt(max(self.n * variance, 1e-300))
        z = (self.values[place:] + self.n * mean) / deviation
        single = deviation * float(self.masses[place:] @ _positive_part(z))
        return math.log(max(single, 1e-300))

    def _log_terms(self, level: float) -> list[float]:
        """Return estimates of the sums with none, one, and more gains above a level."""
        place = int(np.searchsorted(self.values, level, side="right"))
        parts = [(self.values[i], self.masses[i]) for i in (slice(place), slice(place, None))]
        logs = []
        most = min(_LARGE, self.n) if parts[1][1].sum() > 0 else 0
        for k in range(int(level == 0 < most), most + 1):
            blocks = [(*part, n) for part, n in zip(parts, (self.n - k, k), strict=True) if n]
            doubles = Doubles(blocks)
            found = doubles.log_measured if k == 1 else doubles.log_estimate
            logs.append(math.log(math.comb(self.n, k)) + found)
        return logs

    def bounded(self, share: float) -> Sketch:
        """Return the sketch without gains worth a share of delta, if gains are rare."""
        if self.level == math.inf:
            return self
        return self.without_rare(share * _exp(self.log_delta))

    def without_rare(self, limit: float) -> Sketch:
        """Return the sketch without the largest gains, which are worth ``limit`` in all."""
        gains = np.maximum(self.values, 0.0) * self.masses
        beyond = np.cumsum(gains[::-1])[::-1]
        place = int(np.searchsorted(-beyond, -limit))
        place = max(place, int(np.searchsorted(self.values, 0.0, side="right")) + 1)
        masses = np.append(self.masses[:place], self.masses[place:].sum())
        reach = float(self.values[place - 1]) * _BEYOND
        return Sketch(np.append(self.values[:place], 0.0), masses, self.n, reach)

    @property
    def _log_of_few(self) -> float:
        """About log delta of few users, whose sums are listed."""
        values, masses = _power(*_gathered(self.values, self.masses), self.n)
        delta = float(np.maximum(values, 0.0) @ masses) / self.n
        return math.log(delta) if delta > 0 else -math.inf

    @usual_errors
    def points(self, cut: Cut, epsilon: float, rtol: float, log_delta: float) -> Points:
        """Return where to cut a continuous law, so that cells cost about ``rtol`` of delta.

        What lies beyond this sketch is left out.
        """
        gains = (cut.a - math.exp(epsilon) * cut.b) / cut.c
        kept = np.flatnonzero(gains <= self.reach)
        first, last = int(kept[0]), int(kept[-1]) + 1
        heights = np.cbrt(self._loss(gains, cut.c, log_delta)[first:last])
        whole = float(heights.sum())
        if not whole < math.inf:
            return Points(cut.points.tolist(), rtol)
        count = math.sqrt(whole**3 / rtol)
        count = min(max(count, _FEWEST), _MOST)
        shares = heights / max(whole, 1e-300) + _EVENLY / heights.size
        position = np.concatenate([[0.0], np.cumsum(shares)])
        chosen = np.linspace(0.0, position[-1], math.ceil(count))
        points = np.interp(chosen, position, cut.points[first : last + 1])
        points = np.union1d(points, _sign_changes(gains, cut.points))
        return Points(points.tolist(), whole**3 / count**2)

    def _loss(self, gains: FloatArray, masses: FloatArray, log_delta: float) -> FloatArray:
        """Return by how much about each cell raises log delta when it is spread to its ends.

        That is half of the variance added times the density of the sum of all others where it
        makes up for the cell's gain; cells end where gains are 0.
        """
        if self.n == 1 or self.values[-1] <= 0:
            return np.zeros_like(gains)
        widths = np.maximum(np.abs(np.gradient(gains)), 1e-300)
        others = (
            self._log_densities(gains) if self.n > _FEW_USERS else np.full_like(gains, -math.inf)
        )
        if self.n <= _FEW_USERS or (self.level < math.inf and self.n <= _LISTED):
            others = np.maximum(others, self._listed_densities(gains, widths))
        logs = 2 * np.log(widths) - math.log(12) + np.log(masses) + others - log_delta
        loss: FloatArray = np.exp(np.minimum(logs, 300.0))
        return loss

    def _log_densities(self, gains: FloatArray) -> FloatArray:
        """Return about the logarithms of the density of the sum of others at minus each gain.

        By how many of them are large, each under the tilt of the sum that has the gain, too.
        """
        place = int(np.searchsorted(self.values, self.level, side="right"))
        usual, large = (
            (self.values[i], self.masses[i]) for i in (slice(place), slice(place, None))
        )
        is_large, found = gains > self.level, np.full(gains.shape, -math.inf)
        for chosen, own in ((~is_large, 0), (is_large, 1)):
            most = _LARGE if large[1].sum() > 0 and chosen.any() else -own
            for k in range(int(self.level == own == 0), most + 1):  # without gains nothing is left
                whole, others = (
                    Doubles([(*law, m) for law, m in ((usual, m0), (large, m1)) if m])
                    for m0, m1 in ((self.n - k - own, k + own), (self.n - 1 - k, k))
                )
                others.theta = whole.theta
                logs = others.log_densities(-gains[chosen]) + math.log(math.comb(self.n - 1, k))
                found[chosen] = np.logaddexp(found[chosen], logs)
        return found

    def _listed_densities(self, gains: FloatArray, widths: FloatArray) -> FloatArray:
        """Return about the logarithms of the density of the sum of others at minus each gain."""
        seen = self.values > -_FAR_BELOW * self.values[-1]
        values, masses = self.values[seen], self.masses[seen]
        theta = min(self.tilted.theta, _RARE / self.values[-1])
        shift = math.log(float(masses @ np.exp(theta * values)))
        law = _gathered(values, masses * np.exp(theta * values - shift))
        values, masses = _power(*law, self.n - 1)
        moved = values != 0.0
        values, below = values[moved], np.cumsum(masses[moved])
        ends = (np.interp(-gains + side * widths, values, below, left=0.0) for side in (1, -1))
        near = np.maximum(np.subtract(*ends), 1e-300)
        found: FloatArray = np.log(near) - np.log(2 * widths) + theta * gains
        return found + (self.n - 1) * shift


def _exp(log: float) -> float:
    return math.exp(min(max(log, -700.0), 0.0))


def _positive_part(z: FloatArray) -> FloatArray:
    r"""Return :math:`E(z+Z)_+` for a normal variable."""
    density = np.exp(-(np.clip(z, -40, 40) ** 2) / 2) / math.sqrt(2 * math.pi)
    above = np.array([0.5 * math.erfc(-x / math.sqrt(2)) for x in z.tolist()])
    mean: FloatArray = density + z * above
    return np.maximum(mean, 0.0)


def _sign_changes(gains: FloatArray, points: FloatArray) -> FloatArray:
    """Return where gains change their sign, and the ends of the cells around."""
    centres = (points[1:] + points[:-1]) / 2
    i = np.flatnonzero(np.diff(np.sign(gains)))
    share = gains[i] / (gains[i] - gains[i + 1])
    changes = centres[i] + share * (centres[i + 1] - centres[i])
    return np.concatenate([points[i], changes, points[i + 2]])


def _power(values: FloatArray, masses: FloatArray, count: int) -> tuple[FloatArray, FloatArray]:
    """Return about the law of a sum of so many, sorted."""
    if count == 1:
        return values, masses
    half = _power(values, masses, count // 2)
    found = half
    for law in (half, (values, masses))[: 1 + count % 2]:
        sums = np.add.outer(found[0], law[0]).ravel()
        found = _gathered(sums, np.multiply.outer(found[1], law[1]).ravel())
    return found


def _gathered(values: FloatArray, masses: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return a law of few sorted atoms, of which one is exactly 0."""
    parts = [(0.0, float(masses[values == 0].sum()))]
    for side in (values < 0, values > 0):
        if side.any():
            parts += zip(*_together(values[side], masses[side]), strict=True)
    gathered = np.array(sorted(parts))
    return gathered[:, 0], gathered[:, 1]


def _together(values: FloatArray, masses: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Take neighbouring ones of many values together, at their means, but for the largest ones."""
    if values.size <= _MANY:
        return values, masses
    order = np.argsort(values)
    heights = np.cbrt(masses[order])
    spreads = heights * np.cbrt(np.gradient(values[order])) ** 2  # of which variance is made
    shares = heights / heights.sum() + spreads / max(spreads.sum(), 1e-300) + 2 / values.size
    places = np.searchsorted(np.cumsum(shares), np.linspace(0, 4, _MANY, endpoint=False))
    apart = np.arange(values.size - _APART, values.size)
    starts = np.union1d(np.minimum(places, values.size - 1), apart)
    weights = np.maximum(np.add.reduceat(masses[order], starts), 1e-300)
    return np.add.reduceat((masses * values)[order], starts) / weights, weights
