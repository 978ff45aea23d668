"""Estimates of E[S_+] where single large values may decide: proposals, but good ones."""

from __future__ import annotations

import math

import numpy as np
import pytest

from shuffledp import parse
from shuffledp.arrays import FloatArray
from shuffledp.decomposition import Law
from shuffledp.divergence import estimate_log_delta, log_delta_at
from shuffledp.divergence.proposals.estimate import estimate_unbounded
from shuffledp.divergence.proposals.jump_estimate import _corrections, estimate_with_jumps

SIZES = np.arange(-3, 4)


def exact_log_mean(values: FloatArray, weights: FloatArray, n: int) -> float:
    """Return log E[S_+] of whole values by convolution."""
    least = int(values.min())
    law = np.zeros(int(values.max()) - least + 1)
    law[(values - least).astype(int)] = weights
    total = np.ones(1)
    for bit in f"{n:b}":
        total = np.convolve(total, total)
        if bit == "1":
            total = np.convolve(total, law)
    sums = n * least + np.arange(total.size)
    return math.log(total @ np.maximum(sums, 0))


def test_corrections_are_exact_for_normal_sums() -> None:
    """E[(z + N)_+] by adding up, for tilts of all sizes."""
    a = np.geomspace(0.1, 6.0, 12)
    logs, slopes = _corrections(a)
    x = np.linspace(-40, 40, 400_001)
    density = np.exp(-(x**2) / 2) / math.sqrt(2 * math.pi) * (x[1] - x[0])
    for tilt, log, slope in zip(a, logs, slopes, strict=True):
        z = 2 / tilt - tilt
        mean, chance = density @ np.maximum(z + x, 0), density @ (z + x > 0)
        saddle = tilt * (tilt / 2 + z) - 2 * math.log(tilt)
        saddle -= 0.5 * math.log(2 * math.pi * (1 + 2 / tilt**2))
        assert log == pytest.approx(math.log(mean) - saddle, abs=1e-5)
        assert slope == pytest.approx(chance / mean / tilt, rel=1e-3)


def test_corrections_vanish_far_out() -> None:
    logs, slopes = _corrections(np.array([50.0, 1e6]))
    assert logs.tolist() == [0.0, 0.0]
    assert slopes.tolist() == [1.0, 1.0]


@pytest.mark.parametrize("n", [40, 120])
@pytest.mark.parametrize("rate", [1e-2, 1e-6, 1e-12])
@pytest.mark.parametrize(
    ("drift", "jump"), [(0.0, 20), (0.0, 60), (0.0, 150), (0.1, 40), (0.1, 150), (0.4, 150)]
)
def test_usual_values_alone_and_beside_a_jump(n: int, drift: float, jump: int, rate: float) -> None:
    """One jump is enough to make the sum positive."""
    weights = np.exp(-0.5 * (SIZES + drift) ** 2)
    weights *= (1 - rate / n) / weights.sum()
    values, weights = np.append(SIZES, jump), np.append(weights, rate / n)
    law = Law(values.astype(np.float64), weights, np.zeros(8), np.zeros(8))
    exact = exact_log_mean(values, weights, n)
    found = estimate_with_jumps(law, n)
    assert found.log_mean == pytest.approx(exact, abs=0.12)
    # How it changes if all values shrink a little, which adds as much as it does to the mean.
    step = 1e-4
    smaller = Law(law.values - step, weights, np.zeros(8), np.zeros(8))
    slope = (estimate_with_jumps(smaller, n).log_mean - found.log_mean) / -step
    assert n * found.theta * found.probabilities[0].sum() == pytest.approx(slope, rel=0.1)


def test_sums_without_rest_or_jumps() -> None:
    """Nothing but rare gains and zeros; and one that a jump hardly ever makes positive."""
    zeros = np.zeros(2)
    law = Law(np.array([0.0, 3.0]), np.array([1 - 1e-9, 1e-9]), zeros, zeros)
    assert estimate_with_jumps(law, 100).log_mean == pytest.approx(math.log(3e-7), abs=1e-6)
    law = Law(np.array([-1.0, 50.0]), np.array([1 - 1e-9, 1e-9]), zeros, zeros)
    assert estimate_with_jumps(law, 10).log_mean == pytest.approx(math.log(41e-8), abs=0.03)
    assert estimate_with_jumps(law, 1000).log_mean < -100


def test_a_sum_of_usual_values_has_its_saddle_point() -> None:
    law = Law(np.array([-1.0, 1.0]), np.array([0.6, 0.4]), np.zeros(2), np.zeros(2))
    exact = exact_log_mean(law.values, law.weights, 100)
    assert estimate_unbounded(law, 100).log_mean == pytest.approx(exact, abs=0.02)


@pytest.mark.parametrize("n", [100, 10_000, 10**6])
@pytest.mark.parametrize("sigma", [0.5, 0.7, 1.0])
def test_estimates_of_normal_noise(sigma: float, n: int) -> None:
    """From usual values to single ones that decide, and in between."""
    noise = parse(f"gaussian({sigma})")
    blanket = noise.blanket(noise.neighbours()[0])
    for epsilon in np.array([3.0, 10.0, 30.0]) / math.sqrt(n):
        ends = [log_delta_at(blanket, n, epsilon * by, rtol=1e-3).upper for by in (0.99, 1, 1.01)]
        value, slope = estimate_log_delta(blanket, n, epsilon)
        assert value == pytest.approx(ends[1], abs=0.25)
        assert slope == pytest.approx((ends[2] - ends[0]) / (0.02 * epsilon), rel=0.15)
