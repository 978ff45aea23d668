"""Small collections of every kind: a mechanism, the inputs, and the truth about them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shuffledp import (
    KRR,
    OUE,
    RAPPOR,
    BinaryLocalHash,
    DiscreteLaplace,
    Estimate,
    Gaussian,
    HadamardResponse,
    Laplace,
    LocalHash,
    MatrixRandomizer,
    SubsetSelection,
    UnaryEncoding,
    joint,
    parallel,
    subsample,
)
from shuffledp.mechanisms import LocalRandomizer

N = 600


@dataclass(frozen=True, eq=False)
class Case:
    randomizer: LocalRandomizer
    values: object
    truths: list[np.ndarray]

    def __str__(self) -> str:
        return str(self.randomizer)


def skewed(size: int, n: int = N) -> np.ndarray:
    """Inputs with frequencies that fall like 1/rank."""
    shares = 1 / np.arange(1, size + 1)
    return np.searchsorted(np.cumsum(shares) / shares.sum(), (np.arange(n) + 0.5) / n)


def frequencies(values: np.ndarray, size: int) -> np.ndarray:
    return np.bincount(values, minlength=size) / values.size


def _frequency(randomizer: LocalRandomizer, size: int) -> Case:
    values = skewed(size)
    return Case(randomizer, values, [frequencies(values, size)])


def _mean(randomizer: LocalRandomizer, values: np.ndarray) -> Case:
    return Case(randomizer, values, [np.array([values.mean()])])


FIVE, TWO = skewed(5), skewed(2)
MATRIX = MatrixRandomizer([[0.5, 0.3, 0.1, 0.1], [0.1, 0.6, 0.2, 0.1], [0.2, 0.1, 0.3, 0.4]])

SINGLE = [
    _frequency(KRR(k=5, epsilon0=2.0), 5),
    _frequency(BinaryLocalHash(epsilon0=2.0, domain_size=5), 5),
    _frequency(LocalHash(epsilon0=2.0, domain_size=5), 5),
    _frequency(LocalHash(epsilon0=2.0, domain_size=70), 70),
    _frequency(RAPPOR(epsilon0=2.0, domain_size=5), 5),
    _frequency(OUE(epsilon0=2.0, domain_size=5), 5),
    _frequency(UnaryEncoding(p=0.2, q=0.7, domain_size=5), 5),
    _frequency(HadamardResponse(epsilon0=2.0, domain_size=5), 5),
    _frequency(SubsetSelection(epsilon0=2.0, domain_size=9), 9),
    _frequency(SubsetSelection(epsilon0=4.0, domain_size=40, size=2), 40),
    _frequency(MATRIX, 3),
    _mean(Laplace(epsilon0=1.0), TWO),
    _mean(Laplace(epsilon0=1.0, domain="interval"), np.linspace(0, 0.7, N)),
    _mean(Gaussian(sigma=1.0), np.linspace(0.5, 1, N)),
    _mean(Gaussian(sigma=2.0, grid=512), np.linspace(0.2, 1, N)),
    _mean(DiscreteLaplace(epsilon0=2.0, bound=10), skewed(11)),
]

COMPOSED = [
    Case(
        joint(KRR(k=5, epsilon0=2.0), Laplace(epsilon0=1.0)),
        (FIVE, TWO),
        [frequencies(FIVE, 5), np.array([TWO.mean()])],
    ),
    Case(
        parallel({KRR(k=5, epsilon0=2.0): 0.4, OUE(epsilon0=2.0, domain_size=5): 0.6}),
        FIVE,
        [frequencies(FIVE, 5)],
    ),
    Case(
        parallel({KRR(k=3, epsilon0=3.0): 0.5, MATRIX: 0.5}),
        skewed(3),
        [frequencies(skewed(3), 3)],
    ),
    Case(
        parallel({Laplace(epsilon0=1.0): 0.3, DiscreteLaplace(epsilon0=1.0, bound=1): 0.7}),
        TWO,
        [np.array([TWO.mean()])],
    ),
    Case(
        parallel({KRR(k=2, epsilon0=3.0): 0.5, Laplace(epsilon0=2.0): 0.5}),
        TWO,
        [frequencies(TWO, 2), np.array([TWO.mean()])],
    ),
    Case(subsample(KRR(k=5, epsilon0=3.0), rate=0.5), FIVE, [frequencies(FIVE, 5)]),
    Case(
        subsample(DiscreteLaplace(epsilon0=4.0, bound=10), rate=0.3),
        skewed(11),
        [np.array([skewed(11).mean()])],
    ),
    Case(
        subsample(
            parallel({KRR(k=5, epsilon0=4.0): 0.5, OUE(epsilon0=4.0, domain_size=5): 0.5}), rate=0.6
        ),
        FIVE,
        [frequencies(FIVE, 5)],
    ),
    Case(
        joint(subsample(KRR(k=2, epsilon0=3.0), rate=0.5), OUE(epsilon0=3.0, domain_size=5)),
        (TWO, FIVE),
        [frequencies(TWO, 2), frequencies(FIVE, 5)],
    ),
    Case(
        parallel(
            {
                joint(KRR(k=2, epsilon0=3.0), KRR(k=5, epsilon0=3.0)): 0.5,
                joint(KRR(k=2, epsilon0=2.0), OUE(epsilon0=3.0, domain_size=5)): 0.5,
            }
        ),
        (TWO, FIVE),
        [frequencies(TWO, 2), frequencies(FIVE, 5)],
    ),
]

CASES = [*SINGLE, *COMPOSED]


def leaves(estimates: object) -> list[Estimate]:
    """The estimates in nested tuples, in order."""
    if isinstance(estimates, tuple):
        return [leaf for entry in estimates for leaf in leaves(entry)]
    assert isinstance(estimates, Estimate)
    return [estimates]
