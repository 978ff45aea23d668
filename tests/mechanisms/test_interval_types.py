"""Every pair and every background of the interval is dominated by one of the types."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest
from flint import arb

from shuffledp.basics.arrays import FloatArray
from shuffledp.basics.balls import precision, total
from shuffledp.mechanisms.noise.interval_types import interval_types


def density(epsilon0: float, x: float, outputs: FloatArray) -> FloatArray:
    return epsilon0 / 2 * np.exp(-epsilon0 * np.abs(outputs - x))


@dataclass
class DoubleLaw:
    values: FloatArray
    masses: FloatArray

    def calls(self, strikes: FloatArray) -> FloatArray:
        """The mean of (value - strike)_+ for every strike."""
        return np.maximum(self.values[None, :] - strikes[:, None], 0) @ self.masses


def contracted(epsilon0: float, triple: tuple[float, float, float], ratio: float) -> DoubleLaw:
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
    return DoubleLaw(gain, held * size)


@pytest.mark.heavy(keep=1)
@pytest.mark.parametrize("epsilon0", [0.3, 1.0, 4.0])
def test_all_triples_are_dominated(epsilon0):
    found = interval_types(epsilon0)
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
        own = law.calls(strikes)
        allowed = own - 1e-6 * (ratio - 1 + own)
        uppers = (
            t.at(epsilon).upper for t, level in zip(types, levels, strict=True) if level > epsilon
        )
        assert any(
            np.all(allowed <= DoubleLaw(upper.values, upper.masses).calls(strikes))
            for upper in uppers
        ), (x, other, v, epsilon)


@pytest.mark.parametrize("epsilon0", [1e-9, 0.1, 2.0, 9.0])
def test_means_and_masses(epsilon0):
    """All laws have mass 1 and the mean 1 - e^epsilon."""
    found = interval_types(epsilon0)
    if found is None:
        return
    for kind in (*found[0][::29], *found[0][-2:]):
        law = kind.at(epsilon0 / 9).upper
        with precision():
            assert total(atom.mass for atom in law.atoms).overlaps(arb(1))
            assert law.mean.overlaps(-arb(epsilon0 / 9).expm1())
