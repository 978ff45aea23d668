"""Where to tilt: the saddle point, in few steps."""

from __future__ import annotations

import math

import numpy as np
import pytest

from shuffledp.decomposition import Law
from shuffledp.divergence import HOCKEY_STICK, BlockSum
from shuffledp.divergence.kernel import HINGE
from shuffledp.divergence.proposals import saddle
from shuffledp.divergence.proposals.saddle import saddle_point

PRECISION = 0.051  # in units of the local scale


def sum_of(values: list[float], weights: list[float], n: int, offset: float = 0.0) -> BlockSum:
    zeros = np.zeros(len(values))
    law = Law(np.array(values), np.array(weights) / sum(weights), zeros, zeros.copy())
    return BlockSum.of((law, n), offset=offset)


SUMS = {
    "fair": sum_of([1.0, -1.0], [0.5, 0.5], 1000),
    "rare and deep losses": sum_of([1.0, 0.1, -3.0, -1e14], [0.1, 0.3, 0.6, 1e-12], 17),
    "rare gains": sum_of([1.0, -1e-3, 0.0], [1e-40, 0.5, 0.5], 10**4),
    "gains alone": sum_of([1.0, 0.0], [0.3, 0.7], 5),
    "drift": sum_of([1.0, -0.9], [0.2, 0.8], 10**6),
    "a single summand": sum_of([2.0, -1.0], [0.01, 0.99], 1),
    "one value": sum_of([1.0], [1.0], 3),
}


def test_values_below_the_normal_doubles_have_a_finite_tilt():
    assert 0 < saddle_point(sum_of([2e-309, -1e-309], [0.5, 0.5], 3)) < math.inf


@pytest.mark.parametrize("kernel", [HINGE, HOCKEY_STICK], ids=["hinge", "hockey stick"])
@pytest.mark.parametrize("name", SUMS)
def test_the_slope_vanishes_after_few_steps(name, kernel, monkeypatch):
    looks = []
    moments = saddle._Tilts.moments

    def counted(self: saddle._Tilts, theta: float) -> tuple[float, float]:
        looks.append(theta)
        return moments(self, theta)

    monkeypatch.setattr(saddle._Tilts, "moments", counted)
    total = SUMS[name]
    theta = saddle_point.__wrapped__(total, kernel)
    law, n = total.laws[0], total.summands
    exponent = theta * law.values + np.log(law.weights)
    p = np.exp(exponent - exponent.max())
    p /= p.sum()
    mean = float(p @ law.values)
    variance = n * float(p @ (law.values - mean) ** 2)
    other = theta + kernel.curvature
    slope = n * mean - 1 / theta - 1 / other
    assert abs(slope) <= PRECISION * math.hypot(math.sqrt(variance), 1 / theta, 1 / other)
    assert len(looks) <= 25
