from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import stop_loss, thresholds

from shuffledp.decomposition import Law
from shuffledp.divergence.coarsening import MAX_ATOMS, coarsen_law

seeds = st.integers(0, 2**32 - 1)


def random_law(seed: int, size: int) -> Law:
    rng = np.random.default_rng(seed)
    values = rng.normal(-0.2, 1.0, size)
    weights = rng.dirichlet(np.full(size, 0.5)) + 1e-12
    return Law(values, weights / weights.sum(), np.zeros(size), np.zeros(size))


@settings(max_examples=40)
@given(seeds, st.integers(MAX_ATOMS + 1, 3000), st.sampled_from([2, 30, 1000, 10**6]))
def test_two_small_laws_enclose_a_large_one(seed, size, n):
    law = random_law(seed, size)
    lower, upper = coarsen_law(law, n, 1e-4)
    assert max(lower.size / 2, upper.size) <= 610
    for small in (lower, upper):
        assert small.weights.sum() == pytest.approx(law.weights.sum(), abs=1e-13)
        assert small.weights @ small.values == pytest.approx(law.weights @ law.values, abs=1e-13)
    levels = thresholds(lower, law, upper)
    below, middle, above = (stop_loss(x, levels) for x in (lower, law, upper))
    assert (below <= middle + 1e-13).all()
    assert (middle <= above + 1e-13).all()


def test_few_atoms_stay_as_they_are():
    law = random_law(0, MAX_ATOMS)
    lower, upper = coarsen_law(law, 10, 1e-4)
    assert lower is law
    assert upper is law


def test_a_looser_tolerance_takes_fewer_atoms():
    law = random_law(1, 3000)
    coarse, fine = coarsen_law(law, 1000, 1e-2)[1], coarsen_law(law, 1000, 1e-4)[1]
    assert coarse.size < fine.size
