"""Characteristic functions at many nodes together, against those at each of them."""

from __future__ import annotations

import numpy as np
import pytest

from shuffledp.divergence.characteristic import evaluate, evaluate_nodes
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
