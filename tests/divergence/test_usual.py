"""Sums whose summands nearly all have their usual value, against exact fractions."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from itertools import product

import mpmath
import numpy as np
import pytest
from exact_sums import ExactSum, contains
from hypothesis import given, settings
from hypothesis import strategies as st
from tiers import examples

from shuffledp.decomposition import Law
from shuffledp.divergence import BlockSum, Kernel, LogEnclosure, contour, usual
from shuffledp.divergence.blocks import Block
from shuffledp.divergence.elementary import can_be_positive
from shuffledp.divergence.kernel import HINGE
from shuffledp.divergence.tilt import tilt
from shuffledp.divergence.usual import usual_log_mean


def random_block(rng: np.random.Generator, most: int) -> tuple[list, int]:
    """Atoms in sixteenths, one of which has most of the mass."""
    atoms = int(rng.integers(2, 5))
    values = [Fraction(int(v), 16) for v in rng.choice(np.arange(-400, 60), atoms, replace=False)]
    weights = [Fraction(int(w), 2**20) for w in rng.integers(1, 2**14, atoms - 1)]
    return list(zip(values, [*weights, 1 - sum(weights)], strict=True)), int(rng.integers(1, most))


@pytest.mark.parametrize("curvature", [0.0, 0.5])
def test_encloses_the_exact_mean(curvature: float) -> None:
    rng, said = np.random.default_rng(5), 0
    for _ in range(examples(300)):
        blocks = [random_block(rng, 8)]
        if rng.random() < 0.3:
            blocks.append(random_block(rng, 4))
        exact = ExactSum(blocks)
        total = exact.doubles()
        if not can_be_positive(total):
            continue
        found = usual_log_mean(total, 1e-6, Kernel(curvature))
        if found is not None:
            said += 1
            assert contains(found, exact.mean(curvature))
            assert found.width < 1e-6
    assert said > 5


@settings(max_examples=200)
@given(data=st.data())
def test_any_tilt_and_any_windows_are_valid(data: st.DataObject) -> None:
    """A window may name no usual atom, several of them, or leave out all that matters."""
    rng = np.random.default_rng(data.draw(st.integers(0, 10**6)))
    exact = ExactSum([random_block(rng, 6), random_block(rng, 3)])
    total = exact.doubles()
    if not can_be_positive(total):
        return
    tilt = data.draw(st.floats(0.01, 3.0), label="tilt")
    windows = [
        np.array(data.draw(st.lists(st.integers(-1, 7), min_size=size, max_size=size)))
        for size in (law.size for law in total.laws)
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(contour, "saddle_point", lambda *_: tilt)
        patch.setattr(usual, "choose_windows", lambda *_: windows)
        found = usual_log_mean(total, 1e-4)
    assert found is not None
    assert contains(found, exact.mean_positive())


def test_what_lies_outside_is_counted() -> None:
    """With windows of 0 nothing is enumerated but the usual values; the bound is all there is."""
    law = Law(np.array([1.0, 0.0]), np.array([0.25, 0.75]), np.zeros(2), np.zeros(2))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(usual, "choose_windows", lambda *_: [np.array([0, -1])])
        found = usual_log_mean(BlockSum.of((law, 3)), 1e-4)
    assert found is not None
    assert found.lower == -math.inf
    assert math.log(0.75) <= found.upper < math.log(0.75) + 3


@pytest.mark.parametrize("n", [10**3, 10**6, 10**9])
def test_many_summands_against_a_binomial_law(n: int) -> None:
    """Gains of 1 beside losses that no gains make up for: E[S_+] = n w (1 - v)^(n-1)."""
    w, v = 2.0**-40, 2.0 ** -math.ceil(math.log2(n) - 2)
    law = Law(np.array([1.0, -1e12, 0.0]), np.array([w, v, 1 - w - v]), *np.zeros((2, 3)))
    found = usual_log_mean(BlockSum.of((law, n)), 1e-6)
    assert found is not None
    assert found.width < 1e-6
    with mpmath.workdps(50):
        exact = mpmath.log(n) + mpmath.log(w) + (n - 1) * mpmath.log(1 - mpmath.mpf(v))
        assert found.lower <= exact <= found.upper


def test_errors_of_the_data_widen_the_enclosure() -> None:
    rng = np.random.default_rng(3)
    values, weights = np.array([2.0, -30.0, 0.0]), np.array([0.01, 0.2, 0.79])
    law = Law(values, weights, np.full(3, 1e-3), np.full(3, 1e-3))
    found = usual_log_mean(BlockSum.of((law, 8)), 1e-6, HINGE)
    assert found is not None
    for _ in range(20):
        moved = weights * np.exp(rng.uniform(-1e-3, 1e-3, 3))
        moved[2] = 1 - moved[0] - moved[1]
        if abs(math.log(moved[2] / weights[2])) > 1e-3:
            continue
        other = Law(values + rng.uniform(-1e-3, 1e-3, 3), moved, np.zeros(3), np.zeros(3))
        exact = usual_log_mean(BlockSum.of((other, 8)), 1e-9)
        assert exact is not None
        assert found.lower <= exact.upper
        assert exact.lower <= found.upper


def test_too_many_outcomes_are_left_to_others() -> None:
    law = Law(np.arange(-50.0, 50.0), np.full(100, 0.01), np.zeros(100), np.zeros(100))
    assert usual_log_mean(BlockSum.of((law, 100)), 1e-4) is None


UNIT = 1e-3  # a unit of round-off that is large enough to see


def vague_law(values: list[float], weights: list[float], value: float, weight: float) -> Law:
    size = len(values)
    return Law(np.array(values), np.array(weights), np.full(size, value), np.full(size, weight))


@pytest.mark.parametrize(("value", "weight"), [(0.05, 0.0), (0.0, 1e-4), (0.03, 1e-4)])
def test_rates_cover_all_laws_within_the_errors(
    value: float, weight: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A rate is largest if its own atom is as large as can be, and M as small."""
    monkeypatch.setattr(usual, "UNIT", 0.0)
    law = vague_law([0.9, -0.7, 0.1], [0.2, 0.3, 0.5], value, weight)
    rates = usual._log_rates(Block(law, 7), tilt(law, 1.0))
    for ends in product((-1.0, 1.0), repeat=5):
        values = law.values + value * np.array(ends[:3])
        weights = law.weights * np.exp(weight * np.array([*ends[3:], 0.0]))
        weights[2] = 1 - weights[0] - weights[1]  # within its error, too
        log_mgf = math.log(float(weights @ np.exp(values)))
        # Errors of weights are taken to first order.
        most = math.log(7) + np.log(weights) + values - log_mgf - weight**2
        assert (rates >= most - 1e-12).all()
    exact = math.log(7) + np.log(law.weights) + law.values - tilt(law, 1.0).log_mgf
    assert (rates <= exact + 2.3 * (value + weight)).all()


