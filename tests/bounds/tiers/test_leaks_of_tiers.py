"""What a test attains is never above the divergence of the datasets, and close to it."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from shuffledp.basics.balls import ball, precision
from shuffledp.bounds.tiers.leak import TierLeak

Law = list[Fraction]


def with_report(law: dict[tuple[int, ...], Fraction], row: Law) -> dict[tuple[int, ...], Fraction]:
    """Add one report to a law of histograms."""
    grown: Counter[tuple[int, ...]] = Counter()
    for counts, mass in law.items():
        for y, probability in enumerate(row):
            key = tuple(c + (i == y) for i, c in enumerate(counts))
            grown[key] += mass * probability
    return dict(grown)


def exact(first: Law, second: Law, others: list[tuple[Law, int]], growth: Fraction) -> Fraction:
    """The divergence of the two multisets of reports."""
    law = {(0,) * len(first): Fraction(1)}
    for row, count in others:
        for _ in range(count):
            law = with_report(law, row)
    gain = [a - growth * b for a, b in zip(first, second, strict=True)]
    return sum((max(mass, Fraction(0)) for mass in with_report(law, gain).values()), Fraction(0))


def leak(first: Law, second: Law, others: list[tuple[Law, int]]) -> TierLeak:
    with precision():
        rows = [[ball(p) for p in row] for row in (first, second, *(row for row, _ in others))]
    counts = [count for _, count in others]
    return TierLeak(rows[0], rows[1], list(zip(rows[2:], counts, strict=True)))


def random_law(rng: np.random.Generator, size: int) -> Law:
    cuts = np.sort(rng.choice(np.arange(1, 32), size - 1, replace=False))
    return [Fraction(int(c), 32) for c in np.diff([0, *cuts, 32])]


def test_never_above_the_divergence():
    rng, seen = np.random.default_rng(1), 0
    for _ in range(40):
        size = int(rng.integers(2, 4))
        first, second = random_law(rng, size), random_law(rng, size)
        others = [(random_law(rng, size), int(rng.integers(1, 5))) for _ in range(2)]
        growth = Fraction(int(rng.choice([10, 11, 13])), 10)
        found = leak(first, second, others).below(math.log(growth)).log
        true = exact(first, second, others, growth)
        assert found <= (math.log(true) if true else -math.inf) + 1e-12
        seen += found > -math.inf
    assert seen > 15


def response(k: int, odds: float, x: int) -> Law:
    unit = 1 / (Fraction(odds) + k - 1)
    return [unit * (Fraction(odds) if x == y else 1) for y in range(k)]


@pytest.mark.parametrize("n", [60, 120])
def test_close_to_the_divergence_of_many_users(n):
    first, second = response(2, 3, 0), response(2, 3, 1)
    others = [(response(2, 3, 0), n // 2), (response(2, 8, 0), n - n // 2)]
    growth = Fraction(5, 4)
    true = float(exact(first, second, others, growth))
    found = math.exp(leak(first, second, others).below(math.log(growth)).log)
    assert 0.85 * true <= found <= true


def test_every_contour_gives_a_valid_bound():
    rng = np.random.default_rng(2)
    first, second = response(3, 4, 0), response(3, 4, 1)
    others = [(response(3, 4, 2), 4), (response(3, 2, 2), 3)]
    attack, true = leak(first, second, others), exact(first, second, others, Fraction(11, 10))
    epsilon = math.log(Fraction(11, 10))
    useful = 0
    for _ in range(40):
        theta, tau, period = np.exp(rng.uniform([-4, -4, 1], [0.5, 1, 5])).tolist()
        with precision():
            scores = rng.normal(size=3) + attack._scores(epsilon)
            found = attack._attained(scores, epsilon, theta, tau, period, int(rng.integers(1, 200)))
            assert found.lower() <= ball(true)
            useful += bool(found > 0)
    assert useful >= 3
