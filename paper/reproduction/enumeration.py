"""The real mechanisms on small domains, output by output, and what is shared by all inputs.

Nothing here uses the closed forms of the library or of the paper.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import permutations, product

import numpy as np

from shuffledp.basics.arrays import FloatArray

_TOLERANCE = 1e-9  # of a ratio; different ones differ by a factor e^epsilon0


@dataclass(frozen=True)
class Coefficients:
    """The optimal decomposition of a mechanism whose ratios to the blanket are 1 or E.

    Attributes:
        p: mass of the blanket where only the first input is E times as likely; the same as for the
            second one.
        q: where both are.
        r: where none is.
    """

    p: float
    q: float
    r: float

    def distance(self, other: Coefficients) -> float:
        """Return the largest difference of the three."""
        return max(abs(self.p - other.p), abs(self.q - other.q), abs(self.r - other.r))


def randomized_response(values: int, epsilon0: float) -> FloatArray:
    """Return one row per input: the true value is e^epsilon0 times as likely as any other."""
    return _normalised(np.where(np.eye(values, dtype=bool), math.exp(epsilon0), 1.0))


def binary_hashing(values: int, epsilon0: float) -> FloatArray:
    """Return one row per input, over all binary functions and reported bits."""
    outputs = [(h, bit) for h in product((0, 1), repeat=values) for bit in (0, 1)]
    likely = [[h[x] == bit for h, bit in outputs] for x in range(values)]
    return _normalised(np.where(likely, math.exp(epsilon0), 1.0))


def rappor(values: int, epsilon0: float) -> FloatArray:
    """Return one row per input, over all bit vectors: each bit flips on its own."""
    flip = 1 / (math.exp(epsilon0 / 2) + 1)
    return _unary(values, 1 - flip, flip)


def optimised_unary(values: int, epsilon0: float) -> FloatArray:
    """Return one row per input, over all bit vectors: the true bit is a fair coin."""
    return _unary(values, 0.5, 1 / (math.exp(epsilon0) + 1))


def hadamard(outputs: int, epsilon0: float) -> FloatArray:
    """Return one row per input 1, ..., outputs - 1: likely outputs share an even number of bits."""
    likely = [[(x & y).bit_count() % 2 == 0 for y in range(outputs)] for x in range(1, outputs)]
    return _normalised(np.where(likely, math.exp(epsilon0), 1.0))


def coefficients(matrix: FloatArray, epsilon0: float) -> Coefficients:
    """Return p, q, r, checked to be the same for all ordered pairs of inputs.

    Raises:
        ArithmeticError: if they are not, or if a ratio to the blanket is neither 1 nor E.
    """
    blanket = matrix.min(axis=0)
    likely = np.abs(matrix / blanket / math.exp(epsilon0) - 1) < _TOLERANCE
    if not (likely | (np.abs(matrix / blanket - 1) < _TOLERANCE)).all():
        raise ArithmeticError("a ratio to the blanket is neither 1 nor e^epsilon0")

    def mass(outputs: FloatArray) -> float:
        return math.fsum(blanket[outputs])

    found = [
        Coefficients(
            mass(likely[x] & ~likely[y]), mass(likely[x] & likely[y]), mass(~likely[x] & ~likely[y])
        )
        for x, y in permutations(range(len(matrix)), 2)
    ]
    if max(found[0].distance(other) for other in found) > _TOLERANCE:
        raise ArithmeticError("pairs of inputs have different decompositions")
    return found[0]


def _unary(values: int, true: float, false: float) -> FloatArray:
    vectors = np.array(list(product((0, 1), repeat=values)))
    ones = np.where(np.eye(values, dtype=bool), true, false)[:, None, :]
    return np.asarray(np.where(vectors == 1, ones, 1 - ones).prod(axis=2))


def _normalised(weights: FloatArray) -> FloatArray:
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


#: Every mechanism of the paper's tables, by its name there; the first argument is the size D or k.
MECHANISMS: dict[str, Callable[[int, float], FloatArray]] = {
    "k-RR": randomized_response,
    "BLH": binary_hashing,
    "RAPPOR": rappor,
    "OUE": optimised_unary,
    "HR": hadamard,
}