def test_rates_cover_rounding(monkeypatch: pytest.MonkeyPatch) -> None:
    """Logarithms may be off by 4 units of themselves, sums by one of every part."""
    monkeypatch.setattr(usual, "UNIT", UNIT)
    for values, weights, n in (
        ([0.3, 0.0], [1e-200, 1.0], 3),  # a large logarithm of a weight
        ([0.3, 0.0], [0.5, 0.5], 2**52),  # of the number
        ([90.0, 0.0], [0.5, 0.5], 3),  # of M, and the value
        ([-90.0, 0.0], [0.5, 0.5], 3),
    ):
        law = vague_law(values, weights, 0.0, 0.0)
        tilted = tilt(law, 1.0)
        parts = np.abs(np.log(law.weights)), np.abs(law.values), abs(tilted.log_mgf), math.log(n)
        exact = math.log(n) + np.log(law.weights) + law.values - tilted.log_mgf
        rounded = exact + UNIT * (4 + 5 * sum(parts))
        assert (usual._log_rates(Block(law, n), tilted) >= rounded).all()


def test_rates_of_laws_that_are_too_vague_are_infinite() -> None:
    law = vague_law([0.9, -0.7, 0.1], [0.2, 0.3, 0.5], 0.5, 0.0)
    assert (usual._log_rates(Block(law, 7), tilt(law, 1.0)) == math.inf).all()


def outside(log_rates: list[float], window: list[int], n: int) -> float:
    law = vague_law([0.0] * len(window), [1 / len(window)] * len(window), 0.0, 0.0)
    return usual._log_outside(np.array(log_rates), np.array(window), Block(law, n))


def test_what_lies_outside_is_the_sum_over_the_atoms() -> None:
    """Those with windows below n: the sum of lambda^(K+1)/(K+1)!."""
    rates, window = [0.5, -3.0, 0.2, 4.0, 1.0], [2, 0, 5, -1, 9]
    with mpmath.workdps(30):
        terms = [
            mpmath.exp(rate * (k + 1)) / mpmath.factorial(k + 1)
            for rate, k in zip(rates, window, strict=True)
            if 0 <= k < 9
        ]
        exact = mpmath.log(mpmath.fsum(terms))
        found = outside(rates, window, 9)
        assert exact <= found <= exact + mpmath.mpf(1e-12)
    assert outside([1.0, 2.0], [-1, 4], 4) == -math.inf


