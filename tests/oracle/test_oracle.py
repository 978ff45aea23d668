"""The oracle itself: values known by hand, and the same truth by plainer means."""

from __future__ import annotations

from collections import Counter, defaultdict
from fractions import Fraction
from itertools import combinations_with_replacement, product
from math import exp, log, prod, tanh
from random import Random

import pytest

from oracle.channel import is_law
from oracle.clones import random_clone
from oracle.mechanisms import all_preimages, counted_preimages
from oracle.number import BITS, exponential
from oracle.random_mechanisms import COMPOSITIONS, Generator
from oracle.reader import read
from oracle.truth import Truth


@pytest.mark.parametrize(
    ("text", "laws"),
    [
        ("krr(k=2, epsilon0=1)", [[0.73105857863, 0.26894142137], [0.26894142137, 0.73105857863]]),
        ("matrix([[0.5, 0.25, 0.25], [1, 0, 0]])", [[0.5, 0.5], [1, 0]]),
        ("subsample(matrix([[1, 0], [0, 1]]), rate=0.25)", [[0.25, 0, 0.75], [0, 0.25, 0.75]]),
        ("discrete_laplace(epsilon0=1, bound=1)", [[0.73105857863, 0.26894142137]]),
        ("parallel(0.5*matrix([[1, 0], [0, 1]]), 0.5*matrix([[1], [1]]))", [[0.5, 0, 0.5]]),
        ("unary(p=0.5, q=0.25, domain_size=2)", [[0.5, 0.125, 0.375], [0.5, 0.375, 0.125]]),
    ],
)
def test_laws_known_by_hand(text: str, laws: list[list[float]]) -> None:
    for found, expected in zip(read(text).laws, laws, strict=False):
        assert [p / 2**BITS for p in found] == pytest.approx(expected, abs=1e-10)


def test_local_hashing_enumerates_all_functions() -> None:
    """With two inputs and g buckets: both supported, neither, or one of them."""
    channel = read("olh(epsilon0=1, buckets=3, domain_size=2)")
    E, (first, second) = exp(1), [[p / 2**BITS for p in law] for law in channel.laws]
    alike, one = (E / 3 + 4 / 3) / (E + 2), 2 / 3 / (E + 2)
    assert sorted(first) == pytest.approx(sorted([alike, one, one * E]))
    assert sorted(second) == pytest.approx(sorted(first))
    assert max(p / q for p, q in zip(first, second, strict=True)) == pytest.approx(E)


@pytest.mark.parametrize(("g", "D"), [(2, 1), (2, 4), (3, 3), (5, 2)])
def test_preimages_are_counted_right(g: int, D: int) -> None:
    assert all_preimages(g, D) == counted_preimages(g, D)


@pytest.mark.parametrize(
    ("text", "inputs", "pairs"),
    [
        ("joint(krr(k=2, epsilon0=1), krr(k=3, epsilon0=1))", 6, 30),
        ("joint(krr(k=2, epsilon0=1), krr(k=3, epsilon0=1), at_most=1)", 6, 18),
        ("joint(krr(k=2, epsilon0=1), krr(k=3, epsilon0=1), exactly=2)", 6, 12),
        ("one_of(0.5*krr(k=2, epsilon0=1), 0.5*krr(k=3, epsilon0=1))", 6, 30),
        ("parallel(0.5*krr(k=3, epsilon0=1), 0.5*krr(k=3, epsilon0=1))", 3, 6),
        (
            "joint(subsample(joint(krr(k=2, epsilon0=1), krr(k=2, epsilon0=1), at_most=1), "
            "rate=0.5), krr(k=2, epsilon0=1))",
            8,
            40,
        ),
    ],
)
def test_neighbours(text: str, inputs: int, pairs: int) -> None:
    channel = read(text)
    assert (len(channel.inputs), len(channel.pairs())) == (inputs, pairs)


def test_truth_of_one_user_is_that_of_the_channel() -> None:
    truth = Truth(read("krr(k=2, epsilon0=1)"), 1)
    assert float(truth.delta(0).high) == pytest.approx(tanh(0.5))
    assert truth.delta(1.0).high < Fraction(1, 10**100)
    assert truth.delta(1.5).high == 0
    assert truth.epsilon(0.1) == pytest.approx(log((exp(1) - 0.1 * (exp(1) + 1)) / 1))


def test_truth_is_that_of_all_tuples_of_reports() -> None:
    rows = [[0.5, 0.25, 0.25], [0.125, 0.5, 0.375], [0.0, 0.25, 0.75]]
    exact = [[Fraction(p) for p in row] for row in rows]

    def law(inputs: tuple[int, ...]) -> dict[frozenset[tuple[int, int]], Fraction]:
        found: defaultdict[frozenset[tuple[int, int]], Fraction] = defaultdict(Fraction)
        for reports in product(range(3), repeat=len(inputs)):
            mass = prod(
                (exact[x][y] for x, y in zip(inputs, reports, strict=True)), start=Fraction(1)
            )
            found[frozenset(Counter(reports).items())] += mass
        return found

    for n, epsilon in product((1, 2, 3), (0.0, 0.3, 1.0)):
        growth = exponential(Fraction(epsilon))
        worst = Fraction(0)
        for others in combinations_with_replacement(range(3), n - 1):
            for x, y in product(range(3), repeat=2):
                first, second = law((*others, x)), law((*others, y))
                gains = (mass - growth * second[key] for key, mass in list(first.items()))
                worst = max(worst, sum((g for g in gains if g > 0), Fraction(0)))
        found = Truth(read(f"matrix({rows})"), n).delta(epsilon)
        assert found.low <= worst <= found.high


def test_infinite_epsilon() -> None:
    truth = Truth(read("matrix([[0.75, 0.25], [1, 0]])"), 2)
    assert float(truth.delta_at_infinity().high) == pytest.approx(0.25)


def test_generators_repeat_themselves_and_reach_every_form() -> None:
    texts = [instance.text for instance in Generator(1, effort=3_000).instances(80)]
    assert texts == [instance.text for instance in Generator(1, effort=3_000).instances(80)]
    for name in (*COMPOSITIONS, "krr", "blh", "olh", "rappor", "oue", "unary", "subset"):
        assert any(f"{name}(" in text for text in texts), name
    for name in ("hadamard", "discrete_laplace", "matrix", "at_most", "exactly"):
        assert any(name in text for text in texts), name


def test_random_laws_are_laws() -> None:
    for instance in Generator(2).instances(60):
        assert all(map(is_law, instance.channel.laws)), instance.text


def test_random_clones_are_valid() -> None:
    random = Random(1)
    for _ in range(20):
        clone = random_clone(random)
        assert all(sum(map(Fraction, row)) == 1 for row in clone.rows)
        assert all(c <= min(a, b) for a, b, c in zip(clone.a, clone.b, clone.c, strict=True))
