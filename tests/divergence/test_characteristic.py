"""Characteristic functions at many nodes together, against those at each of them."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

from shuffledp.divergence import characteristic
from shuffledp.divergence.characteristic import (
    Characteristic,
    bound_stretches,
    evaluate,
    evaluate_nodes,
    log_largest_modulus,
)
from shuffledp.divergence.tilt import tilt
from shuffledp.randomizers import KRR, Laplace, Pair

STEP = 0.37


@pytest.mark.parametrize(
    "nodes",
    [
        np.arange(0, dtype=np.int64),
        np.arange(1),
        np.arange(40),
        np.concatenate([np.arange(50), [60, 61, 75]]),
        np.arange(3, 60),
        np.array([5, 4, *range(100, 130), 7, 200]),
        np.arange(0, 10**4, 97),
    ],
)
@pytest.mark.parametrize("times", [1, 30, 10**12])
@pytest.mark.parametrize("mechanism", [Laplace(epsilon0=2.0), KRR(k=5, epsilon0=2.0)])
def test_nodes_together_are_as_good_as_they_say(nodes, times, mechanism):
    tilted = tilt(mechanism.blanket(Pair(0, 1)).at(0.3).upper, 0.5)
    together = evaluate_nodes(tilted, STEP, nodes, times)
    alone = evaluate(tilted, STEP * nodes)
    first, second = (np.exp(x.log_modulus + 1j * x.argument) for x in (together, alone))
    assert (np.abs(first - second) <= together.error + alone.error + 1e-15).all()
    assert (times * together.error <= times * alone.error + 1e-5).all()


@pytest.mark.parametrize("side", [None, 0, 1, 2, 7, 64, 10**6])
def test_rows_of_any_length_will_do(side):
    tilted = tilt(Laplace(epsilon0=2.0).blanket(Pair(0, 1)).at(0.3).upper, 0.5)
    nodes = np.array([5, 4, *range(100, 130), 7, 5, 2000])
    together = evaluate_nodes(tilted, STEP, nodes, 30, side=side)
    alone = evaluate(tilted, STEP * nodes)
    first, second = (np.exp(x.log_modulus + 1j * x.argument) for x in (together, alone))
    assert (np.abs(first - second) <= together.error + alone.error + 1e-15).all()


@pytest.mark.parametrize("side", [None, 0, 3, 128])
@pytest.mark.parametrize("step", [0.001, 0.02, 0.3])
def test_stretches_are_bounded_at_every_node(side, step, monkeypatch):
    """Against the characteristic function at 30 digits, between the nodes as well."""
    monkeypatch.setattr(characteristic, "FEWEST_ATOMS", 0)
    tilted = tilt(KRR(k=5, epsilon0=2.0).blanket(Pair(0, 1)).at(0.3).upper, 0.5)
    rng = np.random.default_rng(1)
    starts = np.sort(rng.integers(0, 3000, 12))
    sizes = rng.integers(1, 40, 12)
    bounds = bound_stretches(tilted, step, starts, sizes, 100, side)
    with mpmath.workdps(30):
        for start, size, bound in zip(starts.tolist(), sizes.tolist(), bounds, strict=True):
            for place in np.linspace(start, start + size - 1, 5):
                phi = mpmath.fsum(
                    mpmath.mpf(p) * mpmath.expj(step * place * mpmath.mpf(c))
                    for p, c in zip(tilted.probability, tilted.centred, strict=True)
                )
                assert abs(phi) ** 2 <= bound


def test_products_bound_stretches_as_well_as_sines():
    tilted = tilt(Laplace(epsilon0=2.0).blanket(Pair(0, 1)).at(0.3).upper, 0.5)
    starts, sizes = np.arange(0, 6400, 64), np.full(100, 64)
    first, second = (bound_stretches(tilted, 0.002, starts, sizes, 10, s) for s in (256, 0))
    assert np.abs(first - second).max() < 1e-9
    assert first.min() < 0.9


def test_moduli_next_to_one_keep_their_digits(monkeypatch):
    """The logarithm of the modulus and its error, to a few units of itself; it is at most 0."""
    rng = np.random.default_rng(14)
    x = np.append(-(10.0 ** rng.uniform(-22, 1, 60)), [-3.0, -5.0, -800.0, -2.0])
    error = np.append(-x[:60] * 10.0 ** rng.uniform(-6, 1, 60), [0.3, 0.9, 1e-3, 1.5])
    phi = Characteristic(x, np.zeros(x.size), error)
    found = log_largest_modulus(phi)
    for own, vague, bound in zip(x, error, found, strict=True):
        with mpmath.workdps(40):
            exact = min(mpmath.log(mpmath.exp(mpmath.mpf(own)) + mpmath.mpf(vague)), 0)
            gap = float(mpmath.mpf(float(bound)) - exact)
        assert -2e-16 * abs(bound) <= gap <= 1e-13 * (abs(own) + vague)
    for unit in (1e-6, 1e-4):
        monkeypatch.setattr(characteristic, "UNIT", unit)
        with np.errstate(over="ignore"):
            growth = np.where(error < np.exp(x), 9 * np.log1p(error * np.exp(-x)), 5)
        moved = np.minimum(found + growth * unit * 0.999, 0.0)
        assert (log_largest_modulus(phi) >= moved).all()