def test_what_lies_outside_covers_rounding(monkeypatch: pytest.MonkeyPatch) -> None:
    cases = [
        ([-40.0, -1000.0], [3, 0]),  # products of logarithms
        ([-1000.0, -40.0], [0, 3]),
        ([5.0, -1.0], [20, 0]),
        ([0.01], [150]),  # factorials
        ([-2.0] * 300, [0] * 300),  # many atoms
        ([0.0], [0]),  # nothing but logarithm and exponential
    ]
    for rates, window in cases:
        monkeypatch.setattr(usual, "UNIT", 0.0)
        exact = outside(rates, window, 1000)
        monkeypatch.setattr(usual, "UNIT", UNIT)
        m = np.array(window) + 1
        factorials = np.array([math.lgamma(k + 1.0) for k in m])
        first = int(np.argmax(m * np.array(rates) - factorials))
        size = m[first] * abs(rates[first]) + factorials[first]
        assert outside(rates, window, 1000) >= exact + UNIT * (8 * size + m.size + 8)


@pytest.mark.parametrize("blocks", [1, 60])
@pytest.mark.parametrize("log_mean", [-0.5, -400.0])
def test_the_sum_of_inside_and_outside_is_rounded_up(
    blocks: int, log_mean: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a few units of all logarithms and of every block."""
    laws = [vague_law([1.0 + i, -3.0 - i, 0.0], [0.001, 0.2, 0.799], 0, 0) for i in range(blocks)]
    total = BlockSum.of(*((law, 5 + i) for i, law in enumerate(laws)))
    bound = replace(contour.chernoff_bound(total), log_mean=log_mean)
    monkeypatch.setattr(usual, "chernoff_bound", lambda *_: bound)
    inside = LogEnclosure(-5.0, -5.0)
    monkeypatch.setattr(usual, "choose_windows", lambda *_: [np.array([0, 0, -1])] * blocks)
    monkeypatch.setattr(usual, "mean_of_outcomes", lambda *_: inside)
    monkeypatch.setattr(usual, "_log_outside", lambda *_: -3.0)
    monkeypatch.setattr(usual, "UNIT", UNIT)
    found = usual_log_mean(total, 1e-4)
    assert found is not None
    assert found.lower == -5.0
    exact = float(np.logaddexp(-5.0, log_mean - 3.0 + math.log(blocks)))
    assert found.upper >= exact + UNIT * (4 + 2 * abs(log_mean) + blocks)


def test_outcomes_cover_errors_of_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    """The usual atom counts n times, the others as often as they are drawn."""
    monkeypatch.setattr(usual, "UNIT", 0.0)
    zeros = np.zeros(3)
    for errors in ([0.0, 0.0, 1e-3], [2e-3, 0.0, 0.0], [0.0, 3e-3, 0.0], [2e-3, 1e-3, 1e-4]):
        law = Law(np.array([1.0, -2.0, 0.0]), np.array([0.1, 0.2, 0.7]), zeros, np.array(errors))
        found = usual._outcomes(Block(law, 9), np.array([3, 1, -1]))
        drawn = np.array([[i, j, 9 - i - j] for i in range(4) for j in range(2)])
        assert found.log_error >= (drawn @ np.array(errors)).max() * (1 - 1e-12)
        assert found.log_error <= 9 * errors[2] + 4 * max(errors[:2]) + 1e-15


def test_outcomes_cover_rounding(monkeypatch: pytest.MonkeyPatch) -> None:
    """Logarithms of 4 units, factorials of 8, and one for every term of a sum."""
    monkeypatch.setattr(usual, "UNIT", UNIT)
    cases = [
        ([1e-9] * 8, [1] * 8, 2),  # many atoms, of which two may be drawn
        ([1e-300, 0.1], [1, 5], 9),  # some outcomes are far less likely than others
        ([0.4], [40], 10**9),  # the number of ways
        ([0.3], [1], 2),
        # As if all logarithms of weights were 0: nothing else covers what ways need.
        ([1.0] * 8, [1] * 8, 2),
        ([1.0], [5], 5),
    ]
    for weights, window, n in cases:
        drawn, size = len(weights), len(weights) + 1
        values = np.append(np.linspace(3.0, -50.0, drawn), 7.0)
        zeros = np.zeros(size)
        rest = 1 - sum(weights)
        law = Law(values, np.array([*weights, rest if rest > 0 else 1.0]), zeros, zeros)
        found = usual._outcomes(Block(law, n), np.array([*window, -1]))
        counts = np.indices([k + 1 for k in window]).reshape(drawn, -1).T
        counts = counts[counts.sum(axis=1) <= n]
        most = int(counts.sum(axis=1).max())
        falling = math.fsum(math.log(n - k) for k in range(most))
        factorial = math.lgamma(most + 1.0)
        left = n - counts.sum(axis=1)
        logs = np.abs(counts @ np.log(law.weights[:-1]) + left * math.log(law.weights[-1]))
        ways = (most + 4) * falling + (drawn + 8) * factorial
        assert found.log_error >= UNIT * (ways + (drawn + 6) * float(logs.max()))
        sizes = counts @ np.abs(values[:-1]) + left * abs(values[-1])
        assert (found.sum_error >= UNIT * (drawn + 2) * sizes).all()
