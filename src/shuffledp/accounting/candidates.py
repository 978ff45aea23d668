"""The decompositions among which the worst is looked for, with cheap bounds on each."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Protocol

import numpy as np

from shuffledp.accounting.datasets import Datasets
from shuffledp.arrays import UNIT, FloatArray
from shuffledp.decomposition import Decomposition
from shuffledp.divergence import BlockSum, log_delta_bound_at
from shuffledp.divergence.proposals.saddle import saddle_point
from shuffledp.interval import Interval
from shuffledp.randomizers import (
    Input,
    LocalRandomizer,
    MatrixRandomizer,
    Pair,
)

_MAX_EXPONENT = 300.0
_FEW = 4


@dataclass(frozen=True)
class Candidate:
    """A decomposition and what it stands for, which tells it from the others of its family.

    Attributes:
        pair: the two inputs of the differing user.
        other: what all others hold; None if they may hold anything.
        decomposition: the blanket of the pair, or its decomposition with c = R(other).
    """

    pair: Pair
    other: Input | None
    decomposition: Decomposition = field(compare=False, repr=False)

    @property
    def datasets(self) -> Datasets | None:
        """The two datasets, if it is known what the others hold."""
        return None if self.other is None else Datasets(self.pair, self.other)


class Candidates(Protocol):
    """A family of decompositions."""

    def leader(self) -> Candidate | None:
        """Return a candidate that may well be the worst; None if there are none."""
        ...

    def few(self) -> Sequence[Candidate]:
        """Return all candidates if they are so few that estimates of all are quick, else none."""
        ...

    def ranked(self, n: int, epsilon: float) -> Iterator[tuple[float, Candidate]]:
        """Yield upper bounds on log delta and candidates, the largest bound first."""
        ...

    def max_epsilon(self) -> Interval:
        """Enclose the smallest epsilon at which all bounds are 0."""
        ...

    def pool(self) -> float:
        """Return a probability with which, at least, a report is in the common part of any pair."""
        ...


class Listed:
    """A few candidates, each bounded by one tilt of its own.

    Args:
        candidates: all of them.
        least_mass: what the common part of a pair has at least, if that may be less than what the
            candidates say.
    """

    def __init__(self, candidates: Sequence[Candidate], least_mass: float | None = None) -> None:
        self.candidates = candidates
        self._least_mass = 1.0 if least_mass is None else least_mass

    def leader(self) -> Candidate | None:
        """Return the one with the largest variance of a/c - b/c, the worst one for many users."""
        return self._leader

    def few(self) -> Sequence[Candidate]:
        """Return all if there are at most four."""
        return self.candidates if len(self.candidates) <= _FEW else ()

    @cached_property
    def _leader(self) -> Candidate | None:
        if len(self.candidates) < 2:
            return self.candidates[0] if self.candidates else None
        return max(
            self.candidates, key=lambda candidate: _log_variance(candidate.decomposition.sketch)
        )

    def ranked(self, n: int, epsilon: float) -> Iterator[tuple[float, Candidate]]:
        """Yield all, by their own bounds; a single one needs none."""
        if len(self.candidates) == 1:
            yield math.inf, self.candidates[0]
            return
        bounds = [log_delta_bound_at(c.decomposition, n, epsilon) for c in self.candidates]
        order = sorted(range(len(bounds)), key=lambda i: -bounds[i])
        yield from ((bounds[i], self.candidates[i]) for i in order)

    def max_epsilon(self) -> Interval:
        """Return the largest enclosure."""
        ends = [c.decomposition.max_epsilon_interval() for c in self.candidates]
        lower = max((end.lower for end in ends), default=0.0)
        return Interval(max(lower, 0.0), max(0.0, *(end.upper for end in ends), 0.0))

    def pool(self) -> float:
        """Return the least mass of the common part, rounded down; 1 if there are no pairs."""
        masses = (_mass_below(c.decomposition.upper) for c in self.candidates)
        return min(self._least_mass, *masses, 1.0)


class MatrixPairs:
    r"""All ordered pairs of rows of a matrix, bounded together.

    For one tilt the moment generating functions of all pairs are one matrix product,

    .. math:: M_{x,x'}(\theta)
              = \beta+\sum_yc_y\,e^{\theta r_x(y)}e^{-\theta e^\varepsilon r_{x'}(y)},

    and :math:`\delta\le M^n/(e\theta n)` for every theta. Decompositions are built only for the
    pairs that this does not settle. Needs absolute continuity: no column with a zero and a non-zero
    entry.
    """

    def __init__(self, randomizer: MatrixRandomizer) -> None:
        self.randomizer = randomizer
        self.rows = randomizer.distinct_rows()
        used = randomizer.matrix.max(axis=0) > 0
        self.common = randomizer.infimum.masses.of(used).doubles()
        self.ratios = randomizer.probabilities()[self.rows][:, used] / self.common

    def leader(self) -> Candidate | None:
        """Return the pair with the largest variance of r_x - r_x'."""
        if len(self.rows) < 2:
            return None
        scaled = self.ratios / self.ratios.max()  # so that squares stay finite
        squares = (scaled**2) @ self.common
        variance = squares[:, None] + squares - 2 * (scaled * self.common) @ scaled.T
        np.fill_diagonal(variance, -math.inf)
        return self._candidate(int(np.argmax(variance)))

    def few(self) -> Sequence[Candidate]:
        """Return none: decompositions are not built for estimates."""
        return ()

    def ranked(self, n: int, epsilon: float) -> Iterator[tuple[float, Candidate]]:
        """Yield all pairs by the best of a few common tilts around that of the leader."""
        leader = self.leader()
        if leader is None:
            return
        law = leader.decomposition.at(epsilon).upper
        if law.values.max() <= 0:
            thetas = np.array([1.0])
        else:
            thetas = saddle_point(BlockSum.of((law, n))) * np.geomspace(0.3, 3.0, 13)
        bounds = np.minimum.reduce([self._bounds(n, epsilon, float(t)) for t in thetas])
        for index in np.argsort(-bounds):
            if index % (len(self.rows) + 1):  # not on the diagonal
                yield float(bounds[index]), self._candidate(int(index))

    def _bounds(self, n: int, epsilon: float, theta: float) -> FloatArray:
        """Return log(M^n/(e theta n)) of every pair, flattened, rounded up.

        Infinite, which settles nothing, where exponents are so large that products of exponentials
        could leave the range of doubles.
        """
        size, pairs = self.common.size, len(self.rows) ** 2
        growth = math.exp(epsilon)
        reach = theta * (1 + growth) * float(self.ratios.max())
        if reach > _MAX_EXPONENT:
            return np.full(pairs, math.inf)
        shift = theta * (1 - growth)  # both exponents are taken relative to ratio 1
        gain = np.exp(theta * (self.ratios - 1)) * self.common
        cost = np.exp(-theta * growth * (self.ratios - 1))
        total = math.exp(shift) * (gain @ cost.T) + self.randomizer.infimum.residual
        # Weights are off by 8 units, ratios by 17, which exponents multiply by at most the reach.
        # What underflows in the products is below e**-400 of a total of at least e**shift (Jensen).
        log_mgf = np.log(total * (1 + 4 * UNIT * (size + 16 + 8 * reach))).ravel()
        # This also covers the rounding of the last line: n (16 + |log M|) exceeds all its terms.
        log_mgf += 4 * UNIT * np.abs(log_mgf)
        bounds: FloatArray = n * log_mgf - 1 - math.log(theta * n)
        return bounds

    def _candidate(self, index: int) -> Candidate:
        x, y = divmod(index, len(self.rows))
        pair = Pair(self.rows[x], self.rows[y])
        return Candidate(pair, None, self.randomizer.blanket(pair))

    def max_epsilon(self) -> Interval:
        """Return the LDP level."""
        return self.randomizer.epsilon0_interval

    def pool(self) -> float:
        """Return the mass of the infimum, rounded down."""
        return _below(float(self.common.sum()), (self.common.size + 16) * UNIT)


def _log_variance(decomposition: Decomposition) -> float:
    """Return the logarithm of the sum of (a - b)**2/c, up to rounding."""
    if decomposition.size == 0:
        return -math.inf
    top = np.maximum(decomposition.log_ratio0, decomposition.log_ratio1)
    shift = float(top.max())  # so that squares stay finite
    ratio0, ratio1 = (
        np.exp(decomposition.log_ratio0 - shift),
        np.exp(decomposition.log_ratio1 - shift),
    )
    scaled = float(decomposition.weight @ (ratio0 - ratio1) ** 2)
    return 2 * shift + math.log(scaled) if scaled > 0 else -math.inf


def _mass_below(decomposition: Decomposition) -> float:
    if decomposition.size == 0:
        return 0.0
    if decomposition.residual == 0:
        return 1.0
    error = float(decomposition.weight_error.max()) + (decomposition.size + 4) * UNIT
    return _below(float(decomposition.weight.sum()), error)


def _below(mass: float, error: float) -> float:
    return min(max(mass * (1 - error), 0.0), 1.0)


# Decompositions do not depend on n: along a curve, or in a search for n, they are built once.


@lru_cache(maxsize=8)
def blankets(randomizer: LocalRandomizer, pairs: tuple[Pair, ...]) -> Candidates:
    """Return the blankets of pairs that stand for all neighbours."""
    # Exactly this class: one derived from it may state another law.
    if type(randomizer) is MatrixRandomizer and randomizer.epsilon0 < math.inf:
        return MatrixPairs(randomizer)  # it knows which rows differ
    candidates = [Candidate(pair, None, randomizer.blanket(pair)) for pair in pairs]
    return Listed(candidates, randomizer.least_blanket_mass)


@lru_cache(maxsize=8)
def backgrounds(randomizer: LocalRandomizer, pairs: tuple[Pair, ...]) -> Candidates:
    """Return what concrete datasets reveal: one decomposition per pair and common input."""
    return Listed(
        [
            Candidate(pair, other, randomizer.background(pair, other))
            for pair in pairs
            for other in randomizer.common_inputs(pair)
        ]
    )
