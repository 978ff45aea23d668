"""Every pair and every background of the interval is dominated by one of the types."""

from __future__ import annotations

import math

import numpy as np
import pytest
from flint import arb, ctx

from shuffledp.decomposition.gparv import Law
from shuffledp.randomizers.laplace_slots import _CLOSE, _close, interval_slots


def density(epsilon0: float, x: float, outputs: np.ndarray) -> np.ndarray:
    return epsilon0 / 2 * np.exp(-epsilon0 * np.abs(outputs - x))


def calls(values: np.ndarray, weights: np.ndarray, strikes: np.ndarray) -> np.ndarray:
    """The mean of (value - strike)_+ for every strike."""
    return np.maximum(values[None, :] - strikes[:, None], 0) @ weights


def contracted(epsilon0: float, triple: tuple[float, float, float], ratio: float) -> Law:
    """The law of g/R(v) from the densities, with outputs in between taken together.

    Below and above all three inputs the ratios do not change.
    """
    x, other, v = triple
    lowest, highest = min(triple), max(triple)
    edges = np.unique(np.concatenate([np.linspace(lowest, highest, 4001), triple]))
    middle, width = 0.5 * (edges[1:] + edges[:-1]), np.diff(edges)
    outputs = np.concatenate([[lowest], middle, [highest]])
    held = density(epsilon0, v, outputs)
    gain = (density(epsilon0, x, outputs) - ratio * density(epsilon0, other, outputs)) / held
    size = np.concatenate([[1 / epsilon0], width, [1 / epsilon0]])
    zeros = np.zeros(outputs.size)
    return Law(gain, held * size, zeros, zeros)


@pytest.mark.heavy(keep=1)
@pytest.mark.parametrize("epsilon0", [0.3, 1.0, 4.0])
def test_all_triples_are_dominated(epsilon0):
    found = interval_slots(epsilon0)
    assert found is not None
    types, levels = found
    rng = np.random.default_rng(int(10 * epsilon0))
    for _ in range(25):
        x, other = np.sort(rng.uniform(0, 1, 2))
        v = rng.choice([0.0, 1.0, x, other, *rng.uniform(0, 1, 3), min(x + 1e-3, 1)])
        epsilon = float(rng.uniform(0, 1) * epsilon0 * (other - x))
        ratio = math.exp(epsilon)
        law = contracted(epsilon0, (float(x), float(other), float(v)), ratio)
        strikes = np.quantile(law.values, np.linspace(0, 1, 41))
        own = calls(law.values, law.weights, strikes)
        assert any(
            level > epsilon
            and np.all(
                own <= calls(upper.values, upper.weights, strikes) + 1e-6 * (ratio - 1 + own)
            )
            for upper, level in zip((t.at(epsilon).upper for t in types), levels, strict=True)
        ), (x, other, v, epsilon)


@pytest.mark.heavy
@pytest.mark.parametrize("epsilon0", [1e-9, 1e-3, 0.1, 2.0, 8.0, 30.0])
def test_means_and_masses(epsilon0):
    """All laws have mass 1 and the mean 1 - e^epsilon."""
    found = interval_slots(epsilon0)
    if found is None:
        return
    for kind in found[0][::7]:
        law = kind.at(epsilon0 / 9).upper
        assert law.weights.sum() == pytest.approx(1, abs=1e-12)
        size = np.abs(law.values) @ law.weights
        assert law.weights @ law.values == pytest.approx(
            -math.expm1(epsilon0 / 9), abs=1e-12 * size
        )


@pytest.mark.parametrize("epsilon0", [0.3, 4.0, 17.3, 36.1, 61.7, 125.3, 259.83, 299.9])
def test_masses_of_close_pairs(epsilon0):
    """Those of the larger quotient at the largest ratio, within their stated errors."""
    with ctx.workprec(2000):
        level = arb(epsilon0)
        small, q = (-level).exp(), (level * arb(_CLOSE)).exp()
        few = small / (1 + small)
        masses = (
            [small / (1 + q), few * (q - small) / (1 + q)],
            [few * (1 - small * q) / (1 + q), small * q / (1 + q)],
        )
        for law, exact in zip(_close(epsilon0), masses, strict=True):
            for found, mass, error in zip(law.weight, exact, law.weight_error, strict=False):
                assert abs(arb(float(found)) / mass - 1) <= float(error)
