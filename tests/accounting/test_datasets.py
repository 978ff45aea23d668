"""Pairs and datasets are told apart by what they are, not by how they are written."""

from __future__ import annotations

import math
from dataclasses import dataclass

import pytest

from shuffledp import KRR, Decomposition, MatrixRandomizer, Pair, ShuffleAccountant
from shuffledp.accounting import Datasets
from shuffledp.bounds.curve import largest
from shuffledp.bounds.decomposed import Decomposed
from shuffledp.bounds.root import epsilon_above


@pytest.mark.heavy(keep=1)
@pytest.mark.parametrize(
    "text",
    [
        "krr(k=3, epsilon0=2)",
        "laplace(epsilon0=2)",
        "matrix([[0.6, 0.4], [0.3, 0.7], [0.1, 0.9]])",
        "joint(krr(k=3, epsilon0=1), laplace(epsilon0=1))",
    ],
)
def test_a_report_holds_inputs_of_its_mechanism(text: str) -> None:
    report = ShuffleAccountant(text, 20).epsilon_report(1e-3)
    assert isinstance(report.worst_pair, Pair)
    assert isinstance(report.datasets, Datasets)
    domain = report.randomizer.input_domain
    assert domain.are_neighbours(report.worst_pair.first, report.worst_pair.second)
    assert report.randomizer.accepts(report.datasets.other)


class Quiet(int):
    """An input that is written like every other."""

    def __str__(self) -> str:
        return "x"

    __repr__ = __str__


@dataclass(frozen=True)
class Mumbling(KRR):
    """Two pairs that read the same: the second is far worse than the first."""

    @property
    def has_worst_pair(self) -> bool:
        return False

    def neighbours(self):
        return (Pair(Quiet(0), Quiet(1)), Pair(Quiet(2), Quiet(3)))

    def unchanged(self):
        return (Pair(Quiet(0), Quiet(0)), Pair(Quiet(2), Quiet(2)))

    def decomposition(self, pair, other=None):
        if other is not None:
            return super().decomposition(pair, other)
        level = 0.1 if pair.first == 0 else self.epsilon0
        return KRR(k=self.k, epsilon0=level).decomposition(Pair(0, 1))


@pytest.mark.heavy(keep=1)
@pytest.mark.parametrize("level", [2.0, 299.0])
def test_pairs_with_the_same_text_are_both_compared(level: float) -> None:
    mechanism = Mumbling(k=4, epsilon0=level)
    assert len({str(pair) for pair in mechanism.neighbours()}) == 1
    worse = ShuffleAccountant(KRR(k=4, epsilon0=level), 30)
    mumbled = ShuffleAccountant(mechanism, 30)
    assert mumbled.get_epsilon(1e-6) == pytest.approx(worse.get_epsilon(1e-6), rel=1e-4)
    report = mumbled.epsilon_report(1e-6)
    assert report.worst_pair == Pair(2, 3)
    assert report.pairs == "stated by the class Mumbling"


def test_same_texts_are_both_looked_at_beyond_the_largest_epsilon() -> None:
    """Where epsilon exceeds 300 the end of the largest curve counts."""
    curve = largest(
        [
            Decomposed(almost_told_apart(rare), 1, 1e-4, Pair(Quiet(number), Quiet(0)))
            for number, rare in ((1, 1e-180), (2, 1e-240))
        ]
    )
    assert epsilon_above(curve, 1e-9, 1e-4).epsilon >= -math.log(1e-240) - 1


def almost_told_apart(rare: float) -> Decomposition:
    return MatrixRandomizer([[0.5, 0.5], [rare, 1.0]]).decomposition(Pair(0, 1))
