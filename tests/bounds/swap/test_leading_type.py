"""What mixtures add to the leading type, against mixtures of many kinds, summed up."""

from __future__ import annotations

import numpy as np
import pytest

from shuffledp.bounds.swap.examined import Examined
from shuffledp.bounds.swap.lead import leading_type, loss_of_leading
from shuffledp.bounds.swap.nodes import Nodes


def random_nodes(rng: np.random.Generator, others: int, types: int) -> Nodes:
    """About normal slots whose logarithms at the tilt fall short by very different margins."""
    theta, t = 1.0, np.linspace(0.0, 8.0, 40)
    z = theta + 1j * t
    kernel = np.exp(-0.02 * t**2) / z**2
    margins = np.append(0.0, 10.0 ** rng.uniform(-5, 1, types - 1)) / others
    widths = rng.uniform(0.05, 0.4) * (1 - rng.random(types) * margins * others / 10) / others
    drifts = rng.normal(0, 1, types) * np.minimum(margins, 1 / others)
    exponent = -margins[:, None] - np.outer(widths, t**2) / 2 + 1j * np.outer(drifts, t)
    none = np.zeros((types, t.size))
    return Nodes(np.arange(t.size), z, kernel, np.abs(kernel), exponent, none, 0.0)


@pytest.mark.parametrize("seed", range(40))
def test_no_mixture_adds_more(seed: int) -> None:
    rng = np.random.default_rng(seed)
    others, types = int(rng.integers(20, 2000)), int(rng.integers(2, 9))
    nodes = random_nodes(rng, others, types)
    examined = Examined(others, 1, 1.0, 0.0)
    lost, lead = loss_of_leading(nodes, examined), leading_type(nodes)
    alone = (nodes.kernel * np.exp(others * nodes.exponent[lead])).real.sum()
    shares = [rng.dirichlet(np.full(types, spread)) for spread in (0.1, 1.0) for _ in range(100)]
    counts = np.array([rng.multinomial(others, share) for share in (*np.eye(types), *shares)])
    sums = (np.exp(counts @ nodes.exponent) @ nodes.kernel).real
    assert sums.max() <= (alone + lost) * (1 + 1e-9)


def test_types_that_nearly_tie_cost_little() -> None:
    """One may add much for what it falls short by, but that is little; another adds little."""
    t = np.linspace(0.0, 6.0, 30)
    z, others, turn = 1.0 + 1j * t, 1000, 1j * np.minimum(t, 1.0)
    kernel = np.exp(-0.1 * t**2) / z**2
    exponent = np.array([0j * t, 2e-6 * turn - 1e-7, 8.5e-4 * turn - 1e-3]) - 1e-4 * t**2
    nodes = Nodes(np.arange(30), z, kernel, np.abs(kernel), exponent, np.zeros((3, 30)), 0.0)
    alone = (kernel * np.exp(others * exponent[0])).real.sum()
    assert 0.003 * alone < loss_of_leading(nodes, Examined(others, 1, 1.0, 0.0)) < 0.01 * alone
