"""Mechanisms written out output by output from their definitions, and ways to compare laws.

Nothing here uses the closed forms of the package: a matrix has one row per input and one column
per output, in whatever order the outputs are listed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from itertools import combinations, product

import mpmath
import numpy as np
from flint import arb
from numpy.typing import ArrayLike, NDArray

from shuffledp.basics.balls import ball, total
from shuffledp.basics.balls import precision as balls
from shuffledp.decomposition import Decomposition, Gains
from shuffledp.engine.sums import Law
from shuffledp.mechanisms import LocalRandomizer, Pair

Matrix = NDArray[np.float64]


def precision(digits: int) -> mpmath.MPContext:
    """Arithmetic of so many digits, apart from the global state of mpmath."""
    context = mpmath.MPContext()
    context.dps = digits
    return context


mp = precision(80)

#: Unit round-off of double precision.
U = 2.0**-53


def normalised(rows: Iterable[Iterable[float]]) -> Matrix:
    """Divide every row by its sum."""
    matrix = np.array([list(row) for row in rows], dtype=np.float64)
    return matrix / matrix.sum(axis=1, keepdims=True)


def krr_matrix(k: int, epsilon0: float) -> Matrix:
    """The true value is e^epsilon0 times as likely as any other."""
    return normalised([math.exp(epsilon0) if y == x else 1.0 for y in range(k)] for x in range(k))


def local_hash_matrix(domain_size: int, buckets: int, epsilon0: float) -> Matrix:
    """All functions from the domain to the buckets, each with all reported buckets."""
    outputs = [(h, y) for h in product(range(buckets), repeat=domain_size) for y in range(buckets)]
    return normalised(
        [math.exp(epsilon0) if h[x] == y else 1.0 for h, y in outputs] for x in range(domain_size)
    )


def unary_matrix(domain_size: int, p: float, q: float) -> Matrix:
    """All bit vectors; bit i is 1 with probability p if i is the input, else q."""

    def probability(bits: tuple[int, ...], x: int) -> float:
        ones = [p if i == x else q for i in range(domain_size)]
        return math.prod(one if bit else 1 - one for bit, one in zip(bits, ones, strict=True))

    outputs = list(product((0, 1), repeat=domain_size))
    return np.array([[probability(y, x) for y in outputs] for x in range(domain_size)])


def hadamard_matrix(domain_size: int, epsilon0: float) -> Matrix:
    """Inputs 1..D; an output is likely if it shares an even number of bits with the input."""
    outputs = 2
    while outputs <= domain_size:
        outputs *= 2
    return normalised(
        [1.0 if (x & y).bit_count() % 2 else math.exp(epsilon0) for y in range(outputs)]
        for x in range(1, domain_size + 1)
    )


def subset_matrix(domain_size: int, size: int, epsilon0: float) -> Matrix:
    """All subsets of the given size; those that hold the input are e^epsilon0 times as likely."""
    return normalised(
        [math.exp(epsilon0) if x in y else 1.0 for y in combinations(range(domain_size), size)]
        for x in range(domain_size)
    )


def clamped_geometric_matrix(bound: int, epsilon0: float) -> Matrix:
    """Two-sided geometric noise on 0..B, the report moved to the nearest of 0..B."""
    alpha = math.exp(-epsilon0 / bound)
    inside, beyond = (1 - alpha) / (1 + alpha), 1 / (1 + alpha)

    def probability(x: int, y: int) -> float:
        # The tail beyond an end sums to alpha^distance / (1 + alpha), the end itself included.
        return (beyond if y in (0, bound) else inside) * alpha ** abs(y - x)

    return np.array([[probability(x, y) for y in range(bound + 1)] for x in range(bound + 1)])


def atoms(decomposition: Decomposition, tolerance: float = 1e-10) -> list[list[float]]:
    """[log(a/c), log(b/c), c] of each component, those of equal ratios put together."""
    found: list[list[float]] = []
    for component in decomposition.components:
        log0, log1 = (-math.inf if log is None else float(log) for log in component[:2])
        weight = float(component.weight)
        for atom in found:
            if abs(atom[0] - log0) <= tolerance and abs(atom[1] - log1) <= tolerance:
                atom[2] += weight
                break
        else:
            found.append([log0, log1, weight])
    return found


def assert_same_law(
    actual: Decomposition, expected: Decomposition, tolerance: float = 1e-12
) -> None:
    """Both hold the same multiset of ratios and weights, and the same residual."""
    left, right = atoms(actual), atoms(expected)
    assert len(left) == len(right), (left, right)
    for log0, log1, weight in left:
        log0_, log1_, weight_ = min(right, key=lambda a: abs(a[0] - log0) + abs(a[1] - log1))
        assert abs(log0 - log0_) <= tolerance, (left, right)
        assert abs(log1 - log1_) <= tolerance, (left, right)
        assert abs(weight - weight_) <= tolerance, (left, right)
    assert abs(actual.residual - expected.residual) <= tolerance
    assert not actual.singular
    assert not expected.singular


def encloses(found: arb, number: mpmath.mpf | Fraction, digits: int = 40) -> bool:
    """Whether a small ball holds a number that is itself known to so many digits."""
    with balls(2000):
        if isinstance(number, Fraction):
            exact = ball(number)
        else:
            exact = arb(int(number.man)) * arb(2) ** int(number.exp)
            exact = -exact if number < 0 else exact
        near = found.rad() <= abs(exact) * 2.0**-47
        return bool(near and found.overlaps(exact * arb(1, 10.0**-digits)))


def assert_masses_of_laws(decomposition: Decomposition) -> None:
    """a and b sum to 1, and so do c and the residual; of cells that holds on both sides."""
    one = arb(1, 1e-20)
    for part in (decomposition, decomposition.upper):
        for place in (0, 1):
            logs = ((c[place], c.weight) for c in part.components)
            covered = total(weight * log.exp() for log, weight in logs if log is not None)
            assert (covered + total(s[place] for s in part.singular)).overlaps(one)
        assert (part.mass + part.residual).overlaps(one)
        # Shares of the two ends lose digits where a cell is very narrow.
        vague = 1e-14 if part is decomposition else 1e-9
        assert all(float(c.weight.rad()) <= vague * float(c.weight) for c in part.components)


def excess(law: Law, thresholds: ArrayLike) -> NDArray[np.float64]:
    """E(G - t)_+ at every t; for equal means it decides the convex order."""
    gaps = np.subtract.outer(law.values, np.asarray(thresholds, dtype=np.float64))
    return law.masses @ np.maximum(gaps, 0.0)


def widest(gains: Gains, thresholds: ArrayLike, exact: ArrayLike, slack: ArrayLike) -> float:
    """How far apart the two laws of cells are, which enclose E(G - t)_+ at every threshold."""
    lower = excess(gains.lower, thresholds)
    upper = excess(gains.upper, thresholds) + float(gains.exposed[1])
    assert (lower <= exact + slack).all()
    assert (exact <= upper + slack).all()
    return float((upper - lower).max())


def assert_overlap(one: Gains, other: Gains, thresholds: ArrayLike, slack: float) -> None:
    """Two pairs of laws of cells may enclose the same law."""
    for first, second in ((one, other), (other, one)):
        below, above = (excess(law, thresholds) for law in (first.lower, second.upper))
        assert (below <= above + slack).all()


def recut(decomposition: Decomposition) -> dict[str, Decomposition]:
    """The same law, cut at its own points, at half way between them as well, and at few."""
    cut = decomposition.cut
    halves = (cut.points[1:] + cut.points[:-1]) / 2
    finer = np.sort(np.append(cut.points, halves)).tolist()
    coarser = cut.points[:: len(cut.points) // 9].tolist()
    return {"own": decomposition, "finer": cut.again(finer), "coarser": cut.again(coarser)}


def levels(*laws: Law, count: int = 41) -> NDArray[np.float64]:
    """Thresholds across the range of the laws and a little beyond it."""
    values = np.concatenate([law.values for law in laws])
    margin = 0.1 * (1 + values.max() - values.min())
    return np.linspace(values.min() - margin, values.max() + margin, count)


def assert_dominated(smaller: Law, larger: Law, slack: float = 1e-12) -> None:
    """``smaller`` is below ``larger`` in convex order, up to rounding."""
    thresholds = levels(smaller, larger)
    scale = float(np.abs(thresholds).max())
    assert abs(smaller.values @ smaller.masses - larger.values @ larger.masses) <= slack * scale
    assert (excess(smaller, thresholds) <= excess(larger, thresholds) + slack * scale).all()


def backgrounds(randomizer: LocalRandomizer, pair: Pair) -> list[Decomposition]:
    """The decompositions for lower bounds, one per common input of the others."""
    return [randomizer.decomposition(pair, x) for x in randomizer.common_inputs(pair)]
