"""Random decompositions and randomizers, exact in double precision as well as in fractions."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np
from hypothesis import strategies as st
from rational import exact_delta

from shuffledp.decomposition import Decomposition

#: Probabilities are multiples of 1/256, so doubles hold them exactly.
GRAIN = 256


@dataclass(frozen=True)
class Coefficients:
    """The coefficients a, b, c of a general-clone decomposition."""

    a: tuple[Fraction, ...]
    b: tuple[Fraction, ...]
    c: tuple[Fraction, ...]

    @property
    def residual(self) -> Fraction:
        return 1 - sum(self.c, Fraction(0))

    @property
    def singular(self) -> list[tuple[Fraction, Fraction]]:
        return [(a, b) for a, b, c in zip(self.a, self.b, self.c, strict=True) if not c]

    def decomposition(self) -> Decomposition:
        return Decomposition.from_coefficients(self.a, self.b, self.c)

    def delta(self, n: int, exp_epsilon: Fraction) -> Fraction:
        covered = [(a / c, b / c, c) for a, b, c in zip(self.a, self.b, self.c, strict=True) if c]
        ratios0, ratios1, weights = zip(*covered, strict=True) if covered else ((), (), ())
        return exact_delta(ratios0, ratios1, weights, n, exp_epsilon, singular=self.singular)

    def deltas_alone(self, exp_epsilon: Fraction) -> Fraction:
        """The hockey-stick divergence of a single report."""
        gains = (a - exp_epsilon * b for a, b in zip(self.a, self.b, strict=True))
        return sum((g for g in gains if g > 0), Fraction(0))


@st.composite
def simplex(draw: st.DrawFn, size: int, *, positive: bool = False) -> tuple[Fraction, ...]:
    """A probability vector of multiples of 1/256."""
    low, high = (1, GRAIN - 1) if positive else (0, GRAIN)
    cut = st.integers(low, high)
    cuts = sorted(draw(st.lists(cut, min_size=size - 1, max_size=size - 1, unique=positive)))
    return tuple(Fraction(y - x, GRAIN) for x, y in pairwise([0, *cuts, GRAIN]))


@st.composite
def coefficients(
    draw: st.DrawFn, *, max_components: int = 4, singular: bool = False
) -> Coefficients:
    """Coefficients with a residual; with ``singular``, some c may be 0."""
    size = draw(st.integers(1, max_components))
    return Coefficients(
        a=draw(simplex(size)),
        b=draw(simplex(size)),
        c=draw(simplex(size + 1, positive=not singular))[:size],
    )


@st.composite
def randomizers(
    draw: st.DrawFn, *, inputs: int = 3, max_outputs: int = 3, positive: bool = True
) -> list[tuple[Fraction, ...]]:
    """The rows of a finite randomizer."""
    outputs = draw(st.integers(2, max_outputs))
    return [draw(simplex(outputs, positive=positive)) for _ in range(inputs)]


def exp_epsilons(minimum: int = 16, maximum: int = 64) -> st.SearchStrategy[Fraction]:
    """e^epsilon as a multiple of 1/16, from 1 to 4 unless told otherwise."""
    return st.integers(minimum, maximum).map(lambda i: Fraction(i, 16))


def blanket(rows: list[tuple[Fraction, ...]], x0: int, x1: int) -> Coefficients:
    """The optimal decomposition: c is the infimum over all inputs."""
    return Coefficients(
        a=tuple(rows[x0]), b=tuple(rows[x1]), c=tuple(map(min, zip(*rows, strict=True)))
    )


def background(rows: list[tuple[Fraction, ...]], x0: int, x1: int, x2: int) -> Coefficients:
    """The decomposition when all other users hold x2: nothing is left over."""
    return Coefficients(a=tuple(rows[x0]), b=tuple(rows[x1]), c=tuple(rows[x2]))


def randomized_response(k: int, odds: Fraction) -> list[tuple[Fraction, ...]]:
    """k-ary randomized response whose likely report is ``odds`` times more likely."""
    p = 1 / (odds + k - 1)
    return [tuple(odds * p if x == y else p for y in range(k)) for x in range(k)]


def cloud(seed: int, size: int, epsilon0: float) -> Decomposition:
    """A decomposition of many random components with ratios in about [1, e^epsilon0]."""
    rng = np.random.default_rng(seed)
    u, v = np.exp(epsilon0 * rng.beta(0.5, 0.5, (2, size)))
    c = rng.gamma(0.5, size=size) + 1e-6
    return Decomposition.from_coefficients(c * u / (c @ u), c * v / (c @ v), c / max(c @ u, c @ v))
