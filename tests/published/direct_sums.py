"""Slow, literal versions of published lemmas: tests compare with them."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import mpmath as mp
import numpy as np
from numpy.typing import NDArray

from shuffledp.mechanisms import MatrixRandomizer, Pair


@dataclass(frozen=True)
class PrivacyAmplificationVariable:
    """L of Balle et al. for one pair of rows of a matrix, by its definition."""

    gamma: mp.mpf
    drift: mp.mpf  # -E[L] for rows that sum to 1, as those of doubles do only up to rounding
    values: list[mp.mpf]
    probabilities: list[mp.mpf]

    @classmethod
    def of(
        cls, randomizer: MatrixRandomizer, pair: Pair, epsilon: float
    ) -> PrivacyAmplificationVariable:
        rows = [[mp.mpf(float(x)) for x in row] for row in randomizer.matrix]
        blanket = [min(column) for column in zip(*rows, strict=True)]
        gamma = mp.fsum(blanket)
        omega = [c / gamma for c in blanket]
        first, second = rows[pair.first], rows[pair.second]
        values = [
            (x - mp.exp(epsilon) * y) / w for x, y, w in zip(first, second, omega, strict=True)
        ]
        return cls(gamma, mp.expm1(epsilon), values, omega)

    def mean(self, function) -> mp.mpf:
        pairs = zip(self.values, self.probabilities, strict=True)
        return mp.fsum(p * function(value) for value, p in pairs)


def mixture(variable: PrivacyAmplificationVariable, n: int, bound) -> mp.mpf:
    """The lemma: 1/(gamma n) times the binomial mean of a bound on E[(L_1 + ... + L_m)_+]."""
    g = variable.gamma
    terms = (
        mp.binomial(n, m) * g**m * (1 - g) ** (n - m) * bound(variable, m) for m in range(1, n + 1)
    )
    return mp.fsum(terms) / (g * n)


def hoeffding(variable: PrivacyAmplificationVariable, m: int) -> mp.mpf:
    a = variable.drift
    b = max(variable.values) - min(variable.values)
    return b**2 / (4 * a) * mp.exp(-2 * m * a**2 / b**2)


def bennett(variable: PrivacyAmplificationVariable, m: int) -> mp.mpf:
    a, b, c = variable.drift, max(variable.values), variable.mean(lambda x: x**2)
    u = a * b / c
    phi = (1 + u) * mp.log(1 + u) - u
    return b / mp.log(1 + u) * mp.exp(-m * c / b**2 * phi)


def exact(variable: PrivacyAmplificationVariable, m: int) -> mp.mpf:
    """E[(L_1 + ... + L_m)_+] itself, by all m-tuples."""
    sums = {mp.mpf(0): mp.mpf(1)}
    for _ in range(m):
        grown: defaultdict[mp.mpf, mp.mpf] = defaultdict(mp.mpf)
        for total, weight in sums.items():
            for value, p in zip(variable.values, variable.probabilities, strict=True):
                grown[total + value] += weight * p
        sums = grown
    return mp.fsum(weight * max(total, mp.mpf(0)) for total, weight in sums.items())


def clone_pair(epsilon0: float, n: int) -> tuple[NDArray[np.object_], NDArray[np.object_]]:
    """The laws P0, P1 of (A + Delta, C - A + 1 - Delta) and its mirror image, by enumeration."""
    E = mp.exp(epsilon0)
    laws = [np.full((n + 1, n + 1), mp.mpf(0), dtype=object) for _ in range(2)]
    for clones in range(n):
        chance = mp.binomial(n - 1, clones) * E**-clones * (1 - 1 / E) ** (n - 1 - clones)
        for first in range(clones + 1):
            weight = chance * mp.binomial(clones, first) / mp.mpf(2) ** clones
            for delta, p in ((1, E / (E + 1)), (0, 1 / (E + 1))):
                laws[0][first + delta, clones - first + 1 - delta] += weight * p
                laws[1][first + 1 - delta, clones - first + delta] += weight * p
    return laws[0], laws[1]


def hockey_stick(law0, law1, epsilon: float) -> mp.mpf:
    gaps = (law0 - mp.exp(epsilon) * law1).ravel()
    return mp.fsum(max(gap, mp.mpf(0)) for gap in gaps)
